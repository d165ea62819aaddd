"""Kernels k(x, z): scalar products of φ(x) and φ(z), without computing φ.

A `KernelTable` has rows and computes kernel values with them, a block at a time, so that the solver
and prediction need not know the kernel, or whether rows are dense or sparse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.metrics.pairwise import manhattan_distances

from hedgerow import _native
from hedgerow._arithmetic import means_of_columns, sum_of
from hedgerow._data.sparse import sound
from hedgerow._svm.kernel.dual import DualProblem
from hedgerow._svm.kernel.linear_start import linear_start
from hedgerow._svm.linear.design_matrix import DesignMatrix
from hedgerow._types import Floats, RowNumbers
from hedgerow.exceptions import DataError, ParameterError

NAMES = ("linear", "poly", "rbf", "sigmoid", "laplacian", "precomputed")
BOUNDED = ("rbf", "laplacian", "sigmoid")
# Squares of sums of kernel values of this size do not overflow.
LARGEST_KERNEL = 1e100
# Above this γ‖x‖², an exponent would lose too much precision in float32.
LARGEST_SINGLE_EXPONENT = 64.0
# Number of values in a block of the kernel matrix.
BLOCK = 1 << 20


@dataclass(frozen=True)
class Kernel:
    """A kernel of the library by its name, with its constants; or a user-defined function."""

    name: str  # "callable" for a function
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    function: Callable[[Any, Any], Any] | None = None

    @property
    def rule(self) -> _native.KernelRule:
        """The kernel for native code."""
        return _native.KernelRule(self.name, self.gamma, self.coef0, self.degree)

    @property
    def is_of_distances(self) -> bool:
        """Return whether it is a decreasing function of a distance, with k(x, x) = 1."""
        return self.name in ("rbf", "laplacian")

    @property
    def is_surely_definite(self) -> bool:
        """Return whether it is positive semidefinite for all rows."""
        if self.name == "poly":
            return self.coef0 >= 0.0
        return self.name in ("linear", "rbf", "laplacian")

    def table(self, rows: Any, *, single: bool = False, threads: int = 1) -> KernelTable:
        """Return a table of rows for kernel values with them; `single` to compute in float32."""
        if self.function is not None:
            return CallableTable(self.function, rows)
        if self.name == "precomputed":
            return PrecomputedTable(rows, np.arange(rows.shape[0]))
        if scipy.sparse.issparse(rows):
            return SparseTable(self, rows)
        return DenseTable(self, rows, single=single, threads=threads)


def gamma_of(gamma: float | str, X: Any, threads: int = 1) -> float:
    """Return the value of `gamma` for this table."""
    if not isinstance(gamma, str):
        return float(gamma)
    n_features = X.shape[1]
    if gamma == "auto":
        return 1.0 / n_features
    variance = _variance(X, threads)
    if variance == 0.0:
        return 1.0
    scale = 1.0 / (n_features * variance)
    if not math.isfinite(scale):
        raise DataError(
            "X contains numbers so small that 1 / variance, for gamma='scale', is infinite. Scale "
            "the columns, for example with sklearn.preprocessing.StandardScaler."
        )
    return scale


def _variance(X: Any, threads: int) -> float:
    """Return the variance of all numbers of a table, block by block to save memory."""
    sparse = scipy.sparse.issparse(X)
    count = X.shape[0] * X.shape[1]
    parts = _parts(X.data if sparse else X.reshape(-1), BLOCK)
    mean = sum(sum_of(part, threads) for part in parts) / count
    squares = sum(sum_of(np.square(part - mean, dtype=np.float64), threads) for part in parts)
    n_zeros = count - X.nnz if sparse else 0
    return (squares + n_zeros * mean * mean) / count


def has_small_exponents(kernel: Kernel, X: Any, threads: int = 1) -> bool:
    """Return whether kernel values of these rows in float32 are accurate to about 1e-6."""
    if not kernel.is_of_distances or scipy.sparse.issparse(X):
        return False
    centre = means_of_columns(X, threads)
    measure = np.square if kernel.name == "rbf" else np.abs
    largest = max(
        float(measure(part - centre).sum(axis=1).max())
        for part in _parts(X, max(1, BLOCK // X.shape[1]))
    )
    return kernel.gamma * largest <= LARGEST_SINGLE_EXPONENT


def _parts(array: Any, step: int) -> list[Any]:
    return [array[first : first + step] for first in range(0, len(array), step)]


class LargestKernel:
    """Base class of kernel tables: the largest kernel value."""

    _is_bounded = False  # by 1
    _largest: float | None = None

    def largest(self) -> float:
        """Return the largest |k(x, x)|, computed once."""
        if self._largest is None:
            diagonal = np.ones(1) if self._is_bounded else self.diagonal()
            self._largest = float(np.abs(diagonal).max(initial=0.0))
        return self._largest

    def diagonal(self) -> Floats:
        """Return k(x, x)."""
        raise NotImplementedError


class DenseTable(LargestKernel):
    """Dense rows: kernel values from tiles of products or distances.

    `fill` writes the kernel values of row rows[i] with all rows into values[slots[i]]; `sums` are
    Σ_r coefficients[m, r] k(query, row r), (n_queries, len(coefficients)), and `own_sums` the same
    for one row of coefficients and some of the table's own rows.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Floats,
        *,
        single: bool,
        threads: int = 1,
        numbers: RowNumbers | None = None,
        centre: Floats | None = None,
    ) -> None:
        """Prepare all rows of X, or those with these numbers."""
        self.dtype: type[np.floating[Any]] = np.float32 if single else np.float64
        self.kernel = kernel
        self._is_bounded = kernel.name in BOUNDED
        self.X = X
        self._numbers = numbers
        if centre is None:
            has_centre = kernel.is_of_distances and len(X) > 0
            centre = means_of_columns(X, threads) if has_centre else np.zeros(X.shape[1])
        self._centre = centre
        kind = _native.KernelTableFloat if single else _native.KernelTableDouble
        self._native = kind(kernel.rule, X, numbers, centre, threads)

    def __len__(self) -> int:
        return len(self.X if self._numbers is None else self._numbers)

    def fill(self, rows: RowNumbers, slots: RowNumbers, values: NDArray[Any], threads: int) -> None:
        """Write rows of the kernel matrix."""
        self._native.fill(rows, slots, values, threads)

    def diagonal(self) -> Floats:
        """Return k(x, x)."""
        values = np.empty(len(self))
        self._native.fill_diagonal(values)
        return values

    def sums(
        self, queries: Any, coefficients: Floats, threads: int, numbers: RowNumbers | None = None
    ) -> Floats:
        """Return weighted sums of kernel values, for all queries or those with these numbers."""
        n_queries = len(queries if numbers is None else numbers)
        out = np.empty((n_queries, len(coefficients)))
        self._native.sum(queries, numbers, coefficients, out, threads)
        return out

    def own_sums(self, coefficients: Floats, at: RowNumbers, threads: int) -> Floats:
        """Return weighted sums of kernel values of the rows with one another."""
        used = np.flatnonzero(coefficients)
        if not len(used):
            return np.zeros(len(at))
        if self.kernel.name == "linear":
            rows = DesignMatrix(self._rows(), 0.0, threads)
            return rows.times(rows.combine(coefficients))[at]
        vectors = self.take(used, threads)
        return vectors.sums(self.X, coefficients[np.newaxis, used], threads, self._of(at))[:, 0]

    def start_for(self, dual: DualProblem, threads: int) -> Floats:
        """Start near the solution, if the kernel is linear."""
        is_linear = self.kernel.name == "linear"
        return linear_start(dual, self._rows(), threads) if is_linear else dual.start

    def take(self, rows: RowNumbers, threads: int = 1) -> DenseTable:
        """Return some of the rows; their kernel values are the same, bit for bit."""
        single = self.dtype is np.float32
        return DenseTable(
            self.kernel,
            self.X,
            single=single,
            threads=threads,
            numbers=self._of(rows),
            centre=self._centre,
        )

    def _of(self, rows: RowNumbers) -> RowNumbers:
        """Return the numbers in X of some of the rows."""
        return rows if self._numbers is None else self._numbers[rows]

    def _rows(self) -> Floats:
        return self.X if self._numbers is None else self.X[self._numbers]


class BlockTable(LargestKernel):
    """Base class of tables whose kernel values are computed in Python, block by block."""

    dtype: type[np.floating[Any]] = np.float64

    def __len__(self) -> int:
        raise NotImplementedError

    def block(self, rows: RowNumbers, threads: int) -> Floats:
        """Return kernel values of some of the rows with all rows."""
        raise NotImplementedError

    def block_of(self, queries: Any, threads: int) -> Floats:
        """Return kernel values of other rows with all rows."""
        raise NotImplementedError

    def fill(self, rows: RowNumbers, slots: RowNumbers, values: NDArray[Any], threads: int) -> None:
        """Write rows of the kernel matrix."""
        step = max(1, BLOCK // len(self))
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            values[slots[part]] = self.block(rows[part], threads)

    def start_for(self, dual: DualProblem, threads: int) -> Floats:  # noqa: ARG002
        """Return the starting point of the problem."""
        return dual.start

    def diagonal(self) -> Floats:
        """Return k(x, x)."""
        step = max(1, BLOCK // len(self))
        values = np.empty(len(self))
        for first in range(0, len(self), step):
            rows = np.arange(first, min(first + step, len(self)))
            values[rows] = self.block(rows, 1)[np.arange(len(rows)), rows]
        return values

    def sums(self, queries: Any, coefficients: Floats, threads: int) -> Floats:
        """Return weighted sums of kernel values."""
        step = max(1, BLOCK // max(1, len(self)))
        out = np.empty((queries.shape[0], len(coefficients)))
        for first in range(0, queries.shape[0], step):
            part = slice(first, first + step)
            _native.weighted_sums(self.block_of(queries[part], threads), coefficients, out[part])
        return out

    def own_sums(self, coefficients: Floats, at: RowNumbers, threads: int) -> Floats:
        """Return weighted sums of kernel values of the rows with one another."""
        used = np.flatnonzero(coefficients)
        values = np.zeros(len(at))
        step = max(1, BLOCK // len(self))
        for first in range(0, len(used), step):
            rows = used[first : first + step]
            block = np.ascontiguousarray(self.block(rows, threads)[:, at])
            _native.add_products(block, np.arange(len(rows)), coefficients[rows], values, threads)
        return values


class SparseTable(BlockTable):
    """Rows as a CSR matrix."""

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.kernel = kernel
        self._is_bounded = kernel.name in BOUNDED
        self.X = _csr(X)
        self._scaled = self._scale(self.X)
        self._half_norms = _half_norms(self._scaled)
        self._native = _linear_rows(self._scaled)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def _scale(self, X: Any) -> Any:
        factor = self.kernel.rule.scale
        return X if factor == 1.0 else X * factor

    def block(self, rows: RowNumbers, threads: int) -> Floats:
        """Return kernel values of some of the rows with all rows."""
        return self._kernels(self._scaled[rows], self._half_norms[rows], threads)

    def block_of(self, queries: Any, threads: int) -> Floats:
        """Return kernel values of other rows with all rows."""
        scaled = self._scale(_csr(queries))
        return self._kernels(scaled, _half_norms(scaled), threads)

    def _kernels(self, scaled: Any, half_norms: Floats, threads: int) -> Floats:
        if self.kernel.name == "laplacian":
            values = manhattan_distances(scaled, self._scaled)
        else:
            values = np.empty((scaled.shape[0], len(self)))
            step = max(1, BLOCK // scaled.shape[1])
            for first in range(0, scaled.shape[0], step):
                part = slice(first, first + step)
                values[part] = self._native.times(_dense(scaled[part]), threads=threads).T
        self.kernel.rule.finish(half_norms, self._half_norms, values)
        return values

    def take(self, rows: RowNumbers, threads: int = 1) -> SparseTable:  # noqa: ARG002
        """Return some of the rows."""
        return SparseTable(self.kernel, self.X[rows])


class CallableTable(BlockTable):
    """Rows, and a function of two blocks of rows."""

    def __init__(self, function: Callable[[Any, Any], Any], X: Any) -> None:
        self.function = function
        self.X = X

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def block(self, rows: RowNumbers, threads: int) -> Floats:
        """Return kernel values of some of the rows with all rows."""
        return self.block_of(self.X[rows], threads)

    def block_of(self, queries: Any, threads: int) -> Floats:  # noqa: ARG002
        """Return kernel values of other rows with all rows."""
        values = self.function(queries, self.X)
        if scipy.sparse.issparse(values):
            values = sound(values, "What kernel returned").toarray()
        if np.iscomplexobj(values):
            raise ParameterError("kernel returned complex numbers; it must return real ones.")
        try:
            block = np.ascontiguousarray(values, np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"kernel returned something other than a matrix of numbers: {error}."
            ) from None
        if block.shape != (queries.shape[0], len(self)):
            raise ParameterError(
                f"kernel returned an array of shape {block.shape} for blocks of "
                f"{queries.shape[0]} and {len(self)} rows; it must be "
                f"({queries.shape[0]}, {len(self)})."
            )
        if not np.abs(block).max(initial=0.0) <= LARGEST_KERNEL:
            raise ParameterError(
                "kernel returned NaN, an infinity or a number above 1e100, which cannot be used."
            )
        return block

    def take(self, rows: RowNumbers, threads: int = 1) -> CallableTable:  # noqa: ARG002
        """Return some of the rows."""
        return CallableTable(self.function, self.X[rows])


class PrecomputedTable(BlockTable):
    """A precomputed kernel matrix: kernel values with the rows of `fit`."""

    def __init__(self, X: Floats, columns: RowNumbers) -> None:
        self.X = X
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns)

    def block(self, rows: RowNumbers, threads: int) -> Floats:  # noqa: ARG002
        """Return kernel values of some of the rows with all rows."""
        return self.X[np.ix_(self.columns[rows], self.columns)]

    def block_of(self, queries: Any, threads: int) -> Floats:  # noqa: ARG002
        """Return kernel values of other rows with all rows."""
        return np.ascontiguousarray(queries[:, self.columns])

    def take(self, rows: RowNumbers, threads: int = 1) -> PrecomputedTable:  # noqa: ARG002
        """Return some of the rows."""
        return PrecomputedTable(self.X, self.columns[rows])


KernelTable = DenseTable | SparseTable | CallableTable | PrecomputedTable


def require_moderate_kernels(kernel: Kernel, X: Any) -> None:
    """Raise if kernel values of these rows are too large."""
    if kernel.name not in ("linear", "poly"):
        return
    base, power = float((X * X).sum(axis=1).max()), 1
    if kernel.name == "poly":
        base, power = kernel.gamma * base + abs(kernel.coef0), kernel.degree
    if base > 1.0 and power * math.log10(base) > math.log10(LARGEST_KERNEL):
        raise DataError(
            f"X contains numbers so large that values of the {kernel.name} kernel exceed "
            f"{LARGEST_KERNEL:g}. Scale the columns, for example with "
            "sklearn.preprocessing.StandardScaler."
        )


def require_symmetric(X: Floats) -> None:
    """Raise unless a kernel matrix is square and symmetric."""
    if X.shape[0] != X.shape[1]:
        raise DataError(
            f"X has the shape {X.shape}, but kernel='precomputed' needs a square matrix: the "
            "kernel values of all pairs of training rows."
        )
    apart = float(np.abs(X - X.T).max())
    if apart > 1e-6 * float(np.abs(X).max()):
        raise DataError(
            "X is not a kernel matrix: it is not symmetric (k(x, z) and k(z, x) differ by up to "
            f"{apart:.3g})."
        )


def matrix_of(table: KernelTable) -> Floats:
    """Return the kernel matrix of a small table."""
    K = np.empty((len(table), len(table)), table.dtype)
    table.fill(np.arange(len(table)), np.arange(len(table)), K, 1)
    return K.astype(np.float64)


def require_symmetric_kernel(K: Floats) -> None:
    """Raise unless the values of a kernel function are symmetric."""
    apart = float(np.abs(K - K.T).max())
    if apart > 1e-6 * float(np.abs(K).max()):
        raise ParameterError(
            f"kernel is not symmetric, so it is not a valid kernel: k(x, z) and k(z, x) differ by "
            f"up to {apart:.3g}."
        )


def smallest_eigenvalue(K: Floats) -> float:
    """Return the smallest eigenvalue of a kernel matrix, relative to the largest.

    Coefficients add up to 0, so the kernel matrix is centred.
    """
    K = K - K.mean(axis=0)
    K -= K.mean(axis=1)[:, np.newaxis]
    values = np.linalg.eigvalsh(0.5 * (K + K.T))
    largest = float(np.abs(values).max())
    return float(values[0]) / largest if largest > 0.0 else 0.0


def _csr(X: Any) -> Any:
    """Return sparse rows in float64 with 32-bit indices, which all libraries support."""
    X = scipy.sparse.csr_array(X, dtype=np.float64)
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return scipy.sparse.csr_array(parts, X.shape) if X.nnz < 2**31 else X


def _dense(X: Any) -> Floats:
    """Return sparse rows as dense ones, with the constant feature of `_native.LinearRows`."""
    dense = np.zeros((X.shape[0], X.shape[1] + 1))
    dense[:, :-1] = X.toarray()
    return dense


def _half_norms(X: Any) -> Floats:
    return 0.5 * np.asarray((X * X).sum(axis=1), np.float64).reshape(-1)


def _linear_rows(X: Any) -> _native.LinearRows:
    columns, starts = X.indices.astype(np.int32), X.indptr.astype(np.int64)
    return _native.LinearRows.sparse(X.data, columns, starts, X.shape[1], 0.0)
