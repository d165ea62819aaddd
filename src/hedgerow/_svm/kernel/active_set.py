"""Active-set steps: all variables between their bounds at once, if pair steps are too slow.

On the face of the box spanned by the variables strictly between their bounds, the dual is a
quadratic. Its maximum, subject to the fixed sums of the groups, solves linear equations:

    K d = pull − levels,    Σ_group d = 0.

A step goes there, or to the first bound on the way, whose variable becomes fixed. Unlike pair
steps, it does not zigzag for large C or nearly collinear columns.
"""

from __future__ import annotations

import numpy as np

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._types import Floats

# Ridge relative to the largest diagonal element, against rounding in the factorisation.
RIDGE = 1e-13
# Iterative refinements of a solution.
REFINEMENTS = 2


def active_set_steps(
    K: Floats, second: int, low: Floats, high: Floats, beta: Floats, pull: Floats, most: int
) -> int:
    """Move β and the pulls, in place, to the maximum on their face, and on the faces it leads to.

    Variables from `second` on are the second group. Returns the number of steps.
    """
    group = np.arange(len(beta)) >= second
    for step in range(most):
        free = np.flatnonzero((beta > low) & (beta < high))
        if len(free) < 2:
            return step
        direction = _direction(K[np.ix_(free, free)], group[free], pull[free])
        room = np.where(direction > 0.0, high[free], low[free]) - beta[free]
        with np.errstate(all="ignore"):
            parts = np.where(direction != 0.0, room / direction, np.inf)
        first = int(parts.argmin())
        part = min(1.0, float(parts[first]))
        rise = sum_of(direction * pull[free])
        if not (np.isfinite(direction).all() and rise > 0.0 and part > 0.0):
            return step
        moved = np.clip(beta[free] + part * direction, low[free], high[free])
        if part < 1.0:
            moved[first] = high[free[first]] if direction[first] > 0.0 else low[free[first]]
        pull -= (K[:, free] * (moved - beta[free])).sum(axis=1)
        beta[free] = moved
        if part == 1.0:
            return step + 1
    return most


def _direction(K: Floats, group: np.ndarray, pull: Floats) -> Floats:
    """Solve the equations of a face for the direction of a step."""
    factored = K.copy()
    diagonal = np.diag_indices(len(K))
    factored[diagonal] += RIDGE * float(np.abs(factored[diagonal]).max())
    _native.cholesky(factored)
    ones = [side.astype(np.float64) for side in (~group, group) if side.any()]
    by_ones = [_solve(K, factored, one) for one in ones]
    free = _solve(K, factored, pull)
    levels = _levels(ones, by_ones, free)
    direction = free - sum(level * by for level, by in zip(levels, by_ones, strict=True))
    # Restores the sums, which a nearly singular matrix may violate.
    for side in (~group, group):
        direction[side] -= sum_of(direction[side]) / max(1, side.sum())
    return direction


def _levels(ones: list[Floats], by_ones: list[Floats], free: Floats) -> list[float]:
    """Return the levels that keep the sums; written out for the same bits everywhere."""
    sums = [[sum_of(one * by) for by in by_ones] for one in ones]
    rhs = [sum_of(one * free) for one in ones]
    if len(ones) == 1:
        return [rhs[0] / sums[0][0]] if sums[0][0] != 0.0 else [0.0]
    (a, b), (c, d) = sums
    determinant = a * d - b * c
    if determinant == 0.0:
        return [0.0, 0.0]
    first, second = rhs
    return [(d * first - b * second) / determinant, (a * second - c * first) / determinant]


def _solve(K: Floats, factored: Floats, rhs: Floats) -> Floats:
    solution = rhs.copy()
    _native.cholesky_solve(factored, solution)
    for _ in range(REFINEMENTS):
        left = rhs - (K * solution).sum(axis=1)
        _native.cholesky_solve(factored, left)
        solution += left
    return solution
