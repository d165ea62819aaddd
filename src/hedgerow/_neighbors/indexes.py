"""Indexes of the training rows, built once and searched by queries.

Every index gives the same neighbours and distances: those of a float64 brute-force search that sums
over the columns in their order, with ties broken by row index. Precomputed distances and
user-defined functions give no bounds that would let a search skip rows, so all are examined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._neighbors.metrics import DistanceMetric, GowerColumns
from hedgerow._types import Floats, RowNumbers
from hedgerow.exceptions import DataError

# For each query the number of its neighbours, then the distances and indices of all of them.
Within = tuple[RowNumbers, Floats, RowNumbers]

# Measured for ten neighbours of normally distributed rows, for which trees help least; one thread,
# AVX-512. Euclidean distance: a tree is faster up to this number of columns.
_PRODUCT_COLUMNS = 8
# Its leaves are visited one by one for few columns, or for more if there are many rows; otherwise
# six queries are compared with the boxes of all leaves at once.
_WALKED_COLUMNS, _MANY_ROWS = 5, 200_000
# Other distances: (number of rows from which, number of columns up to which) a tree is faster.
_OTHER_COLUMNS = ((0, 6), (10_000, 8))
# Maximum number of rows from which the centre and scale of float32 values are computed.
_SAMPLE = 4096


def prefers_tree(n_rows: int, n_features: int, metric: DistanceMetric) -> bool:
    """Return whether a k-d tree is likely to be faster than a scan of all rows."""
    if metric.spec.is_opaque or not metric.requires_numbers:
        return False
    if metric.spec.supports_sparse:
        return n_features <= _PRODUCT_COLUMNS
    return n_features <= max(most for rows, most in _OTHER_COLUMNS if n_rows >= rows)


def _searches_leaves(n_rows: int, n_features: int) -> bool:
    """Return whether a tree for the Euclidean distance is searched leaf by leaf."""
    return n_features <= _WALKED_COLUMNS or (
        n_features <= _PRODUCT_COLUMNS and n_rows >= _MANY_ROWS
    )


def build_index(
    rows: Any, metric: DistanceMetric, gower: GowerColumns | None, use_tree: bool, threads: int
) -> Index:
    """Build the index that suits the rows and the metric."""
    if scipy.sparse.issparse(rows):
        return SparseIndex(rows, metric)
    if metric.spec.supports_sparse and not (use_tree and _searches_leaves(*rows.shape)):
        return _panel_index(rows, metric, use_tree, threads)
    weights = None if gower is None else gower.weights
    ranges = None if gower is None else gower.inverse_ranges
    return _native.BlockIndex(rows, use_tree, metric.name, metric.p, weights, ranges, threads)


def _panel_index(rows: Floats, metric: DistanceMetric, use_tree: bool, threads: int) -> Index:
    """Index rows in float32 to select candidates, and in float64 to rank them: see the kernel."""
    index = None
    if use_tree:
        index = np.empty(len(rows), np.uint32)
        _native.order_by_tree(rows, index, threads)
        rows = rows[index]
    centre, scale = _centre_and_scale(rows[:: -(-len(rows) // _SAMPLE)])
    return _native.PanelIndex(rows, centre, scale, index, metric.name, threads)


def _centre_and_scale(rows: Floats) -> tuple[Floats, float]:
    """Return the mean, and a power of two that brings the mean squared norm near 1.

    Both affect only the number of candidates, so a sample suffices.
    """
    centre = rows[0] + (rows - rows[0]).mean(axis=0)
    moved = rows - centre
    _, exponent = np.frexp(np.abs(moved).max())
    moved = np.ldexp(moved, -exponent)
    _, of_squares = np.frexp((moved * moved).sum() / len(rows))
    return centre, float(np.ldexp(1.0, -int(exponent) - int(of_squares) // 2))


class SparseIndex:
    """A sparse matrix, stored by row and by column."""

    def __init__(self, rows: Any, metric: DistanceMetric) -> None:
        by_column = _compressed(rows.tocsc())
        self._native = _native.SparseIndex(_compressed(rows), by_column, metric.name)

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:
        """Fill in the nearest rows of each query."""
        self._native.nearest(_compressed(queries), distances, indices, threads)

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query."""
        return self._native.within(_compressed(queries), radius, threads)


def _compressed(matrix: Any) -> _native.SparseArrays:
    """Return the arrays of a CSR or CSC matrix, with sorted indices."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return _native.SparseArrays(
        np.ascontiguousarray(matrix.data, np.float64),
        np.ascontiguousarray(matrix.indices, np.int32),
        np.ascontiguousarray(matrix.indptr, np.int64),
    )


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
    """Precomputed distances: a query is the vector of its distances to the training rows.

    In a sparse graph, entries are distances, also those of 0; rows without an entry are too far.
    """

    def distances_of(self, queries: Any) -> Iterator[Floats]:
        """Yield the rows of the matrix."""
        yield from queries

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:
        """Fill in the nearest rows of each query."""
        if not scipy.sparse.issparse(queries):
            super().nearest(queries, distances, indices, threads)
            return
        counts, stored_distances, rows = _by_distance(queries)
        k = distances.shape[1]
        if counts.min() < k:
            raise DataError(
                f"{k} neighbors are required for each row of X, but row {counts.argmin()} of the "
                f"sparse graph of distances has only {counts.min()}. Decrease n_neighbors, or "
                "compute the graph with more neighbors."
            )
        first = np.cumsum(counts)[:, None] - counts[:, None] + np.arange(k)
        distances[:], indices[:] = stored_distances[first], rows[first]

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query."""
        if not scipy.sparse.issparse(queries):
            return super().within(queries, radius, threads)
        return _by_distance(selected_entries(queries, queries.data <= radius))


def selected_entries(graph: Any, chosen: NDArray[np.bool_]) -> Any:
    """Return a CSR matrix of some of the stored entries."""
    starts = np.concatenate([[0], np.cumsum(chosen)])[graph.indptr]
    return scipy.sparse.csr_array((graph.data[chosen], graph.indices[chosen], starts), graph.shape)


def _by_distance(graph: Any) -> Within:
    """Return the entries of each row, nearest first; ties are in the order of the columns."""
    counts = np.diff(graph.indptr).astype(np.int64)
    order = np.lexsort((graph.indices, graph.data, np.repeat(np.arange(len(counts)), counts)))
    return counts, graph.data[order], graph.indices[order].astype(np.int64)


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


Index = _native.PanelIndex | _native.BlockIndex | SparseIndex | ExhaustiveIndex
"""`nearest` fills in the nearest rows of each query; `within` returns all within a radius."""
