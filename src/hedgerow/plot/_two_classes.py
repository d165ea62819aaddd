"""Scores of rows of two classes, for curves over thresholds, and the operating point.

The expected cost of a threshold follows from the costs of a false positive and a false negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from hedgerow._contract import Predictor
from hedgerow._curves import ThresholdCounts
from hedgerow._data.sparse import sound
from hedgerow._data.target import (
    read_classification_target,
    read_fitted_classes,
    read_regression_target,
    read_weights,
)
from hedgerow._params import NOT_NEGATIVE, NOTHING, Number, Parameter, any_of
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._display import number

_COSTS = tuple(
    Parameter(name, None, any_of(NOT_NEGATIVE, NOTHING), "")
    for name in ("cost_false_positive", "cost_false_negative")
)
_THRESHOLD = Parameter("threshold", None, any_of(Number(), NOTHING), "")


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows with their class, score and weight, and the name of the positive class."""

    is_positive: NDArray[np.bool_]
    score: Floats
    weight: Floats
    positive: str
    is_probability: bool
    name: str | None = None


@dataclass(frozen=True)
class OperatingPoint:
    """The result of one threshold: rows whose score reaches it are predicted positive.

    Attributes
    ----------
    threshold : float
        The threshold; infinite if no row is predicted positive.
    fpr, tpr : float
        False and true positive rate; the latter is also the recall.
    precision : float
        The precision; 1 if no row is predicted positive.
    cost : float or None
        Expected cost per row, if there are costs.
    """

    threshold: float
    fpr: float
    tpr: float
    precision: float
    cost: float | None

    def text(self) -> str:
        """Return the threshold and its cost as text."""
        at = "none positive" if np.isinf(self.threshold) else f"threshold {number(self.threshold)}"
        return at if self.cost is None else f"{at}, cost {number(self.cost)} per row"


def scores_of_estimator(
    estimator: Predictor, X: Any, y: Any, sample_weight: Any, pos_label: Any
) -> Scored:
    """Return the probabilities of a binary classifier, or else its decision function."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise ParameterError(f"estimator={estimator!r} is not allowed; it must be {_ACCEPTED}.")
    check_is_fitted(estimator)
    classes: Any = getattr(estimator, "classes_", None)
    if not is_classifier(estimator) or isinstance(classes, list) or len(classes) != 2:
        raise ParameterError(f"estimator: this {type(estimator).__name__} is not {_ACCEPTED}.")
    positive = _positive_index(classes, pos_label)
    X = sound(X)
    is_probability = hasattr(estimator, "predict_proba")
    if hasattr(estimator, "predict_proba"):
        score = np.asarray(estimator.predict_proba(X), np.float64)[:, positive]
    elif hasattr(estimator, "decision_function"):
        score = np.asarray(estimator.decision_function(X), np.float64) * (2 * positive - 1)
    else:
        raise ParameterError(
            f"estimator: this {type(estimator).__name__} has neither predict_proba nor "
            "decision_function."
        )
    name = type(estimator).__name__
    truth = read_fitted_classes(y, np.asarray(classes), len(score), estimator_name=name)
    weight = _weights(sample_weight, len(score))
    label = str(classes[positive])
    return _both(Scored(truth == positive, score, weight, label, is_probability, name))


def scores_of_arrays(
    y_true: Any, y_score: Any, sample_weight: Any, pos_label: Any, *, probabilities: bool = False
) -> Scored:
    """Read classes and scores."""
    score = read_regression_target(y_score, estimator_name="y_score")
    classes, truth = read_classification_target(y_true, len(score), estimator_name="a curve")
    if len(classes) != 2:
        raise DataError(f"y_true has {len(classes)} classes, but there must be two.")
    within = bool(score.min() >= 0.0 and score.max() <= 1.0)
    if probabilities and not within:
        raise DataError("y_prob has numbers outside of [0, 1], which are not probabilities.")
    positive = _positive_index(classes, pos_label)
    weight = _weights(sample_weight, len(score))
    return _both(Scored(truth == positive, score, weight, str(classes[positive]), within))


_ACCEPTED = "a fitted classifier of two classes"


def _both(scored: Scored) -> Scored:
    """Raise unless both classes have rows with positive weight."""
    for flag, what in ((True, "positive"), (False, "negative")):
        if not scored.weight[scored.is_positive == flag].sum() > 0.0:
            raise DataError(f"y has no {what} row; a curve needs both classes (pos_label).")
    return scored


def _weights(sample_weight: Any, n_rows: int) -> Floats:
    weight = read_weights(sample_weight, n_rows)
    return np.ones(n_rows) if weight is None else weight


def _positive_index(classes: Any, pos_label: Any) -> int:
    labels = np.asarray(classes).tolist()
    if pos_label is None:
        return 1
    if pos_label not in labels:
        raise ParameterError(f"pos_label={pos_label!r} is not allowed; it must be one of {labels}.")
    return labels.index(pos_label)


def count(scored: Scored) -> ThresholdCounts:
    """Count the rows predicted positive at each distinct score."""
    return ThresholdCounts.of(scored.is_positive, scored.score, scored.weight)


def _point(counts: ThresholdCounts, place: int, cost: Floats | None) -> OperatingPoint:
    """Return the result of one of the thresholds."""
    return OperatingPoint(
        threshold=float(counts.thresholds[place]),
        fpr=float(counts.fpr[place]),
        tpr=float(counts.tpr[place]),
        precision=float(counts.precision[place]),
        cost=None if cost is None else float(cost[place]),
    )


@dataclass(frozen=True)
class Operation:
    """The operating point, if there is one, and that of `predict` for comparison."""

    chosen: OperatingPoint | None = None
    other: OperatingPoint | None = None
    why: str = ""


def operation(
    counts: ThresholdCounts,
    threshold: float | None,
    cost_false_positive: float | None,
    cost_false_negative: float | None,
    default_threshold: float,
) -> Operation:
    """Return the operating point of a threshold, or that of least cost.

    `default_threshold` is that of `predict`, to compare the least cost with.
    """
    costs = cost_false_positive, cost_false_negative
    for parameter, value in zip(_COSTS, costs, strict=True):
        parameter.check(value)
    _THRESHOLD.check(threshold)
    if (cost_false_positive is None) != (cost_false_negative is None):
        raise ParameterError("pass both cost_false_positive and cost_false_negative, or neither.")
    cost = None
    if cost_false_positive is not None and cost_false_negative is not None:
        cost = counts.cost(cost_false_positive, cost_false_negative)
    if threshold is not None:
        return Operation(_point(counts, _place(counts, threshold), cost), None, "chosen")
    if cost is None:
        return Operation()
    other = _point(counts, _place(counts, default_threshold), cost)
    other = OperatingPoint(default_threshold, other.fpr, other.tpr, other.precision, other.cost)
    return Operation(_point(counts, int(cost.argmin()), cost), other, "least cost")


def _place(counts: ThresholdCounts, threshold: float) -> int:
    """Return the index of the last threshold that is not below this one."""
    return int(np.count_nonzero(counts.thresholds >= threshold)) - 1
