"""The display of precision and recall at every threshold, with the threshold to operate at."""

from __future__ import annotations

from typing import Any, Self

from hedgerow._contract import Predictor
from hedgerow._result import GREY
from hedgerow._types import Floats
from hedgerow.plot._colors import COLORS
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
from hedgerow.plot._roc import mark_operation
from hedgerow.plot._two_classes import (
    Operation,
    Scored,
    count,
    operation,
    scores_of_arrays,
    scores_of_estimator,
)


class PrecisionRecallDisplay(Display):
    """How many positive rows are found, and how many that are called positive are, by threshold.

    Make it with `from_estimator` or `from_predictions`. With the costs of a false positive and of a
    false negative it marks the cheapest threshold, and says what it costs per row.

    Parameters
    ----------
    precision, recall : array of shape (n_thresholds,)
        From no row called positive, where the precision is 1, to all of them.
    thresholds : array of shape (n_thresholds,)
        The thresholds, falling; the first is infinite.
    average_precision : float
        Precisions, weighed by the rise of recall at each threshold.
    prevalence : float
        The part of the rows that is positive, which is the precision of chance.
    operation : Operation
        The point to operate at, if any; see `RocDisplay`.
    positive : str
        The class that counts as positive.
    estimator_name : str, optional
        What the curve is called.
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
        """Draw the curve of a classifier's scores; parameters are those of `RocDisplay`."""
        require_axes(ax)
        scored = scores_of_estimator(estimator, X, y, sample_weight, pos_label)
        costs = cost_false_positive, cost_false_negative
        return cls._of(scored, threshold, *costs).plot(ax)

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
        """Draw the curve of scores; parameters are those of `RocDisplay`."""
        require_axes(ax)
        scored = scores_of_arrays(y_true, y_score, sample_weight, pos_label)
        costs = cost_false_positive, cost_false_negative
        return cls._of(scored, threshold, *costs).plot(ax)

    @classmethod
    def _of(cls, scored: Scored, threshold: float | None, *costs: float | None) -> Self:
        counts = count(scored)
        usual = 0.5 if scored.is_probability else 0.0
        return cls(
            precision=counts.precision,
            recall=counts.tpr,
            thresholds=counts.thresholds,
            average_precision=counts.average_precision,
            prevalence=counts.positive / (counts.positive + counts.negative),
            operation=operation(counts, threshold, costs[0], costs[1], usual),
            positive=scored.positive,
            estimator_name=scored.name,
        )

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
        mark_operation(ax, self.operation, "tpr", "precision")
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.03))
        ax.set_xlabel(wrapped(f"recall: share of {name} found", LABEL))
        ax.set_ylabel(wrapped(f"precision: share of {name} among rows called so", LABEL))
        place = "lower left" if self.prevalence > 0.4 else "best"
        ax.legend(loc=place, frameon=False, fontsize=SMALL)
        open_frame(ax)
