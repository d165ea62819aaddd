"""CART: fully grown trees, for decision trees and forests (`native/cart/`).

The table is a `BinnedMatrix`, whose bins are the candidate thresholds, or a `SortedMatrix`, in
which every value is a candidate. Many trees are grown in one call, each on its own sample of the
rows, and the result does not depend on the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import cached_property
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._data.binning import BinnedMatrix
from hedgerow._data.outputs import TreeTarget
from hedgerow._estimator import Estimator
from hedgerow._tree.exact import category_bins
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats, Indices, Snapshot
from hedgerow.exceptions import DataError, ParameterError

Criterion = Literal["gini", "entropy", "gain_ratio", "error", "squared_error", "absolute_error"]


@dataclass(frozen=True)
class CartParams:
    """The parameters of a CART tree in the kernels' units; 0 means no limit.

    Each node considers `max_features` random features, or more if all of these are constant in it.
    With `random_thresholds` each of them has one random threshold. Nodes predict means, or medians
    for "absolute_error".
    """

    criterion: Criterion = "gini"
    max_depth: int = 0
    max_leaves: int = 0
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_features: int = 0
    random_thresholds: bool = False
    seed: int = 0

    @classmethod
    def of(
        cls, estimator: Estimator, n_rows: int, n_features: int, total_weight: float, seed: int
    ) -> CartParams:
        """Return an estimator's parameters, with counts instead of names and fractions."""
        criterion: Any = "entropy" if estimator.criterion == "log_loss" else estimator.criterion
        min_decrease = float(estimator.min_impurity_decrease)
        return cls(
            criterion=criterion,
            max_depth=estimator.max_depth or 0,
            max_leaves=estimator.max_leaves or 0,
            min_samples_split=max(2, _row_count(estimator.min_samples_split, n_rows)),
            min_samples_leaf=_row_count(estimator.min_samples_leaf, n_rows),
            min_weight_leaf=estimator.min_weight_fraction_leaf * total_weight,
            min_impurity_decrease=min_decrease * impurity_unit(criterion),
            max_features=n_candidate_features(estimator.max_features, n_features),
            seed=seed,
        )

    def native(self) -> _native.CartRules:
        """Return the native form."""
        rules = _native.CartRules()
        rules.set_criterion(self.criterion)
        for declared in fields(self):
            if declared.name != "criterion":
                setattr(rules, declared.name, getattr(self, declared.name))
        return rules


def n_candidate_features(max_features: Any, n_features: int) -> int:
    """Return the number of features that `max_features` means: at least 1, at most all."""
    if max_features is None:
        return n_features
    if isinstance(max_features, Integral):
        return min(int(max_features), n_features)
    if max_features == "sqrt":
        count = math.isqrt(n_features)
    elif max_features == "log2":
        count = n_features.bit_length() - 1
    elif max_features == "log2+1":
        count = n_features.bit_length()
    else:
        count = int(max_features * n_features)
    return min(max(count, 1), n_features)


def _row_count(count_or_fraction: Any, n_rows: int) -> int:
    if isinstance(count_or_fraction, Integral):
        return int(count_or_fraction)
    return math.ceil(count_or_fraction * n_rows)


def impurity_unit(criterion: str) -> float:
    """Return the factor from the criterion's unit to the kernels'; they measure entropy in nats."""
    return math.log(2.0) if criterion in ("entropy", "log_loss", "gain_ratio") else 1.0


@dataclass(frozen=True)
class BootstrapSamples(Snapshot):
    """The sample of rows of each tree: `n_draws` rows, with or without replacement.

    With `class_draws`, that many rows are drawn from each class, with replacement. `rows` are those
    of the training set that are drawn from, if not all are: those whose weight is not 0.
    """

    n_draws: int
    bootstrap: bool = True
    seed: int = 0
    class_draws: tuple[int, ...] = ()
    row_class: NDArray[np.uint16] | None = field(default=None, compare=False, repr=False)
    rows: Indices | None = field(default=None, compare=False, repr=False)

    @classmethod
    def all(cls, n_rows: int) -> BootstrapSamples:
        """Return samples that contain every row once."""
        return cls(n_draws=n_rows, bootstrap=False)

    def counts(self, tree: int, n_rows: int) -> NDArray[np.uint16]:
        """Return how often each row is in the sample of a tree; 0 for out-of-bag rows."""
        if self.rows is None:
            return _native.draw_counts(self.native(), tree, n_rows)
        counts = np.zeros(n_rows, np.uint16)
        counts[self.rows] = _native.draw_counts(self.native(), tree, len(self.rows))
        return counts

    def total_weight(self, weights: Floats | None, n_rows: int) -> float:
        """Return the expected weight of a sample of rows with these weights."""
        if self.row_class is None:
            total = float(n_rows if weights is None else sum_of(weights))
            return total * self.n_draws / n_rows
        of_class = np.bincount(self.row_class, weights) / np.bincount(self.row_class)
        return float(of_class @ np.array(self.class_draws))

    def native(self) -> _native.RowDraws:
        """Return the native form."""
        draws = _native.RowDraws()
        draws.bootstrap, draws.n_draws, draws.seed = self.bootstrap, self.n_draws, self.seed
        if self.row_class is not None:
            draws.set_classes(*self._rows_by_class, np.array(self.class_draws, np.int64))
        return draws

    @cached_property
    def _rows_by_class(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """All rows sorted by class, and where each class begins."""
        assert self.row_class is not None
        rows = np.argsort(self.row_class, kind="stable").astype(np.uint32)
        counts = np.bincount(self.row_class, minlength=len(self.class_draws))
        return rows, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SortedMatrix:
    """A table with sorted columns, for exact thresholds: 8 bytes per value and distinct value."""

    order: NDArray[np.uint32]
    """(n_features, n_rows): row indices sorted by value, missing values last."""
    rank: NDArray[np.uint32]
    """(n_features, n_rows): rank of each row's value among the distinct values of the column."""
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


def grow_trees(
    table: BinnedMatrix | SortedMatrix,
    target: TreeTarget,
    params: CartParams,
    sampling: BootstrapSamples,
    *,
    weights: Floats | None = None,
    balance_classes: bool = False,
    first_tree: int = 0,
    n_trees: int = 1,
    n_threads: int = 1,
) -> list[Tree]:
    """Grow trees, each on its own sample of the rows.

    Values of nodes are the shares of the classes, or means or medians of the numbers. With
    `balance_classes` the classes have equal weight in the sample of each tree.
    """
    if params.criterion == "error" and target.n_outputs > 1:
        raise ParameterError(
            f"criterion='error' supports one output, but y has {target.n_outputs}; 'gini' and "
            "'entropy' support any number."
        )
    work = (
        *(target.labels, target.numbers, target.n_values, target.n_outputs),
        *(weights, balance_classes, params.native(), sampling.native()),
        *(first_tree, n_trees, n_threads),
    )
    try:
        if isinstance(table, SortedMatrix):
            trees = _native.grow_exact_forest(
                table.order,
                table.rank,
                table.values,
                table.value_starts,
                table.is_categorical,
                *work,
            )
        else:
            trees = _native.grow_forest(
                table.by_column,
                table.n_bins,
                table.is_categorical,
                table.threshold_values,
                table.threshold_starts,
                *work,
            )
    except OverflowError as error:
        raise DataError(f"y or sample_weight: {error}; scale them down") from error
    return [Tree.of_arrays(arrays) for arrays in trees]
