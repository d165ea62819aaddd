"""The display of what a model says as one column changes, or two: a panel for each."""

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
from hedgerow.plot._shap_reading import output_place

COLUMNS = 3  # panels side by side
_KIND = Parameter("kind", "average", Options(("average", "individual", "both", "accumulated")), "")
_NEEDED = ("features", "grid", "average", "is_categorical", "deciles", "output_names", "unit")


class PartialDependenceDisplay(Display):
    """What a model says on average, as one column or two change: a panel for each.

    Make it with `from_values` or `from_estimator`. Numbers have curves, with thin ones of single
    rows if there are any; short lines at the bottom are the deciles of the rows. Categories have a
    point each, missing values one on the right, and two columns have a map. Curves and points of
    the same unit have the same scale in all panels: what changes little looks so.

    Parameters
    ----------
    results : sequence of PartialDependence or AccumulatedEffects
        What `hedgerow.explain` returns, one for each panel.
    output : int, optional
        The output to draw, if there are several; by default all of them where they are lines or
        points, and the first where they are maps or curves of single rows.

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
            Any of this library's or of scikit-learn's make, a pipeline, or a search.
        X : table
            The rows, as `predict` takes them.
        features : str, int, pair (tuple) of those, or list
            A column or a pair; a list of any of these has a panel for each.
        kind : {"average", "individual", "both", "accumulated"}, default="average"
            Partial dependence, the curve of each row, or both, by
            `hedgerow.explain.partial_dependence`; or what
            `hedgerow.explain.accumulated_effects` says.
        output : int or class, optional
            Which output, if there are several.
        ax : matplotlib Axes, optional
            Where to draw, divided into panels; a new figure by default.
        **options
            Passed to the function that computes.

        Returns
        -------
        PartialDependenceDisplay
        """
        require_axes(ax)
        _KIND.check(kind)
        explain = import_module("hedgerow.explain")
        if kind == "accumulated":
            found = explain.accumulated_effects(model, X, features, **options)
        else:
            found = explain.partial_dependence(model, X, features, kind=kind, **options)
        return cls.from_values(found, output=output, ax=ax)

    @classmethod
    def from_values(cls, values: Any, *, output: Any = None, ax: Any = None) -> Self:
        """Draw what was computed.

        Parameters
        ----------
        values : PartialDependence, AccumulatedEffects, or list of them
            What `hedgerow.explain.partial_dependence` or `hedgerow.explain.accumulated_effects`
            returns.
        output : int or class, optional
            Which output, if there are several.
        ax : matplotlib Axes, optional
            Where to draw, divided into panels; a new figure by default.

        Returns
        -------
        PartialDependenceDisplay
        """
        require_axes(ax)
        results = list(values) if isinstance(values, list | tuple) else [values]
        if not results:
            raise ParameterError("values is an empty list: give one result or more.")
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
        """Return the inches of each column and row of panels, those of the largest panel in it."""
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
        """Give values of the same kind the same scale, be they upright or, of categories, across.

        Curves of single rows are apart from averages, which they would make flat.
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
        """Leave one legend, at the right end of the first row: all panels have the same outputs."""
        with_legend = [ax for ax in self.axes_ if ax.get_legend() is not None]
        names = {result.output_names for result in self.results}
        if len(with_legend) < 2 or len(names) > 1:
            return
        first_row = self.axes_[: _n_columns(len(self.axes_))]
        kept = [ax for ax in with_legend if ax in first_row][-1:] or with_legend[:1]
        for ax in with_legend:
            if ax is not kept[0]:
                ax.get_legend().remove()


def _panels(ax: Any, n_panels: int, heights: list[float]) -> list[Any]:
    """Divide axes into panels, row by row."""
    if n_panels == 1:
        return [ax]
    figure, n_columns, current = ax.figure, _n_columns(n_panels), ax.figure.gca()
    cell = ax.get_subplotspec()
    if cell is None:
        raise ParameterError(
            "ax is not in a grid, and cannot be divided into panels. Make it with plt.subplots()."
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
    if not all(hasattr(result, name) for name in (*_NEEDED, "measure")):
        raise ParameterError(
            f"values: {type(result).__name__} is not allowed; it must be what "
            "hedgerow.explain.partial_dependence or accumulated_effects returns, or a list of that."
        )
    shape = (*(len(grid) for grid in result.grid), len(result.output_names))
    individual = getattr(result, "individual", None)
    if result.average is None and individual is None:
        raise DataError(f"values: there is nothing to draw of {result.features}.")
    for name, given in (("average", result.average), ("individual", individual)):
        if given is not None and np.shape(given)[-len(shape) :] != shape:
            raise DataError(
                f"values: {name} of {result.features} has the shape {np.shape(given)}, but its "
                f"grid and outputs {shape}."
            )
