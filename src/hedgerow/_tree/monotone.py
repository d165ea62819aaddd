"""Monotone constraints on a grown tree: which leaves bound one another, and the nearest values.

A grower keeps the values of its leaves monotone. If they are replaced afterwards (by quantiles, by
a search, by a refit), they are projected here onto the monotone values, all leaves at once, so that
none is bounded by an outdated value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._tree.leaves import LeafRows, LeafUpdate, average_inner_nodes
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats


def monotone_links(tree: Tree, directions: Sequence[int]) -> NDArray[np.int32]:
    """Return pairs of leaves, (n, 2): the value of the first may not exceed that of the second.

    The pairs are the leaves that are adjacent along a constrained feature. If all pairs satisfy
    the constraint, the tree is monotone at every input.

    Parameters
    ----------
    tree : Tree
        Any tree.
    directions : sequence of int
        For each feature, 1 if values may not decrease with it, -1 if they may not increase, else 0.
    """
    links: NDArray[np.int32] = _native.monotone_links(
        tree.feature,
        tree.threshold,
        tree.left,
        tree.right,
        tree.missing_left,
        tree.category_set,
        tree.category_bits,
        np.asarray(directions, np.int8),
    )
    return links


def is_monotone(tree: Tree, directions: Sequence[int]) -> bool:
    """Return whether a tree satisfies the monotone constraints at every input."""
    lower, upper = monotone_links(tree, directions).T
    return bool((tree.value[lower] <= tree.value[upper]).all())


def nearest_monotone(
    tree: Tree, directions: Sequence[int], values: Floats, weights: Floats
) -> Floats:
    """Return the monotone leaf values that minimise ``Σ weights * (result - values) ** 2``.

    With Newton steps as values and ``cover + reg_lambda`` as weights, they are the optimum of the
    quadratic objective.

    Parameters
    ----------
    tree : Tree
        The splits; its values are not used.
    directions : sequence of int
        As in `monotone_links`.
    values, weights : arrays of shape (n_leaves,)
        In the order of nodes; weights are not negative.
    """
    leaves = np.flatnonzero(tree.feature < 0)
    links = np.searchsorted(leaves, monotone_links(tree, directions)).astype(np.int32)
    nearest: Floats = _native.isotonic(
        links, np.ascontiguousarray(values), np.ascontiguousarray(weights)
    )
    return nearest


def make_monotone(tree: Tree, place: int, directions: Sequence[int], weights: Floats) -> Floats:
    """Replace one output's values by the nearest monotone ones; return those of the leaves."""
    is_leaf = tree.feature < 0
    values = nearest_monotone(tree, directions, tree.value[is_leaf, place], weights)
    tree.value[is_leaf, place] = values
    average_inner_nodes(tree, place)
    return values


@dataclass(frozen=True)
class MonotoneLeaves:
    """Leaf values of another rule, if there is one, made monotone."""

    update: LeafUpdate | None
    directions: Sequence[int]
    reg_lambda: float

    def replace(self, tree: Tree, output: int, rows: LeafRows, n_threads: int) -> Floats:
        """Write new values into the tree; return those of the leaves, in the order of nodes."""
        if self.update is not None:
            self.update.replace(tree, output, rows, n_threads)
        weights = tree.cover[tree.feature < 0] + self.reg_lambda
        return make_monotone(tree, output % tree.value.shape[1], self.directions, weights)
