"""Datasets (table, target, weights, …), evaluation sets, splits into holdouts and folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._collective import Workers, workers
from hedgerow._data.intake import Table
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.pass_through import take_rows
from hedgerow._data.target import fit_columns, fit_offset, rows_with_weight
from hedgerow._types import Floats, Indices
from hedgerow.exceptions import DataError, ParameterError

# Weights are summed as integer multiples of this fraction of the largest.
WEIGHT_STEPS = 2**31

_EVAL_SET = (
    "eval_set must be a list of (X, y), (X, y, sample_weight) or (X, y, sample_weight, offset), as "
    "in eval_set=[(X_valid, y_valid)]."
)

# The parameter that needs a holdout for a purpose, and how the advice in an error begins.
_PARAMETER_AND_ADVICE = {
    "validation": ("early_stopping", "Pass an eval_set, or set"),
    "calibration": ("calibration", "Set"),
}


@dataclass(frozen=True)
class PassedRows:
    """A table as it was passed, with all rows or some."""

    X: Any
    rows: Indices | None = None

    def take(self, rows: Indices) -> PassedRows:
        """Return some of the rows."""
        return PassedRows(self.X, rows if self.rows is None else self.rows[rows])

    @property
    def table(self) -> Any:
        """The rows, in a table of the same kind."""
        return self.X if self.rows is None else take_rows(self.X, self.rows)


@dataclass(frozen=True)
class Dataset:
    """Rows with a target (in classification, the class index), and optional columns.

    A target with several numbers per row has shape (n_rows, n_numbers). The offset is what scores
    start from, beside the base score, (n_rows, n_outputs). `passed` are the rows as they were
    passed, until `init_estimator` has predicted them.
    """

    table: Table
    target: Floats
    weights: Floats | None
    groups: NDArray[np.int32] | None = None
    offset: Floats | None = None
    passed: PassedRows | None = None

    @property
    def target_by_output(self) -> Floats:
        """The target as losses read it: (n_rows,) or (n_numbers, n_rows)."""
        return np.ascontiguousarray(self.target.T)

    def take(self, rows: Indices) -> Dataset:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        offset = None if self.offset is None else self.offset[rows]
        passed = None if self.passed is None else self.passed.take(rows)
        return Dataset(self.table.take(rows), self.target[rows], weights, groups, offset, passed)

    def starting_from(self, scores: Floats) -> Dataset:
        """Add scores (n_rows, n_outputs) to the offset."""
        offset = scores if self.offset is None else self.offset + scores
        return replace(self, offset=offset, passed=None)

    def weighted_by_class(self, class_weights: Floats) -> Dataset:
        """Multiply the weights by those of the classes."""
        by_row = class_weights[self.target.astype(np.intp)]
        return replace(self, weights=by_row if self.weights is None else self.weights * by_row)

    def balanced_like(self, train: Dataset) -> Dataset:
        """Weight the classes as ``sampling="balanced"`` samples them from a training set."""
        counts = workers().class_counts(train.target.astype(np.intp)).astype(np.float64)
        return self.weighted_by_class(counts[counts > 0.0].min() / np.maximum(counts, 1.0))

    def with_weight(self) -> Dataset:
        """Leave out the rows of weight 0; groups get the numbers that they have without these."""
        rows, together = rows_with_weight(self.weights), workers()
        kept = self if rows is None else self.take(rows)
        if kept.groups is None or not together.any(rows is not None):
            return kept
        numbers = np.searchsorted(together.distinct(kept.groups), kept.groups)
        return replace(kept, groups=numbers.astype(np.int32))

    def weighted_in_rows(self, *, only_ratios: bool) -> Dataset:
        """Scale the weights to the unit of penalties and limits, which is one row.

        A weight of 2 counts as two rows, so weights with a mean of at least 1 are kept. Smaller
        ones are scaled to a mean of 1, and with `only_ratios` all are.
        """
        if self.weights is None:
            return self
        together = workers()
        largest = together.largest(self.weights.max(initial=0.0))
        if largest == 0.0:
            return self
        relative = self.weights / largest
        # A sum of integers does not depend on the order of rows. Rows of weight 0 do not count.
        total = together.count(int(np.rint(relative * WEIGHT_STEPS).astype(np.int64).sum()))
        mean = total / WEIGHT_STEPS / together.count(int(np.count_nonzero(relative)))
        if largest * mean >= 1.0 and not only_ratios:
            return self
        return replace(self, weights=relative / mean)


def read_eval_sets(
    eval_set: Any, names: Sequence[str] | None, read: Callable[..., Dataset]
) -> dict[str, Dataset]:
    """Read ``eval_set=[(X, y[, weights[, offset]]), …]``; names are ``eval_0`` … by default."""
    if eval_set is None:
        return {}
    if isinstance(eval_set, ParquetTable):
        eval_set = [eval_set]
    if not isinstance(eval_set, tuple | list):
        raise DataError(_EVAL_SET)
    is_one = isinstance(eval_set, tuple) and not all(isinstance(e, tuple) for e in eval_set)
    entries = [eval_set] if is_one else list(eval_set)
    entries = [_with_own_target(e) if isinstance(e, ParquetTable) else e for e in entries]
    for entry in entries:
        if not isinstance(entry, tuple | list) or len(entry) not in (2, 3, 4):
            raise DataError(_EVAL_SET)
        if isinstance(entry[1], str):
            raise DataError(f"{_EVAL_SET} Names of the sets belong in eval_names.")
    names = _checked_names(names, len(entries))
    return {
        name: _read_entry(read, entry, f"eval_set[{i}]")
        for i, (name, entry) in enumerate(zip(names, entries, strict=True))
    }


def _with_own_target(table: ParquetTable) -> tuple[Any, ...]:
    """Return an evaluation set whose other columns are in its files, too."""
    if table.target is None:
        raise DataError("eval_set: the ParquetTable has no target. Name its column: target=….")
    y, weights, _ = fit_columns(table, None, None)
    return table, y, weights, fit_offset(table, None)


def _read_entry(read: Callable[..., Dataset], entry: Sequence[Any], where: str) -> Dataset:
    try:
        return read(*entry)
    except DataError as error:
        raise type(error)(f"{where}: {error}") from error


def _checked_names(names: Sequence[str] | None, n_sets: int) -> list[str]:
    if names is None:
        return [f"eval_{i}" for i in range(n_sets)]
    are_names = isinstance(names, list | tuple) and all(isinstance(n, str) for n in names)
    if not are_names or len(set(names)) != n_sets or len(names) != n_sets:
        raise ParameterError(
            f"eval_names={names!r} must be a list of {n_sets} different strings, one for each "
            "evaluation set."
        )
    return list(names)


def split_holdout(
    dataset: Dataset,
    fraction: float,
    seed: int,
    stratify: bool,
    rows: str = "random",
    purpose: str = "validation",
) -> tuple[Dataset, Dataset]:
    """Split into training set and holdout, for validation or calibration.

    `rows` says which rows the holdout has: "random" ones or the "last".
    """
    groups = dataset.groups
    if rows == "last":
        is_holdout = _last(dataset, fraction)
    else:
        is_holdout = _sample(dataset, fraction, seed, stratify, purpose)
    parameter, advice = _PARAMETER_AND_ADVICE[purpose]
    together = workers()
    if not together.any(bool(is_holdout.any())):
        unit, count = "row", together.count(len(is_holdout))
        if groups is not None:
            unit, count = "group", len(together.distinct(groups))
        raise DataError(
            f"{parameter} needs a holdout, but {purpose}_fraction={fraction} of {count} {unit}s is "
            f"less than one {unit}. {advice} a larger {purpose}_fraction."
        )
    return dataset.take(np.flatnonzero(~is_holdout)), dataset.take(np.flatnonzero(is_holdout))


def split_folds(
    dataset: Dataset, n_folds: int, seed: int, stratify: bool, rows: str
) -> list[tuple[Dataset, Dataset]]:
    """Split into training set and holdout once for each fold.

    ``rows="last"`` gives one split, whose holdout is the last rows. Splits in which the training
    set or the holdout is empty are left out.
    """
    return list(iter_folds(dataset, n_folds, seed, stratify, rows))


def iter_folds(
    dataset: Dataset, n_folds: int, seed: int, stratify: bool, rows: str
) -> Iterator[tuple[Dataset, Dataset]]:
    """Yield the splits of `split_folds`, each of which is a copy of the rows."""
    fold = _fold_of_row(dataset, n_folds, seed, stratify, rows)
    for k in range(n_folds):
        split = dataset.take(np.flatnonzero(fold != k)), dataset.take(np.flatnonzero(fold == k))
        if all(workers().any(len(part.target) > 0) for part in split):
            yield split


def _fold_of_row(
    dataset: Dataset, n_folds: int, seed: int, stratify: bool, rows: str
) -> NDArray[np.intp]:
    """Return the fold whose holdout contains each row, or −1."""
    if rows == "last":
        return _last(dataset, 1.0 / n_folds).astype(np.intp) - 1
    units = _Units.of(dataset, stratify)
    sizes = _fold_sizes(units.counts, n_folds)
    fold = units.parts(units.hashes(seed, "fold"), sizes)
    if stratify and dataset.groups is None:
        # A class with a single row is always in the training set.
        fold[units.counts[units.stratum] == 1] = -1
    return fold[units.of_row]


def _fold_sizes(counts: NDArray[np.int64], n_folds: int) -> NDArray[np.int64]:
    """Return how many units of each stratum (its rows) are in each fold (its columns).

    The sizes of two folds differ by at most 1, in a stratum and in all of them together: strata are
    dealt out to the folds in turn, each from where the one before it ended.
    """
    ends = np.cumsum(counts)[:, np.newaxis]
    before = np.concatenate([ends - counts[:, np.newaxis], ends], axis=1)[:, :, np.newaxis]
    # Of the first p places, those of fold f are f, f + n_folds, …
    places = (before + n_folds - 1 - np.arange(n_folds)) // n_folds
    return places[:, 1] - places[:, 0]


@dataclass(frozen=True)
class _Units:
    """The rows or groups that are held out as a whole.

    Attributes
    ----------
    number : integer array (n_units,)
        What is hashed: the number of the row, or the code of the group, in the whole table.
    of_row : intp array (n_rows,)
        The index of each row's unit.
    stratum : intp array (n_units,)
        0, or the index of the class.
    counts : int64 array (n_strata,)
        Units of each stratum, of all workers.
    reduction : Workers, optional
        The workers that have the other rows. Groups are known to all of them.
    """

    number: NDArray[np.int64]
    of_row: NDArray[np.intp]
    stratum: NDArray[np.intp]
    counts: NDArray[np.int64]
    reduction: Workers | None

    @classmethod
    def of(cls, dataset: Dataset, stratify: bool) -> _Units:
        """Return a dataset's groups, or else its rows, whose strata may be the classes."""
        together = workers()
        if dataset.groups is not None:
            codes = together.distinct(dataset.groups)
            of_row, stratum = np.searchsorted(codes, dataset.groups), np.zeros(len(codes), np.intp)
            return cls(codes.astype(np.int64), of_row, stratum, np.array([len(codes)]), None)
        rows = np.arange(len(dataset.target))
        number = rows + together.first_row(len(rows))
        if not stratify:
            n_rows = together.count(len(rows))
            return cls(number, rows, np.zeros_like(rows), np.array([n_rows]), together.reduction)
        classes = together.distinct(dataset.target)
        stratum = np.searchsorted(classes, dataset.target)
        counts = together.sum(np.bincount(stratum, minlength=len(classes)).astype(np.int64))
        return cls(number, rows, stratum, counts, together.reduction)

    def hashes(self, seed: int, purpose: str, key: int = 0) -> NDArray[np.uint64]:
        """Return a hash of each unit."""
        first, end = int(self.number.min(initial=0)), int(self.number.max(initial=-1)) + 1
        return _native.hashes(seed, purpose, key, first, end - first)[self.number - first]

    def parts(self, hashes: NDArray[np.uint64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Divide the strata into parts of these sizes, by the order of hashes."""
        return _native.random_parts(hashes, self.stratum, sizes, reduction=self.reduction)


def _last(dataset: Dataset, fraction: float) -> NDArray[np.bool_]:
    """Mark the last rows, or the rows of the groups that appear last, but not all."""
    together, n_rows = workers(), len(dataset.target)
    before = together.first_row(n_rows)
    if dataset.groups is None:
        n_total = together.count(n_rows)
        return before + np.arange(n_rows) >= n_total - _holdout_size(fraction, n_total)
    codes, first = np.unique(dataset.groups, return_index=True)
    # Of a group on several workers, the first appearance counts: later ones are overwritten.
    appearance: dict[int, int] = {}
    for of_worker in reversed(together.objects((codes.tolist(), (first + before).tolist()))):
        appearance |= dict(zip(*of_worker, strict=True))
    in_order = sorted(appearance, key=appearance.__getitem__)
    last = in_order[len(in_order) - _holdout_size(fraction, len(in_order)) :]
    return np.isin(dataset.groups, last)


def _sample(
    dataset: Dataset, fraction: float, seed: int, stratify: bool, purpose: str
) -> NDArray[np.bool_]:
    """Mark random rows, or those of random groups, but never all.

    If stratified, it is the same fraction of each class, but never all of it.
    """
    units = _Units.of(dataset, stratify)
    held_out = np.array([_holdout_size(fraction, count) for count in units.counts.tolist()])
    sizes = np.stack([held_out, units.counts - held_out], axis=1)
    key = list(_PARAMETER_AND_ADVICE).index(purpose)
    part = units.parts(units.hashes(seed, "holdout", key), sizes)
    return (part == 0)[units.of_row]


def _holdout_size(fraction: float, count: int) -> int:
    return max(min(int(fraction * count + 0.5), count - 1), 0)
