"""Nearest neighbours ↔ a model file: the training rows and their targets.

The search index is not stored: it depends on the rows alone and is rebuilt. A metric that is a
function is stored by name only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow._contract import internals
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._data.table import TableSchema
from hedgerow._estimator import Estimator
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import (
    CSR,
    Stored,
    is_table,
    outputs_kind,
    read_csr,
    read_outputs,
    require,
    with_prefix,
    write_csr,
    write_outputs,
)
from hedgerow._model_file.values import NotStored, decode, encode
from hedgerow._neighbors.estimators import RadiusNeighborsClassifier, check_outlier_labels
from hedgerow._neighbors.fitting import fitted_attributes
from hedgerow._neighbors.metrics import METRICS, DistanceMetric, GowerColumns, resolve_metric
from hedgerow._neighbors.search import NeighborsModel

_MOST_ROWS = 1 << 32  # the kernels' numbers of rows have 32 bits


def write(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted model."""
    model: NeighborsModel = internals(estimator).model()
    is_sparse = scipy.sparse.issparse(model.rows)
    document = {
        "schema": model.schema.to_dict(),
        "metric": encode(model.metric.function or model.metric.name),
        "metric_params": encode(model.metric.params),
        "use_tree": model.use_tree,
        "is_sparse": is_sparse,
        "outputs": None if model.outputs is None else write_outputs(model.outputs),
    }
    if isinstance(estimator, RadiusNeighborsClassifier):
        document["outlier_label"] = encode(estimator.outlier_label_)
    arrays = with_prefix("rows.", write_csr(model.rows)) if is_sparse else {"rows": model.rows}
    if model.gower is not None:
        arrays["column_weights"] = model.gower.weights
    if model.target is not None:
        arrays["target"] = model.target
    return document, arrays


def read(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    schema, metric = stored.schema(), _read_metric(stored)
    rows = _read_rows(stored, schema, metric)
    use_tree = stored.flag("use_tree")
    is_dense = not (metric.spec.is_opaque or scipy.sparse.issparse(rows))
    may_have_tree = metric.requires_numbers and is_dense
    require(may_have_tree or not use_tree, "a k-d tree does not support such rows")
    gower = None if metric.requires_numbers else _read_gower(stored, rows, schema)
    outputs, target = _read_target(outputs_kind(kind), stored, rows.shape[0])
    model = NeighborsModel(schema, metric, use_tree, rows, gower, outputs, target)
    attributes = fitted_attributes(model)
    if issubclass(kind, RadiusNeighborsClassifier):
        attributes["outlier_label_"] = _read_outlier_label(stored, outputs)
    return attributes


def _read_outlier_label(stored: Stored, outputs: Any) -> list[Any] | None:
    labels = decode(stored.field("outlier_label"))
    if labels is None:
        return None
    are_labels = isinstance(labels, list) and all(
        isinstance(one, str | int | float) for one in labels
    )
    require(are_labels, "outlier_label is not a list of classes")
    check_outlier_labels(labels, outputs)
    return labels


def _read_rows(stored: Stored, schema: TableSchema, metric: DistanceMetric) -> Any:
    is_sparse = stored.flag("is_sparse")
    require(metric.spec.supports_sparse or not is_sparse, "the metric does not support sparse rows")
    rows = (
        read_csr(stored.arrays("rows.", CSR), schema.n_features)
        if is_sparse
        else _read_dense(stored, schema)
    )
    require(0 < rows.shape[0] < _MOST_ROWS, "there are no rows")
    if metric.requires_numbers:
        values: Any = rows.data if is_sparse else rows
        require(not schema.categories, "the metric does not support categories")
        require(np.isfinite(values).all(), "a row is not finite")
        if metric.name == "precomputed":
            are_distances = rows.shape[0] == rows.shape[1] and (values >= 0.0).all()
            require(are_distances, "the distances are not a square matrix of numbers ≥ 0")
    else:
        _check_mixed(rows, schema)
    return rows


def _read_metric(stored: Stored) -> DistanceMetric:
    name, params = decode(stored.field("metric")), decode(stored.field("metric_params"))
    require(isinstance(params, dict), "the parameters of the metric are not a dict")
    if isinstance(name, NotStored):
        require(is_table(params), "the parameters of the metric do not have strings as names")
        return resolve_metric(name, 2.0, params)
    require(isinstance(name, str) and name in METRICS, f"the metric is {name!r}")
    metric = resolve_metric(name, 2.0, params)
    matches = metric.name == name and metric.params == params
    require(matches, f"the parameters {params!r} do not match the metric {name!r}")
    return metric


def _read_dense(stored: Stored, schema: TableSchema) -> NDArray[Any]:
    rows = stored.arrays("", ["rows"])["rows"]
    fits = rows.dtype == np.float64 and rows.ndim == 2 and rows.shape[1] == schema.n_features
    require(fits, "rows are not float64 with a number for each feature")
    return rows


def _check_mixed(rows: NDArray[Any], schema: TableSchema) -> None:
    """Check that numbers are finite, and that categories are codes of the schema, or missing."""
    require(not np.isinf(rows).any(), "a row is not finite")
    for j, categories in schema.categories.items():
        codes = rows[:, j][~np.isnan(rows[:, j])]
        is_valid = (codes >= 0) & (codes < len(categories.values)) & (codes == np.floor(codes))
        require(is_valid.all(), "a row has an unknown category code")


def _read_gower(stored: Stored, rows: NDArray[Any], schema: TableSchema) -> GowerColumns:
    weights = stored.arrays("", ["column_weights"])["column_weights"]
    fits = weights.dtype == np.float64 and weights.shape == (schema.n_features,)
    require(fits, "the number of weights is not that of the columns")
    return GowerColumns.learn(rows, schema, {"w": weights})


def _read_target(
    kind: type[Outputs] | None, stored: Stored, n_rows: int
) -> tuple[Outputs | None, NDArray[Any] | None]:
    listed = stored.field("outputs")
    require((listed is None) == (kind is None), "the outputs do not match the estimator")
    if kind is None:
        return None, None
    outputs = read_outputs(kind, listed)
    target = stored.arrays("", ["target"])["target"]
    check = _check_classes if isinstance(outputs, ClassOutputs) else _check_numbers
    check(target, n_rows, outputs)
    return outputs, target


def _check_classes(target: NDArray[Any], n_rows: int, outputs: Any) -> None:
    n_classes = [len(of_output) for of_output in outputs.classes]
    fits = target.dtype == np.int64 and target.shape == (n_rows, len(n_classes))
    require(fits, "the target does not have a class for each row")
    require(((target >= 0) & (target < n_classes)).all(), "a class index is out of range")


def _check_numbers(target: NDArray[Any], n_rows: int, outputs: Any) -> None:
    fits = target.dtype == np.float64 and target.shape == (n_rows, outputs.n_outputs)
    require(fits and np.isfinite(target).all(), "a target is missing or not finite")
