"""A panel of what a model says over the values of one column or of two.

Numbers have curves, categories have points side by side, and two columns have a map. What is drawn
are results of `hedgerow.explain`: partial dependence and accumulated effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow._result import GREY, imported
from hedgerow._types import Floats
from hedgerow.plot._colors import COLORMAP, COLORS, INK, PALE_INK, class_colors, marker
from hedgerow.plot._display import (
    SMALL,
    fit_labels,
    measured,
    open_frame,
    short,
    shorts,
    sparse_ticks,
    unit_of,
    wrapped,
)
from hedgerow.plot._surfaces import N_LINES

# Curves of single rows that are drawn at most: more are a blur.
MOST_CURVES = 60
# Of rows' own values at a category, the line leaves out so much at either end.
TAIL = 0.1
# Distance of the point for missing values to the right of all numbers, as a share of their range.
BESIDE = 0.1
# Of effects, which are positive and negative: from brown over white to green.
AROUND_ZERO = "BrBG"
# Inches: of a category's line, of what is above and below all of them, of axes of numbers, of an
# axis's name with its numbers, of a letter, and of what a bar of colours and its words take.
LINE, REST, INNER, NUMBERS, LETTER, BAR = 0.19, 0.9, 2.3, 0.9, 0.085, 1.0
# Characters of a category: beside its point, and at the edge of a map.
CATEGORY, AT_A_MAP = 22, 14
# Characters of a line along the side of a panel.
UPRIGHT = 36


class OverColumns(Protocol):
    """A result over the values of one or two columns; its averages end with an axis of outputs."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def grid(self) -> tuple[NDArray[Any], ...]:
        """Values of each."""

    @property
    def average(self) -> Floats | None:
        """What is drawn, (points[, points], outputs)."""

    @property
    def is_categorical(self) -> tuple[bool, ...]:
        """Whether they are labels."""

    @property
    def deciles(self) -> tuple[Floats, ...]:
        """Of each column of numbers."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""

    @property
    def unit(self) -> str:
        """What the numbers are."""

    @property
    def measure(self) -> str:
        """What they are of that: "mean" or "effect on"."""


def draw_panel(ax: Any, result: OverColumns, output: int | None = None) -> None:
    """Draw a result onto axes: one output or, of averages over one column, all if it is None."""
    if len(result.features) == 2:
        _draw_map(ax, result, output or 0)
    elif result.is_categorical[0]:
        _draw_categories(ax, result, _shown_outputs(result, output))
    else:
        _draw_curves(ax, result, _shown_outputs(result, output))


def fit_panels(axes: Sequence[Any], results: Sequence[OverColumns]) -> None:
    """Make what is written along the axes of panels fit into the room that there is.

    What is beside the axes takes some of their width, and then what is below, some of their height:
    so what is beside is looked at once more.
    """
    for side in ("y", "x", "y"):
        measured(axes[0])
        for ax, result in zip(axes, results, strict=True):
            _fit(getattr(ax, f"{side}axis"), side, result)


def _fit(axis: Any, side: str, result: OverColumns) -> None:
    is_map = len(result.features) == 2
    along = ("xy" if is_map else "y" if result.is_categorical[0] else "x").find(side)
    if along < 0:
        if side == "x":
            sparse_ticks(axis, *axis.get_view_interval())
    elif result.is_categorical[along]:
        fit_labels(axis)
    else:
        _write_numbers(axis, result.grid[along])


def panel_size(result: OverColumns, output: int | None = None) -> tuple[float, float]:
    """Return the inches that a panel needs for what is written around it."""
    is_map = len(result.features) == 2
    texts = [
        shorts(values, AT_A_MAP if is_map else CATEGORY) if is_labelled else []
        for values, is_labelled in zip(result.grid, result.is_categorical, strict=True)
    ]
    across, upright = texts if is_map else ([], texts[0])
    width, height = INNER, INNER + REST - 0.3
    width += 0.45 + LETTER * max(map(len, upright)) if upright else NUMBERS
    if upright:
        height = max(height, REST + LINE * len(upright))
    if across:
        height += LETTER * max(map(len, across))
        width = max(width, NUMBERS + BAR + LINE * len(across))
    if is_map:
        width += BAR
    elif len(_shown_outputs(result, output)) > 1:
        width += 0.4 + LETTER * max(len(short(name)) for name in result.output_names)
    return width, height


def alone(result: OverColumns, output: int | None = None) -> tuple[float, float]:
    """Return the size of a figure of one panel, in inches."""
    width, height = panel_size(result, output)
    return max(6.0, width + 1.0), max(3.8, height)


def value_label(result: OverColumns, outputs: list[int]) -> str:
    """Say what numbers are drawn, in which unit and of which output."""
    has_mean = result.average is not None or len(result.features) == 2
    mean = "mean prediction of " if result.unit.startswith("the ") else "mean "
    how = (mean if result.measure == "mean" else f"{result.measure} ") if has_mean else ""
    how = f"joint {how}" if result.measure != "mean" and len(result.features) == 2 else how
    if len(outputs) > 1:
        return how + result.unit
    name = result.output_names[outputs[0]]
    return how + unit_of(result.unit, name, len(result.output_names))


def _shown_outputs(result: OverColumns, output: int | None) -> list[int]:
    """Return the outputs to draw: curves of single rows can be told apart for one output alone."""
    if output is None and _individual(result) is None:
        return list(range(len(result.output_names)))
    return [output or 0]


def _individual(result: OverColumns) -> Floats | None:
    return getattr(result, "individual", None)


def _mean(result: OverColumns) -> Floats:
    """Return the averages; of single rows alone, their mean."""
    individual = _individual(result)
    if result.average is None:
        assert individual is not None
        return individual.mean(axis=0)
    return result.average


def _draw_curves(ax: Any, result: OverColumns, outputs: list[int]) -> None:
    x, texts = _positions(result.grid[0], is_categorical=False)
    is_gap = np.array([text is not None for text in texts])
    order = np.argsort(x, kind="stable")
    order = order[~is_gap[order]]
    individual = _individual(result)
    if individual is not None:
        individual = individual[:: ceil(len(individual) / MOST_CURVES)]
        rows = individual[:, :, outputs[0]]
        ax.plot(x[order], rows[:, order].T, color=COLORS[3], linewidth=0.5, alpha=0.6, zorder=1)
    if result.average is not None:
        for k, color in zip(outputs, _colors(outputs, individual is not None), strict=True):
            mean = result.average[:, k]
            label = short(result.output_names[k])
            ax.plot(x[order], mean[order], color=color, linewidth=2.0, label=label, zorder=3)
            ax.plot(x[is_gap], mean[is_gap], "o", color=color, markersize=5, zorder=3)
    elif individual is not None:
        gaps = individual[:, is_gap, outputs[0]]
        ax.plot(np.tile(x[is_gap], (len(gaps), 1)), gaps, "o", color=COLORS[3], markersize=2)
    _mark_deciles(ax, result.deciles[0])
    ax.set(xlabel=short(result.features[0]), ylabel=wrapped(value_label(result, outputs), UPRIGHT))
    _finish(ax, len(outputs))


def _draw_categories(ax: Any, result: OverColumns, outputs: list[int]) -> None:
    y, texts = _positions(result.grid[0], is_categorical=True)
    individual, note = _individual(result), ""
    if individual is not None:
        low, high = np.quantile(individual[:, :, outputs[0]], [TAIL, 1.0 - TAIL], axis=0)
        ax.hlines(y, low, high, color=COLORS[3], linewidth=1.5, zorder=2)
        note = f"\nlines: the middle {1.0 - 2.0 * TAIL:.0%} of rows"
    mean = _mean(result)
    for place, (k, color) in enumerate(zip(outputs, _colors(outputs), strict=True)):
        style = {"color": color, "marker": marker(place), "linestyle": "none", "zorder": 3}
        ax.plot(mean[:, k], y, markersize=6, label=short(result.output_names[k]), **style)
    ax.hlines(y, 0.0, 1.0, transform=ax.get_yaxis_transform(), color="#e4e4e4", linewidth=0.6)
    if result.measure != "mean":
        ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
    ax.margins(x=0.1)
    ax.set_yticks(y, shorts(texts, CATEGORY))
    ax.set_ylim(len(y) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set(
        xlabel=wrapped(value_label(result, outputs), UPRIGHT) + note,
        ylabel=short(result.features[0]),
    )
    _finish(ax, len(outputs))


def _draw_map(ax: Any, result: OverColumns, output: int) -> None:
    surface = _mean(result)[..., output]
    sides = [
        _positions(values, is_categorical)
        for values, is_categorical in zip(result.grid, result.is_categorical, strict=True)
    ]
    x, y = (places for places, _ in sides)
    is_plain = all(text is None for _, texts in sides for text in texts)
    colors = _map_colors(surface, result.measure)
    if is_plain and result.measure == "mean" and np.ptp(surface) > 0.0 and min(surface.shape) > 1:
        drawn = _draw_contours(ax, x, y, surface)
    else:
        drawn = ax.pcolormesh(x, y, surface.T, shading="nearest", rasterized=True, **colors)
    bar = ax.figure.colorbar(drawn, ax=ax, pad=0.03)
    bar.set_label(wrapped(value_label(result, [output]), UPRIGHT), fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    bar.outline.set_visible(False)
    ax.set(xlabel=short(result.features[0]), ylabel=short(result.features[1]))
    for axis, (places, texts), is_categorical in zip(
        (ax.xaxis, ax.yaxis), sides, result.is_categorical, strict=True
    ):
        if is_categorical:
            axis.set_ticks(places, shorts(texts, AT_A_MAP))
            axis.set_tick_params(length=0)


def _map_colors(surface: Floats, measure: str) -> dict[str, Any]:
    """Return the colours of a map: those of effects have white in the middle, where they are 0."""
    if measure == "mean":
        return {"cmap": COLORMAP}
    farthest = float(np.abs(surface).max()) or 1.0
    return {"cmap": AROUND_ZERO, "vmin": -farthest, "vmax": farthest}


def _draw_contours(ax: Any, x: Floats, y: Floats, surface: Floats) -> Any:
    ticker = imported("matplotlib.ticker", "plot()").MaxNLocator(N_LINES)
    levels = ticker.tick_values(float(surface.min()), float(surface.max()))
    across, up = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    over = x[across], y[up], surface[across][:, up].T
    drawn = ax.contourf(*over, levels=levels, alpha=0.9, cmap=COLORMAP)
    ax.contour(*over, levels=levels, colors="white", linewidths=0.6, linestyles="solid")
    return drawn


def _positions(values: NDArray[Any], is_categorical: bool) -> tuple[Floats, list[str | None]]:
    """Return where values lie on an axis, and words for those that are no numbers."""
    if is_categorical:
        texts: list[str | None] = ["missing" if value is None else str(value) for value in values]
        return np.arange(len(values), dtype=np.float64), texts
    gaps = np.isnan(values)
    present = values[~gaps]
    beside = present.max() + BESIDE * (np.ptp(present) or 1.0) if len(present) else 0.0
    return np.where(gaps, beside, values), ["missing" if gap else None for gap in gaps]


def _write_numbers(axis: Any, values: NDArray[Any]) -> None:
    """Write as many numbers along an axis as there is room for, and "missing" beside them."""
    at, texts = _positions(values, is_categorical=False)
    is_gap = np.array([text is not None for text in texts])
    if is_gap.all():
        axis.set_ticks(at[:1], labels=["missing"])
    elif is_gap.any():
        numbers = at[~is_gap]
        sparse_ticks(axis, numbers.min(), numbers.max(), (float(at[is_gap][0]), "missing"))
    else:
        sparse_ticks(axis, *axis.get_view_interval())


def _mark_deciles(ax: Any, deciles: Floats) -> None:
    """Draw nine short lines at the bottom: a tenth of the rows is between two of them."""
    if len(deciles):
        across = ax.get_xaxis_transform()
        ax.vlines(deciles, 0.0, 0.03, transform=across, color=PALE_INK, linewidth=1.0, zorder=0)


def _colors(outputs: list[int], over_rows: bool = False) -> list[Any]:
    if len(outputs) == 1:
        return [INK if over_rows else COLORS[0]]
    return list(class_colors(len(outputs), None))


def _finish(ax: Any, n_outputs: int) -> None:
    """Leave lines out that say nothing, and name several outputs beside the axes."""
    open_frame(ax)
    if n_outputs > 1:
        ax.legend(
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0.0,
            frameon=False,
            fontsize=SMALL,
        )
