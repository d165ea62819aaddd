"""Columns of many categories → numbers: what targets were in other rows of the same category.

    number = prior + Σ w (t − prior) / (Σ w + smoothing),    prior = the mean target of all rows

A training row must not see its own target, or its number would give the answer away. So the rows
are put in a random order, and a row's number is made of rows of its category that come before it
(ordered target statistics: Prokhorenkova et al., "CatBoost: unbiased boosting with categorical
features", 2018). To spare the first rows from having nearly nothing before them, the order is
closed to a circle, and every row looks back over the same part of it. A row to predict is none of
those rows and gets the number that all of them make.

`smoothing` is the variance of the target within categories over that between them, as all rows show
it. The number is then the best linear prediction of one more row of the category, be it made of few
rows or of many, so that the numbers of training rows and of those to predict mean the same. Where
categories differ no more than they would by chance, the number is the prior for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._data.columns import CategoricalColumn, NumericColumn
from hedgerow._data.schema import TableSchema
from hedgerow._data.table import Table
from hedgerow._types import Floats

Codes = NDArray[np.int32]

# What follows the numbers of a column's categories: those of a category that `fit` did not see, and
# of a gap. The code of the former is the number of categories, that of the latter −1.
BESIDES = 2
# The part of the circle that a row looks back over. On eleven columns of 41 to 28,523 categories,
# of real tables of 4,000 rows, the held-out error was below that of an open order by 1.0 % on
# average for 0.5, 1.2 % for 0.75, 1.5 % for 0.85 and 1.2 % for 0.95. The whole circle made it up to
# 2.5 times as large: what is missing from the sum of all other rows is a row's own target.
_LOOK_BACK = 0.8
# Categories differ by chance if their variance ratio is no more standard deviations above 1.
_SIGNIFICANT = 2.0
# Where all rows of a category have the same target. Any number > 0: it is added to sums of weights.
_LEAST_SMOOTHING = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """What stands for the categories of one column.

    Attributes
    ----------
    feature : int
        Which column it is.
    smoothing : float64 array (n_targets,)
        In units of the largest weight.
    numbers : float64 array (n_targets, n_categories + 2)
        Of each category, then of one that `fit` did not see, and of a gap.
    """

    feature: int
    smoothing: Floats
    numbers: Floats

    @property
    def n_categories(self) -> int:
        """How many categories `fit` saw."""
        return self.numbers.shape[1] - BESIDES

    def encode(self, codes: Codes) -> Iterator[Floats]:
        """Give the numbers of rows to predict, for one target after the other."""
        return (numbers[codes] for numbers in self.numbers)


@dataclass(frozen=True, eq=False)
class TargetStatistics:
    """Which columns numbers stand for, and which numbers.

    An encoded table has the columns of the table, where the numbers of the first target stand for
    the categories, and after them, column by column, the numbers of the other targets.

    Attributes
    ----------
    n_features : int
        Columns of the table.
    seed : int
        Of the order that the training rows are put in.
    priors : float64 array (n_targets,)
    columns : tuple of EncodedColumn
    """

    n_features: int
    seed: int
    priors: Floats
    columns: tuple[EncodedColumn, ...]

    @property
    def features(self) -> tuple[int, ...]:
        """The columns that are encoded."""
        return tuple(column.feature for column in self.columns)

    @property
    def n_columns(self) -> int:
        """Columns of an encoded table."""
        return self.n_features + len(self.columns) * (len(self.priors) - 1)

    @property
    def sources(self) -> NDArray[np.intp]:
        """The column of the table that each column of an encoded one stands for."""
        more = [[feature] * (len(self.priors) - 1) for feature in self.features]
        return np.concatenate([np.arange(self.n_features), *more]).astype(np.intp)

    def encoded_schema(self, schema: TableSchema) -> TableSchema:
        """Tell the columns of an encoded table."""
        if not self.columns:
            return schema
        categories = {j: c for j, c in schema.categories.items() if j not in self.features}
        return TableSchema(self.n_columns, None, categories)

    def encode(self, table: Table) -> Table:
        """Encode rows to predict."""
        return self._encoded(table, [c.encode(_codes(table, c.feature)) for c in self.columns])

    def encode_training(
        self, table: Table, targets: Sequence[NDArray[Any]], weights: Floats | None
    ) -> Table:
        """Encode rows to train on, whose targets may have entered the numbers of `encode`."""
        if not self.columns:
            return table
        rows = _Rows(targets, self.priors, weights)
        circle = _Circle(self.seed, table.n_rows)
        return self._encoded(table, [_encode(c, table, rows, circle) for c in self.columns])

    def _encoded(self, table: Table, numbers: Sequence[Iterator[Floats]]) -> Table:
        if not self.columns:
            return table
        columns = [table.column(j) for j in range(table.n_features)]
        for feature, of_targets in zip(self.features, numbers, strict=True):
            columns[feature] = NumericColumn(next(of_targets))
            columns.extend(map(NumericColumn, of_targets))
        return Table(None, columns=columns)


def no_statistics(n_features: int) -> TargetStatistics:
    """Return statistics that leave tables of so many columns as they are."""
    return TargetStatistics(n_features, 0, np.empty(0), ())


def learn_statistics(
    table: Table,
    n_categories: Mapping[int, int],
    targets: Sequence[NDArray[Any]],
    weights: Floats | None,
    seed: int,
) -> TargetStatistics:
    """Learn the numbers of some columns.

    Parameters
    ----------
    table : Table
        The training rows.
    n_categories : mapping
        The columns to encode, and how many categories each has.
    targets : sequence of arrays (n_rows,)
        What to take means of.
    weights : float64 array (n_rows,), optional
        Weights of the rows.
    seed : int
        Of the order that the rows are put in.
    """
    relative = _relative(weights)
    priors = np.array([np.average(target, weights=relative) for target in targets])
    rows = _Rows(targets, priors, weights)
    columns = [_learn(j, n, table, rows) for j, n in sorted(n_categories.items())]
    return TargetStatistics(table.n_features, seed, priors, tuple(columns))


class _Rows:
    """The targets and weights of training rows, in units in which squares are harmless."""

    def __init__(
        self, targets: Sequence[NDArray[Any]], priors: Floats, weights: Floats | None
    ) -> None:
        self.weights = _relative(weights)
        self._targets, self._priors = targets, priors

    def deviations(self) -> Iterator[tuple[float, float, Floats]]:
        """Give each target as (prior, scale, deviation): target = prior + scale · deviation."""
        for target, prior in zip(self._targets, self._priors.tolist(), strict=True):
            deviation = target - prior
            scale = float(np.abs(deviation).max()) or 1.0
            yield prior, scale, deviation / scale

    def weighted(self, values: Floats) -> Floats:
        """Multiply by the weights."""
        return values if self.weights is None else values * self.weights


def _learn(feature: int, n_categories: int, table: Table, rows: _Rows) -> EncodedColumn:
    codes = _codes(table, feature)
    counts = _by_category(codes, rows.weights, n_categories)
    smoothings, numbers = [], []
    for prior, scale, deviation in rows.deviations():
        sums = _by_category(codes, rows.weighted(deviation), n_categories)
        smoothing = _smoothing(codes, counts, sums, deviation, rows)
        of_categories = prior + scale * (sums / (counts + smoothing))
        of_gaps = np.nan if (codes < 0).any() else prior
        smoothings.append(smoothing)
        numbers.append(np.concatenate([of_categories, [prior, of_gaps]]))
    return EncodedColumn(feature, np.array(smoothings), np.stack(numbers))


def _smoothing(codes: Codes, counts: Floats, sums: Floats, deviation: Floats, rows: _Rows) -> float:
    """Estimate the variance of a target within categories over that between them.

    The method of moments for a random effect in an unbalanced one-way layout (Searle, Casella and
    McCulloch, "Variance Components", 1992). Infinite if there is no effect to be seen.
    """
    present = codes >= 0 if rows.weights is None else (codes >= 0) & (rows.weights > 0.0)
    sums, counts = sums[counts > 0.0], counts[counts > 0.0]
    freedom_between, freedom_within = len(counts) - 1, np.count_nonzero(present) - len(counts)
    if freedom_between < 1 or freedom_within < 1:
        return np.inf
    total, weight = sum_of(rows.weighted(deviation**2)[present]), sum_of(counts)
    explained = sum_of(sums**2 / counts)
    within = max(total - explained, 0.0) / freedom_within
    by_chance = (1.0 + _SIGNIFICANT * sqrt(2.0 / freedom_between + 2.0 / freedom_within)) * within
    between = (explained - sum_of(sums) ** 2 / weight) / freedom_between
    spread = (weight - sum_of(counts**2) / weight) / freedom_between
    if between <= by_chance or spread <= 0.0:
        return np.inf
    return float(max(within * spread / (between - within), _LEAST_SMOOTHING))


class _Circle:
    """Training rows on a circle, in a random order."""

    def __init__(self, seed: int, n_rows: int) -> None:
        self._order = np.random.RandomState(seed).permutation(n_rows)
        self._window = int(_LOOK_BACK * n_rows)

    def sums(self, codes: Codes, amount: Floats | None, n_categories: int) -> Floats:
        """Give each row the sum of what those of its category hold that come shortly before it."""
        unit, fixed = (1.0, None) if amount is None else _fixed_point(amount[self._order])
        sums, memory = np.empty(len(codes)), np.empty(n_categories, np.int64)
        _native.sums_before(codes[self._order], fixed, self._window, sums, memory)
        in_place = np.empty_like(sums)
        in_place[self._order] = sums * unit
        return in_place


def _encode(column: EncodedColumn, table: Table, rows: _Rows, circle: _Circle) -> Iterator[Floats]:
    """Give the numbers of training rows, for one target after the other."""
    codes, n = _codes(table, column.feature), column.n_categories
    counts = circle.sums(codes, rows.weights, n)
    for s, (prior, scale, deviation) in enumerate(rows.deviations()):
        sums = circle.sums(codes, rows.weighted(deviation), n)
        numbers = prior + scale * (sums / (counts + column.smoothing[s]))
        numbers[codes < 0] = column.numbers[s, -1]
        yield numbers


def _fixed_point(values: Floats) -> tuple[float, NDArray[np.int64]]:
    """Give a unit and values in it, so that sums of them are exact and stay below 2⁶³."""
    unit = sum_of(np.abs(values)) / 2.0**62 or 1.0
    return unit, np.rint(values / unit).astype(np.int64)


def _relative(weights: Floats | None) -> Floats | None:
    return None if weights is None else weights / weights.max()


def _codes(table: Table, feature: int) -> Codes:
    column = table.column(feature)
    assert isinstance(column, CategoricalColumn)
    return column.codes


def _by_category(codes: Codes, amount: Floats | None, n_categories: int) -> Floats:
    """Add up by category; code −1 is none."""
    return np.bincount(codes + 1, amount, minlength=n_categories + 1)[1:].astype(np.float64)
