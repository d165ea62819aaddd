"""Trials of kinds of trees on a holdout by successive halving, and the greedy choice of their mean.

All kinds share the bins of a fold. In the first rung each is boosted for a few rounds; the best
go on until the holdout metric stops improving. A trial keeps its scores of the holdout in
its best round, so that the metric of a mean of kinds can be computed without growing another tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import nan
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from hedgerow._boosting.fit.choice import ROUNDS_PER_EVALUATION, TrialResult
from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.fit.fit_data import Problem, Settings
from hedgerow._boosting.fit.loop import BestRound, EvalSet
from hedgerow._boosting.fit.round_grower import round_grower
from hedgerow._boosting.fit.training_set import TrainingSet, encode_and_bin
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._collective import workers
from hedgerow._data.binned_rows import TreeRows
from hedgerow._greedy_selection import greedy_selection
from hedgerow._progress import Progress, progress
from hedgerow._threads import Chain, SideBySide
from hedgerow._tree.trainer import DivergenceError
from hedgerow._types import Floats

Parameters = Mapping[str, Any]
AnyMetric = Metric | UserMetric

# Of a trial that was cut short: the relative gain for which rounds are doubled, and by how much it
# falls at least from one doubling to the next.
LEAST_GAIN, MAX_DECAY = 0.01, 0.9


class TrialFold(NamedTuple):
    """The training set and holdout of a fold, encoded and binned once for all trials."""

    settings: Settings
    training_set: TrainingSet
    holdout: Dataset
    holdout_rows: TreeRows

    @classmethod
    def of(
        cls, problem: Problem, settings: Settings, train: Dataset, holdout: Dataset
    ) -> TrialFold:
        """Encode and bin, using the rows of the training set only."""
        training_set = encode_and_bin(problem, settings, train)
        encoded = training_set.encode(holdout)
        rows = training_set.rows(encoded, settings.n_threads)
        return cls(settings, training_set, encoded, rows)

    def start(self, kind: Parameters, n_threads: int) -> FoldBooster:
        """Return boosting with the parameters of a kind, before its first round."""
        settings = replace(self.settings.with_chosen(kind), n_threads=n_threads)
        return FoldBooster(self.training_set, settings, self.holdout, self.holdout_rows)


class FoldBooster:
    """Boosts on the training set of a fold, and evaluates on its holdout."""

    def __init__(
        self, training_set: TrainingSet, settings: Settings, holdout: Dataset, rows: TreeRows
    ) -> None:
        self._training_set = training_set
        self._grower = round_grower(training_set, settings, initial_model=None)
        self._eval_set = training_set.eval_set("holdout", holdout, rows, settings.n_threads)

    def advance(self, rounds: range) -> None:
        """Grow some rounds."""
        trees = self._grower.grow(rounds)
        if self._grower.revises_trees:
            self._eval_set.score_by(self._training_set.ensemble(self._grower.trees))
        else:
            self._eval_set.add(trees)

    @property
    def eval_set(self) -> EvalSet:
        """The holdout and its scores so far."""
        return self._eval_set


class Judge:
    """Measures scores of the holdouts: the mean of a metric, weighted by rows."""

    def __init__(self, folds: Sequence[TrialFold], metric: AnyMetric) -> None:
        self._metric, self._link = metric, folds[0].training_set.problem.loss.link
        self._weights = np.array([_weight(fold.holdout) for fold in folds])

    def measure(self, eval_sets: Sequence[EvalSet]) -> float:
        """Return the mean over the folds on which the metric is defined.

        It may be undefined on a holdout, such as one with a single class.
        """
        scores = np.array([self._measure(eval_set) for eval_set in eval_sets])
        known = ~np.isnan(scores)
        if not known.any():
            return nan
        return float(np.average(scores[known], weights=self._weights[known]))

    def loss(self, score: float) -> float:
        """Return a number that is smaller for better scores."""
        return -score if self._metric.higher_is_better else score

    def best(self, scores: Sequence[float]) -> int | None:
        """Return the index of the best score; None if all are NaN."""
        losses = [self.loss(score) for score in scores]
        return None if np.isnan(losses).all() else int(np.nanargmin(losses))

    def ranking(self, scores: Sequence[float]) -> list[int]:
        """Return the indices of scores from the best to the worst, NaN last."""
        return np.argsort([self.loss(score) for score in scores], kind="stable").tolist()

    def _measure(self, eval_set: EvalSet) -> float:
        (value,) = eval_set.measure([self._metric], self._link).values()
        return value


def _weight(holdout: Dataset) -> float:
    weights = holdout.weights
    n_rows = workers().count(len(holdout.target))
    return float(n_rows) if weights is None else workers().exact_sum(weights)


class KindTrial:
    """One kind, boosted on all folds until the metric has not improved for `patience` rounds.

    Attributes
    ----------
    kind : mapping
        Its parameters.
    max_rounds : int
        The rounds after which it ends at the latest.
    round_work : float
        The work of a round on all folds, in the unit of `Budget`.
    best : BestRound
        The best round so far, whose score is NaN if boosting diverged at once.
    scores : list of arrays
        The scores of each holdout in that round.
    is_over : bool
        Whether there is nothing to gain from more rounds, or there are no more.
    """

    def __init__(
        self,
        kind: Parameters,
        max_rounds: int,
        round_work: float,
        boosters: Sequence[FoldBooster],
        judge: Judge,
        metric: AnyMetric,
    ) -> None:
        self.kind, self.max_rounds, self.round_work = kind, max_rounds, round_work
        self.best, self.scores = BestRound(tol=0.0), list[Floats]()
        self.is_over = False
        self._boosters, self._judge, self._metric = boosters, judge, metric
        self._curve: list[float] = []

    @property
    def n_rounds(self) -> int:
        """The rounds so far."""
        return len(self._curve) * ROUNDS_PER_EVALUATION

    @property
    def work(self) -> float:
        """The work so far."""
        return self.n_rounds * self.round_work

    def steps(
        self, n_rounds: int, patience: int, report: Callable[[int, float], None]
    ) -> Iterator[None]:
        """Boost up to some number of rounds in all, with an evaluation in each step.

        `report` receives the number of rounds and the best score.
        """
        while not self.is_over and self.n_rounds < min(n_rounds, self.max_rounds):
            try:
                self._evaluate()
            except DivergenceError:
                self.is_over = True
                break
            done = self.n_rounds
            report(done, self.best.score)
            self.is_over = done - self.best.round >= patience or done >= self.max_rounds
            yield

    def _evaluate(self) -> None:
        """Grow some rounds on all folds, and keep the scores if they are the best."""
        done = self.n_rounds
        for booster in self._boosters:
            booster.advance(range(done, done + ROUNDS_PER_EVALUATION))
        score = self._judge.measure(self.eval_sets())
        self._curve.append(score)
        self.best.update(self.n_rounds, score, self._metric.higher_is_better)
        if self.best.round == self.n_rounds:
            self.scores = [booster.eval_set.scores.copy() for booster in self._boosters]

    def eval_sets(self) -> list[EvalSet]:
        """Return the holdouts with the scores so far."""
        return [booster.eval_set for booster in self._boosters]

    def more_rounds_factor(self, doublings: int) -> int:
        """Return how many times as many rounds are worth growing, if the last was the best."""
        if self.best.round < self.max_rounds:
            return 1
        gains = self._expected_gains(doublings)
        return int(2 ** np.sum(gains > LEAST_GAIN * abs(self.best.score)))

    def expected_score(self, doublings: int) -> float:
        """Return the score that more rounds would lead to, if the last was the best."""
        gain = float(self._expected_gains(doublings).sum())
        return self.best.score + (gain if self._metric.higher_is_better else -gain)

    def _expected_gains(self, doublings: int) -> Floats:
        """Return the gain of twice as many rounds, of twice as many again, and so on.

        It is estimated from the gains of the last two doublings: learning curves flatten out.
        """
        n = len(self._curve)
        if n == 0 or self.best.round < self.n_rounds:
            return np.zeros(doublings)
        quarter, half, last = (self._curve[max(1, i) - 1] for i in (n // 4, n // 2, n))
        before, gain = abs(quarter - half), abs(half - last)
        decay = min(gain / before, MAX_DECAY) if before > 0.0 else 0.0
        return gain * decay ** np.arange(1.0, doublings + 1)

    @property
    def result(self) -> TrialResult:
        """The result, as it is shown."""
        return TrialResult(self.kind, self.best.round, self.best.score, tuple(self._curve))


class Halving(NamedTuple):
    """How trials compete: the rounds of the first rung, who goes on, and for how long.

    `patience` is the number of rounds without improvement after which a trial ends, `work` that of
    all trials together.
    """

    first_rounds: int
    n_finalists: int
    patience: int
    work: float


def run_halving(
    trials: Sequence[KindTrial],
    judge: Judge,
    halving: Halving,
    n_workers: int,
    display: TrialsDisplay,
) -> list[int]:
    """Boost all trials for some rounds, then the best to the end.

    Return the indices of those, and of trials that ended by themselves.
    """

    def chains(numbers: Iterable[int], n_rounds: int) -> list[Chain]:
        return [
            trials[number].steps(n_rounds, halving.patience, partial(display.report, number))
            for number in numbers
        ]

    everyone = range(len(trials))
    threads = SideBySide(n_workers)
    try:
        threads.run(chains(everyone, halving.first_rounds))
        finalists = sorted(_finalists(trials, halving.n_finalists, judge))
        _share_work(halving.work, trials, [trials[number] for number in finalists])
        threads.run(chains(finalists, max(trial.max_rounds for trial in trials)))
    finally:
        threads.close()
    for number, trial in enumerate(trials):
        display.report(number, trial.max_rounds, trial.best.score)  # even if it stopped early
    return [number for number in everyone if number in finalists or trials[number].is_over]


def _share_work(work: float, trials: Sequence[KindTrial], finalists: Sequence[KindTrial]) -> None:
    """Limit the rounds of the finalists by the work that is left, but not those of the others."""
    left = work - sum(trial.work for trial in trials)
    more = max(0.0, left / sum(trial.round_work for trial in finalists))
    for trial in finalists:
        n_rounds = trial.n_rounds + int(more) // ROUNDS_PER_EVALUATION * ROUNDS_PER_EVALUATION
        trial.max_rounds = min(trial.max_rounds, n_rounds)


def _finalists(trials: Sequence[KindTrial], n_finalists: int, judge: Judge) -> set[int]:
    """Return the indices of the trials that go on: the best, and the best of each way to grow.

    Symmetric trees learn more slowly at first, and longer.
    """
    ranking = judge.ranking([trial.best.score for trial in trials])
    of_policy: dict[str, int] = {}
    for number in ranking:
        of_policy.setdefault(trials[number].kind["grow_policy"], number)
    others = [number for number in ranking if number not in of_policy.values()]
    return {*of_policy.values(), *others[: max(0, n_finalists - len(of_policy))]}


def select_members(trials: Sequence[KindTrial], n_members: int, judge: Judge) -> list[int]:
    """Return the indices of trials whose mean has the best metric, by greedy selection.

    A trial can be selected several times.
    """
    eval_sets = trials[0].eval_sets()
    ends = np.cumsum([len(scores) for scores in trials[0].scores])[:-1]

    def loss(scores: Floats) -> float:
        parts = np.split(scores, ends)
        mixed = [replace(e, scores=part) for e, part in zip(eval_sets, parts, strict=True)]
        return judge.loss(judge.measure(mixed))

    of_trials = [np.concatenate(trial.scores) for trial in trials]
    return [added for added, _ in greedy_selection(of_trials, loss, n_members)]


@contextmanager
def trials_display(
    verbose: int, rounds: Sequence[int], metric: AnyMetric
) -> Iterator[TrialsDisplay]:
    """Show the progress of all trials."""
    with progress(verbose, sum(rounds), unit="trial round", title="choosing") as progress_bar:
        yield TrialsDisplay(rounds, metric, progress_bar)


class TrialsDisplay:
    """The progress of each trial, which trials report from their threads."""

    def __init__(
        self, rounds: Sequence[int], metric: AnyMetric, progress_bar: Progress | None
    ) -> None:
        self._n_trials, self._metric, self._progress_bar = len(rounds), metric, progress_bar
        self._done = [0] * len(rounds)
        self._lock = Lock()

    def report(self, number: int, done: int, best: float) -> None:
        """Show the finished rounds of a trial and its best score."""
        if self._progress_bar is not None:
            with self._lock:
                self._done[number] = done
                trial = f"trial {number + 1}/{self._n_trials}"
                self._progress_bar.show(sum(self._done), {trial: {self._metric.name: best}})
