"""Trees as files of other libraries describe them → `Ensemble`.

`ForeignTree` is the form that every reader produces: nodes in any order, the root first. Splits are
ours, whatever the library's are: x ≤ threshold goes left, members of a set of categories go left,
everything else goes right, and missing values have a direction. The functions at the end translate
other comparisons into this one without changing a decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._import.fields import MOST_DEPTH, require_all
from hedgerow._tree.linear_leaves import LinearLeaves
from hedgerow._tree.structure import Arithmetic, Ensemble
from hedgerow._types import Floats
from hedgerow.exceptions import ModelFileError

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]
LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False, kw_only=True)
class LeafTerms:
    """The slopes of linear leaves: a leaf adds coefficient · x for each of its terms, in order."""

    node: Indices
    feature: Indices
    coefficient: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class ForeignTree:
    """A tree of another library.

    Attributes
    ----------
    where : str
        Where it is in the file, for errors.
    feature, left, right : int64 arrays (n_nodes,)
        Of inner nodes; `left` and `right` are −1 in leaves.
    threshold, missing_left : arrays (n_nodes,)
    value : float64 array (n_nodes, n_values)
        Inner nodes may have NaN, for the mean of their leaves.
    gain, cover, count : arrays (n_nodes,)
    sets : dict
        The category codes that go left, for each node that tests categories.
    terms : LeafTerms, optional
    """

    where: str
    feature: Indices
    left: Indices
    right: Indices
    threshold: Floats
    missing_left: Flags
    value: Floats
    gain: Floats
    cover: Floats
    count: Indices
    sets: Mapping[int, Indices] = field(default_factory=dict)
    terms: LeafTerms | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.left)


def constant_tree(where: str, value: Floats, cover: float = 0.0, count: int = 0) -> ForeignTree:
    """Return a tree of one leaf."""
    none = np.full(1, -1)
    return ForeignTree(
        where=where,
        feature=none,
        left=none,
        right=none,
        threshold=np.zeros(1),
        missing_left=np.zeros(1, bool),
        value=value.reshape(1, -1),
        gain=np.zeros(1),
        cover=np.array([cover]),
        count=np.array([count]),
    )


@dataclass(frozen=True, eq=False)
class FlatNodes:
    """The nodes of all trees, one after another; children and sets by number among all nodes."""

    trees: Sequence[ForeignTree]
    offset: Indices
    feature: Indices
    left: Indices
    right: Indices
    sets: dict[int, Indices]

    @classmethod
    def of(cls, trees: Sequence[ForeignTree], n_features: int) -> FlatNodes:
        """Join trees, and check that their nodes refer to nodes and features."""
        offset = np.concatenate([[0], np.cumsum([tree.n_nodes for tree in trees])]).astype(np.int64)
        left, right, feature = (
            np.concatenate([np.empty(0, np.int64), *(getattr(tree, name) for tree in trees)])
            for name in ("left", "right", "feature")
        )
        first = np.repeat(offset[:-1], np.diff(offset))
        size = np.repeat(np.diff(offset), np.diff(offset))
        is_leaf = left < 0
        for name, child in (("left child", left), ("right child", right)):
            fits = is_leaf | ((child > 0) & (child < size))
            require_all(fits, f"the {name} of node", child, "a node of its tree")
        fits = is_leaf | ((feature >= 0) & (feature < n_features))
        require_all(fits, "the feature of node", feature, f"from 0 to {n_features - 1}")
        sets = {
            int(begin) + node: codes
            for begin, tree in zip(offset, trees, strict=False)
            for node, codes in tree.sets.items()
        }
        return cls(
            trees,
            offset,
            np.where(is_leaf, -1, feature),
            np.where(is_leaf, -1, first + left),
            np.where(is_leaf, -1, first + right),
            sets,
        )

    def levels(self) -> list[Indices]:
        """Return the nodes of each level of all trees.

        Nodes that no path from the root leads to, such as those that pruning left, are dropped.
        """
        levels = [self.offset[:-1]]
        is_found = np.zeros(len(self.left), bool)
        for _ in range(MOST_DEPTH):
            inner = levels[-1][self.left[levels[-1]] >= 0]
            if not len(inner):
                return levels
            level = np.concatenate([self.left[inner], self.right[inner]])
            if is_found[level].any() or len(np.unique(level)) < len(level):
                raise ModelFileError("the nodes are not trees: a node has two parents.")
            is_found[level] = True
            levels.append(level)
        raise ModelFileError(f"a tree is more than {MOST_DEPTH} levels deep.")

    def order(self, levels: Sequence[Indices]) -> tuple[Indices, Indices]:
        """Return the nodes so that children follow parents, and the tree of each node."""
        nodes = np.concatenate(levels)
        tree = np.searchsorted(self.offset, nodes, side="right") - 1
        by_tree = np.argsort(tree, kind="stable")
        return nodes[by_tree], tree[by_tree]

    def filled_values(self, levels: Sequence[Indices], value: Floats, cover: Floats) -> Floats:
        """Return values in which NaN in an inner node became the mean of its leaves, by cover."""
        value = value.copy()
        for level in reversed(levels):
            node = level[(self.left[level] >= 0) & np.isnan(value[level]).any(axis=1)]
            a, b = self.left[node], self.right[node]
            total = cover[a] + cover[b]
            share = np.where(total > 0.0, cover[a] / np.where(total > 0.0, total, 1.0), 0.5)
            value[node] = value[b] + share[:, np.newaxis] * (value[a] - value[b])
        return value


@dataclass(frozen=True, eq=False)
class NodeTests:
    """What nodes test once categories are coded: a feature, and a set of bins or a threshold.

    Arrays have an entry for each node that tests categories, `node`.
    """

    node: Indices
    feature: Indices
    category_set: Indices
    threshold: Floats
    category_bits: NDArray[np.uint32]


def ensemble_of(
    flat: FlatNodes,
    tests: NodeTests,
    tree_output: Indices,
    base_score: Floats,
    n_features: int,
    arithmetic: Arithmetic,
) -> Ensemble:
    """Join trees into an ensemble, with the nodes in our order."""
    trees, levels = flat.trees, flat.levels()
    order, of_tree = flat.order(levels)
    number = np.full(len(flat.left) + 1, -1)
    number[order] = np.arange(len(order))
    width = trees[0].value.shape[1] if trees else 1

    def joined(name: str) -> NDArray[Any]:
        empty = np.empty((0, width) if name == "value" else 0)
        return np.concatenate([empty, *(getattr(tree, name) for tree in trees)])

    feature, category_set = flat.feature.copy(), np.full(len(flat.left), -1)
    threshold, cover = joined("threshold"), joined("cover")
    feature[tests.node], category_set[tests.node] = tests.feature, tests.category_set
    threshold[tests.node] = tests.threshold
    is_numeric = (feature >= 0) & (category_set < 0)
    fits = ~is_numeric | ~np.isnan(threshold)
    require_all(fits, "the threshold of node", threshold, "a number")
    threshold = np.where(is_numeric, threshold.clip(-LARGEST, LARGEST), 0.0)

    offset = np.searchsorted(of_tree, np.arange(len(trees) + 1)).astype(np.int64)
    first = offset[of_tree]
    is_leaf = flat.left[order] < 0
    gain = np.nan_to_num(joined("gain")[order], nan=0.0)
    ensemble = Ensemble(
        feature=feature[order].astype(np.int32),
        threshold=threshold[order],
        left=np.where(is_leaf, -1, number[flat.left[order]] - first).astype(np.int32),
        right=np.where(is_leaf, -1, number[flat.right[order]] - first).astype(np.int32),
        missing_left=joined("missing_left").astype(bool)[order] & ~is_leaf,
        category_set=category_set[order].astype(np.int32),
        value=flat.filled_values(levels, joined("value"), cover)[order],
        gain=np.where(is_leaf, 0.0, gain),
        cover=cover[order],
        count=np.maximum(joined("count")[order], 0).astype(np.int64),
        category_bits=tests.category_bits,
        slopes=_slopes(flat, number, len(order), width),
        tree_offset=offset,
        tree_output=tree_output.astype(np.int32),
        base_score=base_score,
        n_features=n_features,
        arithmetic=arithmetic,
    )
    try:
        ensemble.validate()
    except ValueError as error:
        raise ModelFileError(f"{error}.") from None
    return ensemble


def _slopes(flat: FlatNodes, number: Indices, n_nodes: int, width: int) -> LinearLeaves | None:
    """Return the slopes of all leaves, by node in our order."""
    parts = [
        (begin + tree.terms.node, tree.terms.feature, tree.terms.coefficient)
        for begin, tree in zip(flat.offset, flat.trees, strict=False)
        if tree.terms is not None and len(tree.terms.node)
    ]
    if not parts:
        return None
    if width > 1:
        raise ModelFileError("linear leaves with several outputs are not supported.")
    old, feature, coefficient = (np.concatenate(each) for each in zip(*parts, strict=True))
    node = number[old]
    by_node = np.argsort(node, kind="stable")
    by_node = by_node[node[by_node] >= 0]
    node, feature, coefficient = node[by_node], feature[by_node], coefficient[by_node]
    # Nothing is clipped, except where terms could overflow.
    terms_of_leaf = np.bincount(node, minlength=n_nodes)[node]
    with np.errstate(divide="ignore", over="ignore"):
        reach = np.minimum(LARGEST / 4.0, LARGEST / 4.0 / (terms_of_leaf * np.abs(coefficient)))
    return LinearLeaves(
        start=np.searchsorted(node, np.arange(n_nodes + 1)).astype(np.int64),
        feature=feature.astype(np.int32),
        coefficient=coefficient.reshape(-1, 1),
        centre=np.zeros((len(node), 1)),
        low=-reach,
        high=reach,
    )


def in_turn(n_trees_of_output: Indices, tree_output: Indices) -> Indices:
    """Return an order in which rounds have a tree for each output, in turn.

    The trees of an output keep their order, so its sum stays the same.
    """
    if len(np.unique(n_trees_of_output)) > 1:
        raise ModelFileError(
            "outputs have different numbers of trees: "
            f"{', '.join(map(str, n_trees_of_output.tolist()))}."
        )
    place = np.empty(len(tree_output), np.int64)
    for output in range(len(n_trees_of_output)):
        own = tree_output == output
        place[own] = np.arange(np.count_nonzero(own))
    return np.lexsort((tree_output, place))


# ---- Comparisons of other libraries ----------------------------------------------------------


def below_float32(threshold: Floats) -> Floats:
    """Return t' such that x ≤ t' is float32(x) < threshold, for float32 thresholds."""
    with np.errstate(over="ignore"):
        before = np.nextafter(threshold.astype(np.float32), np.float32(-np.inf))
    return float32_reach(before.astype(np.float64))


def float32_reach(threshold: Floats) -> Floats:
    """Return the largest t' such that x ≤ t' is float32(x) ≤ threshold.

    A number that is rounded to float32 becomes the nearest one, of two equally near the even one.
    So with t the largest float32 up to the threshold, t' is the middle between t and its successor
    if t is even, and the number before the middle if t is odd.
    """
    with np.errstate(over="ignore"):
        t = threshold.astype(np.float32)
        t = np.where(t > threshold, np.nextafter(t, np.float32(-np.inf)), t)
        after = np.nextafter(t, np.float32(np.inf))
    # Beyond the largest float32, numbers are rounded as if there were a successor.
    wide = np.where(np.isinf(after) & np.isfinite(t), 2.0**128, after.astype(np.float64))
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (t.astype(np.float64) + wide)
    is_odd = (t.view(np.int32) & 1).astype(bool)
    reach = np.where(is_odd, np.nextafter(middle, -np.inf), middle)
    return np.where(np.isfinite(t), reach, threshold)
