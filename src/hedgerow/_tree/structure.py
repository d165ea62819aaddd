"""Trees as flat arrays: ``Tree``, and ``Ensemble``, a model.

``docs/architecture.md`` describes each array. What else prediction needs is derived from them on
first use and never stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, overload

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._data.binned_rows import BinnedRows, StoredRows, TreeRows
from hedgerow._tree.linear_leaves import LinearLeaves, joined_slopes

Rows = NDArray[np.float32] | NDArray[np.float64]

_NODE_DTYPES: dict[str, type[np.generic]] = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.bool_,
    "category_set": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "cover": np.float64,
    "count": np.int64,
}
_ENSEMBLE_DTYPES: dict[str, type[np.generic]] = _NODE_DTYPES | {
    "category_bits": np.uint32,
    "tree_offset": np.int64,
    "tree_output": np.int32,
    "base_score": np.float64,
}
# The order in which kernels return the arrays of a tree.
NATIVE_FIELDS = (
    *("feature", "threshold", "left", "right", "missing_left", "category_set", "category_bits"),
    *("value", "gain", "cover", "count", "split_bin"),
)
_STAGED_BYTES = 1 << 25  # of scores that staged prediction computes at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class _Nodes:
    """The arrays that a tree and an ensemble have in common: one entry per node."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    category_set: NDArray[np.int32]
    value: NDArray[np.float64]
    gain: NDArray[np.float64]
    cover: NDArray[np.float64]
    count: NDArray[np.int64]
    category_bits: NDArray[np.uint32]
    slopes: LinearLeaves | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature < 0))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self) if f.compare
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Tree(_Nodes):
    """One tree; node 0 is the root."""

    split_bin: NDArray[np.uint8] | None = None
    """The bin behind ``threshold``: known in training, not kept in a model."""

    @classmethod
    def of_arrays(cls, arrays: Iterable[NDArray[Any]]) -> Tree:
        """Return the tree of the arrays that a kernel returns.

        The fields are set at once: one by one, as the constructor of a frozen class sets them, they
        would take as long as some trees take to grow on a small table.
        """
        tree = object.__new__(cls)
        tree.__dict__.update(zip(NATIVE_FIELDS, arrays, strict=True))
        return tree

    def __repr__(self) -> str:
        return f"Tree({self.n_leaves} leaves, {self.n_nodes} nodes)"

    def scaled(self, factor: float) -> Tree:
        """Return the tree with its values and slopes multiplied by a factor."""
        slopes = None if self.slopes is None else self.slopes.scaled(factor)
        return replace(self, value=factor * self.value, slopes=slopes)

    def with_features_moved(self, by: int) -> Tree:
        """Return the tree for a table with additional columns before its own."""
        moved = np.where(self.feature < 0, self.feature, self.feature + by)
        return replace(self, feature=moved.astype(np.int32))

    def depth_below(self, node: int = 0) -> int:
        """Return the depth of the subtree below a node."""
        depth, level = -1, np.array([node])
        while len(level):
            depth += 1
            inner = level[self.feature[level] >= 0]
            level = np.concatenate([self.left[inner], self.right[inner]])
        return depth

    def paths(self, leaves: NDArray[np.int32]) -> Any:
        """Return the nodes on the path to each leaf, as a sparse matrix (n_leaves, n_nodes)."""
        parent = np.full(self.n_nodes, -1)
        inner = np.flatnonzero(self.feature >= 0)
        parent[self.left[inner]] = parent[self.right[inner]] = inner
        rows, nodes = np.arange(len(leaves)), leaves.astype(np.intp)
        at_rows, at_nodes = [rows], [nodes]
        while len(rows):
            nodes = parent[nodes]
            rows, nodes = rows[nodes >= 0], nodes[nodes >= 0]
            at_rows.append(rows)
            at_nodes.append(nodes)
        indices = (np.concatenate(at_rows), np.concatenate(at_nodes))
        shape = (len(leaves), self.n_nodes)
        paths = scipy.sparse.csr_matrix((np.ones(len(indices[0]), np.int64), indices), shape)
        paths.sort_indices()  # not every version of SciPy has done so
        return paths

    def add_binned(
        self,
        by_column: NDArray[np.uint8],
        scores: NDArray[np.float64],
        *,
        rows: NDArray[np.int32] | None = None,
        n_threads: int = 1,
    ) -> None:
        """Add the tree to the scores of training rows, in place.

        Parameters
        ----------
        by_column : array of shape (n_features, n_rows)
            Bins of the rows.
        scores : array of shape (n_rows,)
            The scores to update.
        rows : array, optional
            The rows to update, in increasing order; all of them by default.
        n_threads : int
            Threads to use.
        """
        if self.split_bin is None:
            raise ValueError("the trees of a stored model have no bins")
        if self.slopes is not None:
            raise ValueError("leaves with slopes need numbers, not bins")
        _native.add_tree_binned(
            self.feature,
            self.split_bin,
            self.left,
            self.right,
            self.missing_left,
            self.category_set,
            self.value,
            self.category_bits,
            by_column,
            scores,
            rows,
            n_threads,
        )


@dataclass(frozen=True)
class JoinedTrees:
    """Trees as kernels return them: their arrays, one tree after another."""

    arrays: dict[str, NDArray[Any]]
    n_nodes: list[int]
    n_sets: list[int]
    """Category sets of each tree."""

    def divided(self) -> Iterator[Tree]:
        """Return the trees, whose arrays are views."""
        node = set_ = 0
        for n_nodes, n_sets in zip(self.n_nodes, self.n_sets, strict=True):
            nodes, sets = slice(node, node + n_nodes), slice(set_, set_ + n_sets)
            yield Tree.of_arrays(
                [
                    array[sets if name == "category_bits" else nodes]
                    for name, array in self.arrays.items()
                ]
            )
            node, set_ = nodes.stop, sets.stop


class TreeList(Sequence[Tree]):
    """Trees that stay joined until one of them is read.

    A fit without an evaluation set reads none: its ensemble joins them all. To divide and join them
    again would take as long as a kernel takes for a tree of a hundred rows.
    """

    def __init__(self, trees: Iterable[Tree] = ()) -> None:
        self._divided = list(trees)
        self.joined: list[JoinedTrees] = []
        """The trees that are still joined, after those that are not."""

    def __iadd__(self, trees: Iterable[Tree] | JoinedTrees) -> Self:
        if isinstance(trees, TreeList) and not trees._divided:
            self.joined += trees.joined
        elif isinstance(trees, JoinedTrees):
            self.joined.append(trees)
        else:
            self._all().extend(trees)
        return self

    def _all(self) -> list[Tree]:
        for joined in self.joined:
            self._divided += joined.divided()
        self.joined = []
        return self._divided

    @property
    def are_joined(self) -> bool:
        """Whether no tree has been divided from the others."""
        return not self._divided

    def __len__(self) -> int:
        return len(self._divided) + sum(len(joined.n_nodes) for joined in self.joined)

    @overload
    def __getitem__(self, index: int) -> Tree: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tree]: ...
    def __getitem__(self, index: int | slice) -> Tree | list[Tree]:
        return self._all()[index]

    def __iter__(self) -> Iterator[Tree]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all() == list(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Arithmetic:
    """How leaf values become a score: for models that were read from files of other libraries.

    Attributes
    ----------
    float32_sums : bool
        Whether base score, leaf values and every sum of them are float32 numbers.
    is_mean : bool
        Whether the sum is divided by the number of rounds in it.
    """

    float32_sums: bool = False
    is_mean: bool = False


OWN_ARITHMETIC = Arithmetic()


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Ensemble(_Nodes):
    """Concatenated trees; each adds to one of the outputs.

    A tree adds to all outputs if its nodes have a value for each of them.
    """

    tree_offset: NDArray[np.int64]
    tree_output: NDArray[np.int32]
    base_score: NDArray[np.float64]
    n_features: int
    arithmetic: Arithmetic = OWN_ARITHMETIC
    _predictor: Any = field(default=None, init=False, compare=False)

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Tree],
        tree_output: Sequence[int] | NDArray[np.int32],
        base_score: Sequence[float] | NDArray[np.float64],
        n_features: int,
        arithmetic: Arithmetic = OWN_ARITHMETIC,
    ) -> Ensemble:
        """Concatenate trees."""
        arrays, n_nodes, n_sets = _joined_arrays(trees)
        first_set = _offsets(n_sets)[:-1]
        sets = arrays["category_set"]
        sets[sets >= 0] += np.repeat(first_set, n_nodes)[sets >= 0].astype(np.int32)
        slopes = None
        if not _are_joined(trees) and any(tree.slopes is not None for tree in trees):
            slopes = joined_slopes([tree.slopes for tree in trees], n_nodes)
        return cls(
            **arrays,
            slopes=slopes,
            tree_offset=_offsets(n_nodes),
            tree_output=np.asarray(tree_output, dtype=np.int32).reshape(len(trees)),
            base_score=np.asarray(base_score, dtype=np.float64).reshape(-1),
            n_features=n_features,
            arithmetic=arithmetic,
        )

    @property
    def n_trees(self) -> int:
        """Number of trees, of all outputs and rounds."""
        return len(self.tree_output)

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return len(self.base_score)

    @property
    def n_rounds(self) -> int:
        """Number of boosting rounds; each adds to every output once."""
        return self.n_trees // self.trees_per_round

    @property
    def trees_per_round(self) -> int:
        """Number of trees of a round: one, or one for each output."""
        return self.n_outputs // self.value.shape[1]

    def __repr__(self) -> str:
        outputs = f", {self.n_outputs} outputs" if self.n_outputs > 1 else ""
        return (
            f"Ensemble({self.n_trees} trees, {self.n_leaves} leaves, "
            f"{self.n_features} features{outputs})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_predictor": None}

    def trees(self) -> list[Tree]:
        """All trees, in their order."""
        return [self.tree(t) for t in range(self.n_trees)]

    def tree(self, index: int) -> Tree:
        """One tree, with the category sets that it uses; the other arrays are views."""
        begin, end = self.tree_offset[index], self.tree_offset[index + 1]
        arrays = {name: getattr(self, name)[begin:end] for name in _NODE_DTYPES}
        used, place = np.unique(np.append(arrays["category_set"], -1), return_inverse=True)
        arrays["category_set"] = place[:-1].astype(np.int32) - np.int32(1)
        slopes = None if self.slopes is None else self.slopes.of_nodes(begin, end)
        return Tree(**arrays, category_bits=self.category_bits[used[1:]], slopes=slopes)

    def first_trees(self, n_trees: int) -> Ensemble:
        """Return the ensemble of the first trees, sharing memory with this one."""
        n_nodes = self.tree_offset[n_trees]
        arrays = {name: getattr(self, name)[:n_nodes] for name in _NODE_DTYPES}
        n_sets = int(arrays["category_set"].max(initial=-1)) + 1
        return Ensemble(
            **arrays,
            category_bits=self.category_bits[:n_sets],
            slopes=None if self.slopes is None else self.slopes.of_nodes(0, n_nodes),
            tree_offset=self.tree_offset[: n_trees + 1],
            tree_output=self.tree_output[:n_trees],
            base_score=self.base_score,
            n_features=self.n_features,
            arithmetic=self.arithmetic,
        )

    def first_rounds(self, n_rounds: int) -> Ensemble:
        """Return the ensemble as it was after ``n_rounds`` rounds."""
        return self.first_trees(n_rounds * self.trees_per_round)

    def of_rounds(self, rounds: range) -> Ensemble:
        """Return the ensemble of some of the rounds."""
        per_round = self.trees_per_round
        tree_indices = [r * per_round + k for r in rounds for k in range(per_round)]
        trees = [self.tree(t) for t in tree_indices]
        return Ensemble.from_trees(
            trees,
            self.tree_output[tree_indices],
            self.base_score,
            self.n_features,
            self.arithmetic,
        )

    def scaled(self, factor: float) -> Ensemble:
        """Return the ensemble with the values of all trees multiplied; the base score is kept."""
        trees = [self.tree(t).scaled(factor) for t in range(self.n_trees)]
        return Ensemble.from_trees(trees, self.tree_output, self.base_score, self.n_features)

    def as_sum(self) -> Ensemble:
        """Return trees that add up to the score, which may be the mean of this ensemble's."""
        if not self.arithmetic.is_mean or self.n_rounds == 0:
            return self
        return self.scaled(1.0 / self.n_rounds)

    def with_used_features(self) -> tuple[Ensemble, NDArray[np.intp]]:
        """Return the ensemble for a table of the features that it uses, and which these are."""
        of_slopes = np.empty(0, np.int32) if self.slopes is None else self.slopes.feature
        used = np.unique(np.concatenate([self.feature[self.feature >= 0], of_slopes]))
        number = np.zeros(self.n_features + 1, np.int32)
        number[used], number[-1] = np.arange(len(used)), -1  # leaves have no feature
        slopes = self.slopes
        if slopes is not None:
            slopes = replace(slopes, feature=number[slopes.feature])
        ensemble = replace(
            self, feature=number[self.feature], slopes=slopes, n_features=max(len(used), 1)
        )
        return ensemble, used.astype(np.intp) if len(used) else np.zeros(1, np.intp)

    def validate(self) -> None:
        """Raise ValueError with the reason if these arrays are not an ensemble.

        Prediction with validated arrays is safe, whatever file they came from.
        """
        _check_arrays(self)
        _check_trees(self)
        _check_nodes(self)
        _check_links(self)
        if self.slopes is not None:
            self.slopes.check(_require, self.feature < 0, self.value, self.n_features)
        if self.arithmetic.float32_sums:
            _check_float32(self)

    def predict_raw(
        self,
        X: TreeRows,
        *,
        n_trees: int | None = None,
        offset: NDArray[np.float64] | None = None,
        n_threads: int = 1,
    ) -> NDArray[np.float64]:
        """Return the scores of rows: the base score plus the trees' leaf values, in tree order.

        Parameters
        ----------
        X : float array of shape (n_rows, n_features), of any strides, StoredRows or BinnedRows
            NaN is missing. A categorical feature holds bin numbers; what is not one is missing.
        n_trees : int, optional
            Number of trees to use.
        offset : array of shape (n_rows, n_outputs), optional
            Added to the base score, before the trees.
        n_threads : int
            Threads to use.

        Returns
        -------
        array of shape (n_rows, n_outputs)
        """
        predictor = self._predictor or self._prepare()
        n_trees = self.n_trees if n_trees is None else n_trees
        if offset is not None and self.arithmetic.is_mean:
            return offset + self.predict_raw(X, n_trees=n_trees, n_threads=n_threads)
        if offset is not None:
            scores: NDArray[np.float64] = self.base_score + offset
            self.add_trees(X, scores, 0, n_trees, n_threads=n_threads)
            return scores
        stage = np.empty((1, len(X), self.n_outputs))
        for rows, block in self._blocks(X):
            predictor.predict(block, stage[:, rows], 0, n_trees, None, n_threads)
        if self.arithmetic.is_mean:
            stage /= max(1, n_trees // self.trees_per_round)
        return stage[0]

    def add_trees(
        self,
        X: TreeRows,
        scores: NDArray[np.float64],
        first: int,
        last: int,
        *,
        n_threads: int = 1,
    ) -> None:
        """Add trees ``first`` … ``last - 1`` to scores of shape (n_rows, n_outputs), in place."""
        predictor = self._predictor or self._prepare()
        for rows, block in self._blocks(X):
            own = scores[rows]
            predictor.predict(block, own[np.newaxis], first, last - first, own, n_threads)

    def staged_raw(
        self,
        X: Rows | StoredRows,
        *,
        offset: NDArray[np.float64] | None = None,
        n_threads: int = 1,
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the scores after each round, with the same bits as ``predict_raw``."""
        predictor = self._predictor or self._prepare()
        per_round = self.trees_per_round
        ahead = max(1, _STAGED_BYTES // max(1, len(X) * self.n_outputs * 8))
        is_mean = self.arithmetic.is_mean
        scores = None if offset is None or is_mean else self.base_score + offset
        for first in range(0, self.n_rounds, ahead):
            n_stages = min(ahead, self.n_rounds - first)
            stages = np.empty((n_stages, len(X), self.n_outputs))
            predictor.predict(X, stages, first * per_round, per_round, scores, n_threads)
            scores = stages[-1].copy()
            if is_mean:
                stages /= np.arange(first + 1, first + n_stages + 1).reshape(-1, 1, 1)
                stages += 0.0 if offset is None else offset
            yield from stages

    def apply(self, X: TreeRows, *, n_threads: int = 1) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, as a node number, (n_rows, n_trees)."""
        predictor = self._predictor or self._prepare()
        leaves = np.empty((len(X), self.n_trees), dtype=np.int32)
        for rows, block in self._blocks(X):
            predictor.apply(block, leaves[rows], n_threads)
        return leaves

    def _blocks(self, X: TreeRows) -> Iterable[tuple[slice, Any]]:
        """Return all rows at once, or the blocks of rows that are in bins."""
        if isinstance(X, BinnedRows):
            return X.blocks(np.unique(self.feature[self.feature >= 0]))
        return ((slice(0, len(X)), X),)

    def native(self) -> _native.EnsembleArrays:
        """Return the arrays as kernels take them."""
        return _native.EnsembleArrays(
            self.feature,
            self.threshold,
            self.left,
            self.right,
            self.missing_left,
            self.category_set,
            self.value,
            self.category_bits,
            self.tree_offset,
            self.tree_output,
            self.base_score,
            None if self.slopes is None else self.slopes.native(),
            self.arithmetic.float32_sums,
        )

    def _prepare(self) -> Any:
        """Return the native form; concurrent threads may each make one, all equal."""
        predictor = _native.Predictor(self.native(), self.n_features)
        object.__setattr__(self, "_predictor", predictor)
        return predictor


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return bool(a == b)


def _offsets(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _are_joined(trees: Sequence[Tree]) -> bool:
    return isinstance(trees, TreeList) and trees.are_joined


def _joined_arrays(trees: Sequence[Tree]) -> tuple[dict[str, NDArray[Any]], list[int], list[int]]:
    """Return the arrays of all trees, and the nodes and category sets of each."""
    names = (*_NODE_DTYPES, "category_bits")
    if isinstance(trees, TreeList) and trees.are_joined:
        parts = [part.arrays for part in trees.joined]
        n_nodes = [n for part in trees.joined for n in part.n_nodes]
        n_sets = [n for part in trees.joined for n in part.n_sets]
    else:
        parts = [vars(tree) for tree in trees]
        n_nodes = [tree.n_nodes for tree in trees]
        n_sets = [len(tree.category_bits) for tree in trees]
    return {name: _joined(parts, name) for name in names}, n_nodes, n_sets


def _joined(parts: Sequence[Mapping[str, NDArray[Any]]], name: str) -> NDArray[Any]:
    """Concatenate an array of all parts; it has the right type and rank even without any."""
    width = parts[0]["value"].shape[1] if parts else 1
    empty = np.empty(
        {"value": (0, width), "category_bits": (0, 8)}.get(name, 0), _ENSEMBLE_DTYPES[name]
    )
    return np.concatenate([empty, *(part[name] for part in parts)])


def _require(condition: bool | np.bool_, reason: str) -> None:
    if not condition:
        raise ValueError(f"not an ensemble of trees: {reason}")


def _check_arrays(e: Ensemble) -> None:
    """Check types, shapes and finite numbers."""
    for name, dtype in _ENSEMBLE_DTYPES.items():
        array = getattr(e, name)
        _require(isinstance(array, np.ndarray), f"{name} is not an array")
        _require(array.dtype == dtype, f"{name} is {array.dtype}, not {np.dtype(dtype)}")
        _require(array.flags.c_contiguous, f"{name} is not contiguous")
        rank = 2 if name in ("value", "category_bits") else 1
        _require(array.ndim == rank, f"{name} has {array.ndim} dimensions, not {rank}")
    for name in _NODE_DTYPES:
        _require(
            len(getattr(e, name)) == e.n_nodes, f"{name} does not have one entry for each node"
        )
    _require(
        e.value.shape[1] in (1, e.n_outputs),
        "value does not have one number for each node or output",
    )
    _require(e.category_bits.shape[1] == 8, "category_bits does not have 8 words per set")
    _require(len(e.tree_offset) == e.n_trees + 1, "tree_offset does not fit tree_output")
    _require(e.n_nodes <= np.iinfo(np.int32).max, "too many nodes")
    for name in ("threshold", "value", "gain", "cover", "base_score"):
        _require(np.isfinite(getattr(e, name)).all(), f"{name} has a number that is not finite")


def _check_trees(e: Ensemble) -> None:
    """Check where trees begin, and their outputs."""
    _require(e.n_outputs >= 1, "base_score is empty")
    _require(1 <= e.n_features < 1 << 30, f"n_features is {e.n_features}")
    _require(e.tree_offset[0] == 0, "tree_offset does not begin with 0")
    _require(e.tree_offset[-1] == e.n_nodes, "tree_offset does not end with the number of nodes")
    _require(_within(e.tree_offset, 0, e.n_nodes + 1), "tree_offset is out of range")
    _require((np.diff(e.tree_offset) >= 1).all(), "a tree has no node")
    _require(_within(e.tree_output, 0, e.n_outputs), "tree_output is out of range")
    if e.value.shape[1] > 1:
        _require(not e.tree_output.any(), "tree_output is set where trees add to every output")


def _check_nodes(e: Ensemble) -> None:
    """Check the fields of each node."""
    _require(_within(e.feature, -1, e.n_features), "feature is out of range")
    _require(_within(e.category_set, -1, len(e.category_bits)), "category_set is out of range")
    _require((e.count >= 0).all(), "count is negative")
    leaf = e.feature < 0
    for name in ("left", "right", "category_set"):
        _require((getattr(e, name)[leaf] == -1).all(), f"{name} is set in a leaf")
    _require((e.gain[leaf] == 0).all(), "gain is set in a leaf")
    numeric = ~leaf & (e.category_set < 0)
    _require(
        (e.threshold[~numeric] == 0).all(), "threshold is set in a node without a numeric split"
    )


def _check_links(e: Ensemble) -> None:
    """Check that each node except the root is the child of one earlier node of its tree."""
    inner = np.flatnonzero(e.feature >= 0)
    size = np.diff(e.tree_offset)
    first = np.repeat(e.tree_offset[:-1], size)[inner]
    end = np.repeat(e.tree_offset[1:], size)[inner]
    children = np.stack([first + e.left[inner], first + e.right[inner]])
    _require((children > inner).all(), "a child does not come after its parent")
    _require((children < end).all(), "a child is outside its tree")
    parents = np.bincount(children.reshape(-1), minlength=e.n_nodes)
    expected = np.ones(e.n_nodes, dtype=np.int64)
    expected[e.tree_offset[:-1]] = 0
    _require((parents == expected).all(), "a node does not have exactly one parent")


def _check_float32(e: Ensemble) -> None:
    """Check that all terms of sums in float32 are float32 numbers."""
    _require(e.slopes is None, "leaves with slopes have float32 sums")
    for name, numbers in (("value", e.value[e.feature < 0]), ("base_score", e.base_score)):
        with np.errstate(over="ignore"):
            rounded = numbers.astype(np.float32)
        _require((rounded == numbers).all(), f"{name} has a number that is not float32")


def _within(array: NDArray[Any], low: int, end: int) -> bool:
    return bool((array >= low).all() and (array < end).all())
