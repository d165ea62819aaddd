"""`init_estimator`: an estimator whose predictions are the scores before the first round, F₀.

It is fitted to the training set, and predicts as any estimator does: means, or probabilities of
classes. The link function converts these to scores, such as logarithms or log-odds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import _num_samples, has_fit_parameter

from hedgerow._data.target import Classes
from hedgerow._links import Link, scores_of_numbers, scores_of_probabilities
from hedgerow._types import Floats, SklearnEstimator
from hedgerow.exceptions import ParameterError

# Predictions are clipped to at least this, and probabilities to at most 1 minus it.
LEAST = 1e-15


def require_initial(
    estimator: object, link: Link, classes: Classes | None, *, is_soft: bool
) -> None:
    """Refuse an estimator that cannot predict what the loss needs."""
    name = type(estimator).__name__
    if isinstance(classes, list) or is_soft:
        raise ParameterError(
            f"init_estimator={name}: an initial estimator cannot be used if y is multilabel or "
            "contains probabilities. Pass its scores as offset=…, in fit and in predict."
        )
    if classes is None:
        if link == "softmax":
            raise ParameterError(f"init_estimator={name} does not predict numbers that sum to 1.")
        return
    method = "decision_function" if link == "margin" else "predict_proba"
    if not hasattr(estimator, method):
        raise ParameterError(
            f"init_estimator={name} has no {method}, which a classifier with this loss needs."
        )


def fit_initial(
    estimator: SklearnEstimator, X: Any, y: Any, sample_weight: Floats | None, seed: int
) -> Any:
    """Return a clone that is fitted; random states that are None get the seed of the fit."""
    if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ParameterError(
            f"init_estimator={type(estimator).__name__}: its fit does not accept sample_weight, "
            "which was passed. Fit it yourself, and pass its scores as offset=…, in fit and in "
            "predict."
        )
    fitted = clone(estimator)
    parameters = fitted.get_params(deep=True)
    random = [name for name in parameters if name.rpartition("__")[2] == "random_state"]
    fitted.set_params(**{name: seed % 2**32 for name in random if parameters[name] is None})
    options = {} if sample_weight is None else {"sample_weight": sample_weight}
    with _named(estimator):
        return fitted.fit(X, y, **options)


def initial_scores(
    estimator: Any, X: Any, link: Link, classes: Classes | None, n_outputs: int
) -> Floats:
    """Return the scores of rows, (n_rows, n_outputs), from what a fitted estimator predicts."""
    n_rows = int(_num_samples(X))
    if n_rows == 0:  # not every estimator accepts an empty table
        return np.empty((0, n_outputs))
    with _named(estimator):
        if classes is None:
            scores = scores_of_numbers(_numbers(estimator.predict(X)), link, LEAST)
        elif link == "margin":
            scores = _numbers(estimator.decision_function(X))
        else:
            scores = scores_of_probabilities(_probabilities(estimator, X, classes), link, LEAST)
    scores = scores.reshape(n_rows, -1) if scores.ndim == 1 else scores
    if link == "sorted" and scores.shape[1] == 1:  # one prediction for all quantiles
        scores = np.tile(scores, (1, n_outputs))
    has_shape = scores.shape == (n_rows, n_outputs)
    if not has_shape or not np.isfinite(scores).all():
        problem = "some are not finite" if has_shape else f"their shape is {scores.shape}"
        raise ParameterError(
            f"init_estimator={type(estimator).__name__}: its predictions must be finite numbers of "
            f"shape ({n_rows}, {n_outputs}), but {problem}."
        )
    return scores


def require_positive(estimator: object, scores: Floats, link: Link) -> None:
    """Refuse a mean of 0 or less for a log link, which was clipped, in the training set."""
    if link == "log" and scores.min(initial=0.0) <= scores_of_numbers(np.zeros(1), link, LEAST)[0]:
        raise ParameterError(
            f"init_estimator={type(estimator).__name__} predicts numbers that are not positive, "
            "but the loss needs their logarithm. Use an estimator with a log link, such as "
            "PoissonRegressor."
        )


def _numbers(prediction: Any) -> Floats:
    return np.array(prediction, np.float64)


def _probabilities(estimator: Any, X: Any, classes: Classes) -> Floats:
    """Return a column for each class, in the order of the classes of y; 0 for unknown classes."""
    own, known = np.asarray(estimator.classes_).tolist(), np.asarray(classes).tolist()
    if not set(own) <= set(known):
        raise ParameterError(
            f"init_estimator={type(estimator).__name__} has the classes {own}, but those "
            f"of y are {known}."
        )
    p = np.zeros((int(_num_samples(X)), len(known)))
    p[:, [known.index(label) for label in own]] = _numbers(estimator.predict_proba(X))
    return p


@contextmanager
def _named(estimator: object) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"This was init_estimator={type(estimator).__name__}.")
        raise
