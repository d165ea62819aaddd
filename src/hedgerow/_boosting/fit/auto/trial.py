"""A trial: boosting with the parameters of one candidate, with early stopping on the holdout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._boosting.fit.arguments import Settings
from hedgerow._boosting.fit.auto.choice import ROUNDS_PER_EVALUATION
from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.fit.fit_data import Problem
from hedgerow._boosting.fit.loop import BestRound
from hedgerow._boosting.fit.round_grower import round_grower
from hedgerow._boosting.fit.training_set import TrainingSet, encode_and_bin
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._tree.trainer import DivergenceError


@dataclass(frozen=True)
class TrialFold:
    """The training set and holdout of a fold, encoded and binned once for all trials."""

    settings: Settings
    training_set: TrainingSet
    holdout: Dataset

    @classmethod
    def of(
        cls, problem: Problem, settings: Settings, train: Dataset, holdout: Dataset
    ) -> TrialFold:
        """Encode and bin, using the rows of the training set only."""
        training_set = encode_and_bin(problem, settings, train)
        return cls(settings, training_set, training_set.encode(holdout))

    def start(self, candidate: Mapping[str, Any], n_threads: int) -> FoldBooster:
        """Return boosting with the parameters of a candidate, before its first round."""
        settings = replace(self.settings.with_chosen(candidate), n_threads=n_threads)
        return FoldBooster(self.training_set, settings, self.holdout)


class FoldBooster:
    """Boosts on the training set of a fold, and evaluates on its holdout."""

    def __init__(self, training_set: TrainingSet, settings: Settings, holdout: Dataset) -> None:
        self._training_set = training_set
        self._grower = round_grower(training_set, settings, initial_model=None)
        self._eval_set = training_set.eval_set("holdout", holdout, settings.n_threads)
        weights = holdout.weights
        self.weight = float(len(holdout.target) if weights is None else sum_of(weights))

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
