"""What neighbours say of a query: their weights, votes for classes, the mean of their numbers.

Sums are over the neighbours from the nearest on, one after another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.exceptions import DataError
from hedgerow.neighbors.metrics import Floats

Weights = str | Callable[[Floats], Any] | None


def neighbor_weights(weights: Weights, distances: Floats) -> Floats:
    """Return the weight of each neighbour, shaped as the distances, which increase in each row."""
    if weights is None or weights == "uniform":
        return np.ones_like(distances)
    if weights == "distance":
        return _inverse(distances)
    assert callable(weights)
    given = np.asarray(weights(distances), np.float64)
    if given.shape != distances.shape:
        raise DataError(
            f"weights returned an array of shape {given.shape} for distances of shape "
            f"{distances.shape}; it must return a weight for each."
        )
    if not np.isfinite(given).all() or (given < 0.0).any():
        raise DataError("weights returned numbers that are negative, infinite or NaN.")
    if not given.any(axis=1).all():
        row = int(given.any(axis=1).argmin())
        raise DataError(f"weights gave all neighbours of row {row} the weight 0.")
    return given


def _inverse(distances: Floats) -> Floats:
    """Return weights in proportion to 1 / distance: the nearest has 1, so that none overflows.

    Where there are neighbours at distance 0 these have weight 1 and others 0.
    """
    nearest = distances[:, :1]
    at_zero = nearest == 0.0
    share = np.where(at_zero, 1.0, nearest) / np.where(distances == 0.0, 1.0, distances)
    return np.where(at_zero, (distances == 0.0).astype(np.float64), share)


def class_votes(classes: NDArray[np.int64], weights: Floats, n_classes: int) -> Floats:
    """Return the sum of the weights of the neighbours of each class, (n_queries, n_classes)."""
    votes = np.zeros((len(classes), n_classes))
    every = np.arange(len(classes))
    for place in range(classes.shape[1]):
        votes[every, classes[:, place]] += weights[:, place]
    return votes


def weighted_mean(numbers: Floats, weights: Floats) -> Floats:
    """Return the mean of the neighbours' numbers (n_queries, k, outputs) by their weights."""
    total = np.zeros((len(numbers), numbers.shape[2]))
    weight = np.zeros(len(numbers))
    for place in range(numbers.shape[1]):
        total += numbers[:, place] * weights[:, place, None]
        weight += weights[:, place]
    return total / weight[:, None]
