"""The display of a receiver operating characteristic, with the threshold to operate at."""

from __future__ import annotations

from typing import Any, Self

from hedgerow._contract import Predictor
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


class RocDisplay(Display):
    """How many positive rows are found, for how many false alarms, at every threshold.

    Make it with `from_estimator` or `from_predictions`. With the costs of a false positive and of a
    false negative it marks the cheapest threshold, and says what it costs per row.

    Parameters
    ----------
    fpr, tpr : array of shape (n_thresholds,)
        False and true positive rates.
    thresholds : array of shape (n_thresholds,)
        The thresholds, falling; the first is infinite.
    roc_auc : float
        The area below the curve.
    operation : Operation
        The point to operate at, if any: `chosen`, with `threshold`, `fpr`, `tpr`, `precision` and
        `cost`, and `other`, what `predict` does, to compare with.
    positive : str
        The class that counts as positive.
    estimator_name : str, optional
        What the curve is called.
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
        """Draw the curve of a classifier's scores of some rows.

        Parameters
        ----------
        estimator : fitted classifier of two classes
            Any that has `predict_proba` or `decision_function`.
        X, y : rows and their classes
            Rows that it was not fitted on.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows.
        pos_label : class, optional
            The positive class; the second of the two by default.
        threshold : float, optional
            A threshold to mark.
        cost_false_positive, cost_false_negative : float, optional
            What a false alarm costs, and what a miss costs. Both, or neither.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        RocDisplay
        """
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
        """Draw the curve of scores; parameters are those of `from_estimator`.

        `y_score` are probabilities of the positive class, or any scores that are higher for it.
        """
        require_axes(ax)
        scored = scores_of_arrays(y_true, y_score, sample_weight, pos_label)
        costs = cost_false_positive, cost_false_negative
        return cls._of(scored, threshold, *costs).plot(ax)

    @classmethod
    def _of(cls, scored: Scored, threshold: float | None, *costs: float | None) -> Self:
        counts = count(scored)
        usual = 0.5 if scored.is_probability else 0.0
        return cls(
            fpr=counts.fpr,
            tpr=counts.tpr,
            thresholds=counts.thresholds,
            roc_auc=counts.roc_auc,
            operation=operation(counts, threshold, costs[0], costs[1], usual),
            positive=scored.positive,
            estimator_name=scored.name,
        )

    def _draw(self) -> None:
        ax, name = self.ax_, short(self.positive)
        label = f"{self.estimator_name or 'scores'}, area {number(self.roc_auc)}"
        ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linestyle=":", linewidth=1, label="chance")
        ax.plot(self.fpr, self.tpr, color=COLORS[0], linewidth=1.8, label=label)
        mark_operation(ax, self.operation, "fpr", "tpr")
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal")
        ax.set_xlabel(wrapped(f"false positive rate: share of other rows called {name}", LABEL))
        ax.set_ylabel(wrapped(f"true positive rate: share of {name} found", LABEL))
        ax.legend(loc="lower right", frameon=False, fontsize=SMALL)
        open_frame(ax)


def mark_operation(ax: Any, operation: Operation, x: str, y: str) -> None:
    """Mark the point to operate at, and what it is compared with; the legend says the costs."""
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
