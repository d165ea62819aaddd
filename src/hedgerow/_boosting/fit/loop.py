"""The boosting loop, and what happens after each round: metrics, callbacks, early stopping.

A fit without evaluation sets, callbacks, progress bar or checkpoint has no `RoundMonitor`, and a
round is then one call of the grower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.fit.callbacks import Callbacks, RoundInfo
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._contract import internals
from hedgerow._links import Link, prediction_of
from hedgerow._progress import Progress
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._types import Floats

EvalsResult = dict[str, dict[str, list[float]]]


class RoundGrower(Protocol):
    """Grows the rounds of a fit, in order.

    Attributes
    ----------
    trees : list of Tree
        The trees of all rounds so far, those of the initial model included.
    revises_trees : bool
        Whether later rounds may change the trees of earlier ones.
    has_revised : bool
        Whether the last round has.
    """

    trees: list[Tree]
    revises_trees: bool
    has_revised: bool

    def grow(self, index: int) -> Sequence[Tree]:
        """Grow the trees of a round, and return them."""

    def close(self) -> None:
        """End the threads, if there are any."""


def boost(grower: RoundGrower, rounds: range, monitor: RoundMonitor | None) -> None:
    """Grow round after round until the last, or until the monitor stops."""
    if monitor is not None and monitor.is_patience_over():
        return
    for index in rounds:
        trees = grower.grow(index)
        if monitor is not None and monitor.after_round(index, trees):
            return


@dataclass
class EvalSet:
    """An evaluation set and its scores (n, K) so far."""

    name: str
    matrix: NDArray[Any]
    target: Floats
    weights: Floats | None
    scores: Floats
    trees_per_round: int
    n_threads: int

    def add(self, trees: Sequence[Tree]) -> None:
        """Add the trees of one or more rounds to the scores."""
        zero = np.zeros(self.scores.shape[1])
        outputs = [t % self.trees_per_round for t in range(len(trees))]
        ensemble = Ensemble.from_trees(trees, outputs, zero, self.matrix.shape[1])
        ensemble.add_trees(self.matrix, self.scores, 0, len(trees), n_threads=self.n_threads)

    def score_by(self, ensemble: Ensemble) -> None:
        """Recompute the scores, because earlier rounds have changed."""
        self.scores = ensemble.predict_raw(self.matrix, n_threads=self.n_threads)

    def measure(self, metrics: Sequence[Metric | UserMetric], link: Link) -> dict[str, float]:
        """Return the value of every metric."""
        prediction = prediction_of(self.scores, link, self.n_threads)
        values = [
            m.measure(self.target, self.scores if m.of_scores else prediction, self.weights)
            for m in metrics
        ]
        measured: dict[str, float] = {}
        # Names are read last: a user's function may return its name with its value.
        for metric, value in zip(metrics, values, strict=True):
            measured[_unused(metric.name, measured)] = value
        return measured


def _unused(name: str, used: Mapping[str, float]) -> str:
    """Return the name of a metric, with a number if an earlier metric has the same name."""
    same = sum(other == name or other.startswith(f"{name}_") for other in used)
    return f"{name}_{same + 1}" if name in used else name


@dataclass
class BestRound:
    """The round with the best value of a metric so far; an improvement must exceed `tol`."""

    tol: float
    score: float = np.nan
    round: int = 0
    trees: Sequence[Tree] = ()  # all trees at that time, if later rounds change them

    def update(self, round_: int, score: float, higher_is_better: bool) -> None:
        """Store a round if it is better than the best."""
        better = score - self.score if higher_is_better else self.score - score
        first = np.isnan(self.score) and not np.isnan(score)
        if first or better > self.tol:
            self.score, self.round = score, round_


@dataclass
class RoundMonitor:
    """Evaluates every round, keeps the history and the best round, and decides when to stop."""

    n_rounds: int
    link: Link
    eval_sets: Sequence[EvalSet]
    metrics: Sequence[Metric | UserMetric]
    best: BestRound
    patience: int | None
    callbacks: Callbacks
    progress_bar: Progress | None
    grower: RoundGrower
    build_ensemble: Callable[[Sequence[Tree]], Ensemble]
    build_model: Callable[[], Any]
    write_checkpoint: Callable[[RoundMonitor, bool], None] | None = None
    history: EvalsResult = field(default_factory=dict)
    round: int = 0

    def restore(self, model: Any, best_model: Any) -> None:
        """Restore the history of an interrupted fit."""
        self.round = model.n_iter_
        self.history = {name: dict(values) for name, values in model.evals_result_.items()}
        self.best.round = getattr(model, "best_iteration_", self.best.round)
        self.best.score = getattr(model, "best_score_", self.best.score)
        if best_model is not None:
            self.best.trees = internals(best_model).model().ensemble.trees()

    def after_round(self, index: int, trees: Sequence[Tree]) -> bool:
        """Record a finished round. Return True to stop."""
        self.round = round_ = index + 1
        metrics = {eval_set.name: self._measure(eval_set, trees) for eval_set in self.eval_sets}
        if metrics:
            self._record(round_, metrics)
        if self.progress_bar is not None:
            self.progress_bar.show(round_, metrics)
        info = RoundInfo(round_, self.n_rounds, metrics, self.build_model)
        is_last = self.callbacks.after_round(info) or self.is_patience_over()
        if self.write_checkpoint is not None:
            self.write_checkpoint(self, is_last or round_ == self.n_rounds)
        return is_last

    def _measure(self, eval_set: EvalSet, trees: Sequence[Tree]) -> dict[str, float]:
        if self.grower.has_revised:
            eval_set.score_by(self.build_ensemble(self.grower.trees))
        else:
            eval_set.add(trees)
        return eval_set.measure(self.metrics, self.link)

    def _record(self, round_: int, metrics: dict[str, dict[str, float]]) -> None:
        for name, values in metrics.items():
            for metric, value in values.items():
                self.history.setdefault(name, {}).setdefault(metric, []).append(value)
        decisive = self.metrics[0]
        if self.patience is None and not decisive.has_direction:
            return
        value = metrics[self.eval_sets[-1].name][decisive.name]
        self.best.update(round_, value, decisive.higher_is_better)
        if self.grower.revises_trees and self.best.round == round_:
            self.best.trees = list(self.grower.trees)

    def is_patience_over(self) -> bool:
        """Return whether too many rounds have brought no improvement."""
        if self.patience is None or not self.history:
            return False
        n_evaluated = len(self.history[self.eval_sets[-1].name][self.metrics[0].name])
        waiting_since = self.best.round or self.round - n_evaluated
        return self.round - waiting_since >= self.patience
