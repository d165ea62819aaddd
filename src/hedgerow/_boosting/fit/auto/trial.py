"""One kind of trees, boosted on a part of the rows until the rest of them stop to gain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._boosting.fit.auto.budget import LOOK
from hedgerow._boosting.fit.dart import DartRounds
from hedgerow._boosting.fit.loop import BestRound
from hedgerow._boosting.fit.problem import Problem
from hedgerow._boosting.fit.round_grower import rounds_of_one
from hedgerow._boosting.fit.settings import Settings
from hedgerow._boosting.fit.training_data import Examples
from hedgerow._boosting.fit.training_set import Prepared, prepare
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._tree.trainer import DivergenceError

# Rounds done and the best score so far → whether to go on.
GoesOn = Callable[[int, float], bool]


@dataclass(frozen=True)
class Ground:
    """Rows to train on and rows to judge by, encoded and binned once for all trials."""

    settings: Settings
    prepared: Prepared
    held: Examples

    @classmethod
    def of(cls, problem: Problem, settings: Settings, train: Examples, held: Examples) -> Ground:
        """Encode and bin as if there were no other rows than those to train on."""
        prepared = prepare(problem, settings, train)
        return cls(settings, prepared, prepared.encode(held))

    def boosting(self, numbers: Mapping[str, Any], n_threads: int) -> Boosting:
        """Return boosting with some numbers for what is "auto", from its first round."""
        settings = replace(self.settings.with_numbers(numbers), n_threads=n_threads)
        return Boosting(self.prepared, settings, self.held)


class Boosting:
    """Rounds on a ground, and their scores of the rows held out."""

    def __init__(self, prepared: Prepared, settings: Settings, held: Examples) -> None:
        self._prepared = prepared
        self._grow_round = rounds_of_one(prepared, settings, start=None)
        self._held = prepared.eval_set("held", held, settings.n_threads)
        weights = held.weights
        self.weight = float(len(held.target) if weights is None else sum_of(weights))

    def advance(self, rounds: range) -> None:
        """Grow some rounds."""
        trees = [tree for index in rounds for tree in self._grow_round(index)]
        if isinstance(self._grow_round, DartRounds):
            self._held.score_by(self._prepared.ensemble(self._grow_round.trees))
        else:
            self._held.add(trees)

    def measure(self, metric: Metric | UserMetric) -> float:
        """Return a metric on the rows held out."""
        (value,) = self._held.measure([metric], self._prepared.problem.loss.link).values()
        return value


class Trial:
    """One kind of trees on every ground at once, judged by the mean over all rows held out."""

    def __init__(
        self,
        grounds: Sequence[Ground],
        numbers: Mapping[str, Any],
        metric: Metric | UserMetric,
        n_threads: int,
    ) -> None:
        self._boostings = [ground.boosting(numbers, n_threads) for ground in grounds]
        self._metric = metric

    def run(
        self, n_rounds: int, patience: int, goes_on: GoesOn
    ) -> tuple[BestRound, tuple[float, ...]]:
        """Boost until the rows held out have not gained for a while; return the best round.

        Its score is NaN if there was none, because the scores grew beyond all bounds. Second comes
        the metric at each look.
        """
        best, curve = BestRound(tol=0.0), []
        for done in range(LOOK, n_rounds + 1, LOOK):
            try:
                score = self._after(range(done - LOOK, done))
            except DivergenceError:
                break
            curve.append(score)
            best.update(done, score, self._metric.higher_is_better)
            if done - best.round >= patience or not goes_on(done, best.score):
                break
        return best, tuple(curve)

    def _after(self, rounds: range) -> float:
        for boosting in self._boostings:
            boosting.advance(rounds)
        scores = np.array([boosting.measure(self._metric) for boosting in self._boostings])
        weights = np.array([boosting.weight for boosting in self._boostings])
        # A metric may not be defined for some rows, such as those of one class.
        known = ~np.isnan(scores)
        return float(np.average(scores[known], weights=weights[known])) if known.any() else nan
