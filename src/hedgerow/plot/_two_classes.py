"""Scores of rows of two classes, read from an estimator or from arrays, for curves over thresholds.

The threshold of a decision has a price: so much for each false alarm, so much for each miss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

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
    """Rows: whether each is positive, its score and its weight; and what positive is called."""

    is_positive: NDArray[np.bool_]
    score: Floats
    weight: Floats
    positive: str
    is_probability: bool
    name: str | None = None


@dataclass(frozen=True)
class OperatingPoint:
    """What deciding by one threshold comes to: rows whose score reaches it are called positive.

    Attributes
    ----------
    threshold : float
        The threshold; infinite if no row is called positive.
    fpr, tpr : float
        The part of the negative rows that is called positive, and that of the positive rows, which
        is also the recall.
    precision : float
        The part of the rows called positive that is; 1 if there are none.
    cost : float or None
        Expected cost per row, if costs were given.
    """

    threshold: float
    fpr: float
    tpr: float
    precision: float
    cost: float | None

    def text(self) -> str:
        """Return the threshold and what it costs, in words."""
        at = "none positive" if np.isinf(self.threshold) else f"threshold {number(self.threshold)}"
        return at if self.cost is None else f"{at}, cost {number(self.cost)} per row"


def scores_of_estimator(
    estimator: Any, X: Any, y: Any, sample_weight: Any, pos_label: Any
) -> Scored:
    """Ask a classifier of two classes for probabilities, or else for its decision function."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise ParameterError(f"estimator={estimator!r} is not allowed; it must be {_ACCEPTED}.")
    check_is_fitted(estimator)
    classes: Any = getattr(estimator, "classes_", None)
    if not is_classifier(estimator) or isinstance(classes, list) or len(classes) != 2:
        raise ParameterError(f"estimator: this {type(estimator).__name__} is not {_ACCEPTED}.")
    positive = _positive_place(classes, pos_label)
    is_probability = hasattr(estimator, "predict_proba")
    X = sound(X)
    if is_probability:
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
        raise DataError(f"y_true holds {len(classes)} classes, but there must be two.")
    within = bool(score.min() >= 0.0 and score.max() <= 1.0)
    if probabilities and not within:
        raise DataError("y_prob holds numbers outside of [0, 1], which are no probabilities.")
    positive = _positive_place(classes, pos_label)
    weight = _weights(sample_weight, len(score))
    return _both(Scored(truth == positive, score, weight, str(classes[positive]), within))


_ACCEPTED = "a fitted classifier of two classes"


def _both(scored: Scored) -> Scored:
    """Raise unless there is weight on rows of either class."""
    for flag, what in ((True, "positive"), (False, "negative")):
        if not scored.weight[scored.is_positive == flag].sum() > 0.0:
            raise DataError(f"y holds no {what} row; a curve needs both (pos_label).")
    return scored


def _weights(sample_weight: Any, n_rows: int) -> Floats:
    weight = read_weights(sample_weight, n_rows)
    return np.ones(n_rows) if weight is None else weight


def _positive_place(classes: Any, pos_label: Any) -> int:
    known = np.asarray(classes).tolist()
    if pos_label is None:
        return 1
    if pos_label not in known:
        raise ParameterError(f"pos_label={pos_label!r} is not allowed; it must be one of {known}.")
    return known.index(pos_label)


@dataclass(frozen=True, eq=False)
class Counts:
    """Weights of rows called positive at each threshold, from the highest to the lowest.

    The first threshold is infinite: no row is called positive.
    """

    thresholds: Floats
    false_positive: Floats
    true_positive: Floats
    negative: float
    positive: float

    def point(self, place: int, cost: Floats | None) -> OperatingPoint:
        """Return what deciding by one of the thresholds comes to."""
        called = self.false_positive[place] + self.true_positive[place]
        return OperatingPoint(
            threshold=float(self.thresholds[place]),
            fpr=float(self.false_positive[place] / self.negative),
            tpr=float(self.true_positive[place] / self.positive),
            precision=float(self.true_positive[place] / called) if called > 0.0 else 1.0,
            cost=None if cost is None else float(cost[place]),
        )

    def cost(self, false_positive: float, false_negative: float) -> Floats:
        """Return the expected cost per row at each threshold."""
        missed = self.positive - self.true_positive
        total = false_positive * self.false_positive + false_negative * missed
        return np.asarray(total / (self.positive + self.negative))


def count(scored: Scored) -> Counts:
    """Count what is called positive at each distinct score."""
    order = np.argsort(-scored.score, kind="stable")
    score, weight = scored.score[order], scored.weight[order]
    positive = np.where(scored.is_positive[order], weight, 0.0)
    # The last row of each score: all with that score are called positive together.
    last = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    tp = np.concatenate([[0.0], np.cumsum(positive)[last]])
    fp = np.concatenate([[0.0], np.cumsum(weight - positive)[last]])
    return Counts(np.concatenate([[np.inf], score[last]]), fp, tp, float(fp[-1]), float(tp[-1]))


@dataclass(frozen=True)
class Operation:
    """The point to operate at, if there is a reason for one, and what it is compared with."""

    chosen: OperatingPoint | None = None
    other: OperatingPoint | None = None
    why: str = ""


def operation(
    counts: Counts,
    threshold: float | None,
    cost_false_positive: float | None,
    cost_false_negative: float | None,
    usual: float,
) -> Operation:
    """Find the cheapest threshold, or take the one that is given.

    `usual` is the threshold that `predict` has, to compare the cheapest with.
    """
    costs = cost_false_positive, cost_false_negative
    for parameter, value in zip(_COSTS, costs, strict=True):
        parameter.check(value)
    _THRESHOLD.check(threshold)
    if (cost_false_positive is None) != (cost_false_negative is None):
        raise ParameterError("give both cost_false_positive and cost_false_negative, or neither.")
    priced = None
    if cost_false_positive is not None and cost_false_negative is not None:
        priced = counts.cost(cost_false_positive, cost_false_negative)
    if threshold is not None:
        return Operation(counts.point(_place(counts, threshold), priced), None, "given")
    if priced is None:
        return Operation()
    other = counts.point(_place(counts, usual), priced)
    other = OperatingPoint(usual, other.fpr, other.tpr, other.precision, other.cost)
    return Operation(counts.point(int(priced.argmin()), priced), other, "cheapest")


def _place(counts: Counts, threshold: float) -> int:
    """Return the place of the last threshold that is not below the one wanted."""
    return int(np.count_nonzero(counts.thresholds >= threshold)) - 1
