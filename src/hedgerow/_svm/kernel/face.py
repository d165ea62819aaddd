"""Steps of all variables between their bounds at once, where steps of two take too long.

The variables strictly between their bounds span a face of the box. On it the dual is a quadratic
whose top, with the groups' sums kept, is the solution of linear equations:

    K d = pull − levels,    Σ_group d = 0.

A step goes there, or as far as the first bound on the way, whose variable leaves the face. Large C
and nearly equal columns, which make pair steps zigzag, do not matter to it.
"""

from __future__ import annotations

import numpy as np

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._types import Floats

# What is added to the diagonal, as a part of its largest element: rounding of the factorisation.
RIDGE = 1e-13
# Solutions are improved by what they leave over.
REFINEMENTS = 2


def face_steps(
    K: Floats, second: int, low: Floats, high: Floats, beta: Floats, pull: Floats, most: int
) -> int:
    """Move β and the pulls, in place, to the top of their face and of those it leads to.

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
    """Solve the equations of a face."""
    factored = K.copy()
    diagonal = np.diag_indices(len(K))
    factored[diagonal] += RIDGE * float(np.abs(factored[diagonal]).max())
    _native.cholesky(factored)
    ones = [side.astype(np.float64) for side in (~group, group) if side.any()]
    by_ones = [_solve(K, factored, one) for one in ones]
    free = _solve(K, factored, pull)
    levels = _levels(ones, by_ones, free)
    direction = free - sum(level * by for level, by in zip(levels, by_ones, strict=True))
    # If the matrix is nearly singular the solution may be far off, but sums are kept in any case.
    for side in (~group, group):
        direction[side] -= sum_of(direction[side]) / max(1, side.sum())
    return direction


def _levels(ones: list[Floats], by_ones: list[Floats], free: Floats) -> list[float]:
    """Return the levels that keep the sums; by hand, for the same bits everywhere."""
    sums = [[sum_of(one * by) for by in by_ones] for one in ones]
    wanted = [sum_of(one * free) for one in ones]
    if len(ones) == 1:
        return [wanted[0] / sums[0][0]] if sums[0][0] != 0.0 else [0.0]
    (a, b), (c, d) = sums
    determinant = a * d - b * c
    if determinant == 0.0:
        return [0.0, 0.0]
    first, second = wanted
    return [(d * first - b * second) / determinant, (a * second - c * first) / determinant]


def _solve(K: Floats, factored: Floats, wanted: Floats) -> Floats:
    solution = wanted.copy()
    _native.cholesky_solve(factored, solution)
    for _ in range(REFINEMENTS):
        left = wanted - (K * solution).sum(axis=1)
        _native.cholesky_solve(factored, left)
        solution += left
    return solution
