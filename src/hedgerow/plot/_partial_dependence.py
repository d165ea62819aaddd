"""The display of partial dependence and accumulated effects, with a panel for each feature.

Numeric columns have curves, categorical ones points side by side, and two columns a map.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow import explain
from hedgerow._params import Options, Parameter
from hedgerow._result import GREY, imported
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.explain._accumulated import AccumulatedEffects
from hedgerow.explain._partial import PartialDependence
from hedgerow.plot._colors import COLORMAP, COLORS, INK, PALE_INK, class_colors, marker
from hedgerow.plot._decisions import N_LINES
from hedgerow.plot._display import (
    BESIDE_AXES,
    SMALL,
    Display,
    fit_labels,
    measured,
    open_frame,
    require_axes,
    short,
    shorts,
    sparse_ticks,
    unit_of,
    wrapped,
)
from hedgerow.plot._shap_data import output_place

COLUMNS = 3  # panels side by side
_KIND = Parameter("kind", "average", Options(("average", "individual", "both", "accumulated")), "")
# Maximum number of individual curves: more would be a blur.
MOST_CURVES = 60
# Individual predictions of a category: the line omits this fraction at either end.
TAIL = 0.1
# Distance of the point for missing values from the largest number, relative to the range.
BESIDE = 0.1
# Diverging colormap for effects: from brown over white to green.
AROUND_ZERO = "BrBG"
# Inches: a category's line, the space above and below all lines, numeric axes, an axis label with
# its ticks, a letter, and a colour bar with its label.
LINE, AROUND, INNER, NUMBERS, LETTER, BAR = 0.19, 0.9, 2.3, 0.9, 0.085, 1.0
# Characters of a category: at its point, and at the edge of a map.
CATEGORY, AT_A_MAP = 22, 14
# Characters of a line of the y label.
UPRIGHT = 36


# A result over the values of one or two columns; the last axis of averages is outputs.
OverColumns = PartialDependence | AccumulatedEffects


def draw_panel(ax: Any, result: OverColumns, output: int | None = None) -> None:
    """Draw a result: one output or, for averages over one column, all if `output` is None."""
    if len(result.features) == 2:
        _draw_map(ax, result, output or 0)
    elif result.is_categorical[0]:
        _draw_categories(ax, result, _outputs_to_draw(result, output))
    else:
        _draw_curves(ax, result, _outputs_to_draw(result, output))


def fit_panels(axes: Sequence[Any], results: Sequence[OverColumns]) -> None:
    """Fit tick labels into the available space.

    Labels of the y axis reduce the width, and those of the x axis the height, so that the y axis
    is fitted once more.
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
    """Return the size of a panel with its labels, in inches."""
    is_map = len(result.features) == 2
    texts = [
        shorts(values, AT_A_MAP if is_map else CATEGORY) if is_labelled else []
        for values, is_labelled in zip(result.grid, result.is_categorical, strict=True)
    ]
    across, upright = texts if is_map else ([], texts[0])
    width, height = INNER, INNER + AROUND - 0.3
    width += 0.45 + LETTER * max(map(len, upright)) if upright else NUMBERS
    if upright:
        height = max(height, AROUND + LINE * len(upright))
    if across:
        height += LETTER * max(map(len, across))
        width = max(width, NUMBERS + BAR + LINE * len(across))
    if is_map:
        width += BAR
    elif len(_outputs_to_draw(result, output)) > 1:
        width += 0.4 + LETTER * max(len(short(name)) for name in result.output_names)
    return width, height


def alone(result: OverColumns, output: int | None = None) -> tuple[float, float]:
    """Return the size of a figure of one panel, in inches."""
    width, height = panel_size(result, output)
    return max(6.0, width + 1.0), max(3.8, height)


def value_label(result: OverColumns, outputs: list[int]) -> str:
    """Return the label of the values, with their unit and output."""
    has_mean = result.average is not None or len(result.features) == 2
    mean = "mean prediction of " if result.unit.startswith("the ") else "mean "
    how = (mean if result.measure == "mean" else f"{result.measure} ") if has_mean else ""
    how = f"joint {how}" if result.measure != "mean" and len(result.features) == 2 else how
    if len(outputs) > 1:
        return how + result.unit
    name = result.output_names[outputs[0]]
    return how + unit_of(result.unit, name, len(result.output_names))


def _outputs_to_draw(result: OverColumns, output: int | None) -> list[int]:
    """Return the outputs to draw: only one if there are individual curves."""
    if output is None and _individual(result) is None:
        return list(range(len(result.output_names)))
    return [output or 0]


def _individual(result: OverColumns) -> Floats | None:
    return getattr(result, "individual", None)


def _mean(result: OverColumns) -> Floats:
    """Return the averages, or the mean of the individual curves."""
    individual = _individual(result)
    if result.average is None:
        assert individual is not None
        return individual.mean(axis=0)
    return result.average


def _draw_curves(ax: Any, result: OverColumns, outputs: list[int]) -> None:
    x, texts = _positions(result.grid[0], is_categorical=False)
    is_missing = np.array([text is not None for text in texts])
    order = np.argsort(x, kind="stable")
    order = order[~is_missing[order]]
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
            ax.plot(x[is_missing], mean[is_missing], "o", color=color, markersize=5, zorder=3)
    elif individual is not None:
        at_missing = individual[:, is_missing, outputs[0]]
        ax.plot(
            np.tile(x[is_missing], (len(at_missing), 1)),
            at_missing,
            "o",
            color=COLORS[3],
            markersize=2,
        )
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
        mesh = _draw_contours(ax, x, y, surface)
    else:
        mesh = ax.pcolormesh(x, y, surface.T, shading="nearest", rasterized=True, **colors)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.03)
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
    """Return the colormap of a map: for effects, white is 0."""
    if measure == "mean":
        return {"cmap": COLORMAP}
    farthest = float(np.abs(surface).max()) or 1.0
    return {"cmap": AROUND_ZERO, "vmin": -farthest, "vmax": farthest}


def _draw_contours(ax: Any, x: Floats, y: Floats, surface: Floats) -> Any:
    ticker = imported("matplotlib.ticker", "plot()").MaxNLocator(N_LINES)
    levels = ticker.tick_values(float(surface.min()), float(surface.max()))
    across, up = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    over = x[across], y[up], surface[across][:, up].T
    mesh = ax.contourf(*over, levels=levels, alpha=0.9, cmap=COLORMAP)
    ax.contour(*over, levels=levels, colors="white", linewidths=0.6, linestyles="solid")
    return mesh


def _positions(values: NDArray[Any], is_categorical: bool) -> tuple[Floats, list[str | None]]:
    """Return the positions of values on an axis, and labels for those that are not numbers."""
    if is_categorical:
        texts: list[str | None] = ["missing" if value is None else str(value) for value in values]
        return np.arange(len(values), dtype=np.float64), texts
    missing = np.isnan(values)
    present = values[~missing]
    beside = present.max() + BESIDE * (np.ptp(present) or 1.0) if len(present) else 0.0
    texts = ["missing" if is_missing else None for is_missing in missing]
    return np.where(missing, beside, values), texts


def _write_numbers(axis: Any, values: NDArray[Any]) -> None:
    """Set as many ticks as there is space for, and "missing" beside them."""
    at, texts = _positions(values, is_categorical=False)
    is_missing = np.array([text is not None for text in texts])
    if is_missing.all():
        axis.set_ticks(at[:1], labels=["missing"])
    elif is_missing.any():
        numbers = at[~is_missing]
        sparse_ticks(axis, numbers.min(), numbers.max(), (float(at[is_missing][0]), "missing"))
    else:
        sparse_ticks(axis, *axis.get_view_interval())


def _mark_deciles(ax: Any, deciles: Floats) -> None:
    """Draw the deciles as nine short lines at the bottom."""
    if len(deciles):
        across = ax.get_xaxis_transform()
        ax.vlines(deciles, 0.0, 0.03, transform=across, color=PALE_INK, linewidth=1.0, zorder=0)


def _colors(outputs: list[int], over_rows: bool = False) -> list[Any]:
    if len(outputs) == 1:
        return [INK if over_rows else COLORS[0]]
    return list(class_colors(len(outputs), None))


def _finish(ax: Any, n_outputs: int) -> None:
    """Hide spines, and add a legend for several outputs."""
    open_frame(ax)
    if n_outputs > 1:
        ax.legend(**BESIDE_AXES)


class PartialDependenceDisplay(Display):
    """Partial dependence or accumulated effects: a panel for each column or pair of columns.

    Create it with `from_values` or `from_estimator`. Numeric columns have curves (thin ones for
    individual rows), with the deciles of the rows as short lines at the bottom. Categories have a
    point each, missing values a point on the right, and two columns a map. Values of the same unit
    have the same scale in all panels, so that effects can be compared.

    Parameters
    ----------
    results : sequence of PartialDependence or AccumulatedEffects
        Results of `hedgerow.explain`, one for each panel.
    output : int, optional
        The output to draw, if there are several; by default all of them in curves or points, and
        the first in maps or individual curves.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        The panels; `ax_` is the first.
    """

    results: Sequence[OverColumns]
    output: int | None = None

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        features: Any,
        *,
        kind: str = "average",
        output: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute partial dependence or accumulated effects, and draw them.

        Parameters
        ----------
        model : fitted estimator
            An estimator of Hedgerow or scikit-learn, a pipeline, or a search.
        X : table
            The rows, in any form that `predict` accepts.
        features : str, int, pair (tuple) of those, or list
            A column or a pair; a list of these for several panels.
        kind : {"average", "individual", "both", "accumulated"}, default="average"
            Partial dependence, the individual curve of each row, or both, by
            `hedgerow.explain.partial_dependence`; or the effects of
            `hedgerow.explain.accumulated_effects`.
        output : int or class, optional
            The output to draw, if there are several.
        ax : matplotlib Axes, optional
            Axes to divide into panels; by default those of a new figure.
        **options
            Passed to these functions.
        """
        require_axes(ax)
        _KIND.check(kind)
        if kind == "accumulated":
            results = explain.accumulated_effects(model, X, features, **options)
        else:
            results = explain.partial_dependence(model, X, features, kind=kind, **options)
        return cls.from_values(results, output=output, ax=ax)

    @classmethod
    def from_values(cls, values: Any, *, output: Any = None, ax: Any = None) -> Self:
        """Draw partial dependence or accumulated effects.

        Parameters
        ----------
        values : PartialDependence, AccumulatedEffects, or list of them
            Results of `hedgerow.explain.partial_dependence` or
            `hedgerow.explain.accumulated_effects`.
        output : int or class, optional
            The output to draw, if there are several.
        ax : matplotlib Axes, optional
            Axes to divide into panels; by default those of a new figure.
        """
        require_axes(ax)
        results = list(values) if isinstance(values, list | tuple) else [values]
        if not results:
            raise ParameterError("values is empty: pass at least one result.")
        for result in results:
            _check(result)
        place = None
        if output is not None:
            (place, *others) = {output_place(r, len(r.output_names), output) for r in results}
            if others:
                raise ParameterError(f"output={output!r} is not the same output in all results.")
        return cls(results=results, output=place).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        if len(self.results) == 1:
            return alone(self.results[0], self.output)
        widths, heights = self._grid()
        return sum(widths), sum(heights)

    def _grid(self) -> tuple[list[float], list[float]]:
        """Return the width of each column and the height of each row of panels, in inches."""
        sizes = [panel_size(result, self.output) for result in self.results]
        n_columns = _n_columns(len(sizes))
        widths = [max(width for width, _ in sizes[i::n_columns]) for i in range(n_columns)]
        rows = [sizes[i : i + n_columns] for i in range(0, len(sizes), n_columns)]
        return widths, [max(height for _, height in row) for row in rows]

    def _draw(self) -> None:
        _, heights = self._grid()
        self.axes_ = _panels(self.ax_, len(self.results), heights)
        self.ax_ = self.axes_[0]
        for ax, result in zip(self.axes_, self.results, strict=True):
            draw_panel(ax, result, self.output)
        self._share_scales()
        self._keep_one_legend()
        fit_panels(self.axes_, self.results)

    def _share_scales(self) -> None:
        """Give values of the same unit the same scale, on the y axis (categories: x axis).

        Panels with individual curves have another scale than averages, which would look flat.
        """
        sides: dict[Any, list[Any]] = {}
        for ax, result in zip(self.axes_, self.results, strict=True):
            if len(result.features) == 1:
                has_rows = getattr(result, "individual", None) is not None
                axis = ax.xaxis if result.is_categorical[0] else ax.yaxis
                sides.setdefault((result.measure, result.unit, has_rows), []).append(axis)
        for axes in sides.values():
            limits = np.array([axis.get_view_interval() for axis in axes])
            for axis in axes:
                set_limits = axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim
                set_limits(limits.min(), limits.max())

    def _keep_one_legend(self) -> None:
        """Keep one legend, at the end of the first row, if all panels have the same outputs."""
        with_legend = [ax for ax in self.axes_ if ax.get_legend() is not None]
        names = {result.output_names for result in self.results}
        if len(with_legend) < 2 or len(names) > 1:
            return
        first_row = self.axes_[: _n_columns(len(self.axes_))]
        last = [ax for ax in with_legend if ax in first_row][-1:] or with_legend[:1]
        for ax in with_legend:
            if ax is not last[0]:
                ax.get_legend().remove()


def _panels(ax: Any, n_panels: int, heights: list[float]) -> list[Any]:
    """Divide axes into panels, row by row."""
    if n_panels == 1:
        return [ax]
    figure, n_columns, current = ax.figure, _n_columns(n_panels), ax.figure.gca()
    cell = ax.get_subplotspec()
    if cell is None:
        raise ParameterError(
            "ax is not in a grid and cannot be divided into panels. Create it with plt.subplots()."
        )
    grid = cell.subgridspec(ceil(n_panels / n_columns), n_columns, height_ratios=heights)
    ax.set_subplotspec(grid[0, 0])
    others = [grid[i // n_columns, i % n_columns] for i in range(1, n_panels)]
    panels = [ax, *(figure.add_subplot(place) for place in others)]
    figure.sca(current)
    return panels


def _n_columns(n_panels: int) -> int:
    return 2 if n_panels == 4 else min(n_panels, COLUMNS)


def _check(result: Any) -> None:
    if not isinstance(result, OverColumns):
        raise ParameterError(
            f"values: {type(result).__name__} is not allowed; it must be what "
            "hedgerow.explain.partial_dependence or accumulated_effects returns, or a list of "
            "such results."
        )
    shape = (*(len(grid) for grid in result.grid), len(result.output_names))
    individual = getattr(result, "individual", None)
    if result.average is None and individual is None:
        raise DataError(f"values: there is nothing to draw for {result.features}.")
    for name, array in (("average", result.average), ("individual", individual)):
        if array is not None and np.shape(array)[-len(shape) :] != shape:
            raise DataError(
                f"values: {name} of {result.features} has the shape {np.shape(array)}, but its "
                f"grid and outputs have {shape}."
            )
