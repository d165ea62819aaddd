"""The certificate of a solution: its duality gap.

For any level, the SVM with the scores of β and that intercept has a primal objective that exceeds
the dual's by

    gap = Σ_v (pull_v − level)₊ (high_v − β_v) + (level − pull_v)₊ (β_v − low_v),

the most that variables could gain by moving to their bounds. No SVM has an objective below the
dual's, so none is better than this one by more than the gap.

For the hard margin, without bounds, the SVM is first scaled until no row is within the margin; then
its ½‖w‖² is compared with the dual. Without bounds the dual has a solution only if the classes can
be separated. Weights α that sum to 1 in each class give a point in each convex hull, and
w = Σ y α φ(x) is their difference. If the hulls intersect, the solver's α grow without bound while
‖w‖ does not: the points approach each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._svm.kernel.dual import DualProblem
from hedgerow._svm.kernel.kernels import KernelTable
from hedgerow._types import Floats
from hedgerow.exceptions import DataError

# Hulls closer than this fraction of the diameter of the data count as intersecting.
CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class KernelSolution:
    """A solution of a dual with its certificate."""

    dual: DualProblem
    beta: Floats
    scores: Floats  # f of every row
    levels: tuple[float, ...]  # of each group
    objective: float  # of the primal
    gap: float
    relative_gap: float  # relative to the objective, or to the size of its terms
    has_weights: bool  # whether w has not vanished
    n_iter: int
    converged: bool

    @property
    def coefficients(self) -> Floats:
        """Each row's coefficient in f."""
        weights = np.bincount(self.dual.row, self.beta, minlength=len(self.scores))
        return weights.astype(np.float64, copy=False)


def square_of_w(dual: DualProblem, beta: Floats, scores: Floats) -> float:
    """Return ‖w‖² = Σ_vw β_v β_w k(x_v, x_w)."""
    return sum_of(beta * scores[dual.row])


def dual_objective(dual: DualProblem, beta: Floats, scores: Floats) -> float:
    """Return the dual's objective, as something to maximise."""
    return sum_of(beta * dual.linear) - 0.5 * square_of_w(dual, beta, scores)


def extremes(dual: DualProblem, beta: Floats, pull: Floats, group: slice) -> tuple[float, float]:
    """Return the largest pull in a group that may grow, and the smallest that may shrink."""
    return _native.pull_range(pull[group], beta[group], dual.low[group], dual.high[group])


def violation(dual: DualProblem, beta: Floats, pull: Floats) -> float:
    """Return by how much pulls of a group differ in the wrong direction, at most."""
    tops_and_bottoms = (extremes(dual, beta, pull, group) for group in dual.groups)
    return max(top - bottom for top, bottom in tops_and_bottoms)


def levels_and_gap(
    dual: DualProblem, beta: Floats, scores: Floats, pull: Floats
) -> tuple[tuple[float, ...], float]:
    """Return the levels that make the gap smallest, and that gap."""
    if dual.is_hard:
        level = 0.5 * sum(extremes(dual, beta, pull, slice(None)))
        return (level,), _hard_gap(dual, beta, scores, level)
    levels, gap = [], 0.0
    for group in dual.groups:
        above, below = dual.high[group] - beta[group], beta[group] - dual.low[group]
        level = _best_level(pull[group], above, below)
        apart = pull[group] - level
        gap += sum_of(np.maximum(apart, 0.0) * above + np.maximum(-apart, 0.0) * below)
        levels.append(level)
    return tuple(levels), gap


def _best_level(pull: Floats, above: Floats, below: Floats) -> float:
    """Return the level of the smallest gap, or the middle of those that have it.

    The gap is convex and piecewise linear, with slope Σ below of smaller pulls − Σ above of larger.
    """
    order = np.argsort(pull, kind="stable")
    pull, above, below = pull[order], above[order], below[order]
    left = np.concatenate([[0.0], np.cumsum(below)])  # below of the first i pulls
    right = np.concatenate([np.cumsum(above[::-1])[::-1], [0.0]])  # above of all after them
    slope = left - right  # between pull i − 1 and pull i
    rounding = 1e-12 * (left[-1] + right[0])
    first = int(np.searchsorted(slope, -rounding))  # the first interval without a falling gap
    last = int(np.searchsorted(slope, rounding, side="right"))  # the first with a rising one
    low, high = pull[max(first - 1, 0)], pull[min(last, len(slope) - 1) - 1]
    return float(0.5 * (low + high))


def _hard_gap(dual: DualProblem, beta: Floats, scores: Floats, level: float) -> float:
    margin = smallest_margin(dual, scores, level)
    if margin <= 0.0:
        return np.inf
    objective = 0.5 * square_of_w(dual, beta, scores) / margin**2
    return max(0.0, objective - dual_objective(dual, beta, scores))


def smallest_margin(dual: DualProblem, scores: Floats, level: float) -> float:
    """Return y f(x) of the row that is nearest to the boundary, or furthest beyond it."""
    moves = (dual.high > 0.0) | (dual.low < 0.0)
    margins = dual.linear * (scores[dual.row] + level)
    return float(margins[moves].min())


class HardMargin:
    """The check that a hard margin exists."""

    def __init__(self, dual: DualProblem, table: KernelTable) -> None:
        self.dual = dual
        self.width = _width(table)

    def require_separable(self, beta: Floats, scores: Floats) -> None:
        """Raise if the current β shows that the convex hulls of the classes intersect."""
        weight = 0.5 * sum_of(np.abs(beta))
        square = max(0.0, square_of_w(self.dual, beta, scores))
        distance = np.sqrt(square) / weight if weight > 0.0 else np.inf
        if not distance > CLOSE * self.width:
            raise DataError(
                "C=inf requires a hard margin, but the classes cannot be separated with this "
                "kernel, or only barely: the distance between their convex hulls is at most "
                f"{distance:.3g}, whereas rows are up to {self.width:.3g} apart, and the duality "
                "gap is infinite. Use a finite C, or a kernel that separates the classes."
            )


def _width(table: KernelTable) -> float:
    """Return the largest distance of a row from the first, in feature space."""
    first = np.empty((1, len(table)), table.dtype)
    table.fill(np.zeros(1, np.int64), np.zeros(1, np.int64), first, 1)
    diagonal = table.diagonal()
    squares = diagonal + diagonal[0] - 2.0 * first[0].astype(np.float64)
    return float(np.sqrt(max(0.0, squares.max())))
