"""`tree_`: a tree under the names of scikit-learn's, for clients that read these arrays.

The arrays are made from those of a `Tree` when they are first read, and stored nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow._arithmetic import log
from hedgerow._data.outputs import ClassOutputs
from hedgerow._tree.fitting import TreeModel
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._types import Floats

UNDEFINED = -2  # feature and threshold of a leaf, as in scikit-learn


@dataclass(frozen=True, eq=False, repr=False)
class NodeArrays:
    """The arrays of a tree, read-only, with the names and shapes that scikit-learn gives them.

    Node 0 is the root. The arrays of Hedgerow's own `Tree` (``left``, ``right``, ``missing_left``,
    ``category_set``, ``category_bits``, ``gain``, ``cover``, ``count``) are attributes, too.
    """

    tree: Tree
    outputs: Any
    criterion: str
    n_features: int
    _ensemble: Ensemble

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "tree":
            raise AttributeError(name)
        if name == "impurity":  # Python asks here if the property raises
            raise AttributeError(
                "a regression tree does not store the impurity of its nodes; tree_.gain has the "
                "decrease by each split."
            )
        return getattr(self.tree, name)

    def __eq__(self, other: object) -> bool:
        return self.tree == other.tree if isinstance(other, NodeArrays) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.tree)

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return self.tree.n_nodes

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self.tree.n_leaves

    @cached_property
    def max_depth(self) -> int:
        """The depth of the tree."""
        return self.tree.depth_below()

    @property
    def n_outputs(self) -> int:
        """Number of outputs, the columns of y."""
        return len(self._values)

    @property
    def n_classes(self) -> NDArray[np.intp]:
        """Number of classes of each output; 1 for numbers."""
        return np.array([values.shape[1] for values in self._values])

    @property
    def max_n_classes(self) -> int:
        """The largest number of classes of an output."""
        return int(self.n_classes.max())

    @cached_property
    def children_left(self) -> NDArray[np.intp]:
        """The left child of each node, −1 in a leaf."""
        return _read_only(self.tree.left.astype(np.intp))

    @cached_property
    def children_right(self) -> NDArray[np.intp]:
        """The right child of each node, −1 in a leaf."""
        return _read_only(self.tree.right.astype(np.intp))

    @cached_property
    def feature(self) -> NDArray[np.intp]:
        """The feature that each node tests, −2 in a leaf."""
        feature = self.tree.feature.astype(np.intp)
        return _read_only(np.where(feature < 0, UNDEFINED, feature))

    @cached_property
    def threshold(self) -> Floats:
        """Rows with x ≤ threshold go left; −2 in a leaf, NaN where a node tests categories."""
        threshold = np.where(self.tree.feature < 0, float(UNDEFINED), self.tree.threshold)
        return _read_only(np.where(self.tree.category_set >= 0, np.nan, threshold))

    @cached_property
    def missing_go_to_left(self) -> NDArray[np.uint8]:
        """Whether missing values go left."""
        return _read_only(self.tree.missing_left.astype(np.uint8))

    @cached_property
    def n_node_samples(self) -> NDArray[np.int64]:
        """Number of training rows in each node."""
        return _read_only(self.tree.count.copy())

    @cached_property
    def weighted_n_node_samples(self) -> Floats:
        """The weight of the training rows in each node."""
        return _read_only(self.tree.cover.copy())

    @cached_property
    def value(self) -> Floats:
        """The shares of the classes, or the number, in each node: (nodes, outputs, classes)."""
        shape = self.node_count, self.n_outputs, self.max_n_classes
        value = np.zeros(shape)
        for output, values in enumerate(self._values):
            value[:, output, : values.shape[1]] = values
        return _read_only(value)

    @cached_property
    def impurity(self) -> Floats:
        """The impurity of each node, a mean over the outputs: only of classes.

        The nodes of a regression tree do not store the variance of their rows.
        """
        if not isinstance(self.outputs, ClassOutputs):
            raise AttributeError("impurity")
        measure = _IMPURITIES[self.criterion]
        return _read_only(np.mean([measure(shares) for shares in self._values], axis=0))

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Return the leaf of each row of numbers; a category is the number of its bin."""
        rows = X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)
        rows = np.ascontiguousarray(rows, np.float32 if rows.dtype == np.float32 else np.float64)
        return self._ensemble.apply(rows)[:, 0].astype(np.intp)

    def predict(self, X: Any) -> Floats:
        """Return the value of each row's leaf: (rows, classes), or (rows, outputs, classes)."""
        values = self.value[self.apply(X)]
        return values[:, 0] if self.n_outputs == 1 else values

    def decision_path(self, X: Any) -> Any:
        """Return the nodes on the path of each row, as a sparse matrix of ones."""
        return self.tree.paths(self.apply(X).astype(np.int32))

    @property
    def _values(self) -> list[Floats]:
        """The values of each output."""
        values = self.tree.value
        if isinstance(self.outputs, ClassOutputs):
            return self.outputs.probabilities(values)
        return np.split(values, values.shape[1], axis=1)


def _gini(shares: Floats) -> Floats:
    impurity: Floats = 1.0 - (shares**2).sum(axis=1)
    return impurity


def _entropy(shares: Floats) -> Floats:
    bits = log(np.where(shares > 0.0, shares, 1.0)) / np.log(2.0)
    impurity: Floats = -(shares * bits).sum(axis=1)
    return impurity


def _error(shares: Floats) -> Floats:
    impurity: Floats = 1.0 - shares.max(axis=1)
    return impurity


_IMPURITIES = {
    "gini": _gini,
    "entropy": _entropy,
    "log_loss": _entropy,
    "gain_ratio": _entropy,
    "error": _error,
}
_VIEWS: WeakKeyDictionary[TreeModel, NodeArrays] = WeakKeyDictionary()


def view_of(model: TreeModel, criterion: str) -> NodeArrays:
    """Return the view of a model's tree, the same each time and in every thread."""
    view = _VIEWS.get(model)
    if view is None:
        n_features = model.schema.n_features
        view = NodeArrays(model.tree, model.outputs, criterion, n_features, model.ensemble)
    return _VIEWS.setdefault(model, view)


def _read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array
