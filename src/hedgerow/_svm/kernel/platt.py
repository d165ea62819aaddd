"""Scores → probabilities: Platt's sigmoids, and pairwise coupling for several classes."""

from __future__ import annotations

import math

import numpy as np

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._types import Floats, RowNumbers

N_FOLDS = 5
STEPS = 100
SMALLEST_STEP = 1e-10
# Rows whose systems of equations are solved at once.
ROWS_AT_ONCE = 4096


def folds(y: Floats, seed: int) -> list[RowNumbers]:
    """Return stratified folds in a random order."""
    generator = np.random.default_rng(seed)
    fold = np.empty(len(y), np.int64)
    for sign in (1.0, -1.0):
        rows = np.flatnonzero(y == sign)
        fold[generator.permutation(rows)] = np.arange(len(rows)) % N_FOLDS
    return [np.flatnonzero(fold == k) for k in range(N_FOLDS) if (fold == k).any()]


def fit_sigmoid(scores: Floats, y: Floats, weights: Floats) -> tuple[float, float]:
    """Return A and B of P(y = 1) = 1 / (1 + exp(A score + B)), by maximum likelihood.

    As if one more row of each class had been seen, so that probabilities do not become 0 and 1:
    the targets are (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2). Newton's method with halved steps.
    """
    positive = y > 0.0
    n_positive, n_negative = sum_of(weights[positive]), sum_of(weights[~positive])
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    A, B = 0.0, math.log((n_negative + 1) / (n_positive + 1))
    loss = _log_loss(A * scores + B, target, weights)
    for _ in range(STEPS):
        p = probability(A * scores + B)
        residual, curvature = weights * (target - p), weights * p * (1 - p)
        gradient = np.array([sum_of(residual * scores), sum_of(residual)])
        if np.abs(gradient).max() < 1e-10 * sum_of(weights):
            break
        step = _newton_step(gradient, curvature, scores)
        A, B, loss, moved = _search(A, B, step, loss, scores, target, weights)
        if not moved:
            break
    return A, B


def _newton_step(gradient: Floats, curvature: Floats, scores: Floats) -> Floats:
    """Solve the two equations of a step, kept apart from singular ones."""
    aa = sum_of(curvature * scores * scores) + 1e-12
    ab = sum_of(curvature * scores)
    bb = sum_of(curvature) + 1e-12
    determinant = aa * bb - ab * ab
    a, b = gradient
    return np.array([bb * a - ab * b, aa * b - ab * a]) / -determinant


def _search(
    A: float, B: float, step: Floats, loss: float, scores: Floats, target: Floats, weights: Floats
) -> tuple[float, float, float, bool]:
    """Halve the step until the loss falls."""
    size = 1.0
    while size >= SMALLEST_STEP:
        next_A, next_B = A + size * float(step[0]), B + size * float(step[1])
        next_loss = _log_loss(next_A * scores + next_B, target, weights)
        if next_loss < loss:
            return next_A, next_B, next_loss, True
        size *= 0.5
    return A, B, loss, False


def probability(exponent: Floats) -> Floats:
    """Return 1 / (1 + e^exponent)."""
    p = -exponent
    _native.sigmoid_inplace(p)
    return p


def _log_loss(exponent: Floats, target: Floats, weights: Floats) -> float:
    # −t log p − (1 − t) log(1 − p) = log(1 + e^z) − (1 − t) z
    soft = -np.abs(exponent)
    _native.exp_inplace(soft)
    _native.log1p_inplace(soft)
    losses = soft + np.maximum(exponent, 0.0) - (1.0 - target) * exponent
    return sum_of(weights * losses)


def couple(pairwise: Floats, n_classes: int) -> Floats:
    """Return probabilities of classes from those of the first class in every pair.

    Those p for which p_j r_ij is nearest to p_i r_ji over all pairs (Wu, Lin and Weng, 2004),
    r_ij being the probability of i among i and j: a system of linear equations for each row.
    """
    return np.concatenate(
        [
            _couple(pairwise[first : first + ROWS_AT_ONCE], n_classes)
            for first in range(0, max(1, len(pairwise)), ROWS_AT_ONCE)
        ]
    )


def _couple(pairwise: Floats, n_classes: int) -> Floats:
    n = len(pairwise)
    first, second = np.triu_indices(n_classes, 1)
    r = np.zeros((n, n_classes, n_classes))
    r[:, first, second] = pairwise
    r[:, second, first] = 1.0 - pairwise
    Q = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    Q[:, diagonal, diagonal] = (r * r).sum(axis=1)
    # At the minimum under Σp = 1, Qp is the same in every place, and so is (Q + 1)p; but Q + 1 is
    # positive definite, even where all pairs agree and Qp = 0.
    p = np.maximum(_solve_for_ones(Q + 1.0), 0.0)
    return p / p.sum(axis=1, keepdims=True)


def _solve_for_ones(matrices: Floats) -> Floats:
    """Solve M x = 1 for many positive definite matrices, by elimination in a fixed order."""
    M = matrices.copy()
    n, size, _ = M.shape
    x = np.ones((n, size))
    for k in range(size):
        factor = M[:, k + 1 :, k] / M[:, k, k, np.newaxis]
        M[:, k + 1 :, k:] -= factor[:, :, np.newaxis] * M[:, np.newaxis, k, k:]
        x[:, k + 1 :] -= factor * x[:, k, np.newaxis]
    for k in reversed(range(size)):
        x[:, k] -= (M[:, k, k + 1 :] * x[:, k + 1 :]).sum(axis=1)
        x[:, k] /= M[:, k, k]
    return x
