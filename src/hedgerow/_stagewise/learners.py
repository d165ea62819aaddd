"""Base learners of stagewise boosting: any scikit-learn estimator, fitted to a round's response.

A regressor is fitted to the response by least squares, or by its own loss. A classifier is fitted
to the sign of the response, weighted by its absolute value: it seeks the function G with values ±1
that minimises Σ g G(x), where g is the gradient. For the exponential loss this is AdaBoost's
weighted fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils import InputTags, get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _num_samples, has_fit_parameter

from hedgerow._arithmetic import mean_of
from hedgerow._estimator import seed_nested
from hedgerow._tree import DecisionTreeRegressor
from hedgerow._types import Floats, SklearnEstimator
from hedgerow.exceptions import ParameterError

Leaves = NDArray[np.intp]


def default_learner(search: str = "gradient") -> Any:
    """Return the default learner: one small regression tree, or a stump for a joint search."""
    return DecisionTreeRegressor(max_leaves=2 if search == "joint" else 8)


@dataclass(frozen=True)
class BaseLearner:
    """The estimator that every round fits a clone of."""

    prototype: Any

    @property
    def name(self) -> str:
        """The class of the learner, for messages."""
        return type(self.prototype).__name__

    @property
    def predicts_signs(self) -> bool:
        """Whether it is a classifier, which is fitted to signs."""
        return hasattr(self.prototype, "__sklearn_tags__") and is_classifier(self.prototype)

    @property
    def has_leaves(self) -> bool:
        """Whether it is a single tree with `apply`."""
        return hasattr(self.prototype, "apply") and getattr(self.prototype, "n_estimators", 1) == 1

    def fit(self, X: Any, response: Floats, weights: Floats | None, seed: int) -> Any:
        """Return a copy fitted to the response."""
        if not self.predicts_signs:
            return fitted_copy(self.prototype, X, response, weights, seed)
        size = np.abs(response) if weights is None else weights * np.abs(response)
        signs = np.where(response < 0.0, -1, 1)
        return fitted_copy(self.prototype, X, signs, size / mean_of(size), seed)


def fitted_copy(
    estimator: SklearnEstimator, X: Any, target: NDArray[Any], weights: Floats | None, seed: int
) -> Any:
    """Return a copy of an estimator, seeded and fitted, with weights if there are any."""
    copy = clone(estimator)
    seed_nested(copy, np.random.RandomState(seed), 2**31 - 1)
    return copy.fit(X, target) if weights is None else copy.fit(X, target, sample_weight=weights)


def require_weights(estimator: SklearnEstimator, parameter: str, why: str) -> None:
    """Raise unless the estimator's fit takes sample_weight."""
    if not _takes_weights(estimator):
        raise ParameterError(
            f"{parameter}={type(estimator).__name__} does not support sample_weight in fit, but "
            f"{why}."
        )


def _takes_weights(estimator: SklearnEstimator) -> bool:
    if has_fit_parameter(estimator, "sample_weight"):
        return True
    if not sklearn.get_config()["enable_metadata_routing"]:
        return False
    return bool(get_routing_for_object(estimator).consumes("fit", ["sample_weight"]))


def output_of(learner: Any, X: Any) -> Floats:
    """Return what a fitted learner predicts, a finite number for each row."""
    if _num_samples(X) == 0:  # not every estimator accepts an empty table
        return np.empty(0)
    output = np.asarray(learner.predict(X), dtype=np.float64)
    if output.ndim == 2 and output.shape[1] == 1:
        output = output[:, 0]
    if output.ndim != 1 or not np.isfinite(output).all():
        raise ParameterError(
            f"estimator={type(learner).__name__} must predict one finite number for each row."
        )
    return output


def leaves_of(learner: Any, X: Any) -> Leaves:
    """Return the number of the leaf in which each row ends."""
    if _num_samples(X) == 0:
        return np.empty(0, np.intp)
    leaves = np.asarray(learner.apply(X))
    if leaves.ndim == 2 and leaves.shape[1] == 1:
        leaves = leaves[:, 0]
    if leaves.ndim != 1:
        raise ParameterError(
            f"estimator={type(learner).__name__} is not one tree: apply(X) returns shape "
            f"{leaves.shape}. Use step='line_search'."
        )
    return leaves.astype(np.intp)


def adopt_input_tags(tags: InputTags, learner: Any) -> None:
    """Set the input tags of an estimator to those of its base learner."""
    if not hasattr(learner, "__sklearn_tags__"):
        return
    of_learner = get_tags(learner).input_tags
    for name in ("sparse", "categorical", "string", "positive_only", "allow_nan"):
        setattr(tags, name, getattr(of_learner, name))
