"""High-cardinality categorical columns → numbers: smoothed target means by category.

    number = prior + Σ w (t − prior) / (Σ w + smoothing),    prior = the mean target of all rows

The encoding of a training row must not use its own target, which would leak. So the rows are put in
a random order, and a row is encoded by rows of its category that precede it (ordered target
statistics: Prokhorenkova et al., "CatBoost: unbiased boosting with categorical features", 2018). So
that even the first rows have enough predecessors, the order is circular: a row's place on a
circle is a hash of its number, and every row uses the same fraction of the circle. An encoding
depends on the rows of one category and on nothing else. A row to predict is encoded by all training
rows of its category.

`smoothing` is the ratio of the target's variance within categories to that between categories,
estimated from all rows. The encoding is then the best linear prediction for one more row of the
category, whether it is based on few rows or many, so encodings of training rows and of new rows
have the same meaning. If categories differ no more than expected by chance, all are encoded by the
prior.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._data.columns import CategoricalColumn, NumericColumn
from hedgerow._data.table import Table, TableSchema
from hedgerow._types import Floats

Codes = NDArray[np.int32]

# The numbers of a column's categories are followed by those of an unknown category and of a missing
# value. The code of the former is the number of categories, that of the latter −1.
BESIDES = 2
# The fraction of the circle that precedes a row. On eleven columns of 41 to 28,523 categories in
# real tables of 4,000 rows, the holdout error was lower than with a linear order by 1.0 % on
# average for 0.5, 1.2 % for 0.75, 1.5 % for 0.85 and 1.2 % for 0.95. The whole circle made it up to
# 2.5 times as large: the sum over all other rows reveals a row's own target.
_LOOK_BACK = 0.8
# Categories differ significantly if the variance ratio is this many standard deviations above 1.
_SIGNIFICANT = 2.0
# Used if all rows of a category have the same target. Any number > 0: it is added to sums of
# weights.
_LEAST_SMOOTHING = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class EncodedColumn:
    """The encoding of the categories of one column.

    Attributes
    ----------
    feature : int
        Index of the column.
    smoothing : float64 array (n_targets,)
        In units of the largest weight.
    numbers : float64 array (n_targets, n_categories + 2)
        One for each category, then one for an unknown category and one for a missing value.
    """

    feature: int
    smoothing: Floats
    numbers: Floats

    @property
    def n_categories(self) -> int:
        """Number of categories in `fit`."""
        return self.numbers.shape[1] - BESIDES

    def encode(self, codes: Codes) -> Iterator[Floats]:
        """Yield the encoding of rows to predict, one target at a time."""
        return (numbers[codes] for numbers in self.numbers)


@dataclass(frozen=True, eq=False)
class TargetStatistics:
    """The encoded columns and their encodings; without any, tables stay as they are.

    An encoded table has the columns of the table, with categories replaced by the numbers of the
    first target, followed by the numbers of the other targets, column by column.

    Attributes
    ----------
    n_features : int
        Columns of the table.
    seed : int
        Seed of the order of the training rows.
    priors : float64 array (n_targets,)
    columns : tuple of EncodedColumn
    """

    n_features: int
    seed: int = 0
    priors: Floats = field(default_factory=partial(np.empty, 0))
    columns: tuple[EncodedColumn, ...] = ()

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
        """The original column of each column of the encoded table."""
        more = [[feature] * (len(self.priors) - 1) for feature in self.features]
        return np.concatenate([np.arange(self.n_features), *more]).astype(np.intp)

    def encoded_schema(self, schema: TableSchema) -> TableSchema:
        """Return the schema of an encoded table."""
        if not self.columns:
            return schema
        categories = {j: c for j, c in schema.categories.items() if j not in self.features}
        return TableSchema(self.n_columns, None, categories)

    def encode(self, table: Table) -> Table:
        """Encode rows to predict."""
        return self._encoded(table, [c.encode(_codes(table, c.feature)) for c in self.columns])

    def encode_training(
        self,
        table: Table,
        targets: Sequence[NDArray[Any]],
        weights: Floats | None,
        *,
        n_threads: int = 1,
    ) -> Table:
        """Encode the training set, without using a row's own target."""
        if not self.columns:
            return table
        rows = _TrainingTargets(targets, self.priors, weights)
        circle = _Circle(self.seed, table.n_rows, n_threads)
        return self._encoded(table, [_encode(c, table, rows, circle) for c in self.columns])

    def _encoded(self, table: Table, numbers: Sequence[Iterator[Floats]]) -> Table:
        if not self.columns:
            return table
        replaced: dict[int, NumericColumn] = {}
        added: list[NumericColumn] = []
        for feature, of_targets in zip(self.features, numbers, strict=True):
            replaced[feature] = NumericColumn(next(of_targets))
            added.extend(map(NumericColumn, of_targets))
        return table.with_columns(replaced, added)


def learn_statistics(
    table: Table,
    n_categories: Mapping[int, int],
    targets: Sequence[NDArray[Any]],
    weights: Floats | None,
    seed: int,
) -> TargetStatistics:
    """Learn the encodings of some columns.

    Parameters
    ----------
    table : Table
        The training set.
    n_categories : mapping
        The number of categories of each column to encode.
    targets : sequence of arrays (n_rows,)
        The targets to average.
    weights : float64 array (n_rows,), optional
        Weights of the rows.
    seed : int
        Seed of the order of the rows.
    """
    relative = _relative(weights)
    priors = np.array([np.average(target, weights=relative) for target in targets])
    rows = _TrainingTargets(targets, priors, weights)
    columns = [_learn(j, n, table, rows) for j, n in sorted(n_categories.items())]
    return TargetStatistics(table.n_features, seed, priors, tuple(columns))


class _TrainingTargets:
    """The targets and weights of the training set, scaled so that squares cannot overflow."""

    def __init__(
        self, targets: Sequence[NDArray[Any]], priors: Floats, weights: Floats | None
    ) -> None:
        self.weights = _relative(weights)
        self._targets, self._priors = targets, priors

    def deviations(self) -> Iterator[tuple[float, float, Floats]]:
        """Yield each target as (prior, scale, deviation): target = prior + scale · deviation."""
        for target, prior in zip(self._targets, self._priors.tolist(), strict=True):
            deviation = target - prior
            scale = float(np.abs(deviation).max()) or 1.0
            yield prior, scale, deviation / scale

    def weighted(self, values: Floats) -> Floats:
        """Multiply by the weights."""
        return values if self.weights is None else values * self.weights


def _learn(feature: int, n_categories: int, table: Table, rows: _TrainingTargets) -> EncodedColumn:
    codes = _codes(table, feature)
    counts = _by_category(codes, rows.weights, n_categories)
    smoothings, numbers = [], []
    for prior, scale, deviation in rows.deviations():
        sums = _by_category(codes, rows.weighted(deviation), n_categories)
        smoothing = _smoothing(codes, counts, sums, deviation, rows)
        category_means = prior + scale * (sums / (counts + smoothing))
        missing_mean = np.nan if (codes < 0).any() else prior
        smoothings.append(smoothing)
        numbers.append(np.concatenate([category_means, [prior, missing_mean]]))
    return EncodedColumn(feature, np.array(smoothings), np.stack(numbers))


def _smoothing(
    codes: Codes, counts: Floats, sums: Floats, deviation: Floats, rows: _TrainingTargets
) -> float:
    """Estimate the ratio of a target's variance within categories to that between them.

    The method of moments for a random effect in an unbalanced one-way layout (Searle, Casella and
    McCulloch, "Variance Components", 1992). Infinite if there is no significant effect.
    """
    present = codes >= 0 if rows.weights is None else (codes >= 0) & (rows.weights > 0.0)
    sums, counts = sums[counts > 0.0], counts[counts > 0.0]
    df_between, df_within = len(counts) - 1, np.count_nonzero(present) - len(counts)
    if df_between < 1 or df_within < 1:
        return np.inf
    total, weight = sum_of(rows.weighted(deviation**2)[present]), sum_of(counts)
    explained = sum_of(sums**2 / counts)
    within = max(total - explained, 0.0) / df_within
    by_chance = (1.0 + _SIGNIFICANT * sqrt(2.0 / df_between + 2.0 / df_within)) * within
    between = (explained - sum_of(sums) ** 2 / weight) / df_between
    spread = (weight - sum_of(counts**2) / weight) / df_between
    if between <= by_chance or spread <= 0.0:
        return np.inf
    return float(max(within * spread / (between - within), _LEAST_SMOOTHING))


class _Circle:
    """Training rows on a circle of length 2⁶⁴, in a random order."""

    def __init__(self, seed: int, n_rows: int, n_threads: int) -> None:
        places = _native.hashes(seed, "statistics_order", 0, 0, n_rows)
        self._order = _native.order_by_place(places, n_threads)
        self._places = places[self._order]
        self._window = int(_LOOK_BACK * 2**64)

    def sums(self, codes: Codes, amount: Floats | None, n_categories: int) -> Floats:
        """Return for each row the sum of `amount` over the preceding rows of its category."""
        unit, fixed = (1.0, None) if amount is None else _fixed_point(amount[self._order])
        sums, memory = np.empty(len(codes)), np.empty(n_categories, np.int64)
        _native.sums_before(codes[self._order], fixed, self._places, self._window, sums, memory)
        in_place = np.empty_like(sums)
        in_place[self._order] = sums * unit
        return in_place


def _encode(
    column: EncodedColumn, table: Table, rows: _TrainingTargets, circle: _Circle
) -> Iterator[Floats]:
    """Yield the encoding of the training set, one target at a time."""
    codes, n = _codes(table, column.feature), column.n_categories
    counts = circle.sums(codes, rows.weights, n)
    for s, (prior, scale, deviation) in enumerate(rows.deviations()):
        sums = circle.sums(codes, rows.weighted(deviation), n)
        numbers = prior + scale * (sums / (counts + column.smoothing[s]))
        numbers[codes < 0] = column.numbers[s, -1]
        yield numbers


def _fixed_point(values: Floats) -> tuple[float, NDArray[np.int64]]:
    """Return a unit and the values in it as integers whose sums are exact and below 2⁶³."""
    largest = float(np.abs(values).max(initial=0.0))
    unit = largest * (len(values) / 2.0**62) or 1.0
    return unit, np.rint(values / unit).astype(np.int64)


def _relative(weights: Floats | None) -> Floats | None:
    return None if weights is None else weights / weights.max()


def _codes(table: Table, feature: int) -> Codes:
    column = table.column(feature)
    assert isinstance(column, CategoricalColumn)
    return column.codes


def _by_category(codes: Codes, amount: Floats | None, n_categories: int) -> Floats:
    """Sum by category; code −1 (missing) is left out."""
    return np.bincount(codes + 1, amount, minlength=n_categories + 1)[1:].astype(np.float64)
