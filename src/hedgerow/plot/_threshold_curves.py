"""The displays of ROC and precision–recall curves, with an operating point."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from hedgerow._contract import Predictor
from hedgerow._curves import ThresholdCounts
from hedgerow._result import GREY
from hedgerow._types import Floats
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
from hedgerow.plot._two_classes import (
    Operation,
    Scored,
    count,
    operation,
    scores_of_arrays,
    scores_of_estimator,
)


class _ThresholdCurveDisplay(Display):
    """A curve over all thresholds of a binary classifier."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Predictor,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        pos_label: Any = None,
        threshold: float | None = None,
        cost_false_positive: float | None = None,
        cost_false_negative: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curve of a classifier on a test set.

        Parameters
        ----------
        estimator : fitted classifier of two classes
            Any with `predict_proba` or `decision_function`.
        X, y : rows and their classes
            The test set: rows that the classifier was not trained on.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows.
        pos_label : class, optional
            The positive class; by default the second of the two.
        threshold : float, optional
            A threshold to mark.
        cost_false_positive, cost_false_negative : float, optional
            Costs of the two kinds of errors; both or neither. The threshold with the lowest
            expected cost is marked.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        The display
        """
        require_axes(ax)
        scored = scores_of_estimator(estimator, X, y, sample_weight, pos_label)
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
        counts = count(scored)
        default_threshold = 0.5 if scored.is_probability else 0.0
        display: Any = cls
        made: Self = display(
            **cls._curve(counts),
            thresholds=counts.thresholds,
            operation=operation(counts, threshold, costs[0], costs[1], default_threshold),
            positive=scored.positive,
            estimator_name=scored.name,
        )
        return made

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

    def __init__(
        self,
        *,
        fpr: Floats,
        tpr: Floats,
        thresholds: Floats,
        roc_auc: float,
        operation: Operation,
        positive: str,
        estimator_name: str | None = None,
    ) -> None:
        self.fpr = fpr
        self.tpr = tpr
        self.thresholds = thresholds
        self.roc_auc = roc_auc
        self.operation = operation
        self.positive = positive
        self.estimator_name = estimator_name

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
        From no row predicted positive, where the precision is 1, to all rows.
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

    def __init__(
        self,
        *,
        precision: Floats,
        recall: Floats,
        thresholds: Floats,
        average_precision: float,
        prevalence: float,
        operation: Operation,
        positive: str,
        estimator_name: str | None = None,
    ) -> None:
        self.precision = precision
        self.recall = recall
        self.thresholds = thresholds
        self.average_precision = average_precision
        self.prevalence = prevalence
        self.operation = operation
        self.positive = positive
        self.estimator_name = estimator_name

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
