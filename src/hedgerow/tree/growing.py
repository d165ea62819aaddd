"""From an estimator's parameters to a kernel's: names and fractions become numbers of rows."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

from hedgerow.data.binning import BinnedMatrix
from hedgerow.tree.cart import CartParams, RowDraws, grow_classifiers, grow_regressors
from hedgerow.tree.outputs import Floats, Target
from hedgerow.tree.structure import Tree

_LOG_2 = math.log(2.0)


def n_features_tried(max_features: Any, n_features: int) -> int:
    """Return how many features `max_features` stands for: at least 1, at most all."""
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


def cart_params(
    estimator: Any, n_rows: int, n_features: int, total_weight: float, seed: int
) -> CartParams:
    """Translate an estimator's parameters; `n_features` are those a node may draw from."""
    criterion: Any = "entropy" if estimator.criterion == "log_loss" else estimator.criterion
    least_fall = float(estimator.min_impurity_decrease)
    return CartParams(
        criterion=criterion,
        max_depth=estimator.max_depth or 0,
        max_leaves=estimator.max_leaves or 0,
        min_samples_split=max(2, _rows(estimator.min_samples_split, n_rows)),
        min_samples_leaf=_rows(estimator.min_samples_leaf, n_rows),
        min_weight_leaf=estimator.min_weight_fraction_leaf * total_weight,
        # Kernels measure entropy in nats.
        min_impurity_decrease=least_fall * (_LOG_2 if criterion == "entropy" else 1.0),
        max_features=n_features_tried(estimator.max_features, n_features),
        seed=seed,
    )


def _rows(given: Any, n_rows: int) -> int:
    return int(given) if isinstance(given, Integral) else math.ceil(given * n_rows)


def grow_trees(
    binned: BinnedMatrix,
    target: Target,
    params: CartParams,
    draws: RowDraws,
    *,
    weights: Floats | None = None,
    balance_drawn: bool = False,
    first_tree: int = 0,
    n_trees: int = 1,
    n_threads: int = 1,
) -> list[Tree]:
    """Grow trees over bins, each on the rows that it draws."""
    options: dict[str, Any] = {
        "weights": weights,
        "first_tree": first_tree,
        "n_trees": n_trees,
        "n_threads": n_threads,
    }
    if target.numbers is not None:
        return grow_regressors(binned, target.numbers, params, draws, **options)
    assert target.labels is not None
    options["balance_drawn"] = balance_drawn
    return grow_classifiers(binned, target.labels, target.n_values, params, draws, **options)


def impurity_unit(criterion: str) -> float:
    """Return what a kernel's fall of impurity is divided by, to be in the criterion's unit."""
    return _LOG_2 if criterion in ("entropy", "log_loss") else 1.0
