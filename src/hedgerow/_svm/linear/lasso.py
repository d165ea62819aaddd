"""The L1-penalised SVM with squared hinge loss, by coordinate descent in the primal.

Minimise P(w) = Σ_j |w_j| + Σ_i C_i max(0, 1 − y_i z_i)². For any β with y_i β_i ≥ 0 and no
|Xᵀβ|_j above 1,

    D(β) = Σ_i y_i β_i − Σ_i β_i² / (4 C_i)  ≤  P(w).

The gradient's β_i = 2 C_i y_i slack_i may violate this, but a multiple of it does not.

The native descent changes one weight at a time and soon identifies those that are 0. As long as no
sign changes, P is smooth in the others: so every few epochs they take Newton steps together,
clipped where a sign would change. If C is large, single weights can hardly move, and the zeros are
identified by the interior point method (`interior_lasso`), if there are few columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import mean_of, sum_of
from hedgerow._svm.linear.design_matrix import DesignMatrix
from hedgerow._svm.linear.dual_descent import descend_all
from hedgerow._svm.linear.interior_lasso import interior_lasso
from hedgerow._svm.linear.newton import conjugate_gradients
from hedgerow._svm.linear.problem import GapCriterion, LinearSolution, SVMProblem, square
from hedgerow._types import Floats

# Epochs between two evaluations of the gap.
EPOCHS = 10
# Conjugate-gradient steps of a common step; damping relative to the mean curvature, since the
# Hessian may be singular; maximum number of halvings of the step.
CG_STEPS, DAMPING, HALVINGS = 100, 1e-8, 12
# Number of weights up to which the Hessian is factored, Newton steps taken at a time, ridge added
# to its unit diagonal, and iterative refinements of a solution.
FEW_WEIGHTS, NEWTON_STEPS, RIDGE, REFINEMENTS = 300, 20, 1e-14, 3
# Epochs after which the interior point method is tried, for few weights.
PATIENCE = 3 * EPOCHS


def lasso(
    rows: DesignMatrix,
    problems: Sequence[SVMProblem],
    stop: GapCriterion,
    seed: int,
    show: Callable[[int], None],
) -> list[LinearSolution]:
    """Solve problems on the same rows in parallel, one thread per problem."""
    columns = _columns_of(rows)
    searches = [LassoDescent.begin(rows, columns, problem, seed) for problem in problems]
    descend_all(searches, rows.threads, stop, EPOCHS, EPOCHS, show)
    return [search.solution for search in searches]


@dataclass(eq=False)
class LassoDescent:
    """One problem's weights and slacks, and the descent that changes them."""

    rows: DesignMatrix
    columns: DesignMatrix
    problem: SVMProblem
    w: Floats
    slack: Floats
    descent: _native.Descent
    tolerance: float = 1e-2  # violation at which the descent revisits converged weights
    bound: float = 0.0  # best lower bound of the objective
    is_done: bool = False
    solution: LinearSolution = None  # type: ignore[assignment]

    @classmethod
    def begin(
        cls, rows: DesignMatrix, columns: DesignMatrix, problem: SVMProblem, seed: int
    ) -> LassoDescent:
        """Start at w = 0."""
        w, slack = np.zeros(rows.width), np.ones(rows.n_rows)
        signs, C = problem.sign[0], problem.C
        descent = _native.lasso_descent(columns.native, signs, C, w, slack, seed)
        return cls(rows, columns, problem, w, slack, descent)

    def advance(self, stop: GapCriterion, n_iter: int) -> None:
        """Evaluate the gap, and take a Newton or interior-point step if it is too large."""
        if self.descent.converged:
            self.tolerance /= 10.0
        self._certify(stop, n_iter)
        if self.solution.converged:
            return
        if n_iter == PATIENCE and self.rows.width <= FEW_WEIGHTS:
            self._try_interior_point()
        _step_in_orthant(self.columns, self.problem, self.w, self.slack)
        self._certify(stop, n_iter)

    def _certify(self, stop: GapCriterion, n_iter: int) -> None:
        """Update the best weights; recompute the slacks without accumulated rounding."""
        self.slack[:] = self._slack_at(self.w)
        objective = self._primal_at(self.w)
        pull = 2.0 * self.problem.C * np.maximum(0.0, self.slack)
        self.bound = max(self.bound, self._dual_at(pull))
        if self.solution is not None and objective >= self.solution.objective:
            w, objective = self.solution.w, self.solution.objective
        else:
            w = self.w.copy()
        gap = max(0.0, objective - self.bound)
        self.solution = LinearSolution(w, objective, gap, n_iter, stop.is_reached(gap, objective))
        self.is_done = self.solution.converged or n_iter >= stop.max_iter

    def _try_interior_point(self) -> None:
        """Move to the interior point solution, if it is better."""
        with np.errstate(all="ignore"):  # overflowing candidates are rejected
            w, alpha = interior_lasso(self.rows, self.problem, self._primal_at, self._dual_at)
        self.bound = max(self.bound, self._dual_at(alpha))
        if self._primal_at(w) < self.solution.objective:
            self.w[:] = w
            self.slack[:] = self._slack_at(w)

    def _slack_at(self, w: Floats) -> Floats:
        """Return 1 − y z, which may be negative."""
        slack: Floats = 1.0 - self.problem.sign[0] * self.rows.times(w)
        return slack

    def _primal_at(self, w: Floats) -> float:
        """Return P(w), or infinity if it is NaN."""
        slack = np.maximum(0.0, self._slack_at(w))
        value = sum_of(np.abs(w)) + sum_of(self.problem.C * slack * slack)
        return value if np.isfinite(value) else np.inf

    def _dual_at(self, alpha: Floats) -> float:
        """Return D of the best multiple of α = y β, or 0 if it is NaN."""
        most = float(np.abs(self.rows.combine(self.problem.sign[0] * alpha)).max())
        linear, quadratic = sum_of(alpha), 0.25 * square(alpha / np.sqrt(self.problem.C))
        if not (linear > 0.0 and np.isfinite(quadratic) and np.isfinite(most)):
            return 0.0
        multiple = min(linear / (2.0 * quadratic), 1.0 / most if most > 0.0 else np.inf)
        return multiple * (linear - multiple * quadratic)


def _columns_of(rows: DesignMatrix) -> DesignMatrix:
    """Return X transposed, with the constant feature as a row of its own."""
    constant = np.full((rows.n_rows, 1), rows.bias, rows.X.dtype)
    if scipy.sparse.issparse(rows.X):
        columns = scipy.sparse.hstack([rows.X, constant], format="csc").T.tocsr()
    else:
        columns = np.ascontiguousarray(np.hstack([rows.X, constant]).T)
    return DesignMatrix(columns, 0.0, rows.threads)


def _step_in_orthant(columns: DesignMatrix, problem: SVMProblem, w: Floats, slack: Floats) -> None:
    """Move the nonzero weights together, as long as P decreases and no sign changes.

    Few weights take Newton steps until P stops decreasing; many take one, by conjugate gradients.
    """
    for _ in range(NEWTON_STEPS):
        used = np.flatnonzero(w)
        if not len(used):
            return
        of_used, few = columns.take(used), len(used) <= FEW_WEIGHTS
        if few and _one_step(of_used, problem, used, w, slack, _by_cholesky):
            continue
        # Also if the matrix is singular, as it is with more weights than rows.
        _one_step(of_used, problem, used, w, slack, _by_products)
        return


def _one_step(
    of_used: DesignMatrix,
    problem: SVMProblem,
    used: NDArray[np.intp],
    w: Floats,
    slack: Floats,
    direction: Callable[[DesignMatrix, Floats, Floats], Floats],
) -> bool:
    """Take one Newton step in the nonzero weights; return whether P decreased."""
    sign, before = np.sign(w[used]), w[used]
    y, C = problem.sign[0], problem.C
    pull = 2.0 * C * np.maximum(0.0, slack)
    gradient = sign - of_used.times(np.append(y * pull, 0.0))
    theta = np.append(2.0 * C * (slack > 0.0), 0.0)
    step = direction(of_used, theta, gradient)
    value = sum_of(np.abs(before)) + sum_of(0.25 * pull * pull / C)
    part = 1.0
    for _ in range(HALVINGS):
        there = before + part * step
        there[there * sign < 0.0] = 0.0
        moved = slack - y * of_used.combine(there - before)[:-1]
        losses = np.maximum(0.0, moved) ** 2
        if sum_of(np.abs(there)) + sum_of(C * losses) < value:
            w[used], slack[:] = there, moved
            return True
        part *= 0.5
    return False


def _by_products(of_used: DesignMatrix, theta: Floats, gradient: Floats) -> Floats:
    """Solve H step = −∇P by products with H, for many weights."""
    damping = DAMPING * mean_of(of_used.squares()) * sum_of(theta) / len(theta)

    def curved(v: Floats) -> Floats:
        return of_used.times(theta * of_used.combine(v)) + damping * v

    step, _ = conjugate_gradients(curved, gradient, CG_STEPS)
    return step


def _by_cholesky(of_used: DesignMatrix, theta: Floats, gradient: Floats) -> Floats:
    """Solve H step = −∇P with the matrix H, for few weights."""
    step = -gradient
    _Factored(of_used, theta).solve(step)
    return step


class _Factored:
    """X diag(θ) Xᵀ for some columns as rows of X, scaled to a unit diagonal."""

    def __init__(self, of_used: DesignMatrix, theta: Floats) -> None:
        weighted = np.sqrt(theta)[:-1]
        dense = of_used.X.toarray() if scipy.sparse.issparse(of_used.X) else of_used.X
        transposed = np.ascontiguousarray((dense * weighted).T, np.float64)
        self.matrix = DesignMatrix(transposed, 0.0, of_used.threads).normal_matrix(
            np.ones(len(transposed))
        )
        self.matrix = np.ascontiguousarray(self.matrix[:-1, :-1])
        diagonal = self.matrix.diagonal()
        self.unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        self.matrix = self.matrix * self.unit * self.unit[:, np.newaxis]
        self.factored = self.matrix.copy()
        self.factored[np.diag_indices(len(self.unit))] += RIDGE
        _native.cholesky(self.factored)

    def solve(self, rhs: Floats) -> None:
        """Solve, in place."""
        aim = rhs * self.unit
        solution = aim.copy()
        _native.cholesky_solve(self.factored, solution)
        for _ in range(REFINEMENTS):
            left = aim - (self.matrix * solution).sum(axis=1)
            _native.cholesky_solve(self.factored, left)
            solution += left
        rhs[:] = solution * self.unit
