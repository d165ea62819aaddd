"""Scores → probabilities: Platt's sigmoids, and pairwise coupling for several classes."""

from __future__ import annotations

import numpy as np

from hedgerow._types import Floats, RowNumbers

N_FOLDS = 5
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
