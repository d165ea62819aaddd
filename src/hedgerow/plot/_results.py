"""The `plot` method of the results of `hedgerow.explain`, and of some of `hedgerow.theory`.

Results are in a lower layer, and import this module when they are plotted (`hedgerow._result`).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from hedgerow._result import PermutationImportance, Result
from hedgerow.explain._importance import Importance
from hedgerow.explain._interaction import InteractionStrength
from hedgerow.explain._shap import ShapValues
from hedgerow.plot._display import short
from hedgerow.plot._function_space import FIGURE_SIZE as DESCENT_SIZE
from hedgerow.plot._function_space import draw_descent
from hedgerow.plot._importance import ImportanceDisplay, bars_size, names_of
from hedgerow.plot._partial_dependence import OverColumns, alone, draw_panel, fit_panels
from hedgerow.plot._shap import ShapBeeswarmDisplay
from hedgerow.theory._function_space import FunctionDescent

MOST_BARS = 20
FIGURE_SIZE = 6.0, 3.8  # inches


@singledispatch
def display_of(result: Result) -> ImportanceDisplay:
    """Return a result as bars, the longest first."""
    raise TypeError(f"{type(result).__name__} has no plot.")


@display_of.register
def _(result: Importance) -> ImportanceDisplay:
    return ImportanceDisplay(
        names=list(result.feature), values=result.value, label=result.unit, top=MOST_BARS
    )


@display_of.register
def _(result: PermutationImportance) -> ImportanceDisplay:
    error = "standard error" if result.is_by_tree else "standard deviation"
    return ImportanceDisplay(
        names=names_of(result.feature),
        values=result.mean,
        errors=result.standard_error if result.is_by_tree else result.std,
        label=f"{result.change} of {result.metric} when shuffled, mean ± {error}",
        top=MOST_BARS,
    )


@display_of.register
def _(result: InteractionStrength) -> ImportanceDisplay:
    return ImportanceDisplay(
        names=[" × ".join(short(name, 16) for name in pair) for pair in result.pairs],
        values=result.strength.sum(axis=1),
        label=f"interaction strength: standard deviation of the\njoint effect, in {result.unit}",
        top=MOST_BARS,
        longest=35,
        things="pairs",
    )


def draw(result: Result, ax: Any) -> None:
    """Draw a result onto matplotlib axes."""
    if isinstance(result, OverColumns):
        draw_panel(ax, result)
        fit_panels([ax], [result])
    elif isinstance(result, FunctionDescent):
        draw_descent(result, ax)
    else:
        display_of(result).plot(ax)


def figure_size(result: Result) -> tuple[float, float]:
    """Return the size of a new figure for a result, in inches."""
    if isinstance(result, OverColumns):
        return alone(result)
    if isinstance(result, FunctionDescent):
        return DESCENT_SIZE
    if display_of.dispatch(type(result)) is display_of.dispatch(Result):
        return FIGURE_SIZE  # for results that draw themselves
    return bars_size(min(MOST_BARS, len(display_of(result).names)))


def draw_shap(values: ShapValues, output: Any, ax: Any) -> Any:
    """Draw Shapley values, on new axes if `ax` is None, and return the axes."""
    return ShapBeeswarmDisplay.from_values(values, output=output, ax=ax).ax_
