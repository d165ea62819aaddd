"""Solve the dual, working set by working set.

In each round the variables whose pulls are furthest on the wrong side of one another, and some of
the last rounds', are optimised as if there were no others: by steps of two variables each, which
keep their sum. The kernels of a working set with all rows are all that is needed of the kernel
matrix, to follow what the steps do to every pull. It ends with a certificate; see `certificate`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hedgerow import _native
from hedgerow.svm.kernel.cache import RowCache
from hedgerow.svm.kernel.certificate import Solution, dual_objective, levels_and_gap, violation
from hedgerow.svm.kernel.dual import Dual, Floats, Indices
from hedgerow.svm.kernel.face import face_steps
from hedgerow.svm.kernel.hard_margin import HardMargin

# Variables of a working set: a third of all, within these limits. Half are new in each round.
# Larger sets need fewer rounds and steps, of which each takes longer.
SMALLEST_SET, LARGEST_SET = 256, 1024
# What a round leaves of the violation in its working set.
ROUND_PART = 0.1
# Steps of a round at most, for each variable of its working set.
STEPS_PER_VARIABLE = 10
# Faces that are then tried.
FACES = 50
# Steps at most if the user does not say: as many as this, or for each row.
MOST_STEPS, MOST_STEPS_PER_ROW = 10_000_000, 100
# Rounds without a better objective that are taken for the end of what rounding lets one reach.
PATIENCE = 30

Watch = Callable[[float], None]


@dataclass(frozen=True)
class Stop:
    """When to stop: violation and relative gap at most `tol`, or after `max_iter` steps."""

    tol: float
    max_iter: int = -1  # as many as make sense

    def most_steps(self, n_rows: int) -> int:
        """Return how many steps there may be."""
        if self.max_iter >= 0:
            return self.max_iter
        return max(MOST_STEPS, MOST_STEPS_PER_ROW * n_rows)


def solve(
    dual: Dual, cache: RowCache, stop: Stop, threads: int, watch: Watch = lambda _: None
) -> Solution:
    """Maximise the dual to the tolerance, or as far as steps and rounding allow.

    `watch` is told the violation before each round.
    """
    state = State.start(dual, cache, threads)
    hard_margin = HardMargin(dual, cache.table) if dual.is_hard else None
    working = np.empty(0, np.int64)
    most_steps = stop.most_steps(len(cache.table))
    while True:
        pull = dual.linear - state.scores[dual.row]
        wrong = violation(dual, state.beta, pull)
        watch(wrong)
        is_over = state.n_iter >= most_steps or state.idle > PATIENCE
        if wrong <= stop.tol or is_over:
            solution = _certified(dual, state, pull, wrong, stop)
            if solution.converged or is_over:
                return solution
        working = _working_set(dual, state.beta, pull, working)
        steps = min(most_steps - state.n_iter, STEPS_PER_VARIABLE * len(working))
        tolerance = max(ROUND_PART * wrong, 0.5 * stop.tol if wrong > stop.tol else 0.0)
        state.improve(np.sort(working), pull, tolerance, steps)
        if hard_margin is not None:
            hard_margin.require_separable(state.beta, state.scores)


class State:
    """β and the scores that go with it, on the way to a solution."""

    def __init__(
        self, dual: Dual, cache: RowCache, beta: Floats, scores: Floats, threads: int
    ) -> None:
        self.dual = dual
        self.cache = cache
        self.beta = beta
        self.scores = scores
        self.threads = threads
        self.n_iter = 0
        self.objective = dual_objective(dual, beta, scores)
        self.idle = 0  # rounds without a better objective

    @classmethod
    def start(cls, dual: Dual, cache: RowCache, threads: int) -> State:
        """Begin where the problem does."""
        coefficients = np.bincount(dual.row, dual.start, minlength=len(cache.table))
        scores = cache.table.own_sums(coefficients, threads)
        return cls(dual, cache, dual.start.copy(), scores, threads)

    def improve(self, working: Indices, pull: Floats, tolerance: float, most_steps: int) -> None:
        """Make pair steps within a working set until their violation is below the tolerance."""
        dual, rows = self.dual, self.dual.row[working]
        slots = self.cache.slots(rows, self.threads)
        beta, pull = self.beta[working], pull[working]
        second = int(np.searchsorted(working, dual.second))
        low, high = dual.low[working], dual.high[working]
        steps = _native.pair_steps(
            self.cache.values, slots, rows, second, low, high, beta, pull, tolerance, most_steps
        )
        self.n_iter += steps
        if steps == most_steps:
            K = self.cache.values[np.ix_(slots, rows)].astype(np.float64)
            self.n_iter += face_steps(K, second, low, high, beta, pull, FACES)
        change = beta - self.beta[working]
        changed = change != 0.0
        _native.add_products(
            self.cache.values, slots[changed], change[changed], self.scores, self.threads
        )
        self.beta[working] = beta
        before, self.objective = self.objective, dual_objective(dual, self.beta, self.scores)
        self.idle = 0 if self.objective > before else self.idle + 1


def _working_set(dual: Dual, beta: Floats, pull: Floats, last: Indices) -> Indices:
    """Return the most violating variables of each group last, after the newest of the last set."""
    size = min(len(beta), max(SMALLEST_SET, min(len(beta) // 3, LARGEST_SET)))
    share = max(1, size // (4 if len(last) else 2) // len(dual.groups))
    found = [
        group.start
        + _native.most_violating(pull[group], beta[group], dual.low[group], dual.high[group], share)
        for group in dual.groups
    ]
    new = np.concatenate(found)
    kept = last[~np.isin(last, new)]
    return np.concatenate([kept[max(0, len(kept) + len(new) - size) :], new])


def _certified(dual: Dual, state: State, pull: Floats, wrong: float, stop: Stop) -> Solution:
    levels, gap = levels_and_gap(dual, state.beta, state.scores, pull)
    solution = Solution(
        dual=dual,
        beta=state.beta,
        scores=state.scores,
        levels=levels,
        objective=state.objective + gap,
        gap=gap,
        n_iter=state.n_iter,
        converged=False,
    )
    converged = wrong <= stop.tol and solution.relative_gap <= stop.tol
    return replace(solution, converged=converged)
