"""The display of residuals and their distribution."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import is_regressor

from hedgerow._contract import Predictor
from hedgerow._curves import histogram, running_median
from hedgerow._data.sparse import sound
from hedgerow._data.target import read_regression_target
from hedgerow._params import Options, Parameter
from hedgerow._result import GREY
from hedgerow._types import Floats
from hedgerow._validation.predictions import with_offset
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._colors import COLORS, PALE_INK
from hedgerow.plot._display import SMALL, Display, number, open_frame, panel, require_axes, short
from hedgerow.theory._voters import require_fitted

MOST_BARS = 40
_PANEL = Parameter("panel", "qq", Options(("qq", "histogram")), "")


class ResidualDisplay(Display):
    """Residuals against predictions, with their running median, and their distribution.

    Create it with `from_estimator` or `from_predictions`. A residual is the target minus its
    prediction. The median line is flat at 0 for a model without bias. A second panel has a Q–Q
    plot against the normal distribution, or a histogram.

    Parameters
    ----------
    y_pred, residuals : array of shape (n_rows,)
        Predictions, and targets minus predictions.
    median_x, median : array
        The running median.
    panel : {"qq", "histogram"}
        The second panel.
    estimator_name : str, optional
        Name of the model.
    target : str
        Name of the target.

    Attributes
    ----------
    ax_, panel_ax_, figure_ : matplotlib Axes, Axes and Figure
        The axes and the figure of the last drawing.
    """

    _size = (8.4, 4.0)

    y_pred: Floats
    residuals: Floats
    median_x: Floats
    median: Floats
    panel: str = "qq"
    estimator_name: str | None = None
    target: str = "target"

    @classmethod
    def from_estimator(
        cls,
        estimator: Predictor,
        X: Any,
        y: Any,
        *,
        offset: Any = None,
        panel: str = "qq",
        ax: Any = None,
    ) -> Self:
        """Draw the residuals of a regressor.

        Parameters
        ----------
        estimator : fitted regressor of one output
            An estimator of Hedgerow or scikit-learn.
        X, y : rows and their targets
            The test set: rows that the regressor was not trained on.
        offset : array of shape (n_rows,) or (n_rows, n_scores), optional
            For gradient boosting: added to the scores of the rows, as in `predict`.
        panel : {"qq", "histogram"}, default="qq"
            The second panel: a Q–Q plot against the normal distribution, or a histogram.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        require_fitted(estimator, "a fitted regressor", "estimator")
        if not is_regressor(estimator):
            raise ParameterError(f"estimator: {type(estimator).__name__} is not a regressor.")
        predicted = np.asarray(with_offset(estimator, offset).predict(sound(X)))
        if predicted.ndim != 1:
            raise ParameterError(f"estimator: this {type(estimator).__name__} has several outputs.")
        return cls._of(y, predicted, panel, type(estimator).__name__).plot(ax)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, panel: str = "qq", ax: Any = None
    ) -> Self:
        """Draw the residuals of predictions; parameters are those of `from_estimator`."""
        require_axes(ax)
        return cls._of(y_true, y_pred, panel, None).plot(ax)

    @classmethod
    def _of(cls, y_true: Any, y_pred: Any, panel: str, name: str | None) -> Self:
        _PANEL.check(panel)
        predicted = read_regression_target(y_pred, estimator_name="y_pred")
        truth = read_regression_target(y_true, len(predicted), estimator_name="y_true")
        if len(truth) < 2:
            raise DataError("y has only one row; a residual plot needs at least two.")
        residuals = truth - predicted
        x, median = running_median(predicted, residuals)
        return cls(
            y_pred=predicted,
            residuals=residuals,
            median_x=x,
            median=median,
            panel=panel,
            estimator_name=name,
            target=_name_of(y_true),
        )

    def _draw(self) -> None:
        beside = panel(self.ax_, "right", 0.4)
        self._draw_residuals(self.ax_)
        (self._draw_quantiles if self.panel == "qq" else self._draw_histogram)(beside)
        self.panel_ax_ = beside

    def _draw_residuals(self, ax: Any) -> None:
        n_rows = len(self.residuals)
        ax.scatter(
            self.y_pred,
            self.residuals,
            s=max(3.0, min(18.0, 6000.0 / n_rows)),
            color=COLORS[0],
            alpha=max(0.08, min(0.6, 300.0 / n_rows)),
            linewidth=0,
            rasterized=True,
        )
        ax.axhline(0.0, color=GREY, linewidth=1, linestyle=":")
        if np.ptp(self.median_x) > 0.0:
            ax.plot(self.median_x, self.median, color=COLORS[4], linewidth=2, label="median")
            ax.legend(loc="upper left", frameon=False, fontsize=SMALL)
        rmse = float(np.sqrt(np.mean(self.residuals**2)))
        mae = float(np.abs(self.residuals).mean())
        ax.set_title(f"RMSE {number(rmse)}, mean |error| {number(mae)}", fontsize="medium")
        name = short(self.target)
        ax.set(xlabel=f"prediction of {name}", ylabel=f"residual: {name} − prediction")
        # Space for the legend above the highest residual.
        ax.set_ylim(top=self.residuals.max() + 0.12 * np.ptp(self.residuals))
        open_frame(ax)

    def _draw_quantiles(self, ax: Any) -> None:
        ordered = np.sort(self.residuals)
        shares = (np.arange(len(ordered)) + 0.5) / len(ordered)
        normal = ndtri(shares)
        mean, sd = ordered.mean(), ordered.std()
        ends = normal[[0, -1]]
        ax.plot(ends, mean + sd * ends, color=GREY, linewidth=1, linestyle=":", label="normal")
        ax.plot(normal, ordered, ".", color=COLORS[0], markersize=3, rasterized=True)
        ax.set(xlabel="quantile of a standard normal", ylabel="quantile of residuals")
        ax.legend(loc="upper left", frameon=False, fontsize=SMALL)
        open_frame(ax)

    def _draw_histogram(self, ax: Any) -> None:
        edges, counts = histogram(self.residuals, MOST_BARS)
        ax.bar(edges[:-1], counts, np.diff(edges), align="edge", color=COLORS[0], alpha=0.7)
        middle = float(np.median(self.residuals))
        ax.axvline(middle, color=COLORS[4], linewidth=2)
        ax.set_title(f"median {number(middle)}", fontsize="medium")
        ax.axvline(0.0, color=PALE_INK, linewidth=1, linestyle=":")
        ax.set(xlabel="residual", ylabel="rows")
        open_frame(ax)


def _name_of(y: Any) -> str:
    """Return the name of a series; "target" for arrays."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else "target"
