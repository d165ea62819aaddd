"""An interior-point method for the SVM with penalty Σ|w|, where coordinate descent is slow.

With large costs, the rows on the margin prevent coordinate descent from changing single weights.
The dual of the problem in `lasso`, in α = y β ≥ 0, is::

    minimise  Σ_i α_i² / (4 C_i) − Σ_i α_i,    −1 ≤ Xᵀ y α ≤ 1.

With u, v ≥ 0 the multipliers of its two bounds, w = u − v, p and q their slacks, and σ the
multiplier of α ≥ 0, the optimum is where u p = v q = α σ = 0 and α / 2C + y X w = 1 + σ. As in
`interior_point`, the products are μ on the central path. With all but dw eliminated, Newton's step
is

    (1 / (u/p + v/q) + Xᵀ diag(θ) X) dw = …,      1/θ = 1/(2C) + σ/α.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._svm.linear.design_matrix import DesignMatrix
from hedgerow._svm.linear.problem import SVMProblem
from hedgerow._types import Floats

# Maximum number of steps, and of steps without improvement; the fraction of the distance to the
# nearest bound that a step covers; and the relative gap at which to stop.
MOST_STEPS, PATIENCE, WITHIN, ENOUGH = 200, 20, 0.98, 1e-12


@dataclass(eq=False)
class LassoPoint:
    """A point of the method, or a step: the change of each variable."""

    alpha: Floats
    sigma: Floats
    u: Floats
    v: Floats
    p: Floats
    q: Floats

    def pairs(self) -> tuple[tuple[Floats, Floats], ...]:
        """Return the factors of all products."""
        return (self.alpha, self.sigma), (self.u, self.p), (self.v, self.q)

    def mean_product(self) -> float:
        """Return μ."""
        n = len(self.alpha) + 2 * len(self.u)
        return sum(sum_of(a * b) for a, b in self.pairs()) / n

    def moved(self, step: LassoPoint, part: float) -> LassoPoint:
        """Return the point after a fraction of a step."""
        return LassoPoint(*(a + part * b for a, b in zip(self._all(), step._all(), strict=True)))

    def longest(self, step: LassoPoint) -> float:
        """Return the largest fraction of a step, at most 1, that keeps all variables positive."""
        shortest = min(float((b / a).min()) for a, b in zip(self._all(), step._all(), strict=True))
        return 1.0 if shortest >= -1.0 else -1.0 / shortest

    def _all(self) -> tuple[Floats, ...]:
        return self.alpha, self.sigma, self.u, self.v, self.p, self.q

    @property
    def is_used(self) -> NDArray[np.bool_]:
        """Mark the weights that are not 0: those whose multiplier exceeds the slack."""
        used: NDArray[np.bool_] = (self.u > self.p) | (self.v > self.q)
        return used


def interior_lasso(
    rows: DesignMatrix,
    problem: SVMProblem,
    primal: Callable[[Floats], float],
    dual: Callable[[Floats], float],
) -> tuple[Floats, Floats]:
    """Return the best weights of all steps, with exact zeros, and the best α.

    Near the end rounding makes steps worse again: `primal` and `dual` determine the best.
    """
    point = _start(rows, problem)
    best_w, best_alpha = np.zeros(rows.width), point.alpha
    lowest, highest, idle = primal(best_w), dual(best_alpha), 0
    for _ in range(MOST_STEPS):
        following = _advance(rows, problem, point)
        if following is None or idle > PATIENCE or lowest - highest <= ENOUGH * lowest:
            break
        point, idle = following, idle + 1
        w = np.where(point.is_used, point.u - point.v, 0.0)
        value, bound = primal(w), dual(point.alpha)
        if value < lowest:
            best_w, lowest, idle = w, value, 0
        if bound > highest:
            best_alpha, highest, idle = point.alpha, bound, 0
    return best_w, best_alpha


def _start(rows: DesignMatrix, problem: SVMProblem) -> LassoPoint:
    """Start at w = 0 and a multiple of its β well within the dual's bounds."""
    alpha = 2.0 * problem.C
    most = float(np.abs(rows.combine(problem.sign[0] * alpha)).max())
    alpha = alpha * min(0.5, 0.5 / most if most > 0.0 else np.inf)
    combined = rows.combine(problem.sign[0] * alpha)
    # The size of a weight if its column were alone, from the squares of its numbers.
    squares = rows.normal_matrix(np.full(rows.n_rows, 1.0 / rows.n_rows)).diagonal()
    each = 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0))
    return LassoPoint(alpha, np.ones(len(alpha)), each, each, 1.0 - combined, 1.0 + combined)


def _advance(rows: DesignMatrix, problem: SVMProblem, point: LassoPoint) -> LassoPoint | None:
    """Take one predictor–corrector step; None if rounding prevents it."""
    y, curvature = problem.sign[0], 0.5 / problem.C
    alpha, u, v, p, q = point.alpha, point.u, point.v, point.p, point.q
    combined = rows.combine(y * alpha)
    lack_p, lack_q = 1.0 - combined - p, 1.0 + combined - q
    pull = 1.0 - curvature * alpha - y * rows.times(u - v)
    theta = 1.0 / (curvature + point.sigma / alpha)
    give = u / p + v / q
    matrix = rows.normal_matrix(theta)
    matrix[np.diag_indices(rows.width)] += 1.0 / give
    _native.cholesky(matrix)

    def solve(alpha_sigma: Floats | float, u_p: Floats | float, v_q: Floats | float) -> LassoPoint:
        """Return the step after which, to first order, the products have these values."""
        rhs = pull + alpha_sigma / alpha
        constant = (u_p / p - u - u / p * lack_p) - (v_q / q - v - v / q * lack_q)
        dw = rows.combine(y * theta * rhs) + constant / give
        _native.cholesky_solve(matrix, dw)
        d_alpha = theta * (rhs - y * rows.times(dw))
        along = rows.combine(y * d_alpha)
        dp, dq = lack_p - along, lack_q + along
        return LassoPoint(
            d_alpha,
            alpha_sigma / alpha - point.sigma - point.sigma / alpha * d_alpha,
            u_p / p - u - u / p * dp,
            v_q / q - v - v / q * dq,
            dp,
            dq,
        )

    predicted = solve(0.0, 0.0, 0.0)
    if not np.isfinite(predicted.alpha).all():
        return None
    mu = point.mean_product()
    fall = point.moved(predicted, point.longest(predicted)).mean_product() / mu
    aim = fall**3 * mu
    step = solve(
        aim - predicted.alpha * predicted.sigma,
        aim - predicted.u * predicted.p,
        aim - predicted.v * predicted.q,
    )
    if not np.isfinite(step.alpha).all():
        return None
    return point.moved(step, min(1.0, WITHIN * point.longest(step)))
