"""Grids of columns: numbers, categories by frequency, and missing values as a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import (
    LabelColumn,
    NumericColumn,
    is_missing,
    labels_of_numbers,
    plain_label,
    refuse_infinite_column,
)
from hedgerow._data.names import Labels, listed
from hedgerow._data.sources import as_array
from hedgerow._params import Number, Parameter
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.explain._what_if import Points, WhatIf

# Categories of a column that are looked at, the most frequent ones.
MOST_CATEGORIES = 30
# Points of a pair of columns: more would be neither drawn nor read.
MOST_POINTS = 1_000_000
DECILES = np.arange(1, 10) / 10.0

RESOLUTION = Parameter("grid_resolution", 50, Number(2, 10_000, integer=True), "")
Feature = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Axis:
    """The values of one column at which a model is looked at.

    Attributes
    ----------
    name : str
    place : int
        The column of the table.
    values : array
        Increasing floats, then NaN if values are missing; or labels, the most frequent first, then
        None.
    is_categorical : bool
    deciles : array of shape (9,), or (0,) for categories
        Those of the column.
    left_out : int
        Categories that are too rare to be looked at.
    """

    name: str
    place: int
    values: NDArray[Any]
    is_categorical: bool
    deciles: Floats
    left_out: int = 0


def read_features(features: Any, names: Labels) -> tuple[list[Feature], bool]:
    """Return the columns of each feature or pair, and whether they were a list."""
    is_list = isinstance(features, list | np.ndarray)
    columns = list(features) if is_list else [features]
    if not columns:
        raise ParameterError("features is empty: name a column, a pair of columns, or several.")
    return [_read_feature(one, names) for one in columns], is_list


def _read_feature(feature: Any, names: Labels) -> Feature:
    is_pair = isinstance(feature, tuple) and feature not in (names.names or ())
    parts = feature if is_pair else (feature,)
    if len(parts) not in (1, 2):
        raise ParameterError(
            f"features has {feature!r}: one column or a pair can be looked at together, not "
            f"{len(parts)}. Several columns, each by itself, are a list."
        )
    columns = tuple(find_column(part, names, "features") for part in parts)
    if len(set(columns)) < len(columns):
        raise ParameterError(f"features has {feature!r}, which is one column twice.")
    return columns


def find_column(wanted: Any, names: Labels, argument: str) -> int:
    """Find a column by its name or its number."""
    return names.find(wanted, argument)


def read_percentiles(percentiles: Any) -> tuple[float, float]:
    """Check a pair of shares of rows."""
    allowed = Number(0, 1)
    is_pair = isinstance(percentiles, tuple | list) and len(percentiles) == 2
    if (
        not is_pair
        or any(p not in allowed for p in percentiles)
        or percentiles[0] >= percentiles[1]
    ):
        raise ParameterError(
            f"percentiles={percentiles!r} is not allowed; it must be two numbers in [0, 1], the "
            "smaller first."
        )
    return float(percentiles[0]), float(percentiles[1])


def read_grids(grid: Any, features: Sequence[Feature], names: Labels) -> dict[int, Any]:
    """Return the values that were given for columns: a dict, or the values of the one feature."""
    if grid is None:
        return {}
    columns = {column for feature in features for column in feature}
    if isinstance(grid, Mapping):
        given = {find_column(name, names, "grid"): values for name, values in grid.items()}
        extra = [names[column] for column in given if column not in columns]
        if extra:
            raise ParameterError(f"grid has values of {listed(extra)}, but features does not.")
        return given
    if len(columns) == 1:
        return {columns.pop(): grid}
    raise ParameterError(
        "grid must be a dict from columns to their values if there is more than one column."
    )


def categorical_columns(model: Any, names: Labels) -> set[int]:
    """Return the columns of numbers that a model takes for categories, as far as it tells."""
    schema = getattr(getattr(model, "_model", None), "schema", None)
    if schema is None:
        return set()
    known, own = schema.feature_names, names.names or tuple(names)
    if known is None or not set(known) <= set(own):
        return set(schema.categories)
    return {own.index(known[column]) for column in schema.categories}


def read_column(what_if: WhatIf, place: int, categorical: set[int]) -> NumericColumn | LabelColumn:
    """Read a column as numbers or, where the model does so, as labels."""
    column, where = what_if.table.column(place), f"X, column {what_if.names[place]!r}"
    if isinstance(column, LabelColumn) or place not in categorical:
        return column
    refuse_infinite_column(column, where)
    return labels_of_numbers(column, where)


@dataclass(frozen=True, eq=False)
class GridMaker:
    """How grids are made of columns."""

    resolution: int
    percentiles: tuple[float, float]
    given: Mapping[int, Any]

    def axis(self, name: str, place: int, column: NumericColumn | LabelColumn) -> Axis:
        """Return where a column is looked at."""
        if isinstance(column, LabelColumn):
            return self._of_labels(name, place, column)
        return self._of_numbers(name, place, column)

    def _of_numbers(self, name: str, place: int, column: NumericColumn) -> Axis:
        present = sorted_numbers(column, f"X, column {name!r}")
        quantiles = quantiles_of_sorted(present, np.append(self.percentiles, DECILES))
        if place in self.given:
            values = given_numbers(self.given[place], name)
        elif not len(present):
            raise DataError(f"features: X, column {name!r} has no value at all.")
        else:
            values = self._spread(present, quantiles[:2])
            if column.values.dtype == np.float32:  # which is what a model would see
                values = _without_repetition(values.astype(np.float32)).astype(np.float64)
            has_gaps = len(present) < len(column.values)
            values = np.append(values, np.nan) if has_gaps else values
            _require_two(values, name)
        return Axis(name, place, values, False, quantiles[2:])

    def _spread(self, present: NDArray[np.floating[Any]], between: Floats) -> Floats:
        """Return all values if they are few, else equal steps between two percentiles.

        If these are the same number, as in a column that is mostly 0, steps go from end to end.
        """
        if np.count_nonzero(present[1:] != present[:-1]) < self.resolution - 1:
            return _without_repetition(present).astype(np.float64)
        low, high = between.tolist()
        if isclose(low, high, rel_tol=1e-5, abs_tol=1e-8):
            low, high = present[0], present[-1]
        return np.linspace(low, high, self.resolution)

    def _of_labels(self, name: str, place: int, column: LabelColumn) -> Axis:
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.labels))
        found: list[Any] = [k for k in range(len(column.labels)) if counts[k]]
        found.sort(key=lambda k: (-counts[k], column.labels[k]))
        shown = [column.labels[k] for k in found[:MOST_CATEGORIES]]
        if place in self.given:
            values = given_labels(self.given[place], name)
        else:
            values = as_objects([*shown, None] if (column.codes < 0).any() else shown)
            _require_two(values, name)
        left_out = 0 if place in self.given else len(found) - len(shown)
        return Axis(name, place, values, True, np.empty(0), left_out)


def _without_repetition(increasing: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    return increasing[np.append(True, increasing[1:] != increasing[:-1])]


def sorted_numbers(column: NumericColumn, where: str) -> NDArray[np.floating[Any]]:
    """Return the numbers of a column in increasing order, without missing ones; float32 stays so.

    Raises if there are infinities, which come first and last.
    """
    dtype = column.values.dtype
    numbers = column.values.astype(dtype if dtype == np.float32 else np.float64)
    if column.missing is not None:
        numbers[column.missing] = np.nan
    numbers.sort()  # which puts NaN last
    present = numbers[: np.searchsorted(numbers, np.nan)]
    if np.isinf(present[:1]).any() or np.isinf(present[-1:]).any():
        refuse_infinite_column(column, where)
    return present


def quantiles_of_sorted(numbers: NDArray[np.floating[Any]], shares: Floats) -> Floats:
    """Return quantiles of increasing numbers, as scikit-learn's partial dependence takes them.

    Of n numbers the k-th is the quantile of (k − 0.4) / (n + 0.2); between two there is a line. Of
    no numbers there are none.
    """
    if not len(numbers):
        return np.empty(0)
    place = len(numbers) * shares + (0.4 + shares * (1.0 - 0.4 - 0.4))  # its very roundings
    below = np.clip(np.floor(place).astype(np.intp), 1, max(len(numbers) - 1, 1))
    part = np.clip(place - below, 0.0, 1.0)
    above = np.minimum(below, len(numbers) - 1)
    return (1.0 - part) * numbers[below - 1] + part * numbers[above]


def given_numbers(given: Any, name: str) -> Floats:
    """Read values of a column of numbers from a user."""
    try:
        array = as_array(given, "grid")
        if array.dtype.kind == "c":
            raise TypeError("they are complex")
        values = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"grid: the values of {name!r} are not numbers: {error}") from error
    if values.ndim != 1 or not len(values) or np.isinf(values).any():
        raise ParameterError(
            f"grid: the values of {name!r} must be one or more finite numbers, or NaN for missing."
        )
    return values


def given_labels(given: Any, name: str) -> NDArray[Any]:
    """Read values of a column of labels from a user."""
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise ParameterError(f"grid: the values of {name!r} must be a list, not {given!r}.")
    labels = [None if is_missing(value) else plain_label(value) for value in given]
    if not labels or len(set(labels)) < len(labels):
        raise ParameterError(f"grid: the values of {name!r} must be one or more different labels.")
    return as_objects(labels)


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return a 1-d array of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _require_two(values: NDArray[Any], name: str) -> None:
    if len(values) < 2:
        raise DataError(
            f"features: X, column {name!r} has the one value {values[0]}, so that nothing can be "
            "said of others. Give grid to look at values that X does not have."
        )


def points_of(axes: Sequence[Axis]) -> Points:
    """Return every combination of the axes' values, the last one changing fastest."""
    lengths = [len(axis.values) for axis in axes]
    if prod(lengths) > MOST_POINTS:
        raise ParameterError(
            f"features: {' and '.join(axis.name for axis in axes)} together have "
            f"{' × '.join(map(str, lengths))} points, but at most {MOST_POINTS} can be looked at. "
            "Lower grid_resolution, or give a smaller grid."
        )
    if len(axes) == 1:
        return Points((axes[0].place,), (axes[0].values,))
    indices = np.indices(lengths).reshape(len(axes), -1)
    values = [axis.values[index] for axis, index in zip(axes, indices, strict=True)]
    return Points(tuple(axis.place for axis in axes), tuple(values))
