"""Out-of-fold predictions: each row is predicted by a model that was not trained on it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_outlier_detector

from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._types import Indices
from hedgerow._validation.fold_data import FoldData
from hedgerow.exceptions import DataError, ParameterError

_OF_SCORES = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "predict_interval"),
    *("staged_predict", "staged_predict_proba"),
)


def chosen_method(method: str, model: Any, data: FoldData) -> str:
    """Return the method that "auto" selects for a fitted model; check that the model has it."""
    if method != "auto":
        if not hasattr(model, method):
            raise ParameterError(f"method={method!r}: {type(model).__name__} has no such method.")
        return method
    methods = ["predict"]
    is_one_array = isinstance(model, GradientBoosting) or not data.has_several_targets
    if is_classifier(model) and is_one_array:
        methods = ["predict_proba", "decision_function", "predict"]
    if is_outlier_detector(model):
        methods = ["decision_function", "predict"]
    return next(name for name in [*methods, "predict_proba"] if hasattr(model, name))


def predict(model: Any, X: Any, method: str, classes: Any) -> NDArray[Any]:
    """Return a fold's predictions, with a column for each class of all folds."""
    prediction = getattr(model, method)(X)
    if isinstance(prediction, list):
        raise ParameterError(
            f"method={method!r} of {type(model).__name__} returns an array for each column of y; "
            "set method='predict'."
        )
    is_complete = not isinstance(classes, np.ndarray) or len(model.classes_) == len(classes)
    if method == "predict" or is_complete:
        return np.asarray(prediction)
    if method != "predict_proba":
        raise DataError(
            f"{method} of a fold has no column for {_missing(model, classes)!r}, a class that its "
            "training set lacks. Use a stratified splitter, or predict_proba."
        )
    full = np.zeros((len(prediction), len(classes)))
    full[:, np.searchsorted(classes, model.classes_)] = prediction
    return full


def _missing(model: Any, classes: NDArray[Any]) -> Any:
    return np.setdiff1d(classes, model.classes_).tolist()[0]


def with_offset(model: Any, offset: Any) -> Any:
    """Return a fitted model whose predictions add an offset, if there is one."""
    if offset is None:
        return model
    if not isinstance(model, GradientBoosting):
        raise ParameterError(
            f"offset: predictions of {type(model).__name__} do not accept it; those of gradient "
            "boosting do."
        )
    return WithOffset(model, offset)


class WithOffset:
    """A fitted model whose predictions for certain rows add their offset, as scorers call it."""

    def __init__(self, model: Any, offset: Any) -> None:
        self._fitted, self._offset = model, offset

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._fitted, name)
        if name not in _OF_SCORES:
            return found
        return wraps(found)(partial(found, offset=self._offset))

    def __hedgerow__(self) -> Any:
        """Return what other packages of the library may use."""
        internals = self._fitted.__hedgerow__()
        return replace(internals, scores=partial(internals.scores, offset=self._offset))


class OutOfFold:
    """Predictions for all rows so far. Numbers are averaged; classes are predicted once at most."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.times = np.zeros(n_rows, np.intp)
        self.total: NDArray[Any] | None = None

    def add(self, rows: Indices, prediction: NDArray[Any]) -> None:
        """Add the predictions of a fold for its holdout."""
        if self.total is None:
            shape, is_number = (self.n_rows, *prediction.shape[1:]), prediction.dtype.kind == "f"
            self.total = np.zeros(shape) if is_number else np.full(shape, None, object)
        are_numbers = self.total.dtype != object
        if not are_numbers and self.times[rows].any():
            raise ParameterError(
                "With this cv, some rows are in more than one test set, but predicted classes "
                "cannot be averaged. Set method='predict_proba' or 'decision_function', or use a "
                "cv that tests each row once."
            )
        if are_numbers:
            self.total[rows] += prediction
        else:
            self.total[rows] = prediction
        self.times[rows] += 1

    def result(self) -> NDArray[Any]:
        """Return the predictions; NaN (None for classes) for rows without one."""
        assert self.total is not None
        if self.total.dtype == object:
            complete = self.times.all()
            return np.array(self.total.tolist()) if complete else self.total
        times = self.times.reshape(-1, *[1] * (self.total.ndim - 1))
        with np.errstate(invalid="ignore"):
            return self.total / times
