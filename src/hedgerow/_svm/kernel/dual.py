"""The duals of all kernel SVMs, in one form.

Each variable β_v belongs to a row of the table, has bounds, and is in one of one or two groups::

    minimise  ½ Σ_vw β_v β_w k(x_v, x_w) − Σ_v linear_v β_v,    low ≤ β ≤ high,

where the sum of a group's variables is fixed. f(x) = Σ_v β_v k(x_v, x) is the SVM's score
without intercept, and linear_v − f(x_v), the negative gradient, the *pull* of a variable. At the
optimum a group has a level such that variables of larger pull are at their upper bound and those
of smaller pull at their lower: the level is the intercept, or determines it.

| SVM | variables | linear | bounds | sums |
|---|---|---|---|---|
| classes, C | β = y α for each row | y | 0 … C y | 0 |
| classes, ν | β = y α for each row, a group for each class | 0 | 0 … w y | ±ν Σw / 2 |
| numbers, C | two for each row, β ≥ 0 and β ≤ 0 | t ∓ ε | 0 … ±C | 0 |
| numbers, ν | the same, a group each | t | 0 … ±C | ±ν ΣC / 2 |
| one class | α for each row | 0 | 0 … w | ν Σw |
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._svm.linear.problem import SVMProblem
from hedgerow._types import Floats, RowNumbers


@dataclass(frozen=True, eq=False)
class DualProblem:
    """A dual problem; see the module. Variables of the second group follow those of the first."""

    row: RowNumbers
    linear: Floats
    low: Floats
    high: Floats
    start: Floats  # feasible: within bounds, with the required sums
    second: int  # index at which the second group begins
    losses: SVMProblem | None = None  # the same problem for a linear SVM, in the C formulation

    @property
    def groups(self) -> tuple[slice, ...]:
        """The variables of each group."""
        n = len(self.row)
        parts = slice(0, self.second), slice(self.second, n)
        return tuple(part for part in parts if part.start < part.stop)

    @property
    def is_hard(self) -> bool:
        """Whether the variables are unbounded: a hard margin."""
        return bool(np.isinf(self.high).any())

    def part(self, variables: RowNumbers, rows: RowNumbers, beta: Floats) -> DualProblem:
        """Return the problem restricted to some variables on these rows, with the others fixed."""
        return DualProblem(
            row=np.searchsorted(rows, self.row[variables]),
            linear=self.linear[variables],
            low=self.low[variables],
            high=self.high[variables],
            start=beta[variables],
            second=int(np.searchsorted(variables, self.second)),
        )

    def of_rows(self, rows: RowNumbers) -> DualProblem:
        """Return the problem for these rows of a larger table."""
        return replace(self, row=rows[self.row])


def of_classes(y: Floats, C: Floats) -> DualProblem:
    """Return the C-SVC problem of separating y = 1 from y = −1."""
    ends = np.where(y > 0.0, C, -C)
    n = len(y)
    losses = SVMProblem.of_classes(y, C, squared=False)
    low, high = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
    return DualProblem(np.arange(n), y, low, high, np.zeros(n), n, losses)


def of_numbers(t: Floats, C: Floats, epsilon: float) -> DualProblem:
    """Return the ε-SVR problem of predicting t to within ε."""
    n, zero = len(t), np.zeros(len(t))
    return DualProblem(
        row=np.tile(np.arange(n), 2),
        linear=np.concatenate([t - epsilon, t + epsilon]),
        low=np.concatenate([zero, -C]),
        high=np.concatenate([C, zero]),
        start=np.zeros(2 * n),
        second=2 * n,
        losses=SVMProblem.of_numbers(t, C, epsilon, squared=False),
    )


def of_one_class(weights: Floats, nu: float) -> DualProblem:
    """Return the one-class problem: all but a fraction ν of the rows beyond a plane."""
    n = len(weights)
    start = _first_up_to(weights, nu * sum_of(weights))
    return DualProblem(np.arange(n), np.zeros(n), np.zeros(n), weights, start, n)


def of_nu_classes(y: Floats, weights: Floats, nu: float) -> DualProblem:
    """Return the ν-SVC problem, with about a fraction ν of the rows within the margin."""
    row = np.concatenate([np.flatnonzero(y > 0.0), np.flatnonzero(y < 0.0)])
    second = int((y > 0.0).sum())
    weights, signs = weights[row], y[row]
    each = 0.5 * nu * sum_of(weights)
    start = np.concatenate(
        [_first_up_to(weights[:second], each), -_first_up_to(weights[second:], each)]
    )
    ends = signs * weights
    return DualProblem(
        row, np.zeros(len(row)), np.minimum(ends, 0.0), np.maximum(ends, 0.0), start, second
    )


def of_nu_numbers(t: Floats, C: Floats, nu: float) -> DualProblem:
    """Return the ν-SVR problem, with about a fraction ν of the rows outside the tube."""
    n, zero = len(t), np.zeros(len(t))
    start = _first_up_to(C, 0.5 * nu * sum_of(C))
    return DualProblem(
        row=np.tile(np.arange(n), 2),
        linear=np.tile(t, 2),
        low=np.concatenate([zero, -C]),
        high=np.concatenate([C, zero]),
        start=np.concatenate([start, -start]),
        second=n,
    )


def without_tube(problem: DualProblem) -> DualProblem:
    """Return the ν-SVR problem with ε = 0, which is the solution of ν-SVR if C is large.

    It relaxes the fixed sums of the two groups to upper bounds. If they are not attained at its
    optimum, that is also the optimum of ν-SVR, with ε = 0; but in the form of ν-SVR both variables
    of a row would be nonzero, each up to C, and only their difference would matter.
    """
    n = problem.second
    zero = np.zeros(len(problem.row))
    losses = SVMProblem.of_numbers(problem.linear[:n], problem.high[:n], 0.0, squared=False)
    return replace(problem, start=zero, second=2 * n, losses=losses)


def with_tube(problem: DualProblem, beta: Floats) -> DualProblem:
    """Start the ν-SVR problem at a multiple of the solution with ε = 0."""
    n = problem.second
    parts = [np.maximum(beta[:n] + beta[n:], 0.0), np.minimum(beta[:n] + beta[n:], 0.0)]
    totals = [sum_of(problem.start[:n]), sum_of(problem.start[n:])]
    if not all(sum_of(np.abs(part)) > 0.0 for part in parts):
        return problem
    scaled = [part * (want / sum_of(part)) for part, want in zip(parts, totals, strict=True)]
    start = np.clip(np.concatenate(scaled), problem.low, problem.high)
    return replace(problem, start=start)


def _first_up_to(most: Floats, total: float) -> Floats:
    """Fill one variable after another until they sum to the total."""
    before = np.concatenate([[0.0], np.cumsum(most)[:-1]])
    return np.clip(total - before, 0.0, most)
