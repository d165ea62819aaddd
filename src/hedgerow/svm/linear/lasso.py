"""The machine with penalty Σ|w| and squared hinge losses, by coordinate descent in the primal.

Minimise P(w) = Σ_j |w_j| + Σ_i C_i max(0, 1 − y_i z_i)². For any β with y_i β_i ≥ 0 and no
|Xᵀβ|_j above 1,

    D(β) = Σ_i y_i β_i − Σ_i β_i² / (4 C_i)  ≤  P(w).

The losses' own β_i = 2 C_i y_i slack_i may be too large for that, but a multiple of it never is.

The native descent changes one weight at a time and soon finds which are 0. As long as no other
weight changes its sign, P is smooth in the others: so every few epochs they take one of Newton's
steps together, cut off where a sign would change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse

from hedgerow import _native
from hedgerow.svm.linear.gradients import conjugate_gradients
from hedgerow.svm.linear.problem import Floats, Problem, Solution, Stop, square
from hedgerow.svm.linear.rows import Rows

# Epochs between two looks at the gap.
EPOCHS = 10
# Conjugate gradients of a common step; the part of the mean curvature that is added where there may
# be none; and how often the step is halved.
CG_STEPS, DAMPING, HALVINGS = 100, 1e-8, 12


def lasso(
    rows: Rows,
    problems: Sequence[Problem],
    stop: Stop,
    seed: int,
    show: Callable[[int], None],
) -> list[Solution]:
    """Solve problems on the same rows side by side, a thread for each."""
    columns = _columns_of(rows)
    weights = [np.zeros(rows.width) for _ in problems]
    slacks = [np.ones(rows.n_rows) for _ in problems]
    descents = [
        _native.lasso_descent(columns.native, problem.sign[0], problem.C, w, slack, seed)
        for problem, w, slack in zip(problems, weights, slacks, strict=True)
    ]
    solutions: dict[int, Solution] = {}
    tolerances = [1e-2] * len(problems)
    at_work, n_iter = list(range(len(problems))), 0
    while at_work:
        epochs = min(EPOCHS, stop.max_iter - n_iter)
        _native.descend(
            [descents[k] for k in at_work], epochs, [tolerances[k] for k in at_work], rows.threads
        )
        n_iter += epochs
        for k in at_work:
            solutions[k] = _certified(rows, problems[k], weights[k], stop, n_iter)
            if descents[k].converged:
                tolerances[k] /= 10.0
            if not solutions[k].converged:
                _step_in_orthant(columns, problems[k], weights[k], slacks[k])
        at_work = [k for k in at_work if not solutions[k].converged and n_iter < stop.max_iter]
        show(len(problems) - len(at_work))
    return [solutions[k] for k in range(len(problems))]


def _columns_of(rows: Rows) -> Rows:
    """Return X transposed, with the constant feature as a row of its own."""
    constant = np.full((rows.n_rows, 1), rows.bias, rows.X.dtype)
    if scipy.sparse.issparse(rows.X):
        columns = scipy.sparse.hstack([rows.X, constant], format="csc").T.tocsr()
    else:
        columns = np.ascontiguousarray(np.hstack([rows.X, constant]).T)
    return Rows(columns, 0.0, rows.threads)


def _step_in_orthant(columns: Rows, problem: Problem, w: Floats, slack: Floats) -> None:
    """Move the weights that are not 0 together, as far as P falls and no sign changes."""
    used = np.flatnonzero(w)
    if not len(used):
        return
    of_used, sign, before = columns.take(used), np.sign(w[used]), w[used]
    y, C = problem.sign[0], problem.C
    pull = 2.0 * C * np.maximum(0.0, slack)
    gradient = sign - of_used.times(np.append(y * pull, 0.0))
    theta = np.append(2.0 * C * (slack > 0.0), 0.0)
    damping = DAMPING * float(of_used.squares().mean()) * float(theta.sum()) / len(theta)

    def curved(v: Floats) -> Floats:
        return of_used.times(theta * of_used.combine(v)) + damping * v

    step, _ = conjugate_gradients(curved, gradient, CG_STEPS)
    value = float(np.abs(before).sum()) + float((0.25 * pull * pull / C).sum())
    part = 1.0
    for _ in range(HALVINGS):
        there = before + part * step
        there[there * sign < 0.0] = 0.0
        moved = slack - y * of_used.combine(there - before)[:-1]
        losses = np.maximum(0.0, moved) ** 2
        if float(np.abs(there).sum()) + float((C * losses).sum()) < value:
            w[used], slack[:] = there, moved
            return
        part *= 0.5


def _certified(rows: Rows, problem: Problem, w: Floats, stop: Stop, n_iter: int) -> Solution:
    slack = problem.slack(rows.times(w))[0]
    objective = float(np.abs(w).sum()) + float((problem.C * slack * slack).sum())
    pull = 2.0 * problem.C * slack
    most = float(np.abs(rows.combine(problem.sign[0] * pull)).max())
    linear, quadratic = float(pull.sum()), 0.25 * square(pull / np.sqrt(problem.C))
    gap = objective
    if linear > 0.0:
        multiple = min(linear / (2.0 * quadratic), 1.0 / most if most > 0.0 else np.inf)
        gap = max(0.0, gap - multiple * (linear - multiple * quadratic))
    return Solution(w.copy(), objective, gap, n_iter, stop.is_reached(gap, objective))
