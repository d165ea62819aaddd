"""Coordinate descent in the dual, with steps on faces of its box, for many features.

The native descent changes one β_i at a time and soon finds which β are at a bound; what remains is
a quadratic in the free ones, on which it is slow. So every few epochs the free β take a common step
by conjugate gradients, cut off at their bounds, as far as the dual improves (Moré and Toraldo,
1991, alternate the same way between projected gradients and faces).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._svm.linear.gradients import conjugate_gradients
from hedgerow._svm.linear.problem import Pair, Problem, Solution, Stop, certified, square
from hedgerow._svm.linear.rows import Rows
from hedgerow._types import Floats

# Epochs before the first step on a face, and between two. Measured on text of 100,000 rows, where
# 8 to 20 and 3 to 5 take about the same time: with fewer at first, steps run into bounds at once.
FIRST_EPOCHS, EPOCHS = 20, 5
# Conjugate gradients at first, and at most if a face needs more; and how often its step is halved.
CG_STEPS, MOST_CG_STEPS, HALVINGS = 30, 1000, 12


def dual_descent(
    rows: Rows,
    problems: Sequence[Problem],
    stop: Stop,
    seed: int,
    show: Callable[[int], None],
) -> list[Solution]:
    """Solve problems on the same rows side by side, a thread for each."""
    squares = rows.squares()
    searches = [Search.begin(rows, problem, squares, seed) for problem in problems]
    at_work, epochs = searches, FIRST_EPOCHS
    while at_work:
        epochs = min(epochs, stop.max_iter - at_work[0].n_iter)
        descents = [search.descent for search in at_work]
        tolerances = [search.tolerance for search in at_work]
        _native.descend(descents, epochs, tolerances, rows.threads)
        for search in at_work:
            search.n_iter += epochs
            search.certify(stop)
            if not search.is_done:
                search.step_on_face()
        at_work = [search for search in at_work if not search.is_done]
        show(len(searches) - len(at_work))
        epochs = EPOCHS
    return [replace(search.solution, n_iter=search.n_iter) for search in searches]


@dataclass(eq=False)
class Search:
    """One problem's β and w = Xᵀβ, and the descent that changes them."""

    rows: Rows
    problem: Problem
    beta: Floats
    w: Floats
    descent: _native.Descent
    tolerance: float = 1e-2  # violation at which the descent looks at settled rows again
    cg_steps: int = CG_STEPS
    n_iter: int = 0
    is_done: bool = False
    solution: Solution = None  # type: ignore[assignment]

    @classmethod
    def begin(cls, rows: Rows, problem: Problem, squares: Floats, seed: int) -> Search:
        """Start at β = 0."""
        beta, w = np.zeros(rows.n_rows), np.zeros(rows.width)
        lower, upper = problem.bounds
        terms = (problem.target, lower, upper, problem.ridge, problem.epsilon)
        descent = _native.dual_descent(rows.native, *terms, squares, beta, w, seed)
        return cls(rows, problem, beta, w, descent)

    def certify(self, stop: Stop) -> None:
        """Keep the best w so far with its gap to β, and see whether it is good enough."""
        self.w[:] = self.rows.combine(self.beta)  # free of what the steps' rounding added up to
        pair = Pair(self.w.copy(), self.rows.times(self.w), self.beta, self.w)
        found = certified(self.problem, stop, pair, self.n_iter)
        if self.solution is None or found.gap < self.solution.gap:
            self.solution = found
        self.is_done = found.converged or self.n_iter >= stop.max_iter
        if self.descent.converged:
            self.tolerance /= 10.0

    def step_on_face(self) -> None:
        """Move the free β together, towards the minimum that they have without bounds."""
        lower, upper = self.problem.bounds
        is_free = (self.beta > lower) & (self.beta < upper)
        is_free &= (self.beta != 0.0) | (self.problem.epsilon == 0.0)
        free = np.flatnonzero(is_free)
        if not len(free):
            return
        rows, beta = self.rows.take(free), self.beta[free]
        slope, ridge = self._linear_term(free), self.problem.ridge[free]
        lower, upper = self._corners(beta, lower[free], upper[free])
        gradient = rows.times(self.w) + slope + ridge * beta

        def curved(v: Floats) -> Floats:
            return rows.times(rows.combine(v)) + ridge * v

        step, solved = conjugate_gradients(curved, gradient, self.cg_steps)
        before = _face_value(self.w, beta, slope, ridge)
        part = 1.0
        for _ in range(HALVINGS):
            there = np.clip(beta + part * step, lower, upper)
            w = self.w + rows.combine(there - beta)
            if _face_value(w, there, slope, ridge) < before:
                self.beta[free], self.w[:] = there, w
                break
            part *= 0.5
        if part == 1.0 and not solved:
            self.cg_steps = min(2 * self.cg_steps, MOST_CG_STEPS)

    def _linear_term(self, free: np.ndarray) -> Floats:
        """Return the slope of the dual's linear part, ε|β| among it, which no free β leaves."""
        slope: Floats = -self.problem.target[free]
        return slope + self.problem.epsilon * np.sign(self.beta[free])

    def _corners(self, beta: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Keep β on its side of 0 where |β| has a corner there."""
        if self.problem.epsilon == 0.0:
            return lower, upper
        return np.where(beta > 0.0, 0.0, lower), np.where(beta < 0.0, 0.0, upper)


def _face_value(w: Floats, beta: Floats, slope: Floats, ridge: Floats) -> float:
    """Return the dual that is minimised, as far as the free β change it."""
    return 0.5 * square(w) + sum_of(beta * (slope + 0.5 * ridge * beta))
