"""The models that a report accepts: those of this library, and others by their predictions alone.

What needs more than predictions (trees, SHAP values, the form) is left out for the others, unless
they are tree models of scikit-learn, which are converted.
"""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from hedgerow._contract import internals
from hedgerow._estimator import Estimator
from hedgerow._import import from_sklearn
from hedgerow._params import short_repr
from hedgerow.exceptions import ModelFileError, ParameterError
from hedgerow.explain._what_if import require_fitted


def reported_model(model: Any) -> Any:
    """Return a fitted model, the best one of a search; raise if there is none to report on."""
    fitted = require_fitted(model)
    if isinstance(fitted, Estimator):
        internals(fitted).model()
    elif not hasattr(fitted, "predict"):
        raise ParameterError(
            f"model={short_repr(model)} is not allowed; it must be a fitted model with `predict`."
        )
    return fitted


def with_trees(model: Any) -> Any:
    """Return a tree model of scikit-learn as one of this library; any other model as it is."""
    if isinstance(model, Estimator):
        return model
    try:
        return from_sklearn(model)
    except (ParameterError, ModelFileError):
        return model


def fitted_part(model: Any, part: str) -> Any:
    """Return a part of the fitted model of an estimator of this library, None if it has none."""
    is_ours = hasattr(model, "__hedgerow__")
    return getattr(internals(model).model(), part, None) if is_ours else None


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline; any other model as it is."""
    return model[-1] if isinstance(model, Pipeline) else model


def model_name(model: Any) -> str:
    """Return the name of a model's class, or those of the steps of a pipeline."""
    if isinstance(model, Pipeline):
        return " → ".join(type(step).__name__ for _, step in model.steps)
    return type(model).__name__


def why_no_shap(model: Any, error: Exception) -> str:
    """Return the reason why there are no SHAP values, for a reader of the page."""
    step = with_trees(last_step(model))
    if not (isinstance(step, Estimator) and internals(step).can_be_additive):
        return f"SHAP values are computed for tree models, and {model_name(model)} is not one."
    if isinstance(model, Pipeline):
        return (
            "SHAP values of a pipeline would be those of the columns that its last step gets: "
            "hr.explain.shap_values(pipeline[-1], pipeline[:-1].transform(X))."
        )
    return str(error)
