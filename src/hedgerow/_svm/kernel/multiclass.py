"""Multiclass by binary SVMs, one-vs-one or one-vs-rest: tasks, votes and probabilities.

Probabilities are Platt's sigmoids of out-of-fold scores, with pairwise coupling for one-vs-one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow._types import Floats, RowNumbers

N_FOLDS = 5
# Rows whose systems of equations are solved at once.
ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class BinaryTask:
    """The rows of a binary SVM and their signs."""

    rows: RowNumbers
    y: Floats


def binary_tasks(index: RowNumbers, n_classes: int, scheme: str) -> Iterator[BinaryTask]:
    """Yield the binary tasks: one for two classes, else by the scheme "ovo" or "ovr"."""
    everywhere = np.arange(len(index))
    if n_classes == 2:
        yield BinaryTask(everywhere, np.where(index == 1, 1.0, -1.0))
    elif scheme == "ovr":
        for k in range(n_classes):
            yield BinaryTask(everywhere, np.where(index == k, 1.0, -1.0))
    else:
        for i, j in pairs(n_classes):
            rows = np.flatnonzero((index == i) | (index == j))
            yield BinaryTask(rows, np.where(index[rows] == i, 1.0, -1.0))


def n_binary_tasks(n_classes: int, scheme: str) -> int:
    """Return the number of binary SVMs."""
    if n_classes == 2:
        return 1
    return n_classes if scheme == "ovr" else n_classes * (n_classes - 1) // 2


def pairs(n_classes: int) -> list[tuple[int, int]]:
    """Return the pairs of classes, in scikit-learn's order."""
    first, second = np.triu_indices(n_classes, 1)
    return list(zip(first.tolist(), second.tolist(), strict=True))


def by_class(coefficients: Floats, index: RowNumbers, n_classes: int) -> Floats:
    """Return coefficients (pairs, vectors) in scikit-learn's layout, (classes − 1, vectors).

    A vector of class c has a coefficient for each other class, in their order.
    """
    laid_out = np.zeros((n_classes - 1, coefficients.shape[1]))
    for pair, (i, j) in zip(coefficients, pairs(n_classes), strict=True):
        laid_out[j - 1, index == i] = pair[index == i]
        laid_out[i, index == j] = pair[index == j]
    return laid_out


def of_pairs(laid_out: Floats, counts: RowNumbers) -> Floats:
    """Invert `by_class`, for vectors in the order of their classes."""
    index = np.repeat(np.arange(len(counts)), counts)
    coefficients = np.zeros((len(pairs(len(counts))), len(index)))
    for pair, (i, j) in zip(coefficients, pairs(len(counts)), strict=True):
        pair[index == i] = laid_out[j - 1, index == i]
        pair[index == j] = laid_out[i, index == j]
    return coefficients


def votes(decisions: Floats, n_classes: int) -> NDArray[np.int64]:
    """Count how many pairs each class wins."""
    won = np.zeros((len(decisions), n_classes), np.int64)
    for k, (i, j) in enumerate(pairs(n_classes)):
        first = decisions[:, k] > 0.0
        won[:, i] += first
        won[:, j] += ~first
    return won


def votes_with_confidence(decisions: Floats, n_classes: int) -> Floats:
    """Return votes, with ties broken by the summed decisions.

    The sums are mapped to (−1/3, 1/3), so that they never outweigh a vote.
    """
    confidence = np.zeros((len(decisions), n_classes))
    for k, (i, j) in enumerate(pairs(n_classes)):
        confidence[:, i] += decisions[:, k]
        confidence[:, j] -= decisions[:, k]
    return votes(decisions, n_classes) + confidence / (3.0 * (np.abs(confidence) + 1.0))


def folds(y: Floats, seed: int) -> list[RowNumbers]:
    """Return stratified folds in a random order."""
    generator = np.random.default_rng(seed)
    fold = np.empty(len(y), np.int64)
    for sign in (1.0, -1.0):
        rows = np.flatnonzero(y == sign)
        fold[generator.permutation(rows)] = np.arange(len(rows)) % N_FOLDS
    return [np.flatnonzero(fold == k) for k in range(N_FOLDS) if (fold == k).any()]


def couple(pairwise: Floats, n_classes: int) -> Floats:
    """Return class probabilities from those of the first class of every pair.

    With r_ij the probability of i among i and j, the p that minimises Σ (p_j r_ij − p_i r_ji)² over
    all pairs (Wu, Lin and Weng, 2004): a system of linear equations for each row.
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
    # At the minimum subject to Σp = 1, all elements of Qp are equal, and so are those of (Q + 1)p;
    # and Q + 1 is positive definite, even if all pairs agree and Qp = 0.
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
