"""Sums and elementary functions whose bits are the same everywhere.

NumPy does not specify the order of a sum or the last bit of `exp`, `log` and `hypot`: sums of more
than 8,192 numbers differ between its versions, matrix products between linear algebra libraries and
their kernels, `exp`, `log` and `hypot` between processors. Everything that determines a bit of a
model is computed here, by the kernels, or by NumPy's elementwise operations, which are rounded
correctly. Sums are exact and rounded once (`native/core/array_sums.hpp`), so that they do not
depend on the order of rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow import _native
from hedgerow._collective import workers
from hedgerow._types import Floats


def sum_of(numbers: Any, threads: int = 1) -> float:
    """Return the exact sum of all numbers of an array, rounded once."""
    return _native.sum_rows(np.ascontiguousarray(numbers, np.float64).reshape(-1), threads)


def mean_of(numbers: Any) -> float:
    """Return the mean of all numbers of an array; NaN if there are none."""
    return sum_of(numbers) / np.size(numbers) if np.size(numbers) else np.nan


def sums_of_rows(matrix: Any) -> Floats:
    """Return the sum of each row of a matrix."""
    return np.array([sum_of(row) for row in matrix])


def means_of_columns(matrix: Any, threads: int = 1) -> Floats:
    """Return the mean of each column of a matrix; NaN if it has no rows."""
    if not len(matrix):
        return np.full(np.shape(matrix)[1], np.nan)
    return _native.sum_columns(np.ascontiguousarray(matrix, np.float64), threads) / len(matrix)


def sums_by_group(numbers: Any, group: Any, n_groups: int) -> Floats:
    """Return the sum of the numbers of each group: in order in blocks, exact between them."""
    return _native.sum_groups(
        np.ascontiguousarray(numbers, np.float64), np.ascontiguousarray(group, np.int64), n_groups
    )


def sums_by_class(index: Any, weights: Floats | None, n_classes: int) -> Floats:
    """Return the total weight of each class, exact until it is rounded, or its number of rows.

    `index` is the class (or leaf) of each row; the rows of all workers count.
    """
    together = workers()
    if weights is None:
        counts = np.bincount(index, minlength=n_classes).astype(np.int64)
        return together.sum(counts).astype(np.float64)
    if together.size == 1:
        return sums_by_group(weights, index, n_classes)
    words = [_native.sum_words(np.ascontiguousarray(weights[index == k])) for k in range(n_classes)]
    return np.array([_native.sum_of_words(of_class) for of_class in together.sum(np.array(words))])


def ordered_product(a: Floats, b: Floats) -> Floats:
    """Return a @ b for few columns of a, adding terms in order: BLAS libraries differ in bits."""
    total = np.zeros((len(a), b.shape[1]))
    for column, row in zip(a.T, b, strict=True):
        total += np.multiply.outer(column, row)
    return total


def exp(numbers: Any) -> Floats:
    """Return the exponential of each number."""
    result = np.array(numbers, np.float64, order="C", ndmin=1)
    _native.exp_inplace(result.reshape(-1))
    return result.reshape(np.shape(numbers))


def log(numbers: Any) -> Floats:
    """Return the natural logarithm of each number."""
    result = np.array(numbers, np.float64, order="C", ndmin=1)
    _native.log_inplace(result.reshape(-1))
    return result.reshape(np.shape(numbers))


def hypot(a: Floats, b: Floats) -> Floats:
    """Return √(a² + b²) of each pair, without overflow."""
    a, b = np.abs(a), np.abs(b)
    larger = np.maximum(a, b)
    ratio = np.minimum(a, b) / np.maximum(larger, np.finfo(float).tiny)
    return larger * np.sqrt(1.0 + ratio * ratio)


def sigmoid(scores: Any) -> Floats:
    """Return 1 / (1 + e^−score) of each score."""
    result = np.array(scores, np.float64, order="C")
    _native.sigmoid_inplace(result.reshape(-1))
    return result


def softmax(scores: Floats) -> Floats:
    """Return the softmax of each row."""
    result = np.array(scores, np.float64, order="C")
    _native.softmax_inplace(result)
    return result


def softplus(scores: Floats) -> Floats:
    """Return log(1 + e^score) of each score, without overflow."""
    small = exp(-np.abs(scores))
    _native.log1p_inplace(small.reshape(-1))
    return np.maximum(scores, 0.0) + small


def log_sum_exp(scores: Floats) -> Floats:
    """Return log Σ e^score of each row, without overflow."""
    largest: Floats = scores.max(axis=1)
    exponentials = exp(scores - largest[:, np.newaxis])
    summed = exponentials[:, 0].copy()
    for column in exponentials.T[1:]:
        summed += column
    return largest + log(summed)
