"""The boosting loop, and what happens after each round: measure, remember the best, show, stop.

A fit without evaluation sets, callbacks or progress has no `Watcher`, and a round is then one call
of the trainer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.fit.callbacks import Callbacks, RoundInfo
from hedgerow._boosting.fit.dart import DartRounds
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._contract import internals
from hedgerow._links import Link, prediction_of
from hedgerow._progress import Progress
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._types import Floats

EvalsResult = dict[str, dict[str, list[float]]]


def boost(
    grow_round: Callable[[int], Sequence[Tree]], rounds: range, watcher: Watcher | None
) -> list[Tree]:
    """Grow the trees of each round on what the rounds before left over, until told to stop."""
    trees: list[Tree] = []
    if watcher is not None and watcher.is_patience_over():
        return trees
    for index in rounds:
        grown = grow_round(index)
        trees.extend(grown)
        if watcher is not None and watcher.sees(index, grown, trees):
            break
    return trees


@dataclass
class EvalSet:
    """Rows to measure on, and their scores (n, K) so far."""

    name: str
    matrix: NDArray[Any]
    target: Floats
    weights: Floats | None
    scores: Floats
    trees_per_round: int
    n_threads: int

    def add(self, trees: Sequence[Tree]) -> None:
        """Add the trees of one round or more to the scores."""
        start = np.zeros(self.scores.shape[1])
        outputs = [t % self.trees_per_round for t in range(len(trees))]
        grown = Ensemble.from_trees(trees, outputs, start, self.matrix.shape[1])
        grown.add_trees(self.matrix, self.scores, 0, len(trees), n_threads=self.n_threads)

    def score_by(self, ensemble: Ensemble) -> None:
        """Take a whole model's scores: earlier rounds have changed."""
        self.scores = ensemble.predict_raw(self.matrix, n_threads=self.n_threads)

    def measure(self, metrics: Sequence[Metric | UserMetric], link: Link) -> dict[str, float]:
        """Return every metric's value."""
        prediction = prediction_of(self.scores, link, self.n_threads)
        values = [
            m.measure(self.target, self.scores if m.of_scores else prediction, self.weights)
            for m in metrics
        ]
        measured: dict[str, float] = {}
        # Names last: a user's function may tell its name with its value.
        for metric, value in zip(metrics, values, strict=True):
            measured[_unused(metric.name, measured)] = value
        return measured


def _unused(name: str, used: Mapping[str, float]) -> str:
    """Return the name, or, if an earlier metric has it, the name with a number."""
    same = sum(other == name or other.startswith(f"{name}_") for other in used)
    return f"{name}_{same + 1}" if name in used else name


@dataclass
class BestRound:
    """The best value of a metric so far and when it was; an improvement must exceed `tol`."""

    tol: float
    score: float = np.nan
    round: int = 0
    trees: Sequence[Tree] = ()  # all of them as they were then, where later rounds change them

    def update(self, round_: int, score: float, higher_is_better: bool) -> None:
        """Remember this round if it is better than the best."""
        better = score - self.score if higher_is_better else self.score - score
        first = np.isnan(self.score) and not np.isnan(score)
        if first or better > self.tol:
            self.score, self.round = score, round_


@dataclass
class Watcher:
    """Looks at every round: measures it, keeps the history and the best, tells the user."""

    n_rounds: int
    link: Link
    eval_sets: Sequence[EvalSet]
    metrics: Sequence[Metric | UserMetric]
    best: BestRound
    patience: int | None
    callbacks: Callbacks
    progress: Progress | None
    build_model: Callable[[Sequence[Tree]], Any]
    checkpoint: Callable[[Watcher, Sequence[Tree], bool], None] | None = None
    history: EvalsResult = field(default_factory=dict)
    round: int = 0
    dart: DartRounds | None = None
    ensemble_of: Callable[[Sequence[Tree]], Ensemble] | None = None

    def recall(self, model: Any, best: Any) -> None:
        """Take up what a fit that was broken off had seen."""
        self.round = model.n_iter_
        self.history = {of: dict(by) for of, by in model.evals_result_.items()}
        self.best.round = getattr(model, "best_iteration_", self.best.round)
        self.best.score = getattr(model, "best_score_", self.best.score)
        if best is not None:
            self.best.trees = internals(best).model().ensemble.trees()

    def sees(self, index: int, grown: Sequence[Tree], trees: Sequence[Tree]) -> bool:
        """Take note of a finished round; whether it shall be the last."""
        self.round = round_ = index + 1
        metrics = {of.name: self._measure(of, grown) for of in self.eval_sets}
        if metrics:
            self._remember(round_, metrics)
        info = RoundInfo(round_, self.n_rounds, metrics, lambda: self.build_model(trees))
        if self.progress is not None:
            self.progress.show(round_, metrics)
        is_last = self.callbacks.after_round(info) or self.is_patience_over()
        if self.checkpoint is not None:
            self.checkpoint(self, trees, is_last or round_ == self.n_rounds)
        return is_last

    def _measure(self, eval_set: EvalSet, grown: Sequence[Tree]) -> dict[str, float]:
        if self.dart is not None and self.dart.has_dropped:
            assert self.ensemble_of is not None
            eval_set.score_by(self.ensemble_of(self.dart.trees))
        else:
            eval_set.add(grown)
        return eval_set.measure(self.metrics, self.link)

    def _remember(self, round_: int, metrics: dict[str, dict[str, float]]) -> None:
        for of, values in metrics.items():
            for name, value in values.items():
                self.history.setdefault(of, {}).setdefault(name, []).append(value)
        judge = self.metrics[0]
        if self.patience is None and not judge.has_direction:
            return
        self.best.update(
            round_, metrics[self.eval_sets[-1].name][judge.name], judge.higher_is_better
        )
        if self.dart is not None and self.best.round == round_:
            self.best.trees = list(self.dart.trees)

    def is_patience_over(self) -> bool:
        """Tell whether too many rounds have brought nothing better."""
        if self.patience is None or not self.history:
            return False
        waiting_since = self.best.round or self.round - len(self._judged())
        return self.round - waiting_since >= self.patience

    def _judged(self) -> list[float]:
        return self.history[self.eval_sets[-1].name][self.metrics[0].name]
