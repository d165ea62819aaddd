"""The duals of all kernel machines, in one form.

Each variable β_v belongs to a row of the table, has bounds, and is in one of one or two groups::

    minimise  ½ Σ_vw β_v β_w k(x_v, x_w) − Σ_v linear_v β_v,    low ≤ β ≤ high,

where the sum of a group's variables is fixed. f(x) = Σ_v β_v k(x_v, x) is the machine's score
without intercept, and linear_v − f(x_v), the negative gradient, the *pull* of a variable. At the
optimum a group has a level such that variables of larger pull are at their upper bound and those
of smaller pull at their lower: the level is the intercept, or tells it.

| machine | variables | linear | bounds | sums |
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
from hedgerow._svm.linear.problem import Problem
from hedgerow._types import Floats, RowNumbers


@dataclass(frozen=True, eq=False)
class Dual:
    """A problem; see the module. Variables of the second group come after those of the first."""

    row: RowNumbers
    linear: Floats
    low: Floats
    high: Floats
    start: Floats  # within bounds, with the sums that the groups must have
    second: int  # where the second group begins
    losses: Problem | None = None  # the same as a linear machine has it, if it is C's

    @property
    def groups(self) -> tuple[slice, ...]:
        """The variables of each group."""
        n = len(self.row)
        parts = slice(0, self.second), slice(self.second, n)
        return tuple(part for part in parts if part.start < part.stop)

    @property
    def is_hard(self) -> bool:
        """Tell whether nothing bounds the variables: a margin that no row may be within."""
        return bool(np.isinf(self.high).any())

    def part(self, variables: RowNumbers, rows: RowNumbers, beta: Floats) -> Dual:
        """Return the problem of some variables, all on these rows, with the others as they are."""
        return Dual(
            row=np.searchsorted(rows, self.row[variables]),
            linear=self.linear[variables],
            low=self.low[variables],
            high=self.high[variables],
            start=beta[variables],
            second=int(np.searchsorted(variables, self.second)),
        )

    def of_rows(self, rows: RowNumbers) -> Dual:
        """Place the problem on these rows of a larger table."""
        return replace(self, row=rows[self.row])


def of_classes(y: Floats, C: Floats) -> Dual:
    """Tell y = 1 from y = −1, with costs C of a row within the margin."""
    ends = np.where(y > 0.0, C, -C)
    n = len(y)
    losses = Problem.of_classes(y, C, squared=False)
    low, high = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
    return Dual(np.arange(n), y, low, high, np.zeros(n), n, losses)


def of_numbers(t: Floats, C: Floats, epsilon: float) -> Dual:
    """Come within ε of t, with costs C of what is more."""
    n, zero = len(t), np.zeros(len(t))
    return Dual(
        row=np.tile(np.arange(n), 2),
        linear=np.concatenate([t - epsilon, t + epsilon]),
        low=np.concatenate([zero, -C]),
        high=np.concatenate([C, zero]),
        start=np.zeros(2 * n),
        second=2 * n,
        losses=Problem.of_numbers(t, C, epsilon, squared=False),
    )


def of_one_class(weights: Floats, nu: float) -> Dual:
    """Hold all but a part ν of the rows on one side of a plane far from the origin."""
    n = len(weights)
    start = _first_up_to(weights, nu * sum_of(weights))
    return Dual(np.arange(n), np.zeros(n), np.zeros(n), weights, start, n)


def of_nu_classes(y: Floats, weights: Floats, nu: float) -> Dual:
    """Tell classes with about a part ν of the rows within the margin."""
    row = np.concatenate([np.flatnonzero(y > 0.0), np.flatnonzero(y < 0.0)])
    second = int((y > 0.0).sum())
    weights, signs = weights[row], y[row]
    each = 0.5 * nu * sum_of(weights)
    start = np.concatenate(
        [_first_up_to(weights[:second], each), -_first_up_to(weights[second:], each)]
    )
    ends = signs * weights
    return Dual(
        row, np.zeros(len(row)), np.minimum(ends, 0.0), np.maximum(ends, 0.0), start, second
    )


def of_nu_numbers(t: Floats, C: Floats, nu: float) -> Dual:
    """Come as near to t as a part ν of the rows allows to be farther away."""
    n, zero = len(t), np.zeros(len(t))
    start = _first_up_to(C, 0.5 * nu * sum_of(C))
    return Dual(
        row=np.tile(np.arange(n), 2),
        linear=np.tile(t, 2),
        low=np.concatenate([zero, -C]),
        high=np.concatenate([C, zero]),
        start=np.concatenate([start, -start]),
        second=n,
    )


def without_tube(problem: Dual) -> Dual:
    """Return the problem of numbers and ν with ε = 0 instead: what ν chooses if costs are large.

    Of ν's problem, whose two groups' sums are fixed, it is the one in which they may be less. So if
    they are less at its optimum, that is ν's optimum too, with ε = 0; but in ν's own form both
    variables of a row would be there, each as large as C, and only their difference would count.
    """
    n = problem.second
    zero = np.zeros(len(problem.row))
    losses = Problem.of_numbers(problem.linear[:n], problem.high[:n], 0.0, squared=False)
    return replace(problem, start=zero, second=2 * n, losses=losses)


def with_tube(problem: Dual, beta: Floats) -> Dual:
    """Start the problem of numbers and ν at a multiple of what is best with ε = 0."""
    n = problem.second
    parts = [np.maximum(beta[:n] + beta[n:], 0.0), np.minimum(beta[:n] + beta[n:], 0.0)]
    wanted = [sum_of(problem.start[:n]), sum_of(problem.start[n:])]
    if not all(sum_of(np.abs(part)) > 0.0 for part in parts):
        return problem
    scaled = [part * (want / sum_of(part)) for part, want in zip(parts, wanted, strict=True)]
    start = np.clip(np.concatenate(scaled), problem.low, problem.high)
    return replace(problem, start=start)


def _first_up_to(most: Floats, total: float) -> Floats:
    """Fill one variable after the other until they add up to the total."""
    before = np.concatenate([[0.0], np.cumsum(most)[:-1]])
    return np.clip(total - before, 0.0, most)
