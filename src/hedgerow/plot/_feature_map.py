"""The display of a kernel's map: the plane of the columns, and the space in which they separate."""

from __future__ import annotations

from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.target import read_fitted_classes
from hedgerow._result import imported
from hedgerow._svm.kernel.classifiers import SVC
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._colors import INK, class_colors, marker
from hedgerow.plot._display import SMALL, Display, open_frame, panel, require_axes, short
from hedgerow.theory._voters import require_fitted

_ACCEPTED = "a fitted binary SVC with kernel='poly', degree=2 and coef0=0"
GRID = 200  # points of the boundary in each direction


class FeatureMapDisplay(Display):
    """The map φ(x) = γ (x₁², √2 x₁x₂, x₂²) of the kernel (γ x·z)², in three dimensions.

    The product φ(x)·φ(z) is the kernel, so that an SVM with this kernel has a plane in three
    dimensions as its boundary, which is a conic section in the two of the table: an ellipse, if one
    class surrounds the other. Create it with `from_estimator`.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
        The rows.
    mapped : array of shape (n_rows, 3)
        φ of the rows.
    classes : array of shape (n_rows,)
        The class of each row, 0 or 1.
    names : list of str
        Names of the classes.
    normal, intercept : array of shape (3,), float
        The plane w·φ + b = 0.
    gamma : float
        γ of the kernel.

    Attributes
    ----------
    ax_, mapped_ax_, figure_ : matplotlib Axes, Axes3D and Figure
        The two panels and the figure of the last drawing.
    """

    _size = (9.4, 4.4)

    points: Floats
    mapped: Floats
    classes: NDArray[np.int64]
    names: list[str]
    normal: Floats
    intercept: float
    gamma: float

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw rows before and after the map, with the boundary in both.

        Parameters
        ----------
        estimator : fitted SVC
            Fitted to two classes and two columns, with ``kernel="poly", degree=2, coef0=0``.
        X, y : rows and their classes
            Usually the training set.
        ax : matplotlib Axes, optional
            Axes to draw on; the three-dimensional panel takes part of their space.
        """
        require_axes(ax)
        require_fitted(estimator, _ACCEPTED, "estimator")
        _require_map(estimator)
        points = np.asarray(X, np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise DataError(f"X has shape {points.shape}, but the plot needs two columns.")
        gamma = kernel_gamma(estimator)
        weights = np.asarray(estimator.dual_coef_)[0]
        return cls(
            points=points,
            mapped=quadratic_map(points, gamma),
            classes=read_fitted_classes(y, estimator.classes_, len(points)),
            names=[short(label) for label in estimator.classes_.tolist()],
            normal=weights @ quadratic_map(np.asarray(estimator.support_vectors_), gamma),
            intercept=float(estimator.intercept_[0]),
            gamma=gamma,
        ).plot(ax)

    def decision(self, points: Floats) -> Floats:
        """Return w·φ(x) + b, the decision function."""
        return quadratic_map(points, self.gamma) @ self.normal + self.intercept

    def _draw(self) -> None:
        self.mapped_ax_ = panel(self.ax_, "right", 0.56, projection="3d")
        colors = class_colors(2, None)
        for k, name in enumerate(self.names):
            rows = self.classes == k
            style = {"color": [colors[k]], "marker": marker(k), "s": 16, "label": name}
            self.ax_.scatter(*self.points[rows].T, **style)
            self.mapped_ax_.scatter(*self.mapped[rows].T, depthshade=False, **style)
        self._draw_boundary()
        self._draw_plane()
        self.ax_.set(xlabel="x₁", ylabel="x₂", title="before the map")
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 2}
        self.ax_.legend(frameon=False, fontsize=SMALL, **below)
        open_frame(self.ax_)
        names = {"xlabel": "x₁²", "ylabel": "√2 x₁x₂", "zlabel": "x₂²"}
        self.mapped_ax_.set(**names, title="after the map, times γ")
        self.mapped_ax_.tick_params(labelsize="x-small")
        self.mapped_ax_.view_init(elev=18, azim=self._azimuth())

    def _azimuth(self) -> float:
        """Return the angle of view from which the plane is seen nearly from its edge."""
        across = np.degrees(np.arctan2(self.normal[1], self.normal[0])) + 90.0
        return float(across + 24.0)

    def _draw_boundary(self) -> None:
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        room = 0.08 * (high - low)
        axes = [np.linspace(a, b, GRID) for a, b in zip(low - room, high + room, strict=True)]
        across, up = np.meshgrid(*axes)
        values = self.decision(np.column_stack([across.ravel(), up.ravel()])).reshape(GRID, GRID)
        self.ax_.contour(across, up, values, levels=[0.0], colors=[INK], linewidths=1.4)

    def _draw_plane(self) -> None:
        corners = plane_in_box(
            self.normal, self.intercept, self.mapped.min(axis=0), self.mapped.max(axis=0)
        )
        if len(corners) >= 3:
            art3d = imported("mpl_toolkits.mplot3d.art3d", "plot()")
            plane = art3d.Poly3DCollection([corners], facecolor=INK, edgecolor=INK, alpha=0.18)
            self.mapped_ax_.add_collection3d(plane)


def quadratic_map(points: Floats, gamma: float) -> Floats:
    """Return γ (x₁², √2 x₁x₂, x₂²), whose products are (γ x·z)²."""
    x, y = points.T
    return gamma * np.column_stack([x * x, np.sqrt(2.0) * x * y, y * y])


def kernel_gamma(estimator: Any) -> float:
    """Return γ of the fitted kernel, found from the decision function of the support vectors.

    The decision is γ² Σ α y (x·s)² + b, whatever the rule by which γ was chosen.
    """
    vectors, weights = np.asarray(estimator.support_vectors_), np.asarray(estimator.dual_coef_)[0]
    bare = (vectors @ vectors.T) ** 2 @ weights
    largest = int(np.abs(bare).argmax())
    decision = estimator.decision_function(vectors[largest : largest + 1])[0]
    return float(np.sqrt((decision - estimator.intercept_[0]) / bare[largest]))


def plane_in_box(normal: Floats, intercept: float, low: Floats, high: Floats) -> Floats:
    """Return the corners of the polygon in which the plane w·z + b = 0 cuts a box, in order."""
    corners = np.array(list(product(*zip(low, high, strict=True))))
    sides = corners @ normal + intercept
    points = []
    for i, j in product(range(8), range(8)):
        is_edge = i < j and bin(i ^ j).count("1") == 1
        if is_edge and (sides[i] < 0.0) != (sides[j] < 0.0):
            share = sides[i] / (sides[i] - sides[j])
            points.append(corners[i] + share * (corners[j] - corners[i]))
    if len(points) < 3:
        return np.empty((0, 3))
    cut = np.array(points)
    centred = cut - cut.mean(axis=0)
    _, _, directions = np.linalg.svd(centred)
    return cut[np.argsort(np.arctan2(centred @ directions[1], centred @ directions[0]))]


def _require_map(estimator: Any) -> None:
    is_quadratic = (
        isinstance(estimator, SVC)
        and estimator.kernel == "poly"
        and estimator.degree == 2
        and estimator.coef0 == 0.0
        and len(estimator.classes_) == 2
    )
    if not is_quadratic:
        raise ParameterError(f"estimator={estimator!r} is not allowed; it must be {_ACCEPTED}.")
