"""Learning to rank by its definitions: double loops over the pairs of a query."""

import math

import numpy as np


def discount(rank):
    """Return what rank 0, 1, … counts in a DCG."""
    return 1.0 / math.log2(rank + 2)


def dcg(gains, k=None):
    return sum(gain * discount(rank) for rank, gain in enumerate(gains[:k]))


def average_precision(relevant):
    """Return the average precision of a ranking of 0 and 1."""
    n_relevant, total = 0, 0.0
    for rank, is_relevant in enumerate(relevant):
        if is_relevant:
            n_relevant += 1
            total += n_relevant / (rank + 1)
    return total / max(1, n_relevant)


def swapped(values, i, j):
    values = list(values)
    values[i], values[j] = values[j], values[i]
    return values


def change(loss, gains, i, j, truncation):
    """Return by how much the metric of a ranking changes if ranks i and j are swapped."""
    if loss == "pairwise":
        return 1.0
    if loss == "map":
        return abs(average_precision(swapped(gains, i, j)) - average_precision(gains))
    best = dcg(sorted(gains, reverse=True), truncation)
    return abs(dcg(swapped(gains, i, j)) - dcg(gains)) / best


def query_gradients(loss, gains, scores, *, sigma, truncation, normalize, curvature):
    """Return gradient and hessian of one query's rows, pair by pair."""
    n = len(gains)
    order = sorted(range(n), key=lambda row: -scores[row])  # stable
    ranked, s = [gains[row] for row in order], [scores[row] for row in order]
    g, h, forces = np.zeros(n), np.zeros(n), 0.0
    for i in range(n):
        for j in range(i + 1, n):
            if ranked[i] == ranked[j] or (loss != "pairwise" and i >= truncation):
                continue
            weight = change(loss, ranked, i, j, truncation)
            if normalize and loss != "pairwise":
                weight = math.sqrt(weight)
                weight /= 0.01 + abs(s[i] - s[j]) if s[0] != s[-1] else 1.0
            better, worse = (i, j) if ranked[i] > ranked[j] else (j, i)
            wrong = 1.0 / (1.0 + math.exp(sigma * (s[better] - s[worse])))
            force = sigma * weight * wrong
            g[order[better]] -= force
            g[order[worse]] += force
            for row in (i, j):
                h[order[row]] += curvature * sigma * force * (1.0 - wrong)
            forces += 2.0 * force
    if normalize and forces > 0.0:
        factor = math.log2(1.0 + forces) / forces
        g, h = g * factor, h * factor
    return g, h


def gradients(loss, gains, query, scores, weights=None, **options):
    """Return gradient and hessian of all rows."""
    g, h = np.zeros(len(gains)), np.zeros(len(gains))
    for q in np.unique(query):
        rows = np.flatnonzero(query == q)
        g[rows], h[rows] = query_gradients(loss, gains[rows], scores[rows], **options)
        if weights is not None:
            g[rows], h[rows] = g[rows] * weights[rows[0]], h[rows] * weights[rows[0]]
    return g, h
