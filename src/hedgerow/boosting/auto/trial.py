"""One kind of trees, boosted on a part of the rows until the rest of them stop to gain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from hedgerow.boosting.auto.budget import LOOK
from hedgerow.boosting.auto.settings import settled
from hedgerow.boosting.rounds import BestRound, EvalSet
from hedgerow.boosting.training_data import Examples
from hedgerow.tree.grower import DivergenceError

GoesOn = Callable[[], bool]


@dataclass(frozen=True)
class Ground:
    """Rows to train on and rows to judge by, encoded and binned once for all trials."""

    fitting: Any
    train: Examples
    held: Examples

    @classmethod
    def of(cls, fitting: Any, train: Examples, held: Examples) -> Ground:
        """Encode and bin as if there were no other rows than those to train on."""
        fitting = fitting.on_part()
        train, watched = fitting.encode(train, {"held": held})
        fitting.learn_bins(train)
        return cls(fitting, train, watched["held"])

    def boosting(self, parameters: Mapping[str, Any], n_threads: int) -> Boosting:
        """Return boosting with some parameters, from its first round."""
        fitting = self.fitting.with_settings(settled(self.fitting.asked, parameters), n_threads)
        return Boosting(fitting, self.train, self.held)


class Boosting:
    """Rounds on a ground, and their scores of the rows held out."""

    def __init__(self, fitting: Any, train: Examples, held: Examples) -> None:
        self._fitting = fitting
        self._grow_round = fitting.rounds_on(train)
        self._held: EvalSet = fitting.eval_set("held", held)
        weights = held.weights
        self.weight = float(len(held.target) if weights is None else weights.sum())

    def advance(self, rounds: range) -> None:
        """Grow some rounds."""
        trees = [tree for index in rounds for tree in self._grow_round(index)]
        if self._fitting.dart is not None:
            self._held.score_by(self._fitting.ensemble(self._fitting.dart.trees))
        else:
            self._held.add(trees)

    def measure(self) -> float:
        """Return the metric on the rows held out."""
        fitting = self._fitting
        (value,) = self._held.measure(fitting.metrics[:1], fitting.loss.link).values()
        return value


class Trial:
    """One kind of trees on every ground at once, judged by the mean over all rows held out."""

    def __init__(
        self, grounds: Sequence[Ground], parameters: Mapping[str, Any], n_threads: int
    ) -> None:
        self._boostings = [ground.boosting(parameters, n_threads) for ground in grounds]
        self._metric = grounds[0].fitting.metrics[0]

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
            if done - best.round >= patience or not goes_on():
                break
        return best, tuple(curve)

    def _after(self, rounds: range) -> float:
        for boosting in self._boostings:
            boosting.advance(rounds)
        scores = np.array([boosting.measure() for boosting in self._boostings])
        weights = np.array([boosting.weight for boosting in self._boostings])
        # A metric may not be defined for some rows, such as those of one class.
        known = ~np.isnan(scores)
        return float(np.average(scores[known], weights=weights[known])) if known.any() else nan
