"""Neighbours by precomputed distances, or by a user-defined function of two rows.

Nothing is known about such distances that would let a search skip rows, so all are examined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._neighbors.indexes import Within
from hedgerow._neighbors.metrics import DistanceMetric
from hedgerow._types import Floats, RowNumbers
from hedgerow.exceptions import DataError


class ExhaustiveIndex:
    """A search through the distances of each query to all training rows."""

    def distances_of(self, queries: Any) -> Iterator[Floats]:
        """Yield the distances of each query to all rows."""
        raise NotImplementedError

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:  # noqa: ARG002
        """Fill in the nearest rows of each query."""
        k = distances.shape[1]
        for position, of_query in enumerate(self.distances_of(queries)):
            farthest = np.partition(of_query, k - 1)[k - 1]
            nearest = _sorted(of_query, np.flatnonzero(of_query <= farthest))[:k]
            indices[position], distances[position] = nearest, of_query[nearest]

    def within(self, queries: Any, radius: float, threads: int) -> Within:  # noqa: ARG002
        """Return all rows within a radius of each query."""
        counts, distances, indices = [], [np.empty(0)], [np.empty(0, np.int64)]
        for of_query in self.distances_of(queries):
            rows = _sorted(of_query, np.flatnonzero(of_query <= radius))
            counts.append(len(rows))
            distances.append(of_query[rows])
            indices.append(rows)
        return np.array(counts, np.int64), np.concatenate(distances), np.concatenate(indices)


def _sorted(of_query: Floats, rows: RowNumbers) -> RowNumbers:
    """Sort increasing row indices by distance; ties stay in the order of the rows."""
    return rows[np.argsort(of_query[rows], kind="stable")]


class PrecomputedIndex(ExhaustiveIndex):
    """Precomputed distances: a query is the vector of its distances to all training rows."""

    def distances_of(self, queries: Any) -> Iterator[Floats]:
        """Yield the rows of the matrix."""
        yield from queries


@dataclass(frozen=True, eq=False)
class FunctionIndex(ExhaustiveIndex):
    """Training rows and a user-defined distance function."""

    rows: Floats
    metric: DistanceMetric

    def distances_of(self, queries: Any) -> Iterator[Floats]:
        """Call the function for every query and row."""
        function, params = self.metric.function, self.metric.params
        assert function is not None
        for number, query in enumerate(queries):
            yield _checked([function(query, row, **params) for row in self.rows], number)


def _checked(returned: list[Any], query: int) -> Floats:
    try:
        distances = np.array(returned, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"metric returned something other than a number: {error}.") from error
    if distances.ndim != 1:
        raise DataError(
            f"metric returned arrays of shape {distances.shape[1:]}; it must return one number."
        )
    is_valid = np.isfinite(distances) & (distances >= 0.0)
    if not is_valid.all():
        row = int(is_valid.argmin())
        raise DataError(
            f"metric returned {returned[row]} for query {query} and training row {row}; a distance "
            "must be finite and not negative."
        )
    return distances
