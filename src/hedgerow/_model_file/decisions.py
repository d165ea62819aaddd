"""Output codes and decisions ↔ a model file: base models, and the code or the rule."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._contract import internals
from hedgerow._decisions.model import CodedModel, DecisionModel
from hedgerow._estimator import Estimator
from hedgerow._model_file.base_models import read_base_models, require_classes, require_columns
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import (
    Stored,
    is_number,
    read_columns,
    read_some_classes,
    require,
    write_classes,
    write_columns,
    write_list,
)

_SIDES = np.array([0, 1])


def write_code(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted `OutputCodeClassifier`."""
    model: CodedModel = internals(estimator).model()
    document, arrays = _write(estimator, model.classes, list(model.base_models))
    return document, arrays | {"code": model.code.astype(np.int64)}


def write_decision(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted `DecisionClassifier`."""
    model: DecisionModel = internals(estimator).model()
    document, arrays = _write(estimator, model.classes, [model.base_model])
    document |= {
        "threshold": model.threshold,
        "positive": model.positive,
        "has_costs": model.costs is not None,
    }
    return document, arrays if model.costs is None else arrays | {"costs": model.costs}


def _write(
    estimator: Estimator, classes: NDArray[Any], base_models: list[Any]
) -> tuple[Document, Arrays]:
    from hedgerow._model_file.contents import write_estimator

    document, arrays = write_list("members", [write_estimator(model) for model in base_models])
    return document | write_columns(estimator) | {"classes": write_classes(classes)}, arrays


def read_code(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted `OutputCodeClassifier`."""
    attributes, classes, base_models = _read(kind, stored)
    code = stored.array("code", (len(classes), len(base_models)), np.int64)
    has_sides = (code == 1).any(axis=0) & (code == -1).any(axis=0)
    is_code = np.isin(code, (-1, 0, 1)).all() and has_sides.all() and code.any(axis=1).all()
    require(is_code and len(base_models) > 0, "the code does not divide the classes")
    for base_model in base_models:
        require_columns(base_model, attributes)
        require_classes(base_model, [_SIDES])
    return attributes | {"_model": CodedModel(code.astype(np.int8), base_models, classes)}


def read_decision(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted `DecisionClassifier`."""
    attributes, classes, base_models = _read(kind, stored)
    require(len(base_models) == 1, "there is not one base model")
    require_columns(base_models[0], attributes)
    require_classes(base_models[0], [classes], shares=True)
    same = np.array_equal(base_models[0].classes_, classes)
    require(same, "the base model has different classes")
    threshold, positive = stored.field("threshold"), stored.field("positive")
    is_threshold = threshold is None or (is_number(threshold) and 0.0 <= threshold <= 1.0)
    require(is_threshold, "the threshold is not a probability")
    require(threshold is None or len(classes) == 2, "a threshold is for two classes")
    is_index = type(positive) is int and 0 <= positive < len(classes)
    require(is_index, "the positive class does not exist")
    costs = None
    if stored.flag("has_costs"):
        costs = stored.array("costs", (len(classes), len(classes)))
        require(np.isfinite(costs).all(), "the costs are not finite")
    threshold = None if threshold is None else float(threshold)
    model = DecisionModel(base_models[0], classes, costs, threshold, positive)
    return attributes | {"_model": model}


def _read(kind: type[Any], stored: Stored) -> tuple[dict[str, Any], NDArray[Any], list[Any]]:
    """Return the attributes of columns and classes, the classes, and the base models."""
    attributes = read_columns(stored)
    classes = read_some_classes(stored.field("classes"), kind)
    require(classes is not None and len(classes) >= 2, "there are no classes")
    assert classes is not None
    attributes |= {"classes_": classes, "n_classes_": len(classes)}
    return attributes, classes, read_base_models(stored, "members")
