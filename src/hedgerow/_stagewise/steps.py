"""The steps of a round: one ρ, or one for every leaf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._stagewise.learners import Leaves
from hedgerow._stagewise.losses import StagewiseLoss, column_of
from hedgerow._types import Floats

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
