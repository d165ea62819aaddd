"""From an estimator's parameters to the kernel's: names and fractions become counts."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np

from hedgerow._tree.cart import CartParams
from hedgerow._tree.outputs import TreeTarget
from hedgerow._types import Floats

_LOG_2 = math.log(2.0)


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


def cart_params(
    estimator: Any, n_rows: int, n_features: int, total_weight: float, seed: int
) -> CartParams:
    """Translate an estimator's parameters; a node chooses among `n_features` features."""
    criterion: Any = "entropy" if estimator.criterion == "log_loss" else estimator.criterion
    min_decrease = float(estimator.min_impurity_decrease)
    return CartParams(
        criterion=criterion,
        max_depth=estimator.max_depth or 0,
        max_leaves=estimator.max_leaves or 0,
        min_samples_split=max(2, _rows(estimator.min_samples_split, n_rows)),
        min_samples_leaf=_rows(estimator.min_samples_leaf, n_rows),
        min_weight_leaf=estimator.min_weight_fraction_leaf * total_weight,
        # Kernels measure entropy in nats.
        min_impurity_decrease=min_decrease * (_LOG_2 if criterion == "entropy" else 1.0),
        max_features=n_candidate_features(estimator.max_features, n_features),
        seed=seed,
    )


def _rows(count_or_fraction: Any, n_rows: int) -> int:
    if isinstance(count_or_fraction, Integral):
        return int(count_or_fraction)
    return math.ceil(count_or_fraction * n_rows)


def impurity_unit(criterion: str) -> float:
    """Return the divisor from a kernel's decrease of impurity to the criterion's unit."""
    return _LOG_2 if criterion in ("entropy", "log_loss") else 1.0


def root_impurity(criterion: str, target: TreeTarget, weights: Floats | None) -> float:
    """Return the impurity of the root, in the criterion's unit; a mean over outputs."""
    if criterion == "absolute_error":
        return _mean_deviation(target, weights)
    shares: Floats
    if target.labels is not None:
        totals = np.bincount(target.labels, weights, minlength=target.n_values)
        shares = totals / totals.sum()
    else:
        assert target.numbers is not None
        if criterion == "squared_error":
            mean = np.average(target.numbers, axis=0, weights=weights)
            squares = np.average((target.numbers - mean) ** 2, axis=0, weights=weights)
            return float(squares.sum() / target.n_outputs)
        shares = np.average(target.numbers, axis=0, weights=weights)
    if criterion == "gini":
        return float((shares * (1.0 - shares)).sum() / target.n_outputs)
    present = shares[shares > 0.0]
    return float(-(present * np.log2(present)).sum() / target.n_outputs)


def _mean_deviation(target: TreeTarget, weights: Floats | None) -> float:
    assert target.numbers is not None
    w = np.ones(len(target.numbers)) if weights is None else weights
    deviations = [np.abs(column - weighted_median(column, w)) for column in target.numbers.T]
    return float(np.mean([np.average(d, weights=w) for d in deviations]))


def weighted_median(values: Floats, weights: Floats) -> float:
    """Return the weighted median; the midpoint of two values if both are medians."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    half = 0.5 * reached[-1]
    at = int(np.searchsorted(reached, half))
    if reached[at] == half and at + 1 < len(order):
        return float(0.5 * values[order[at]] + 0.5 * values[order[at + 1]])
    return float(values[order[at]])
