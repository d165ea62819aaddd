"""Grids of columns: numbers, categories by frequency or similarity, and missing values."""

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

# Number of categories in a grid, the most frequent ones.
MOST_CATEGORIES = 30
# Points of a pair of columns: more could neither be plotted nor read.
MOST_POINTS = 1_000_000
DECILES = np.arange(1, 10) / 10.0
# Number of quantiles at which two distributions are compared.
_QUANTILES = 100
# Positions that differ by less than this fraction of the range are equal up to rounding.
_ROUNDING = 1e-9

RESOLUTION = Parameter("grid_resolution", 50, Number(2, 10_000, integer=True), "")
Feature = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Axis:
    """The grid values of one column.

    Values are increasing floats, with NaN last if values are missing; or categories, the most
    frequent first, with None last if values are missing.
    """

    name: str
    place: int  # index of the column
    values: NDArray[Any]
    is_categorical: bool
    deciles: Floats  # nine of them; none for categories
    left_out: int = 0  # number of categories that are too rare to be in the grid


def read_features(features: Any, names: Labels) -> tuple[list[Feature], bool]:
    """Return the column indices of each feature or pair, and whether `features` is a list."""
    is_list = isinstance(features, list | np.ndarray)
    columns = list(features) if is_list else [features]
    if not columns:
        raise ParameterError(
            "features is empty; name a column, a pair of columns, or a list of these."
        )
    return [_read_feature(one, names) for one in columns], is_list


def _read_feature(feature: Any, names: Labels) -> Feature:
    is_pair = isinstance(feature, tuple) and feature not in (names.names or ())
    parts = feature if is_pair else (feature,)
    if len(parts) not in (1, 2):
        raise ParameterError(
            f"features has {feature!r}: a tuple must have one or two columns, not {len(parts)}. "
            "For several columns one by one, use a list."
        )
    columns = tuple(names.find(part, "features") for part in parts)
    if len(set(columns)) < len(columns):
        raise ParameterError(f"features has {feature!r}, which is the same column twice.")
    return columns


def read_percentiles(percentiles: Any) -> tuple[float, float]:
    """Check a pair of percentiles."""
    is_pair = isinstance(percentiles, tuple | list) and len(percentiles) == 2
    are_shares = is_pair and all(p in Number(0, 1) for p in percentiles)
    if not are_shares or percentiles[0] >= percentiles[1]:
        raise ParameterError(
            f"percentiles={percentiles!r} is not allowed; it must be two numbers in [0, 1], the "
            "smaller first."
        )
    return float(percentiles[0]), float(percentiles[1])


def read_grids(grid: Any, features: Sequence[Feature], names: Labels) -> dict[int, Any]:
    """Return the custom grid values by column: from a dict, or for the only feature."""
    if grid is None:
        return {}
    columns = {column for feature in features for column in feature}
    if isinstance(grid, Mapping):
        custom = {names.find(name, "grid"): values for name, values in grid.items()}
        extra = [names[column] for column in custom if column not in columns]
        if extra:
            raise ParameterError(f"grid has values for {listed(extra)}, which is not in features.")
        return custom
    if len(columns) == 1:
        return {columns.pop(): grid}
    raise ParameterError(
        "grid must be a dict from columns to their values if there is more than one column."
    )


def categorical_columns(model: Any, names: Labels) -> set[int]:
    """Return the numeric columns that a model of this library treats as categorical."""
    schema = getattr(getattr(model, "_model", None), "schema", None)
    if schema is None:
        return set()
    fitted, current = schema.feature_names, names.names or tuple(names)
    if fitted is None or not set(fitted) <= set(current):
        return set(schema.categories)
    return {current.index(fitted[column]) for column in schema.categories}


@dataclass(frozen=True, eq=False)
class GridMaker:
    """Makes the grids of the columns of a table."""

    what_if: WhatIf
    categorical: set[int]  # numeric columns that the model treats as categorical
    custom: Mapping[int, Any]
    resolution: int
    percentiles: tuple[float, float] = (0.0, 1.0)

    def column(self, place: int) -> NumericColumn | LabelColumn:
        """Read a column as numbers or, if the model treats it as categorical, as labels."""
        column, where = self.what_if.table.column(place), self.where(place)
        if isinstance(column, LabelColumn) or place not in self.categorical:
            return column
        refuse_infinite_column(column, where)
        return labels_of_numbers(column, where)

    def where(self, place: int) -> str:
        """Return a column for messages."""
        return f"X, column {self.what_if.names[place]!r}"

    def axis(self, place: int) -> Axis:
        """Return the grid of a column."""
        column = self.column(place)
        if isinstance(column, LabelColumn):
            return self._axis_of_labels(place, column)
        return self._axis_of_numbers(place, column)

    def _axis_of_numbers(self, place: int, column: NumericColumn) -> Axis:
        name, present = self.what_if.names[place], sorted_numbers(column, self.where(place))
        quantiles = quantiles_of_sorted(present, np.append(self.percentiles, DECILES))
        if place in self.custom:
            values = custom_numbers(self.custom[place], name)
        elif not len(present):
            raise DataError(f"features: {self.where(place)} has only missing values.")
        else:
            values = self._spread(present, quantiles[:2])
            if column.values.dtype == np.float32:  # as the model reads it
                values = _without_repetition(values.astype(np.float32)).astype(np.float64)
            has_missing = len(present) < len(column.values)
            values = np.append(values, np.nan) if has_missing else values
            self._require_two(values, place)
        return Axis(name, place, values, False, quantiles[2:])

    def _spread(self, present: NDArray[np.floating[Any]], between: Floats) -> Floats:
        """Return all distinct values if they are few, else equal steps between two percentiles.

        If the percentiles are equal, as in a column that is mostly 0, the whole range is used.
        """
        if np.count_nonzero(present[1:] != present[:-1]) < self.resolution - 1:
            return _without_repetition(present).astype(np.float64)
        low, high = between.tolist()
        if isclose(low, high, rel_tol=1e-5, abs_tol=1e-8):
            low, high = present[0], present[-1]
        return np.linspace(low, high, self.resolution)

    def _axis_of_labels(self, place: int, column: LabelColumn) -> Axis:
        name = self.what_if.names[place]
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.labels))
        present: list[Any] = [k for k in range(len(column.labels)) if counts[k]]
        present.sort(key=lambda k: (-counts[k], column.labels[k]))
        frequent = [column.labels[k] for k in present[:MOST_CATEGORIES]]
        if place in self.custom:
            values = custom_labels(self.custom[place], name)
        else:
            values = as_objects([*frequent, None] if (column.codes < 0).any() else frequent)
            self._require_two(values, place)
        left_out = 0 if place in self.custom else len(present) - len(frequent)
        return Axis(name, place, values, True, np.empty(0), left_out)

    def _require_two(self, values: NDArray[Any], place: int) -> None:
        if len(values) < 2:
            raise DataError(
                f"features: {self.where(place)} has only the value {values[0]}. Pass grid to "
                "evaluate values that do not occur in X."
            )


def _without_repetition(increasing: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    return increasing[np.append(True, increasing[1:] != increasing[:-1])]


def sorted_numbers(column: NumericColumn, where: str) -> NDArray[np.floating[Any]]:
    """Return the numbers of a column in increasing order, without missing values.

    Raises if there are infinities, which would come first and last. float32 stays float32.
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
    """Return quantiles of increasing numbers, as in scikit-learn's partial dependence.

    The k-th of n numbers is the quantile of (k − 0.4) / (n + 0.2), with linear interpolation.
    """
    if not len(numbers):
        return np.empty(0)
    place = len(numbers) * shares + (0.4 + shares * (1.0 - 0.4 - 0.4))  # rounded in the same way
    below = np.clip(np.floor(place).astype(np.intp), 1, max(len(numbers) - 1, 1))
    fraction = np.clip(place - below, 0.0, 1.0)
    above = np.minimum(below, len(numbers) - 1)
    return (1.0 - fraction) * numbers[below - 1] + fraction * numbers[above]


def custom_numbers(custom: Any, name: str) -> Floats:
    """Read custom grid values of a numeric column."""
    try:
        array = as_array(custom, "grid")
        if array.dtype.kind == "c":
            raise TypeError("they are complex")
        values = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"grid: the values of {name!r} are not numbers: {error}") from error
    if values.ndim != 1 or not len(values) or np.isinf(values).any():
        raise ParameterError(
            f"grid: the values of {name!r} must be one or more finite numbers, or NaN for a "
            "missing value."
        )
    return values


def custom_labels(custom: Any, name: str) -> NDArray[Any]:
    """Read custom grid values of a categorical column."""
    if isinstance(custom, str) or not hasattr(custom, "__iter__"):
        raise ParameterError(f"grid: the values of {name!r} must be a list, not {custom!r}.")
    labels = [None if is_missing(value) else plain_label(value) for value in custom]
    if not labels or len(set(labels)) < len(labels):
        raise ParameterError(
            f"grid: the values of {name!r} must be one or more distinct categories."
        )
    return as_objects(labels)


def axis_fields(axes: Sequence[Axis]) -> dict[str, tuple[Any, ...]]:
    """Return what dependence results say about their axes."""
    return {
        "features": tuple(axis.name for axis in axes),
        "grid": tuple(axis.values for axis in axes),
        "deciles": tuple(axis.deciles for axis in axes),
        "is_categorical": tuple(axis.is_categorical for axis in axes),
        "left_out": tuple(axis.left_out for axis in axes),
    }


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return a 1-d array of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def points_of(axes: Sequence[Axis]) -> Points:
    """Return all combinations of the axes' values, the last one changing fastest."""
    lengths = [len(axis.values) for axis in axes]
    if prod(lengths) > MOST_POINTS:
        raise ParameterError(
            f"features: {' and '.join(axis.name for axis in axes)} together have "
            f"{' × '.join(map(str, lengths))} points, but at most {MOST_POINTS} are allowed. "
            "Lower grid_resolution, or pass a smaller grid."
        )
    if len(axes) == 1:
        return Points((axes[0].place,), (axes[0].values,))
    indices = np.indices(lengths).reshape(len(axes), -1)
    values = [axis.values[index] for axis, index in zip(axes, indices, strict=True)]
    return Points(tuple(axis.place for axis in axes), tuple(values))


def order_by_similarity(
    codes: NDArray[Any],
    levels: Sequence[int],
    labels: Sequence[Any],
    others: Sequence[NumericColumn | LabelColumn],
) -> list[int]:
    """Return an order of categories in which similar ones are neighbours (Apley and Zhu).

    The distance of two categories is that of the distributions of the other columns among their
    rows: for numbers the largest difference of the distribution functions, for labels half the sum
    of the differences of their frequencies. Classical multidimensional scaling places the
    categories on a line; its direction and ties are decided by the labels.

    `codes` are the categories of the rows, `levels` the codes of the categories to order, `labels`
    their labels and `others` the other columns of the table.
    """
    rows = [codes == level for level in levels]
    distance = np.zeros((len(levels), len(levels)))
    for column in others:
        distance += _distances(_distributions(column, rows), isinstance(column, LabelColumn))
    place = _on_a_line(distance)
    by_label = sorted(range(len(levels)), key=lambda k: labels[k])
    for k in by_label:  # the first label that is not in the middle goes to the left
        if abs(place[k]) > _ROUNDING:
            place = place if place[k] < 0.0 else -place
            break
    rank = {k: position for position, k in enumerate(by_label)}
    rounded = np.rint(place / _ROUNDING)
    return sorted(range(len(levels)), key=lambda k: (rounded[k], rank[k]))


def _distributions(
    column: NumericColumn | LabelColumn, rows: Sequence[NDArray[np.bool_]]
) -> Floats:
    """Return for each category the distribution function at quantiles, or label frequencies."""
    if isinstance(column, LabelColumn):
        n_labels = len(column.labels) + 1  # missing values count as a label
        counts = [np.bincount(column.codes[of] + 1, minlength=n_labels) for of in rows]
        return np.array([count / max(count.sum(), 1) for count in counts])
    numbers = column.floats()
    present = ~np.isnan(numbers)
    if not present.any():
        return np.zeros((len(rows), 1))
    at = quantiles(numbers[present], _QUANTILES)
    return np.array([_distribution_function(numbers[of & present], at) for of in rows])


def quantiles(numbers: Floats, count: int) -> Floats:
    """Return up to this number of distinct quantiles, from the minimum to the maximum."""
    if not len(numbers):
        return np.empty(0)
    shares = np.linspace(0.0, 1.0, count)
    return np.unique(np.quantile(numbers, shares, method="inverted_cdf"))


def _distribution_function(numbers: Floats, at: Floats) -> Floats:
    below = np.searchsorted(np.sort(numbers), at, side="right")
    return below / max(len(numbers), 1)


def _distances(distributions: Floats, are_frequencies: bool) -> Floats:
    apart = np.abs(distributions[:, np.newaxis] - distributions[np.newaxis])
    return apart.sum(axis=2) / 2.0 if are_frequencies else apart.max(axis=2)


def _on_a_line(distance: Floats) -> Floats:
    """Return positions on a line, from −1 to 1, whose distances approximate the given ones."""
    squared = distance**2
    by_row = squared.mean(axis=1, keepdims=True)
    products = -0.5 * (squared - by_row - by_row.T + squared.mean())
    _, vectors = np.linalg.eigh(products)
    place: Floats = vectors[:, -1]
    longest = np.abs(place).max()
    return place / longest if distance.any() else np.zeros(len(place))
