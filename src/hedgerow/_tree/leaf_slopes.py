"""Leaves that are linear: after a tree has grown, its leaves get slopes by a small ridge each.

The value of a leaf stays what it is without slopes, because these are taken around the means of the
leaf's rows. `native/tree/linear_leaves.hpp` has the formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._tree.growth_params import GrowParams
from hedgerow._tree.linear_leaves import LinearLeaves
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats

# The gradients of an output: a store and its number there, or gradients and hessians of all rows.
Gradients = tuple[Any, Any]


@dataclass(frozen=True)
class LeafSlopes:
    """How leaves get slopes.

    Attributes
    ----------
    table : float32 or float64 array (n_rows, n_features)
        The rows that trees are grown on, as the predictor sees them.
    params : GrowParams
        How trees grow.
    linear_lambda : float
        The ridge.
    """

    table: NDArray[Any]
    params: GrowParams
    linear_lambda: float

    def fit(
        self,
        tree: Tree,
        gradients: Sequence[Gradients],
        leaf: NDArray[np.uint16],
        bag: NDArray[np.uint32] | None,
        n_threads: int,
    ) -> Tree:
        """Return the tree with slopes by the gradients of its outputs: one, or as many as values.

        `leaf` is the leaf of each row, counted in the order of nodes; `bag` holds the rows that
        count.
        """
        nodes = _native.TreeNodes(
            tree.feature, tree.left, tree.right, tree.category_set, tree.count, tree.value
        )
        rules = self._rules()
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
        """Add one of the tree's values, with its slopes, to scores of the table's rows."""
        is_leaf = tree.feature < 0
        value = np.ascontiguousarray(tree.value[is_leaf, place])
        if tree.slopes is None:
            scores += value[leaf]
            return
        terms = tree.slopes.native_by_leaf(is_leaf)
        _native.add_linear_leaves(terms, leaf, value, place, self.table, scores, n_threads)

    def _rules(self) -> _native.SlopeRules:
        rules, leaf = _native.SlopeRules(), _native.LeafRule()
        leaf.falls, leaf.rises = self.params.leaf_falls, self.params.leaf_rises
        rules.leaf = leaf
        rules.linear_lambda = self.linear_lambda
        rules.learning_rate = self.params.learning_rate
        rules.max_delta_step = self.params.max_delta_step
        return rules


def _side_by_side(fitted: Sequence[LinearLeaves]) -> LinearLeaves:
    """Join the slopes of several outputs, whose terms are the same but for the numbers."""
    if len(fitted) == 1:
        return fitted[0]
    coefficient = np.hstack([of_output.coefficient for of_output in fitted])
    is_flat = coefficient == 0.0  # has seen no range
    low = np.where(is_flat, np.inf, np.stack([f.low for f in fitted], axis=1)).min(axis=1)
    high = np.where(is_flat, -np.inf, np.stack([f.high for f in fitted], axis=1)).max(axis=1)
    centre = np.hstack([of_output.centre for of_output in fitted])
    return replace(fitted[0], coefficient=coefficient, centre=centre, low=low, high=high)
