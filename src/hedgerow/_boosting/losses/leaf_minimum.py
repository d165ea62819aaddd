"""Leaf values that minimise a robust loss, where a Newton step only approaches the minimum.

The engine's leaf values of the Huber loss and its smooth relatives are one step on a parabola that
touches the loss from above: the loss falls, but not to its minimum. Here the derivative of each
leaf's penalised loss, which increases with the value, is brought to 0 by Newton steps with the true
curvature, kept within a bracket. All leaves of a tree are solved simultaneously. For the Huber loss
the derivative is piecewise linear, so the steps end after a few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow._boosting.losses.regression import RobustLoss
from hedgerow._tree.leaves import LeafRows, write_leaf_values
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats

MOST_STEPS = 100
# A derivative, relative to the largest that the leaf can have, that is 0 but for rounding.
ENOUGH = 1e-12


@dataclass(frozen=True)
class LeafMinimum:
    """Leaf values that minimise the penalised loss of the leaf's rows, capped and shrunk.

    `weights` are those of all rows, sampled or not.
    """

    loss: RobustLoss
    weights: Floats | None
    learning_rate: float
    max_delta_step: float
    reg_lambda: float
    reg_alpha: float

    def replace(self, tree: Tree, output: int, rows: LeafRows, n_threads: int) -> Floats:  # noqa: ARG002
        """Write new values into the tree; return those of the leaves, in the order of nodes."""
        n_leaves = int(np.count_nonzero(tree.feature < 0))
        delta = float(self.loss.parameters(rows.target, rows.all_scores, self.weights)[0])
        steps = self._minima(rows, n_leaves, delta)
        return write_leaf_values(tree, output, steps, self.learning_rate, self.max_delta_step)

    def _minima(self, rows: LeafRows, n_leaves: int, delta: float) -> Floats:
        residual = rows.scores - rows.target

        def sums(steps: Floats) -> tuple[Floats, Floats]:
            slope, curvature = self.loss.derivatives(residual + steps[rows.leaf], delta)
            return rows.sums(slope, n_leaves), rows.sums(curvature, n_leaves)

        at_zero, _ = sums(np.zeros(n_leaves))
        # The L1 penalty keeps a leaf at 0, or opposes its step by α.
        shift = np.sign(at_zero) * np.minimum(np.abs(at_zero), self.reg_alpha)
        largest = delta * rows.sums(np.ones(len(residual)), n_leaves)
        most = float(np.abs(residual).max(initial=0.0))  # the minimum is at most so far from 0
        low, high = np.full(n_leaves, -most), np.full(n_leaves, most)
        steps = np.zeros(n_leaves)
        for _ in range(MOST_STEPS):
            slope, curvature = sums(steps)
            slope += self.reg_lambda * steps - shift
            curvature += self.reg_lambda
            low, high = np.where(slope < 0.0, steps, low), np.where(slope > 0.0, steps, high)
            undecided = (np.abs(slope) > ENOUGH * largest) & (high - low > ENOUGH * most)
            if not undecided.any():
                break
            newton = steps - slope / np.where(curvature > 0.0, curvature, 1.0)
            is_inside = (curvature > 0.0) & (newton > low) & (newton < high)
            middle = 0.5 * low + 0.5 * high
            steps = np.where(undecided, np.where(is_inside, newton, middle), steps)
        return steps
