"""Leaves of losses that are straight on both sides of a corner.

Newton's step knows nothing of such a loss. So after a tree has grown, a leaf gets what is best for
its rows: a weighted quantile of their steps to the corner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.tree.structure import Tree

Floats = NDArray[np.float64]


class TrainedLoss(Protocol):
    """What trainers ask of a loss whose gradients are native."""

    name: str
    has_corners: bool
    adapts: bool

    def shape(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:
        """Return the number that kernels need beside the name, of each output; empty for none."""

    def gradients(
        self, target: Floats, scores: Floats, weights: Floats | None, n_threads: int
    ) -> tuple[Floats, Floats]:
        """Return gradient and hessian, both (n_outputs, n_rows), weights multiplied in."""

    def corners(self, target: Floats, scores: Floats) -> Floats:
        """Return the step of each row to the corner of its loss, for one output."""

    def levels(
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
    """The rows of a tree's leaves: their target and score, and which of them the tree grew on."""

    target: Floats
    scores: Floats
    weights: Floats | None
    leaf: NDArray[np.uint16]
    bag: NDArray[np.uint32] | None


@dataclass(frozen=True)
class LeafQuantiles:
    """How leaves are replaced: the loss's quantiles, shrunk, and capped if steps are."""

    loss: TrainedLoss
    learning_rate: float
    max_delta_step: float

    def replace(self, tree: Tree, output: int, rows: LeafRows, n_threads: int) -> Floats:
        """Write the values into the tree, and return those of its leaves in their order."""
        is_leaf = tree.feature < 0
        n_leaves = int(np.count_nonzero(is_leaf))
        corners = self.loss.corners(rows.target, rows.scores)
        levels = self._levels(output, rows, n_leaves)
        steps = _native.leaf_quantiles(
            corners, rows.weights, rows.leaf, rows.bag, levels, n_threads
        )
        if self.max_delta_step > 0.0:
            steps = np.clip(steps, -self.max_delta_step, self.max_delta_step)
        values: Floats = self.learning_rate * steps
        place = output % tree.value.shape[1]
        tree.value[is_leaf, place] = values
        average_inner(tree, place)
        return values

    def _levels(self, output: int, rows: LeafRows, n_leaves: int) -> Floats:
        target, weights, leaf = rows.target, rows.weights, rows.leaf
        if rows.bag is not None:
            target, leaf = target[rows.bag], leaf[rows.bag]
            weights = None if weights is None else weights[rows.bag]
        return self.loss.levels(output, target, weights, leaf, n_leaves)


def average_inner(tree: Tree, place: int = 0) -> None:
    """Give every inner node the mean of its rows' leaves; children come after their parents."""
    value, count = tree.value[:, place], tree.count
    for node in np.flatnonzero(tree.feature >= 0)[::-1].tolist():
        left, right = tree.left[node], tree.right[node]
        both = value[left] * count[left] + value[right] * count[right]
        value[node] = both / (count[left] + count[right])
