"""Trees grown to the end, as CART and forests grow them (`native/cart/cart.cpp`, `cart_exact.cpp`).

The table is a `BinnedMatrix`, whose bins are the candidates for cuts, or a `SortedMatrix`: then
every value is one. Many trees are grown in one call, each on rows of its own, and a forest is the
same on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._data.binning import BinnedMatrix
from hedgerow._tree.exact import category_bins
from hedgerow._tree.structure import GROWN_FIELDS, Tree
from hedgerow._types import Floats
from hedgerow.exceptions import DataError

Criterion = Literal["gini", "entropy", "squared_error", "absolute_error"]


@dataclass(frozen=True)
class CartParams:
    """How a tree grows; 0 is no limit.

    `max_features` of the features, drawn anew at each node, are tried; more, if all of them are
    constant there. With `random_cuts` each of them is cut at one random place. Nodes predict means,
    or with "absolute_error" medians.
    """

    criterion: Criterion = "gini"
    max_depth: int = 0
    max_leaves: int = 0
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_features: int = 0
    random_cuts: bool = False
    seed: int = 0


@dataclass(frozen=True)
class RowDraws:
    """Which rows a tree is grown on: `n_draws` of them, with or without replacement."""

    n_draws: int
    bootstrap: bool = True
    seed: int = 0

    @classmethod
    def all(cls, n_rows: int) -> RowDraws:
        """Return the draw of every row once."""
        return cls(n_draws=n_rows, bootstrap=False)

    def counts(self, tree: int, n_rows: int) -> NDArray[np.uint16]:
        """Return how often a tree drew each row; out of its bag are those it never drew."""
        return _native.draw_counts(self.native(), tree, n_rows)

    def native(self) -> _native.RowDraws:
        """Return the form that kernels take."""
        draws = _native.RowDraws()
        draws.bootstrap, draws.n_draws, draws.seed = self.bootstrap, self.n_draws, self.seed
        return draws


@dataclass(frozen=True, eq=False)
class SortedMatrix:
    """A table with every column sorted, for exact cuts: 8 bytes a value, and 8 a distinct value."""

    order: NDArray[np.uint32]
    """(n_features, n_rows): rows in the order of their values, missing ones last."""
    rank: NDArray[np.uint32]
    """(n_features, n_rows): of each row's value among the column's distinct ones."""
    values: Floats
    """The distinct values of all numeric columns, one after another."""
    value_starts: NDArray[np.int64]
    is_categorical: NDArray[np.bool_]

    @classmethod
    def from_matrix(
        cls,
        matrix: NDArray[Any],
        is_categorical: NDArray[np.bool_] | None = None,
        *,
        n_threads: int = 1,
    ) -> SortedMatrix:
        """Sort the columns of a float32 or float64 matrix (n_rows, n_features) of any strides.

        NaN is missing. A categorical column holds bin numbers 0 … 254.
        """
        n_rows, n_features = matrix.shape
        flags = np.zeros(n_features, np.bool_) if is_categorical is None else is_categorical
        columns = [
            category_bins(column) if categorical else column
            for column, categorical in zip(matrix.T, flags, strict=True)
        ]
        order = np.empty((n_features, n_rows), np.uint32)
        rank = np.empty_like(order)
        values, starts = _native.sort_columns(columns, order, rank, n_threads)
        return cls(order, rank, values, starts, np.ascontiguousarray(flags, np.bool_))

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.order.shape[1]


def grow_classifiers(
    table: BinnedMatrix | SortedMatrix,
    labels: NDArray[np.uint16],
    n_classes: int,
    params: CartParams,
    draws: RowDraws,
    *,
    weights: Floats | None = None,
    balance_drawn: bool = False,
    first_tree: int = 0,
    n_trees: int = 1,
    n_threads: int = 1,
) -> list[Tree]:
    """Grow trees whose values are the shares of the classes.

    With `balance_drawn` the classes of the rows that a tree drew weigh the same in it.
    """
    target = (labels, None, n_classes, 1, weights, balance_drawn)
    return _grow(table, target, params, draws, (first_tree, n_trees, n_threads))


def grow_regressors(
    table: BinnedMatrix | SortedMatrix,
    numbers: Floats,
    params: CartParams,
    draws: RowDraws,
    *,
    n_outputs: int | None = None,
    weights: Floats | None = None,
    first_tree: int = 0,
    n_trees: int = 1,
    n_threads: int = 1,
) -> list[Tree]:
    """Grow trees whose values are means or medians of the numbers, (n_rows, n_numbers).

    The impurity is the mean of that of the outputs, of which each number is one. Several outputs of
    classes are numbers too: the one-hot columns of the first, then those of the second, …, with
    `n_outputs` the number of outputs and "gini" or "entropy" the criterion; values are then shares.
    """
    n_numbers = numbers.shape[1]
    target = (None, numbers, n_numbers, n_outputs or n_numbers, weights, False)
    return _grow(table, target, params, draws, (first_tree, n_trees, n_threads))


def _grow(
    table: BinnedMatrix | SortedMatrix,
    target: tuple[Any, ...],
    params: CartParams,
    draws: RowDraws,
    extent: tuple[int, int, int],
) -> list[Tree]:
    work = (*target, _rules(params), draws.native(), *extent)
    try:
        if isinstance(table, SortedMatrix):
            grown = _native.grow_exact_forest(
                table.order,
                table.rank,
                table.values,
                table.value_starts,
                table.is_categorical,
                *work,
            )
        else:
            grown = _native.grow_forest(
                table.by_column,
                table.n_bins,
                table.is_categorical,
                table.threshold_values,
                table.threshold_starts,
                *work,
            )
    except OverflowError as error:
        raise DataError(f"y or sample_weight: {error}; scale them down") from error
    return [Tree(**dict(zip(GROWN_FIELDS, arrays, strict=True))) for arrays in grown]


def _rules(params: CartParams) -> _native.CartRules:
    rules = _native.CartRules()
    rules.set_criterion(params.criterion)
    for name in (
        *("max_depth", "max_leaves", "min_samples_split", "min_samples_leaf", "min_weight_leaf"),
        *("min_impurity_decrease", "max_features", "random_cuts", "seed"),
    ):
        setattr(rules, name, getattr(params, name))
    return rules
