"""Forward stagewise additive modelling, round by round, as the lectures write it.

F ← F₀
for each round:
    r ← −∂L(y, F)/∂F             the response: pseudo-residuals
    h ← a learner fitted to r
    ρ ← argmin Σ L(y, F + ρ h)   the step
    F ← F + ν ρ h

A joint search replaces the second and third steps: (ρ, h) ← argmin Σ L(y, F + ρ h).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from hedgerow._arithmetic import sum_of
from hedgerow._boosting.fit.loop import BestRound
from hedgerow._data.target import LARGEST
from hedgerow._progress import Progress
from hedgerow._stagewise.joint_search import JointSearch
from hedgerow._stagewise.learners import BaseLearner, Leaves, leaves_of, output_of
from hedgerow._stagewise.losses import LEAST_HESSIAN, StagewiseLoss, by_row, column_of
from hedgerow._stagewise.model import Stage, add_round
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

Step = float | Floats
LeafStep = Callable[[Floats, Floats, Floats, int], float]
PER_LEAF = ("per_leaf", "newton")


@dataclass(frozen=True)
class StepData:
    """Target, current scores and weights of some rows."""

    y: Floats
    F: Floats
    w: Floats

    def take(self, rows: Any) -> StepData:
        """Return some of the rows; their arrays may be views."""
        return StepData(self.y[rows], self.F[rows], self.w[rows])


def negligible_gradient(loss: StagewiseLoss, start: StepData) -> float:
    """Return the size of gradients below which they are rounding errors."""
    loss = loss.adapted(start.y, start.F, start.w)
    gradient = loss.checked_gradient(start.y, start.F)
    return float(np.finfo(float).eps * np.abs(gradient).max())


@dataclass
class StagewiseBooster:
    """The training set with its current scores, and the parameters of a round."""

    X: Any
    rows: StepData
    is_weighted: bool
    loss: StagewiseLoss
    learner: BaseLearner
    seed: int
    response: str
    step: str
    subsample: float
    learning_rate: float
    least_gradient: float
    normalise: float | None = None
    joint_search: JointSearch | None = None

    def boost(self, index: int) -> tuple[list[Stage], float]:
        """Do a round; return its stages (none if all gradients vanish) and the loss."""
        rows, random = self.rows, np.random.RandomState([self.seed, index])
        loss = self.loss.adapted(rows.y, rows.F, rows.w)
        gradient = loss.checked_gradient(rows.y, rows.F)
        stages: list[Stage] = []
        if np.abs(gradient).max() > self.least_gradient:
            sample = self._draw(random)
            if self.joint_search is not None:
                stages = self._advance_jointly(loss, self.joint_search, sample)
            else:
                learners = self._fit(*self._respond(loss, gradient), sample, random)
                stages = self._advance(loss, learners, sample)
        return stages, self._checked_loss(loss)

    def _respond(self, loss: StagewiseLoss, gradient: Floats) -> tuple[Floats, Floats | None]:
        """Return the response that learners are fitted to, and the weights, if any."""
        if self.response == "gradient":
            return -gradient, self.rows.w if self.is_weighted else None
        hessian = np.maximum(loss.hessian(self.rows.y, self.rows.F), LEAST_HESSIAN)
        return -gradient / hessian, by_row(self.rows.w, hessian) * hessian

    def _draw(self, random: np.random.RandomState) -> Any:
        """Return the sample of rows of this round, in order."""
        if self.subsample == 1.0:
            return slice(None)
        n_rows = len(self.rows.y)
        return np.sort(random.permutation(n_rows)[: max(1, round(self.subsample * n_rows))])

    def _fit(
        self, response: Floats, weights: Floats | None, sample: Any, random: np.random.RandomState
    ) -> list[Any]:
        """Return a fitted learner for each output."""
        X = self.X if self.subsample == 1.0 else _safe_indexing(self.X, sample)
        return [
            self.learner.fit(
                X,
                column_of(response, output)[sample],
                None if weights is None else column_of(weights, output)[sample],
                int(random.randint(2**31 - 1)),
            )
            for output in range(self.loss.n_outputs)
        ]

    def _advance(self, loss: StagewiseLoss, learners: Sequence[Any], sample: Any) -> list[Stage]:
        """Find the steps on the sample, and add the stages to the scores of all rows."""
        inputs = [self._inputs_for(learner) for learner in learners]
        factors = [self._factor(values, sample) for values in inputs]
        sample_inputs = [
            values[sample] if factor is None else factor * values[sample]
            for values, factor in zip(inputs, factors, strict=True)
        ]
        steps = find_steps(
            self.step, loss, self.rows.take(sample), sample_inputs, shrinkage=self.learning_rate
        )
        stages = [
            Stage(learner, step if factor is None else factor * step, self.learning_rate)
            for learner, step, factor in zip(learners, steps, factors, strict=True)
        ]
        for output, (stage, values) in enumerate(zip(stages, inputs, strict=True)):
            column_of(self.rows.F, output)[:] += stage.term(values)
        return stages

    def _advance_jointly(
        self, loss: StagewiseLoss, search: JointSearch, sample: Any
    ) -> list[Stage]:
        """Find the learner with its step, and add the stage to the scores of all rows."""
        rows = self.rows
        stage = search.stage(loss, rows.y, rows.F, rows.w, sample, self.learning_rate)
        rows.F[:] += stage.term(output_of(stage.learner, self.X))
        return [stage]

    def _factor(self, h: Floats, sample: Any) -> float | None:
        """Return the factor that makes Σ w h² = C, 1 for a learner that predicts 0."""
        if self.normalise is None:
            return None
        square = sum_of(self.rows.w[sample] * h[sample] ** 2)
        return float(np.sqrt(self.normalise / square)) if square > 0.0 else 1.0

    def _inputs_for(self, learner: Any) -> NDArray[Any]:
        return (leaves_of if self.step in PER_LEAF else output_of)(learner, self.X)

    def _checked_loss(self, loss: StagewiseLoss) -> float:
        """Return the loss, or raise if it has diverged."""
        value = loss.mean_loss(self.rows.y, self.rows.F, self.rows.w)
        if not (np.isfinite(value) and np.abs(self.rows.F).max() <= LARGEST):
            raise ParameterError(
                f"learning_rate={self.learning_rate!r} makes the loss diverge. "
                "Choose a smaller one, or step='line_search'."
            )
        return value


@dataclass
class ValidationSet:
    """The validation set, whose loss determines the best round."""

    X: Any
    rows: StepData
    loss: StagewiseLoss
    best: BestRound
    patience: int
    history: list[float] = field(default_factory=list)

    def add(self, round_: int, stages: Sequence[Stage]) -> None:
        """Add a round's stages to the scores and measure."""
        add_round(self.rows.F, stages, self.X)
        self.history.append(self.judge(round_))

    def judge(self, round_: int) -> float:
        """Return the loss at the scores so far, and record it if it is the least."""
        loss = self.loss.mean_loss(self.rows.y, self.rows.F, self.rows.w)
        self.best.update(round_, loss, higher_is_better=False)
        return loss

    def is_patience_over(self, round_: int) -> bool:
        """Return whether the best round was `patience` rounds ago."""
        return round_ - self.best.round >= self.patience


@dataclass
class StagewiseRounds:
    """The rounds so far: stages and losses."""

    stages: list[Stage]
    train_score: list[float]
    validation_set: ValidationSet | None

    def run(self, booster: StagewiseBooster, rounds: range, progress_bar: Progress | None) -> None:
        """Boost until all gradients vanish or early stopping applies."""
        for index in rounds:
            stages, loss = booster.boost(index)
            if not stages:
                return
            self.stages += stages
            self.train_score.append(loss)
            if self._after_round(index + 1, stages, progress_bar):
                return

    def _after_round(
        self, round_: int, stages: Sequence[Stage], progress_bar: Progress | None
    ) -> bool:
        metrics = {"train": {"loss": self.train_score[-1]}}
        if self.validation_set is not None:
            self.validation_set.add(round_, stages)
            metrics["validation"] = {"loss": self.validation_set.history[-1]}
        if progress_bar is not None:
            progress_bar.show(round_, metrics)
        return self.validation_set is not None and self.validation_set.is_patience_over(round_)


def find_steps(
    kind: str, loss: StagewiseLoss, rows: StepData, inputs: Sequence[NDArray[Any]], shrinkage: float
) -> list[Step]:
    """Return a step for each output.

    Parameters
    ----------
    kind : {"line_search", "per_leaf", "newton", "unit"}
        The parameter `step` of the estimators.
    loss, rows
        The loss to minimise, and the rows.
    inputs : list of arrays
        For each output, the predictions of its learner, or the leaves of the rows.
    shrinkage : float
        The learning rate ν: with "per_leaf", the scores of a class are updated by ν times its steps
        before the steps of the next class are computed.
    """
    if kind == "unit":
        return [1.0] * len(inputs)
    if kind == "line_search":
        return [_line_step(loss, rows, inputs)] * len(inputs)
    if kind == "newton":
        return [_leaf_steps(loss.newton_step, rows, leaf, k) for k, leaf in enumerate(inputs)]
    return _leaf_steps_in_turn(loss, rows, inputs, shrinkage)


def _line_step(loss: StagewiseLoss, rows: StepData, outputs: Sequence[Floats]) -> float:
    """Return one ρ for all outputs: they are the coordinates of one direction."""
    h = outputs[0] if len(outputs) == 1 else np.column_stack(outputs)
    return loss.line_step(rows.y, rows.F, h, rows.w)


def _leaf_steps_in_turn(
    loss: StagewiseLoss, rows: StepData, leaves: Sequence[Leaves], shrinkage: float
) -> list[Step]:
    """Return the optimal steps in the leaves of each output, after updating the previous outputs.

    If computed simultaneously, the steps of the classes would overshoot together.
    """
    F = rows.F.copy()
    steps: list[Step] = []
    for output, leaf in enumerate(leaves):
        leaf_steps = _leaf_steps(loss.leaf_step, StepData(rows.y, F, rows.w), leaf, output)
        column_of(F, output)[:] += shrinkage * leaf_steps[leaf]
        steps.append(leaf_steps)
    return steps


def _leaf_steps(rule: LeafStep, rows: StepData, leaf: Leaves, output: int) -> Floats:
    """Return a step for every leaf number; 0 for leaves without rows."""
    steps = np.zeros(leaf.max() + 1)
    for number in np.unique(leaf):
        in_leaf = rows.take(leaf == number)
        steps[number] = rule(in_leaf.y, in_leaf.F, in_leaf.w, output)
    return steps
