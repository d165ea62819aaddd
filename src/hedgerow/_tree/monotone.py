"""Trees under monotone constraints: which leaves bound each other, the nearest values within that.

A grower keeps the values of its leaves monotone. Whoever gives the leaves other values afterwards
(a loss with a minimiser of its own, a refit) has them brought back into order here: all leaves at
once, so that none is bounded by an outdated value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._tree.leaf_quantiles import LeafRows, LeafRule, average_inner
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats


def monotone_links(tree: Tree, directions: Sequence[int]) -> NDArray[np.int32]:
    """Return pairs of leaves, (n, 2), of which the first's value may not exceed the second's.

    If all pairs are in order, the tree is monotone at every input: the pairs are the leaves that
    touch each other in a constrained feature, and all that lie further apart are linked by those.

    Parameters
    ----------
    tree : Tree
        Any tree.
    directions : sequence of int
        1 for a feature with which values may not fall, -1 for one with which they may not rise,
        else 0, for each feature.
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
    """Return whether a tree rises and falls as the directions demand, at every input."""
    lower, upper = monotone_links(tree, directions).T
    return bool((tree.value[lower] <= tree.value[upper]).all())


def nearest_monotone(
    tree: Tree, directions: Sequence[int], values: Floats, weights: Floats
) -> Floats:
    """Return the values of the leaves nearest to given ones that make the tree monotone.

    Nearest by the sum of ``weights * (result - values) ** 2``: with Newton steps as values and
    ``cover + reg_lambda`` as weights, the best there are for the quadratic objective.

    Parameters
    ----------
    tree : Tree
        Its splits count, its values do not.
    directions : sequence of int
        As in `monotone_links`.
    values, weights : arrays of shape (n_leaves,)
        In the order of the leaves' nodes; weights are not negative.
    """
    leaves = np.flatnonzero(tree.feature < 0)
    links = np.searchsorted(leaves, monotone_links(tree, directions)).astype(np.int32)
    nearest: Floats = _native.isotonic(
        links, np.ascontiguousarray(values), np.ascontiguousarray(weights)
    )
    return nearest


def make_monotone(tree: Tree, place: int, directions: Sequence[int], weights: Floats) -> Floats:
    """Replace one output's values by the nearest that are monotone; return those of the leaves."""
    is_leaf = tree.feature < 0
    values = nearest_monotone(tree, directions, tree.value[is_leaf, place], weights)
    tree.value[is_leaf, place] = values
    average_inner(tree, place)
    return values


@dataclass(frozen=True)
class MonotoneLeaves:
    """Leaves that another rule replaces, if there is one, and that are then put in order."""

    rule: LeafRule | None
    directions: Sequence[int]
    reg_lambda: float

    def replace(self, tree: Tree, output: int, rows: LeafRows, n_threads: int) -> Floats:
        """Write the values into the tree, and return those of its leaves in their order."""
        if self.rule is not None:
            self.rule.replace(tree, output, rows, n_threads)
        weights = tree.cover[tree.feature < 0] + self.reg_lambda
        return make_monotone(tree, output % tree.value.shape[1], self.directions, weights)
