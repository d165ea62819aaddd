"""The display of a calibration curve (reliability diagram)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from hedgerow._contract import Predictor
from hedgerow._curves import calibration_bins
from hedgerow._params import Number, Options, Parameter
from hedgerow._result import GREY
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.plot._colors import COLORS
from hedgerow.plot._display import SMALL, Display, number, open_frame, panel, require_axes, short
from hedgerow.plot._threshold_curves import Scored, scores_of_arrays, scores_of_estimator

HISTOGRAM_BARS = 40
_ARGUMENTS = (
    Parameter("n_bins", 10, Number(1, 1000, integer=True), ""),
    Parameter("strategy", "uniform", Options(("uniform", "quantile")), ""),
)


class CalibrationDisplay(Display):
    """The calibration curve: the frequency of positive rows by predicted probability.

    Create it with `from_estimator` or `from_predictions`. Bars are 95 % Wilson intervals. Below is
    a histogram of the probabilities, and above are the Brier score (mean squared error of the
    probabilities) and the ECE, the expected calibration error: the mean distance between frequency
    and mean probability over the bins, weighted by their rows.

    Parameters
    ----------
    prob_true, prob_pred : array of shape (n_bins,)
        Frequency of positive rows and mean probability in each bin that has rows.
    low, high : array of shape (n_bins,)
        Bounds of the Wilson intervals.
    counts : array of shape (n_bins,)
        Weight of the rows in each bin.
    y_prob : array of shape (n_rows,)
        The probabilities.
    weight : array of shape (n_rows,)
        The weights of the rows.
    brier_score, ece : float
        The two errors.
    positive : str
        The positive class.
    estimator_name : str, optional
        Name of the curve.

    Attributes
    ----------
    ax_, histogram_ax_, figure_ : matplotlib Axes, Axes and Figure
        The axes and the figure of the last drawing.
    """

    _size = (5.2, 5.4)

    prob_true: Floats
    prob_pred: Floats
    low: Floats
    high: Floats
    counts: Floats
    y_prob: Floats
    weight: Floats
    brier_score: float
    ece: float
    positive: str
    estimator_name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Predictor,
        X: Any,
        y: Any,
        *,
        n_bins: int = 10,
        strategy: str = "uniform",
        sample_weight: Any = None,
        offset: Any = None,
        pos_label: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the calibration curve of a classifier on a test set.

        Parameters
        ----------
        estimator : fitted binary classifier
            Any with `predict_proba`.
        X, y : rows and their classes
            The test set: rows that the classifier was not trained on.
        n_bins : int, default=10
            Number of bins of the probabilities.
        strategy : {"uniform", "quantile"}, default="uniform"
            Whether bins have the same width or about the same number of rows.
        sample_weight : array of shape (n_rows,), optional
            Weights of the rows.
        offset : array of shape (n_rows,) or (n_rows, n_scores), optional
            For gradient boosting: added to the scores of the rows, as in `predict`.
        pos_label : class, optional
            The positive class; by default the second of the two.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        scored = scores_of_estimator(estimator, X, y, sample_weight, pos_label, offset)
        if not scored.is_probability:
            raise ParameterError(
                f"estimator: this {type(estimator).__name__} has no predict_proba."
            )
        return cls._of(scored, n_bins, strategy).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        n_bins: int = 10,
        strategy: str = "uniform",
        sample_weight: Any = None,
        pos_label: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the calibration curve of probabilities; parameters as in `from_estimator`."""
        require_axes(ax)
        scored = scores_of_arrays(y_true, y_prob, sample_weight, pos_label, probabilities=True)
        return cls._of(scored, n_bins, strategy).plot(ax)

    @classmethod
    def _of(cls, scored: Scored, n_bins: int, strategy: str) -> Self:
        for parameter, value in zip(_ARGUMENTS, (n_bins, strategy), strict=True):
            parameter.check(value)
        p, w, outcome = scored.score, scored.weight, scored.is_positive.astype(np.float64)
        bins = calibration_bins(scored.is_positive, p, w, n_bins=n_bins, strategy=strategy)
        return cls(
            prob_true=bins.frequency,
            prob_pred=bins.probability,
            low=bins.low,
            high=bins.high,
            counts=bins.weight,
            y_prob=p,
            weight=w,
            brier_score=float(np.average((p - outcome) ** 2, weights=w)),
            ece=bins.expected_error,
            positive=scored.positive,
            estimator_name=scored.name,
        )

    def _draw(self) -> None:
        below = panel(self.ax_, "below", 0.24, sharex=self.ax_)
        self._draw_reliability(self.ax_)
        self._draw_histogram(below)
        self.histogram_ax_ = below

    def _draw_reliability(self, ax: Any) -> None:
        label = "perfectly calibrated"
        ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linestyle=":", linewidth=1, label=label)
        lengths = np.maximum([self.prob_true - self.low, self.high - self.prob_true], 0.0)
        ax.errorbar(
            self.prob_pred,
            self.prob_true,
            yerr=lengths,
            fmt="o-",
            color=COLORS[0],
            ecolor=COLORS[0],
            elinewidth=1.0,
            capsize=2.5,
            markersize=4.5,
            label=f"{self.estimator_name or 'probabilities'}, 95 % intervals",
        )
        ax.set_title(
            f"Brier score {number(self.brier_score)}, ECE {number(self.ece)}", fontsize="medium"
        )
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))
        ax.set_ylabel(f"share of rows that are {short(self.positive)}")
        ax.tick_params(labelbottom=False)
        # Above the diagonal, unless some of the bins are there.
        is_occupied = bool(((self.high > 0.85) & (self.prob_pred < 0.75)).any())
        place = "lower right" if is_occupied else "upper left"
        ax.legend(loc=place, frameon=False, fontsize=SMALL)
        open_frame(ax)

    def _draw_histogram(self, ax: Any) -> None:
        heights, edges = np.histogram(
            self.y_prob, bins=HISTOGRAM_BARS, range=(0.0, 1.0), weights=self.weight
        )
        ax.bar(edges[:-1], heights, np.diff(edges), align="edge", color=COLORS[0], alpha=0.55)
        ax.set_xlabel(f"predicted probability of {short(self.positive)}")
        ax.set_ylabel("rows")
        open_frame(ax)
