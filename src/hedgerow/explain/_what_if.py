"""Predictions of a model for rows with replaced columns, the basis of dependence plots.

Tree ensembles are evaluated natively, once for all points of a grid; other models predict changed
tables, one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from hedgerow import _native
from hedgerow._data.names import Labels, are_positions, fitted_names, labels_of
from hedgerow._params import Options, Parameter, short_repr
from hedgerow._tree.additive import AdditiveTrees, additive_trees, class_names, number_names
from hedgerow._tree.structure import Rows
from hedgerow._types import Floats, Indices
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.explain._shap import node_shares
from hedgerow.explain._tables import UserTable, holds

# Each feature's column in a grid, or −1, and the grid in the features of the trees.
Grid = tuple[NDArray[np.int32], Floats]

RESPONSE = Parameter("response", "auto", Options(("auto", "score", "prediction")), "")
# Bytes of a block of scores, of rows at points.
_BLOCK_BYTES = 1 << 25
# Rows, and cells, of a block of changed rows.
_BLOCK_ROWS = 1 << 16
_BLOCK_CELLS = 1 << 23


@dataclass(frozen=True, eq=False)
class Points:
    """Values that some columns of a table take together, one point after another.

    `places` are the columns, and `values` has an array for each, with an entry for each point.
    """

    places: tuple[int, ...]
    values: tuple[NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.values[0])

    def insert_into(self, table: UserTable, at: Indices) -> Any:
        """Return the table with each row at one of the points."""
        return table.with_values(self.places, [values[at] for values in self.values])


@dataclass(frozen=True, eq=False)
class RowsAsPoints(Points):
    """Points at the rows of a table: the columns take the values of these rows."""

    rows: UserTable

    def __len__(self) -> int:
        return self.rows.n_rows

    def insert_into(self, table: UserTable, at: Indices) -> Any:
        """Return the table with each row at one of the points."""
        return table.with_columns_of(self.rows.take(at), self.places)


class TreesWhatIf:
    """A tree ensemble, its scores or its predictions, and rows whose columns can be replaced."""

    def __init__(self, trees: AdditiveTrees, X: Any, *, predicts: bool) -> None:
        self.trees, self.table = trees, UserTable(trees.features(X))
        self._prediction = trees.prediction if predicts else None
        self.names = table_labels(self.table, trees.feature_names)
        self.output_names = trees.output_names
        self.unit = trees.unit if self._prediction is None else self._prediction.unit
        self._grids: dict[Points, Grid] = {}

    def precompute_grids(self, several: Sequence[Points]) -> None:
        """Encode all points as one table, which takes hardly longer than one grid."""
        ends = np.cumsum([len(points) for points in several])
        if ends[-1] > _BLOCK_ROWS:
            return
        columns = _concatenated(several)
        some_row = self.table.take(np.zeros(ends[-1], np.intp))
        encoded = self.trees.matrix(some_row.with_values([*columns], [*columns.values()]))
        for points, end in zip(several, ends, strict=True):
            self._grids[points] = self._select_features(points, encoded[end - len(points) : end])

    def average(self, points: Points, weights: Floats | None) -> Floats:
        """Return the mean prediction over rows at each point, (points, outputs).

        Scores are averaged by the rows of each leaf, predictions row by row.
        """
        place, values = self._grid(points)
        if self._prediction is None:
            mean = np.empty((len(points), len(self.output_names)))
            _native.mean_scores(
                self._arrays, self._matrix, weights, place, values, mean, self.trees.n_threads
            )
            return mean
        total = np.zeros((len(points), len(self.output_names)))
        for block, scores in self._blocks(place, values):
            weighted = scores if weights is None else scores * weights[block, None, None]
            total += weighted.sum(axis=0)
        return total / (self.table.n_rows if weights is None else weights.sum())

    def average_by_cover(self, several: Sequence[Points]) -> list[Floats]:
        """Return the mean scores over the training rows, by the cover of the nodes."""
        ends = np.cumsum([len(points) for points in several])
        mean = np.empty((ends[-1], len(self.output_names)))
        _native.scores_by_share(
            self._arrays,
            node_shares(self.trees.ensemble),
            [self._grid(points) for points in several],
            mean,
            self.trees.n_threads,
        )
        return np.split(mean, ends[:-1])

    def individual(self, points: Points) -> Floats:
        """Return the prediction of each row at each point, (rows, points, outputs)."""
        predictions = np.empty((self.table.n_rows, len(points), len(self.output_names)))
        for block, scores in self._blocks(*self._grid(points)):
            predictions[block] = scores
        return predictions

    def predict_at(self, points: Points, rows: Indices, at: Indices) -> Floats:
        """Return the predictions of rows, each at one point, (rows, outputs)."""
        place, values = self._grid(points)
        features = np.flatnonzero(place >= 0)
        dtype = self._matrix.dtype if holds(self._matrix.dtype, values) else np.dtype(np.float64)
        predictions = np.empty((len(rows), len(self.output_names)))
        for first in range(0, len(rows), _BLOCK_ROWS):
            block = slice(first, first + _BLOCK_ROWS)
            changed: Any = self._matrix[rows[block]].astype(dtype, copy=False)
            changed[:, features] = values[at[block]]
            scores = self.trees.ensemble.predict_raw(changed, n_threads=self.trees.n_threads)
            predictions[block] = self._to_response(scores)
        return predictions

    def _grid(self, points: Points) -> Grid:
        """Encode the points as rows of a table."""
        if points in self._grids:
            return self._grids[points]
        some_row = self.table.take(np.zeros(len(points), np.intp))
        return self._select_features(
            points, self.trees.matrix(points.insert_into(some_row, np.arange(len(points))))
        )

    def _select_features(self, points: Points, encoded: Rows) -> Grid:
        """Select the features of the points' columns.

        A column may have several features, such as target statistics of a categorical column.
        """
        features = features_of(self.trees, self.table, points.places)
        place = np.full(self.trees.ensemble.n_features, -1, np.int32)
        place[features] = np.arange(len(features))
        return place, np.ascontiguousarray(encoded[:, features], np.float64)

    def _blocks(self, place: NDArray[np.int32], values: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of rows and their predictions at all points."""
        n_outputs = len(self.output_names)
        n_rows = max(1, _BLOCK_BYTES // (8 * len(values) * n_outputs))
        for first in range(0, self.table.n_rows, n_rows):
            rows = self._matrix[first : first + n_rows]
            scores = np.empty((len(rows), len(values), n_outputs))
            _native.scores_at_points(
                self._arrays, rows, place, values, scores, self.trees.n_threads
            )
            response = self._to_response(scores.reshape(-1, n_outputs))
            yield slice(first, first + n_rows), response.reshape(scores.shape)

    def _to_response(self, scores: Floats) -> Floats:
        return scores if self._prediction is None else self._prediction.of(scores)

    @cached_property
    def _matrix(self) -> Rows:
        """The rows in the features of the trees; not needed for means over the training rows."""
        return self.trees.matrix(self.table.X)

    @cached_property
    def _arrays(self) -> _native.EnsembleArrays:
        return self.trees.ensemble.native()


def _concatenated(several: Sequence[Points]) -> dict[int, NDArray[Any]]:
    """Return each column's values at the points of all grids, one grid after another.

    A grid without the column gets an arbitrary value, which it does not use.
    """
    by_column = {
        (place, k): values
        for k, points in enumerate(several)
        for place, values in zip(points.places, points.values, strict=True)
    }
    some = {place: values[:1] for (place, _), values in by_column.items()}
    return {
        place: np.concatenate(
            [
                by_column.get((place, k), value.repeat(len(points)))
                for k, points in enumerate(several)
            ]
        )
        for place, value in some.items()
    }


class PredictedWhatIf:
    """Any model, and rows whose columns can be replaced: its predictions for changed tables."""

    def __init__(self, model: Any, X: Any, response: str) -> None:
        self.model, self.table = model, UserTable(X)
        self.names = table_labels(self.table, model_labels(model, self.table.n_columns))
        self._method = _method_of(model, response)
        self.output_names = self._output_names()
        units = {"predict_proba": "probability", "decision_function": "score"}
        self.unit = units.get(self._method, "the target")

    def average(self, points: Points, weights: Floats | None) -> Floats:
        """Return the mean prediction over rows at each point, (points, outputs)."""
        if weights is None:
            return np.concatenate([predicted.mean(axis=1) for predicted in self._by_points(points)])
        weighted = [(one * weights[:, None]).sum(axis=1) for one in self._by_points(points)]
        return np.concatenate(weighted) / weights.sum()

    def individual(self, points: Points) -> Floats:
        """Return the prediction of each row at each point, (rows, points, outputs)."""
        return np.concatenate(list(self._by_points(points))).swapaxes(0, 1)

    def predict_at(self, points: Points, rows: Indices, at: Indices) -> Floats:
        """Return the predictions of rows, each at one point, (rows, outputs)."""
        return self._predictions(points.insert_into(self.table.take(rows), at))

    def _by_points(self, points: Points) -> Iterator[Floats]:
        """Yield the predictions at blocks of points, (points, rows, outputs).

        Few rows are predicted at many points in one call, because a call has a fixed cost.
        """
        n_rows = self.table.n_rows
        most_rows = min(_BLOCK_ROWS, _BLOCK_CELLS // self.table.n_columns)
        n_at_once = max(1, most_rows // n_rows)
        for first in range(0, len(points), n_at_once):
            at = np.arange(first, min(first + n_at_once, len(points)))
            repeated = self.table.take(np.tile(np.arange(n_rows), len(at)))
            predicted = self._predictions(points.insert_into(repeated, np.repeat(at, n_rows)))
            yield predicted.reshape(len(at), n_rows, -1)

    def _predictions(self, X: Any) -> Floats:
        """Return the predictions, (rows, outputs); for two classes, of the second one."""
        predicted = getattr(self.model, self._method)(X)
        by_target = predicted if isinstance(predicted, list) else [predicted]
        # Multilabel: an array has a column for each label, a list a pair of columns.
        is_multilabel = (
            isinstance(getattr(self.model, "classes_", None), list) and by_target is not predicted
        )
        columns = [_columns(np.asarray(one), self._method, is_multilabel) for one in by_target]
        return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)

    def _output_names(self) -> tuple[str, ...]:
        first = self._predictions(self.table.take(np.zeros(1, np.intp)).X)
        classes = getattr(self.model, "classes_", None)
        if self._method != "predict" and classes is not None:
            names = class_names(classes)
            if len(names) == first.shape[1]:
                return tuple(names)
        return tuple(number_names(first.shape[1]))


WhatIf = TreesWhatIf | PredictedWhatIf


def make_what_if(model: Any, X: Any, response: str) -> WhatIf:
    """Return a fitted model with the rows of a table; the response "auto" is the prediction."""
    RESPONSE.check(response)
    model = require_fitted(model)
    trees = trees_or_none(model)
    if trees is not None and trees.ensemble.slopes is None:
        return TreesWhatIf(trees, X, predicts=response != "score")
    return PredictedWhatIf(model, X if trees is None else trees.features(X), response)


def require_fitted(model: Any) -> Any:
    """Return the fitted model, or the best one of a search; raise if it is not fitted."""
    if isinstance(model, type) or not (hasattr(model, "fit") or hasattr(model, "predict")):
        raise ParameterError(
            f"model={short_repr(model)} is not allowed; it must be a fitted estimator."
        )
    if hasattr(model, "fit"):
        check_is_fitted(model)
    return getattr(model, "best_estimator_", model)


def trees_or_none(model: Any) -> AdditiveTrees | None:
    """Return a fitted model as additive trees, None if it is no tree ensemble."""
    try:
        return additive_trees(model)
    except NotFittedError:
        raise
    except ParameterError:
        return None


def features_of(trees: AdditiveTrees, table: UserTable, places: Sequence[int]) -> Indices:
    """Return the features of an ensemble that come from some columns of a table.

    The table may have its columns in another order than in `fit`.
    """
    fitted: Sequence[Any] = trees.feature_names.names or range(trees.n_columns)
    names = table.names
    columns = [
        fitted.index(names[place]) if names is not None and names[place] in fitted else place
        for place in places
    ]
    return np.flatnonzero((trees.sources[:, None] == columns).any(axis=1))


def table_labels(table: UserTable, of_model: Labels) -> Labels:
    """Return the column names of a table; if it has none, those of the model."""
    if table.names is None or are_positions(table.names):
        return of_model
    return labels_of(table.names, table.n_columns)


def model_labels(model: Any, n_columns: int) -> Labels:
    """Return the column names of a model, if it has this number of columns."""
    names = fitted_names(model)
    return labels_of(names if names is not None and len(names) == n_columns else None, n_columns)


def _method_of(model: Any, response: str) -> str:
    """Return the method that predicts: probabilities, decision scores, or numbers."""
    if is_outlier_detector(model):
        methods = ["decision_function", "score_samples"]
    elif not is_classifier(model):
        methods = ["predict"]
    elif response == "score":
        methods = ["decision_function"]
    else:
        methods = ["predict_proba", "decision_function"]
    for method in methods:
        if hasattr(model, method):
            return method
    raise ParameterError(
        f"response={response!r}: {type(model).__name__} has no {' or '.join(methods)}."
    )


def _columns(predicted: NDArray[Any], method: str, is_multilabel: bool) -> Floats:
    """Return predictions with a column for each output."""
    if predicted.dtype.kind not in "biuf":
        raise DataError(f"{method} of the model returns {predicted.dtype}, not numbers.")
    if predicted.ndim == 1:
        return predicted[:, np.newaxis].astype(np.float64)
    is_pair = method == "predict_proba" and predicted.shape[1] == 2 and not is_multilabel
    return predicted[:, 1:].astype(np.float64) if is_pair else predicted.astype(np.float64)
