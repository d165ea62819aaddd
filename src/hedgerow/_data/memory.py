"""A forecast of the memory that a fit of gradient boosting needs, and a limit that it must keep.

What a fit allocates is known before it starts: arrays with an entry for each row, in numbers that
follow from the parameters, and histograms. The peak is either while columns are read and binned, or
while trees grow. The forecast counts the whole process, as a container's limit does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from hedgerow._data.binning import row_bytes
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.sources import open_table
from hedgerow._data.streamed_table import batch_ends
from hedgerow.exceptions import MemoryLimitError, ParameterError

_IN_USE = "already in use by this process"
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
# Histograms of open leaves are kept up to this size (native/hist/engine.hpp), 16 bytes a bin.
_HISTOGRAMS, _HISTOGRAM_OF_COLUMN = 512 << 20, 16 * 257
# From this number of rows gradient and hessian are 4 bytes each (native/shared/fixed_point.hpp).
_PACKED_FROM_ROWS = 32_768
# PyArrow, its decoders and their buffers, measured: 30 to 80 MB.
_DECODING = 54 << 20
# In a search for parameters (auto.py): the part of the rows in the holdout; and how many trials or
# models there are at a time, at most, below and from this number of rows (budget.py).
_SEARCH_HOLDOUT = 0.2
_MANY_ROWS, _MODELS, _MODELS_OF_MANY_ROWS = 200_000, 8, 2
_DEFAULTS: Mapping[str, Any] = {
    "n_estimators": 100,
    "subsample": 1.0,
    "sampling": "uniform",
    "boosting": "gradient",
    "max_leaves": 31,
    "max_depth": None,
    "grow_policy": "leafwise",
    "early_stopping": False,
    "validation_fraction": 0.1,
    "calibration": None,
    "calibration_fraction": 0.2,
    "multi_strategy": "trees",
    "splitter": "hist",
    "linear_leaves": False,
    "n_jobs": None,
}


@dataclass(frozen=True)
class MemoryEstimate:
    """A forecast of the memory of a fit, in bytes.

    Attributes
    ----------
    parts : dict
        What takes how much at the peak.
    process : int
        What the process had in use before: Python, all libraries, tables in memory.
    total : int
        The peak of the process: `process` plus the sum of `parts`.
    """

    shape: tuple[int, int]
    parts: Mapping[str, int]
    process: int
    total: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.process + sum(self.parts.values()))

    def __repr__(self) -> str:
        of_fit = self.total - self.process
        rows = {**self.parts, "this fit": of_fit, _IN_USE: self.process, "total": self.total}
        width = max(map(len, rows))
        lines = [f"{name:<{width}}  {as_text(value):>9}" for name, value in rows.items()]
        head = f"memory of a fit to {self.shape[0]:,} rows and {self.shape[1]:,} columns"
        return "\n".join([head, *lines])


def memory_estimate(
    X: Any,
    estimator: BaseEstimator | None = None,
    *,
    n_outputs: int | None = None,
    has_weights: bool = False,
    has_offset: bool = False,
) -> MemoryEstimate:
    """Estimate the memory that a gradient boosting fit needs, without fitting.

    A fit with this ``total`` as its ``memory_limit`` is not refused, unless the process has grown
    in between.

    Parameters
    ----------
    X : ParquetTable, table, or tuple (n_rows, n_columns)
        The training table. A shape stands for a table that is read from files.
    estimator : gradient boosting estimator, optional
        The estimator whose parameters are used; by default 100 rounds with default parameters.
    n_outputs : int, optional
        Number of scores per row: the number of classes if there are more than two, or of target
        columns. The default is 1 or, if X is a `ParquetTable` with a target, what the estimator
        needs for it.
    has_weights, has_offset : bool
        Whether sample weights, or an offset, will be passed to `fit`. A `ParquetTable` knows
        whether it has them.

    Returns
    -------
    MemoryEstimate
        ``total`` is the peak memory of the process in bytes, and ``parts`` lists its components.

    Examples
    --------
    >>> import hedgerow as hr
    >>> estimate = hr.memory_estimate((10_000_000, 28))
    >>> f"{(estimate.total - estimate.process) / 1e9:.2f} GB"
    '1.00 GB'
    """
    global _after_estimate
    get, shape, process = _parameters(estimator), _shape(X), process_bytes()
    if n_outputs is None:
        n_outputs = _count_outputs(X, estimator)
    rows = _Rows.of(X, shape[1], has_weights, n_outputs if has_offset else 0)
    estimate = forecast(get, shape, n_outputs, rows, process)
    if _after_estimate is None or _after_estimate[0] != process:
        _after_estimate = process, resident_bytes()
    return estimate


@dataclass(frozen=True)
class _Rows:
    """What depends on the kind of table: bytes a row of its numbers, targets, weights, offsets."""

    is_streamed: bool
    numbers: float
    has_weights: bool = False
    n_offsets: int = 0
    batch: int = 0

    @classmethod
    def of(cls, X: Any, n_features: int, has_weights: bool, n_offsets: int) -> _Rows:
        if isinstance(X, ParquetTable):
            files, positions, _ = X.__hedgerow_files__()
            batch = _widest_batch([files.width(position) for position in positions])
            names = [X.offset] if isinstance(X.offset, str) else X.offset or ()
            n_offsets = n_offsets or len(names)
            return cls(True, 0.0, has_weights or X.weight is not None, n_offsets, batch)
        if isinstance(X, tuple):
            return cls(True, 0.0, has_weights, n_offsets, _widest_batch([8] * n_features))
        itemsize = getattr(getattr(X, "dtype", None), "itemsize", 8)
        return cls(False, float(itemsize * n_features), has_weights, n_offsets)


def _widest_batch(widths: Sequence[int]) -> int:
    ends = batch_ends(widths)
    return max(sum(widths[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True))


def forecast(
    get: Callable[[str], Any], shape: tuple[int, int], n_outputs: int, of_rows: _Rows, process: int
) -> MemoryEstimate:
    """Return the forecast of a fit whose data is known."""
    n_rows, n_features = shape
    for name, value in (("splitter", "exact"), ("splitter", "approx"), ("linear_leaves", True)):
        if get(name) == value:
            raise ParameterError(f"memory_estimate does not support {name}={value!r}.")
    peaks = [_growth(get, n_rows, n_features, n_outputs, of_rows)]
    if get("n_estimators") == "auto":
        peaks.append(_search(get, n_rows, n_features, n_outputs, of_rows))
    peaks.append(_binning(get, n_rows, n_features, of_rows))
    parts = max(peaks, key=lambda each: sum(each.values()))
    whole = {name: round(value) for name, value in parts.items() if value >= 1}
    return MemoryEstimate(shape, whole, process)


def _growth(
    get: Any, n_rows: int, n_features: int, n_outputs: int, of_rows: _Rows
) -> dict[str, float]:
    """Return what there is while trees grow."""
    held_out = _held_out(get)
    n_train, n_holdout = n_rows * (1.0 - held_out), n_rows * held_out
    return _tables(n_features, n_rows, n_train, n_holdout, of_rows) | _working(
        get, n_train, n_holdout, n_features, n_outputs, _n_models(get, n_rows)
    )


def _search(
    get: Any, n_rows: int, n_features: int, n_outputs: int, of_rows: _Rows
) -> dict[str, float]:
    """Return what there is during trials of candidates, which grow side by side."""
    n_holdout = n_rows * _SEARCH_HOLDOUT
    n_train = n_rows - n_holdout
    return _tables(n_features, n_rows, n_train, n_holdout, of_rows) | _working(
        get, n_train, n_holdout, n_features, n_outputs, _n_models(get, n_rows)
    )


def _n_models(get: Any, n_rows: int) -> int:
    """Return how many models grow side by side, at most: the mean of several may be chosen."""
    if get("n_estimators") != "auto":
        return 1
    return _MODELS if n_rows < _MANY_ROWS else _MODELS_OF_MANY_ROWS


def _binning(get: Any, n_rows: int, n_features: int, of_rows: _Rows) -> dict[str, float]:
    """Return what there is while columns are read and binned, before the second layout."""
    held_out = _held_out(get)
    n_train = n_rows * (1.0 - held_out)
    parts = _tables(n_features, n_rows, n_train, n_rows - n_train, of_rows)
    parts.pop("bins by row", None)
    if of_rows.is_streamed:
        parts["a batch of columns"] = n_train * of_rows.batch
    return parts


def _tables(
    n_features: int, n_rows: int, n_train: float, n_holdout: float, of_rows: _Rows
) -> dict[str, float]:
    is_split = n_holdout > 0.0
    parts = {
        "bins by column": n_train * n_features,
        "bins by row": n_train * row_bytes(n_features),
        "target": n_rows * (16.0 if is_split else 8.0),
    }
    if of_rows.has_weights:
        parts["weights"] = n_rows * (24.0 if is_split else 16.0)
    if of_rows.n_offsets:
        parts["offsets"] = n_rows * of_rows.n_offsets * (16.0 if is_split else 8.0)
    if of_rows.is_streamed:
        parts["reading files"] = _DECODING
        if is_split:
            parts["row numbers"] = n_rows * 8.0
            parts["bins of the holdout"] = n_holdout * n_features
    elif is_split:
        parts["rows of training set and holdout"] = n_rows * of_rows.numbers
    return parts


def _working(
    get: Any,
    n_train: float,
    n_holdout: float,
    n_features: int,
    n_outputs: int,
    n_models: int,
) -> dict[str, float]:
    n_trees = 1 if get("multi_strategy") == "vector" else n_outputs
    of_gradients = 8.0 if n_train >= _PACKED_FROM_ROWS else 16.0
    leaves = _most_leaves(get)
    subsample = get("subsample")
    bag_bytes = 4.0 * subsample if isinstance(subsample, float) and subsample < 1.0 else 0.0
    if get("sampling") in ("gradient", "minimal_variance"):
        bag_bytes *= 3.0
    scores = n_train * 8.0 * n_outputs
    if get("boosting") == "dart":
        scores *= 2.0
    return {
        "scores": n_models * (scores + n_holdout * 16.0 * n_outputs),
        "gradients": n_models * n_train * of_gradients * n_outputs,
        "partition": n_models * n_train * (8.125 + 2.0 * n_trees + bag_bytes),
        "histograms": n_models * min(leaves * n_features * _HISTOGRAM_OF_COLUMN, _HISTOGRAMS),
    }


def _most_leaves(get: Any) -> int:
    """Return the number of leaves of a tree, or 65,535 if nothing limits it."""
    leaves = get("max_leaves")
    if leaves == "auto" and get("grow_policy") == "symmetric":
        return int(2 ** min(get("max_depth") or 6, 15))
    return 31 if leaves == "auto" else leaves or 65_535


def _held_out(get: Any) -> float:
    """Return the fraction of the rows in holdouts for calibration and early stopping."""
    kept = 1.0 - (get("calibration_fraction") if get("calibration") is not None else 0.0)
    if get("early_stopping") and get("n_estimators") != "auto":
        kept *= 1.0 - get("validation_fraction")
    return float(1.0 - kept)


def _parameters(estimator: BaseEstimator | None) -> Callable[[str], Any]:
    if estimator is None:
        return _DEFAULTS.__getitem__
    if not hasattr(estimator, "boosting"):
        raise ParameterError(
            f"estimator={type(estimator).__name__}: memory_estimate supports only gradient "
            "boosting. The memory of other models depends on how large their trees become."
        )
    return lambda name: getattr(estimator, name, _DEFAULTS[name])


def _shape(X: Any) -> tuple[int, int]:
    shape: Any = X if isinstance(X, tuple) else getattr(X, "shape", None)
    are_counts = (
        shape is not None
        and len(shape) == 2
        and all(isinstance(n, int | np.integer) and n > 0 for n in shape)
    )
    if not are_counts:
        raise ParameterError(
            f"X={X!r} is not allowed; it must be a table, or its shape: (n_rows, n_columns)."
        )
    return int(shape[0]), int(shape[1])


def _count_outputs(X: Any, estimator: BaseEstimator | None) -> int:
    if not isinstance(X, ParquetTable) or X.target is None:
        return 1
    count = estimator and getattr(estimator.__hedgerow__(), "count_scores", None)
    if count is None:
        return 1 if isinstance(X.target, str) else len(X.target)
    return int(count(X.read_target(), X.shape[0]))


class MemoryLimit:
    """A limit that a fit must keep, and what the process had in use when the fit began."""

    def __init__(self, limit: Any) -> None:
        self._allowed, self._process = read_bytes(limit, "memory_limit"), process_bytes()

    def require(
        self,
        estimator: BaseEstimator,
        X: Any,
        n_outputs: int = 1,
        *,
        has_weights: bool = False,
        has_offset: bool = False,
    ) -> None:
        """Refuse a fit whose forecast exceeds the limit."""
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if len(shape) != 2:  # lists and records; the others are refused, as without a limit
            source = open_table(X)
            shape = source.n_rows, source.n_features
        n_rows, n_features = shape
        rows = _Rows.of(X, n_features, has_weights, n_outputs if has_offset else 0)
        estimate = forecast(
            *(_parameters(estimator), (n_rows, n_features), n_outputs, rows, self._process)
        )
        if estimate.total > self._allowed:
            raise MemoryLimitError(
                f"the fit needs about {as_text(estimate.total)}, more than memory_limit="
                f"{as_text(self._allowed)}. Fit to fewer rows or columns"
                + ", to a ParquetTable instead of a table in memory" * (not rows.is_streamed)
                + ", set a number of rounds instead of n_estimators='auto'"
                * (getattr(estimator, "n_estimators", 0) == "auto")
                + f", or use a machine with more memory.\n{estimate}"
            )


def read_bytes(value: Any, name: str) -> int:
    """Return a number of bytes: a number, or a string such as "4GB", "512 MiB" or "1.5e9"."""
    number: float | None = None
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([kmgt]i?)?b?\s*", value.lower())
        if match:
            try:
                number = float(match[1]) * (_UNITS | _BINARY)[match[2] or ""]
            except ValueError:
                number = None
    if number is None or not np.isfinite(number) or number <= 0:
        raise ParameterError(
            f"{name}={value!r} is not allowed; it must be a number of bytes > 0, or a string such "
            "as '4GB' or '512MiB'."
        )
    return int(number)


def as_text(n_bytes: float) -> str:
    """Return a number of bytes for people."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return (
                f"{n_bytes / size:.3g} {unit}"
                if n_bytes < 1000 * size
                else f"{n_bytes / size:,.0f} {unit}"
            )
    return f"{n_bytes:.0f} B"


# What the last estimate took for the memory of the process, and what this was after the estimate.
_after_estimate: tuple[int, int] | None = None


def process_bytes() -> int:
    """Return the memory that the process has in use, beside what a forecast counts.

    An estimate imports modules and reads a target, which Arrow's pool keeps room for: that is in
    its "reading files". So a fit takes the figure of the estimate before it, unless the process has
    changed by more than that since.
    """
    now = resident_bytes()
    if _after_estimate is not None and abs(now - _after_estimate[1]) <= _DECODING:
        return _after_estimate[0]
    return now


def resident_bytes() -> int:
    """Return the memory that this process has in use."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 200 << 20  # elsewhere than on Linux: Python and the libraries
    import resource

    return pages * resource.getpagesize()
