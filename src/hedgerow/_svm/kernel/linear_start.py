"""Where to start with a linear kernel and few columns: at the solution, nearly.

Pairs of rows see nothing of the few columns behind a linear kernel, and zigzag. The linear
machines' interior point method works on the columns. It penalises the intercept, as if it were the
weight of one more column; with large numbers in that column, hardly. What is left to do is a step
or two, and the certificate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._svm.kernel.dual import Dual
from hedgerow._svm.linear.interior_point import interior_point
from hedgerow._svm.linear.problem import Stop
from hedgerow._svm.linear.rows import Rows
from hedgerow._svm.linear.solving import FEW_FEATURES
from hedgerow._types import Floats

# Fewer rows are solved in pairs before this has begun.
FEW_ROWS = 500
# Numbers in the intercept's column, by the size of those in the others.
SCALE = 100.0
# The relative gap to aim at, and how many steps it may take: each is cheap.
AIM = Stop(1e-11, 60)
# The part of the way between its bounds within which a variable is at one of them.
AT_A_BOUND = 1e-9


def linear_start(dual: Dual, X: Any, threads: int) -> Floats:
    """Return variables near the solution of a problem whose kernel is the product of rows of X."""
    if dual.losses is None or dual.is_hard:
        return dual.start
    if X.shape[0] < FEW_ROWS or X.shape[1] > FEW_FEATURES:
        return dual.start
    rows = X[dual.row[: len(dual.losses.C)]]
    size = float(np.sqrt(sum_of(rows * rows) / max(1, rows.shape[0] * rows.shape[1])))
    solution = interior_point(Rows(rows, SCALE * max(size, 1e-30), threads), dual.losses, AIM)
    if solution.beta is None or not np.isfinite(solution.beta).all():
        return dual.start
    beta = solution.beta
    if len(dual.row) > len(beta):  # two variables a row, of which one is 0
        beta = np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
    return _feasible(dual, beta)


def _feasible(dual: Dual, beta: Floats) -> Floats:
    """Put variables near their bounds on them, and make them add up to 0."""
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
