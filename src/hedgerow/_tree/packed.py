"""Packed forests of deep trees: nodes without redundant fields.

Nodes are in preorder: a node's left child is the next node, and the right child follows the left
subtree. Splits refer to bins, whose thresholds all trees share. This takes a fifth of the memory of
an `Ensemble`; `tree` unpacks one tree into the arrays of a `Tree`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._data.binned_rows import BinnedRows, TreeRows
from hedgerow._data.binning import Binner
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats

Features = NDArray[np.int16] | NDArray[np.int32]
MOST_FEATURES = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class PackedForest:
    """Trees over the bins of one binner; see docs/architecture.md for the arrays."""

    feature: Features
    split_bin: NDArray[np.uint8]
    missing_left: NDArray[np.bool_]
    gain: Floats
    category_bits: NDArray[np.uint32]
    value: Floats
    cover: Floats
    count: NDArray[np.uint32]
    tree_offset: NDArray[np.int64]
    binner: Binner
    _predictor: Any = field(default=None, init=False, compare=False)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.tree_offset) - 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.binner.is_categorical)

    @property
    def n_values(self) -> int:
        """Number of values of a leaf."""
        return self.value.shape[1]

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return len(self.value)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees, leaves included."""
        return len(self.feature)

    def __repr__(self) -> str:
        return f"PackedForest({self.n_trees} trees, {self.n_leaves} leaves)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PackedForest):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return all(
            mine[name].dtype == theirs[name].dtype and np.array_equal(mine[name], theirs[name])
            for name in mine
        )

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_predictor": None}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the stored arrays by name."""
        return {name: getattr(self, name) for name in ARRAYS}

    def first_trees(self, n_trees: int) -> PackedForest:
        """Return the forest of the first trees, sharing memory with this one."""
        n_nodes = int(self.tree_offset[n_trees])
        n_leaves = int(np.count_nonzero(self.feature[:n_nodes] < 0))
        ends = dict.fromkeys(("value", "cover", "count"), n_leaves)
        ends |= dict.fromkeys(("split_bin", "missing_left", "gain"), n_nodes - n_leaves)
        ends |= {"feature": n_nodes, "tree_offset": n_trees + 1}
        ends["category_bits"] = int(np.count_nonzero(self.is_category_test()[:n_nodes]))
        arrays = {name: array[: ends[name]] for name, array in self.arrays().items()}
        return PackedForest(**arrays, binner=self.binner)

    def tree(self, index: int) -> Tree:
        """Unpack a tree."""
        begin, end = self.tree_offset[index], self.tree_offset[index + 1]
        feature = self.feature[begin:end].astype(np.int32)
        is_leaf = feature < 0
        first_leaf = int(np.count_nonzero(self.feature[:begin] < 0))
        leaves = slice(first_leaf, first_leaf + int(np.count_nonzero(is_leaf)))
        inner = slice(begin - leaves.start, end - leaves.stop)
        left, right = _native.preorder_links(feature)
        by_test = is_leaf | self.binner.is_categorical[feature]
        first_set = int(np.count_nonzero(self.is_category_test()[:begin]))
        category_set = np.cumsum(by_test & ~is_leaf, dtype=np.int32) - np.int32(1)
        category_set[~by_test | is_leaf] = -1
        n_sets = int(category_set.max(initial=-1)) + 1
        split_bin = np.zeros(len(feature), np.uint8)
        split_bin[~is_leaf] = self.split_bin[inner]
        missing_left = np.zeros(len(feature), bool)
        missing_left[~is_leaf] = self.missing_left[inner]
        gain = np.zeros(len(feature))
        gain[~is_leaf] = self.gain[inner]
        value, cover, count = _from_leaves(
            left, right, self.value[leaves], self.cover[leaves], self.count[leaves]
        )
        return Tree(
            feature=feature,
            threshold=self._thresholds(feature, split_bin, by_test),
            left=left,
            right=right,
            missing_left=missing_left,
            category_set=category_set,
            value=value,
            gain=gain,
            cover=cover,
            count=count,
            category_bits=self.category_bits[first_set : first_set + n_sets],
            split_bin=split_bin,
        )

    def sum_values(
        self,
        X: TreeRows,
        *,
        first: int = 0,
        last: int | None = None,
        values: Floats | None = None,
        n_threads: int = 1,
    ) -> Floats:
        """Return the sum of the values of trees ``first`` … ``last - 1``, (n_rows, n_values).

        ``values`` replaces the values of the leaves.
        """
        values = self.value if values is None else values
        sums = np.zeros((len(X), values.shape[1]))
        last = self.n_trees if last is None else last
        for rows, block in self._blocks(X):
            self.predictor().add(block, first, last, values, sums[rows], n_threads)
        return sums

    def sum_out_of_bag(
        self,
        X: TreeRows,
        bits: NDArray[np.uint8],
        *,
        values: Floats | None = None,
        n_threads: int = 1,
    ) -> tuple[Floats, NDArray[np.int32]]:
        """Return each row's sum over the trees whose bit is set for it, and their number.

        ``bits`` has a row of bytes for each tree, least significant bit first. ``values`` replaces
        the values of the leaves.
        """
        values = self.value if values is None else values
        sums, n_summed = np.zeros((len(X), values.shape[1])), np.zeros(len(X), np.int32)
        for rows, block in self._blocks(X):  # which begin at whole bytes
            own = np.ascontiguousarray(bits[:, rows.start // 8 : -(-rows.stop // 8)])
            self.predictor().add_out_of_bag(
                block, own, values, sums[rows], n_summed[rows], n_threads
            )
        return sums, n_summed

    def leaves(self, X: TreeRows, *, n_threads: int = 1) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, (n_rows, n_trees), as an index into `value`."""
        leaves = np.empty((len(X), self.n_trees), np.int32)
        for rows, block in self._blocks(X):
            self.predictor().apply(block, leaves[rows], n_threads)
        return leaves

    def _blocks(self, X: TreeRows) -> Iterable[tuple[slice, Any]]:
        """Return all rows at once, or the blocks of rows that are in bins."""
        if isinstance(X, BinnedRows):
            return X.blocks(np.unique(self.feature[self.feature >= 0]))
        return ((slice(0, len(X)), X),)

    def nodes_of(self, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the node numbers within each tree of leaves (n_rows, n_trees)."""
        node = np.flatnonzero(self.feature < 0)
        nodes: NDArray[np.int32] = (node[leaves] - self.tree_offset[:-1]).astype(np.int32)
        return nodes

    def apply(self, X: TreeRows, *, n_threads: int = 1) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, as a node number, (n_rows, n_trees)."""
        return self.nodes_of(self.leaves(X, n_threads=n_threads))

    def validate(self) -> None:
        """Raise ValueError with the reason if these arrays are not a forest."""
        _check_arrays(self)
        _check_nodes(self)

    def predictor(self) -> Any:
        """Return the native form, made on first use."""
        if self._predictor is None:
            binner = self.binner
            predictor = _native.PackedForest(
                self.tree_offset,
                self.feature,
                self.split_bin,
                self.missing_left,
                self.category_bits,
                binner.threshold_values,
                binner.threshold_starts,
                binner.is_categorical,
            )
            object.__setattr__(self, "_predictor", predictor)
        return self._predictor

    def is_category_test(self) -> NDArray[np.bool_]:
        # Not by indexing, because NumPy crashes if it has no memory to convert indices.
        return (self.feature >= 0) & self.binner.is_categorical.take(self.feature)

    def _thresholds(
        self, feature: NDArray[np.int32], split_bin: NDArray[np.uint8], without: NDArray[np.bool_]
    ) -> Floats:
        """Return the threshold of each bin; for the last bin, the largest float."""
        starts, values = self.binner.threshold_starts, self.binner.threshold_values
        place = starts[feature] + split_bin
        beyond = place >= starts[feature + 1]
        thresholds = np.append(values, np.finfo(np.float64).max)
        threshold = thresholds[np.where(beyond, len(values), place)]
        threshold[without] = 0.0
        return threshold


ARRAYS = tuple(f.name for f in fields(PackedForest) if f.name not in ("binner", "_predictor"))


class ForestPacker:
    """Packs trees one after another as they are grown."""

    def __init__(self, binner: Binner, start: PackedForest | None = None) -> None:
        self.binner = binner
        self._packed: list[dict[str, NDArray[Any]]] = []
        self._sizes: list[int] = []
        if start is not None:
            self._packed.append(start.arrays())
            self._sizes += np.diff(start.tree_offset).tolist()

    @property
    def n_trees(self) -> int:
        """Number of trees so far."""
        return len(self._sizes)

    def add(self, trees: Iterable[Tree]) -> None:
        """Add trees that were grown on the binner's bins."""
        narrow = len(self.binner.is_categorical) <= np.iinfo(np.int16).max
        for tree in map(_in_preorder, trees):
            inner, leaves = np.flatnonzero(tree.feature >= 0), np.flatnonzero(tree.feature < 0)
            assert tree.split_bin is not None
            tested = tree.category_set[tree.category_set >= 0]
            self._sizes.append(tree.n_nodes)
            self._packed.append(
                {
                    "feature": tree.feature.astype(np.int16) if narrow else tree.feature,
                    "split_bin": tree.split_bin.take(inner),
                    "missing_left": tree.missing_left.take(inner),
                    "gain": tree.gain.take(inner),
                    "category_bits": tree.category_bits[tested],
                    "value": tree.value.take(leaves, axis=0),
                    "cover": tree.cover.take(leaves),
                    "count": tree.count.take(leaves).astype(np.uint32),
                }
            )

    def forest(self) -> PackedForest:
        """Return all trees so far."""
        names = [name for name in ARRAYS if name != "tree_offset"]
        joined = {name: np.concatenate([part[name] for part in self._packed]) for name in names}
        offset = np.concatenate([[0], np.cumsum(self._sizes)]).astype(np.int64)
        return PackedForest(**joined, tree_offset=offset, binner=self.binner)


def _in_preorder(tree: Tree) -> Tree:
    """Return the same tree with its nodes in preorder; best-first growth has another order."""
    inner = np.flatnonzero(tree.feature >= 0)
    if np.array_equal(tree.left[inner], inner + 1):
        return tree
    order = _native.preorder(tree.left, tree.right)
    moved = {
        f.name: getattr(tree, f.name)[order]
        for f in fields(Tree)
        if f.name not in ("category_bits", "left", "right") and getattr(tree, f.name) is not None
    }
    left, right = _native.preorder_links(moved["feature"])
    return Tree(**moved, left=left, right=right, category_bits=tree.category_bits)


def _from_leaves(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    leaf_value: Floats,
    leaf_cover: Floats,
    leaf_count: NDArray[np.uint32],
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return value, cover and count of every node from its leaves: means by cover, and sums."""
    is_leaf = left < 0
    value, cover = np.empty((len(left), leaf_value.shape[1])), np.empty(len(left))
    count = np.empty(len(left), np.int64)
    value[is_leaf], cover[is_leaf], count[is_leaf] = leaf_value, leaf_cover, leaf_count
    for level in reversed(_levels(left, right)):
        a, b = left[level], right[level]
        count[level] = count[a] + count[b]
        cover[level] = cover[a] + cover[b]
        share = (cover[a] / cover[level])[:, np.newaxis]
        value[level] = value[b] + share * (value[a] - value[b])
    return value, cover, count


def _levels(left: NDArray[np.int32], right: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Return the inner nodes of each level."""
    levels: list[NDArray[np.int32]] = []
    level = np.zeros(1, np.int32)
    while True:
        level = level[left[level] >= 0]
        if not len(level):
            return levels
        levels.append(level)
        level = np.concatenate([left[level], right[level]])


_DTYPES: dict[str, tuple[type[np.generic], ...]] = {
    "feature": (np.int16, np.int32),
    "split_bin": (np.uint8,),
    "missing_left": (np.bool_,),
    "gain": (np.float64,),
    "category_bits": (np.uint32,),
    "value": (np.float64,),
    "cover": (np.float64,),
    "count": (np.uint32,),
    "tree_offset": (np.int64,),
}


def _require(condition: bool | np.bool_, reason: str) -> None:
    if not condition:
        raise ValueError(f"not a forest: {reason}")


def _check_arrays(forest: PackedForest) -> None:
    """Check types, shapes and finite numbers."""
    for name, array in forest.arrays().items():
        _require(isinstance(array, np.ndarray), f"{name} is not an array")
        _require(array.dtype in _DTYPES[name], f"{name} is {array.dtype}")
        rank = 2 if name in ("value", "category_bits") else 1
        _require(array.ndim == rank, f"{name} has {array.ndim} dimensions, not {rank}")
        _require(array.flags.c_contiguous, f"{name} is not contiguous")
        if array.dtype.kind == "f":
            _require(np.isfinite(array).all(), f"{name} has a number that is not finite")
    _require(forest.category_bits.shape[1] == 8, "category_bits does not have 8 words per set")
    _require(forest.value.shape[1] >= 1, "value has no numbers")
    _require(forest.n_nodes <= np.iinfo(np.int32).max, "too many nodes")
    _require(forest.n_features <= MOST_FEATURES, "too many features")


def _check_nodes(forest: PackedForest) -> None:
    """Check that each range of nodes is one tree, and that each node has its entries."""
    feature, offset = forest.feature, forest.tree_offset
    is_leaf = feature < 0
    _require(len(offset) >= 2, "there is no tree")
    _require(offset[0] == 0 and offset[-1] == len(feature), "tree_offset does not span the nodes")
    _require((offset[1:] > offset[:-1]).all(), "a tree has no node")
    in_range = (feature >= -1).all() and (feature < forest.n_features).all()
    _require(in_range, "feature is out of range")
    # In preorder, leaves outnumber inner nodes at the end of a tree, and not before.
    surplus = np.cumsum(np.where(is_leaf, 1, -1)) - np.repeat(
        np.arange(forest.n_trees), np.diff(offset)
    )
    ends = np.zeros(len(feature), bool)
    ends[offset[1:] - 1] = True
    _require(((surplus == 1) == ends).all(), "the nodes are not trees in preorder")
    n_leaves = int(np.count_nonzero(is_leaf))
    for name in ("value", "cover", "count"):
        _require(
            len(getattr(forest, name)) == n_leaves, f"{name} does not have one entry for each leaf"
        )
    for name in ("split_bin", "missing_left", "gain"):
        fits = len(getattr(forest, name)) == len(feature) - n_leaves
        _require(fits, f"{name} does not have one entry for each inner node")
    _require((forest.split_bin < 255).all(), "split_bin is out of range")
    tests = forest.is_category_test()
    n_tests = int(np.count_nonzero(tests))
    _require(
        len(forest.category_bits) == n_tests,
        "category_bits does not have one set for each categorical split",
    )
    _require(
        not forest.split_bin[tests[~is_leaf]].any(), "split_bin is set for a categorical split"
    )
    _require((forest.cover > 0).all() and (forest.count > 0).all(), "a leaf is empty")
