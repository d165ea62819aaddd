"""What `fit` is given, read and checked: training rows, evaluation sets, the held-out part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.boosting.losses import Floats
from hedgerow.data.intake import Table
from hedgerow.exceptions import DataError, ParameterError

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Examples:
    """Rows with a target (the class number in classification) and, if any, weights."""

    table: Table
    target: Floats
    weights: Floats | None

    def take(self, rows: Rows) -> Examples:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Examples(self.table.take(rows), self.target[rows], weights)

    def weighted_by_class(self, class_weights: Floats) -> Examples:
        """Multiply the weights with those of the classes."""
        by_row = class_weights[self.target.astype(np.intp)]
        return replace(self, weights=by_row if self.weights is None else self.weights * by_row)


def read_eval_sets(
    eval_set: Any, names: Sequence[str] | None, read: Callable[[Any, Any, Any], Examples]
) -> dict[str, Examples]:
    """Read ``eval_set=[(X, y[, weights]), …]``; without names they are ``eval_0`` and so on."""
    if eval_set is None:
        return {}
    given = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    for each in given:
        if not isinstance(each, tuple | list) or len(each) not in (2, 3):
            raise DataError("eval_set must be a list of (X, y) or (X, y, sample_weight).")
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
    if isinstance(names, str) or len(set(names)) != n_sets or len(names) != n_sets:
        raise ParameterError(
            f"eval_names={names!r} must be {n_sets} different names, one for each in eval_set."
        )
    return list(names)


def hold_out(target: Floats, fraction: float, seed: int, stratify: bool) -> tuple[Rows, Rows]:
    """Draw the rows to train on and those to hold out, if asked to of each class the same part."""
    n_rows = len(target)
    # RandomState, because NumPy promises that its streams never change.
    shuffled = np.random.RandomState(seed).permutation(n_rows)
    groups = target[shuffled] if stratify else np.zeros(n_rows)
    held = np.zeros(n_rows, dtype=bool)
    for group in np.unique(groups):
        members = shuffled[groups == group]
        held[members[: int(fraction * len(members) + 0.5)]] = True
    if held.all() or not held.any():
        raise DataError(
            f"early_stopping holds out validation_fraction={fraction} of {n_rows} rows, and leaves "
            "nothing to train or to measure on. Give an eval_set, or change validation_fraction."
        )
    return np.flatnonzero(~held), np.flatnonzero(held)
