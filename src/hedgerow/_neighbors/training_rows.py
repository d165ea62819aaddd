"""X → training rows and queries for distances: float64, dense or sparse, or mixed for Gower."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from hedgerow._data.intake import Table, TableSchema, as_matrix, learn_schema, read_table
from hedgerow._data.names import column_label
from hedgerow._data.sources import has_rows
from hedgerow._neighbors.gower import mixed_matrix
from hedgerow._neighbors.metrics import DistanceMetric
from hedgerow.exceptions import DataError


def read_training_rows(
    X: Any, metric: DistanceMetric, categorical_features: Any, estimator_name: str
) -> tuple[TableSchema, Any]:
    """Read the table of a `fit`: return its schema and its rows."""
    schema, table = learn_schema(X, categorical_features)
    if not metric.requires_numbers:
        _refuse_sparse(table, metric)
        return schema, mixed_matrix(table)
    for j in schema.categories:
        raise DataError(
            f"{column_label(schema.feature_names, j)} holds strings or categories, which have no "
            f"{metric.description}. Encode it as numbers, for example with scikit-learn's "
            "OneHotEncoder in a pipeline, or use metric='gower', which supports categories."
        )
    rows = _numbers(table, metric, estimator_name)
    if metric.name == "precomputed" and rows.shape[0] != rows.shape[1]:
        raise DataError(
            f"X has shape {rows.shape}, but metric='precomputed' requires a square matrix of the "
            "distances between all rows."
        )
    # The stored rows must not change when the caller's table does.
    return schema, rows if table.dense is None else rows.copy()


def read_queries(X: Any, schema: TableSchema, metric: DistanceMetric, estimator_name: str) -> Any:
    """Read a table of queries, as the table of `fit` was read."""
    if metric.name == "precomputed" and has_rows(X):
        # Missing and infinite values are reported before a wrong number of columns, as in
        # scikit-learn.
        _refuse_missing(learn_schema(X)[1], metric, estimator_name)
    table = read_table(X, schema, estimator_name=estimator_name)
    if not metric.requires_numbers:
        _refuse_sparse(table, metric)
        return mixed_matrix(table)
    return _numbers(table, metric, estimator_name)


def _numbers(table: Table, metric: DistanceMetric, estimator_name: str) -> Any:
    _refuse_missing(table, metric, estimator_name)
    if table.sparse_csc is None:
        rows = np.ascontiguousarray(as_matrix(table), np.float64)
        if metric.name == "precomputed":
            _refuse_negative(rows)
        return rows
    if not metric.spec.supports_sparse:
        _refuse_sparse(table, metric)
    return scipy.sparse.csr_array(table.sparse_csc.tocsr(), dtype=np.float64)


def _refuse_negative(distances: Any) -> None:
    if distances.size and distances.min() < 0.0:
        row, column = np.unravel_index(distances.argmin(), distances.shape)
        raise DataError(
            f"Negative values in data passed to X: {distances[row, column]} in row {row}, column "
            f"{column}, but with metric='precomputed' X holds distances."
        )


def _refuse_sparse(table: Table, metric: DistanceMetric) -> None:
    if table.sparse_csc is None:
        return
    if metric.name == "precomputed":
        raise DataError(
            "X is sparse, but metric='precomputed' needs all distances; the zeros of a sparse "
            "matrix would be distances of 0. Pass an array."
        )
    raise DataError(
        f"X is sparse, but the metric {metric.name!r} needs a dense table: pass X.toarray(), or "
        "use metric='euclidean' or 'cosine', which support sparse tables."
    )


def _refuse_missing(table: Table, metric: DistanceMetric, estimator_name: str) -> None:
    if table.sparse_csc is not None:
        if np.isnan(table.sparse_csc.data).any():
            raise _missing_error("X", metric, estimator_name)
        return
    dense = table.dense
    if dense is not None and (dense.dtype.kind != "f" or not np.isnan(dense).any()):
        return
    for j in range(table.n_features):
        column: Any = table.column(j)
        missing = column.is_missing()
        if missing.any():
            where = f"{column_label(table.names, j)}, row {int(missing.argmax())}"
            raise _missing_error(where, metric, estimator_name)


def _missing_error(where: str, metric: DistanceMetric, estimator_name: str) -> DataError:
    return DataError(
        f"{where}: NaN, a missing value, has no {metric.description}, so {estimator_name} does not "
        "accept it. Impute missing values, for example with scikit-learn's SimpleImputer in a "
        "pipeline; or use metric='gower', which ignores them, or Hedgerow's trees, forests and "
        "boosting, which support missing values natively."
    )
