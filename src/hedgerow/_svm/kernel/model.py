"""The fitted model: support vectors and their coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._data.intake import TableSchema
from hedgerow._svm.kernel.kernels import Kernel, KernelTable, PrecomputedTable
from hedgerow._svm.kernel.multiclass import of_pairs, pairs
from hedgerow._svm.linear.design_matrix import DesignMatrix
from hedgerow._types import Floats, RowNumbers


@dataclass(frozen=True, eq=False)
class Certificate:
    """The certificates of the SVMs, one element each."""

    objective: Floats  # of the primal
    duality_gap: Floats  # relative to the objectives
    n_iter: RowNumbers
    converged: bool  # all of them


@dataclass(frozen=True, eq=False)
class KernelModel:
    """SVMs f(x) = Σ_s coefficient_s k(vector s, x) + intercept on the same support vectors.

    Each row of coefficients is an SVM; in one-vs-one with more than two classes, the layout is that
    of scikit-learn, see `multiclass.by_class`. Vectors are ordered by class.
    """

    schema: TableSchema
    kernel: Kernel
    single: bool  # whether kernel values are float32
    support: RowNumbers  # the vectors' rows in the table of `fit`
    vectors: Any  # those rows: a matrix, or CSR; None if the kernel is precomputed
    n_rows: int  # of that table
    counts: RowNumbers  # vectors of each class, or of all
    coefficients: Floats  # (n_svms, n_vectors), or (n_classes − 1, n_vectors) for pairs
    intercepts: Floats  # (n_svms,)
    certificate: Certificate
    classes: NDArray[Any] | None = None
    class_weight: Floats | None = None
    has_pairs: bool = False
    sigmoids: Floats | None = None  # (n_svms, 2): see `platt`
    epsilon: float | None = None  # that a ν has chosen

    def with_function(self, function: Any) -> KernelModel:
        """Return the model with this kernel function, which model files do not store."""
        is_same = function is self.kernel.function or not callable(function)
        if self.kernel.function is None or is_same:
            return self
        return replace(self, kernel=replace(self.kernel, function=function))

    def svm_coefficients(self) -> Floats:
        """Return the coefficients of every SVM, (n_svms, n_vectors)."""
        if not self.has_pairs:
            return self.coefficients
        return of_pairs(self.coefficients, self.counts)

    @cached_property
    def weights(self) -> Floats:
        """Weights of the columns, if the kernel is linear, (n_svms, n_features)."""
        coefficients = self.svm_coefficients()
        if scipy.sparse.issparse(self.vectors):
            return np.asarray(coefficients @ self.vectors)
        weights = np.empty((self.vectors.shape[1], len(coefficients)))
        _native.weighted_sums(np.ascontiguousarray(self.vectors.T), coefficients, weights)
        return np.ascontiguousarray(weights.T)

    def scores(self, queries: Any, threads: int) -> Floats:
        """Return f of every SVM, (n_queries, n_svms)."""
        if self.kernel.name == "linear":
            rows = DesignMatrix(queries, 1.0, threads)
            return rows.times_each(np.column_stack([self.weights, self.intercepts]))
        if not self.has_pairs:
            return self._tables[0].sums(queries, self.coefficients, threads) + self.intercepts
        ends = np.cumsum(self.counts)
        sums = [
            table.sums(queries, np.ascontiguousarray(self.coefficients[:, end - n : end]), threads)
            for table, n, end in zip(self._tables, self.counts, ends, strict=True)
        ]
        pairwise = [sums[i][:, j - 1] + sums[j][:, i] for i, j in pairs(len(sums))]
        return np.column_stack(pairwise) + self.intercepts

    @cached_property
    def _tables(self) -> list[KernelTable]:
        """The vectors, prepared for queries: all together, or those of each class."""
        if not self.has_pairs:
            return [self._table(np.arange(len(self.support)))]
        ends = np.cumsum(self.counts)
        parts = zip(ends - self.counts, ends, strict=True)
        return [self._table(np.arange(start, end)) for start, end in parts]

    def _table(self, vectors: RowNumbers) -> KernelTable:
        if self.vectors is None:
            return PrecomputedTable(np.empty((0, 0)), self.support[vectors])
        return self.kernel.table(self.vectors[vectors], single=self.single)

    def __getstate__(self) -> dict[str, Any]:
        made_again = ("_tables", "weights")
        return {name: value for name, value in vars(self).copy().items() if name not in made_again}
