"""What `fit` is given, read and checked: training rows, evaluation sets, the held-out part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.intake import Table
from hedgerow._types import Floats, Indices
from hedgerow.exceptions import DataError, ParameterError

# Weights are added up in this part of the largest.
WEIGHT_STEPS = 2**31

_EVAL_SET = (
    "eval_set must be a list of (X, y) or (X, y, sample_weight), as in "
    "eval_set=[(X_valid, y_valid)]."
)

# For each purpose of rows held out, the parameter that asks for them, and what could be given.
_WHY_AND_CURE = {
    "validation": ("early_stopping", "Give an eval_set, or"),
    "calibration": ("calibration", "Give"),
}


@dataclass(frozen=True)
class Given:
    """What `fit` was called with."""

    X: Any
    y: Any
    sample_weight: Any = None
    groups: Any = None
    eval_set: Any = None
    eval_names: Any = None
    callbacks: Any = None
    init_model: Any = None
    checkpoint: Any = None
    checkpoint_every: Any = 10


@dataclass(frozen=True)
class Examples:
    """Rows with a target (the class number in classification) and, if any, weights.

    A target of several numbers a row has shape (n_rows, n_numbers).
    """

    table: Table
    target: Floats
    weights: Floats | None
    groups: NDArray[np.int32] | None = None

    @property
    def target_by_output(self) -> Floats:
        """The target as losses see it: (n_rows,), or (n_numbers, n_rows)."""
        return np.ascontiguousarray(self.target.T)

    def take(self, rows: Indices) -> Examples:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        return Examples(self.table.take(rows), self.target[rows], weights, groups)

    def weighted_by_class(self, class_weights: Floats) -> Examples:
        """Multiply the weights with those of the classes."""
        by_row = class_weights[self.target.astype(np.intp)]
        return replace(self, weights=by_row if self.weights is None else self.weights * by_row)

    def in_the_balance_of(self, drawn: Examples) -> Examples:
        """Weigh classes as ``sampling="balanced"`` draws them from other rows: all alike."""
        counts = np.bincount(drawn.target.astype(np.intp)).astype(np.float64)
        return self.weighted_by_class(counts[counts > 0.0].min() / np.maximum(counts, 1.0))

    def weighted_in_rows(self, *, only_ratios: bool) -> Examples:
        """Scale the weights to the unit that penalties and limits are in, which is a row.

        A weight of 2 is two rows, so weights stay as they are if a row counts for one row or more
        on average; smaller ones are scaled to a mean of 1. With `only_ratios` all are.
        """
        if self.weights is None or not self.weights.any():
            return self
        largest = self.weights.max()
        relative = self.weights / largest
        # A sum of integers does not depend on the order of rows. A row of weight 0 is no row.
        total = int(np.rint(relative * WEIGHT_STEPS).astype(np.int64).sum())
        mean = total / WEIGHT_STEPS / np.count_nonzero(relative)
        if largest * mean >= 1.0 and not only_ratios:
            return self
        return replace(self, weights=relative / mean)


def read_eval_sets(
    eval_set: Any, names: Sequence[str] | None, read: Callable[[Any, Any, Any], Examples]
) -> dict[str, Examples]:
    """Read ``eval_set=[(X, y[, weights]), …]``; without names they are ``eval_0`` and so on."""
    if eval_set is None:
        return {}
    if not isinstance(eval_set, tuple | list):
        raise DataError(_EVAL_SET)
    is_one = isinstance(eval_set, tuple) and not all(isinstance(e, tuple) for e in eval_set)
    given = [eval_set] if is_one else list(eval_set)
    for each in given:
        if not isinstance(each, tuple | list) or len(each) not in (2, 3):
            raise DataError(_EVAL_SET)
        if isinstance(each[1], str):
            raise DataError(f"{_EVAL_SET} Names of the sets go into eval_names.")
    names = _checked_names(names, len(given))
    return {
        name: _read_one(read, one, f"eval_set[{i}]")
        for i, (name, one) in enumerate(zip(names, given, strict=True))
    }


def _read_one(
    read: Callable[[Any, Any, Any], Examples], one: Sequence[Any], where: str
) -> Examples:
    X, y, sample_weight = one if len(one) == 3 else (*one, None)
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
            f"eval_names={names!r} must be a list of {n_sets} different strings, one for each in "
            "eval_set."
        )
    return list(names)


def hold_out(
    examples: Examples,
    fraction: float,
    seed: int,
    stratify: bool,
    rows: str = "random",
    purpose: str = "validation",
) -> tuple[Examples, Examples]:
    """Part the examples into those to train on and those for validation or calibration.

    `rows` are "random" ones, or the "last".
    """
    seed = seed if purpose == "validation" else (seed + 1) % 2**32
    if rows == "last":
        groups = examples.groups
        held = _last(np.arange(len(examples.target)) if groups is None else groups, fraction)
    elif examples.groups is not None:
        held = _draw_groups(examples.groups, fraction, seed)
    else:
        held = _draw(examples.target, fraction, seed, stratify)
    why, cure = _WHY_AND_CURE[purpose]
    if not held.any():
        what = "groups" if examples.groups is not None else "rows"
        count = len(held) if examples.groups is None else len(np.unique(examples.groups))
        raise DataError(
            f"{why} holds out {purpose}_fraction={fraction} of {count} {what}: none. {cure} a "
            f"larger {purpose}_fraction."
        )
    parts = examples.take(np.flatnonzero(~held)), examples.take(np.flatnonzero(held))
    if not all(part.weights is None or part.weights.any() for part in parts):
        raise DataError(
            f"sample_weight is zero in every row that {why} trains on, or holds out. {cure} "
            f"another {purpose}_fraction."
        )
    return parts


def partings(
    examples: Examples, n_folds: int, seed: int, stratify: bool, rows: str
) -> list[tuple[Examples, Examples]]:
    """Part the examples into those to train on and a fold of the rest, for each of some folds.

    Of ``rows="last"`` there is one parting, of the last rows. A parting that leaves nothing to
    train on or to judge by, or nothing that counts, is left out.
    """
    fold = _folds(examples, n_folds, seed, stratify, rows)
    found = [
        (examples.take(np.flatnonzero(fold != k)), examples.take(np.flatnonzero(fold == k)))
        for k in range(n_folds)
    ]
    return [parts for parts in found if all(_counts(part) for part in parts)]


def _counts(part: Examples) -> bool:
    return len(part.target) > 0 and (part.weights is None or bool(part.weights.any()))


def _folds(
    examples: Examples, n_folds: int, seed: int, stratify: bool, rows: str
) -> NDArray[np.intp]:
    """Return the fold of each row, −1 if it is in none."""
    unit = np.arange(len(examples.target)) if examples.groups is None else examples.groups
    if rows == "last":
        return _last(unit, 1.0 / n_folds).astype(np.intp) - 1
    distinct, of_row = np.unique(unit, return_inverse=True)
    order = np.random.RandomState(seed).permutation(len(distinct))
    if stratify and examples.groups is None:
        order = order[np.argsort(examples.target[order], kind="stable")]
    fold = np.empty(len(distinct), np.intp)
    fold[order] = np.arange(len(distinct)) % n_folds
    if stratify and examples.groups is None:
        # A class of one row is always trained on.
        _, number, count = np.unique(examples.target, return_inverse=True, return_counts=True)
        fold[count[number] == 1] = -1
    return fold[of_row]


def _last(unit: NDArray[Any], fraction: float) -> NDArray[np.bool_]:
    """Mark the rows of the units that appear last, but not of all."""
    _, first, of_row = np.unique(unit, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.intp)
    place[np.argsort(first)] = np.arange(len(first))
    wanted = min(int(fraction * len(first) + 0.5), len(first) - 1)
    return place[of_row] >= len(first) - wanted


def _draw(target: Floats, fraction: float, seed: int, stratify: bool) -> NDArray[np.bool_]:
    """Mark the rows to hold out; if asked to, of each class the same part, but never all of it."""
    # RandomState, because NumPy promises that its streams never change.
    shuffled = np.random.RandomState(seed).permutation(len(target))
    groups = target[shuffled] if stratify else np.zeros(len(target))
    held = np.zeros(len(target), dtype=bool)
    for group in np.unique(groups):
        members = shuffled[groups == group]
        wanted = int(fraction * len(members) + 0.5)
        held[members[: min(wanted, len(members) - 1)]] = True
    return held


def _draw_groups(groups: NDArray[np.int32], fraction: float, seed: int) -> NDArray[np.bool_]:
    """Mark the rows of some groups, but not of all."""
    distinct = np.unique(groups)
    shuffled = distinct[np.random.RandomState(seed).permutation(len(distinct))]
    wanted = min(int(fraction * len(distinct) + 0.5), len(distinct) - 1)
    return np.isin(groups, shuffled[:wanted])
