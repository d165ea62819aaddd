"""The joint search of a round: the tree and its step that minimise the loss together, by trial.

A regression tree has free leaf values, so its step is 1 and its leaves are the minimisers of their
rows' loss; a classification tree has leaves of ±1 and one step β. Every tree within the limits of
the base learner is tried, with a threshold between any two values: it is the argmin over (β, G) of
the lectures, which following the gradient only approximates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from hedgerow._arithmetic import sum_of
from hedgerow._data.binning import Binner
from hedgerow._data.intake import TableSchema, as_matrix, learn_schema
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, Outputs
from hedgerow._stagewise.losses import StagewiseLoss
from hedgerow._stagewise.model import Stage
from hedgerow._tree import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow._tree.decision_tree import as_fitted
from hedgerow._tree.fitting import TreeModel, fit_binner
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError

RowNumbers = NDArray[np.intp]
# More trees than this take minutes in Python.
MOST_TREES = 200_000


class Leaf(NamedTuple):
    """A leaf: its value, its rows, and their loss with it."""

    value: float
    rows: RowNumbers
    loss: float = 0.0


class Branch(NamedTuple):
    """A split, `x[feature] ≤ threshold` goes left, with the loss of the leaves below."""

    feature: int
    threshold: float
    left: Any
    right: Any
    loss: float = 0.0


class Cut(NamedTuple):
    """A way to divide rows."""

    feature: int
    threshold: float
    left: RowNumbers
    right: RowNumbers


@dataclass(frozen=True)
class TreeLimits:
    """What the base learner allows: depth, number of leaves, rows in a leaf."""

    depth: int
    leaves: int
    min_samples_leaf: int | float

    @classmethod
    def of(cls, prototype: Any) -> TreeLimits:
        """Read the parameters of a decision tree; other trees are refused."""
        if not isinstance(prototype, DecisionTreeClassifier | DecisionTreeRegressor):
            raise ParameterError(
                f"estimator={type(prototype).__name__} is not allowed with search='joint'; it must "
                "be Hedgerow's DecisionTreeClassifier or DecisionTreeRegressor."
            )
        depth, leaves = prototype.max_depth, prototype.max_leaves
        if depth is None and leaves is None:
            raise ParameterError(
                f"estimator={prototype!r} has no limit, but search='joint' tries every tree. Set "
                "max_depth=1 for stumps, or max_leaves."
            )
        depth = leaves - 1 if depth is None else depth
        leaves = 2 ** min(depth, 30) if leaves is None else leaves
        return cls(depth, leaves, prototype.min_samples_leaf)

    def least_rows(self, n_rows: int) -> int:
        """Return the minimum number of rows in a leaf."""
        least = self.min_samples_leaf
        return int(least) if isinstance(least, Integral) else ceil(least * n_rows)

    def shares(self) -> Iterator[tuple[TreeLimits, TreeLimits]]:
        """Yield the limits of both sides of a split, in all ways to divide the leaves."""
        below = self.depth - 1
        most = 2 ** min(below, 30)
        leaves = min(self.leaves, 2 * most)
        for left in range(max(1, leaves - most), min(leaves - 1, most) + 1):
            yield (
                TreeLimits(below, left, self.min_samples_leaf),
                TreeLimits(below, leaves - left, self.min_samples_leaf),
            )

    @property
    def may_split(self) -> bool:
        """Whether a node may be split."""
        return self.depth > 0 and self.leaves > 1


@dataclass
class JointSearch:
    """The base learner of a fit, and the table in which its trees are searched."""

    prototype: Any
    limits: TreeLimits
    schema: TableSchema
    binner: Binner
    matrix: Floats

    @classmethod
    def of(cls, prototype: Any, X: Any) -> JointSearch:
        """Read the table; categories and missing values are refused."""
        limits = TreeLimits.of(prototype)
        schema, table = learn_schema(X, prototype.categorical_features)
        binner = fit_binner(prototype, schema, table, None, 0, 1, categories_only=True)
        matrix = np.asarray(as_matrix(table, binner.category_bins), np.float64)
        if schema.categories or np.isnan(matrix).any():
            raise DataError(
                "X has categorical features or missing values, but search='joint' supports only "
                "numbers. Use search='gradient'."
            )
        return cls(prototype, limits, schema, binner, matrix)

    def stage(
        self, loss: StagewiseLoss, y: Floats, F: Floats, w: Floats, sample: Any, shrinkage: float
    ) -> Stage:
        """Return the tree and the step that minimise the loss of the sampled rows."""
        rows = _RoundRows(loss, y[sample], F[sample], w[sample], self.matrix[sample])
        if isinstance(self.prototype, DecisionTreeRegressor):
            rows.require_few_trees(self.limits, rows.n_cuts**self.limits.depth)
            tree, step = rows.best_tree(np.arange(len(rows.y)), self.limits), 1.0
        else:
            n_splits = min(self.limits.leaves, 2 ** min(self.limits.depth, 30)) - 1
            rows.require_few_trees(self.limits, rows.n_cuts**n_splits)
            tree, step = rows.best_signs(self.limits)
        return Stage(self._fitted(tree, rows), step, shrinkage)

    def _fitted(self, tree: Any, rows: _RoundRows) -> Any:
        """Return the tree as a fitted copy of the base learner."""
        arrays = flat_tree(tree, rows.w)
        outputs: Outputs = NumberOutputs(1, is_single=True)
        if isinstance(self.prototype, DecisionTreeClassifier):
            outputs = ClassOutputs((np.array([-1, 1]),))
            arrays["value"] = (arrays["value"] + 1.0) / 2.0  # a leaf stores the share of +1
        copy = clone(self.prototype).set_params(splitter="exact")
        return as_fitted(copy, TreeModel.of(self.schema, self.binner, Tree(**arrays), outputs))


@dataclass
class _RoundRows:
    """The rows of a round, and the losses of the leaves tried so far."""

    loss: StagewiseLoss
    y: Floats
    F: Floats
    w: Floats
    matrix: Floats
    _leaves: dict[bytes, Leaf] = field(default_factory=dict)

    @property
    def n_cuts(self) -> int:
        """The number of thresholds between two values of a column."""
        return sum(len(np.unique(column)) - 1 for column in self.matrix.T)

    def require_few_trees(self, limits: TreeLimits, n_trees: int) -> None:
        """Refuse searches that would not end soon."""
        if n_trees > MOST_TREES:
            raise ParameterError(
                f"search='joint' tries every tree; with depth {limits.depth}, {limits.leaves} "
                f"leaves and {self.n_cuts:,} thresholds these are about {n_trees:,}, more than "
                f"{MOST_TREES:,}. Use max_depth=1, fewer rows, or search='gradient'."
            )

    def best_tree(self, rows: RowNumbers, limits: TreeLimits) -> Any:
        """Return the tree of least loss whose leaves have free values; losses of leaves add up."""
        best: Any = self._leaf(rows)
        if not limits.may_split:
            return best
        for cut in self._cuts(rows, limits):
            for of_left, of_right in limits.shares():
                left, right = self.best_tree(cut.left, of_left), self.best_tree(cut.right, of_right)
                if left.loss + right.loss < best.loss:
                    total = left.loss + right.loss
                    best = Branch(cut.feature, cut.threshold, left, right, total)
        return best

    def best_signs(self, limits: TreeLimits) -> tuple[Any, float]:
        """Return the tree G with leaves of ±1 and the step β of least loss together."""
        best: tuple[float, Any, float] | None = None
        seen = set()
        for tree in self._sign_trees(np.arange(len(self.y)), limits):
            G = self._values(tree)
            # A step may be negative, so of G and −G only one is tried.
            if G[0] < 0.0 or G.tobytes() in seen:
                continue
            seen.add(G.tobytes())
            beta = self.loss.line_step(self.y, self.F, G, self.w)
            total = self._total(slice(None), beta * G)
            if best is None or total < best[0]:
                best = total, tree, beta
        assert best is not None
        return best[1], best[2]

    def _sign_trees(self, rows: RowNumbers, limits: TreeLimits) -> Iterator[Any]:
        yield from (Leaf(1.0, rows), Leaf(-1.0, rows))
        if not limits.may_split:
            return
        for cut in self._cuts(rows, limits):
            for of_left, of_right in limits.shares():
                for left in self._sign_trees(cut.left, of_left):
                    for right in self._sign_trees(cut.right, of_right):
                        yield Branch(cut.feature, cut.threshold, left, right)

    def _values(self, tree: Any) -> Floats:
        values = np.empty(len(self.y))
        for leaf in leaves_of_tree(tree):
            values[leaf.rows] = leaf.value
        return values

    def _leaf(self, rows: RowNumbers) -> Leaf:
        """Return the leaf with the value that minimises the loss of its rows."""
        key = rows.tobytes()
        if key not in self._leaves:
            value = self.loss.leaf_step(self.y[rows], self.F[rows], self.w[rows])
            self._leaves[key] = Leaf(value, rows, self._total(rows, value))
        return self._leaves[key]

    def _total(self, rows: Any, added: Any) -> float:
        return float(sum_of(self.w[rows] * self.loss.loss(self.y[rows], self.F[rows] + added)))

    def _cuts(self, rows: RowNumbers, limits: TreeLimits) -> Iterator[Cut]:
        """Yield all divisions of rows by a threshold, feature by feature."""
        least = limits.least_rows(len(self.y))
        for feature in range(self.matrix.shape[1]):
            order = rows[np.argsort(self.matrix[rows, feature], kind="stable")]
            values = self.matrix[order, feature]
            for end in np.flatnonzero(values[1:] > values[:-1]) + 1:
                if min(end, len(order) - end) >= least:
                    threshold = _between(float(values[end - 1]), float(values[end]))
                    yield Cut(feature, threshold, np.sort(order[:end]), np.sort(order[end:]))


def leaves_of_tree(tree: Any) -> Iterator[Leaf]:
    """Yield the leaves from left to right."""
    if isinstance(tree, Leaf):
        yield tree
        return
    yield from leaves_of_tree(tree.left)
    yield from leaves_of_tree(tree.right)


def flat_tree(tree: Any, w: Floats) -> dict[str, Any]:
    """Return the arrays of a tree; inner nodes have the mean of their leaves."""
    nodes: list[tuple[int, float, int, int]] = []
    contents: list[tuple[float, float, int]] = []

    def place(node: Any) -> int:
        number, leaves = len(nodes), list(leaves_of_tree(node))
        counts = [len(leaf.rows) for leaf in leaves]
        mean = float(np.average([leaf.value for leaf in leaves], weights=counts))
        nodes.append((-1, 0.0, -1, -1))
        contents.append((mean, sum(sum_of(w[leaf.rows]) for leaf in leaves), sum(counts)))
        if isinstance(node, Branch):
            left = place(node.left)
            nodes[number] = (node.feature, node.threshold, left, place(node.right))
        return number

    place(tree)
    feature, threshold, left, right = zip(*nodes, strict=True)
    value, cover, count = zip(*contents, strict=True)
    n_nodes = len(nodes)
    return {
        "feature": np.array(feature, np.int32),
        "threshold": np.array(threshold),
        "left": np.array(left, np.int32),
        "right": np.array(right, np.int32),
        "missing_left": np.zeros(n_nodes, np.bool_),
        "category_set": np.full(n_nodes, -1, np.int32),
        "category_bits": np.empty((0, 8), np.uint32),
        "value": np.array(value)[:, None],
        "gain": np.zeros(n_nodes),
        "cover": np.array(cover, np.float64),
        "count": np.array(count, np.int64),
    }


def _between(low: float, high: float) -> float:
    """Return the midpoint, or the lower number if the midpoint is rounded to the higher one."""
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low
