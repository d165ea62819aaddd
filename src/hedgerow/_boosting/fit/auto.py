"""``n_estimators="auto"``: a search for the number of rounds, learning rate and size of trees.

Every candidate is boosted with one learning rate until the holdout metric stops improving. The best
candidate is then fitted to all rows. What it had learned by its best round, the product of rounds
and rate, is spread over as many rounds as the budget has: first by a smaller rate, because slow
learning is the surest gain, then by several models, whose mean has less variance than each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import nan, sqrt
from threading import Event, Lock
from typing import Any

import numpy as np

from hedgerow._boosting.fit.choice import (
    ROUNDS_PER_EVALUATION,
    TRIAL_RATE,
    Choice,
    TrialResult,
)
from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.fit.fit_data import (
    AUTO_DEFAULTS,
    FitData,
    Problem,
    Settings,
    is_auto,
    resolve_auto,
    usable_folds,
)
from hedgerow._boosting.fit.loop import BestRound
from hedgerow._boosting.fit.round_grower import round_grower
from hedgerow._boosting.fit.training_set import TrainingSet, encode_and_bin
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._collective import workers
from hedgerow._data.binned_rows import TreeRows
from hedgerow._estimator import TableEstimator
from hedgerow._progress import Progress, progress
from hedgerow._tree.trainer import DivergenceError

Parameters = Mapping[str, Any]


def _candidate(*values: float) -> Parameters:
    names = "max_leaves", "min_samples_leaf", "reg_lambda", "subsample", "colsample_bytree"
    return dict(zip(names, values, strict=True))


# Small trees suit smooth and additive targets, large ones deep interactions.
SMALL_CANDIDATES = (_candidate(4, 5, 1.0, 0.6, 1.0), _candidate(12, 5, 1.0, 0.6, 1.0))
CANDIDATES = (_candidate(31, 5, 5.0, 1.0, 0.7), _candidate(63, 20, 5.0, 1.0, 0.7))
MAX_ROWS_FOR_SMALL = 10_000  # with more rows there is no time for small trees
MIN_COLUMNS_TO_SAMPLE = 5  # with fewer, every tree has all columns
MAX_MODELS = 4
SAMPLING_PARAMETERS = ("subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode")

# The holdout is a fifth of the rows. Below this number of rows times outputs, there are five folds.
N_FOLDS, MAX_ROWS_FOR_FOLDS = 5, 3000
# The final fit has a quarter more rows than the trials, and can learn this much more from them.
MORE_ROWS_FACTOR = 1.1

BUDGET_FACTORS = {"quick": 0.25, "balanced": 1.0, "thorough": 4.0}
MAX_RATE, MIN_RATE = 0.1, 0.05  # learning rates of the final fit
PATIENCE = 50  # rounds without improvement after which a trial stops, at a rate of 0.1
MAX_SLOWDOWN = 10.0
ROUND_ROWS = 8e6  # rounds times rows of a balanced budget
USUAL_LEAVES, UNLIMITED_LEAVES = 31, 255
# Columns per tree from which on rounds, and rounds times rows, are reduced.
USUAL_COLUMNS, MANY_COLUMNS = 100, 1000


def choose_parameters(
    problem: Problem, data: FitData, settings: Settings, checkpoint: Any
) -> Choice:
    """Choose the values of "auto", or take those of the interrupted fit in a checkpoint.

    Candidates are evaluated on the validation set if early stopping has one, otherwise on a
    holdout or folds of the training set.
    """
    if checkpoint is not None:
        choice: Choice = checkpoint.model.auto_
        return choice
    if settings.params.early_stopping and data.eval_sets:
        validation_set = [*data.eval_sets.values()][-1]
        folds = [(data.train, validation_set)]
        return Search(problem, data.metrics[0], settings, folds, more_rows=1.0).run()
    n_rows = workers().count(data.train.table.n_rows)
    is_large = n_rows * problem.loss.n_outputs >= MAX_ROWS_FOR_FOLDS
    n_used = 1 if is_large else N_FOLDS
    folds = list(islice(usable_folds(problem, settings, data.train, N_FOLDS), n_used))
    if not folds:
        return Choice(_replacing_auto(settings.estimator, AUTO_DEFAULTS))
    return Search(problem, data.metrics[0], settings, folds, more_rows=MORE_ROWS_FACTOR).run()


class Search:
    """A search on one or more folds.

    `folds` are pairs of training set and holdout. `more_rows` is the factor by which more can be
    learned from all rows of the fit.
    """

    def __init__(
        self,
        problem: Problem,
        metric: Metric | UserMetric,
        settings: Settings,
        folds: Sequence[tuple[Dataset, Dataset]],
        more_rows: float,
    ) -> None:
        self._estimator, self._metric, self._more_rows = settings.estimator, metric, more_rows
        self._folds = [TrialFold.of(problem, settings, *fold) for fold in folds]
        self._n_threads = settings.n_threads
        # A user's function may not expect calls from several threads; and workers that compute
        # together must do everything in the same order. A GPU has memory for one trial at a time.
        is_native = problem.is_native and not isinstance(metric, UserMetric)
        is_alone = workers().size == 1 and settings.params.device == "cpu"
        self._n_workers = settings.n_threads if is_native and is_alone else 1
        n_rows = workers().count(sum(dataset.table.n_rows for dataset in folds[0]))
        n_columns = self._folds[0].training_set.train.table.n_features
        self._candidates = _candidates(self._estimator, n_rows, n_columns)
        per_tree = n_columns * max(each["colsample_bytree"] for each in self._candidates)
        n_outputs = problem.loss.n_outputs
        self._budget = Budget.of(n_rows, n_outputs, self._estimator.budget, per_tree)

    def run(self) -> Choice:
        """Run a trial of every candidate; return the parameters for the final fit."""
        results = self._run_trials()
        scores = np.array([result.score for result in results])
        metric, n_folds = self._metric.name, len(self._folds)
        if np.isnan(scores).all():
            defaults = _replacing_auto(self._estimator, AUTO_DEFAULTS)
            return Choice(defaults, 1, metric, n_folds, results)
        best = int(np.nanargmax(scores if self._metric.higher_is_better else -scores))
        parameters, n_models = self._plan(results[best].parameters, results[best].n_rounds)
        return Choice(parameters, n_models, metric, n_folds, results, best)

    def _run_trials(self) -> tuple[TrialResult, ...]:
        rounds = [self._trial_rounds(candidate) for candidate in self._candidates]
        n_workers = min(self._n_workers, len(self._candidates))
        n_threads = max(1, self._n_threads // n_workers)
        patience = int(PATIENCE * slowdown(self._rate))
        # Trials are stopped before the pool waits for them.
        with (
            ThreadPoolExecutor(n_workers) as pool,
            _trials_progress(self._estimator.verbose, rounds, self._metric) as trials,
        ):

            def run_one(number: int) -> TrialResult:
                candidate = self._candidates[number]
                parameters = {**candidate, "learning_rate": self._rate}
                boosters = [fold.start(parameters, n_threads) for fold in self._folds]
                report = partial(trials.report, number)
                best, curve = run_trial(boosters, self._metric, rounds[number], patience, report)
                trials.report(number, rounds[number], best.score)  # even if it stopped early
                return TrialResult(candidate, best.round, best.score, curve)

            run = map if n_workers == 1 else pool.map
            return tuple(run(run_one, range(len(self._candidates))))

    @property
    def _rate(self) -> float:
        """The learning rate of trials."""
        rate = self._estimator.learning_rate
        return TRIAL_RATE if is_auto(rate) else float(rate)

    def _trial_rounds(self, candidate: Parameters) -> int:
        return self._budget.trial_rounds(candidate["max_leaves"], self._rate)

    def _plan(self, candidate: Parameters, n_rounds: int) -> tuple[Parameters, int]:
        """Return the parameters of the final fit and its number of models."""
        max_rounds = self._budget.rounds_of(candidate["max_leaves"])
        learned = self._rate * n_rounds * self._more_rows
        if n_rounds >= self._trial_rounds(candidate):  # it might have improved further
            rate = MAX_RATE if is_auto(self._estimator.learning_rate) else self._rate
            rounds = max(max_rounds, n_rounds)
        else:
            rate = self._rate
            if is_auto(self._estimator.learning_rate):
                rate = min(max(learned / max_rounds, MIN_RATE), MAX_RATE)
            rounds = max(1, round(learned / rate))
        affordable = self._budget.models(candidate["max_leaves"], rounds)
        n_models = self._n_models(candidate, affordable)
        chosen = {"n_estimators": n_models * rounds, "learning_rate": rate, **candidate}
        return _replacing_auto(self._estimator, chosen), n_models

    def _n_models(self, candidate: Parameters, affordable: int) -> int:
        """Return the number of bagged models (a power of 2), or 1 if nothing is random."""
        params = resolve_auto(self._estimator, candidate)
        is_random = any(getattr(params, name) < 1.0 for name in SAMPLING_PARAMETERS)
        if not is_random or params.boosting == "dart" or affordable < 2:
            return 1
        return min(1 << (affordable.bit_length() - 1), MAX_MODELS)


def _candidates(estimator: TableEstimator, n_rows: int, n_columns: int) -> list[Parameters]:
    """Return the different candidates that remain with the user's own parameters."""
    candidates: list[Parameters] = []
    all_sizes = (*SMALL_CANDIDATES, *CANDIDATES)
    for each in all_sizes if n_rows < MAX_ROWS_FOR_SMALL else CANDIDATES:
        fraction = min(each["colsample_bytree"], MANY_COLUMNS / n_columns)
        fraction = 1.0 if n_columns < MIN_COLUMNS_TO_SAMPLE else fraction
        params = resolve_auto(estimator, {**each, "colsample_bytree": fraction})
        candidate = {name: getattr(params, name) for name in each}
        if candidate not in candidates:
            candidates.append(candidate)
    return candidates if estimator.max_depth is None else _limit_depth(candidates, estimator)


def _limit_depth(candidates: Sequence[Parameters], estimator: TableEstimator) -> list[Parameters]:
    """Return candidates with at most as many leaves as the depth allows.

    Among candidates that are limited to the same number of leaves and differ in min_samples_leaf
    only, the first is kept: the larger minimum was meant to limit larger trees.
    """
    most = 2 ** min(estimator.max_depth, 31)
    kept: dict[tuple[Any, ...], Parameters] = {}
    for candidate in candidates:
        is_limited = is_auto(estimator.max_leaves) and candidate["max_leaves"] > most
        limited = {**candidate, "max_leaves": most} if is_limited else candidate
        key = [v for name, v in limited.items() if not (is_limited and name == "min_samples_leaf")]
        kept.setdefault(tuple(key), limited)
    return list(kept.values())


def _replacing_auto(estimator: TableEstimator, chosen: Parameters) -> Parameters:
    """Return the chosen values of parameters that are "auto"."""
    return {name: value for name, value in chosen.items() if is_auto(getattr(estimator, name))}


@dataclass(frozen=True)
class Budget:
    """The work that the final fit may take, in rounds and rows and never in seconds.

    Work is rounds times rows, and more if trees have many columns. So the model is the same on
    every machine.

    Attributes
    ----------
    n_rounds : int
        Rounds of trees with 31 leaves.
    round_rows : float
        Rounds times rows with up to 100 columns: small tables have time for several models.
    n_rows : float
        Rows of the table times outputs, and more if there are many columns.
    """

    n_rounds: int
    round_rows: float
    n_rows: float

    @classmethod
    def of(cls, n_rows: int, n_outputs: int, budget: str | float, n_columns: float = 1) -> Budget:
        """Return the work for the parameter `budget`, given the columns that a tree uses."""
        factor = BUDGET_FACTORS[budget] if isinstance(budget, str) else float(budget)
        slow = max(n_columns / MANY_COLUMNS, 1.0)
        n_rounds = int(factor * min(max(n_rows / 40, 350), 1000) / slow)
        wide = max(n_columns / USUAL_COLUMNS, 1.0)
        least = 2 * ROUNDS_PER_EVALUATION
        return cls(max(least, n_rounds), factor * ROUND_ROWS, n_rows * n_outputs * wide)

    def rounds_of(self, max_leaves: int | None) -> int:
        """Return the number of rounds of trees with this many leaves."""
        return max(1, int(self.n_rounds / _cost(max_leaves)))

    def models(self, max_leaves: int | None, n_rounds: int) -> int:
        """Return the number of models with this many rounds."""
        by_rounds = self.rounds_of(max_leaves) / n_rounds
        by_rows = self.round_rows / (n_rounds * self.n_rows * _cost(max_leaves))
        return max(1, int(max(by_rounds, by_rows)))

    def trial_rounds(self, max_leaves: int | None, rate: float) -> int:
        """Return the rounds of a trial: half of the budget, up to an evaluation."""
        rounds = self.rounds_of(max_leaves) / 2 * slowdown(rate)
        return max(1, int(rounds) // ROUNDS_PER_EVALUATION) * ROUNDS_PER_EVALUATION


def slowdown(rate: float) -> float:
    """Return how many rounds with a learning rate are equivalent to one with 0.1."""
    return min(max(MAX_RATE / rate, 0.5), MAX_SLOWDOWN)


def _cost(max_leaves: int | None) -> float:
    """Return the cost of a round relative to trees with 31 leaves."""
    return max(sqrt((max_leaves or UNLIMITED_LEAVES) / USUAL_LEAVES), 0.5)


@dataclass(frozen=True)
class TrialFold:
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

    def start(self, candidate: Parameters, n_threads: int) -> FoldBooster:
        """Return boosting with the parameters of a candidate, before its first round."""
        settings = replace(self.settings.with_chosen(candidate), n_threads=n_threads)
        return FoldBooster(self.training_set, settings, self.holdout, self.holdout_rows)


class FoldBooster:
    """Boosts on the training set of a fold, and evaluates on its holdout."""

    def __init__(
        self, training_set: TrainingSet, settings: Settings, holdout: Dataset, rows: TreeRows
    ) -> None:
        self._training_set = training_set
        self._grower = round_grower(training_set, settings, initial_model=None)
        self._eval_set = training_set.eval_set("holdout", holdout, rows, settings.n_threads)
        weights = holdout.weights
        n_rows = workers().count(len(holdout.target))
        self.weight = float(n_rows) if weights is None else workers().exact_sum(weights)

    def advance(self, rounds: range) -> None:
        """Grow some rounds."""
        trees = [tree for index in rounds for tree in self._grower.grow(index)]
        if self._grower.revises_trees:
            self._eval_set.score_by(self._training_set.ensemble(self._grower.trees))
        else:
            self._eval_set.add(trees)

    def measure(self, metric: Metric | UserMetric) -> float:
        """Return a metric on the holdout."""
        link = self._training_set.problem.loss.link
        (value,) = self._eval_set.measure([metric], link).values()
        return value


def run_trial(
    boosters: Sequence[FoldBooster],
    metric: Metric | UserMetric,
    n_rounds: int,
    patience: int,
    report: Callable[[int, float], bool],
) -> tuple[BestRound, tuple[float, ...]]:
    """Boost on all folds until the mean metric has not improved for `patience` rounds.

    Return the best round, whose score is NaN if boosting diverged at once, and the metric at every
    evaluation. `report` receives the number of rounds and the best score; False stops the trial.
    """
    best, curve = BestRound(tol=0.0), []
    for done in range(ROUNDS_PER_EVALUATION, n_rounds + 1, ROUNDS_PER_EVALUATION):
        try:
            score = _advance(boosters, range(done - ROUNDS_PER_EVALUATION, done), metric)
        except DivergenceError:
            break
        curve.append(score)
        best.update(done, score, metric.higher_is_better)
        if done - best.round >= patience or not report(done, best.score):
            break
    return best, tuple(curve)


def _advance(boosters: Sequence[FoldBooster], rounds: range, metric: Metric | UserMetric) -> float:
    """Grow some rounds on all folds; return the mean of the metric, weighted by rows."""
    for booster in boosters:
        booster.advance(rounds)
    scores = np.array([booster.measure(metric) for booster in boosters])
    weights = np.array([booster.weight for booster in boosters])
    # A metric may be undefined on a holdout, such as one with a single class.
    known = ~np.isnan(scores)
    return float(np.average(scores[known], weights=weights[known])) if known.any() else nan


@contextmanager
def _trials_progress(
    verbose: int, rounds: Sequence[int], metric: Metric | UserMetric
) -> Iterator[_TrialsProgress]:
    """Show the progress of all trials; stop them if the main thread is interrupted."""
    with progress(verbose, sum(rounds), unit="trial round", title="choosing") as progress_bar:
        trials = _TrialsProgress(rounds, metric, progress_bar)
        try:
            yield trials
        finally:
            trials.is_over.set()


class _TrialsProgress:
    """The progress of each trial, which trials report from their threads."""

    def __init__(
        self, rounds: Sequence[int], metric: Metric | UserMetric, progress_bar: Progress | None
    ) -> None:
        self.is_over = Event()
        self._n_trials, self._metric, self._progress_bar = len(rounds), metric, progress_bar
        self._done = [0] * len(rounds)
        self._lock = Lock()

    def report(self, number: int, done: int, best: float) -> bool:
        """Show the finished rounds of a trial and its best score. Return False to stop it."""
        if self._progress_bar is not None:
            with self._lock:
                self._done[number] = done
                trial = f"trial {number + 1}/{self._n_trials}"
                self._progress_bar.show(sum(self._done), {trial: {self._metric.name: best}})
        return not self.is_over.is_set()
