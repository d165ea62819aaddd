"""The machine with penalty Σ|w| and squared hinge losses, by coordinate descent in the primal.

Minimise P(w) = Σ_j |w_j| + Σ_i C_i max(0, 1 − y_i z_i)². For any β with y_i β_i ≥ 0 and no
|Xᵀβ|_j above 1,

    D(β) = Σ_i y_i β_i − Σ_i β_i² / (4 C_i)  ≤  P(w).

The losses' own β_i = 2 C_i y_i slack_i may be too large for that, but a multiple of it never is.

The native descent changes one weight at a time and soon finds which are 0. As long as no other
weight changes its sign, P is smooth in the others: so every few epochs they take Newton's steps
together, cut off where a sign would change. Where costs are large no weight can change alone, and
which ones are 0 is found by the interior point method (`interior_lasso`), if columns are few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import mean_of, sum_of
from hedgerow._svm.linear.gradients import conjugate_gradients
from hedgerow._svm.linear.interior_lasso import interior_lasso
from hedgerow._svm.linear.problem import Problem, Solution, Stop, square
from hedgerow._svm.linear.rows import Rows
from hedgerow._types import Floats

# Epochs between two looks at the gap.
EPOCHS = 10
# Conjugate gradients of a common step; the part of the mean curvature that is added where there may
# be none; and how often the step is halved.
CG_STEPS, DAMPING, HALVINGS = 100, 1e-8, 12
# Weights for which a matrix of them is formed and factored, how many steps are taken with it at a
# time, what is added to its diagonal of ones, and how often solutions are improved by what they
# leave over.
FEW_WEIGHTS, NEWTON_STEPS, RIDGE, REFINEMENTS = 300, 20, 1e-14, 3
# Epochs after which few weights are looked for by the interior point method.
PATIENCE = 3 * EPOCHS


def lasso(
    rows: Rows,
    problems: Sequence[Problem],
    stop: Stop,
    seed: int,
    show: Callable[[int], None],
) -> list[Solution]:
    """Solve problems on the same rows side by side, a thread for each."""
    columns = _columns_of(rows)
    searches = [Search.begin(rows, columns, problem, seed) for problem in problems]
    at_work, n_iter = searches, 0
    while at_work:
        epochs = min(EPOCHS, stop.max_iter - n_iter)
        descents = [search.descent for search in at_work]
        tolerances = [search.tolerance for search in at_work]
        _native.descend(descents, epochs, tolerances, rows.threads)
        n_iter += epochs
        for search in at_work:
            search.go_on(stop, n_iter)
        at_work = [
            search for search in at_work if not search.solution.converged and n_iter < stop.max_iter
        ]
        show(len(searches) - len(at_work))
    return [search.solution for search in searches]


@dataclass(eq=False)
class Search:
    """One problem's weights and slacks, and the descent that changes them."""

    rows: Rows
    columns: Rows
    problem: Problem
    w: Floats
    slack: Floats
    descent: _native.Descent
    tolerance: float = 1e-2  # violation at which the descent looks at settled weights again
    bound: float = 0.0  # that no objective is below, so far
    solution: Solution = None  # type: ignore[assignment]

    @classmethod
    def begin(cls, rows: Rows, columns: Rows, problem: Problem, seed: int) -> Search:
        """Start at w = 0."""
        w, slack = np.zeros(rows.width), np.ones(rows.n_rows)
        signs, C = problem.sign[0], problem.C
        descent = _native.lasso_descent(columns.native, signs, C, w, slack, seed)
        return cls(rows, columns, problem, w, slack, descent)

    def go_on(self, stop: Stop, n_iter: int) -> None:
        """See how good the descent's weights are, and lead it on if that is not enough."""
        if self.descent.converged:
            self.tolerance /= 10.0
        self._certify(stop, n_iter)
        if self.solution.converged:
            return
        if n_iter == PATIENCE and self.rows.width <= FEW_WEIGHTS:
            self._leap()
        _step_in_orthant(self.columns, self.problem, self.w, self.slack)
        self._certify(stop, n_iter)

    def _certify(self, stop: Stop, n_iter: int) -> None:
        """Keep the best weights so far; make the slacks what w says, free of rounding."""
        self.slack[:] = self._slack_at(self.w)
        objective = self._primal_at(self.w)
        pull = 2.0 * self.problem.C * np.maximum(0.0, self.slack)
        self.bound = max(self.bound, self._dual_at(pull))
        if self.solution is not None and objective >= self.solution.objective:
            w, objective = self.solution.w, self.solution.objective
        else:
            w = self.w.copy()
        gap = max(0.0, objective - self.bound)
        self.solution = Solution(w, objective, gap, n_iter, stop.is_reached(gap, objective))

    def _leap(self) -> None:
        """Go where the interior point method leads, if that is better."""
        with np.errstate(all="ignore"):  # what overflows is not taken for a solution
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
        """Return P(w), infinite where it is not a number."""
        slack = np.maximum(0.0, self._slack_at(w))
        value = sum_of(np.abs(w)) + sum_of(self.problem.C * slack * slack)
        return value if np.isfinite(value) else np.inf

    def _dual_at(self, alpha: Floats) -> float:
        """Return D of the best multiple of α = y β, 0 where that is not a number."""
        most = float(np.abs(self.rows.combine(self.problem.sign[0] * alpha)).max())
        linear, quadratic = sum_of(alpha), 0.25 * square(alpha / np.sqrt(self.problem.C))
        if not (linear > 0.0 and np.isfinite(quadratic) and np.isfinite(most)):
            return 0.0
        multiple = min(linear / (2.0 * quadratic), 1.0 / most if most > 0.0 else np.inf)
        return multiple * (linear - multiple * quadratic)


def _columns_of(rows: Rows) -> Rows:
    """Return X transposed, with the constant feature as a row of its own."""
    constant = np.full((rows.n_rows, 1), rows.bias, rows.X.dtype)
    if scipy.sparse.issparse(rows.X):
        columns = scipy.sparse.hstack([rows.X, constant], format="csc").T.tocsr()
    else:
        columns = np.ascontiguousarray(np.hstack([rows.X, constant]).T)
    return Rows(columns, 0.0, rows.threads)


def _step_in_orthant(columns: Rows, problem: Problem, w: Floats, slack: Floats) -> None:
    """Move the weights that are not 0 together, as far as P falls and no sign changes.

    Few weights take Newton's steps until none makes P less; many take one, by conjugate gradients.
    """
    for _ in range(NEWTON_STEPS):
        used = np.flatnonzero(w)
        if not len(used):
            return
        of_used, few = columns.take(used), len(used) <= FEW_WEIGHTS
        if few and _one_step(of_used, problem, used, w, slack, _by_cholesky):
            continue
        # Also where the matrix is singular, as it is with more weights than rows.
        _one_step(of_used, problem, used, w, slack, _by_products)
        return


def _one_step(
    of_used: Rows,
    problem: Problem,
    used: NDArray[np.intp],
    w: Floats,
    slack: Floats,
    direction: Callable[[Rows, Floats, Floats], Floats],
) -> bool:
    """Take one of Newton's steps with the weights in use; tell whether P fell."""
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


def _by_products(of_used: Rows, theta: Floats, gradient: Floats) -> Floats:
    """Solve H step = −∇P by products with H, for many weights."""
    damping = DAMPING * mean_of(of_used.squares()) * sum_of(theta) / len(theta)

    def curved(v: Floats) -> Floats:
        return of_used.times(theta * of_used.combine(v)) + damping * v

    step, _ = conjugate_gradients(curved, gradient, CG_STEPS)
    return step


def _by_cholesky(of_used: Rows, theta: Floats, gradient: Floats) -> Floats:
    """Solve H step = −∇P with the matrix H, for few weights."""
    step = -gradient
    _Factored(of_used, theta).solve(step)
    return step


class _Factored:
    """X diag(θ) Xᵀ for some columns as rows of X, in units in which its diagonal is 1."""

    def __init__(self, of_used: Rows, theta: Floats) -> None:
        weighted = np.sqrt(theta)[:-1]
        dense = of_used.X.toarray() if scipy.sparse.issparse(of_used.X) else of_used.X
        transposed = np.ascontiguousarray((dense * weighted).T, np.float64)
        self.matrix = Rows(transposed, 0.0, of_used.threads).normal_matrix(np.ones(len(transposed)))
        self.matrix = np.ascontiguousarray(self.matrix[:-1, :-1])
        diagonal = self.matrix.diagonal()
        self.unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        self.matrix = self.matrix * self.unit * self.unit[:, np.newaxis]
        self.factored = self.matrix.copy()
        self.factored[np.diag_indices(len(self.unit))] += RIDGE
        _native.cholesky(self.factored)

    def solve(self, wanted: Floats) -> None:
        """Solve, in place."""
        aim = wanted * self.unit
        solution = aim.copy()
        _native.cholesky_solve(self.factored, solution)
        for _ in range(REFINEMENTS):
            left = aim - (self.matrix * solution).sum(axis=1)
            _native.cholesky_solve(self.factored, left)
            solution += left
        wanted[:] = solution * self.unit
