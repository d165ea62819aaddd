"""Several columns of y at once: numbers, or labels of two classes each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow._boosting.losses.base import NativeLoss
from hedgerow._types import Floats


class SeveralTargets(NativeLoss):
    """The sum of one loss over the columns of y, each of which has a score."""

    def __init__(self, loss: NativeLoss, n_targets: int) -> None:
        self.loss = loss
        self.name, self.link, self.metric = loss.name, loss.link, loss.metric
        self.leaf_rates, self.has_corners = loss.leaf_rates, loss.has_corners
        self.adapts = loss.adapts
        self.n_outputs = self.n_targets = n_targets

    @property
    def of_one(self) -> NativeLoss:
        """The loss of a single column."""
        return self.loss

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the best constant of each column."""
        return np.concatenate([self.loss.base_score(column, weights) for column in target])

    def objection(self, target: Floats) -> str | None:
        """Object to the first column that the loss objects to."""
        for number, column in enumerate(target.T):
            if objection := self.loss.objection(column):
                return f"Column {number} of y: {objection}"
        return None

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:
        """Return the parameter of each column's loss."""
        columns = zip(target, scores, strict=True)
        by_column = [self.loss.parameters(y, score[None], weights) for y, score in columns]
        return [number for parameters in by_column for number in parameters]

    def corners(self, target: Floats, scores: Floats) -> Floats:
        """Return the step of each row to the corner, in one column."""
        return self.loss.corners(target, scores)

    def levels(self, output: int, target: Any, weights: Any, leaf: Any, n_leaves: int) -> Floats:  # noqa: ARG002
        """Return which quantile of its rows' corners each leaf is worth, in one column."""
        return self.loss.levels(0, target, weights, leaf, n_leaves)
