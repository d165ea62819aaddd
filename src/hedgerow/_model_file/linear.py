"""Linear machines ↔ a model file: their weights, and how good they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow._estimator import column_attributes
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import (
    Stored,
    check_array,
    read_some_classes,
    require,
    with_prefix,
    write_classes,
)
from hedgerow._params import MOST
from hedgerow._svm.linear.estimators import LinearModel, LinearSVC

# One number for each problem that was solved.
_CERTIFICATE = ("objective_", "duality_gap_")


def write(estimator: Any) -> tuple[Document, Arrays]:
    """Return what a fit has learned."""
    model: LinearModel = estimator._fitted_model()  # noqa: SLF001
    document = {
        "schema": model.schema.to_dict(),
        "classes": None if model.classes is None else write_classes(model.classes),
        "n_iter": estimator.n_iter_,
    }
    arrays = with_prefix("machine.", {"coef": model.coef, "intercept": model.intercept})
    return document, arrays | {name: getattr(estimator, name) for name in _CERTIFICATE}


def read(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    schema = stored.schema()
    require(not schema.categories, "a linear machine has categories")
    is_classifier = issubclass(kind, LinearSVC)
    classes = read_some_classes(stored.field("classes"), is_classifier=is_classifier)
    coef, intercept = stored.arrays("machine.", ("coef", "intercept")).values()
    n_machines = 1 if classes is None or len(classes) == 2 else len(classes)
    check_array(coef, (n_machines, schema.n_features), "coef")
    check_array(intercept, (n_machines,), "intercept")
    require(np.isfinite(coef).all() and np.isfinite(intercept).all(), "a weight is not finite")
    model = LinearModel(schema, coef, intercept, classes)
    n_iter = stored.field("n_iter")
    require(type(n_iter) is int and 1 <= n_iter <= MOST, "n_iter is not a number of iterations")
    attributes = column_attributes(schema) | _read_certificate(stored, n_machines)
    attributes |= {"_model": model, "intercept_": intercept, "n_iter_": n_iter}
    if classes is None:
        return attributes | {"coef_": coef[0]}
    return attributes | {"coef_": coef, "classes_": classes}


def _read_certificate(stored: Stored, n_machines: int) -> Arrays:
    certificate = stored.arrays("", _CERTIFICATE)
    # Crammer and Singer's machines are the solution of one problem.
    n_problems = 1 if certificate["objective_"].shape == (1,) else n_machines
    for name, array in certificate.items():
        check_array(array, (n_problems,), name)
        require((array >= 0.0).all(), f"{name} is negative or NaN")
    return certificate
