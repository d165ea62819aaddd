"""Thresholds of a table whose rows are divided among workers: those of the whole table.

The sample of rows is found by counting hashes. Each worker finds the thresholds of some of the
features, for which the others send it the sampled values. In features with few values each value
gets a bin, however rare it is, so all workers look through their rows for further ones.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._collective import Workers
from hedgerow._types import Floats

_LARGEST_HASH = 2**64 - 1
# Types whose values single precision represents: the kernels compare them as float32.
_SINGLE = ("bool", "int8", "uint8", "int16", "uint16", "float16", "float32")


class NumericTable(Protocol):
    """The part of a `Table` that is used here."""

    n_rows: int
    n_features: int

    def column(self, j: int) -> Any:
        """Return column j, with `.values` and `.missing`, or with `.codes`."""

    def take(self, rows: NDArray[Any]) -> NumericTable:
        """Return a table of some rows."""


def find_shared_thresholds(
    table: NumericTable,
    weights: Floats | None,
    max_bins: int,
    sample_size: int,
    seed: int,
    threads: int,
    together: Workers,
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the thresholds of all features, one after another, and where each feature's begin."""
    rows, is_everything = _sampled_rows(table.n_rows, weights, sample_size, seed, together)
    own = range(*_share(table.n_features, together.rank, together.size))
    is_table = is_everything and weights is None
    # The sample has no name here, so that it can be dropped as soon as it is sent.
    sampled = _sampled_columns(table if is_table else table.take(rows), together)
    sampled_weights = None if weights is None else together.concatenated_rows(weights[rows])
    found = [_find(values, sampled_weights, max_bins, threads, is_everything) for values in sampled]
    thresholds: dict[int, Floats] = {}
    few: dict[int, Floats] = {}
    for of_worker in together.objects(dict(zip(own, found, strict=True))):
        for feature, (values, values_if_few) in of_worker.items():
            thresholds[feature] = values
            if values_if_few is not None:
                few[feature] = values_if_few
    thresholds |= _with_rare_values(table, weights, few, max_bins, together)
    starts = np.zeros(table.n_features + 1, np.int64)
    starts[1:] = np.cumsum([len(thresholds[j]) for j in range(table.n_features)])
    in_order = [thresholds[j] for j in range(table.n_features)]
    return np.concatenate([np.empty(0), *in_order]), starts


def _share(count: int, rank: int, size: int) -> tuple[int, int]:
    return count * rank // size, count * (rank + 1) // size


def _sampled_rows(
    n_rows: int, weights: Floats | None, sample_size: int, seed: int, together: Workers
) -> tuple[NDArray[np.intp], bool]:
    """Return this worker's rows of the sample, and whether the sample is all rows with weight."""
    own = n_rows if weights is None else int(np.count_nonzero(weights > 0.0))
    n_weighty = together.count(own)
    if n_weighty <= sample_size:
        return np.arange(n_rows) if weights is None else np.flatnonzero(weights > 0.0), True
    first = together.first_row(n_rows)
    # Ten standard deviations more than the sample. If that should not suffice, all are considered.
    enough = (sample_size + 10 * math.isqrt(sample_size) + 100) / n_weighty
    for largest in (int(min(enough, 1.0) * _LARGEST_HASH), _LARGEST_HASH):
        rows, hashes = _native.small_hashes(seed, "bin_sample", 0, first, n_rows, largest)
        if weights is not None:
            rows, hashes = rows[weights[rows] > 0.0], hashes[weights[rows] > 0.0]
        n_candidates = together.count(len(rows))
        if n_candidates >= sample_size:
            break
    sizes = np.array([[sample_size, n_candidates - sample_size]])
    stratum = np.zeros(len(rows), np.int64)
    part = _native.random_parts(hashes, stratum, sizes, reduction=together.reduction)
    return rows[part == 0], False


def _dtype(column: Any) -> np.dtype[Any] | None:
    """Return the precision in which values are compared; None for a categorical feature."""
    if hasattr(column, "codes"):
        return None
    return np.dtype(np.float32 if column.values.dtype.name in _SINGLE else np.float64)


def _numbers(column: Any) -> NDArray[Any]:
    """Return values in the precision in which they are compared, with NaN for missing ones."""
    values: NDArray[Any] = column.values.astype(_dtype(column))
    if column.missing is not None:
        values[column.missing] = np.nan
    return values


def _bytes(column: Any) -> bytes:
    return b"" if hasattr(column, "codes") else _numbers(column).tobytes()


def _sampled_columns(sample: NumericTable, together: Workers) -> list[NDArray[Any] | None]:
    """Return the sampled values of this worker's features; None for a categorical feature."""
    assert together.communicator is not None
    shares = [range(*_share(sample.n_features, r, together.size)) for r in range(together.size)]
    dtypes = [_dtype(sample.column(j)) for j in shares[together.rank]]
    parts = [b"".join(_bytes(sample.column(j)) for j in share) for share in shares]
    n_rows = sample.n_rows
    del sample  # before the values of the other workers arrive
    received = together.communicator.exchange(parts)
    del parts
    counts = [int(count[0]) for count in together.arrays(np.array([n_rows], np.int64))]
    columns: list[list[NDArray[Any]]] = [[] for _ in dtypes]
    for part, count in zip(received, counts, strict=True):
        offset = 0
        for pieces, dtype in zip(columns, dtypes, strict=True):
            if dtype is not None:
                pieces.append(np.frombuffer(part, dtype, count, offset))
                offset += count * dtype.itemsize
    return [np.concatenate(pieces) if pieces else None for pieces in columns]


def _find(
    values: NDArray[Any] | None,
    weights: Floats | None,
    max_bins: int,
    threads: int,
    is_everything: bool,
) -> tuple[Floats, Floats | None]:
    """Return the thresholds of a sampled feature, and its values if they are few."""
    if values is None:
        return np.empty(0), None
    thresholds, _ = _native.find_thresholds(
        [(values, None)], weights, max_bins, max(len(values), 1), 0, threads
    )
    if is_everything:
        return thresholds, None
    distinct = np.unique(values[np.isfinite(values)]).astype(np.float64) + 0.0
    return thresholds, distinct if len(distinct) <= max_bins else None


def _with_rare_values(
    table: NumericTable,
    weights: Floats | None,
    few: dict[int, Floats],
    max_bins: int,
    together: Workers,
) -> dict[int, Floats]:
    """Return the thresholds of features that have few values in all rows."""
    if not few:
        return {}
    has_weight = None if weights is None else weights > 0.0
    rare = {j: _rare_values(table.column(j), has_weight, few[j], max_bins) for j in few}
    thresholds = {}
    of_workers = together.objects(rare)
    for j in few:
        values = np.unique(np.concatenate([few[j], *(of_worker[j] for of_worker in of_workers)]))
        if len(values) <= max_bins:
            thresholds[j], _ = _native.find_thresholds(
                [(values, None)], None, max_bins, max(len(values), 1), 0, 1
            )
    return thresholds


def _rare_values(
    column: Any, has_weight: NDArray[np.bool_] | None, few: Floats, max_bins: int
) -> Floats:
    """Return further values of a column: a few more than `max_bins` if there are too many."""
    values = _numbers(column).astype(np.float64)
    if has_weight is not None:
        values = values[has_weight]
    if len(few):
        nearest = few[np.minimum(np.searchsorted(few, values), len(few) - 1)]
        values = values[nearest != values]
    distinct: Floats = np.unique(values[np.isfinite(values)]) + 0.0
    return distinct[: max_bins + 1]
