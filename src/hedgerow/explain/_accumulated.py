"""Accumulated local effects: what a model adds as a column rises step by step (Apley and Zhu).

Rows are only moved to the ends of the cell they lie in, so that columns which go together stay
nearly so. The mean differences of the cells are added up from left to right.
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
    categorical_columns,
    given_numbers,
    points_of,
    quantiles_of_sorted,
    read_column,
    read_features,
    read_grids,
    sorted_numbers,
)
from hedgerow.explain._partial import grid_columns
from hedgerow.explain._similarity import order_by_similarity, quantiles
from hedgerow.explain._what_if import WhatIf, fitted, make_what_if

_NOWHERE = -1  # the cell of a row that is in none


@dataclass(frozen=True, repr=False, eq=False)
class AccumulatedEffects(Result):
    """What a model adds as one column rises, or two do together beyond what each does by itself.

    Attributes
    ----------
    features : tuple of str
        The column, or both.
    grid : tuple of arrays
        Of each column, the ends of its cells: floats; or labels in the order they were taken in.
    average : array of shape (points[, points], outputs)
        The effect at each point. Its mean over the rows is 0; of two columns it is what is left
        when their own effects are taken away.
    deciles : tuple of arrays
        Of each column, its nine deciles; empty for categories.
    is_categorical : tuple of bool
        Of each column, whether its values are labels.
    left_out : tuple of int
        Of each column, the number of categories that are too rare to be in the grid.
    output_names : tuple of str
        Classes, quantiles or targets.
    unit : str
        What effects are measured in, such as "probability" or "log-odds".
    n_rows : int
        Rows that lie in a cell; rows with a missing value in the column do not.
    """

    measure: ClassVar[str] = "effect on"  # of what `unit` says

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
        return f"AccumulatedEffects of {what} on {self.unit}: {points} points, {self.n_rows} rows"

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

    A numeric column is split into cells with about equally many rows. The rows of a cell are
    moved to its two ends, all else stays as it is, and the mean difference of what the model says
    is what it adds from one end to the other. Unlike partial dependence, no row gets a value that
    is far from its own.

    Parameters
    ----------
    model : fitted estimator
        Any of this library's or of scikit-learn's make, a pipeline, or a search.
    X : table of shape (n_rows, n_features)
        The rows, as `predict` takes them.
    features : str, int, pair (tuple) of those, or list
        A column by its name or, where no column is named by a number, by its place from 0 on; a
        pair for what two do together beyond what each does by itself; a list of any of these for
        several results.
    grid_resolution : int
        Ends of the cells of a column of numbers, which are quantiles of it.
    grid : dict from column to values, or values, optional
        Ends of cells to use instead; rows beyond them are left out. Of labels, the order that they
        are taken in: without it, labels whose rows are alike in the other columns follow each
        other. The 30 most frequent ones are taken.
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
        With ``grid`` and ``average``; to print, to plot, or to take as a data frame.

    Notes
    -----
    Labels have no order of their own: the effect from one label to the next is the mean over the
    rows of both, and how far two labels are apart depends on those between them. Where a pair of
    cells has no rows, the nearest pair of cells that has some tells its difference.

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
    wanted, is_list = read_features(features, what_if.names)
    given = read_grids(grid, wanted, what_if.names)
    maker = _StepMaker(
        what_if, grid_resolution, given, categorical_columns(fitted(model), what_if.names)
    )
    steps = {place: maker.steps(place) for feature in wanted for place in feature}
    rows = np.ones(what_if.table.n_rows) if weights is None else weights
    run = _EffectAccumulator(what_if, rows)
    shown = with_progress(wanted, len(wanted), verbose, unit="feature", title="accumulated effects")
    results = [run.result([steps[place] for place in feature]) for feature in shown]
    return results if is_list else results[0]


@dataclass(frozen=True, eq=False)
class _Steps:
    """The points of a column, and where rows lie among them.

    Cell c is that between points c and c + 1. A row with a number lies in one cell, whose ends
    stand for it by half each. A row with a label is at a point, and counts for the cells on both
    sides of it.
    """

    axis: Axis
    cells: NDArray[np.intp]  # (n_rows, 2)
    ends: NDArray[np.intp]  # (n_rows, 2)

    @property
    def n_cells(self) -> int:
        return len(self.axis.values) - 1

    @property
    def is_inside(self) -> NDArray[np.bool_]:
        return self.ends[:, 0] != _NOWHERE


@dataclass(frozen=True, eq=False)
class _StepMaker:
    """How the columns of a table are split into cells."""

    what_if: WhatIf
    resolution: int
    given: dict[int, Any]
    categorical: set[int]

    def steps(self, place: int) -> _Steps:
        """Split a column into cells."""
        column = read_column(self.what_if, place, self.categorical)
        if isinstance(column, LabelColumn):
            return self._of_labels(place, column)
        return self._of_numbers(place, column)

    def _of_numbers(self, place: int, column: NumericColumn) -> _Steps:
        name, missing = self.what_if.names[place], column.is_missing()
        numbers = column.values.astype(np.float64)
        numbers[missing] = np.nan
        present = sorted_numbers(column, f"X, column {name!r}").astype(np.float64)
        if place in self.given:
            edges = np.unique(given_numbers(self.given[place], name))
            edges = edges[~np.isnan(edges)]
        else:
            edges = quantiles(present, self.resolution)
        _require_cells(edges, name, is_given=place in self.given)
        cell = np.maximum(np.searchsorted(edges, numbers, side="left") - 1, 0)
        inside = (numbers >= edges[0]) & (numbers <= edges[-1])
        cell = np.where(inside, cell, _NOWHERE)
        nothing = np.full(len(cell), _NOWHERE)
        ends = np.column_stack([cell, np.where(inside, cell + 1, _NOWHERE)])
        axis = Axis(name, place, edges, False, quantiles_of_sorted(present, DECILES))
        return _Steps(axis, np.column_stack([cell, nothing]), ends)

    def _of_labels(self, place: int, column: LabelColumn) -> _Steps:
        name = self.what_if.names[place]
        axis = GridMaker(self.resolution, (0.0, 1.0), self.given).axis(name, place, column)
        levels = [label for label in axis.values if label is not None]
        code = {label: k for k, label in enumerate(column.labels)}
        absent = [label for label in levels if label not in code]
        if absent:
            raise ParameterError(
                f"grid: no row of X has the category {absent[0]!r} in the column {name!r}, so that "
                "nothing leads to it."
            )
        if place not in self.given:
            codes = [code[label] for label in levels]
            others = [
                read_column(self.what_if, other, self.categorical)
                for other in range(self.what_if.table.n_columns)
                if other != place
            ]
            levels = [levels[k] for k in order_by_similarity(column.codes, codes, levels, others)]
        _require_cells(np.array(levels, object), name, is_given=place in self.given)
        level_of = np.full(len(column.labels) + 1, _NOWHERE)
        level_of[[code[label] for label in levels]] = np.arange(len(levels))
        level = level_of[column.codes]  # missing, code −1, gets the last entry
        after = np.where(level < len(levels) - 1, level, _NOWHERE)
        before = np.where(level > 0, level - 1, _NOWHERE)
        axis = Axis(name, place, as_objects(levels), True, np.empty(0), axis.left_out)
        return _Steps(axis, np.column_stack([before, after]), np.column_stack([level, level]))


def _require_cells(edges: NDArray[Any], name: str, *, is_given: bool) -> None:
    if len(edges) >= 2:
        return
    if is_given:
        raise ParameterError(f"grid: the values of {name!r} must be two or more, not {edges}.")
    raise DataError(
        f"features: X, column {name!r} has fewer than two values, so that there is no step."
    )


@dataclass(frozen=True, eq=False)
class _EffectAccumulator:
    """The model, and the weights of the rows."""

    what_if: WhatIf
    weights: Floats

    def result(self, steps: Sequence[_Steps]) -> AccumulatedEffects:
        """Find the effect of a column or of a pair."""
        inside = np.logical_and.reduce([one.is_inside for one in steps])
        if not self.weights[inside].sum() > 0.0:
            names = " and ".join(one.axis.name for one in steps)
            raise DataError(f"features: no row of X that counts has a value of {names} in a cell.")
        rows = np.flatnonzero(inside & (self.weights > 0.0))
        effect = self._single(steps[0], rows) if len(steps) == 1 else self._pair(steps, rows)
        axes = [one.axis for one in steps]
        return AccumulatedEffects(
            features=tuple(axis.name for axis in axes),
            grid=tuple(axis.values for axis in axes),
            average=effect,
            deciles=tuple(axis.deciles for axis in axes),
            is_categorical=tuple(axis.is_categorical for axis in axes),
            left_out=tuple(axis.left_out for axis in axes),
            output_names=self.what_if.output_names,
            unit=self.what_if.unit,
            n_rows=len(rows),
        )

    def _single(self, steps: _Steps, rows: NDArray[np.intp]) -> Floats:
        points = points_of([steps.axis])
        moved, slot = np.nonzero(steps.cells[rows] != _NOWHERE)
        moved = rows[moved]
        cell = steps.cells[moved, slot]
        differences = self.what_if.at_own_points(
            points, moved, cell + 1
        ) - self.what_if.at_own_points(points, moved, cell)
        local = _cell_means(differences, cell, self.weights[moved], (steps.n_cells,))
        effect = _accumulated(local, axis=0)
        share = np.zeros(len(effect))
        for side in range(2):
            np.add.at(share, steps.ends[rows, side], self.weights[rows])
        return effect - _weighted_mean(effect, share, axis=0)

    def _pair(self, steps: Sequence[_Steps], rows: NDArray[np.intp]) -> Floats:
        first, second = steps
        points, n_second = points_of([first.axis, second.axis]), len(second.axis.values)
        moved, cells = _common_cells(first, second, rows)

        def at(i: int, j: int) -> Floats:
            return self.what_if.at_own_points(
                points, moved, (cells[0] + i) * n_second + cells[1] + j
            )

        differences = (at(1, 1) - at(0, 1)) - (at(1, 0) - at(0, 0))
        shape = first.n_cells, second.n_cells
        flat = cells[0] * second.n_cells + cells[1]
        local = _cell_means(differences, flat, self.weights[moved], shape)
        effect = _accumulated(_accumulated(local, axis=0), axis=1)
        effect = (
            effect
            - self._own_effect(effect, first, second, rows)[:, np.newaxis]
            - self._own_effect(effect.swapaxes(0, 1), second, first, rows)
        )
        share = np.zeros(effect.shape[:2])
        for side, other in product(range(2), repeat=2):
            np.add.at(share, (first.ends[rows, side], second.ends[rows, other]), self.weights[rows])
        return effect - _weighted_mean(effect.reshape(-1, effect.shape[2]), share.reshape(-1), 0)

    def _own_effect(
        self, effect: Floats, along: _Steps, across: _Steps, rows: NDArray[np.intp]
    ) -> Floats:
        """Return the accumulated effect along one column of an effect of two, (points, outputs)."""
        share = np.zeros((along.n_cells, len(across.axis.values)))
        for slot, side in product(range(2), repeat=2):
            cell = along.cells[rows, slot]
            counted = rows[cell != _NOWHERE]
            where = cell[cell != _NOWHERE], across.ends[counted, side]
            np.add.at(share, where, self.weights[counted])
        return _accumulated(_weighted_mean(np.diff(effect, axis=0), share, axis=1), axis=0)


def _common_cells(
    first: _Steps, second: _Steps, rows: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows, repeated for every pair of cells that they count for, and these cells."""
    moved, cells = [], []
    for slots in product(range(2), repeat=2):
        pair = np.stack([first.cells[rows, slots[0]], second.cells[rows, slots[1]]])
        counts = (pair != _NOWHERE).all(axis=0)
        moved.append(rows[counts])
        cells.append(pair[:, counts])
    return np.concatenate(moved), np.concatenate(cells, axis=1)


def _cell_means(
    differences: Floats, cell: NDArray[np.intp], weights: Floats, shape: tuple[int, ...]
) -> Floats:
    """Return the mean difference of each cell, (*shape, outputs); an empty one has its nearest's.

    Distances are counted in cells, as parts of the number of cells of the column.
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


def _accumulated(local: Floats, axis: int) -> Floats:
    """Add differences up along an axis, from 0 on."""
    summed = np.cumsum(local, axis=axis)
    return np.concatenate([np.zeros_like(summed.take([0], axis)), summed], axis=axis)


def _weighted_mean(values: Floats, weights: Floats, axis: int) -> Floats:
    """Return means over an axis of values (…, outputs); plain ones where nothing weighs."""
    total = weights.sum(axis=axis, keepdims=True)
    shares = np.where(
        total > 0.0, weights / np.where(total > 0.0, total, 1.0), 1.0 / weights.shape[axis]
    )
    return (values * shares[..., np.newaxis]).sum(axis=axis)
