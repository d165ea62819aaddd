"""One call of `fit`: arguments → training rows → search index → model; and reading queries.

Rows are float64, dense or sparse; for Gower's distance also with codes of categories and NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from hedgerow._data.intake import Table, TableSchema, as_matrix, learn_schema, read_table
from hedgerow._data.names import column_label
from hedgerow._data.outputs import Outputs
from hedgerow._data.sources import has_rows
from hedgerow._estimator import Estimator, column_attributes
from hedgerow._neighbors.indexes import prefers_tree
from hedgerow._neighbors.metrics import DistanceMetric, GowerColumns, mixed_matrix, resolve_metric
from hedgerow._neighbors.search import NeighborsModel
from hedgerow._threads import effective_n_jobs
from hedgerow.exceptions import DataError, ParameterError


def fit_neighbors(
    estimator: Estimator, X: Any, y: Any, outputs: type[Outputs] | None
) -> dict[str, Any]:
    """Return the attributes of a fitted estimator; `outputs` is None if there is no y.

    The index is built here, so that the first query is as fast as any other.
    """
    params = estimator.metric_params or {}
    metric = resolve_metric(estimator.metric, estimator.p, params)
    if estimator.algorithm == "kd_tree" and (metric.spec.is_opaque or not metric.requires_numbers):
        raise ParameterError(
            f"algorithm='kd_tree' does not support the metric {metric.name!r}; use 'auto' or "
            "'brute'."
        )
    categorical = params.get("categorical_features", "auto")
    schema, rows = read_training_rows(X, metric, categorical, type(estimator).__name__)
    of_outputs, target = (None, None) if outputs is None else outputs.learn(y, rows.shape[0])
    gower = None if metric.requires_numbers else GowerColumns.learn(rows, schema, params)
    use_tree = _uses_tree(estimator.algorithm, rows, metric)
    model = NeighborsModel(schema, metric, use_tree, rows, gower, of_outputs, target)
    vars(model)["search"] = model.build_search(effective_n_jobs(estimator.n_jobs))
    return fitted_attributes(model)


def fitted_attributes(model: NeighborsModel) -> dict[str, Any]:
    """Return the attributes of an estimator that holds the model."""
    return {
        "_model": model,
        "effective_metric_": model.metric.function or model.metric.name,
        "effective_metric_params_": model.metric.params,
        "n_samples_fit_": model.n_rows,
        **column_attributes(model.schema),
        **({} if model.outputs is None else model.outputs.attributes()),
    }


def _uses_tree(algorithm: str, rows: Any, metric: DistanceMetric) -> bool:
    if scipy.sparse.issparse(rows):
        if algorithm == "kd_tree":
            raise DataError(
                "X is sparse, but a k-d tree needs a dense table: use algorithm='brute' or "
                "'auto', or pass X.toarray()."
            )
        return False
    if algorithm == "auto":
        return prefers_tree(rows.shape[0], rows.shape[1], metric)
    return algorithm == "kd_tree"


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
            f"{column_label(schema.feature_names, j)} contains strings or categories, which "
            f"{metric.description} does not support. Encode it as numbers, for example with "
            "scikit-learn's OneHotEncoder in a pipeline, or use metric='gower', which supports "
            "categories."
        )
    rows = _numbers(table, metric, estimator_name)
    if metric.name == "precomputed" and rows.shape[0] != rows.shape[1]:
        raise DataError(
            f"X has shape {rows.shape}, but metric='precomputed' requires a square matrix of the "
            "distances between all rows."
        )
    # The stored rows must not change when the caller's table does.
    is_callers = table.dense is not None and np.may_share_memory(rows, table.dense)
    return schema, rows.copy() if is_callers else rows


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
    if table.sparse is None:
        rows = np.ascontiguousarray(as_matrix(table), np.float64)
        if metric.name == "precomputed":
            _refuse_negative(rows)
        return rows
    if not metric.spec.supports_sparse:
        _refuse_sparse(table, metric)
    rows = scipy.sparse.csr_array(table.sparse.csr, dtype=np.float64)
    if metric.name == "precomputed":
        _refuse_negative(rows)
    return rows


def _refuse_negative(distances: Any) -> None:
    if 0 not in distances.shape and distances.min() < 0.0:
        row, column = np.unravel_index(distances.argmin(), distances.shape)
        raise DataError(
            f"Negative values in data passed to X: {distances[row, column]} in row {row}, column "
            f"{column}, but with metric='precomputed' X contains distances."
        )


def _refuse_sparse(table: Table, metric: DistanceMetric) -> None:
    if table.sparse is None:
        return
    raise DataError(
        f"X is sparse, but the metric {metric.name!r} needs a dense table: pass X.toarray(), or "
        "use metric='euclidean' or 'cosine', which support sparse tables."
    )


def _refuse_missing(table: Table, metric: DistanceMetric, estimator_name: str) -> None:
    if table.sparse is not None:
        if np.isnan(table.sparse.matrix.data).any():
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
        f"{where}: NaN, a missing value, is not supported by {estimator_name} with "
        f"{metric.description}. Impute missing values, for example with scikit-learn's "
        "SimpleImputer in a pipeline; or use metric='gower', which ignores them, or Hedgerow's "
        "trees, forests and boosting, which support missing values natively."
    )
