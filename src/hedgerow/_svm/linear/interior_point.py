"""A primal–dual interior point method for hinge and ε-insensitive losses, for few features.

Each side of a row has a dual variable 0 < α < C, c = C − α, and multipliers s, t > 0 of the two
bounds. The optimum is where::

    sign z − offset = s − t,      w = Xᵀ Σ_s sign α,      α s = 0,      c t = 0,

and the method follows the path on which the products are μ instead, as μ decreases to 0. Newton's
step for these equations, with all but dw eliminated, has a matrix of the size of the features::

    (1 + Xᵀ diag(Σ_s θ) X) dw = ρ + Xᵀ Σ_s sign θ rhs,      1/θ = s/α + t/c,

where ρ = Xᵀ Σ_s sign α − w is the residual of the second equation. Each iteration takes two such
steps with one factorisation: Mehrotra's predictor, which shows how far μ can decrease, and a
corrector.

Near the end the α that are 0, C, or between can be identified; the rows of the latter lie on the
margin, which is a linear system for their α. Its solution, if it is within the bounds, is the
optimum up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import scipy.sparse

from hedgerow import _native
from hedgerow._arithmetic import hypot, mean_of
from hedgerow._svm.linear.design_matrix import DesignMatrix
from hedgerow._svm.linear.newton import PATIENCE, by_cholesky, newton
from hedgerow._svm.linear.problem import GapCriterion, LinearSolution, SVMProblem, certified
from hedgerow._types import Floats

# Up to this number of features, their Gram matrix is formed and factored in each step.
FEW_FEATURES = 300
# Maximum fraction of the distance to the nearest bound that a step covers.
WITHIN = 0.98
# The relative gap to which the squared losses are minimised for the starting point.
ROUGH = 1e-2
# The relative gap below which the α at their bounds may be identified.
PLAIN = 1e-4
# Iterative refinements of the equations for the rows on the margin.
REFINEMENTS = 3


@dataclass(frozen=True, eq=False)
class CentralPathPoint:
    """A point of the method: arrays of (sides, n_rows), and w, z = X w and ρ."""

    alpha: Floats
    room: Floats
    s: Floats
    t: Floats
    w: Floats
    z: Floats
    rho: Floats

    def mean_product(self) -> float:
        """Return μ."""
        return mean_of(self.alpha * self.s + self.room * self.t) / 2.0

    def moved(self, step: NewtonStep, part: float) -> CentralPathPoint:
        """Return the point after a fraction of a step, which reduces ρ by the same fraction."""
        return CentralPathPoint(
            self.alpha + part * step.alpha,
            self.room - part * step.alpha,
            self.s + part * step.s,
            self.t + part * step.t,
            self.w + part * step.w,
            self.z + part * step.z,
            (1.0 - part) * self.rho,
        )


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """A change of a point."""

    alpha: Floats
    s: Floats
    t: Floats
    w: Floats
    z: Floats

    def longest(self, point: CentralPathPoint) -> float:
        """Return the largest fraction of the step, at most 1, that keeps all variables positive."""
        shortest = min(
            float((self.alpha / point.alpha).min()),
            float((-self.alpha / point.room).min()),
            float((self.s / point.s).min()),
            float((self.t / point.t).min()),
        )
        return 1.0 if shortest >= -1.0 else -1.0 / shortest


def interior_point(rows: DesignMatrix, problem: SVMProblem, stop: GapCriterion) -> LinearSolution:
    """Minimise P along the central path."""
    point = _start(rows, problem)
    best = None
    since_best = 0
    for n_iter in count():
        candidate = _certified(rows, problem, point, stop)
        if candidate.relative_gap <= PLAIN:
            candidate = min(
                candidate, _on_edges(rows, problem, point, stop), key=lambda each: each.gap
            )
        if best is None or candidate.gap < best.gap:
            best, since_best = candidate, 0
        since_best += 1
        if best.converged or n_iter == stop.max_iter or since_best > PATIENCE:
            return replace(best, n_iter=n_iter)
        point = _advance(rows, problem, point)
    raise AssertionError("unreachable")


def _start(rows: DesignMatrix, problem: SVMProblem) -> CentralPathPoint:
    """Start at the w that minimises the squared losses; all equations hold except for ρ = 0.

    For given w and μ, the equations α s = c t = μ and s − t = sign z − offset have one solution.
    """
    squares = SVMProblem(problem.sign, problem.offset, problem.C, True, problem.epsilon)
    w = newton(rows, squares, GapCriterion(ROUGH, 10), by_cholesky).w
    z = rows.times(w)
    margin = problem.sign * z - problem.offset
    scale = mean_of(problem.C * np.abs(margin))
    mu = scale if scale > 0.0 else mean_of(problem.C)
    least = mu / problem.C
    across = hypot(margin, 2.0 * least)
    s, t = least + 0.5 * (across + margin), least + 0.5 * (across - margin)
    alpha = mu / s
    rho = rows.combine((problem.sign * alpha).sum(axis=0)) - w
    return CentralPathPoint(alpha, mu / t, s, t, w, z, rho)


def _certified(
    rows: DesignMatrix, problem: SVMProblem, point: CentralPathPoint, stop: GapCriterion
) -> LinearSolution:
    """Return the point's w with its gap to the point's α.

    Products are recomputed, since updates accumulate rounding errors.
    """
    beta = (problem.sign * point.alpha).sum(axis=0)
    return certified(problem, stop, point.w, rows.times(point.w), beta, rows.combine(beta))


def _on_edges(
    rows: DesignMatrix, problem: SVMProblem, point: CentralPathPoint, stop: GapCriterion
) -> LinearSolution:
    """Return the w at which rows with α between the bounds lie on the margin, with its gap.

    An α is at a bound if its multiplier exceeds the distance from the bound, relative to C.
    """
    is_zero = point.alpha / problem.C <= point.s
    is_full = ~is_zero & (point.room / problem.C <= point.t)
    alpha = np.where(is_zero, 0.0, np.where(is_full, problem.C, point.alpha))
    beta = (problem.sign * alpha).sum(axis=0)
    between = ~is_zero & ~is_full
    free = np.flatnonzero(between.any(axis=0))
    w = rows.combine(beta)
    if 0 < len(free) <= 2 * rows.width:
        on_edge = rows.take(free)
        side = between[:, free].argmax(axis=0), free
        edge = problem.sign[side] * problem.offset[side]
        gram = _gram_matrix(on_edge)
        _native.cholesky(gram)
        for _ in range(REFINEMENTS):
            missing = edge - on_edge.times(w)
            _native.cholesky_solve(gram, missing)
            beta[free] += missing
            w = rows.combine(beta)
    lower, upper = problem.bounds
    beta = np.clip(beta, lower, upper)
    return certified(problem, stop, w, rows.times(w), beta, rows.combine(beta))


def _gram_matrix(rows: DesignMatrix) -> Floats:
    """Return X Xᵀ."""
    transposed = rows.X.T.tocsr() if scipy.sparse.issparse(rows.X) else rows.X.T.copy()
    products = DesignMatrix(transposed, 0.0, rows.threads).normal_matrix(
        np.ones(transposed.shape[0])
    )
    return np.ascontiguousarray(products[:-1, :-1]) + rows.bias**2


def _advance(rows: DesignMatrix, problem: SVMProblem, point: CentralPathPoint) -> CentralPathPoint:
    """Take one predictor–corrector step."""
    theta = 1.0 / (point.s / point.alpha + point.t / point.room)
    matrix = rows.normal_matrix(theta.sum(axis=0))
    matrix[np.diag_indices(rows.width)] += 1.0
    _native.cholesky(matrix)
    outward = problem.offset - problem.sign * point.z

    def solve(alpha_s: Floats | float, room_t: Floats | float) -> NewtonStep:
        """Return the step after which, to first order, the products have these values."""
        rhs = outward + alpha_s / point.alpha - room_t / point.room
        w = point.rho + rows.combine((problem.sign * theta * rhs).sum(axis=0))
        _native.cholesky_solve(matrix, w)
        z = rows.times(w)
        alpha = theta * (rhs - problem.sign * z)
        s = (alpha_s - point.s * alpha) / point.alpha - point.s
        t = (room_t + point.t * alpha) / point.room - point.t
        return NewtonStep(alpha, s, t, w, z)

    mu = point.mean_product()
    predicted = solve(0.0, 0.0)
    fall = point.moved(predicted, predicted.longest(point)).mean_product() / mu
    aim = fall**3 * mu
    step = solve(aim - predicted.alpha * predicted.s, aim + predicted.alpha * predicted.t)
    return point.moved(step, min(1.0, WITHIN * step.longest(point)))
