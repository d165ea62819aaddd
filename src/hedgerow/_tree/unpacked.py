"""`UnpackedForest`: forests of other libraries, which have too many thresholds for bins.

It offers what a `PackedForest` offers to a fitted forest, on the arrays of an `Ensemble`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.binned_rows import TreeRows
from hedgerow._data.binning import Binner
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._types import Floats, Snapshot
from hedgerow.exceptions import ParameterError


@dataclass(frozen=True, eq=False, repr=False)
class UnpackedForest(Snapshot):
    """Trees with a value for each output in their nodes."""

    ensemble: Ensemble
    binner: Binner

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.ensemble.n_trees

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.ensemble.n_features

    @property
    def n_values(self) -> int:
        """Number of values of a leaf."""
        return self.ensemble.value.shape[1]

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return len(self.value)

    @property
    def feature(self) -> NDArray[np.int32]:
        """The feature that each node tests, −1 in a leaf."""
        return self.ensemble.feature

    @property
    def tree_offset(self) -> NDArray[np.int64]:
        """The first node of each tree."""
        return self.ensemble.tree_offset

    @cached_property
    def value(self) -> Floats:
        """The values of the leaves, (n_leaves, n_values)."""
        return self.ensemble.value[self.feature < 0]

    def __repr__(self) -> str:
        return f"UnpackedForest({self.n_trees} trees, {self.n_leaves} leaves)"

    def tree(self, index: int) -> Tree:
        """Return a tree."""
        return self.ensemble.tree(index)

    def sum_values(
        self, X: TreeRows, *, values: Floats | None = None, n_threads: int = 1
    ) -> Floats:
        """Return the sum of the values of all trees, (n_rows, n_values).

        ``values`` replaces the values of the leaves.
        """
        if values is None:
            return self.ensemble.predict_raw(X, n_threads=n_threads)
        sums = np.zeros((len(X), values.shape[1]))
        for leaves in self.leaves(X, n_threads=n_threads).T:
            sums += values[leaves]
        return sums

    def leaves(self, X: TreeRows, *, n_threads: int = 1) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, (n_rows, n_trees), as an index into `value`."""
        number = np.cumsum(self.feature < 0, dtype=np.int32) - np.int32(1)
        nodes = self.ensemble.apply(X, n_threads=n_threads) + self.tree_offset[:-1]
        leaves: NDArray[np.int32] = number[nodes]
        return leaves

    def nodes_of(self, leaves: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the node numbers within each tree of leaves (n_rows, n_trees)."""
        node = np.flatnonzero(self.feature < 0)
        nodes: NDArray[np.int32] = (node[leaves] - self.tree_offset[:-1]).astype(np.int32)
        return nodes

    def sum_out_of_bag(self, *_: Any, **__: Any) -> Any:
        """Refuse: the training rows of another library's trees are not known."""
        raise ParameterError(
            "the out-of-bag rows of a forest imported from another library are not known."
        )
