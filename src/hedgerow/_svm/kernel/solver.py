"""Solve the dual, working set by working set.

In each round the variables whose pulls are furthest on the wrong side of one another, and some of
the last rounds', are optimised as if there were no others: by steps of two variables each, which
keep their sum. The kernels of a working set with all rows are all that is needed of the kernel
matrix, to follow what the steps do to every pull.

Two things make this faster. Where steps of two variables do not come to an end, those between
their bounds are moved together (`face`). And where most variables are at their bounds and seem to
stay there, the others are solved by themselves, with kernels of their rows only (shrinking); what
the others then say is looked at afterwards.

It ends with a certificate; see `certificate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._svm.kernel.cache import RowCache
from hedgerow._svm.kernel.certificate import (
    Solution,
    dual_objective,
    extremes,
    levels_and_gap,
    square_of_w,
    violation,
)
from hedgerow._svm.kernel.dual import Dual
from hedgerow._svm.kernel.face import face_steps
from hedgerow._svm.kernel.hard_margin import HardMargin
from hedgerow._types import Floats, RowNumbers

# Variables of a working set: a third of all, within these limits, or all of few. Half are new in
# each round. Larger sets need fewer rounds and steps, of which each takes longer.
SMALLEST_SET, LARGEST_SET, ALL_OF_FEW = 256, 1024, 512
# What a round leaves of the violation in its working set.
ROUND_PART = 0.1
# Steps of a round at most, for each variable of its working set; then so many faces are tried.
STEPS_PER_VARIABLE, FACES = 10, 50
# Steps at most if the user does not say: as many as this, or for each row.
MOST_STEPS, MOST_STEPS_PER_ROW = 10_000_000, 100
# Rounds at most then: more than the steps are enough for of a large working set. Few rows would
# have ten times as many, to no avail where rounding hides what is better.
MOST_ROUNDS = 2_000
# Of a kernel times a change, as a part of it: some units in the last place of a double, in which
# sums are taken of single kernels too.
ROUNDING = 1e-15
# The part of the tolerance that rounding may be before scores are added up anew.
SLIGHT = 1e-3
# Rounds without a gain or a smaller violation that are taken for the end of what rounding lets one
# reach, and the part of all gains so far that is no gain.
PATIENCE, NO_GAIN = 30, 1e-15
# Every so many rounds settled variables may be left aside, if at most this part of rows remains.
SHRINKING_EVERY, SHRUNK = 5, 0.5
# The part of the ½‖w‖² that it starts with below which an objective counts as 0: there are machines
# of one class whose best w is 0.
NOTHING = 1e-6
# The part of the ‖w‖² that it starts with below which w counts as 0.
VANISHED = 1e-8

Watch = Callable[[float], None]


@dataclass(frozen=True)
class Stop:
    """When to stop: violation and relative gap at most `tol`, or after `max_iter` steps."""

    tol: float
    max_iter: int = -1  # as many as make sense
    shrinking: bool = True

    def most_steps(self, n_rows: int) -> int:
        """Return how many steps there may be."""
        if self.max_iter >= 0:
            return self.max_iter
        return max(MOST_STEPS, MOST_STEPS_PER_ROW * n_rows)

    @property
    def most_rounds(self) -> int:
        """How many rounds there may be: if steps are not counted by the user."""
        return MOST_ROUNDS if self.max_iter < 0 else self.max_iter


def solve(
    dual: Dual, cache: RowCache, stop: Stop, threads: int, watch: Watch = lambda _: None
) -> Solution:
    """Maximise the dual to the tolerance, or as far as steps and rounding allow.

    `watch` is told the violation before each round.
    """
    dual = replace(dual, start=cache.table.start_for(dual, threads))
    scores = _scores_of(dual, dual.start, cache, threads)
    most = stop.most_steps(len(cache.table)), stop.most_rounds
    state = State(dual, cache, scores, *most, threads)
    hard_margin = HardMargin(dual, cache.table) if dual.is_hard else None
    while True:
        _settle(state, stop, watch, hard_margin)
        if state.rounding > SLIGHT * stop.tol:
            state.refresh()
        wrong = violation(dual, state.beta, state.pull)
        solution = _certified(state, wrong, stop)
        if solution.converged or state.is_over or wrong <= state.rounding:
            return solution
        state.improve(wrong, stop.tol)


def _scores_of(dual: Dual, beta: Floats, cache: RowCache, threads: int) -> Floats:
    """Return f of every row."""
    n = len(cache.table)
    coefficients = np.bincount(dual.row, beta, minlength=n).astype(np.float64)
    return cache.table.own_sums(coefficients, np.arange(n), threads)


def _settle(state: State, stop: Stop, watch: Watch, hard_margin: HardMargin | None = None) -> None:
    """Improve until the violation is within the tolerance, or nothing more may be done."""
    shrinks = stop.shrinking and hard_margin is None
    shrink_after = SHRINKING_EVERY * 2
    while not state.is_over:
        wrong = violation(state.dual, state.beta, state.pull)
        watch(wrong)
        if wrong <= max(stop.tol, state.rounding):
            return
        if hard_margin is not None:
            hard_margin.require_separable(state.beta, state.scores)
        is_due = state.n_rounds >= shrink_after and state.n_rounds % SHRINKING_EVERY == 0
        if shrinks and is_due and _solve_unsettled(state, stop, watch):
            shrink_after = 2 * state.n_rounds
        else:
            state.improve(wrong, stop.tol)


class State:
    """β and the scores that go with it, on the way to a solution."""

    def __init__(
        self,
        dual: Dual,
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
        self._idle = 0  # rounds that made nothing better

    @property
    def rounding(self) -> float:
        """What scores may be off by: each change of a variable is rounded when it is added."""
        return ROUNDING * self.cache.table.largest() * math.sqrt(self._moved)

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more may be done, or can be."""
        spent = self.n_iter >= self.most_steps or self.n_rounds >= self.most_rounds
        return spent or self._idle > PATIENCE

    def improve(self, wrong: float, tol: float) -> None:
        """Solve the problem of a working set, having found pulls to be wrong by so much."""
        if wrong < self._least_wrong:
            self._least_wrong, self._idle = wrong, 0
        enough = 0.5 * tol if wrong > tol else 0.0
        if len(self.beta) <= ALL_OF_FEW:
            self._solve_set(np.arange(len(self.beta)), enough or ROUND_PART * wrong)
        else:
            self._working = _working_set(self.dual, self.beta, self.pull, self._working)
            self._solve_set(np.sort(self._working), max(ROUND_PART * wrong, enough))
        self.n_rounds += 1

    def _solve_set(self, working: RowNumbers, tolerance: float) -> None:
        dual, rows = self.dual, self.dual.row[working]
        slots = self.cache.slots(rows, self.threads)
        beta, pull = self.beta[working], self.pull[working]
        second = int(np.searchsorted(working, dual.second))
        low, high = dual.low[working], dual.high[working]
        most = min(self.most_steps - self.n_iter, STEPS_PER_VARIABLE * len(working))
        steps = _native.pair_steps(
            self.cache.values, slots, rows, second, low, high, beta, pull, tolerance, most
        )
        self.n_iter += steps
        if steps == most and not self.is_over:
            K = self.cache.values[np.ix_(slots, rows)].astype(np.float64)
            faces = min(FACES, self.most_steps - self.n_iter)
            self.n_iter += face_steps(K, second, low, high, beta, pull, faces)
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
        """Add scores up anew, if changes since that was done were large."""
        square = sum_of(self.beta * self.beta)
        if self._moved <= 2.0 * square:
            return
        self.scores = _scores_of(self.dual, self.beta, self.cache, self.threads)
        self.pull = self.dual.linear - self.scores[self.dual.row]
        self._moved = square

    def part(self, variables: RowNumbers, rows: RowNumbers) -> State:
        """Return the state of the problem of some variables."""
        dual = self.dual.part(variables, rows, self.beta)
        left = self.most_steps - self.n_iter, self.most_rounds - self.n_rounds
        return State(dual, self.cache.give_to_part(rows), self.scores[rows], *left, self.threads)

    def take_over(self, part: State, variables: RowNumbers, rows: RowNumbers) -> None:
        """Go on from what has become of a part."""
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


def _working_set(dual: Dual, beta: Floats, pull: Floats, last: RowNumbers) -> RowNumbers:
    """Return the most violating variables of each group last, after the newest of the last set."""
    size = min(len(beta), max(SMALLEST_SET, min(len(beta) // 3, LARGEST_SET)))
    share = max(1, size // (4 if len(last) else 2) // len(dual.groups))
    found = [
        group.start
        + _native.most_violating(pull[group], beta[group], dual.low[group], dual.high[group], share)
        for group in dual.groups
    ]
    new = np.concatenate(found)
    is_new = np.zeros(len(beta), bool)
    is_new[new] = True
    kept = last[~is_new[last]]
    return np.concatenate([kept[max(0, len(kept) + len(new) - size) :], new])


def _solve_unsettled(state: State, stop: Stop, watch: Watch) -> bool:
    """Solve the problem of those variables that may still move, if they are few enough."""
    variables = np.flatnonzero(_may_move(state))
    rows = np.unique(state.dual.row[variables])
    if not 0 < len(rows) <= SHRUNK * len(state.cache.table):
        return False
    part = state.part(variables, rows)
    _settle(part, stop, watch)
    state.take_over(part, variables, rows)
    return True


def _may_move(state: State) -> np.ndarray:
    """Mark variables that are between their bounds, or at one that their pull may move them off."""
    dual, beta, pull = state.dual, state.beta, state.pull
    marks = (beta > dual.low) & (beta < dual.high)
    for group in dual.groups:
        top, bottom = extremes(dual, beta, pull, group)
        at_low, at_high = beta[group] == dual.low[group], beta[group] == dual.high[group]
        marks[group] |= (at_low & (pull[group] >= bottom)) | (at_high & (pull[group] <= top))
    return marks & (dual.low < dual.high)


def _certified(state: State, wrong: float, stop: Stop) -> Solution:
    dual, beta, scores = state.dual, state.beta, state.scores
    levels, gap = levels_and_gap(dual, beta, scores, state.pull)
    objective = dual_objective(dual, beta, scores) + gap
    # Primal and dual are sums of scores times what variables add up to.
    gap += 2.0 * state.rounding * sum_of(np.abs(beta))
    square = square_of_w(dual, beta, scores)
    size = max(abs(objective), 0.5 * square, NOTHING * state.start_size)
    relative_gap = gap / size if size > 0.0 else (0.0 if gap == 0.0 else np.inf)
    return Solution(
        dual=dual,
        beta=beta,
        scores=scores,
        levels=levels,
        objective=objective,
        gap=gap,
        relative_gap=relative_gap,
        has_weights=square > VANISHED * 2.0 * state.start_size,
        n_iter=state.n_iter,
        converged=wrong <= max(stop.tol, state.rounding) and relative_gap <= stop.tol,
    )
