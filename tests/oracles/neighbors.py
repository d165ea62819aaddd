"""Neighbours by brute force in float64: all distances, column after column, sorted."""

import numpy as np


def sums(X, Q, metric, p=2.0):
    """What distances are the roots of, (n_queries, n_rows): for Chebyshev's the largest."""
    total = np.zeros((len(Q), len(X)), np.result_type(X, Q, np.float64))
    for x, q in zip(X.T, Q.T, strict=True):
        difference = np.abs(x[None] - q[:, None])
        if metric == "chebyshev":
            total = np.maximum(total, difference)
        else:
            total += difference * difference if p == 2 else difference if p == 1 else difference**p
    return total


def finished(total, metric, p=2.0):
    """Distances of sums."""
    roots = {"euclidean": np.sqrt, "minkowski": lambda total: total ** (1 / p)}
    return roots.get(metric, np.copy)(total)


def cosine_distances(X, q):
    """1 − cosine as half the square of the difference of unit vectors, in long doubles."""
    X, q = X.astype(np.longdouble), q.astype(np.longdouble)
    X, q = X / np.sqrt((X * X).sum(axis=1))[:, None], q / np.sqrt((q * q).sum())
    return ((X - q) ** 2).sum(axis=1) / 2


def gower_distances(X, q, is_category, ranges, weights):
    """Gower's distances of rows that are tuples with None for gaps."""
    result = []
    for x in X:
        apart = total = 0.0
        for a, b, category, spread, weight in zip(x, q, is_category, ranges, weights, strict=True):
            if a is None or b is None:
                continue
            if category or spread == 0:
                apart += weight * (a != b)
            else:
                apart += weight * (abs(a - b) * (1.0 / spread))
            total += weight
        result.append(apart / total if total else 1.0)
    return np.array(result)


def nearest(all_distances, k):
    """The k nearest of each query's distances, or sums; of equal ones the first."""
    order = np.argsort(all_distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(all_distances, order, axis=1), order
