"""Newton's method in the primal, for squared losses.

P is piecewise quadratic. Where side s of row i has a slack, β_i = 2 C_i Σ_s sign_si slack_si and
θ_i = 2 C_i give gradient and Hessian::

    ∇P = w − Xᵀβ,        H = 1 + Xᵀ diag(θ) X.

This β lies within the dual's bounds, and its gap is ½‖∇P‖²: so Newton's own stopping rule is the
certificate. Once the set of rows with a slack no longer changes, one step reaches the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import numpy as np

from hedgerow import _native
from hedgerow._svm.linear.design_matrix import DesignMatrix
from hedgerow._svm.linear.problem import GapCriterion, LinearSolution, SVMProblem, dot, square
from hedgerow._types import Floats

# Armijo's rule: required fraction of the predicted decrease, and maximum number of halvings.
PART, HALVINGS = 1e-4, 40
# Iterations without a smaller gap after which rounding is taken to be the limit.
PATIENCE = 8
CG_STEPS = 300

Direction = Callable[[DesignMatrix, Floats, Floats], Floats]
# Relative residual at which to stop: steps are clipped at bounds or by other rows' slacks, so
# higher accuracy does not pay off.
REDUCTION = 1e-2


def newton(
    rows: DesignMatrix, problem: SVMProblem, stop: GapCriterion, direction: Direction
) -> LinearSolution:
    """Minimise P from w = 0, with steps computed by `direction`."""
    w, z = np.zeros(rows.width), np.zeros(rows.n_rows)
    best = None
    since_best = 0
    for n_iter in count():
        slack = problem.slack(z)
        objective = problem.primal(w, slack)
        beta = 2.0 * problem.C * (problem.sign * slack).sum(axis=0)
        gradient = w - rows.combine(beta)
        gap = 0.5 * square(gradient)
        reached = stop.is_reached(gap, objective)
        if best is None or gap < best.gap:
            best, since_best = LinearSolution(w, objective, gap, n_iter, reached), 0
        since_best += 1
        if reached or n_iter == stop.max_iter or since_best > PATIENCE:
            return replace(best, n_iter=n_iter)
        theta = 2.0 * problem.C * (slack > 0.0).sum(axis=0)
        step = direction(rows, theta, gradient)
        moved = rows.times(step)
        part = _length(problem, w, z, step, moved, objective, dot(gradient, step))
        w, z = w + part * step, z + part * moved
    raise AssertionError("unreachable")


def by_cholesky(rows: DesignMatrix, theta: Floats, gradient: Floats) -> Floats:
    """Solve H step = −∇P with the matrix H, for few features."""
    hessian = rows.normal_matrix(theta)
    hessian[np.diag_indices(rows.width)] += 1.0
    _native.cholesky(hessian)
    step = -gradient
    _native.cholesky_solve(hessian, step)
    return step


def by_conjugate_gradients(rows: DesignMatrix, theta: Floats, gradient: Floats) -> Floats:
    """Solve H step = −∇P by products with H, for many features."""
    step, _ = conjugate_gradients(lambda v: v + rows.curve(theta, v), gradient, CG_STEPS)
    return step


def _length(
    problem: SVMProblem,
    w: Floats,
    z: Floats,
    step: Floats,
    moved: Floats,
    objective: float,
    slope: float,
) -> float:
    """Return the step length: 1, halved until Armijo's rule holds."""
    rounding = 4.0 * np.finfo(float).eps * objective
    part = 1.0
    for _ in range(HALVINGS):
        there = problem.primal(w + part * step, problem.slack(z + part * moved))
        if there <= objective + PART * part * slope + rounding:
            break
        part *= 0.5
    return part


def conjugate_gradients(
    curved: Callable[[Floats], Floats], gradient: Floats, n_steps: int
) -> tuple[Floats, bool]:
    """Solve H step = −gradient, where `curved(v)` is H v; also return whether it converged."""
    step, residual = np.zeros_like(gradient), -gradient
    towards, left = residual, square(residual)
    enough = REDUCTION**2 * left
    for _ in range(n_steps):
        if left <= enough:
            return step, True
        along = curved(towards)
        curvature = dot(towards, along)
        if curvature <= 0.0:  # only by rounding: H is positive definite
            return step, True
        length = left / curvature
        step = step + length * towards
        residual = residual - length * along
        before, left = left, square(residual)
        towards = residual + (left / before) * towards
    return step, left <= enough
