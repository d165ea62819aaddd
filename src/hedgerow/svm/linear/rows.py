"""Any table of numbers → `Rows`: what the solvers multiply with. The door for X of linear machines.

float32 and float64 are used where they lie, in C order or as a CSR matrix; all sums are float64.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.data.intake import Table, TableSchema, as_matrix, learn_schema, read_table
from hedgerow.data.sources import column_label
from hedgerow.exceptions import DataError

Floats = NDArray[np.float64]

# With numbers up to this size, and C up to 1e30, gradients can be squared and added up.
LARGEST = 1e50


class Rows:
    """Rows x_i, each with one more feature of the constant value `bias`."""

    def __init__(self, X: Any, bias: float, threads: int) -> None:
        self.X = X
        self.bias = bias
        self.threads = threads
        self._native = _native_rows(X, bias)

    @property
    def native(self) -> _native.LinearRows:
        """The rows as kernels take them."""
        return self._native

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return self._native.n_rows

    @property
    def width(self) -> int:
        """Features, the constant one among them."""
        return self._native.width

    def take(self, chosen: NDArray[Any]) -> Rows:
        """Give some of the rows, copied to lie side by side."""
        return Rows(self.X[chosen], self.bias, self.threads)

    def times(self, w: Floats) -> Floats:
        """Return X w."""
        return self._native.times(w[np.newaxis], threads=self.threads)[:, 0]

    def times_each(self, W: Floats) -> Floats:
        """Return X Wᵀ."""
        return self._native.times(np.ascontiguousarray(W), threads=self.threads)

    def combine(self, u: Floats) -> Floats:
        """Return Xᵀ u."""
        return self._native.combine(u, threads=self.threads)

    def curve(self, theta: Floats, v: Floats) -> Floats:
        """Return Xᵀ diag(θ) X v."""
        return self._native.curve(theta, v, threads=self.threads)

    def normal_matrix(self, theta: Floats) -> Floats:
        """Return Xᵀ diag(θ) X."""
        return self._native.normal_matrix(theta, threads=self.threads)

    def squares(self) -> Floats:
        """Return ‖x_i‖² of every row."""
        return self._native.squares(threads=self.threads)


def learn_matrix(X: Any, estimator_name: str) -> tuple[TableSchema, Any]:
    """Read the table of a `fit`: a dense matrix in C order or a CSR one, of floats."""
    if _is_csr(X):
        return TableSchema(X.shape[1], None, {}), _checked_csr(X, estimator_name)
    schema, table = learn_schema(X)
    if schema.categories:
        where = column_label(schema.feature_names, min(schema.categories))
        raise DataError(
            f"{where} holds strings or categories, but {estimator_name} computes with numbers. "
            "Encode the column first, for example with sklearn.preprocessing.OneHotEncoder in a "
            "pipeline."
        )
    return schema, _moderate(_matrix_of(table), schema.feature_names, estimator_name)


def read_matrix(X: Any, schema: TableSchema, estimator_name: str) -> Any:
    """Read the table of a `predict` as a matrix, with columns in the order of `fit`."""
    if _is_csr(X) and X.shape[1] == schema.n_features and schema.feature_names is None:
        return _checked_csr(X, estimator_name)
    table = read_table(X, schema, estimator_name=estimator_name)
    return _moderate(_matrix_of(table), schema.feature_names, estimator_name)


def _native_rows(X: Any, bias: float) -> _native.LinearRows:
    if not scipy.sparse.issparse(X):
        return _native.LinearRows.dense(X, bias)
    columns = X.indices.astype(np.int32, copy=False)
    starts = X.indptr.astype(np.int64, copy=False)
    return _native.LinearRows.sparse(X.data, columns, starts, X.shape[1], bias)


def _is_csr(X: Any) -> bool:
    """Tell whether X can be used as it is; anything else takes the way of other tables."""
    return (
        scipy.sparse.issparse(X)
        and X.format == "csr"
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and X.dtype.isnative
        and min(X.shape) > 0
    )


def _checked_csr(X: Any, estimator_name: str) -> Any:
    try:
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(f"X is not a sound sparse matrix: {error}.") from error
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return _moderate(X, None, estimator_name)


def _matrix_of(table: Table) -> Any:
    if table.sparse_csc is None:
        return np.ascontiguousarray(as_matrix(table))
    csr = table.sparse_csc.tocsr()
    return csr.astype(np.result_type(np.float32, csr.dtype), copy=False)


def _moderate(X: Any, names: tuple[str, ...] | None, estimator_name: str) -> Any:
    """Refuse gaps, infinities, and numbers so large that their products overflow."""
    values = X.data if scipy.sparse.issparse(X) else X
    if values.size:
        # Of numbers with a NaN among them, both are NaN.
        low, high = float(values.min()), float(values.max())
        if not -LARGEST <= low <= high <= LARGEST:
            _refuse(scipy.sparse.csr_array(X), names, estimator_name)
    return X


def _refuse(X: Any, names: tuple[str, ...] | None, estimator_name: str) -> NoReturn:
    """Name the first column that holds something a linear machine cannot compute with."""
    stored = X.tocoo()
    row, column = stored.coords
    for bad, what in (
        (np.isnan(stored.data), "NaN or another missing value"),
        (np.isinf(stored.data), "infinity"),
    ):
        if bad.any():
            first = int(bad.argmax())
            raise DataError(
                f"{column_label(names, int(column[first]))} contains {what} (first in row "
                f"{row[first]}), which {estimator_name} cannot compute with. Impute it, for "
                "example with sklearn.impute.SimpleImputer in a pipeline, or use Hedgerow's trees, "
                "forests or boosting, which take gaps as they are."
            )
    first = int(np.abs(stored.data).argmax())
    raise DataError(
        f"{column_label(names, int(column[first]))} holds {stored.data[first]:.3g} (row "
        f"{row[first]}); squares of such numbers cannot be added up. Scale the column, for example "
        f"with sklearn.preprocessing.StandardScaler, so that none exceeds {LARGEST:g}."
    )
