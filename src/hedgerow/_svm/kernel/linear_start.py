"""A nearly optimal starting point for a linear kernel with few columns.

Pair steps do not exploit the low rank of a linear kernel, and zigzag. The interior point method of
the linear SVMs works on the columns. It penalises the intercept as the weight of an additional
column, but hardly so if that column has large values. A step or two and the certificate remain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._svm.kernel.dual import DualProblem
from hedgerow._svm.linear.design_matrix import DesignMatrix
from hedgerow._svm.linear.interior_point import FEW_FEATURES, interior_point
from hedgerow._svm.linear.problem import GapCriterion
from hedgerow._types import Floats

# With fewer rows, pair steps are faster.
FEW_ROWS = 500
# Value in the intercept's column, relative to the size of the others.
SCALE = 100.0
# The target relative gap and the maximum number of steps.
AIM = GapCriterion(1e-11, 60)
# Relative distance within which a variable counts as being at a bound.
AT_A_BOUND = 1e-9


def linear_start(dual: DualProblem, X: Any, threads: int) -> Floats:
    """Return variables near the solution of a problem whose kernel is the product of rows of X."""
    if dual.losses is None or dual.is_hard:
        return dual.start
    if X.shape[0] < FEW_ROWS or X.shape[1] > FEW_FEATURES:
        return dual.start
    rows = X[dual.row[: len(dual.losses.C)]]
    size = float(np.sqrt(sum_of(rows * rows) / max(1, rows.shape[0] * rows.shape[1])))
    solution = interior_point(
        DesignMatrix(rows, SCALE * max(size, 1e-30), threads), dual.losses, AIM
    )
    if solution.beta is None or not np.isfinite(solution.beta).all():
        return dual.start
    beta = solution.beta
    if len(dual.row) > len(beta):  # two variables per row, one of which is 0
        beta = np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
    return _feasible(dual, beta)


def _feasible(dual: DualProblem, beta: Floats) -> Floats:
    """Snap variables near their bounds to them, and make them sum to 0."""
    close = AT_A_BOUND * (dual.high - dual.low)
    beta = np.where(beta <= dual.low + close, dual.low, beta)
    beta = np.where(beta >= dual.high - close, dual.high, beta)
    for v in np.argsort(np.abs(beta - 0.5 * (dual.low + dual.high)), kind="stable"):
        excess = sum_of(beta)
        if excess == 0.0:
            break
        beta[v] = np.clip(beta[v] - excess, dual.low[v], dual.high[v])
        if abs(excess) <= 1e-15 * sum_of(np.abs(beta)):
            break
    return beta
