"""What neighbours say of a query: their weights, votes for classes, the mean of their numbers.

Sums are over the neighbours from the nearest on, one after another.
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
    return _given(weights, distances)


def _given(weights: Any, distances: Floats) -> Floats:
    """Call a function and look at what it returns; the last axis of the distances is a query's."""
    if not callable(weights):
        raise ParameterError(
            f"weights={weights!r} is not allowed; it must be 'uniform', 'distance' or a function."
        )
    returned = weights(distances)
    try:
        given = np.asarray(returned, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"weights returned what is no array of numbers: {error}.") from error
    if given.shape != distances.shape:
        raise DataError(
            f"weights returned an array of shape {given.shape} for distances of shape "
            f"{distances.shape}; it must return a weight for each."
        )
    if not np.isfinite(given).all() or (given < 0.0).any():
        raise DataError("weights returned numbers that are negative, infinite or NaN.")
    counts = given.any(axis=-1)
    if not counts.all():
        row = "a row" if given.ndim == 1 else f"row {int(counts.argmin())}"
        raise DataError(f"weights gave all neighbours of {row} the weight 0.")
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


@dataclass(frozen=True, eq=False)
class Around:
    """The neighbours of queries that have any number of them, one query after another."""

    counts: RowNumbers  # (n_queries,)
    distances: Floats  # (n_neighbours of all,)
    rows: RowNumbers

    @cached_property
    def askers(self) -> RowNumbers:
        """The query that each is a neighbour of."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def weights(self, weights: Weights) -> Floats:
        """Return the weight of each neighbour, as `neighbor_weights` does for a query."""
        if weights is None or weights == "uniform":
            return np.ones_like(self.distances)
        of_queries = np.split(self.distances, np.cumsum(self.counts)[:-1])
        found = [_of_one(weights, distances) for distances in of_queries if len(distances)]
        return np.concatenate(found) if found else np.empty(0)

    def votes(self, classes: RowNumbers, weights: Floats, n_classes: int) -> Floats:
        """Return the sum of the weights of the neighbours of each class, (n_queries, n_classes)."""
        places = self.askers * n_classes + classes[self.rows]
        return _sums(places, weights, len(self.counts) * n_classes).reshape(-1, n_classes)

    def mean(self, numbers: Floats, weights: Floats) -> Floats:
        """Return the mean of the neighbours' numbers by their weights; NaN if there are none."""
        n_queries = len(self.counts)
        weight = _sums(self.askers, weights, n_queries)
        weight[self.counts == 0] = np.nan
        totals = [
            _sums(self.askers, weights * column[self.rows], n_queries) for column in numbers.T
        ]
        return np.column_stack(totals) / weight[:, None]


def _sums(places: RowNumbers, terms: Floats, n: int) -> Floats:
    """Add up the terms that belong to each place, in their order."""
    sums = np.zeros(n)
    np.add.at(sums, places, terms)
    return sums


def _of_one(weights: Any, distances: Floats) -> Floats:
    return _inverse(distances[None])[0] if weights == "distance" else _given(weights, distances)
