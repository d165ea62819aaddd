"""Colours and contour lines of a plane, from the predictions at the points of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._types import Floats
from hedgerow.plot._colors import COLORMAP, INK, tint

Grid = tuple[Floats, Floats]

# Strength of a class's colour in its region, and its fraction where the class is uncertain.
REGION, UNSURE = 0.42, 0.4
# Approximate number of contour lines.
N_LINES = 8
# Pieces per contour line, above which labels would cover the lines.
MOST_PIECES = 2
# Strength of the colours of numbers, weak enough for points to stand out.
NUMBERS = 0.6


def two_sides(
    ax: Any, grid: Grid, response: Floats, level: float, steps: Sequence[float], colors: Floats
) -> Any:
    """Colour the sides of a level by the first and second of two colours.

    Colours are paler near the level, and stronger from step to step away from it.
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
    """Colour each point of a grid by its class, paler where `sure` is closer to 0."""
    strength = np.ones(prediction.shape) if sure is None else UNSURE + (1.0 - UNSURE) * sure
    image = tint(colors[prediction], REGION * strength[..., np.newaxis])
    return ax.pcolormesh(*grid, image, shading="nearest", rasterized=True, zorder=0)


def borders(ax: Any, grid: Grid, prediction: NDArray[Any]) -> list[Any]:
    """Draw the boundaries between the regions of classes, around all classes but one."""
    present = np.unique(prediction)
    around = [np.where(prediction == place, 1.0, 0.0) for place in present[1:]]
    return [lines(ax, grid, indicator, [0.5], "solid", 1.3) for indicator in around]


def numbers(ax: Any, grid: Grid, response: Floats) -> tuple[Any, Any, list[Any]]:
    """Colour numbers, and draw contour lines with labels.

    There are no lines if all numbers are equal, and no labels if lines are in many pieces, as
    those of trees.
    """
    from matplotlib.ticker import MaxNLocator

    low, high = float(response.min()), float(response.max())
    levels = MaxNLocator(N_LINES).tick_values(low, high)
    surface = ax.contourf(*grid, response, levels=levels, cmap=COLORMAP, alpha=NUMBERS, zorder=0)
    contours = lines(ax, grid, response, levels, "solid", 0.8)
    if contours is None or _n_pieces(contours) > MOST_PIECES * len(levels):
        return surface, contours, []
    return surface, contours, list(ax.clabel(contours, fontsize="small"))


def _n_pieces(contours: Any) -> int:
    """Return the number of connected pieces of all contour lines."""
    codes = [path.codes for path in contours.get_paths() if path.codes is not None]
    return sum(int((code == 1).sum()) for code in codes)  # 1 is MOVETO


def lines(
    ax: Any, grid: Grid, values: Floats, levels: Sequence[float], style: str, width: float
) -> Any:
    """Draw contour lines at the levels; None if the values do not cross any."""
    # matplotlib warns about levels that do not occur.
    present = [level for level in levels if values.min() < level < values.max()]
    if not present:
        return None
    return ax.contour(
        *grid, values, levels=present, colors=INK, linestyles=style, linewidths=width, zorder=2
    )
