"""The base class of SVMs, and the reading of tables into float matrices."""

from __future__ import annotations

from typing import Any, NoReturn, Self

import numpy as np
import scipy.sparse

from hedgerow._data.intake import Table, TableSchema, as_matrix, learn_schema, read_table
from hedgerow._data.names import Names, column_label
from hedgerow._data.sparse import sound
from hedgerow._estimator import Estimator
from hedgerow._params import check_parameters
from hedgerow.exceptions import DataError

# With numbers up to this size, and C up to 1e30, squared gradients do not overflow.
LARGEST = 1e50


class SVM(Estimator):
    """Base class of kernel and linear SVMs."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        If `fit` fails or is interrupted by Ctrl-C, the estimator is left unchanged.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
            Numbers without missing values: NumPy array, pandas, Polars or Arrow table, or SciPy
            sparse matrix. Columns should have similar scales, because all are penalised
            alike; this also speeds up the solver. With ``kernel="precomputed"``, the kernel matrix,
            (n_rows, n_rows).
        y : array of shape (n_rows,)
            Class labels or target values.
        sample_weight : array of shape (n_rows,), optional
            Sample weights, nonnegative and not all 0. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        check_parameters(self)
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit the model with checked parameters."""
        raise NotImplementedError


def learn_matrix(X: Any, estimator_name: str) -> tuple[TableSchema, Any]:
    """Read the table of a `fit`: a float matrix, dense in C order or CSR."""
    if _is_csr(X):
        return TableSchema(X.shape[1], None, {}), _checked_csr(X, estimator_name)
    schema, table = learn_schema(X)
    if schema.categories:
        where = column_label(schema.feature_names, min(schema.categories))
        raise DataError(
            f"{where} contains strings or categories, but {estimator_name} needs numeric columns. "
            "Encode the column first, for example with sklearn.preprocessing.OneHotEncoder in a "
            "pipeline."
        )
    return schema, _moderate(_matrix_of(table), schema.feature_names, estimator_name)


def read_matrix(X: Any, schema: TableSchema, estimator_name: str) -> Any:
    """Read the table of a `predict` as a matrix, with columns in the order of `fit`."""
    if _is_csr(X) and X.shape[1] == schema.n_features and schema.has_no_names:
        return _checked_csr(X, estimator_name)
    table = read_table(X, schema, estimator_name=estimator_name)
    return _moderate(_matrix_of(table), schema.feature_names, estimator_name)


def _is_csr(X: Any) -> bool:
    """Return whether X can be used without conversion."""
    return (
        scipy.sparse.issparse(X)
        and X.format == "csr"
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and X.dtype.isnative
        and min(X.shape) > 0
    )


def _checked_csr(X: Any, estimator_name: str) -> Any:
    X = sound(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return _moderate(X, None, estimator_name)


def _matrix_of(table: Table) -> Any:
    if table.sparse is None:
        return np.ascontiguousarray(as_matrix(table))
    csr = table.sparse.csr
    return csr.astype(np.result_type(np.float32, csr.dtype), copy=False)


def _moderate(X: Any, names: Names | None, estimator_name: str) -> Any:
    """Refuse missing values, infinities, and numbers so large that their products overflow."""
    values = X.data if scipy.sparse.issparse(X) else X
    if values.size:
        # Both are NaN if any value is NaN.
        low, high = float(values.min()), float(values.max())
        if not -LARGEST <= low <= high <= LARGEST:
            _refuse(scipy.sparse.csr_array(X), names, estimator_name)
    return X


def _refuse(X: Any, names: Names | None, estimator_name: str) -> NoReturn:
    """Report the first column that holds an unusable value."""
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
                f"{row[first]}), which {estimator_name} does not support. Impute it, for "
                "example with sklearn.impute.SimpleImputer in a pipeline, or use Hedgerow's trees, "
                "forests or boosting, which support missing values natively."
            )
    first = int(np.abs(stored.data).argmax())
    raise DataError(
        f"{column_label(names, int(column[first]))} contains {stored.data[first]:.3g} (row "
        f"{row[first]}); squares of such numbers overflow. Scale the column, for example "
        f"with sklearn.preprocessing.StandardScaler, so that no value exceeds {LARGEST:g}."
    )
