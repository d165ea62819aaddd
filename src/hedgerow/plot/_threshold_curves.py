"""The displays of ROC and precision–recall curves, with an operating point.

The expected cost of a threshold follows from the costs of a false positive and a false negative.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

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
from hedgerow._result import GREY
from hedgerow._types import Floats
from hedgerow._validation.predictions import with_offset
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._colors import COLORS, INK
from hedgerow.plot._display import (
    LABEL,
    SMALL,
    Display,
    number,
    open_frame,
    require_axes,
    short,
    wrapped,
)
from hedgerow.theory._voters import require_fitted

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
    """The result of one threshold: rows whose score reaches it are predicted positive."""

    threshold: float  # infinite if no row is predicted positive
    fpr: float
    tpr: float  # which is also the recall
    precision: float  # 1 if no row is predicted positive
    cost: float | None  # expected, per row, if there are costs

    def text(self) -> str:
        """Return the threshold and its cost as text."""
        at = "none positive" if np.isinf(self.threshold) else f"threshold {number(self.threshold)}"
        return at if self.cost is None else f"{at}, cost {number(self.cost)} per row"


def scores_of_estimator(
    estimator: Predictor, X: Any, y: Any, sample_weight: Any, pos_label: Any, offset: Any = None
) -> Scored:
    """Return the probabilities of a binary classifier, or else its decision function."""
    require_fitted(estimator, _ACCEPTED, "estimator")
    classes: Any = getattr(estimator, "classes_", None)
    if not is_classifier(estimator) or isinstance(classes, list) or len(classes) != 2:
        raise ParameterError(f"estimator: this {type(estimator).__name__} is not {_ACCEPTED}.")
    positive = positive_index(classes, pos_label)
    X = sound(X)
    is_probability = hasattr(estimator, "predict_proba")
    predictor = with_offset(estimator, offset)
    if is_probability:
        score = np.asarray(predictor.predict_proba(X), np.float64)[:, positive]
    elif hasattr(estimator, "decision_function"):
        score = np.asarray(predictor.decision_function(X), np.float64) * (2 * positive - 1)
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
    positive = positive_index(classes, pos_label)
    weight = _weights(sample_weight, len(score))
    return _both(Scored(truth == positive, score, weight, str(classes[positive]), within))


_ACCEPTED = "a fitted binary classifier"


def _both(scored: Scored) -> Scored:
    """Raise unless both classes have rows with positive weight."""
    for flag, what in ((True, "positive"), (False, "negative")):
        if not scored.weight[scored.is_positive == flag].sum() > 0.0:
            raise DataError(f"y has no {what} row; a curve needs both classes (pos_label).")
    return scored


def _weights(sample_weight: Any, n_rows: int) -> Floats:
    weight = read_weights(sample_weight, n_rows)
    return np.ones(n_rows) if weight is None else weight


def positive_index(classes: Any, pos_label: Any) -> int:
    """Return the index of the positive class of two, by default the second."""
    labels = np.asarray(classes).tolist()
    if pos_label is None:
        return 1
    if pos_label not in labels:
        raise ParameterError(f"pos_label={pos_label!r} is not allowed; it must be one of {labels}.")
    return labels.index(pos_label)


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
    other = replace(other, threshold=default_threshold)
    return Operation(_point(counts, int(cost.argmin()), cost), other, "least cost")


def _place(counts: ThresholdCounts, threshold: float) -> int:
    """Return the index of the last threshold that is not below this one."""
    return int(np.count_nonzero(counts.thresholds >= threshold)) - 1


class _ThresholdCurveDisplay(Display):
    """A curve over all thresholds of a binary classifier."""

    thresholds: Floats
    operation: Operation
    positive: str
    estimator_name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Predictor,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        offset: Any = None,
        pos_label: Any = None,
        threshold: float | None = None,
        cost_false_positive: float | None = None,
        cost_false_negative: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curve of a classifier on a test set.

        Parameters
        ----------
        estimator : fitted binary classifier
            Any with `predict_proba` or `decision_function`.
        X, y : rows and their classes
            The test set: rows that the classifier was not trained on.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows.
        offset : array of shape (n_rows,) or (n_rows, n_scores), optional
            For gradient boosting: added to the scores of the rows, as in `predict`.
        pos_label : class, optional
            The positive class; by default the second of the two.
        threshold : float, optional
            A threshold to mark.
        cost_false_positive, cost_false_negative : float, optional
            Costs of the two kinds of errors; both or neither. The threshold with the lowest
            expected cost is marked.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        scored = scores_of_estimator(estimator, X, y, sample_weight, pos_label, offset)
        costs = cost_false_positive, cost_false_negative
        return cls._from_scores(scored, threshold, *costs).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sample_weight: Any = None,
        pos_label: Any = None,
        threshold: float | None = None,
        cost_false_positive: float | None = None,
        cost_false_negative: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curve of scores; the other parameters are those of `from_estimator`.

        `y_score` are probabilities of the positive class, or any scores that increase with them.
        """
        require_axes(ax)
        scored = scores_of_arrays(y_true, y_score, sample_weight, pos_label)
        costs = cost_false_positive, cost_false_negative
        return cls._from_scores(scored, threshold, *costs).plot(ax)

    @classmethod
    def _from_scores(cls, scored: Scored, threshold: float | None, *costs: float | None) -> Self:
        counts = ThresholdCounts.of(scored.is_positive, scored.score, scored.weight)
        default_threshold = 0.5 if scored.is_probability else 0.0
        return cls(
            **cls._curve(counts),
            thresholds=counts.thresholds,
            operation=operation(counts, threshold, costs[0], costs[1], default_threshold),
            positive=scored.positive,
            estimator_name=scored.name,
        )

    @classmethod
    @abstractmethod
    def _curve(cls, counts: ThresholdCounts) -> dict[str, Any]:
        """Return the arguments that are specific to the curve."""


class RocDisplay(_ThresholdCurveDisplay):
    """The receiver operating characteristic: true against false positive rate, over all thresholds.

    Create it with `from_estimator` or `from_predictions`. With the costs of a false positive and a
    false negative it marks the threshold with the lowest expected cost.

    Parameters
    ----------
    fpr, tpr : array of shape (n_thresholds,)
        False and true positive rates.
    thresholds : array of shape (n_thresholds,)
        The thresholds in decreasing order; the first is infinite.
    roc_auc : float
        The area under the curve.
    operation : Operation
        The operating point, if any: `chosen`, with `threshold`, `fpr`, `tpr`, `precision` and
        `cost`, and `other`, the threshold of `predict`, for comparison.
    positive : str
        The positive class.
    estimator_name : str, optional
        Name of the curve.
    """

    _size = (5.0, 4.6)

    fpr: Floats
    tpr: Floats
    roc_auc: float

    @classmethod
    def _curve(cls, counts: ThresholdCounts) -> dict[str, Any]:
        return {"fpr": counts.fpr, "tpr": counts.tpr, "roc_auc": counts.roc_auc}

    def _draw(self) -> None:
        ax, name = self.ax_, short(self.positive)
        label = f"{self.estimator_name or 'scores'}, AUC {number(self.roc_auc)}"
        ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linestyle=":", linewidth=1, label="chance")
        ax.plot(self.fpr, self.tpr, color=COLORS[0], linewidth=1.8, label=label)
        _mark_operation(ax, self.operation, "fpr", "tpr")
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal")
        ax.set_xlabel(wrapped(f"false positive rate: share of other rows predicted {name}", LABEL))
        ax.set_ylabel(wrapped(f"true positive rate: share of {name} predicted {name}", LABEL))
        ax.legend(loc="lower right", frameon=False, fontsize=SMALL)
        open_frame(ax)


class PrecisionRecallDisplay(_ThresholdCurveDisplay):
    """The precision–recall curve, over all thresholds.

    Create it with `from_estimator` or `from_predictions`. With the costs of a false positive and a
    false negative it marks the threshold with the lowest expected cost.

    Parameters
    ----------
    precision, recall : array of shape (n_thresholds,)
        From the threshold at which no row is predicted positive, where the precision is 1, to the
        threshold at which all rows are.
    thresholds : array of shape (n_thresholds,)
        The thresholds in decreasing order; the first is infinite.
    average_precision : float
        The mean of the precisions, weighted by the increase of recall at each threshold.
    prevalence : float
        The fraction of positive rows, which is the precision of guessing.
    operation : Operation
        The operating point, if any; see `RocDisplay`.
    positive : str
        The positive class.
    estimator_name : str, optional
        Name of the curve.
    """

    _size = (5.4, 4.4)

    precision: Floats
    recall: Floats
    average_precision: float
    prevalence: float

    @classmethod
    def _curve(cls, counts: ThresholdCounts) -> dict[str, Any]:
        return {
            "precision": counts.precision,
            "recall": counts.tpr,
            "average_precision": counts.average_precision,
            "prevalence": counts.positive / (counts.positive + counts.negative),
        }

    def _draw(self) -> None:
        ax, name = self.ax_, short(self.positive)
        label = f"{self.estimator_name or 'scores'}, average precision "
        chance = f"chance: {number(100.0 * self.prevalence)} % are {name}"
        ax.axhline(self.prevalence, color=GREY, linestyle=":", linewidth=1, label=chance)
        ax.step(
            self.recall,
            self.precision,
            where="pre",
            color=COLORS[0],
            linewidth=1.8,
            label=label + number(self.average_precision),
        )
        _mark_operation(ax, self.operation, "tpr", "precision")
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.03))
        ax.set_xlabel(wrapped(f"recall: share of {name} predicted {name}", LABEL))
        ax.set_ylabel(wrapped(f"precision: share of {name} among rows predicted {name}", LABEL))
        place = "lower left" if self.prevalence > 0.4 else "best"
        ax.legend(loc=place, frameon=False, fontsize=SMALL)
        open_frame(ax)


def _mark_operation(ax: Any, operation: Operation, x: str, y: str) -> None:
    """Mark the operating point and that of `predict`; the legend has their costs."""
    for point, why, style in (
        (operation.other, "predict", {"marker": "s", "markerfacecolor": "white"}),
        (operation.chosen, operation.why, {"marker": "o", "markerfacecolor": COLORS[4]}),
    ):
        if point is not None:
            ax.plot(
                *([getattr(point, x)], [getattr(point, y)]),
                label=f"{why}: {point.text()}",
                linestyle="none",
                markeredgecolor=INK,
                markersize=8,
                zorder=5,
                clip_on=False,
                **style,
            )
