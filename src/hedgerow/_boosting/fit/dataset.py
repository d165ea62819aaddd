"""Datasets (table, target, weights, groups), evaluation sets, splits into holdouts and folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.intake import Table
from hedgerow._types import Floats, Indices
from hedgerow.exceptions import DataError, ParameterError

# Weights are summed as integer multiples of this fraction of the largest.
WEIGHT_STEPS = 2**31

_EVAL_SET = (
    "eval_set must be a list of (X, y) or (X, y, sample_weight), as in "
    "eval_set=[(X_valid, y_valid)]."
)

# The parameter that needs a holdout for a purpose, and how the advice in an error begins.
_PARAMETER_AND_ADVICE = {
    "validation": ("early_stopping", "Pass an eval_set, or set"),
    "calibration": ("calibration", "Set"),
}


@dataclass(frozen=True)
class Dataset:
    """Rows with a target (in classification, the class index) and optional weights and groups.

    A target with several numbers per row has shape (n_rows, n_numbers).
    """

    table: Table
    target: Floats
    weights: Floats | None
    groups: NDArray[np.int32] | None = None

    @property
    def target_by_output(self) -> Floats:
        """The target as losses read it: (n_rows,) or (n_numbers, n_rows)."""
        return np.ascontiguousarray(self.target.T)

    def take(self, rows: Indices) -> Dataset:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        return Dataset(self.table.take(rows), self.target[rows], weights, groups)

    def weighted_by_class(self, class_weights: Floats) -> Dataset:
        """Multiply the weights by those of the classes."""
        by_row = class_weights[self.target.astype(np.intp)]
        return replace(self, weights=by_row if self.weights is None else self.weights * by_row)

    def balanced_like(self, train: Dataset) -> Dataset:
        """Weight the classes as ``sampling="balanced"`` samples them from a training set."""
        counts = np.bincount(train.target.astype(np.intp)).astype(np.float64)
        return self.weighted_by_class(counts[counts > 0.0].min() / np.maximum(counts, 1.0))

    def weighted_in_rows(self, *, only_ratios: bool) -> Dataset:
        """Scale the weights to the unit of penalties and limits, which is one row.

        A weight of 2 counts as two rows, so weights with a mean of at least 1 are kept. Smaller
        ones are scaled to a mean of 1, and with `only_ratios` all are.
        """
        if self.weights is None or not self.weights.any():
            return self
        largest = self.weights.max()
        relative = self.weights / largest
        # A sum of integers does not depend on the order of rows. Rows of weight 0 do not count.
        total = int(np.rint(relative * WEIGHT_STEPS).astype(np.int64).sum())
        mean = total / WEIGHT_STEPS / np.count_nonzero(relative)
        if largest * mean >= 1.0 and not only_ratios:
            return self
        return replace(self, weights=relative / mean)


def read_eval_sets(
    eval_set: Any, names: Sequence[str] | None, read: Callable[[Any, Any, Any], Dataset]
) -> dict[str, Dataset]:
    """Read ``eval_set=[(X, y[, weights]), …]``; default names are ``eval_0`` and so on."""
    if eval_set is None:
        return {}
    if not isinstance(eval_set, tuple | list):
        raise DataError(_EVAL_SET)
    is_one = isinstance(eval_set, tuple) and not all(isinstance(e, tuple) for e in eval_set)
    entries = [eval_set] if is_one else list(eval_set)
    for entry in entries:
        if not isinstance(entry, tuple | list) or len(entry) not in (2, 3):
            raise DataError(_EVAL_SET)
        if isinstance(entry[1], str):
            raise DataError(f"{_EVAL_SET} Names of the sets belong in eval_names.")
    names = _checked_names(names, len(entries))
    return {
        name: _read_entry(read, entry, f"eval_set[{i}]")
        for i, (name, entry) in enumerate(zip(names, entries, strict=True))
    }


def _read_entry(
    read: Callable[[Any, Any, Any], Dataset], entry: Sequence[Any], where: str
) -> Dataset:
    X, y, sample_weight = entry if len(entry) == 3 else (*entry, None)
    try:
        return read(X, y, sample_weight)
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
    seed = seed if purpose == "validation" else (seed + 1) % 2**32
    groups = dataset.groups
    if rows == "last":
        is_holdout = _last(np.arange(len(dataset.target)) if groups is None else groups, fraction)
    elif groups is not None:
        is_holdout = _sample_groups(groups, fraction, seed)
    else:
        is_holdout = _sample(dataset.target, fraction, seed, stratify)
    parameter, advice = _PARAMETER_AND_ADVICE[purpose]
    if not is_holdout.any():
        unit = "row" if groups is None else "group"
        count = len(is_holdout) if groups is None else len(np.unique(groups))
        raise DataError(
            f"{parameter} needs a holdout, but {purpose}_fraction={fraction} of {count} {unit}s is "
            f"less than one {unit}. {advice} a larger {purpose}_fraction."
        )
    splits = dataset.take(np.flatnonzero(~is_holdout)), dataset.take(np.flatnonzero(is_holdout))
    if not all(map(_has_weight, splits)):
        raise DataError(
            f"sample_weight is zero in every row of the training set or of the holdout of "
            f"{parameter}. {advice} another {purpose}_fraction."
        )
    return splits


def split_folds(
    dataset: Dataset, n_folds: int, seed: int, stratify: bool, rows: str
) -> list[tuple[Dataset, Dataset]]:
    """Split into training set and holdout once for each fold.

    ``rows="last"`` gives one split, whose holdout is the last rows. Splits in which the training
    set or the holdout is empty or has no weight are left out.
    """
    fold = _fold_of_row(dataset, n_folds, seed, stratify, rows)
    splits = [
        (dataset.take(np.flatnonzero(fold != k)), dataset.take(np.flatnonzero(fold == k)))
        for k in range(n_folds)
    ]
    return [split for split in splits if all(map(_has_weight, split))]


def _has_weight(dataset: Dataset) -> bool:
    return len(dataset.target) > 0 and (dataset.weights is None or bool(dataset.weights.any()))


def _fold_of_row(
    dataset: Dataset, n_folds: int, seed: int, stratify: bool, rows: str
) -> NDArray[np.intp]:
    """Return the fold whose holdout contains each row, or −1."""
    unit = np.arange(len(dataset.target)) if dataset.groups is None else dataset.groups
    if rows == "last":
        return _last(unit, 1.0 / n_folds).astype(np.intp) - 1
    distinct, of_row = np.unique(unit, return_inverse=True)
    order = np.random.RandomState(seed).permutation(len(distinct))
    if stratify and dataset.groups is None:
        order = order[np.argsort(dataset.target[order], kind="stable")]
    fold = np.empty(len(distinct), np.intp)
    fold[order] = np.arange(len(distinct)) % n_folds
    if stratify and dataset.groups is None:
        # A class with a single row is always in the training set.
        _, number, count = np.unique(dataset.target, return_inverse=True, return_counts=True)
        fold[count[number] == 1] = -1
    return fold[of_row]


def _last(unit: NDArray[Any], fraction: float) -> NDArray[np.bool_]:
    """Mark the rows of the units (rows or groups) that appear last, but not all."""
    _, first, of_row = np.unique(unit, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    return place[of_row] >= len(first) - _holdout_size(fraction, len(first))


def _sample(target: Floats, fraction: float, seed: int, stratify: bool) -> NDArray[np.bool_]:
    """Mark random rows; if stratified, the same fraction of each class, but never all of it."""
    # RandomState, because NumPy promises that its streams never change.
    shuffled = np.random.RandomState(seed).permutation(len(target))
    strata = target[shuffled] if stratify else np.zeros(len(target))
    is_holdout = np.zeros(len(target), dtype=bool)
    for stratum in np.unique(strata):
        members = shuffled[strata == stratum]
        is_holdout[members[: _holdout_size(fraction, len(members))]] = True
    return is_holdout


def _sample_groups(groups: NDArray[np.int32], fraction: float, seed: int) -> NDArray[np.bool_]:
    """Mark the rows of random groups, but not of all."""
    distinct = np.unique(groups)
    shuffled = distinct[np.random.RandomState(seed).permutation(len(distinct))]
    return np.isin(groups, shuffled[: _holdout_size(fraction, len(distinct))])


def _holdout_size(fraction: float, count: int) -> int:
    return min(int(fraction * count + 0.5), count - 1)
