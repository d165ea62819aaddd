"""X → rows that distances can be computed between: float64, dense or sparse, or mixed for Gower."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from hedgerow._data.intake import Table, TableSchema, as_matrix, learn_schema, read_table
from hedgerow._data.names import column_label
from hedgerow._data.sources import has_rows
from hedgerow._neighbors.gower import mixed_matrix
from hedgerow._neighbors.metrics import Metric
from hedgerow.exceptions import DataError


def learn_rows(
    X: Any, metric: Metric, categorical_features: Any, estimator_name: str
) -> tuple[TableSchema, Any]:
    """Read the table of a `fit`: its schema, and its rows."""
    schema, table = learn_schema(X, categorical_features)
    if not metric.is_of_numbers:
        _refuse_sparse(table, metric)
        return schema, mixed_matrix(table)
    for j in schema.categories:
        raise DataError(
            f"{column_label(schema.feature_names, j)} holds strings or categories, which have no "
            f"{metric.words}. Encode it as numbers, for example with scikit-learn's "
            "OneHotEncoder in a pipeline, or use metric='gower', which takes it as it is."
        )
    rows = _numbers(table, metric, estimator_name)
    if metric.name == "precomputed" and rows.shape[0] != rows.shape[1]:
        raise DataError(
            f"X has shape {rows.shape}, but a matrix of the distances of all rows, as "
            "metric='precomputed' takes it, is square."
        )
    # What is kept must not change when the caller's table does.
    return schema, rows if table.dense is None else rows.copy()


def read_rows(X: Any, schema: TableSchema, metric: Metric, estimator_name: str) -> Any:
    """Read the table of a query as that of `fit` was."""
    if metric.name == "precomputed" and has_rows(X):
        # Gaps and infinities are told before a wrong number of columns, as scikit-learn tells them.
        _refuse_gaps(learn_schema(X)[1], metric, estimator_name)
    table = read_table(X, schema, estimator_name=estimator_name)
    if not metric.is_of_numbers:
        _refuse_sparse(table, metric)
        return mixed_matrix(table)
    return _numbers(table, metric, estimator_name)


def _numbers(table: Table, metric: Metric, estimator_name: str) -> Any:
    _refuse_gaps(table, metric, estimator_name)
    if table.sparse_csc is None:
        rows = np.ascontiguousarray(as_matrix(table), np.float64)
        if metric.name == "precomputed":
            _refuse_negative(rows)
        return rows
    if not metric.has_products:
        _refuse_sparse(table, metric)
    return scipy.sparse.csr_array(table.sparse_csc.tocsr(), dtype=np.float64)


def _refuse_negative(distances: Any) -> None:
    if distances.size and distances.min() < 0.0:
        row, column = np.unravel_index(distances.argmin(), distances.shape)
        raise DataError(
            f"Negative values in data passed to X: {distances[row, column]} in row {row}, column "
            f"{column}, but with metric='precomputed' X holds distances."
        )


def _refuse_sparse(table: Table, metric: Metric) -> None:
    if table.sparse_csc is None:
        return
    if metric.name == "precomputed":
        raise DataError(
            "X is sparse, but metric='precomputed' takes all distances, and what a sparse matrix "
            "leaves out would be a distance of 0. Give them as an array."
        )
    raise DataError(
        f"X is sparse, but the metric {metric.name!r} needs all numbers at hand: give X.toarray(), "
        "or use metric='euclidean' or 'cosine', which take sparse tables."
    )


def _refuse_gaps(table: Table, metric: Metric, estimator_name: str) -> None:
    if table.sparse_csc is not None:
        if np.isnan(table.sparse_csc.data).any():
            raise _gaps_error("X", metric, estimator_name)
        return
    dense = table.dense
    if dense is not None and (dense.dtype.kind != "f" or not np.isnan(dense).any()):
        return
    for j in range(table.n_features):
        column: Any = table.column(j)
        missing = column.is_missing()
        if missing.any():
            where = f"{column_label(table.names, j)}, row {int(missing.argmax())}"
            raise _gaps_error(where, metric, estimator_name)


def _gaps_error(where: str, metric: Metric, estimator_name: str) -> DataError:
    return DataError(
        f"{where}: NaN, a missing value, has no {metric.words}, so {estimator_name} cannot take "
        "it. Fill the gaps, for example with scikit-learn's SimpleImputer in a pipeline; or "
        "use metric='gower', which leaves them out, or Hedgerow's trees, forests and boosting, "
        "which accept gaps as they are."
    )
