"""Crammer and Singer's multiclass SVM: one problem for all classes, solved in the dual.

Minimise P(W) = ½ Σ_m ‖W_m‖² + Σ_i C_i max_m ([m ≠ y_i] + (W_m − W_{y_i})·x_i). For any α with
Σ_m α_im = 0 and α_im ≤ C_i [m = y_i], with W_m = Σ_i α_im x_i,

    D(α) = −½ Σ_m ‖W_m‖² − Σ_i Σ_m [m ≠ y_i] α_im  ≤  P(W).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._svm.linear.design_matrix import DesignMatrix
from hedgerow._svm.linear.problem import GapCriterion, LinearSolution, square
from hedgerow._types import Floats

# Epochs between two evaluations of the gap.
EPOCHS = 10


def crammer_singer(
    rows: DesignMatrix,
    label: NDArray[np.int32],
    n_classes: int,
    C: Floats,
    stop: GapCriterion,
    seed: int,
) -> LinearSolution:
    """Solve for all classes; the solution's w has a row for each class."""
    squares = rows.squares()
    alpha = _start(label, n_classes, C, squares)
    W = np.zeros((rows.width, n_classes))
    descent = _native.crammer_singer(rows.native, label, C, squares, alpha, W, seed)
    tolerance, n_iter = 1e-2, 0
    best: LinearSolution | None = None
    while True:
        epochs = min(EPOCHS, stop.max_iter - n_iter)
        (epochs_run,) = _native.descend([descent], epochs, [tolerance], 1)
        n_iter += epochs_run
        candidate = _certified(rows, label, C, alpha, W, stop, n_iter)
        if best is None or candidate.gap < best.gap:
            best = candidate
        if best.converged or n_iter >= stop.max_iter:
            return replace(best, n_iter=n_iter)
        if descent.converged:
            tolerance /= 10.0


def _start(label: NDArray[np.int32], n_classes: int, C: Floats, squares: Floats) -> Floats:
    """Start at 0, except for all-zero rows: they do not affect W, and the bounds are optimal."""
    alpha = np.zeros((len(label), n_classes))
    empty = np.flatnonzero(squares == 0.0)
    alpha[empty] = -C[empty, np.newaxis] / (n_classes - 1)
    alpha[empty, label[empty]] = C[empty]
    return alpha


def _certified(
    rows: DesignMatrix,
    label: NDArray[np.int32],
    C: Floats,
    alpha: Floats,
    W: Floats,
    stop: GapCriterion,
    n_iter: int,
) -> LinearSolution:
    by_class = np.stack([rows.combine(np.ascontiguousarray(column)) for column in alpha.T])
    W[:] = by_class.T  # without accumulated rounding errors
    each = np.arange(len(label))
    scores = rows.times_each(by_class) + 1.0
    scores[each, label] -= 1.0
    losses = scores.max(axis=1) - scores[each, label]
    penalty = 0.5 * square(by_class)
    objective = penalty + sum_of(C * losses)
    # Σ_m α_im = 0: the α of the other classes sum to minus the row's own.
    gap = max(0.0, objective - (sum_of(alpha[each, label]) - penalty))
    return LinearSolution(by_class, objective, gap, n_iter, stop.is_reached(gap, objective))
