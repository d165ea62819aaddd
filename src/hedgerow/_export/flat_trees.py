"""The trees of a model as one list of nodes, in the layout that exported programs read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow._tree.linear_leaves import LinearLeaves
from hedgerow._tree.structure import Ensemble
from hedgerow._types import Floats

MISSING_LEFT, TESTS_SET = 1, 2  # flags of a node


@dataclass(frozen=True, eq=False)
class FlatTrees:
    """Nodes of all trees; children are numbered over all trees.

    Attributes
    ----------
    nodes : int64 array (n_nodes, 5)
        Feature (−1 in a leaf), left child, right child, index, flags. The index is that of the
        threshold among `numbers` or, if the flag TESTS_SET is set, of the set of categories that
        go left. In a leaf it is the index of its first value among `numbers`, and the children
        are the first slope of the leaf and the end of its slopes.
    numbers : float64 array
        Thresholds and values of leaves.
    sets : uint32 array (n_sets, 8)
        A bit for each category.
    roots, outputs : int64 arrays (n_trees,)
        The root of each tree, and the output that its values are added to.
    slopes : LinearLeaves, optional
    """

    nodes: NDArray[np.int64]
    numbers: Floats
    sets: NDArray[np.uint32]
    roots: NDArray[np.int64]
    outputs: NDArray[np.int64]
    slopes: LinearLeaves | None


def flat_trees(ensemble: Ensemble) -> FlatTrees:
    """Return the nodes of an ensemble, with thresholds and leaf values side by side."""
    first = np.repeat(ensemble.tree_offset[:-1], np.diff(ensemble.tree_offset))
    is_leaf, tests_set = ensemble.feature < 0, ensemble.category_set >= 0
    width = ensemble.value.shape[1]
    n_numbers = np.where(is_leaf, width, np.where(tests_set, 0, 1))
    index = np.cumsum(n_numbers) - n_numbers
    numbers = np.empty(int(n_numbers.sum()))
    numbers[index[~is_leaf & ~tests_set]] = ensemble.threshold[~is_leaf & ~tests_set]
    numbers[index[is_leaf][:, np.newaxis] + np.arange(width)] = ensemble.value[is_leaf]
    begin, end = _slopes_of_nodes(ensemble)
    flags = MISSING_LEFT * ensemble.missing_left + TESTS_SET * tests_set
    nodes = np.column_stack(
        [
            ensemble.feature,
            np.where(is_leaf, begin, first + ensemble.left),
            np.where(is_leaf, end, first + ensemble.right),
            np.where(tests_set, ensemble.category_set, index),
            np.where(is_leaf, 0, flags),
        ]
    ).astype(np.int64)
    return FlatTrees(
        nodes,
        numbers,
        ensemble.category_bits,
        ensemble.tree_offset[:-1],
        ensemble.tree_output.astype(np.int64),
        ensemble.slopes,
    )


def _slopes_of_nodes(ensemble: Ensemble) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if ensemble.slopes is None:
        none = np.zeros(ensemble.n_nodes, np.int64)
        return none, none
    return ensemble.slopes.start[:-1], ensemble.slopes.start[1:]
