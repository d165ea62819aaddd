"""The predictions of an estimator on a plane of two features: values, colours, contour lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline

from hedgerow._contract import Predictor
from hedgerow._data.intake import as_matrix, learn_schema
from hedgerow._data.names import column_label, labels_of
from hedgerow._data.target import read_fitted_classes
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot._colors import COLORMAP, INK, tint
from hedgerow.plot._display import plain
from hedgerow.theory._voters import require_fitted

Grid = tuple[Floats, Floats]

# Strength of a class's colour in its region, and its fraction where the class is uncertain.
REGION, UNSURE = 0.42, 0.4
# Approximate number of contour lines.
N_LINES = 8
# Pieces per contour line, above which labels would cover the lines.
MOST_PIECES = 2
# Strength of the colours of numbers, weak enough for points to stand out.
NUMBERS = 0.6
METHODS = ("auto", "decision_function", "predict_proba", "predict")
# The response at which both classes are equally likely.
LEVELS = {"decision_function": 0.0, "predict_proba": 0.5}
MARGINS = (-1.0, 1.0)  # of an SVM
# How far a picture extends beyond the rows: this fraction of their range, or 1 if that is 0.
PADDING = 0.1


@dataclass(frozen=True, eq=False)
class Decisions:
    """The predictions of an estimator at some points.

    `prediction` is each point's number or class index. `response` is the result of `method`: the
    prediction; the score or probability of the second of two classes; or, of more classes, the
    probability of the predicted one.
    """

    method: str
    classes: NDArray[Any] | None  # None for a regressor
    prediction: NDArray[Any]
    response: Floats


def require_drawable(estimator: Predictor) -> None:
    """Raise unless this is a fitted classifier, regressor or outlier detector of two features."""
    require_fitted(estimator, _ACCEPTED, "estimator")
    is_kind = any(is_a(estimator) for is_a in (is_classifier, is_regressor, is_outlier_detector))
    if not is_kind or not hasattr(estimator, "predict"):
        raise ParameterError(f"estimator: {type(estimator).__name__} is not {_ACCEPTED}.")
    n_features = getattr(estimator, "n_features_in_", 2)
    if n_features != 2:
        raise DataError(
            f"estimator: this {type(estimator).__name__} was fitted to {n_features} columns, but "
            "the plot has two axes. Fit it to two columns."
        )
    if isinstance(getattr(estimator, "classes_", None), list):
        raise ParameterError(
            f"estimator: this {type(estimator).__name__} has several outputs, but the plot shows "
            "one."
        )


_ACCEPTED = "a fitted classifier, regressor or outlier detector"


def classes_of(estimator: Predictor) -> NDArray[Any] | None:
    """Return the classes of an estimator; None for a regressor."""
    if is_regressor(estimator):
        return None
    if is_outlier_detector(estimator):
        return np.array([-1, 1])
    classes: NDArray[Any] = np.asarray(getattr(estimator, "classes_", None))
    return classes


def decisions(estimator: Predictor, X: Any, method: str) -> Decisions:
    """Predict points; "auto" chooses the response that can be drawn best."""
    classes = classes_of(estimator)
    prediction = _prediction(estimator, X, classes)
    if method == "auto":
        method = _best_method(estimator, X, classes, prediction)
    response = _response(estimator, X, method, classes, prediction)
    return Decisions(method, classes, prediction, response)


def agrees(response: Floats, prediction: NDArray[Any], method: str) -> bool:
    """Tell whether a response is above its level exactly where the second class is predicted."""
    return np.array_equal(response > LEVELS[method], prediction == 1)


def _prediction(estimator: Predictor, X: Any, classes: NDArray[Any] | None) -> NDArray[Any]:
    predicted = np.asarray(estimator.predict(X))
    if predicted.ndim != 1:
        raise ParameterError(
            f"estimator: this {type(estimator).__name__} has several outputs, but the plot shows "
            "one."
        )
    if classes is None:
        return predicted.astype(np.float64)
    return read_fitted_classes(predicted, classes, estimator_name=type(estimator).__name__)


def _best_method(
    estimator: Predictor, X: Any, classes: NDArray[Any] | None, prediction: NDArray[Any]
) -> str:
    """Choose a smooth response for two classes, if it agrees with the predictions.

    For an SVM it is always the decision function, for its margins.
    """
    if classes is None or len(classes) != 2:
        return "predict"
    if has_margins(estimator):
        return "decision_function"
    for method in LEVELS:
        if hasattr(estimator, method):
            response = _response(estimator, X, method, classes, prediction)
            if agrees(response, prediction, method):
                return method
    return "predict"


def _response(
    estimator: Predictor,
    X: Any,
    method: str,
    classes: NDArray[Any] | None,
    prediction: NDArray[Any],
) -> Floats:
    if method == "predict":
        return prediction.astype(np.float64)
    _require_method(estimator, method, classes)
    values = np.asarray(getattr(estimator, method)(X), np.float64)
    if method == "predict_proba":
        assert classes is not None
        return values[:, 1] if len(classes) == 2 else values[np.arange(len(values)), prediction]
    return values.reshape(len(prediction))


def _require_method(estimator: Predictor, method: str, classes: NDArray[Any] | None) -> None:
    name = type(estimator).__name__
    if classes is None or not hasattr(estimator, method):
        raise ParameterError(f"response_method={method!r}: this {name} has no {method}.")
    if method == "decision_function" and len(classes) != 2:
        raise ParameterError(
            f"response_method={method!r}: with {len(classes)} classes this {name} has more than "
            "one score for a row. Use 'predict' or 'predict_proba'."
        )


@dataclass(frozen=True, eq=False)
class Plane:
    """The rows of a table of two columns; NaN where a value is missing."""

    table: Any  # of the user
    points: Floats  # (n_rows, 2)
    names: tuple[str, str] | None

    def grid(self, resolution: int, eps: float | None) -> tuple[Floats, Floats]:
        """Return the coordinates of a grid that extends beyond the rows by eps on each side."""
        low, high = np.nanmin(self.points, axis=0), np.nanmax(self.points, axis=0)
        span = high - low
        padding = np.where(span > 0.0, PADDING * span, 1.0) if eps is None else eps
        xs, ys = np.linspace(low - padding, high + padding, resolution).T
        xx0, xx1 = np.meshgrid(xs, ys)
        return xx0, xx1

    @property
    def labels(self) -> tuple[str, str]:
        """The labels of the axes."""
        if self.names is None:
            return "$x_1$", "$x_2$"
        return plain(self.names[0]), plain(self.names[1])

    def as_table(self, points: Floats) -> Any:
        """Return points as a table of the user's type, with its column names."""
        if scipy.sparse.issparse(self.table):
            return scipy.sparse.csr_array(points)
        if nw.dependencies.is_pandas_dataframe(self.table):
            return type(self.table)(points, columns=self.table.columns)
        frame = nw.from_native(self.table, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            columns = dict(zip(frame.columns, points.T, strict=True))
            return nw.from_dict(columns, backend=frame.implementation).to_native()
        return points


def read_plane(X: Any) -> Plane:
    """Read a table of two columns of numbers; missing values are allowed, infinities are not."""
    schema, table = learn_schema(X)
    if schema.n_features != 2:
        raise DataError(
            f"X has {schema.n_features} columns, but the plot has two axes. Fit the estimator "
            "to two columns, and pass those."
        )
    if schema.categories:
        j = next(iter(schema.categories))
        raise DataError(
            f"{column_label(schema.feature_names, j)} is categorical, but axes need "
            "numbers. Pass two numeric columns."
        )
    points = as_matrix(table).astype(np.float64)
    empty = np.isnan(points).all(axis=0)
    if empty.any():
        raise DataError(f"X, column {int(empty.argmax())} has only missing values.")
    first, second = labels_of(schema.feature_names, 2)
    return Plane(X, points, None if schema.has_no_names else (first, second))


def has_margins(estimator: Predictor) -> bool:
    """Tell whether f = ±1 are margins: rows between them have a positive hinge loss."""
    _, last = _steps(estimator)
    if is_outlier_detector(last) or not hasattr(last, "decision_function"):
        return False
    has_hinge = getattr(last, "loss", None) in ("hinge", "squared_hinge")
    return has_hinge or hasattr(last, "support_vectors_")


def support_vectors(estimator: Predictor, plane: Plane) -> Floats | None:
    """Return the support vectors as points of the plane, or None if they cannot be located.

    After transformers in a pipeline, they can be located if the plane's rows are those of `fit`,
    because the same transformers then give the same vectors.
    """
    transformers, last = _steps(estimator)
    vectors = getattr(last, "support_vectors_", None)
    if vectors is None:
        return None
    vectors = _dense(vectors)
    if not transformers:
        return vectors if vectors.ndim == 2 and vectors.shape[1] == 2 else None
    rows = np.asarray(last.support_)
    if len(plane.points) != getattr(last, "shape_fit_", (None,))[0]:
        return None
    table = plane.table
    for step in transformers:
        table = step.transform(table)
    table = _dense(table)[rows]
    is_same = table.shape == vectors.shape and np.allclose(table, vectors)
    return plane.points[rows] if is_same else None


def _steps(estimator: Predictor) -> tuple[list[Any], Any]:
    """Return the transformers of a pipeline or search, and its last estimator."""
    transformers = []
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            if len(estimator) > 1:
                transformers.append(estimator[:-1])
            estimator = estimator[-1]
        else:
            return transformers, estimator


def _dense(table: Any) -> Floats:
    return np.asarray(table.toarray() if scipy.sparse.issparse(table) else table, np.float64)


def draw_two_sides(
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


def draw_regions(
    ax: Any, grid: Grid, prediction: NDArray[Any], sure: Floats | None, colors: Floats
) -> Any:
    """Colour each point of a grid by its class, paler where `sure` is closer to 0."""
    strength = np.ones(prediction.shape) if sure is None else UNSURE + (1.0 - UNSURE) * sure
    image = tint(colors[prediction], REGION * strength[..., np.newaxis])
    return ax.pcolormesh(*grid, image, shading="nearest", rasterized=True, zorder=0)


def draw_borders(ax: Any, grid: Grid, prediction: NDArray[Any]) -> list[Any]:
    """Draw the boundaries between the regions of classes, around all classes but one."""
    present = np.unique(prediction)
    around = [np.where(prediction == place, 1.0, 0.0) for place in present[1:]]
    return [draw_lines(ax, grid, indicator, [0.5], "solid", 1.3) for indicator in around]


def draw_numbers(ax: Any, grid: Grid, response: Floats) -> tuple[Any, Any, list[Any]]:
    """Colour numbers, and draw contour lines with labels.

    There are no lines if all numbers are equal, and no labels if lines are in many pieces, as
    those of trees.
    """
    from matplotlib.ticker import MaxNLocator

    low, high = float(response.min()), float(response.max())
    levels = MaxNLocator(N_LINES).tick_values(low, high)
    surface = ax.contourf(*grid, response, levels=levels, cmap=COLORMAP, alpha=NUMBERS, zorder=0)
    contours = draw_lines(ax, grid, response, levels, "solid", 0.8)
    if contours is None or _n_pieces(contours) > MOST_PIECES * len(levels):
        return surface, contours, []
    return surface, contours, list(ax.clabel(contours, fontsize="small"))


def _n_pieces(contours: Any) -> int:
    """Return the number of connected pieces of all contour lines."""
    codes = [path.codes for path in contours.get_paths() if path.codes is not None]
    return sum(int((code == 1).sum()) for code in codes)  # 1 is MOVETO


def draw_lines(
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
