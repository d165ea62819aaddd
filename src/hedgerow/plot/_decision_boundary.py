"""The display of the predictions of an estimator over a plane of two features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_outlier_detector

from hedgerow._contract import Predictor
from hedgerow._data.target import read_fitted_classes, read_regression_target
from hedgerow._params import FLAG, NOT_NEGATIVE, Number, Options, Parameter, any_of
from hedgerow._result import imported
from hedgerow._types import Floats
from hedgerow.plot._colors import COLORMAP, INK, PALE_INK, class_colors, marker, tint
from hedgerow.plot._decisions import (
    LEVELS,
    MARGINS,
    METHODS,
    REGION,
    agrees,
    classes_of,
    decisions,
    draw_borders,
    draw_lines,
    draw_numbers,
    draw_regions,
    draw_two_sides,
    has_margins,
    read_plane,
    require_drawable,
    support_vectors,
)
from hedgerow.plot._display import new_axes, require_axes, short

FIGURE = 5.6, 4.4  # inches
# Probabilities above one half at which colours become stronger.
BANDS = (0.1, 0.2, 0.3, 0.4)
# Area of a point in square points; with more rows points are smaller, down to the minimum.
POINT_AREA, MANY_ROWS, LEAST_AREA = 36.0, 100, 6.0
# Area of a ring around a point.
RING = 2.8

_ARGUMENTS = (
    Parameter("grid_resolution", 300, Number(2, 5000, integer=True), ""),
    Parameter("eps", "auto", any_of(Options(("auto",)), NOT_NEGATIVE), ""),
    Parameter("response_method", "auto", Options(METHODS), ""),
)
_OPTIONAL = ("points", "margins", "support_vectors")
_PLACES = ("best", "outside", *(f"{v} {h}" for v in ("upper", "lower") for h in ("left", "right")))
_LEGEND = Parameter("legend", True, any_of(FLAG, Options(_PLACES)), "")


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionBoundaryDisplay:
    """The predictions of an estimator with two features, over the plane of these features.

    Create it with `from_estimator`. For two classes it shows the decision boundary, with the colour
    of the class on each side; for more classes, the region of each; for numbers, contour lines. For
    a binary SVM it also shows the margins f = ±1 as dashed lines, with paler colours between them.
    Rows are points in the colour and marker of their class, and rings mark the support vectors.

    Parameters
    ----------
    xx0, xx1 : arrays of shape (n, n)
        Coordinates of a grid, as returned by `numpy.meshgrid`.
    response : array of shape (n, n)
        The response at the points of the grid: for two classes, the score or probability of the
        second; for more, the probability of the predicted one; or the prediction.
    prediction : array of shape (n, n)
        The prediction at those points: class indices, or numbers.
    response_method : "decision_function", "predict_proba" or "predict"
        The method of the response.
    classes : array of shape (n_classes,), optional
        The classes; None if the estimator predicts numbers.
    class_names : list of str, optional
        Names of the classes in the legend; by default their labels.
    margins : bool
        Whether ±1 of the response are the margins of an SVM.
    points : array of shape (n_rows, 2), optional
        Rows to draw.
    target : array of shape (n_rows,), optional
        Class indices or target values of the rows.
    vectors : array of shape (n_vectors, 2), optional
        Support vectors.
    xlabel, ylabel : str
        Labels of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes and the figure of the last drawing.
    surface_ : matplotlib QuadContourSet or QuadMesh
        The colours of the plane.
    boundary_ : matplotlib QuadContourSet, a list of them, or None
        The decision boundary, or the contour lines; None if there are none in view.
        For regions of more than two classes, a list of the lines around all but one.
    margins_ : matplotlib QuadContourSet, or None
        The margins.
    points_ : list of matplotlib PathCollection
        The rows; for a classifier, one collection for each class.
    support_vectors_ : matplotlib PathCollection, or None
        The rings.
    text_ : list of matplotlib Text
        The labels of contour lines.
    legend_ : matplotlib Legend, or None
        The legend.

    Examples
    --------
    >>> from hedgerow.plot import DecisionBoundaryDisplay
    >>> from hedgerow import SVC
    >>> X, y = [[0, 0], [1, 0], [3, 0], [3, 1]], ["left", "left", "right", "right"]
    >>> svc = SVC(kernel="linear", C=float("inf")).fit(X, y)
    >>> display = DecisionBoundaryDisplay.from_estimator(svc, X, y)
    >>> display.margins_.levels.tolist()
    [-1.0, 1.0]
    """

    xx0: Floats
    xx1: Floats
    response: Floats
    prediction: NDArray[Any]
    response_method: str
    classes: NDArray[Any] | None = None
    class_names: Sequence[str] | None = None
    margins: bool = False
    points: Floats | None = None
    target: NDArray[Any] | None = None
    vectors: Floats | None = None
    xlabel: str = ""
    ylabel: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Predictor,
        X: Any,
        y: Any = None,
        *,
        grid_resolution: int = 300,
        eps: float | str = "auto",
        response_method: str = "auto",
        xlabel: str | None = None,
        ylabel: str | None = None,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the predictions of an estimator around the rows of a table.

        Parameters
        ----------
        estimator : fitted classifier, regressor or outlier detector
            An estimator of Hedgerow or scikit-learn, or a pipeline, fitted to two columns.
        X : table of shape (n_rows, 2)
            The rows to draw: a NumPy array, pandas, Polars or Arrow table, or sparse matrix.
        y : array of shape (n_rows,), optional
            Their classes or target values, which colour the points.
        grid_resolution : int, default=300
            Points of the grid along each axis.
        eps : float or "auto", default="auto"
            How far the grid extends beyond the rows; "auto" is a tenth of their range.
        response_method : {"auto", "decision_function", "predict_proba", "predict"}, default="auto"
            What to draw for a classifier. "auto" draws the prediction; for two classes it draws the
            decision function instead, or the probability if there is none, provided that it agrees
            with the prediction. With "predict_proba", colours are paler where the prediction is
            less certain.
        xlabel, ylabel : str, optional
            Labels of the axes; by default the names of the columns.
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        **plot_options
            Passed to `plot`.
        """
        require_axes(ax)
        require_drawable(estimator)
        for parameter, value in zip(
            _ARGUMENTS, (grid_resolution, eps, response_method), strict=True
        ):
            parameter.check(value)
        plane = read_plane(X)
        xx0, xx1 = plane.grid(grid_resolution, None if eps == "auto" else float(eps))
        grid = np.column_stack([xx0.ravel(), xx1.ravel()])
        target = None if y is None else _target(estimator, y, len(plane.points))
        decided = decisions(estimator, plane.as_table(grid), response_method)
        of_x, of_y = plane.labels
        display = cls(
            xx0=xx0,
            xx1=xx1,
            response=decided.response.reshape(xx0.shape),
            prediction=decided.prediction.reshape(xx0.shape),
            response_method=decided.method,
            classes=decided.classes,
            class_names=["outlier", "inlier"] if is_outlier_detector(estimator) else None,
            margins=decided.method == "decision_function" and has_margins(estimator),
            points=plane.points,
            target=target,
            vectors=support_vectors(estimator, plane),
            xlabel=of_x if xlabel is None else xlabel,
            ylabel=of_y if ylabel is None else ylabel,
        )
        return display.plot(ax=ax, **plot_options)

    def plot(
        self,
        *,
        ax: Any = None,
        xlabel: str | None = None,
        ylabel: str | None = None,
        colors: Sequence[Any] | None = None,
        points: bool = True,
        margins: bool = True,
        support_vectors: bool = True,
        legend: bool | str = True,
    ) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default those of a new figure.
        xlabel, ylabel : str, optional
            Labels of the axes that replace those of the display.
        colors : list of colours, optional
            A matplotlib colour for each class.
        points, margins, support_vectors : bool, default=True
            Whether to draw these, if there are any.
        legend : bool or str, default=True
            Whether to draw a legend, or its location: "outside" (to the right of the axes),
            "best", "upper left", "upper right", "lower left" or "lower right". By default
            "outside" in a new figure and "best" in existing axes.

        Returns
        -------
        DecisionBoundaryDisplay
            This display, with the attributes of the drawing.
        """
        require_axes(ax)
        for name, value in zip(_OPTIONAL, (points, margins, support_vectors), strict=True):
            Parameter(name, True, FLAG, "").check(value)
        _LEGEND.check(legend)
        palette = None if self.classes is None else class_colors(len(self.classes), colors)
        self.ax_ = new_axes(*FIGURE) if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw_surface(palette, margins)
        self._draw_points(palette, points)
        self._draw_support_vectors(support_vectors)
        self._label(xlabel, ylabel)
        place = ("outside" if ax is None else "best") if legend is True else legend
        self.legend_ = self._draw_legend(palette, str(place)) if place else None
        return self

    def _draw_surface(self, palette: Floats | None, margins: bool) -> None:
        grid = self.xx0, self.xx1
        self.boundary_: Any = None
        self.margins_: Any = None
        self.text_: list[Any] = []
        if palette is None:
            self.surface_, self.boundary_, self.text_ = draw_numbers(self.ax_, grid, self.response)
            if self.boundary_ is not None and not self.text_:
                self._draw_colorbar()
        elif len(palette) == 2 and self.response_method in LEVELS:
            self._draw_two_classes(palette, margins and self.margins)
        else:
            sure = self._certainty(len(palette)) if self.response_method in LEVELS else None
            self.surface_ = draw_regions(self.ax_, grid, self.prediction, sure, palette)
            self.boundary_ = draw_borders(self.ax_, grid, self.prediction) or None

    def _draw_colorbar(self) -> None:
        """Add a colour bar if there is no room for labels on the lines."""
        bar = self.figure_.colorbar(self.surface_, ax=self.ax_, pad=0.03, label="prediction")
        bar.outline.set_visible(False)

    def _draw_two_classes(self, palette: Floats, margins: bool) -> None:
        ax, grid, level = self.ax_, (self.xx0, self.xx1), LEVELS[self.response_method]
        if agrees(self.response, self.prediction, self.response_method):
            bands = BANDS if self.response_method == "predict_proba" else ()
            steps = (MARGINS[1],) if margins else bands
            self.surface_ = draw_two_sides(ax, grid, self.response, level, steps, palette)
        else:
            self.surface_ = draw_regions(ax, grid, self.prediction, None, palette)
        self.boundary_ = draw_lines(ax, grid, self.response, [level], "solid", 1.8)
        if margins:
            self.margins_ = draw_lines(ax, grid, self.response, MARGINS, "dashed", 1.2)

    def _certainty(self, n_classes: int) -> Floats:
        """Return the probabilities, rescaled from uniform (0) to certain (1)."""
        least = 1.0 / n_classes
        return np.clip((self.response - least) / (1.0 - least), 0.0, 1.0)

    def _draw_points(self, palette: Floats | None, points: bool) -> None:
        self.points_: list[Any] = []
        if self.points is None or not points:
            return
        style = {"s": self._point_area(), "edgecolors": "white", "linewidths": 0.6, "zorder": 3}
        if self.target is None:
            self.points_ = [self.ax_.scatter(*self.points.T, color=PALE_INK, **style)]
        elif palette is None:
            numbers = {"c": self.target, "cmap": COLORMAP, "norm": self.surface_.norm}
            self.points_ = [self.ax_.scatter(*self.points.T, **numbers, **style)]
        else:
            for place, color in enumerate(palette):
                x, y = self.points[self.target == place].T
                self.points_.append(
                    self.ax_.scatter(x, y, color=color, marker=marker(place), **style)
                )

    def _draw_support_vectors(self, support_vectors: bool) -> None:
        self.support_vectors_: Any = None
        if self.vectors is None or not support_vectors:
            return
        self.support_vectors_ = self.ax_.scatter(
            *self.vectors.T,
            s=RING * self._point_area(),
            facecolors="none",
            edgecolors=INK,
            linewidths=1.1,
            zorder=4,
        )

    def _point_area(self) -> float:
        n_rows = MANY_ROWS if self.points is None else max(MANY_ROWS, len(self.points))
        return max(LEAST_AREA, POINT_AREA * (MANY_ROWS / n_rows) ** 0.5)

    def _label(self, xlabel: str | None, ylabel: str | None) -> None:
        """Label the axes, but keep existing labels unless new ones are passed."""
        ax = self.ax_
        ax.set_xlim(self.xx0.min(), self.xx0.max())
        ax.set_ylim(self.xx1.min(), self.xx1.max())
        if xlabel is not None or not ax.get_xlabel():
            ax.set_xlabel(self.xlabel if xlabel is None else xlabel)
        if ylabel is not None or not ax.get_ylabel():
            ax.set_ylabel(self.ylabel if ylabel is None else ylabel)

    def _draw_legend(self, palette: Floats | None, place: str) -> Any:
        entries = [] if palette is None else self._class_entries(palette)
        if self.support_vectors_ is not None:
            entries.append((self.support_vectors_, "support vectors"))
        if self.margins_ is not None:
            entries += [(_line("solid"), "$f = 0$"), (_line("dashed"), r"$f = \pm 1$")]
        if not entries:
            return None
        handles, labels = zip(*entries, strict=True)
        style = {"fontsize": "small", "framealpha": 0.9}
        if place == "outside":
            style |= {"bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, "frameon": False}
            place = "upper left"
        return self.ax_.legend(handles, labels, loc=place, **style)

    def _class_entries(self, palette: Floats) -> list[tuple[Any, str]]:
        """Return a legend entry for each class: its points, or its colour without points."""
        assert self.classes is not None
        names = self.class_names or [str(label) for label in self.classes.tolist()]
        patch = imported("matplotlib.patches", "plot()").Patch
        handles = self.points_
        if len(handles) != len(palette) or self.target is None:
            handles = [patch(facecolor=tint(color, REGION)) for color in palette]
        return [(handle, short(name)) for handle, name in zip(handles, names, strict=True)]


def _line(style: str) -> Any:
    return imported("matplotlib.lines", "plot()").Line2D([], [], color=INK, linestyle=style)


def _target(estimator: Predictor, y: Any, n_rows: int) -> NDArray[Any]:
    """Read the classes or numbers of rows."""
    classes, name = classes_of(estimator), type(estimator).__name__
    if classes is None:
        return read_regression_target(y, n_rows, estimator_name=name)
    return read_fitted_classes(y, classes, n_rows, estimator_name=name)
