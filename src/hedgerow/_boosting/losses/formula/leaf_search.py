"""Leaf values of piecewise linear formula losses, by a search.

Without a hessian there is no Newton step. The best value of a leaf is where the sum of its rows'
slopes changes sign. All leaves of a tree are searched simultaneously, by a guarded false position,
so that a step of the search is one evaluation of the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hedgerow._arithmetic import mean_of
from hedgerow._tree.leaves import LeafRows, write_leaf_values
from hedgerow._tree.structure import Tree
from hedgerow._types import Bools, Floats

# Step of each leaf → its slope: the sum of its rows' slopes, divided by that of their sizes.
SlopeAt = Callable[[Floats], Floats]

# Maximum numbers of evaluations of the loss for a tree, to bracket the roots and to approach them.
MOST_DOUBLINGS, MOST_STEPS = 30, 30
# Tolerance of a leaf's relative slope, and of the relative width of its bracket. Shrinkage changes
# values by more, and a finer search gains nothing: the pinball loss of a test set was the same to
# 1e-3 with 0.03 as with 0.001, in half the time.
ENOUGH = 0.02


class SearchedLoss(Protocol):
    """The interface of a loss for the search."""

    is_piecewise_linear: Bools

    def slopes(self, target: Floats, scores: Floats, output: int) -> Floats:
        """Return the derivatives of all rows with respect to one of the scores (K, n)."""


@dataclass(frozen=True)
class LeafSearch:
    """Leaf values that minimise the loss of the leaf's rows, capped and multiplied by shrinkage."""

    loss: SearchedLoss
    target: Floats
    learning_rate: float
    max_delta_step: float

    def replace(self, tree: Tree, output: int, rows: LeafRows, n_threads: int) -> Floats:  # noqa: ARG002
        """Write new values into the tree; return those of the leaves, in the order of nodes."""
        is_leaf = tree.feature < 0
        if not self.loss.is_piecewise_linear[output]:
            return tree.value[is_leaf, output % tree.value.shape[1]]
        n_leaves = int(np.count_nonzero(is_leaf))
        steps = self._searched(output, rows, n_leaves)
        return write_leaf_values(tree, output, steps, self.learning_rate, self.max_delta_step)

    def _searched(self, output: int, rows: LeafRows, n_leaves: int) -> Floats:
        scores = rows.all_scores.copy()

        def slope_at(steps: Floats) -> Floats:
            np.add(rows.scores, steps[rows.leaf], out=scores[output])
            slopes = self.loss.slopes(self.target, scores, output)
            total, size = (rows.sums(of, n_leaves) for of in (slopes, np.abs(slopes)))
            return total / np.where(size == 0.0, 1.0, size)

        # Nothing is kept from tree to tree, so that a continued fit finds the same steps.
        return _roots(slope_at, n_leaves, stride=_standard_deviation(rows.target) or 1.0)


def _standard_deviation(target: Floats) -> float:
    return float(np.sqrt(mean_of((target - mean_of(target)) ** 2)))


def _roots(slope_at: SlopeAt, n_leaves: int, stride: float) -> Floats:
    """Return the step of each leaf at which its slope changes sign, by descent from 0."""
    slope = slope_at(np.zeros(n_leaves))
    down = -np.sign(slope)

    def climb(step: Floats) -> Floats:
        value = down * slope_at(down * step)
        return np.where(np.isfinite(value), value, 1.0)  # not finite: too far

    brackets = _Brackets(climb, np.abs(slope), stride)
    brackets.widen()
    brackets.narrow()
    return down * brackets.best()


class _Brackets:
    """For each leaf two steps, near and far, between which its slope becomes positive."""

    def __init__(self, climb: Callable[[Floats], Floats], slope: Floats, stride: float) -> None:
        self.climb = climb
        self.near, self.far = np.zeros_like(slope), np.full_like(slope, stride)
        self.at_near, self.at_far = -slope, climb(self.far)

    def widen(self) -> None:
        """Double the far steps until the slope is positive."""
        for _ in range(MOST_DOUBLINGS):
            short = (self.at_far < -ENOUGH) & (self.at_near < -ENOUGH)
            if not short.any():
                return
            self.near = np.where(short, self.far, self.near)
            self.at_near = np.where(short, self.at_far, self.at_near)
            self.far = np.where(short, 2.0 * self.far, self.far)
            self.at_far = np.where(short, self.climb(self.far), self.at_far)

    def narrow(self) -> None:
        """Narrow the brackets until a slope is nearly 0 or the two steps nearly meet."""
        # Weights of false position: halved on a side that stays (the Illinois method).
        weight_near, weight_far = self.at_near.copy(), self.at_far.copy()
        for _ in range(MOST_STEPS):
            width = self.far - self.near
            undecided = (self.at_near < -ENOUGH) & (self.at_far > ENOUGH)
            undecided &= width > ENOUGH * self.far
            if not undecided.any():
                return
            share = -weight_near / np.where(undecided, weight_far - weight_near, 1.0)
            middle = self.near + np.clip(share, 0.1, 0.9) * width
            value = self.climb(np.where(undecided, middle, self.near))
            is_short, is_long = undecided & (value < 0.0), undecided & (value >= 0.0)
            weight_near = np.where(
                is_short, value, np.where(is_long, 0.5 * weight_near, weight_near)
            )
            weight_far = np.where(is_long, value, np.where(is_short, 0.5 * weight_far, weight_far))
            self.near, self.at_near = _moved(is_short, (middle, value), (self.near, self.at_near))
            self.far, self.at_far = _moved(is_long, (middle, value), (self.far, self.at_far))

    def best(self) -> Floats:
        """Return the steps with the smaller slope."""
        return np.where(np.abs(self.at_near) < np.abs(self.at_far), self.near, self.far)


def _moved(
    where: Bools, new: tuple[Floats, Floats], old: tuple[Floats, Floats]
) -> Sequence[Floats]:
    return [np.where(where, a, b) for a, b in zip(new, old, strict=True)]
