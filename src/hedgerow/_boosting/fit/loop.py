"""The boosting loop, and what happens after each round: metrics, callbacks, early stopping.

A fit without evaluation sets, callbacks, progress bar or checkpoint has no `RoundMonitor`, and all
its rounds are then one call of the grower.

A callback is a function of a `RoundInfo`, or an object with any of ``before_fit(estimator)``,
``after_round(info)`` and ``after_fit(estimator)``. If ``after_round`` returns True, the fit stops
after this round. If a callback raises, the fit ends and the estimator is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from hedgerow._boosting.metrics import MEANS, Metric, UserMetric
from hedgerow._collective import workers, working_alone
from hedgerow._contract import internals
from hedgerow._data.binned_rows import TreeRows
from hedgerow._estimator import Estimator
from hedgerow._links import Link, prediction_of
from hedgerow._params import short_repr
from hedgerow._peers import library_of
from hedgerow._progress import Progress
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

EvalsResult = dict[str, dict[str, list[float]]]

# The methods of a callback.
HOOKS = ("before_fit", "after_round", "after_fit")


class RoundGrower(Protocol):
    """Grows the rounds of a fit, in order.

    Attributes
    ----------
    trees : sequence of Tree
        The trees of all rounds so far, those of the initial model included.
    revises_trees : bool
        Whether later rounds may change the trees of earlier ones.
    has_revised : bool
        Whether the last round has.
    """

    revises_trees: bool
    has_revised: bool

    @property
    def trees(self) -> Sequence[Tree]:
        """The trees of all rounds so far."""

    def grow(self, rounds: range) -> Sequence[Tree]:
        """Grow the trees of some rounds, and return them."""

    def close(self) -> None:
        """End the threads, if there are any."""


def boost(grower: RoundGrower, rounds: range, monitor: RoundMonitor | None) -> None:
    """Grow round after round until the last, or until the monitor stops."""
    if monitor is None:
        grower.grow(rounds)
        return
    if monitor.is_patience_over():
        return
    for index in rounds:
        if monitor.after_round(index, grower.grow(range(index, index + 1))):
            return


@dataclass
class EvalSet:
    """An evaluation set and its scores (n, K) so far."""

    name: str
    rows: TreeRows
    target: Floats
    weights: Floats | None
    offset: Floats | None
    scores: Floats
    trees_per_round: int
    n_threads: int
    # Target and weights of the rows of all workers, once a metric needs them.
    _gathered: tuple[Floats, Floats | None] | None = None

    def add(self, trees: Sequence[Tree]) -> None:
        """Add the trees of one or more rounds to the scores."""
        zero = np.zeros(self.scores.shape[1])
        outputs = [t % self.trees_per_round for t in range(len(trees))]
        ensemble = Ensemble.from_trees(trees, outputs, zero, self.rows.shape[1])
        ensemble.add_trees(self.rows, self.scores, 0, len(trees), n_threads=self.n_threads)

    def score_by(self, ensemble: Ensemble) -> None:
        """Recompute the scores, because earlier rounds have changed."""
        self.scores = ensemble.predict_raw(self.rows, offset=self.offset, n_threads=self.n_threads)

    def measure(self, metrics: Sequence[Metric | UserMetric], link: Link) -> dict[str, float]:
        """Return the value of every metric, on the rows of all workers."""
        prediction = prediction_of(self.scores, link, self.n_threads)
        values = [self._value(metric, prediction) for metric in metrics]
        measured: dict[str, float] = {}
        # Names are read last: a user's function may return its name with its value.
        for metric, value in zip(metrics, values, strict=True):
            measured[_unused(metric.name, measured)] = value
        return measured

    def _value(self, metric: Metric | UserMetric, prediction: Floats) -> float:
        argument = self.scores if metric.of_scores else prediction
        together = workers()
        if together.size == 1 or metric.measure in MEANS:
            return metric.measure(self.target, argument, self.weights)
        if self._gathered is None:
            rows = together.concatenated_rows
            weights = None if self.weights is None else rows(self.weights)
            self._gathered = rows(self.target), weights
        everything = together.concatenated_rows(argument)
        target, weights = self._gathered
        with working_alone():
            return metric.measure(target, everything, weights)


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


@dataclass(frozen=True)
class RoundInfo:
    """A finished round.

    Attributes
    ----------
    round : int
        The number of rounds in the model so far, this one included.
    n_rounds : int
        The maximum number of rounds.
    metrics : dict
        ``metrics[set][metric]`` is the value after this round.
    higher_is_better : dict
        For each metric whose direction is known, whether higher values are better.
    """

    round: int
    n_rounds: int
    metrics: Mapping[str, Mapping[str, float]]
    higher_is_better: Mapping[str, bool]
    build_model: Callable[[], Any] = field(repr=False)

    @property
    def model(self) -> Any:
        """A copy of the estimator, fitted with the rounds so far; built on access."""
        return self.build_model()


class Callbacks:
    """The user's callbacks, called in order.

    They may differ between workers, and may answer differently on each: one may look at the clock.
    What they fit themselves has nothing to do with the other workers.
    """

    def __init__(self, callbacks: Iterable[Any] | None) -> None:
        self.members = [] if callbacks is None else _checked(callbacks)
        self._has_any = workers().any(bool(self.members))

    def __bool__(self) -> bool:
        return self._has_any

    def before_fit(self, estimator: Estimator) -> None:
        """Call all before the first round."""
        with working_alone():
            for member in self.members:
                getattr(member, "before_fit", _nothing)(estimator)

    def after_round(self, info: RoundInfo) -> bool:
        """Call all after a round. Return True if any of them stops the fit, on any worker."""
        if not self._has_any:
            return False
        with working_alone():
            answers = [_after_round_of(member)(info) for member in self.members]
        stops = any(isinstance(answer, bool | np.bool_) and answer for answer in answers)
        return workers().any(stops)

    def after_fit(self, estimator: Estimator) -> None:
        """Call all with the finished model."""
        with working_alone():
            for member in self.members:
                getattr(member, "after_fit", _nothing)(estimator)


def _checked(callbacks: Any) -> list[Any]:
    members = list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]
    for member in members:
        library = library_of(member)
        if library is not None:
            raise ParameterError(
                f"callbacks: {short_repr(member)} is a callback for {library}. For early "
                "stopping, set early_stopping=True and n_iter_no_change in the constructor; for "
                "logging, set verbose. Callbacks of Hedgerow are functions of a RoundInfo."
            )
        if not callable(member) and not any(hasattr(member, hook) for hook in HOOKS):
            raise ParameterError(
                f"callbacks: {short_repr(member)} is neither a function of a RoundInfo nor an "
                f"object with one of the methods {', '.join(HOOKS)}."
            )
    return members


def _after_round_of(member: Any) -> Callable[[RoundInfo], Any]:
    is_function = callable(member) and not any(hasattr(member, hook) for hook in HOOKS)
    return member if is_function else getattr(member, "after_round", _nothing)


def _nothing(_: Any) -> None:
    """Stand in for a method that a callback does not have."""


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

    def judge_initial_model(self, n_rounds: int) -> None:
        """Make the initial model, if it has rounds, the best so far."""
        if self.eval_sets and n_rounds:
            [value] = self.eval_sets[-1].measure(self.metrics[:1], self.link).values()
            self._update_best(n_rounds, value)

    def after_round(self, index: int, trees: Sequence[Tree]) -> bool:
        """Record a finished round. Return True to stop."""
        self.round = round_ = index + 1
        metrics = {eval_set.name: self._measure(eval_set, trees) for eval_set in self.eval_sets}
        if metrics:
            self._record(round_, metrics)
        if self.progress_bar is not None:
            self.progress_bar.show(round_, metrics)
        directions = self._directions(metrics)
        info = RoundInfo(round_, self.n_rounds, metrics, directions, self.build_model)
        is_last = self.callbacks.after_round(info) or self.is_patience_over()
        if self.write_checkpoint is not None:
            self.write_checkpoint(self, is_last or round_ == self.n_rounds)
        return is_last

    def _directions(self, metrics: Mapping[str, Mapping[str, float]]) -> dict[str, bool]:
        names = next(iter(metrics.values()), {})
        named = zip(names, self.metrics, strict=False)  # no names without an evaluation set
        return {name: metric.higher_is_better for name, metric in named if metric.has_direction}

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
        self._update_best(round_, metrics[self.eval_sets[-1].name][self.metrics[0].name])

    def _update_best(self, round_: int, value: float) -> None:
        decisive = self.metrics[0]
        if self.patience is None and not decisive.has_direction:
            return
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
