"""The primal and dual problem of a linear SVM, for classification and regression.

Minimise over w, with z = X w (the last feature of X is constant, its weight the intercept)::

    P(w) = ½‖w‖² + Σ_i C_i Σ_s max(0, offset_si − sign_si z_i)^p,    p = 1 or 2.

A row of class y = ±1 has one side, with sign y and offset 1: the hinge loss. A row with target t
has two, with signs +1 and −1 and offsets ±t − ε: at most one of them is positive, and their sum is
the ε-insensitive loss. By Fenchel duality, for any β within its bounds,

    D(β) = Σ_i target_i β_i − ε Σ_i |β_i| − ½‖Xᵀβ‖² − ½ Σ_i ridge_i β_i²  ≤  P(w),

with equality at the optimum, where w = Xᵀβ. P(w) − D(β), the gap, is the certificate of a fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._types import Floats

# A relative gap below this cannot be distinguished from rounding.
ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class SVMProblem:
    """The losses of a problem, without X; the module docstring has the formulas."""

    sign: Floats  # (sides, n_rows)
    offset: Floats  # (sides, n_rows)
    C: Floats  # (n_rows,), positive
    squared: bool
    epsilon: float

    @classmethod
    def of_classes(cls, y: Floats, C: Floats, *, squared: bool) -> SVMProblem:
        """Return the problem of separating y = 1 from y = −1."""
        return cls(y[np.newaxis], np.ones((1, len(y))), C, squared, 0.0)

    @classmethod
    def of_numbers(cls, t: Floats, C: Floats, epsilon: float, *, squared: bool) -> SVMProblem:
        """Return the problem of predicting t to within ε."""
        sign = np.repeat([[1.0], [-1.0]], len(t), axis=1)
        return cls(sign, sign * t - epsilon, C, squared, epsilon)

    @property
    def target(self) -> Floats:
        """The linear term of the dual."""
        target: Floats = self.sign[0] * (self.offset[0] + self.epsilon)
        return target

    @property
    def ridge(self) -> Floats:
        """The diagonal quadratic term of the dual, from the conjugate of C max(0, ·)²."""
        return 0.5 / self.C if self.squared else np.zeros_like(self.C)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of β."""
        largest = np.full_like(self.C, np.inf) if self.squared else self.C
        ends = self.sign * largest
        return np.minimum(0.0, ends.min(axis=0)), np.maximum(0.0, ends.max(axis=0))

    def slack(self, z: Floats) -> Floats:
        """Return max(0, offset − sign z) of each side of each row."""
        slack: Floats = np.maximum(0.0, self.offset - self.sign * z)
        return slack

    def primal(self, w: Floats, slack: Floats) -> float:
        """Return P(w)."""
        losses = slack * slack if self.squared else slack
        return 0.5 * square(w) + sum_of(self.C * losses)

    def dual(self, beta: Floats, combined: Floats) -> float:
        """Return D(β), given Xᵀβ."""
        own = self.target * beta - self.epsilon * np.abs(beta)
        if self.squared:
            own -= 0.25 * beta * beta / self.C
        return sum_of(own) - 0.5 * square(combined)


@dataclass(frozen=True)
class GapCriterion:
    """Stopping criterion: a relative duality gap, or a number of iterations."""

    relative_gap: float
    max_iter: int

    def is_reached(self, gap: float, objective: float) -> bool:
        """Return whether the gap is small enough."""
        return gap <= max(self.relative_gap, ROUNDING) * abs(objective)


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """Weights with a certificate: no weights have an objective below `objective − gap`."""

    w: Floats
    objective: float
    gap: float
    n_iter: int
    converged: bool
    beta: Floats | None = None  # the dual solution of the gap, if the solver has one

    @property
    def relative_gap(self) -> float:
        """The gap relative to the objective."""
        return self.gap / self.objective if self.objective > 0.0 else 0.0


def certified(
    problem: SVMProblem,
    stop: GapCriterion,
    w: Floats,
    z: Floats,
    beta: Floats,
    combined: Floats,
    n_iter: int = 0,
) -> LinearSolution:
    """Return w with its duality gap, given z = X w, a β within its bounds, and Xᵀβ."""
    objective = problem.primal(w, problem.slack(z))
    gap = max(0.0, objective - problem.dual(beta, combined))
    return LinearSolution(w, objective, gap, n_iter, stop.is_reached(gap, objective), beta)


def square(v: Floats) -> float:
    """Return ‖v‖², with a fixed order of summation."""
    return sum_of(v * v)


def dot(a: Floats, b: Floats) -> float:
    """Return a·b, with a fixed order of summation."""
    return sum_of(a * b)
