"""Trying a few kinds of trees on a part of the rows, and what follows from it for all of them.

Every kind is boosted at one learning rate until rows that were held out stop to gain. The kind that
does best on them is fitted again to all rows. What it had learned by its best round, rounds times
rate, is then spread over as many rounds as the budget has: a smaller rate first, because slow
learning is the surest gain, and then several models, whose mean varies less than each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Event, Lock
from typing import Any

import numpy as np

from hedgerow._boosting.fit.auto.budget import (
    FASTEST,
    MANY_COLUMNS,
    PATIENCE,
    SLOWEST,
    TRIAL_RATE,
    Budget,
    slowness,
)
from hedgerow._boosting.fit.auto.choice import Choice, Tried
from hedgerow._boosting.fit.auto.trial import Ground, Trial
from hedgerow._boosting.fit.fit_data import Rows
from hedgerow._boosting.fit.settings import PLAIN, Settings, is_auto, settled
from hedgerow._boosting.fit.training_data import Examples
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._progress import Progress, progress

Numbers = Mapping[str, Any]


def _kind(*numbers: float) -> Numbers:
    names = "max_leaves", "min_samples_leaf", "reg_lambda", "subsample", "colsample_bytree"
    return dict(zip(names, numbers, strict=True))


# Kinds of trees: small ones suit smooth and additive targets, large ones deep interactions.
KINDS_OF_FEW_ROWS = (_kind(4, 5, 1.0, 0.6, 1.0), _kind(12, 5, 1.0, 0.6, 1.0))
KINDS = (_kind(31, 5, 5.0, 1.0, 0.7), _kind(63, 20, 5.0, 1.0, 0.7))
FEW_ROWS = 10_000  # up to here there is time for small trees, too
FEW_COLUMNS = 5  # of fewer, every tree has all
MOST_MEMBERS = 4
DRAWS = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")


class Search:
    """The kinds of trees to try for a fit, on one or more partings of its rows.

    `parts` are rows to train on and rows to judge by. `more_rows` is how much more there is to
    learn from all rows of the fit.
    """

    def __init__(
        self,
        rows: Rows,
        settings: Settings,
        parts: Sequence[tuple[Examples, Examples]],
        more_rows: float,
    ) -> None:
        self._asked = settings.asked
        self._metric = rows.metrics[0]
        self._grounds = [Ground.of(rows.problem, settings, *part) for part in parts]
        self._more_rows = more_rows
        # A user's function may not expect to be called from several threads.
        self._n_threads = settings.n_threads
        is_ours = rows.problem.is_native and not isinstance(self._metric, UserMetric)
        self._n_workers = settings.n_threads if is_ours else 1
        n_rows = parts[0][0].table.n_rows + parts[0][1].table.n_rows
        n_columns = self._grounds[0].prepared.train.table.n_features
        self._kinds = _kinds(self._asked, n_rows, n_columns)
        looked_at = n_columns * max(kind["colsample_bytree"] for kind in self._kinds)
        n_outputs = rows.problem.loss.n_outputs
        self._budget = Budget.of(n_rows, n_outputs, self._asked.budget, looked_at)

    def run(self) -> Choice:
        """Try every kind; return what the best of them asks for."""
        tried = self._try_all()
        scores = np.array([each.score for each in tried])
        metric, n_folds = self._metric.name, len(self._grounds)
        if np.isnan(scores).all():
            return Choice(_parameters(self._asked, PLAIN), 1, metric, n_folds, tried)
        best = int(np.nanargmax(scores if self._metric.higher_is_better else -scores))
        parameters, n_members = self._plan(tried[best].parameters, tried[best].n_rounds)
        return Choice(parameters, n_members, metric, n_folds, tried, best)

    def _try_all(self) -> tuple[Tried, ...]:
        rounds = [self._trial_rounds(kind) for kind in self._kinds]
        n_workers = min(self._n_workers, len(self._kinds))
        n_threads = max(1, self._n_threads // n_workers)
        patience = int(PATIENCE * slowness(self._rate))
        # Trials are told to end before the pool waits for them.
        with (
            ThreadPoolExecutor(n_workers) as pool,
            _watched(self._asked.verbose, rounds, self._metric) as watch,
        ):

            def try_one(number: int) -> Tried:
                kind = self._kinds[number]
                numbers = {**kind, "learning_rate": self._rate}
                trial = Trial(self._grounds, numbers, self._metric, n_threads)
                goes_on = partial(watch.goes_on, number)
                best, curve = trial.run(rounds[number], patience, goes_on)
                watch.end(number, best.score)
                return Tried(kind, best.round, best.score, curve)

            run = map if n_workers == 1 else pool.map
            return tuple(run(try_one, range(len(self._kinds))))

    @property
    def _rate(self) -> float:
        """The learning rate of trials."""
        given = self._asked.learning_rate
        return TRIAL_RATE if is_auto(given) else float(given)

    def _trial_rounds(self, kind: Numbers) -> int:
        return self._budget.trial_rounds(kind["max_leaves"], self._rate)

    def _plan(self, kind: Numbers, n_rounds: int) -> tuple[Numbers, int]:
        """Return the parameters of the last fit and its number of models."""
        most = self._budget.rounds_of(kind["max_leaves"])
        learned = self._rate * n_rounds * self._more_rows
        if n_rounds >= self._trial_rounds(kind):  # and it might have gone on learning
            rate = FASTEST if is_auto(self._asked.learning_rate) else self._rate
            rounds = max(most, n_rounds)
        else:
            rate = self._rate
            if is_auto(self._asked.learning_rate):
                rate = min(max(learned / most, SLOWEST), FASTEST)
            rounds = max(1, round(learned / rate))
        n_members = self._members(kind, self._budget.members(kind["max_leaves"], rounds))
        chosen = {"n_estimators": n_members * rounds, "learning_rate": rate, **kind}
        return _parameters(self._asked, chosen), n_members

    def _members(self, kind: Numbers, affordable: int) -> int:
        """Return a power of 2; one model if there is no chance in which others could differ."""
        asked = settled(self._asked, kind)
        differ = any(getattr(asked, draw) < 1.0 for draw in DRAWS)
        if not differ or asked.boosting == "dart" or affordable < 2:
            return 1
        return min(1 << (affordable.bit_length() - 1), MOST_MEMBERS)


def no_choice(asked: Any) -> Choice:
    """Return the plain parameters, where nothing could be tried."""
    return Choice(_parameters(asked, PLAIN))


def _kinds(asked: Any, n_rows: int, n_columns: int) -> list[Numbers]:
    """Return the different kinds of trees that the user's own parameters leave to try."""
    kinds: list[Numbers] = []
    for kind in (*KINDS_OF_FEW_ROWS, *KINDS) if n_rows < FEW_ROWS else KINDS:
        part = min(kind["colsample_bytree"], MANY_COLUMNS / n_columns)
        kind = {**kind, "colsample_bytree": 1.0 if n_columns < FEW_COLUMNS else part}
        own = {name: _asked_or(asked, name, value) for name, value in kind.items()}
        if own not in kinds:
            kinds.append(own)
    return kinds if asked.max_depth is None else _cut(kinds, asked)


def _cut(kinds: Sequence[Numbers], asked: Any) -> list[Numbers]:
    """Return kinds that have no more leaves than the depth allows.

    Of those that it cuts to the same number the first stands for all that differ from it in the
    least rows of a leaf alone: that of the larger trees was meant to keep them from being larger.
    """
    most = 2 ** min(asked.max_depth, 31)
    found: dict[tuple[Any, ...], Numbers] = {}
    for kind in kinds:
        is_cut = is_auto(asked.max_leaves) and kind["max_leaves"] > most
        own = {**kind, "max_leaves": most} if is_cut else kind
        told_by = [v for name, v in own.items() if not (is_cut and name == "min_samples_leaf")]
        found.setdefault(tuple(told_by), own)
    return list(found.values())


def _asked_or(asked: Any, name: str, value: Any) -> Any:
    given = getattr(asked, name)
    return value if is_auto(given) else given


def _parameters(asked: Any, chosen: Numbers) -> Numbers:
    """Return the numbers that stand for "auto"."""
    return {name: value for name, value in chosen.items() if is_auto(getattr(asked, name))}


@contextmanager
def _watched(verbose: int, rounds: Sequence[int], metric: Metric | UserMetric) -> Iterator[_Watch]:
    """Show the rounds of all trials; end them if the main thread is ended."""
    with progress(verbose, sum(rounds), unit="trial round", title="choosing") as shown:
        watch = _Watch(rounds, metric, shown)
        try:
            yield watch
        finally:
            watch.is_over.set()


class _Watch:
    """How far each trial is; they tell it from their threads."""

    def __init__(
        self, rounds: Sequence[int], metric: Metric | UserMetric, shown: Progress | None
    ) -> None:
        self.is_over = Event()
        self._rounds = rounds
        self._metric = metric
        self._shown = shown
        self._done = [0] * len(rounds)
        self._lock = Lock()

    def goes_on(self, number: int, done: int, best: float) -> bool:
        """Take note of rounds that a trial has done and of its best score; whether to go on."""
        if self._shown is not None:
            with self._lock:
                self._done[number] = done
                trial = f"trial {number + 1}/{len(self._rounds)}"
                self._shown.show(sum(self._done), {trial: {self._metric.name: best}})
        return not self.is_over.is_set()

    def end(self, number: int, best: float) -> None:
        """Count all rounds of a trial, even if it was given up."""
        self.goes_on(number, self._rounds[number], best)
