"""``n_estimators="auto"``: a search for the kinds of trees, the rounds and the learning rate.

Kinds of trees (`kinds.py`) are tried on a holdout by successive halving (`trials.py`). Greedy
selection with replacement then chooses, among the best kinds, a few models whose mean is best on
the holdout; a kind that is chosen several times gets different random seeds. The models are then
fitted to all rows. The product of rounds and learning rate at a trial's best round is spread over
as many rounds as the budget (`budget.py`) allows, because a lower learning rate nearly always
helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from math import inf, sqrt
from typing import Any

import numpy as np

from hedgerow._boosting.fit.budget import (
    MANY_OUTPUTS,
    MAX_RATE,
    USUAL_BINS,
    Budget,
    cost,
    is_large,
    is_small,
    slowdown,
)
from hedgerow._boosting.fit.choice import ROUNDS_PER_EVALUATION, TRIAL_RATE, Choice
from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.fit.fit_data import (
    AUTO_DEFAULTS,
    FitData,
    Problem,
    Settings,
    is_auto,
    usable_folds,
)
from hedgerow._boosting.fit.kinds import Parameters, bins_for, is_random, kinds_for
from hedgerow._boosting.fit.training_set import TrainingSet
from hedgerow._boosting.fit.trials import (
    AnyMetric,
    Halving,
    Judge,
    KindTrial,
    TrialFold,
    run_halving,
    select_members,
    trials_display,
)
from hedgerow._boosting.losses import SquaredError
from hedgerow._boosting.metrics import UserMetric
from hedgerow._collective import workers
from hedgerow._estimator import TableEstimator

# The holdout is a fifth of the rows. There are several below these numbers of rows, for one output.
N_FOLDS = 5
HOLDOUTS_BELOW = {800: 4, 1800: 2}
MIN_OF_CLASS = 1000  # rows of the rarer of two classes, below which there are two
# The final fit has a quarter more rows than the trials, and can learn this much more from them.
MORE_ROWS_FACTOR = 1.1
# The squared error forgives rounds in excess, which the log loss punishes. So its trials have fewer
# of the rounds of a model, and it may have more times as many if they would have gained from it;
# and so may models of many outputs, whose trials have few rounds too.
TRIAL_PARTS, MAX_DOUBLINGS = (1 / 2, 1 / 3), (1, 2)
# Where models would have to learn faster than that, fewer are better.
RATES_FOR_MEAN = (0.2, 0.15)
# Of trials, at a rate of 0.1: rounds without improvement until they end, and in the first rung, on
# one holdout and on several, whose mean is comparable sooner.
PATIENCE, FIRST_RUNGS = 50, (45, 30)
# On many rows, slow learners need longer to catch up: rows per round, and the most rounds.
ROWS_PER_RUNG, LONGEST_RUNG = 400, 90
N_FINALISTS = (2, 5)  # the kinds that go on after the first rung; with a large budget


def choose_parameters(
    problem: Problem, data: FitData, settings: Settings, checkpoint: Any
) -> Choice:
    """Choose the values of "auto", or take those of the interrupted fit in a checkpoint.

    Kinds are tried on the validation set if early stopping has one, otherwise on a holdout or folds
    of the training set.
    """
    if checkpoint is not None:
        choice: Choice = checkpoint.model.auto_
        return choice
    if settings.params.early_stopping and data.eval_sets:
        validation_set = [*data.eval_sets.values()][-1]
        folds = [(data.train, validation_set)]
        return Search(problem, data.metrics[0], settings, folds, more_rows=1.0).run()
    n_rows = workers().count(data.train.table.n_rows)
    size = n_rows * sqrt(problem.loss.n_outputs)
    n_used = next((n for below, n in HOLDOUTS_BELOW.items() if size < below), 1)
    if _rows_of_rarer_class(problem, data.train) < MIN_OF_CLASS:
        n_used = max(n_used, 2)
    if is_small(settings.estimator.budget):
        n_used = 1
    elif is_large(settings.estimator.budget):
        n_used += 1
    folds = list(islice(usable_folds(problem, settings, data.train, N_FOLDS), n_used))
    if not folds:
        return Choice(_replacing_auto(settings.estimator, AUTO_DEFAULTS))
    return Search(problem, data.metrics[0], settings, folds, more_rows=MORE_ROWS_FACTOR).run()


def _rows_of_rarer_class(problem: Problem, train: Dataset) -> float:
    """Return how many rows the rarer of two classes has; infinity if there are not two."""
    if problem.classes is None or problem.loss.n_outputs > 1 or train.target.ndim > 1:
        return inf
    n_second = workers().count(int(np.count_nonzero(train.target)))
    return min(n_second, workers().count(len(train.target)) - n_second)


class Search:
    """A search on one or more folds.

    `folds` are pairs of training set and holdout. `more_rows` is the factor by which more can be
    learned from all rows of the fit.
    """

    def __init__(
        self,
        problem: Problem,
        metric: AnyMetric,
        settings: Settings,
        folds: Sequence[tuple[Dataset, Dataset]],
        more_rows: float,
    ) -> None:
        self._estimator, self._metric, self._more_rows = settings.estimator, metric, more_rows
        n_rows = workers().count(sum(dataset.table.n_rows for dataset in folds[0]))
        settings = settings.with_chosen(bins_for(self._estimator, n_rows))
        self._folds = [TrialFold.of(problem, settings, *fold) for fold in folds]
        n_trained = workers().count(sum(train.table.n_rows for train, _ in folds))
        self._trained_part = n_trained / n_rows
        self._judge = Judge(self._folds, metric)
        self._n_threads = settings.n_threads
        # A user's function may not expect calls from several threads; and workers that compute
        # together must do everything in the same order. A GPU has memory for one trial at a time.
        is_native = problem.is_native and not isinstance(metric, UserMetric)
        is_alone = workers().size == 1 and settings.params.device == "cpu"
        self._n_workers = settings.n_threads if is_native and is_alone else 1
        self._n_rows = n_rows
        n_columns = self._folds[0].training_set.train.table.n_features
        self._kinds = kinds_for(self._estimator, n_rows, n_columns)
        per_tree = n_columns * max(kind["colsample_bytree"] for kind in self._kinds)
        n_outputs = problem.loss.n_outputs
        self._is_forgiving = isinstance(problem.loss.single_output, SquaredError)
        self._doublings = MAX_DOUBLINGS[self._is_forgiving or n_outputs > MANY_OUTPUTS]
        self._budget = Budget.of(
            n_rows,
            n_outputs,
            self._estimator.budget,
            per_tree,
            n_bins=_mean_bins(self._folds[0].training_set, self._estimator.budget),
            is_squared_error=self._is_forgiving,
        )
        self._work_left = self._budget.work

    def run(self) -> Choice:
        """Try every kind; return the parameters of the models of the final fit."""
        trials, finished = self._run_trials()
        results = tuple(trial.result for trial in trials)
        metric, n_folds = self._metric.name, len(self._folds)
        best = self._judge.best([result.score for result in results])
        if best is None:
            defaults = _replacing_auto(self._estimator, AUTO_DEFAULTS)
            return Choice(defaults, 1, metric, n_folds, results)
        self._work_left = self._budget.work_after(sum(trial.work for trial in trials))
        finished = [number for number in finished if trials[number].best.round]
        members = self._members([trials[number] for number in finished])
        if not self._takes_mean_of_kinds(len(members)):
            results = tuple(
                replace(result, expected=_expected(trial)) if number in finished else result
                for number, (trial, result) in enumerate(zip(trials, results, strict=True))
            )
        parameters = members[0] | {"n_estimators": len(members) * members[0]["n_estimators"]}
        differ = any(member != members[0] for member in members)
        own = tuple(_without_rounds(member) for member in members) if differ else ()
        return Choice(parameters, len(members), metric, n_folds, results, best, members=own)

    def _run_trials(self) -> tuple[list[KindTrial], list[int]]:
        """Return a trial of each kind, and the indices of those that went on to the end."""
        n_workers = min(self._n_workers, len(self._kinds))
        n_threads = max(1, self._n_threads // n_workers)
        trials = [self._trial(kind, n_threads) for kind in self._kinds]
        slow = slowdown(self._rate)
        n_finalists = N_FINALISTS[is_large(self._estimator.budget)]
        usual = FIRST_RUNGS[len(self._folds) > 1]
        first_rung = min(max(self._n_rows / ROWS_PER_RUNG, usual), LONGEST_RUNG)
        work = self._budget.trial_work
        n_first = max(2, int(first_rung * slow) // ROUNDS_PER_EVALUATION) * ROUNDS_PER_EVALUATION
        halving = Halving(n_first, n_finalists, int(PATIENCE * slow), work)
        rounds = [trial.max_rounds for trial in trials]
        with trials_display(self._estimator.verbose, rounds, self._metric) as display:
            finished = run_halving(trials, self._judge, halving, n_workers, display)
        return trials, finished

    def _trial(self, kind: Parameters, n_threads: int) -> KindTrial:
        parameters = {**kind, "learning_rate": self._rate}
        boosters = [fold.start(parameters, n_threads) for fold in self._folds]
        part = TRIAL_PARTS[self._is_forgiving]
        rounds = self._budget.trial_rounds(kind["max_leaves"], self._rate, part)
        round_work = cost(kind["max_leaves"]) * self._trained_part
        return KindTrial(kind, rounds, round_work, boosters, self._judge, self._metric)

    @property
    def _rate(self) -> float:
        """The learning rate of trials."""
        rate = self._estimator.learning_rate
        return TRIAL_RATE if is_auto(rate) else float(rate)

    def _members(self, trials: Sequence[KindTrial]) -> list[dict[str, Any]]:
        """Return the parameters of each model of the final fit: as many as there are rounds for."""
        n_members = self._most_models(trials)
        while True:
            chosen = self._selected(trials, n_members)
            n_rounds = self._affordable_rounds(chosen)
            if n_members == 1 or n_rounds >= max(map(self._rounds_for_mean, chosen)):
                break
            n_members //= 2
        if n_members == 1 and n_rounds < chosen[0].best.round:
            n_rounds = chosen[0].best.round
        most = max(self._learned(trial) / self._slowest_rate for trial in chosen)
        n_rounds = max(1, min(n_rounds, round(most)))
        return [self._member(trial, n_rounds) for trial in chosen]

    def _most_models(self, trials: Sequence[KindTrial]) -> int:
        """Return the largest number of models: 1 if two of a kind could be the same."""
        are_random = all(is_random(self._estimator, trial.kind) for trial in trials)
        return self._budget.max_models if are_random and self._estimator.boosting != "dart" else 1

    def _selected(self, trials: Sequence[KindTrial], n_members: int) -> list[KindTrial]:
        """Return the trials whose mean is best; one of them, if all must learn at one rate.

        Models of different kinds learn equally much in different numbers of rounds.
        """
        if self._takes_mean_of_kinds(n_members):
            return [trials[i] for i in select_members(trials, n_members, self._judge)]
        best = self._judge.best([_expected(trial) for trial in trials])
        assert best is not None
        return [trials[best]] * n_members

    def _takes_mean_of_kinds(self, n_members: int) -> bool:
        return n_members > 1 and is_auto(self._estimator.learning_rate)

    def _affordable_rounds(self, chosen: Sequence[KindTrial]) -> int:
        """Return the rounds that each of the models can have."""
        of_round = sum(cost(trial.kind["max_leaves"]) for trial in chosen)
        return max(1, int(self._work_left / of_round))

    def _learned(self, trial: KindTrial) -> float:
        """Return the product of rounds and rate to which a model is boosted."""
        factor = max(self._more_rows, trial.more_rounds_factor(self._doublings))
        return self._rate * trial.best.round * factor

    def _rounds_for_mean(self, trial: KindTrial) -> float:
        """Return the rounds without which one model is better than the mean of several."""
        rate = RATES_FOR_MEAN[self._is_forgiving]
        return self._learned(trial) / (
            rate if is_auto(self._estimator.learning_rate) else self._rate
        )

    def _member(self, trial: KindTrial, n_rounds: int) -> dict[str, Any]:
        """Return the parameters of a model with some rounds."""
        rate = min(self._learned(trial) / n_rounds, self._fastest_rate)
        chosen = {"n_estimators": n_rounds, "learning_rate": rate, **trial.kind}
        return _replacing_auto(self._estimator, chosen)

    @property
    def _fastest_rate(self) -> float:
        return MAX_RATE if is_auto(self._estimator.learning_rate) else self._rate

    @property
    def _slowest_rate(self) -> float:
        return self._budget.min_rate if is_auto(self._estimator.learning_rate) else self._rate


def _expected(trial: KindTrial) -> float:
    """Return the score by which one kind is chosen for all models."""
    return trial.expected_score(doublings=1)


def _mean_bins(training_set: TrainingSet, budget: str | float) -> float:
    """Return the mean number of bins of a feature.

    Categories cost CatBoost as much as many bins, but not LightGBM, the measure of small budgets.
    """
    binner = training_set.binner
    cost_as_many = binner.is_categorical & (not is_small(budget))
    return float(np.mean(np.where(cost_as_many, USUAL_BINS, binner.n_bins)))


def _without_rounds(member: Parameters) -> Parameters:
    return {name: value for name, value in member.items() if name != "n_estimators"}


def _replacing_auto(estimator: TableEstimator, chosen: Parameters) -> dict[str, Any]:
    """Return the chosen values of parameters that are "auto", and `max_bins`, a maximum."""
    return {
        name: value
        for name, value in chosen.items()
        if name == "max_bins" or is_auto(getattr(estimator, name))
    }
