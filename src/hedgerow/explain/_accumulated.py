"""Accumulated local effects: how the prediction changes along a feature (Apley and Zhu).

Rows are only moved to the ends of the cell that they lie in, so that correlated features stay
nearly consistent. The mean differences of the cells are accumulated from left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._arguments import with_argument_hints
from hedgerow._data.columns import LabelColumn, NumericColumn
from hedgerow._data.target import read_weights
from hedgerow._params import VERBOSE
from hedgerow._progress import with_progress
from hedgerow._result import Columns, Result
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.explain._grid import (
    DECILES,
    RESOLUTION,
    Axis,
    GridMaker,
    as_objects,
    axis_fields,
    categorical_columns,
    custom_numbers,
    order_by_similarity,
    points_of,
    quantiles,
    quantiles_of_sorted,
    read_features,
    read_grids,
    sorted_numbers,
)
from hedgerow.explain._partial import grid_columns
from hedgerow.explain._what_if import WhatIf, make_what_if, require_fitted

_NO_CELL = -1  # of a row that lies in no cell


@dataclass(frozen=True, repr=False, eq=False)
class AccumulatedEffects(Result):
    """Accumulated local effects of one column, or the joint effect of two columns.

    Attributes
    ----------
    features : tuple of str
        The column or the two columns.
    grid : tuple of arrays
        For each column, the edges of its cells (floats), or its categories in the order used.
    average : array of shape (points[, points], outputs)
        The effect at each point, with mean 0 over the rows. For two columns it is the joint
        effect without their individual effects.
    deciles : tuple of arrays
        For each column, its nine deciles; empty for categorical columns.
    is_categorical : tuple of bool
        For each column, whether it is categorical.
    left_out : tuple of int
        For each column, the number of categories that are too rare to be in the grid.
    output_names : tuple of str
        Classes, quantiles or targets.
    unit : str
        Unit of the effects, such as "probability" or "log-odds".
    n_rows : int
        Number of rows in the cells; rows with a missing value in the column are not counted.
    """

    measure: ClassVar[str] = "effect on"  # of the unit

    features: tuple[str, ...]
    grid: tuple[NDArray[Any], ...]
    average: Floats
    deciles: tuple[Floats, ...]
    is_categorical: tuple[bool, ...]
    left_out: tuple[int, ...]
    output_names: tuple[str, ...]
    unit: str
    n_rows: int

    def _title(self) -> str:
        points = " × ".join(str(len(values)) for values in self.grid)
        what = " and ".join(self.features) + (" together" if len(self.features) > 1 else "")
        return f"AccumulatedEffects of {what} ({self.unit}): {points} points, {self.n_rows} rows"

    def _columns(self) -> Columns:
        return grid_columns(self.features, self.grid, self.output_names, self.average)


@with_argument_hints
def accumulated_effects(
    model: Any,
    X: Any,
    features: Any,
    *,
    grid_resolution: int = 50,
    grid: Any = None,
    response: str = "auto",
    sample_weight: Any = None,
    verbose: int = 0,
) -> Any:
    """Return the accumulated local effects of columns (Apley and Zhu, 2020).

    A numeric column is divided into cells with about equally many rows. In each row of a cell, the
    column is set to both edges of the cell, while all other columns stay unchanged; the mean
    difference of the two predictions is the local effect of the cell. Unlike in partial dependence,
    no row gets a value that is far from its own.

    Parameters
    ----------
    model : fitted estimator
        An estimator of Hedgerow or scikit-learn, a pipeline, or a search.
    X : table of shape (n_rows, n_features)
        The rows, in any form that `predict` accepts.
    features : str, int, pair (tuple) of those, or list
        A column by its name or (if no column has an integer name) by its index; a pair for the
        joint effect of two columns beyond their individual effects; a list of these for several
        results.
    grid_resolution : int
        Number of cell edges of a numeric column, which are quantiles of it.
    grid : dict from column to values, or values, optional
        Cell edges to use instead; rows outside them are ignored. For a categorical column, the
        categories in the order to use. By default these are the 30 most frequent categories,
        ordered by the similarity of their rows in the other columns.
    response : {"auto", "score", "prediction"}
        Which output of the model is used: its raw score (for a boosted classifier the log-odds) or
        its prediction, such as a probability. "auto" is the prediction.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows in the means.
    verbose : int
        As in the estimators: 0 is silent; otherwise a progress bar, or a line every few features.

    Returns
    -------
    AccumulatedEffects, or a list of them
        With ``grid`` and ``average``; it can be printed, plotted, or converted to a data frame.

    Notes
    -----
    Categories have no natural order: the effect from one category to the next is the mean over the
    rows of both, and the difference between two categories depends on those between them. A pair of
    cells without rows gets the effect of the nearest pair with rows.

    References
    ----------
    Apley and Zhu, "Visualizing the effects of predictor variables in black box supervised learning
    models", Journal of the Royal Statistical Society B 82 (2020).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = hr.GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> effects = hr.explain.accumulated_effects(model, X, "bmi", grid_resolution=10)
    >>> effects.average.shape
    (10, 1)
    """
    RESOLUTION.check(grid_resolution)
    VERBOSE.check(verbose)
    what_if = make_what_if(model, X, response)
    weights = read_weights(sample_weight, what_if.table.n_rows)
    columns, is_list = read_features(features, what_if.names)
    custom = read_grids(grid, columns, what_if.names)
    categorical = categorical_columns(require_fitted(model), what_if.names)
    maker = _CellMaker(what_if, categorical, custom, grid_resolution)
    cells = {place: maker.cells(place) for feature in columns for place in feature}
    rows = np.ones(what_if.table.n_rows) if weights is None else weights
    accumulator = _EffectAccumulator(what_if, rows)
    features = with_progress(
        columns, len(columns), verbose, unit="feature", title="accumulated effects"
    )
    results = [accumulator.result([cells[place] for place in feature]) for feature in features]
    return results if is_list else results[0]


@dataclass(frozen=True, eq=False)
class _Cells:
    """The grid points of a column, and the cells between them that each row belongs to.

    Cell c lies between points c and c + 1. A row with a number lies in one cell and counts half for
    each of its ends. A row with a category lies at a point and belongs to the cells on both sides.
    """

    axis: Axis
    of_row: NDArray[np.intp]  # (n_rows, 2)
    ends: NDArray[np.intp]  # (n_rows, 2)

    @property
    def n_cells(self) -> int:
        return len(self.axis.values) - 1

    @property
    def is_inside(self) -> NDArray[np.bool_]:
        return self.ends[:, 0] != _NO_CELL


@dataclass(frozen=True, eq=False)
class _CellMaker(GridMaker):
    """Divides the columns of a table into cells."""

    def cells(self, place: int) -> _Cells:
        """Divide a column into cells."""
        column = self.column(place)
        if isinstance(column, LabelColumn):
            return self._of_labels(place, column)
        return self._of_numbers(place, column)

    def _of_numbers(self, place: int, column: NumericColumn) -> _Cells:
        name, numbers = self.what_if.names[place], column.floats()
        present = sorted_numbers(column, self.where(place)).astype(np.float64)
        if place in self.custom:
            edges = np.unique(custom_numbers(self.custom[place], name))
            edges = edges[~np.isnan(edges)]
        else:
            edges = quantiles(present, self.resolution)
        _require_cells(edges, name, is_custom=place in self.custom)
        cell = np.maximum(np.searchsorted(edges, numbers, side="left") - 1, 0)
        inside = (numbers >= edges[0]) & (numbers <= edges[-1])
        cell = np.where(inside, cell, _NO_CELL)
        nothing = np.full(len(cell), _NO_CELL)
        ends = np.column_stack([cell, np.where(inside, cell + 1, _NO_CELL)])
        axis = Axis(name, place, edges, False, quantiles_of_sorted(present, DECILES))
        return _Cells(axis, np.column_stack([cell, nothing]), ends)

    def _of_labels(self, place: int, column: LabelColumn) -> _Cells:
        name = self.what_if.names[place]
        axis = self.axis(place)
        levels = [label for label in axis.values if label is not None]
        code = {label: k for k, label in enumerate(column.labels)}
        absent = [label for label in levels if label not in code]
        if absent:
            raise ParameterError(
                f"grid: no row of X has the category {absent[0]!r} in column {name!r}, so its "
                "effect cannot be computed."
            )
        if place not in self.custom:
            codes = [code[label] for label in levels]
            n_columns = self.what_if.table.n_columns
            others = [self.column(other) for other in range(n_columns) if other != place]
            levels = [levels[k] for k in order_by_similarity(column.codes, codes, levels, others)]
        _require_cells(np.array(levels, object), name, is_custom=place in self.custom)
        level_of = np.full(len(column.labels) + 1, _NO_CELL)
        level_of[[code[label] for label in levels]] = np.arange(len(levels))
        level = level_of[column.codes]  # missing, code −1, gets the last entry
        after = np.where(level < len(levels) - 1, level, _NO_CELL)
        before = np.where(level > 0, level - 1, _NO_CELL)
        axis = Axis(name, place, as_objects(levels), True, np.empty(0), axis.left_out)
        return _Cells(axis, np.column_stack([before, after]), np.column_stack([level, level]))


def _require_cells(edges: NDArray[Any], name: str, *, is_custom: bool) -> None:
    if len(edges) >= 2:
        return
    if is_custom:
        raise ParameterError(f"grid: {name!r} needs two or more values, not {edges}.")
    raise DataError(
        f"features: X, column {name!r} has fewer than two distinct values, so it has no effect."
    )


@dataclass(frozen=True, eq=False)
class _EffectAccumulator:
    """Accumulates the effects of a model over weighted rows."""

    what_if: WhatIf
    weights: Floats

    def result(self, columns: Sequence[_Cells]) -> AccumulatedEffects:
        """Return the effect of a column or of a pair."""
        inside = np.logical_and.reduce([cells.is_inside for cells in columns])
        if not self.weights[inside].sum() > 0.0:
            names = " and ".join(cells.axis.name for cells in columns)
            raise DataError(
                f"features: no row of X with a positive weight lies in a cell of {names}."
            )
        rows = np.flatnonzero(inside & (self.weights > 0.0))
        effect = self._single(columns[0], rows) if len(columns) == 1 else self._pair(columns, rows)
        return AccumulatedEffects(
            **axis_fields([cells.axis for cells in columns]),
            average=effect,
            output_names=self.what_if.output_names,
            unit=self.what_if.unit,
            n_rows=len(rows),
        )

    def _single(self, column: _Cells, rows: NDArray[np.intp]) -> Floats:
        points = points_of([column.axis])
        moved, slot = np.nonzero(column.of_row[rows] != _NO_CELL)
        moved = rows[moved]
        cell = column.of_row[moved, slot]
        differences = self.what_if.predict_at(points, moved, cell + 1) - self.what_if.predict_at(
            points, moved, cell
        )
        local = _mean_by_cell(differences, cell, self.weights[moved], (column.n_cells,))
        effect = _accumulate(local, axis=0)
        share = np.zeros(len(effect))
        for side in range(2):
            np.add.at(share, column.ends[rows, side], self.weights[rows])
        return effect - _weighted_mean(effect, share, axis=0)

    def _pair(self, columns: Sequence[_Cells], rows: NDArray[np.intp]) -> Floats:
        first, second = columns
        points, n_second = points_of([first.axis, second.axis]), len(second.axis.values)
        moved, cells = _common_cells(first, second, rows)

        def at(i: int, j: int) -> Floats:
            return self.what_if.predict_at(points, moved, (cells[0] + i) * n_second + cells[1] + j)

        differences = (at(1, 1) - at(0, 1)) - (at(1, 0) - at(0, 0))
        shape = first.n_cells, second.n_cells
        flat = cells[0] * second.n_cells + cells[1]
        local = _mean_by_cell(differences, flat, self.weights[moved], shape)
        effect = _accumulate(_accumulate(local, axis=0), axis=1)
        effect = (
            effect
            - self._single_effect(effect, first, second, rows)[:, np.newaxis]
            - self._single_effect(effect.swapaxes(0, 1), second, first, rows)
        )
        share = np.zeros(effect.shape[:2])
        for side, other in product(range(2), repeat=2):
            np.add.at(share, (first.ends[rows, side], second.ends[rows, other]), self.weights[rows])
        return effect - _weighted_mean(effect.reshape(-1, effect.shape[2]), share.reshape(-1), 0)

    def _single_effect(
        self, effect: Floats, along: _Cells, across: _Cells, rows: NDArray[np.intp]
    ) -> Floats:
        """Return the effect along one column of an effect of two, (points, outputs)."""
        share = np.zeros((along.n_cells, len(across.axis.values)))
        for slot, side in product(range(2), repeat=2):
            cell = along.of_row[rows, slot]
            counted = rows[cell != _NO_CELL]
            where = cell[cell != _NO_CELL], across.ends[counted, side]
            np.add.at(share, where, self.weights[counted])
        return _accumulate(_weighted_mean(np.diff(effect, axis=0), share, axis=1), axis=0)


def _common_cells(
    first: _Cells, second: _Cells, rows: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows, repeated for every pair of cells that they belong to, and these cells."""
    moved, cells = [], []
    for slots in product(range(2), repeat=2):
        pair = np.stack([first.of_row[rows, slots[0]], second.of_row[rows, slots[1]]])
        counts = (pair != _NO_CELL).all(axis=0)
        moved.append(rows[counts])
        cells.append(pair[:, counts])
    return np.concatenate(moved), np.concatenate(cells, axis=1)


def _mean_by_cell(
    differences: Floats, cell: NDArray[np.intp], weights: Floats, shape: tuple[int, ...]
) -> Floats:
    """Return the mean difference of each cell, (*shape, outputs); for empty cells the nearest one.

    Distances are measured in cells, relative to the number of cells of the column.
    """
    n_cells = int(np.prod(shape))
    total = np.bincount(cell, weights, minlength=n_cells)
    sums = [np.bincount(cell, weights * column, minlength=n_cells) for column in differences.T]
    filled = np.flatnonzero(total > 0.0)
    means = np.stack(sums, axis=1)[filled] / total[filled, np.newaxis]
    place = (np.indices(shape).reshape(len(shape), -1).T + 0.5) / np.array(shape)
    nearest = np.arange(n_cells)
    nearest[filled] = np.arange(len(filled))
    for empty in np.flatnonzero(~(total > 0.0)):
        nearest[empty] = ((place[filled] - place[empty]) ** 2).sum(axis=1).argmin()
    return means[nearest].reshape(*shape, differences.shape[1])


def _accumulate(local: Floats, axis: int) -> Floats:
    """Return the cumulative sum along an axis, starting with 0."""
    summed = np.cumsum(local, axis=axis)
    return np.concatenate([np.zeros_like(summed.take([0], axis)), summed], axis=axis)


def _weighted_mean(values: Floats, weights: Floats, axis: int) -> Floats:
    """Return means over an axis of values (…, outputs), unweighted if all weights are 0."""
    total = weights.sum(axis=axis, keepdims=True)
    shares = np.where(
        total > 0.0, weights / np.where(total > 0.0, total, 1.0), 1.0 / weights.shape[axis]
    )
    return (values * shares[..., np.newaxis]).sum(axis=axis)
