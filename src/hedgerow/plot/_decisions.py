"""What an estimator says of points: the class or number of each, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.utils.validation import check_is_fitted

from hedgerow._data.target import read_fitted_classes
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._machines import has_margins

METHODS = ("auto", "decision_function", "predict_proba", "predict")
# Where a response says that both classes are the same to it.
LEVELS = {"decision_function": 0.0, "predict_proba": 0.5}


@dataclass(frozen=True, eq=False)
class Decisions:
    """What an estimator says of points.

    `prediction` is each point's number, or its place among the classes. `response` is what
    `method` gave: the prediction; or how much the second of two classes is preferred; or, of more
    classes, the probability of the predicted one.
    """

    method: str
    classes: NDArray[Any] | None  # of a regressor there are none
    prediction: NDArray[Any]
    response: Floats


def require_drawable(estimator: Any) -> None:
    """Raise unless this is a fitted classifier, regressor or outlier detector of two columns."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise ParameterError(f"estimator={estimator!r} is not allowed; it must be {_ACCEPTED}.")
    check_is_fitted(estimator)
    is_known = is_classifier(estimator) or is_regressor(estimator) or is_outlier_detector(estimator)
    if not is_known or not hasattr(estimator, "predict"):
        raise ParameterError(f"estimator: {type(estimator).__name__} is not {_ACCEPTED}.")
    n_features = getattr(estimator, "n_features_in_", 2)
    if n_features != 2:
        raise DataError(
            f"estimator: this {type(estimator).__name__} was fitted to {n_features} columns, but a "
            "plane has two. Fit it to two columns."
        )
    if isinstance(getattr(estimator, "classes_", None), list):
        raise ParameterError(f"estimator: this {type(estimator).__name__} has several outputs.")


_ACCEPTED = "a fitted classifier, regressor or outlier detector"


def known_classes(estimator: Any) -> NDArray[Any] | None:
    """Return the classes that an estimator tells apart; None of a regressor."""
    if is_regressor(estimator):
        return None
    if is_outlier_detector(estimator):
        return np.array([-1, 1])
    classes: NDArray[Any] = np.asarray(estimator.classes_)
    return classes


def decisions(estimator: Any, X: Any, method: str) -> Decisions:
    """Ask an estimator about points; "auto" takes what can be drawn best."""
    classes = known_classes(estimator)
    prediction = _prediction(estimator, X, classes)
    if method == "auto":
        method = _best_method(estimator, X, classes, prediction)
    response = _response(estimator, X, method, classes, prediction)
    return Decisions(method, classes, prediction, response)


def agrees(response: Floats, prediction: NDArray[Any], method: str) -> bool:
    """Tell whether a response is above its level exactly where the second class is predicted."""
    return np.array_equal(response > LEVELS[method], prediction == 1)


def _prediction(estimator: Any, X: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    predicted = np.asarray(estimator.predict(X))
    if predicted.ndim != 1:
        raise ParameterError(f"estimator: this {type(estimator).__name__} has several outputs.")
    if classes is None:
        return predicted.astype(np.float64)
    return read_fitted_classes(predicted, classes, estimator_name=type(estimator).__name__)


def _best_method(
    estimator: Any, X: Any, classes: NDArray[Any] | None, prediction: NDArray[Any]
) -> str:
    """Choose a smooth response of two classes, if it says the same as the predictions do.

    A machine's f is taken in any case, for its margins.
    """
    if classes is None or len(classes) != 2:
        return "predict"
    if has_margins(estimator):
        return "decision_function"
    for method in LEVELS:
        if hasattr(estimator, method):
            response = _response(estimator, X, method, classes, prediction)
            if agrees(response, prediction, method):
                return method
    return "predict"


def _response(
    estimator: Any,
    X: Any,
    method: str,
    classes: NDArray[Any] | None,
    prediction: NDArray[Any],
) -> Floats:
    if method == "predict":
        return prediction.astype(np.float64)
    _require_method(estimator, method, classes)
    values = np.asarray(getattr(estimator, method)(X), np.float64)
    if method == "predict_proba":
        assert classes is not None
        return values[:, 1] if len(classes) == 2 else values[np.arange(len(values)), prediction]
    return values.reshape(len(prediction))


def _require_method(estimator: Any, method: str, classes: NDArray[Any] | None) -> None:
    name = type(estimator).__name__
    if classes is None or not hasattr(estimator, method):
        raise ParameterError(f"response_method={method!r}: this {name} has no {method}.")
    if method == "decision_function" and len(classes) != 2:
        raise ParameterError(
            f"response_method={method!r}: with {len(classes)} classes this {name} has more than "
            "one score for a row. Use 'predict' or 'predict_proba'."
        )
