"""Multiclass by binary SVMs: one-vs-one or one-vs-rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow._types import Floats, RowNumbers


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
    """Lay coefficients of pairs, (pairs, vectors), out as scikit-learn: (classes − 1, vectors).

    A vector of class c has one for each other class: of those in order.
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
    """Return votes, and between equal votes the order of the summed decisions.

    The sums are squeezed into (−1/3, 1/3): they never outweigh a vote.
    """
    confidence = np.zeros((len(decisions), n_classes))
    for k, (i, j) in enumerate(pairs(n_classes)):
        confidence[:, i] += decisions[:, k]
        confidence[:, j] -= decisions[:, k]
    return votes(decisions, n_classes) + confidence / (3.0 * (np.abs(confidence) + 1.0))
