"""One call of `fit`: arguments → classes → base models → model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from hedgerow._boosting import GradientBoostingClassifier
from hedgerow._data.pass_through import learn_columns, take_rows
from hedgerow._data.target import read_classification_target, read_weights, rows_with_weight
from hedgerow._decisions.codes import code_matrix
from hedgerow._decisions.model import CodedModel, DecisionModel
from hedgerow._estimator import Estimator, seed_nested, seed_of
from hedgerow._types import Attributes, Floats
from hedgerow._warning import deduplicate_warnings
from hedgerow.exceptions import ParameterError

MAX_SEED = np.iinfo(np.int32).max


def base_of(estimator: Estimator) -> Any:
    """Return the base estimator."""
    return GradientBoostingClassifier() if estimator.estimator is None else estimator.estimator


def fit_code(estimator: Estimator, X: Any, y: Any, sample_weight: Any) -> Attributes:
    """Fit a clone of the base estimator to each column of the code."""
    base = _checked_base(estimator, sample_weight)
    X, columns, classes, index, weights = _read(X, y, sample_weight)
    seed = seed_of(estimator.random_state)
    code = code_matrix(estimator.code, len(classes), estimator.n_columns, seed)
    with deduplicate_warnings():  # not in every column
        models = [
            _fit_column(base, X, code[index, column], weights, [seed, column])
            for column in range(code.shape[1])
        ]
    return columns | _class_attributes(classes) | {"_model": CodedModel(code, models, classes)}


def fit_decision(estimator: Estimator, X: Any, y: Any, sample_weight: Any) -> Attributes:
    """Fit a clone of the base estimator, and read the rule."""
    base = _checked_base(estimator, sample_weight)
    if not hasattr(base, "predict_proba"):
        raise ParameterError(
            f"estimator={type(base).__name__} is not allowed here; it must have predict_proba."
        )
    X, columns, classes, index, weights = _read(X, y, sample_weight)
    rule = read_rule(estimator, classes)
    model = _fit(base, X, classes[index], weights, [seed_of(estimator.random_state), 0])
    return columns | _class_attributes(classes) | {"_model": DecisionModel(model, classes, *rule)}


def read_rule(
    estimator: Estimator, classes: NDArray[Any]
) -> tuple[Floats | None, float | None, int]:
    """Return costs, threshold and the index of the positive class."""
    threshold, costs = estimator.decision_threshold, estimator.cost_matrix
    if threshold is not None and costs is not None:
        raise ParameterError("pass decision_threshold or cost_matrix, not both.")
    if threshold is not None and len(classes) != 2:
        raise ParameterError(
            f"decision_threshold={threshold!r} is for two classes, but y has {len(classes)}. Use "
            "cost_matrix."
        )
    labels = classes.tolist()
    if estimator.pos_label is not None and estimator.pos_label not in labels:
        raise ParameterError(
            f"pos_label={estimator.pos_label!r} is not allowed; it must be one of {labels}."
        )
    positive = len(labels) - 1 if estimator.pos_label is None else labels.index(estimator.pos_label)
    return (
        None if costs is None else _read_costs(costs, len(classes)),
        None if threshold is None else float(threshold),
        positive,
    )


def _read_costs(cost_matrix: Any, n_classes: int) -> Floats:
    costs = np.asarray(cost_matrix, np.float64)
    if costs.shape != (n_classes, n_classes):
        raise ParameterError(
            f"cost_matrix has shape {costs.shape}, but y has {n_classes} classes; it must be "
            f"{(n_classes, n_classes)}."
        )
    if not np.isfinite(costs).all():
        raise ParameterError("cost_matrix has entries that are NaN or infinite.")
    return costs


def _checked_base(estimator: Estimator, sample_weight: Any) -> Any:
    base = base_of(estimator)
    if not is_classifier(base):
        raise ParameterError(
            f"estimator={type(base).__name__} is not allowed here; it must be a classifier."
        )
    if sample_weight is not None and not has_fit_parameter(base, "sample_weight"):
        raise ParameterError(
            f"estimator={type(base).__name__} does not support sample_weight in fit, but "
            "sample_weight was passed."
        )
    return base


def _read(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Attributes, Any, Any, Floats | None]:
    X, columns = learn_columns(X)
    classes, index = read_classification_target(y, X.shape[0])
    weights = read_weights(sample_weight, X.shape[0])
    rows = rows_with_weight(weights)
    # Without one of the classes, a base estimator would have no columns for it.
    if rows is not None and weights is not None and len(np.unique(index[rows])) == len(classes):
        X, index, weights = take_rows(X, rows), index[rows], weights[rows]
    return X, columns, classes, index.astype(np.intp), weights


def _class_attributes(classes: NDArray[Any]) -> Attributes:
    return {"classes_": classes, "n_classes_": len(classes)}


def _fit_column(
    base: Any, X: Any, side: NDArray[np.int8], weights: Floats | None, seed: list[int]
) -> Any:
    """Fit a clone to the rows of a column, as classes 0 and 1."""
    rows = np.flatnonzero(side)
    some = X if len(rows) == len(side) else take_rows(X, rows)
    return _fit(
        base,
        some,
        (side[rows] > 0).astype(np.int64),
        None if weights is None else weights[rows],
        seed,
    )


def _fit(base: Any, X: Any, y: Any, weights: Floats | None, seed: list[int]) -> Any:
    model = clone(base)
    seed_nested(model, np.random.RandomState(seed), MAX_SEED)
    return model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
