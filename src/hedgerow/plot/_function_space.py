"""The picture of steepest descent in function space: steps on the rows, and those of a learner."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow._result import BROWN, GREEN, GREY
from hedgerow.exceptions import DataError
from hedgerow.plot._display import SMALL, open_frame, panel
from hedgerow.theory._function_space import FunctionDescent

FIGURE_SIZE = 9.6, 3.8  # inches
PALEST = 0.25  # opacity of the first step


def draw_descent(descent: FunctionDescent, ax: Any) -> None:
    """Draw the steps on the rows on axes, and the learner's in a panel to their right."""
    if descent.x is None:
        raise DataError("the plot needs a table X with one numeric column.")
    beside = panel(ax, "right", 0.5)
    _draw_rows(descent, ax)
    _draw_learner(descent, beside)
    for each in (ax, beside):
        style = {"color": GREY, "fillstyle": "none", "zorder": 3, "label": "y"}
        each.plot(descent.x, descent.y, "o", **style)
        each.set_xlabel("x")
        each.legend(frameon=False, fontsize=SMALL)
        open_frame(each)
    limits = np.array([ax.get_ylim(), beside.get_ylim()])
    for each in (ax, beside):  # the same, and wide enough for both
        each.set_ylim(limits.min(), limits.max())


def _draw_rows(descent: FunctionDescent, ax: Any) -> None:
    n_steps = len(descent.rows) - 1
    for step, F in enumerate(descent.rows):
        alpha = PALEST + (1.0 - PALEST) * step / n_steps
        style = {"color": BROWN, "alpha": alpha, "markersize": 3, "label": _after(step, n_steps)}
        ax.plot(descent.x, descent.predictions(F), "o", **style)
    ax.set_title("steps on the rows themselves", fontsize="medium")
    ax.set_ylabel("F(x)")


def _draw_learner(descent: FunctionDescent, ax: Any) -> None:
    curves = np.asarray(descent.curves)
    for step, F in enumerate(curves, start=1):
        alpha = PALEST + (1.0 - PALEST) * step / len(curves)
        style = {"color": GREEN, "alpha": alpha, "label": _after(step, len(curves))}
        ax.plot(descent.grid, descent.predictions(F), **style)
    ax.set_title("a learner fitted to the negative gradient", fontsize="medium")


def _after(step: int, n_steps: int) -> str | None:
    if step == 0:
        return "F₀"
    return f"after step {step}" if step in (1, n_steps) else None
