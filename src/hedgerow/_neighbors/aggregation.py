"""From neighbours to predictions: weights, votes for classes, and weighted means.

Sums run over the neighbours from the nearest to the farthest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._types import Floats, RowNumbers
from hedgerow.exceptions import DataError, ParameterError

Weights = str | Callable[[Floats], Any] | None


def neighbor_weights(weights: Weights, distances: Floats) -> Floats:
    """Return the weight of each neighbour, shaped as the distances, which increase in each row."""
    if weights is None or weights == "uniform":
        return np.ones_like(distances)
    if weights == "distance":
        return _inverse(distances)
    return _call_weights(weights, distances)


def _call_weights(weights: Any, distances: Floats) -> Floats:
    """Call a user-defined weight function and check its result; the last axis is one query."""
    if not callable(weights):
        raise ParameterError(
            f"weights={weights!r} is not allowed; it must be 'uniform', 'distance' or a function."
        )
    returned = weights(distances)
    try:
        result = np.asarray(returned, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"weights returned something other than an array of numbers: {error}."
        ) from error
    if result.shape != distances.shape:
        raise DataError(
            f"weights returned an array of shape {result.shape} for distances of shape "
            f"{distances.shape}; it must return one weight per distance."
        )
    if not np.isfinite(result).all() or (result < 0.0).any():
        raise DataError("weights returned numbers that are negative, infinite or NaN.")
    counts = result.any(axis=-1)
    if not counts.all():
        row = "a row" if result.ndim == 1 else f"row {int(counts.argmin())}"
        raise DataError(f"weights returned 0 for all neighbours of {row}.")
    return result


def _inverse(distances: Floats) -> Floats:
    """Return weights proportional to 1 / distance, scaled to 1 for the nearest to avoid overflow.

    If there are neighbours at distance 0, they have weight 1 and the others 0.
    """
    nearest = distances[:, :1]
    at_zero = nearest == 0.0
    share = np.where(at_zero, 1.0, nearest) / np.where(distances == 0.0, 1.0, distances)
    return np.where(at_zero, (distances == 0.0).astype(np.float64), share)


def class_votes(classes: NDArray[np.int64], weights: Floats, n_classes: int) -> Floats:
    """Return the sum of the weights of the neighbours of each class, (n_queries, n_classes)."""
    votes = np.zeros((len(classes), n_classes))
    every = np.arange(len(classes))
    for rank in range(classes.shape[1]):
        votes[every, classes[:, rank]] += weights[:, rank]
    return votes


def weighted_mean(numbers: Floats, weights: Floats) -> Floats:
    """Return the mean of the neighbours' numbers (n_queries, k, outputs) by their weights."""
    total = np.zeros((len(numbers), numbers.shape[2]))
    weight = np.zeros(len(numbers))
    for rank in range(numbers.shape[1]):
        total += numbers[:, rank] * weights[:, rank, None]
        weight += weights[:, rank]
    return total / weight[:, None]


@dataclass(frozen=True, eq=False)
class RadiusNeighborhoods:
    """The neighbours within a radius, a varying number per query, one query after another."""

    counts: RowNumbers  # (n_queries,)
    distances: Floats  # (n_neighbours of all,)
    rows: RowNumbers

    @cached_property
    def query_index(self) -> RowNumbers:
        """The query of each neighbour."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def weights(self, weights: Weights) -> Floats:
        """Return the weight of each neighbour, as `neighbor_weights` does for a query."""
        if weights is None or weights == "uniform":
            return np.ones_like(self.distances)
        of_queries = np.split(self.distances, np.cumsum(self.counts)[:-1])
        by_query = [_of_one(weights, distances) for distances in of_queries if len(distances)]
        return np.concatenate(by_query) if by_query else np.empty(0)

    def votes(self, classes: RowNumbers, weights: Floats, n_classes: int) -> Floats:
        """Return the sum of the weights of the neighbours of each class, (n_queries, n_classes)."""
        slots = self.query_index * n_classes + classes[self.rows]
        return _sums(slots, weights, len(self.counts) * n_classes).reshape(-1, n_classes)

    def mean(self, numbers: Floats, weights: Floats) -> Floats:
        """Return the mean of the neighbours' numbers by their weights; NaN if there are none."""
        n_queries = len(self.counts)
        weight = _sums(self.query_index, weights, n_queries)
        weight[self.counts == 0] = np.nan
        totals = [
            _sums(self.query_index, weights * column[self.rows], n_queries) for column in numbers.T
        ]
        return np.column_stack(totals) / weight[:, None]


def _sums(slots: RowNumbers, terms: Floats, n: int) -> Floats:
    """Sum the terms of each slot, in their order."""
    sums = np.zeros(n)
    np.add.at(sums, slots, terms)
    return sums


def _of_one(weights: Any, distances: Floats) -> Floats:
    return (
        _inverse(distances[None])[0] if weights == "distance" else _call_weights(weights, distances)
    )
