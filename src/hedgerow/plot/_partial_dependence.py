"""The display of partial dependence and accumulated effects, with a panel for each feature."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import ceil
from typing import Any, Self

import numpy as np

from hedgerow._params import Options, Parameter
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._display import Display, require_axes
from hedgerow.plot._over_columns import OverColumns, alone, draw_panel, fit_panels, panel_size
from hedgerow.plot._shap_data import output_place

COLUMNS = 3  # panels side by side
_KIND = Parameter("kind", "average", Options(("average", "individual", "both", "accumulated")), "")
_REQUIRED = ("features", "grid", "average", "is_categorical", "deciles", "output_names", "unit")


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

    def __init__(self, *, results: Sequence[OverColumns], output: int | None = None) -> None:
        self.results = results
        self.output = output

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
            The rows, as `predict` takes them.
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

        Returns
        -------
        PartialDependenceDisplay
        """
        require_axes(ax)
        _KIND.check(kind)
        explain = import_module("hedgerow.explain")
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

        Returns
        -------
        PartialDependenceDisplay
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
    if not all(hasattr(result, name) for name in (*_REQUIRED, "measure")):
        raise ParameterError(
            f"values: {type(result).__name__} is not allowed; it must be what "
            "hedgerow.explain.partial_dependence or accumulated_effects returns, or a list of it."
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
