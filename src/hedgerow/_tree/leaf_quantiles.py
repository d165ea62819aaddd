"""Leaf values of piecewise linear losses with a kink.

A Newton step is useless for such a loss, whose hessian is 0. So after a tree has grown, a leaf gets
the value that is best for its rows: a weighted quantile of their steps to the kink.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats


class TrainerLoss(Protocol):
    """The interface of a loss for trainers."""

    name: str
    is_piecewise_linear: bool
    is_adaptive: bool

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:
        """Return the loss's parameter for each output; empty if it has none."""

    def gradients(
        self, target: Floats, scores: Floats, weights: Floats | None, n_threads: int
    ) -> tuple[Floats, Floats]:
        """Return gradient and hessian, both (n_outputs, n_rows), weights multiplied in."""

    def steps_to_kink(self, target: Floats, scores: Floats) -> Floats:
        """Return the step of each row to the corner of its loss, for one output."""

    def leaf_levels(
        self,
        output: int,
        target: Floats,
        weights: Floats | None,
        leaf: NDArray[np.uint16],
        n_leaves: int,
    ) -> Floats:
        """Return which quantile of its rows' corners each leaf is worth, for one output."""


@dataclass(frozen=True)
class LeafRows:
    """The rows of a tree's leaves: their target and score, and which of them the tree grew on.

    `all_scores` are those of all outputs, (n_outputs, n_rows).
    """

    target: Floats
    scores: Floats
    all_scores: Floats
    weights: Floats | None
    leaf: NDArray[np.uint16]
    bag: NDArray[np.uint32] | None

    def sums(self, values: Floats, n_leaves: int) -> Floats:
        """Return the weighted sum of rows' values over each leaf."""
        weighted = values if self.weights is None else self.weights * values
        leaf = self.leaf
        if self.bag is not None:
            leaf, weighted = leaf[self.bag], weighted[self.bag]
        return np.bincount(leaf, weighted, minlength=n_leaves).astype(np.float64, copy=False)


class LeafRule(Protocol):
    """How leaves are replaced after a tree has grown."""

    def replace(self, tree: Tree, output: int, rows: LeafRows, n_threads: int) -> Floats:
        """Write the values into the tree, and return those of its leaves in their order."""


@dataclass(frozen=True)
class LeafQuantiles:
    """How leaves are replaced: the loss's quantiles, shrunk, and capped if steps are."""

    loss: TrainerLoss
    learning_rate: float
    max_delta_step: float

    def replace(self, tree: Tree, output: int, rows: LeafRows, n_threads: int) -> Floats:
        """Write the values into the tree, and return those of its leaves in their order."""
        n_leaves = int(np.count_nonzero(tree.feature < 0))
        corners = self.loss.steps_to_kink(rows.target, rows.scores)
        levels = self._levels(output, rows, n_leaves)
        steps = _native.leaf_quantiles(
            corners, rows.weights, rows.leaf, rows.bag, levels, n_threads
        )
        return put_into_leaves(tree, output, steps, self.learning_rate, self.max_delta_step)

    def _levels(self, output: int, rows: LeafRows, n_leaves: int) -> Floats:
        target, weights, leaf = rows.target, rows.weights, rows.leaf
        if rows.bag is not None:
            target, leaf = target[rows.bag], leaf[rows.bag]
            weights = None if weights is None else weights[rows.bag]
        return self.loss.leaf_levels(output, target, weights, leaf, n_leaves)


def put_into_leaves(
    tree: Tree, output: int, steps: Floats, learning_rate: float, max_delta_step: float
) -> Floats:
    """Write steps into a tree's leaves, capped and shrunk; return them as they were written."""
    if max_delta_step > 0.0:
        steps = np.clip(steps, -max_delta_step, max_delta_step)
    values: Floats = learning_rate * steps
    place = output % tree.value.shape[1]
    tree.value[tree.feature < 0, place] = values
    average_inner(tree, place)
    return values


def average_inner(tree: Tree, place: int = 0) -> None:
    """Return every inner node the mean of its rows' leaves; children come after their parents."""
    value, count = tree.value[:, place], tree.count
    for node in np.flatnonzero(tree.feature >= 0)[::-1].tolist():
        left, right = tree.left[node], tree.right[node]
        both = value[left] * count[left] + value[right] * count[right]
        value[node] = both / (count[left] + count[right])
