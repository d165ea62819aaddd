"""The display of the SHAP values of one prediction after each boosting round.

SHAP values add up over trees, so those of the first k rounds are exact, too. Drawn against k, they
show which features the early rounds use and which the late ones add.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from hedgerow import explain
from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._data.pass_through import take_rows
from hedgerow._data.sparse import sound_rows
from hedgerow._params import Number, Parameter
from hedgerow._result import GREY
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.plot._colors import COLORS, INK
from hedgerow.plot._display import (
    LABEL,
    SMALL,
    TOP,
    Display,
    counted,
    measured,
    number,
    open_frame,
    require_axes,
    short,
    signed,
    wrapped,
)
from hedgerow.plot._shap_data import prepare_shap

# Maximum number of points of a line, which looks smooth with fewer.
MOST_POINTS = 60
LABEL_ROOM = 1.35  # distance of two labels at the ends of lines, relative to the letter height


class StagedShapDisplay(Display):
    """The contributions of features to one prediction, by number of boosting rounds.

    Create it with `from_estimator`. The black line is the sum of all contributions: the raw score
    of the first k rounds minus their base value.

    Parameters
    ----------
    rounds : array of shape (n_points,)
        Numbers of rounds.
    contributions : array of shape (n_points, n_features)
        SHAP values of the row after each number of rounds.
    labels : sequence of str
        The features' names and the row's values.
    base, score : float
        Base value and raw score of the full model.
    unit : str
        Unit of the score, such as "log-odds".
    top : int
        Number of features with a line of their own.
    """

    _size: ClassVar[tuple[float, float]] = (7.2, 4.4)

    rounds: NDArray[np.int64]
    contributions: Floats
    labels: Sequence[str]
    base: float
    score: float
    unit: str
    top: int = 6

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        row: int = 0,
        output: Any = None,
        top: int = 6,
        ax: Any = None,
    ) -> Self:
        """Compute a row's SHAP values after 0, 1, 2, … rounds, and draw them.

        Parameters
        ----------
        model : fitted estimator
            A gradient boosting model without linear leaves.
        X : table
            Rows, in any form that `predict` accepts.
        row : int, default=0
            Index of the row.
        output : int or class, optional
            The output to draw, if there are several.
        top : int, default=6
            Number of features with a line of their own.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        """
        require_axes(ax)
        TOP.check(top)
        if not isinstance(model, GradientBoosting):
            raise ParameterError(
                f"model is a {type(model).__name__}, but must be a gradient boosting estimator: "
                "other models are not fitted round by round."
            )
        check_is_fitted(model)
        one = _one_row(X, row)
        rounds = np.unique(np.linspace(1, model.n_iter_, MOST_POINTS).round().astype(np.int64))
        stages = [prepare_shap(explain.shap_values(model[: int(k)], one), output) for k in rounds]
        final = stages[-1]
        values = np.stack([stage.values[0] for stage in stages])
        return cls(
            rounds=np.concatenate([[0], rounds]),
            contributions=np.concatenate([np.zeros_like(values[:1]), values]),
            labels=[
                f"{short(name, 22)} = {column.text(0)}"
                for name, column in zip(final.names, final.columns, strict=True)
            ],
            base=float(final.base[0]),
            score=float(final.base[0] + final.values[0].sum()),
            unit=final.unit,
            top=top,
        ).plot(ax)

    @property
    def lines(self) -> list[tuple[str, Floats]]:
        """Each line's label and values, the largest final contribution first."""
        order = np.argsort(-np.abs(self.contributions[-1]), kind="stable")
        largest, others = order[: self.top], order[self.top :]
        lines = [(self.labels[j], self.contributions[:, j]) for j in largest]
        if len(others):
            total = self.contributions[:, others].sum(axis=1)
            lines.append((counted(len(others), "other feature"), total))
        return lines

    def _draw(self) -> None:
        ax, total = self.ax_, self.contributions.sum(axis=1)
        ax.axhline(0.0, color=GREY, linewidth=0.8, zorder=0)
        ends = []
        for i, (label, values) in enumerate(self.lines):
            color = COLORS[i] if i < min(self.top, len(COLORS)) else GREY
            ax.plot(self.rounds, values, color=color, linewidth=1.6)
            ax.fill_between(self.rounds, 0.0, values, color=color, alpha=0.10, linewidth=0.0)
            ends.append((float(values[-1]), f"{label}  {signed(values[-1], 2)}", color))
        ax.plot(self.rounds, total, color=INK, linewidth=2.4)
        ends.append((float(total[-1]), f"sum  {signed(total[-1], 2)}", INK))
        ax.set_xlim(0, self.rounds[-1])
        ax.set_xlabel("boosting rounds")
        ax.set_ylabel(wrapped(f"contribution ({self.unit})", LABEL))
        ax.set_title(
            f"SHAP values by round, {counted(int(self.rounds[-1]), 'round')}: base value "
            f"{number(self.base)}, score {number(self.score)}",
            loc="left",
            fontsize="medium",
        )
        open_frame(ax)
        self._write_ends(ends)

    def _write_ends(self, ends: list[tuple[float, str, str]]) -> None:
        """Write the labels beside the ends of their lines, without overlap."""
        ax = self.ax_
        ends = sorted(ends)
        low, high = ax.get_ylim()
        box = measured(ax)
        letter = 8.33 * ax.figure.dpi / 72.0  # points of small letters
        apart = LABEL_ROOM * letter * (high - low) / box.height
        places = spread([end for end, _, _ in ends], apart)
        for (end, text, color), place in zip(ends, places, strict=True):
            ax.annotate(
                text,
                (self.rounds[-1], end),
                xytext=(1.03, place),
                textcoords=("axes fraction", "data"),
                arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.8, "shrinkA": 0},
                annotation_clip=False,
                color=INK,
                fontsize=SMALL,
                fontweight="bold" if color == INK else "normal",
                va="center",
            )


def spread(places: Sequence[float], apart: float) -> list[float]:
    """Move increasing numbers to a minimum distance with the least squared change.

    This is isotonic regression of the numbers minus i times the distance.
    """
    steps = apart * np.arange(len(places))
    moved = isotonic_regression(np.asarray(places) - steps) + steps
    return [float(place) for place in moved]


def _one_row(X: Any, row: int) -> Any:
    X = [X] if type(X) is dict else sound_rows(X)  # before a row is selected
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    Parameter("row", 0, Number(0, n_rows - 1, integer=True), "").check(row)
    return take_rows(X, np.array([row]))
