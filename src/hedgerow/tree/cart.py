"""Trees grown to the end, as CART and forests grow them (`native/cart.cpp`, `native/forest.cpp`).

Many trees are grown in one call, each on rows of its own and on one thread, so a forest is the same
on any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow.data.binning import BinnedMatrix
from hedgerow.tree.structure import GROWN_FIELDS, Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CartParams:
    """How a tree grows; 0 is no limit.

    `max_features` of the features, drawn anew at each node, are tried; more, if all of them are
    constant there. With `random_cuts` each of them is cut at one random place.
    """

    criterion: Literal["gini", "entropy", "squared_error"] = "gini"
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

    def counts(self, tree: int, n_rows: int) -> NDArray[np.uint16]:
        """Return how often a tree drew each row; out of its bag are those it never drew."""
        return _native.draw_counts(self.native(), tree, n_rows)

    def native(self) -> _native.RowDraws:
        """Return the form that kernels take."""
        draws = _native.RowDraws()
        draws.bootstrap, draws.n_draws, draws.seed = self.bootstrap, self.n_draws, self.seed
        return draws


def grow_classifiers(
    binned: BinnedMatrix,
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
    return _grow(
        binned, labels, None, n_classes, params, draws, weights, balance_drawn,
        first_tree, n_trees, n_threads,
    )  # fmt: skip


def grow_regressors(
    binned: BinnedMatrix,
    numbers: Floats,
    params: CartParams,
    draws: RowDraws,
    *,
    weights: Floats | None = None,
    first_tree: int = 0,
    n_trees: int = 1,
    n_threads: int = 1,
) -> list[Tree]:
    """Grow trees whose values are means of the numbers, (n_rows, n_outputs)."""
    return _grow(
        binned, None, numbers, numbers.shape[1], params, draws, weights, False,
        first_tree, n_trees, n_threads,
    )  # fmt: skip


def _grow(
    binned: BinnedMatrix,
    labels: NDArray[np.uint16] | None,
    numbers: Floats | None,
    n_values: int,
    params: CartParams,
    draws: RowDraws,
    weights: Floats | None,
    balance_drawn: bool,
    first_tree: int,
    n_trees: int,
    n_threads: int,
) -> list[Tree]:
    grown = _native.grow_forest(
        binned.by_column,
        binned.n_bins,
        binned.is_categorical,
        binned.threshold_values,
        binned.threshold_starts,
        labels,
        numbers,
        n_values,
        1 if numbers is None else n_values,
        weights,
        balance_drawn,
        _rules(params),
        draws.native(),
        first_tree,
        n_trees,
        n_threads,
    )
    return [Tree(**dict(zip(GROWN_FIELDS, arrays, strict=True))) for arrays in grown]


def _rules(params: CartParams) -> _native.CartRules:
    rules = _native.CartRules()
    rules.entropy = params.criterion == "entropy"
    for name in (
        *("max_depth", "max_leaves", "min_samples_split", "min_samples_leaf", "min_weight_leaf"),
        *("min_impurity_decrease", "max_features", "random_cuts", "seed"),
    ):
        setattr(rules, name, getattr(params, name))
    return rules
