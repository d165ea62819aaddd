"""Bagging ↔ a model file: a forest, or base models and the samples that they were fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from hedgerow._bagging.base_models import BaggedModel
from hedgerow._bagging.sampling import BaggingSamples
from hedgerow._contract import internals
from hedgerow._data.outputs import ClassOutputs
from hedgerow._estimator import Estimator
from hedgerow._model_file import trees
from hedgerow._model_file.base_models import (
    read_base_models,
    require_classes,
    require_columns,
    require_numbers,
)
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import (
    Stored,
    finite_or_none,
    outputs_kind,
    read_columns,
    read_outputs,
    require,
    write_columns,
    write_list,
    write_outputs,
)
from hedgerow._model_file.trees import read_samples, write_sampled_rows, write_samples


def write(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted model."""
    from hedgerow._model_file.contents import write_parameter

    model = internals(estimator).model()
    is_forest = not isinstance(model, BaggedModel)
    learned, arrays = trees.write_forest(estimator) if is_forest else _write_base_models(estimator)
    base = write_parameter(estimator.estimator_)
    return {"is_forest": is_forest, "base": base} | learned, arrays


def _write_base_models(estimator: Estimator) -> tuple[Document, Arrays]:
    from hedgerow._model_file.contents import write_estimator

    model: BaggedModel = internals(estimator).model()
    sampling = model.sampling
    document, arrays = write_list(
        "members", [write_estimator(base_model) for base_model in model.estimators]
    )
    score = vars(estimator).get("oob_score_")
    document |= write_columns(estimator) | {
        "outputs": write_outputs(model.outputs),
        "rows": write_samples(sampling.rows, sampling.n_rows),
        "columns": write_samples(sampling.columns, sampling.n_features),
        "is_weighted": sampling.weights is not None,
        "are_given": sampling.fixed is not None,
        "oob_score": finite_or_none(score),
    }
    arrays |= write_sampled_rows(sampling.rows)
    if sampling.weights is not None:
        arrays["draws.weights"] = sampling.weights
    if sampling.fixed is not None:
        arrays |= {f"draws.{i}": rows.astype(np.int64) for i, rows in enumerate(sampling.fixed)}
    return document, arrays


def read(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    from hedgerow._model_file.contents import read_parameter

    base = read_parameter(stored.field("base"))
    is_forest = stored.flag("is_forest")
    fits = not is_forest or type(base) is kind._tree  # noqa: SLF001
    require(fits, "the trees of the forest are not those of the base estimator")
    require(isinstance(base, BaseEstimator), "the base estimator is missing")
    read_model = trees.read_forest if is_forest else _read_base_models
    attributes = read_model(kind, stored)
    if not is_forest:
        _check_base_models(attributes, type(base))
    return attributes | {"estimator_": base}


def _read_base_models(kind: type[Any], stored: Stored) -> dict[str, Any]:
    estimators = read_base_models(stored, "members")
    require(len(estimators) > 0, "there are no base models")
    outputs = read_outputs(outputs_kind(kind), stored.field("outputs"))
    attributes = read_columns(stored)
    rows, n_rows = read_samples(stored.field("rows"), stored, outputs)
    columns, n_features = read_samples(stored.field("columns"))
    require(n_features == attributes.get("n_features_in_"), "samples have different columns")
    weights = fixed = None
    if stored.flag("is_weighted"):
        weights = stored.arrays("draws.", ["weights"])["weights"]
        fits = weights.dtype == np.float64 and weights.shape == (n_rows,)
        require(fits and np.isfinite(weights).all(), "a weight is missing or not finite")
        require((weights >= 0).all() and weights.any(), "a weight is negative, or all are 0")
    if stored.flag("are_given"):
        listed = stored.arrays("draws.", [str(i) for i in range(len(estimators))])
        fixed = tuple(_read_rows(array, n_rows) for array in listed.values())
    sampling = BaggingSamples(n_rows, n_features, rows, columns, weights, fixed)
    attributes |= outputs.attributes() | {"_model": BaggedModel(estimators, outputs, sampling)}
    score = stored.score("oob_score")
    return attributes if score is None else attributes | {"oob_score_": score}


def _check_base_models(attributes: dict[str, Any], kind: type[Any]) -> None:
    """Check the base models: their type, columns and outputs."""
    model: BaggedModel = attributes["_model"]
    sampling, outputs = model.sampling, model.outputs
    for index, base_model in enumerate(model.estimators):
        require(type(base_model) is kind, f"a {type(base_model).__name__} is not a base model")
        if sampling.takes_all_columns or "feature_names_in_" in attributes:
            columns = None if sampling.takes_all_columns else sampling.features(index)
            require_columns(base_model, attributes, columns)
        else:
            require_columns(base_model, {"n_features_in_": sampling.columns.n_draws})
        if isinstance(outputs, ClassOutputs):
            require_classes(base_model, outputs.classes)
        else:
            require_numbers(base_model, outputs.n_outputs)


def _read_rows(array: NDArray[Any], n_rows: int) -> NDArray[np.intp]:
    require(array.dtype == np.int64 and array.ndim == 1 and len(array) > 0, "a sample has no rows")
    require(((array >= 0) & (array < n_rows)).all(), "a sample has a row that is out of range")
    return array.astype(np.intp)
