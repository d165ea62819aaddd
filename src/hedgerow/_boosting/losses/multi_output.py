"""Multi-output regression and multilabel classification: one loss per column of y."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow._boosting.losses.base import NativeLoss
from hedgerow._types import Floats


class MultiOutputLoss(NativeLoss):
    """The sum of one loss over the columns of y; each column has a score."""

    def __init__(self, loss: NativeLoss, n_targets: int) -> None:
        self.loss = loss
        self.name, self.link, self.metric = loss.name, loss.link, loss.metric
        self.leaf_rates, self.is_piecewise_linear = loss.leaf_rates, loss.is_piecewise_linear
        self.is_adaptive = loss.is_adaptive
        self.n_outputs = self.n_targets = n_targets

    @property
    def single_output(self) -> NativeLoss:
        """The loss of one column."""
        return self.loss

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the best constant of each column."""
        return np.concatenate([self.loss.base_score(column, weights) for column in target])

    def objection(self, target: Floats) -> str | None:
        """Return the objection to the first column that is not allowed."""
        for number, column in enumerate(target.T):
            if objection := self.loss.objection(column):
                return f"Column {number} of y: {objection}"
        return None

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:
        """Return the loss's parameter for each column."""
        columns = zip(target, scores, strict=True)
        by_column = [self.loss.parameters(y, score[None], weights) for y, score in columns]
        return [number for parameters in by_column for number in parameters]

    def steps_to_kink(self, target: Floats, scores: Floats) -> Floats:
        """Return the step from each row's score to its kink, in one column."""
        return self.loss.steps_to_kink(target, scores)

    def leaf_levels(
        self,
        output: int,  # noqa: ARG002
        target: Any,
        weights: Any,
        leaf: Any,
        n_leaves: int,
    ) -> Floats:
        """Return the quantile level of each leaf, in one column."""
        return self.loss.leaf_levels(0, target, weights, leaf, n_leaves)
