"""The design matrix of the linear solvers: products with X, Xᵀ and XᵀDX.

float32 and float64 are used without a copy, in C order or as a CSR matrix; all sums are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._types import Floats


class DesignMatrix:
    """Rows x_i, each with an additional constant feature of value `bias`."""

    def __init__(self, X: Any, bias: float, threads: int) -> None:
        self.X = X
        self.bias = bias
        self.threads = threads
        self.native = _native_rows(X, bias)
        self.n_rows = self.native.n_rows
        self.width = self.native.width  # number of features, including the constant one

    def take(self, selection: NDArray[Any]) -> DesignMatrix:
        """Return a contiguous copy of some rows."""
        return DesignMatrix(self.X[selection], self.bias, self.threads)

    def times(self, w: Floats) -> Floats:
        """Return X w."""
        return self.native.times(w[np.newaxis], threads=self.threads)[:, 0]

    def times_each(self, W: Floats) -> Floats:
        """Return X Wᵀ."""
        return self.native.times(np.ascontiguousarray(W), threads=self.threads)

    def combine(self, u: Floats) -> Floats:
        """Return Xᵀ u."""
        return self.native.combine(u, threads=self.threads)

    def curve(self, theta: Floats, v: Floats) -> Floats:
        """Return Xᵀ diag(θ) X v."""
        return self.native.curve(theta, v, threads=self.threads)

    def normal_matrix(self, theta: Floats) -> Floats:
        """Return Xᵀ diag(θ) X."""
        return self.native.normal_matrix(theta, threads=self.threads)

    def squares(self) -> Floats:
        """Return ‖x_i‖² of every row."""
        return self.native.squares(threads=self.threads)


def _native_rows(X: Any, bias: float) -> _native.LinearRows:
    if not scipy.sparse.issparse(X):
        return _native.LinearRows.dense(X, bias)
    columns = X.indices.astype(np.int32, copy=False)
    starts = X.indptr.astype(np.int64, copy=False)
    return _native.LinearRows.sparse(X.data, columns, starts, X.shape[1], bias)
