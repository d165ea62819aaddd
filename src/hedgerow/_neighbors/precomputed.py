"""Distances that are given: by a matrix of them, or by a function of two rows.

Such distances follow no rule that would let a search pass over rows: all are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._neighbors.indexes import Within
from hedgerow._neighbors.metrics import Metric
from hedgerow._types import Floats, RowNumbers
from hedgerow.exceptions import DataError


class GivenIndex:
    """Neighbours by the distances of each query to all rows."""

    def distances_of(self, queries: Any) -> Iterator[Floats]:
        """Give the distances to all rows, query by query."""
        raise NotImplementedError

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:  # noqa: ARG002
        """Fill in the nearest rows of each query."""
        k = distances.shape[1]
        for place, of_query in enumerate(self.distances_of(queries)):
            farthest = np.partition(of_query, k - 1)[k - 1]
            found = _sorted(of_query, np.flatnonzero(of_query <= farthest))[:k]
            indices[place], distances[place] = found, of_query[found]

    def within(self, queries: Any, radius: float, threads: int) -> Within:  # noqa: ARG002
        """Return all rows within a radius of each query."""
        counts, distances, indices = [], [np.empty(0)], [np.empty(0, np.int64)]
        for of_query in self.distances_of(queries):
            found = _sorted(of_query, np.flatnonzero(of_query <= radius))
            counts.append(len(found))
            distances.append(of_query[found])
            indices.append(found)
        return np.array(counts, np.int64), np.concatenate(distances), np.concatenate(indices)


def _sorted(of_query: Floats, rows: RowNumbers) -> RowNumbers:
    """Put rows, which increase, in the order of their distances."""
    return rows[np.argsort(of_query[rows], kind="stable")]


class PrecomputedIndex(GivenIndex):
    """A query is the list of its distances."""

    def distances_of(self, queries: Any) -> Iterator[Floats]:
        """Give the rows of the matrix."""
        yield from queries


@dataclass(frozen=True, eq=False)
class FunctionIndex(GivenIndex):
    """Rows, and the function that tells how far two of them are apart."""

    rows: Floats
    metric: Metric

    def distances_of(self, queries: Any) -> Iterator[Floats]:
        """Call the function for every query and row."""
        function, params = self.metric.function, self.metric.params
        assert function is not None
        for number, query in enumerate(queries):
            given = [function(query, row, **params) for row in self.rows]
            yield _checked(given, number)


def _checked(given: list[Any], query: int) -> Floats:
    try:
        distances = np.array(given, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"metric returned something other than a number: {error}.") from error
    if distances.ndim != 1:
        raise DataError(
            f"metric returned arrays of shape {distances.shape[1:]}; it must return one number."
        )
    sound = np.isfinite(distances) & (distances >= 0.0)
    if not sound.all():
        row = int(sound.argmin())
        raise DataError(
            f"metric returned {given[row]} for query {query} and training row {row}; a distance is "
            "finite and not negative."
        )
    return distances
