"""The colours of a plane and the lines in it, given what is decided at the points of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._types import Floats
from hedgerow.plot._colors import COLORMAP, INK, tint

Grid = tuple[Floats, Floats]

# How much of a class's colour its region has, and what is left of that where nothing is sure.
REGION, UNSURE = 0.42, 0.4
# About the number of lines of equal prediction.
N_LINES = 8
# Pieces of a line, beyond which numbers on all of them would cover what they are about.
MOST_PIECES = 2
# What the colours of numbers have of full strength, so that points stand out.
NUMBERS = 0.6


def two_sides(
    ax: Any, grid: Grid, response: Floats, level: float, steps: Sequence[float], colors: Floats
) -> Any:
    """Colour the sides of a level by the first and second of two colours.

    Between the level and the farthest step away from it, they are paler from step to step.
    """
    strengths = REGION * np.linspace(UNSURE, 1.0, len(steps) + 1) if steps else np.array([REGION])
    # Levels must increase, and the last must be beyond all responses.
    farthest = 1.0 + max(float(np.abs(response - level).max()), *steps, 0.0)
    away = np.array([*steps, farthest])
    levels = [*(level - away[::-1]), level, *(level + away)]
    tints = [tint(colors[0], s) for s in strengths[::-1]] + [tint(colors[1], s) for s in strengths]
    return ax.contourf(*grid, response, levels=levels, colors=tints, zorder=0)


def regions(
    ax: Any, grid: Grid, prediction: NDArray[Any], sure: Floats | None, colors: Floats
) -> Any:
    """Colour each point of a grid by its class, paler where `sure` is nearer to 0 than to 1."""
    strength = np.ones(prediction.shape) if sure is None else UNSURE + (1.0 - UNSURE) * sure
    image = tint(colors[prediction], REGION * strength[..., np.newaxis])
    return ax.pcolormesh(*grid, image, shading="nearest", rasterized=True, zorder=0)


def borders(ax: Any, grid: Grid, prediction: NDArray[Any]) -> list[Any]:
    """Draw the lines between the regions of classes, around all classes but one."""
    present = np.unique(prediction)
    around = [np.where(prediction == place, 1.0, 0.0) for place in present[1:]]
    return [lines(ax, grid, indicator, [0.5], "solid", 1.3) for indicator in around]


def numbers(ax: Any, grid: Grid, response: Floats) -> tuple[Any, Any, list[Any]]:
    """Colour numbers, draw lines of equal ones, and write the numbers onto those.

    Where all are equal there are neither lines nor numbers; where lines are in many pieces, as
    those of trees, there are no numbers.
    """
    from matplotlib.ticker import MaxNLocator

    low, high = float(response.min()), float(response.max())
    levels = MaxNLocator(N_LINES).tick_values(low, high)
    surface = ax.contourf(*grid, response, levels=levels, cmap=COLORMAP, alpha=NUMBERS, zorder=0)
    drawn = lines(ax, grid, response, levels, "solid", 0.8)
    if drawn is None or _n_pieces(drawn) > MOST_PIECES * len(levels):
        return surface, drawn, []
    return surface, drawn, list(ax.clabel(drawn, fontsize="small"))


def _n_pieces(drawn: Any) -> int:
    """Return of how many lines the lines of all levels are made."""
    codes = [path.codes for path in drawn.get_paths() if path.codes is not None]
    return sum(int((code == 1).sum()) for code in codes)  # 1 is where a pen is set down


def lines(
    ax: Any, grid: Grid, values: Floats, levels: Sequence[float], style: str, width: float
) -> Any:
    """Draw lines where values have one of the levels; None if they have it nowhere."""
    # matplotlib warns of levels that are nowhere.
    present = [level for level in levels if values.min() < level < values.max()]
    if not present:
        return None
    return ax.contour(
        *grid, values, levels=present, colors=INK, linestyles=style, linewidths=width, zorder=2
    )
