"""Solve the dual, working set by working set.

In each round a working set, the most violating variables and some of the previous rounds, is
optimised with all others fixed, by steps of two variables that preserve their sum. Only the rows of
the kernel matrix that belong to the working set are needed, to update every pull.

Two things make this faster. If pair steps converge slowly, the variables between their bounds are
moved together (`active_set`). And if most variables are at their bounds and seem to stay there, the
others are solved alone, with the kernel matrix of their rows (shrinking); the fixed variables are
checked afterwards.

The result has a certificate; see `certificate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._svm.kernel.active_set import active_set_steps
from hedgerow._svm.kernel.cache import RowCache
from hedgerow._svm.kernel.certificate import (
    HardMargin,
    KernelSolution,
    dual_objective,
    extremes,
    levels_and_gap,
    square_of_w,
    violation,
)
from hedgerow._svm.kernel.dual import DualProblem
from hedgerow._types import Floats, RowNumbers

# Size of a working set: a third of all variables, within these limits, or all if there are few.
# Half are new in each round. Larger sets need fewer but slower rounds.
SMALLEST_SET, LARGEST_SET, ALL_OF_FEW = 256, 1024, 512
# A round reduces the violation in its working set to this fraction.
ROUND_PART = 0.1
# Maximum pair steps of a round per variable of its working set, and active-set steps after them.
STEPS_PER_VARIABLE, FACES = 10, 50
# Default maximum number of steps: in total, and per row (the larger counts).
MOST_STEPS, MOST_STEPS_PER_ROW = 10_000_000, 100
# Default maximum number of rounds: more than enough for large working sets. With few rows the limit
# on steps would allow ten times as many, to no avail once rounding dominates.
MOST_ROUNDS = 2_000
# Relative rounding error of a kernel value times a change: a few units in the last place of a
# double, in which float32 kernels are summed, too.
ROUNDING = 1e-15
# Fraction of the tolerance that rounding may reach before scores are recomputed.
SLIGHT = 1e-3
# Rounds without a gain or a smaller violation after which rounding is taken to be the limit, and
# the fraction of the total gain below which a gain does not count.
PATIENCE, NO_GAIN = 30, 1e-15
# Rounds between attempts to shrink, and the largest fraction of rows for which it pays off.
SHRINKING_EVERY, SHRUNK = 5, 0.5
# Fraction of the initial ½‖w‖² below which an objective counts as 0: a one-class SVM may have w = 0
# as its optimum.
NOTHING = 1e-6
# Fraction of the initial ‖w‖² below which w counts as 0.
VANISHED = 1e-8

ReportViolation = Callable[[float], None]


@dataclass(frozen=True)
class SolverOptions:
    """Tolerance of the violation and the relative gap, limit on steps, and shrinking."""

    tol: float
    max_iter: int = -1  # no limit set by the user
    shrinking: bool = True

    def most_steps(self, n_rows: int) -> int:
        """Return the maximum number of steps."""
        if self.max_iter >= 0:
            return self.max_iter
        return max(MOST_STEPS, MOST_STEPS_PER_ROW * n_rows)

    @property
    def most_rounds(self) -> int:
        """Maximum number of rounds."""
        return MOST_ROUNDS if self.max_iter < 0 else self.max_iter


def solve(
    dual: DualProblem,
    cache: RowCache,
    stop: SolverOptions,
    threads: int,
    report: ReportViolation = lambda _: None,
) -> KernelSolution:
    """Maximise the dual to the tolerance, or as far as steps and rounding allow.

    `report` is called with the violation before each round.
    """
    dual = replace(dual, start=cache.table.start_for(dual, threads))
    scores = _scores_of(dual, dual.start, cache, threads)
    most = stop.most_steps(len(cache.table)), stop.most_rounds
    state = State(dual, cache, scores, *most, threads)
    hard_margin = HardMargin(dual, cache.table) if dual.is_hard else None
    while True:
        _solve_to_tolerance(state, stop, report, hard_margin)
        if state.rounding > SLIGHT * stop.tol:
            state.refresh()
        violated_by = violation(dual, state.beta, state.pull)
        solution = _certified(state, violated_by, stop)
        if solution.converged or state.is_over or violated_by <= state.rounding:
            return solution
        state.improve(violated_by, stop.tol)


def _scores_of(dual: DualProblem, beta: Floats, cache: RowCache, threads: int) -> Floats:
    """Return f of every row."""
    n = len(cache.table)
    coefficients = np.bincount(dual.row, beta, minlength=n).astype(np.float64)
    return cache.table.own_sums(coefficients, np.arange(n), threads)


def _solve_to_tolerance(
    state: State,
    stop: SolverOptions,
    report: ReportViolation,
    hard_margin: HardMargin | None = None,
) -> None:
    """Improve until the violation is within the tolerance or a limit is reached."""
    shrinks = stop.shrinking and hard_margin is None
    shrink_after = SHRINKING_EVERY * 2
    while not state.is_over:
        violated_by = violation(state.dual, state.beta, state.pull)
        report(violated_by)
        if violated_by <= max(stop.tol, state.rounding):
            return
        if hard_margin is not None:
            hard_margin.require_separable(state.beta, state.scores)
        is_due = state.n_rounds >= shrink_after and state.n_rounds % SHRINKING_EVERY == 0
        if shrinks and is_due and _solve_unsettled(state, stop, report):
            shrink_after = 2 * state.n_rounds
        else:
            state.improve(violated_by, stop.tol)


class State:
    """β with its scores, during the solution."""

    def __init__(
        self,
        dual: DualProblem,
        cache: RowCache,
        scores: Floats,
        most_steps: int,
        most_rounds: int,
        threads: int,
    ) -> None:
        self.dual = dual
        self.cache = cache
        self.beta = dual.start.copy()
        self.scores = scores
        self.pull = dual.linear - scores[dual.row]
        self.start_size = 0.5 * square_of_w(dual, self.beta, scores)
        self.most_steps, self.most_rounds = most_steps, most_rounds
        self.threads = threads
        self.n_iter = 0
        self.n_rounds = 0
        self._working = np.empty(0, np.int64)
        self._moved = sum_of(self.beta * self.beta)  # sum of squared changes
        self._gained = 0.0
        self._least_wrong = np.inf
        self._idle = 0  # rounds without an improvement

    @property
    def rounding(self) -> float:
        """Bound on the rounding error of the scores."""
        return ROUNDING * self.cache.table.largest() * math.sqrt(self._moved)

    @property
    def is_over(self) -> bool:
        """Whether a limit or the accuracy of rounding is reached."""
        spent = self.n_iter >= self.most_steps or self.n_rounds >= self.most_rounds
        return spent or self._idle > PATIENCE

    def improve(self, violated_by: float, tol: float) -> None:
        """Optimise a working set, given the current violation."""
        if violated_by < self._least_wrong:
            self._least_wrong, self._idle = violated_by, 0
        enough = 0.5 * tol if violated_by > tol else 0.0
        if len(self.beta) <= ALL_OF_FEW:
            self._solve_set(np.arange(len(self.beta)), enough or ROUND_PART * violated_by)
        else:
            self._working = self._working_set()
            self._solve_set(np.sort(self._working), max(ROUND_PART * violated_by, enough))
        self.n_rounds += 1

    def _working_set(self) -> RowNumbers:
        """Return the working set: recent variables of the last, then the most violating ones."""
        dual, beta, last = self.dual, self.beta, self._working
        size = min(len(beta), max(SMALLEST_SET, min(len(beta) // 3, LARGEST_SET)))
        share = max(1, size // (4 if len(last) else 2) // len(dual.groups))
        by_group = [
            group.start
            + _native.most_violating(
                self.pull[group],
                beta[group],
                dual.low[group],
                dual.high[group],
                share,
                self.threads,
            )
            for group in dual.groups
        ]
        new = np.concatenate(by_group)
        is_new = np.zeros(len(beta), bool)
        is_new[new] = True
        previous = last[~is_new[last]]
        return np.concatenate([previous[max(0, len(previous) + len(new) - size) :], new])

    def _solve_set(self, working: RowNumbers, tolerance: float) -> None:
        dual, rows = self.dual, self.dual.row[working]
        slots = self.cache.slots(rows, self.threads)
        beta, pull = self.beta[working], self.pull[working]
        second = int(np.searchsorted(working, dual.second))
        low, high = dual.low[working], dual.high[working]
        most = min(self.most_steps - self.n_iter, STEPS_PER_VARIABLE * len(working))
        steps = _native.pair_steps(
            self.cache.values,
            slots,
            rows,
            second,
            low,
            high,
            beta,
            pull,
            tolerance,
            most,
            self.cache.room(len(working)),
            self.threads,
        )
        self.n_iter += steps
        if steps == most and not self.is_over:
            K = self.cache.values[np.ix_(slots, rows)].astype(np.float64)
            faces = min(FACES, self.most_steps - self.n_iter)
            self.n_iter += active_set_steps(K, second, low, high, beta, pull, faces)
        change = beta - self.beta[working]
        self._note_gain(0.5 * sum_of(change * (self.pull[working] + pull)))
        self._moved += sum_of(change * change)
        changed = change != 0.0
        _native.add_products(
            self.cache.values, slots[changed], change[changed], self.scores, self.threads
        )
        self.beta[working] = beta
        self.pull = dual.linear - self.scores[dual.row]

    def _note_gain(self, gain: float) -> None:
        self._idle = 0 if gain > NO_GAIN * self._gained else self._idle + 1
        self._gained += max(0.0, gain)

    def refresh(self) -> None:
        """Recompute the scores, if the changes since the last time were large."""
        square = sum_of(self.beta * self.beta)
        if self._moved <= 2.0 * square:
            return
        self.scores = _scores_of(self.dual, self.beta, self.cache, self.threads)
        self.pull = self.dual.linear - self.scores[self.dual.row]
        self._moved = square

    def part(self, variables: RowNumbers, rows: RowNumbers) -> State:
        """Return the state of the problem restricted to some variables."""
        dual = self.dual.part(variables, rows, self.beta)
        left = self.most_steps - self.n_iter, self.most_rounds - self.n_rounds
        cache = self.cache.move_to_subset(rows, self.threads)
        return State(dual, cache, self.scores[rows], *left, self.threads)

    def merge(self, part: State, variables: RowNumbers, rows: RowNumbers) -> None:
        """Merge the solution of a restricted problem."""
        change = np.zeros(len(self.cache.table))
        np.add.at(change, self.dual.row[variables], part.beta - self.beta[variables])
        others = np.setdiff1d(np.arange(len(change)), rows)
        self.scores[rows] = part.scores
        self.scores[others] += self.cache.table.own_sums(change, others, self.threads)
        self.beta[variables] = part.beta
        self.pull = self.dual.linear - self.scores[self.dual.row]
        self.n_iter += part.n_iter
        self.n_rounds += part.n_rounds
        self._moved += part._moved


def _solve_unsettled(state: State, stop: SolverOptions, report: ReportViolation) -> bool:
    """Solve for the variables that may still move, if they are few enough (shrinking)."""
    variables = np.flatnonzero(_may_move(state))
    rows = np.flatnonzero(np.bincount(state.dual.row[variables]))
    if not 0 < len(rows) <= SHRUNK * len(state.cache.table):
        return False
    part = state.part(variables, rows)
    _solve_to_tolerance(part, stop, report)
    state.merge(part, variables, rows)
    return True


def _may_move(state: State) -> np.ndarray:
    """Mark variables between their bounds, or at a bound that their pull may move them off."""
    dual, beta, pull = state.dual, state.beta, state.pull
    marks = (beta > dual.low) & (beta < dual.high)
    for group in dual.groups:
        top, bottom = extremes(dual, beta, pull, group)
        at_low, at_high = beta[group] == dual.low[group], beta[group] == dual.high[group]
        marks[group] |= (at_low & (pull[group] >= bottom)) | (at_high & (pull[group] <= top))
    return marks & (dual.low < dual.high)


def _certified(state: State, violated_by: float, stop: SolverOptions) -> KernelSolution:
    dual, beta, scores = state.dual, state.beta, state.scores
    levels, gap = levels_and_gap(dual, beta, scores, state.pull)
    objective = dual_objective(dual, beta, scores) + gap
    # The objectives are sums of β times scores, whose rounding error enters here.
    gap += 2.0 * state.rounding * sum_of(np.abs(beta))
    square = square_of_w(dual, beta, scores)
    size = max(abs(objective), 0.5 * square, NOTHING * state.start_size)
    relative_gap = gap / size if size > 0.0 else (0.0 if gap == 0.0 else np.inf)
    return KernelSolution(
        dual=dual,
        beta=beta,
        scores=scores,
        levels=levels,
        objective=objective,
        gap=gap,
        relative_gap=relative_gap,
        has_weights=square > VANISHED * 2.0 * state.start_size,
        n_iter=state.n_iter,
        converged=violated_by <= max(stop.tol, state.rounding) and relative_gap <= stop.tol,
    )
