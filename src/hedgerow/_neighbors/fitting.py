"""One call of `fit`: arguments → training rows → search index → model."""

from __future__ import annotations

from typing import Any

import scipy.sparse

from hedgerow._estimator import column_attributes
from hedgerow._neighbors.gower import GowerColumns
from hedgerow._neighbors.indexes import prefers_tree
from hedgerow._neighbors.metrics import DistanceMetric, resolve_metric
from hedgerow._neighbors.model import NeighborsModel
from hedgerow._neighbors.training_rows import read_training_rows
from hedgerow._threads import effective_n_jobs
from hedgerow._tree.outputs import Outputs
from hedgerow.exceptions import DataError, ParameterError


def fit_neighbors(estimator: Any, X: Any, y: Any, outputs: type[Outputs] | None) -> dict[str, Any]:
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
