"""The display of what a model predicts as one feature changes, or two: partial dependence."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import ceil
from typing import Any, Self

import numpy as np

from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot.colors import COLORMAP, COLORS, INK
from hedgerow.plot.display import SMALL, Display, open_frame, require_axes, short
from hedgerow.plot.surfaces import N_LINES
from hedgerow.result import GREY, Floats, imported

# Curves of single rows that are drawn at most: more are a blur.
MOST_CURVES = 60
COLUMNS = 3  # panels side by side
PANEL = 3.3, 2.9  # inches


class PartialDependenceDisplay(Display):
    """What a model predicts on average, as one feature or two change: a panel for each.

    Make it with `from_result` or `from_estimator`. Numbers have curves, with thin ones of single
    rows if there are any and ticks at the deciles of the rows; categories have bars; two features
    have a map with lines of equal prediction.

    Parameters
    ----------
    result : object
        What `hedgerow.explain.partial_dependence` returns, with, for each panel i,

        - ``features[i]``: the name of a feature, or a pair of names;
        - ``grids[i]``: its values, an array of numbers or of categories, or a pair of such;
        - ``average[i]``: predictions, of the shape of the grid or (n₁, n₂); or None;
        - ``individual[i]``: those of single rows (n_rows, n_values), or None;
        - ``deciles[i]``: deciles of the feature's numbers, or None (optional);

        and with ``unit``, what predictions are, and ``kind``, how they were made ("average",
        "individual", "both" or "accumulated").

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        The panels; `ax_` is the first.
    """

    def __init__(self, *, result: Any) -> None:
        self.result = result

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, features: Sequence[Any], *, ax: Any = None, **options: Any
    ) -> Self:
        """Compute partial dependence with `hedgerow.explain.partial_dependence`, and draw it.

        Parameters
        ----------
        model : fitted estimator
            Any model of trees.
        X : table
            Rows that predictions are averaged over.
        features : list of str, int, or pairs of such
            What has a panel.
        ax : matplotlib Axes, optional
            Where to draw, divided into panels; a new figure by default.
        **options
            Passed to `hedgerow.explain.partial_dependence`.
        """
        require_axes(ax)
        compute = import_module("hedgerow.explain").partial_dependence
        return cls.from_result(compute(model, X, features, **options), ax=ax)

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None) -> Self:
        """Draw what was computed.

        Parameters
        ----------
        result : PartialDependence
            What `hedgerow.explain.partial_dependence` returns.
        ax : matplotlib Axes, optional
            Where to draw, divided into panels; a new figure by default.
        """
        require_axes(ax)
        _check(result)
        return cls(result=result).plot(ax)

    def _figure_size(self) -> tuple[float, float]:
        n_panels = len(self.result.features)
        n_columns = _n_columns(n_panels)
        width, height = PANEL
        return 0.6 + width * n_columns, 0.4 + height * ceil(n_panels / n_columns)

    def _draw(self) -> None:
        self.axes_ = _panels(self.ax_, len(self.result.features))
        self.ax_ = self.axes_[0]
        flat = [place for place in range(len(self.axes_)) if not self._is_pair(place)]
        for place, ax in enumerate(self.axes_):
            if place not in flat:
                self._draw_map(ax, place)
            elif _is_numeric(self.result.grids[place]):
                self._draw_curve(ax, place)
            else:
                self._draw_bars(ax, place)
        self._share_heights([self.axes_[place] for place in flat])

    def _is_pair(self, place: int) -> bool:
        return isinstance(self.result.features[place], tuple | list)

    def _ylabel(self) -> str:
        unit = getattr(self.result, "unit", "") or "prediction"
        how = "effect on" if getattr(self.result, "kind", "") == "accumulated" else "mean"
        return f"{how} {unit}"

    def _draw_curve(self, ax: Any, place: int) -> None:
        grid = np.asarray(self.result.grids[place], np.float64)
        average, individual = self.result.average[place], _of(self.result, "individual", place)
        if individual is not None:
            step = max(1, ceil(len(individual) / MOST_CURVES))
            ax.plot(
                grid,
                np.asarray(individual)[::step].T,
                color=COLORS[3],
                linewidth=0.5,
                alpha=0.6,
                zorder=1,
            )
        if average is not None:
            ax.plot(grid, average, color=COLORS[0] if individual is None else INK, linewidth=2.0)
        deciles = _of(self.result, "deciles", place)
        if deciles is not None:
            across = ax.get_xaxis_transform()
            ax.vlines(deciles, 0.0, 0.04, transform=across, color=GREY, linewidth=1.0, zorder=0)
        ax.set(xlabel=short(self.result.features[place]), ylabel=self._ylabel())
        open_frame(ax)

    def _draw_bars(self, ax: Any, place: int) -> None:
        texts = [short(category, 14) for category in self.result.grids[place]]
        places = np.arange(len(texts))
        individual = _of(self.result, "individual", place)
        average, note = self.result.average[place], ""
        if average is None:
            average = np.asarray(individual).mean(axis=0)
        ax.barh(places, average, color=COLORS[0], height=0.7, zorder=2)
        if individual is not None:
            low, high = np.quantile(np.asarray(individual), [0.1, 0.9], axis=0)
            ax.hlines(places, low, high, color=INK, linewidth=1.0, zorder=3)
            note = "\nlines: the middle 80 % of rows"
        ax.set_yticks(places, texts, fontsize=SMALL if len(texts) > 6 else None)
        ax.set_ylim(len(texts) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.set(xlabel=self._ylabel() + note, ylabel=short(self.result.features[place]))
        open_frame(ax)

    def _draw_map(self, ax: Any, place: int) -> None:
        first, second = self.result.features[place]
        surface = np.asarray(self.result.average[place], np.float64)
        sides = [_positions(grid) for grid in self.result.grids[place]]
        if all(_is_numeric(grid) for grid in self.result.grids[place]):
            drawn = self._draw_contours(ax, sides[0], sides[1], surface)
        else:
            drawn = ax.pcolormesh(*sides, surface.T, cmap=COLORMAP, shading="nearest")
            for axis, grid in zip((ax.xaxis, ax.yaxis), self.result.grids[place], strict=True):
                if not _is_numeric(grid):
                    axis.set_ticks(np.arange(len(grid)), [short(text, 10) for text in grid])
        bar = ax.figure.colorbar(drawn, ax=ax, pad=0.03)
        bar.set_label(self._ylabel(), fontsize=SMALL)
        bar.outline.set_visible(False)
        ax.set(xlabel=short(first), ylabel=short(second))

    def _draw_contours(self, ax: Any, x: Floats, y: Floats, surface: Floats) -> Any:
        ticker = imported("matplotlib.ticker", "plot()").MaxNLocator(N_LINES)
        levels = ticker.tick_values(float(surface.min()), float(surface.max()))
        drawn = ax.contourf(x, y, surface.T, levels=levels, cmap=COLORMAP, alpha=0.85)
        ax.contour(x, y, surface.T, levels=drawn.levels, colors="white", linewidths=0.6)
        return drawn

    def _share_heights(self, axes: list[Any]) -> None:
        """Give all curves the same scale: what changes little must look so."""
        curves = [
            ax
            for place, ax in enumerate(self.axes_)
            if ax in axes and _is_numeric(self.result.grids[place])
        ]
        if curves:
            low = min(ax.get_ylim()[0] for ax in curves)
            high = max(ax.get_ylim()[1] for ax in curves)
            for ax in curves:
                ax.set_ylim(low, high)


def _panels(ax: Any, n_panels: int) -> list[Any]:
    """Divide axes into panels, row by row."""
    if n_panels == 1:
        return [ax]
    figure, n_columns, current = ax.figure, _n_columns(n_panels), ax.figure.gca()
    n_rows = ceil(n_panels / n_columns)
    cell = ax.get_subplotspec()
    if cell is None:
        raise ParameterError(
            "ax is not in a grid, and cannot be divided into panels. Make it with plt.subplots()."
        )
    grid = cell.subgridspec(n_rows, n_columns)
    ax.set_subplotspec(grid[0, 0])
    others = [grid[i // n_columns, i % n_columns] for i in range(1, n_panels)]
    panels = [ax, *(figure.add_subplot(place) for place in others)]
    figure.sca(current)
    return panels


def _n_columns(n_panels: int) -> int:
    return 2 if n_panels == 4 else min(n_panels, COLUMNS)


def _is_numeric(grid: Any) -> bool:
    return np.asarray(grid).dtype.kind in "fiu"


def _positions(grid: Any) -> Floats:
    """Return where the values of a grid are on an axis: numbers themselves, categories by place."""
    array = np.asarray(grid)
    return array.astype(np.float64) if _is_numeric(array) else np.arange(float(len(array)))


def _of(result: Any, name: str, place: int) -> Any:
    of_panels = getattr(result, name, None)
    return None if of_panels is None else of_panels[place]


def _check(result: Any) -> None:
    needed = ("features", "grids", "average")
    if not all(hasattr(result, name) for name in needed):
        raise ParameterError(
            f"result is a {type(result).__name__}, but must be what "
            "hedgerow.explain.partial_dependence returns."
        )
    n_panels = len(result.features)
    if n_panels == 0 or any(len(getattr(result, name)) != n_panels for name in needed):
        raise DataError("result: features, grids and average must have an entry for each panel.")
    for place, average in enumerate(result.average):
        is_pair = isinstance(result.features[place], tuple | list)
        grids = result.grids[place] if is_pair else [result.grids[place]]
        shape = tuple(len(grid) for grid in grids)
        if average is None and (is_pair or _of(result, "individual", place) is None):
            raise DataError(f"result: there is nothing to draw of {result.features[place]!r}.")
        if average is not None and np.shape(average) != shape:
            raise DataError(
                f"result: average of {result.features[place]!r} has the shape {np.shape(average)}, "
                f"but its grid {shape}."
            )
