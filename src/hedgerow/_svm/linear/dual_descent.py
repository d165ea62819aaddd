"""Dual coordinate descent with active-set steps, for many features.

The native descent changes one β_i at a time and soon identifies the β at a bound; the remaining
problem is a quadratic in the free ones, on which it is slow. So every few epochs the free β take a
common step by conjugate gradients, clipped to their bounds, as long as the dual improves (Moré and
Toraldo, 1991, alternate in the same way between projected gradients and faces).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._svm.linear.design_matrix import DesignMatrix
from hedgerow._svm.linear.newton import conjugate_gradients
from hedgerow._svm.linear.problem import (
    GapCriterion,
    LinearSolution,
    SVMProblem,
    certified,
    square,
)
from hedgerow._types import Floats

# Epochs before the first active-set step, and between two. Measured on text of 100,000 rows, where
# 8 to 20 and 3 to 5 take about the same time: with fewer at first, steps hit bounds at once.
FIRST_EPOCHS, EPOCHS = 20, 5
# Initial and maximum number of conjugate-gradient steps, and of halvings of a step.
CG_STEPS, MOST_CG_STEPS, HALVINGS = 30, 1000, 12


def dual_descent(
    rows: DesignMatrix,
    problems: Sequence[SVMProblem],
    stop: GapCriterion,
    seed: int,
    show: Callable[[int], None],
) -> list[LinearSolution]:
    """Solve problems on the same rows in parallel, one thread per problem."""
    squares = rows.squares()
    searches = [DualDescentState.begin(rows, problem, squares, seed) for problem in problems]
    descend_all(searches, rows.threads, stop, FIRST_EPOCHS, EPOCHS, show)
    return [replace(search.solution, n_iter=search.n_iter) for search in searches]


def descend_all(
    searches: Sequence[Any],
    threads: int,
    stop: GapCriterion,
    first_epochs: int,
    epochs: int,
    show: Callable[[int], None],
) -> None:
    """Run the descents of several problems, one thread per problem.

    After `first_epochs` epochs, and then after every `epochs`, each search advances by other means
    and says whether it is done.
    """
    active, n_iter, at_once = searches, 0, first_epochs
    while active:
        at_once = min(at_once, stop.max_iter - n_iter)
        descents = [search.descent for search in active]
        _native.descend(descents, at_once, [search.tolerance for search in active], threads)
        n_iter += at_once
        for search in active:
            search.advance(stop, n_iter)
        active = [search for search in active if not search.is_done]
        show(len(searches) - len(active))
        at_once = epochs


@dataclass(eq=False)
class DualDescentState:
    """One problem's β and w = Xᵀβ, and the descent that changes them."""

    rows: DesignMatrix
    problem: SVMProblem
    beta: Floats
    w: Floats
    descent: _native.Descent
    tolerance: float = 1e-2  # violation at which the descent revisits converged rows
    cg_steps: int = CG_STEPS
    n_iter: int = 0
    is_done: bool = False
    solution: LinearSolution = None  # type: ignore[assignment]

    @classmethod
    def begin(
        cls, rows: DesignMatrix, problem: SVMProblem, squares: Floats, seed: int
    ) -> DualDescentState:
        """Start at β = 0."""
        beta, w = np.zeros(rows.n_rows), np.zeros(rows.width)
        lower, upper = problem.bounds
        terms = (problem.target, lower, upper, problem.ridge, problem.epsilon)
        descent = _native.dual_descent(rows.native, *terms, squares, beta, w, seed)
        return cls(rows, problem, beta, w, descent)

    def advance(self, stop: GapCriterion, n_iter: int) -> None:
        """Evaluate the gap, and take a step on the active set if it is too large."""
        self.n_iter = n_iter
        self._certify(stop)
        if not self.is_done:
            self._step_on_active_set()

    def _certify(self, stop: GapCriterion) -> None:
        """Update the best w with its duality gap, and check the stopping criterion."""
        self.w[:] = self.rows.combine(self.beta)  # without accumulated rounding errors
        z = self.rows.times(self.w)
        pair = self.w.copy(), z, self.beta, self.w
        candidate = certified(self.problem, stop, *pair, self.n_iter)
        if self.solution is None or candidate.gap < self.solution.gap:
            self.solution = candidate
        self.is_done = candidate.converged or self.n_iter >= stop.max_iter
        if self.descent.converged:
            self.tolerance /= 10.0

    def _step_on_active_set(self) -> None:
        """Move the free β together, towards their unconstrained minimum."""
        lower, upper = self.problem.bounds
        is_free = (self.beta > lower) & (self.beta < upper)
        is_free &= (self.beta != 0.0) | (self.problem.epsilon == 0.0)
        free = np.flatnonzero(is_free)
        if not len(free):
            return
        rows, beta = self.rows.take(free), self.beta[free]
        slope, ridge = self._linear_term(free), self.problem.ridge[free]
        lower, upper = self._bounds_at_kink(beta, lower[free], upper[free])
        gradient = rows.times(self.w) + slope + ridge * beta

        def curved(v: Floats) -> Floats:
            return rows.times(rows.combine(v)) + ridge * v

        step, solved = conjugate_gradients(curved, gradient, self.cg_steps)
        before = _restricted_dual(self.w, beta, slope, ridge)
        part = 1.0
        for _ in range(HALVINGS):
            there = np.clip(beta + part * step, lower, upper)
            w = self.w + rows.combine(there - beta)
            if _restricted_dual(w, there, slope, ridge) < before:
                self.beta[free], self.w[:] = there, w
                break
            part *= 0.5
        if part == 1.0 and not solved:
            self.cg_steps = min(2 * self.cg_steps, MOST_CG_STEPS)

    def _linear_term(self, free: np.ndarray) -> Floats:
        """Return the slope of the dual's linear part, including ε|β|, whose sign is fixed here."""
        slope: Floats = -self.problem.target[free]
        return slope + self.problem.epsilon * np.sign(self.beta[free])

    def _bounds_at_kink(self, beta: Floats, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Keep the sign of β where |β| has a kink at 0."""
        if self.problem.epsilon == 0.0:
            return lower, upper
        return np.where(beta > 0.0, 0.0, lower), np.where(beta < 0.0, 0.0, upper)


def _restricted_dual(w: Floats, beta: Floats, slope: Floats, ridge: Floats) -> float:
    """Return the part of the (negated) dual that depends on the free β."""
    return 0.5 * square(w) + sum_of(beta * (slope + 0.5 * ridge * beta))
