"""What happens to the leaves of a tree after it has grown.

The leaf values of piecewise linear losses are replaced: their hessian is 0, so a Newton step is
useless, and the best value of a leaf is a weighted quantile of its rows' steps to the kink. Linear
leaves get slopes by a ridge regression each. Slopes are relative to the means of the leaf's rows,
so that the value of a leaf stays the same; `native/tree/linear_leaves.hpp` has the formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import sums_by_group
from hedgerow._collective import workers
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.linear_leaves import LinearLeaves
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats

# The gradients of an output: a store and its number there, or gradients and hessians of all rows.
Gradients = tuple[Any, Any]


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
        """Return the step from each row's score to its kink, for one output."""

    def leaf_levels(
        self,
        output: int,
        target: Floats,
        weights: Floats | None,
        leaf: NDArray[np.uint16],
        n_leaves: int,
    ) -> Floats:
        """Return the quantile level of each leaf, for one output."""


@dataclass(frozen=True)
class LeafRows:
    """The rows of a tree's leaves: targets, scores, and `bag`, the rows that the tree was grown on.

    `target` and `scores` are those of one output, `all_scores` has shape (n_outputs, n_rows).
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
        return sums_by_group(weighted, leaf, n_leaves)


class LeafUpdate(Protocol):
    """A rule that replaces the leaf values of a tree after it has grown."""

    def replace(self, tree: Tree, output: int, rows: LeafRows, n_threads: int) -> Floats:
        """Write new values into the tree; return those of the leaves, in the order of nodes."""


@dataclass(frozen=True)
class LeafQuantiles:
    """Leaf values of piecewise linear losses: quantiles, capped and multiplied by shrinkage."""

    loss: TrainerLoss
    learning_rate: float
    max_delta_step: float

    def replace(self, tree: Tree, output: int, rows: LeafRows, n_threads: int) -> Floats:
        """Write new values into the tree; return those of the leaves, in the order of nodes."""
        n_leaves = int(np.count_nonzero(tree.feature < 0))
        kinks = self.loss.steps_to_kink(rows.target, rows.scores)
        levels = self._levels(output, rows, n_leaves)
        steps = _native.leaf_quantiles(
            *(kinks, rows.weights, rows.leaf, rows.bag, levels, n_threads, workers().reduction)
        )
        return write_leaf_values(tree, output, steps, self.learning_rate, self.max_delta_step)

    def _levels(self, output: int, rows: LeafRows, n_leaves: int) -> Floats:
        target, weights, leaf = rows.target, rows.weights, rows.leaf
        if rows.bag is not None:
            target, leaf = target[rows.bag], leaf[rows.bag]
            weights = None if weights is None else weights[rows.bag]
        return self.loss.leaf_levels(output, target, weights, leaf, n_leaves)


def write_leaf_values(
    tree: Tree, output: int, steps: Floats, learning_rate: float, max_delta_step: float
) -> Floats:
    """Write steps into a tree's leaves, capped and shrunk; return the values written."""
    if max_delta_step > 0.0:
        steps = np.clip(steps, -max_delta_step, max_delta_step)
    values: Floats = learning_rate * steps
    place = output % tree.value.shape[1]
    tree.value[tree.feature < 0, place] = values
    average_inner_nodes(tree, place)
    return values


def average_inner_nodes(tree: Tree, place: int = 0) -> None:
    """Set the value of each inner node to the mean over its rows; children follow their parents.

    The trees of another library may have no row counts. Covers are then used as weights or, if
    there are none either, both children have equal weight.
    """
    value = tree.value[:, place]
    weight = tree.count if tree.count.any() else tree.cover
    for node in np.flatnonzero(tree.feature >= 0)[::-1].tolist():
        left, right = tree.left[node], tree.right[node]
        total = weight[left] + weight[right]
        both = value[left] * weight[left] + value[right] * weight[right]
        value[node] = both / total if total > 0 else 0.5 * (value[left] + value[right])


@dataclass(frozen=True)
class LeafSlopes:
    """Fits the slopes of linear leaves.

    Attributes
    ----------
    table : float32 or float64 array (n_rows, n_features)
        The training set as the predictor reads it.
    params : GrowthParams
        The growth parameters.
    linear_lambda : float
        The L2 penalty on slopes.
    """

    table: NDArray[Any]
    params: GrowthParams
    linear_lambda: float

    def fit(
        self,
        tree: Tree,
        gradients: Sequence[Gradients],
        leaf: NDArray[np.uint16],
        bag: NDArray[np.uint32] | None,
        n_threads: int,
    ) -> Tree:
        """Return the tree with slopes, fitted to the gradients of each of its outputs.

        `leaf` is the leaf of each row, counted in the order of nodes; `bag` are the rows used.
        """
        nodes = _native.TreeNodes(
            tree.feature, tree.left, tree.right, tree.category_set, tree.count, tree.value
        )
        rules = _native.SlopeRules(_native.GrowthParams(self.params), self.linear_lambda)
        fitted = []
        for place, (first, second) in enumerate(gradients):
            terms = _native.fit_slopes(
                nodes, place, leaf, bag, self.table, first, second, rules, n_threads
            )
            fitted.append(LinearLeaves(*terms))
        return replace(tree, slopes=_side_by_side(fitted).steep())

    def add(
        self, tree: Tree, place: int, leaf: NDArray[np.uint16], scores: Floats, n_threads: int
    ) -> None:
        """Add one of the tree's values, with its slopes, to the scores of the table's rows."""
        is_leaf = tree.feature < 0
        value = np.ascontiguousarray(tree.value[is_leaf, place])
        if tree.slopes is None:
            scores += value[leaf]
            return
        terms = tree.slopes.native_by_leaf(is_leaf)
        _native.add_linear_leaves(terms, leaf, value, place, self.table, scores, n_threads)


def _side_by_side(fitted: Sequence[LinearLeaves]) -> LinearLeaves:
    """Join the slopes of several outputs, whose terms have the same nodes and features."""
    if len(fitted) == 1:
        return fitted[0]
    coefficient = np.hstack([slopes.coefficient for slopes in fitted])
    is_flat = coefficient == 0.0  # without a range
    low = np.where(is_flat, np.inf, np.stack([f.low for f in fitted], axis=1)).min(axis=1)
    high = np.where(is_flat, -np.inf, np.stack([f.high for f in fitted], axis=1)).max(axis=1)
    centre = np.hstack([slopes.centre for slopes in fitted])
    return replace(fitted[0], coefficient=coefficient, centre=centre, low=low, high=high)
