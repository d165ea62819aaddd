"""Indexes of the training rows, built once and searched by queries.

Every index gives the same neighbours and distances: those of a float64 brute-force search that sums
over the columns in their order, with ties broken by row index. Precomputed distances and
user-defined functions give no bounds that would let a search skip rows, so all are examined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._neighbors.metrics import DistanceMetric, GowerColumns
from hedgerow._types import Floats, RowNumbers
from hedgerow.exceptions import DataError

# For each query the number of its neighbours, then the distances and indices of all of them.
Within = tuple[RowNumbers, Floats, RowNumbers]
# Values, indices and row or column starts of a sparse matrix.
Compressed = tuple[Floats, NDArray[np.int32], RowNumbers]

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


class Index(Protocol):
    """An index of the training rows."""

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:
        """Fill in the nearest rows of each query, as many as the arrays have columns."""

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query."""


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
        return SparseIndex.build(rows, metric)
    if metric.spec.supports_sparse and not (use_tree and _searches_leaves(*rows.shape)):
        return PanelIndex.build(rows, metric, tree=use_tree, threads=threads)
    return BlockIndex.build(rows, metric, gower, tree=use_tree, threads=threads)


@dataclass(frozen=True, eq=False)
class PanelIndex:
    """Rows in float32 to select candidates, and in float64 to rank them: see the kernel.

    They are in their original order, or in that of a k-d tree whose leaves are the panels: `index`
    then has the row at each position, and `boxes` the bounding boxes of the leaves.
    """

    rows: Floats
    values: NDArray[np.float32]
    half_norms: NDArray[np.float32]
    centre: Floats
    scale: float
    largest_norm: float
    index: NDArray[np.uint32] | None
    boxes: Floats | None
    metric: str

    @classmethod
    def build(cls, rows: Floats, metric: DistanceMetric, *, tree: bool, threads: int) -> PanelIndex:
        """Choose a centre and a scale, and round to float32."""
        n, d = rows.shape
        n_panels = -(-n // _native.PANEL_ROWS)
        index = boxes = None
        if tree:
            index, boxes = np.empty(n, np.uint32), np.empty((n_panels, 2, d))
            _native.order_by_tree(rows, index, threads)
            rows = rows[index]
        centre, scale = _centre_and_scale(rows[:: -(-n // _SAMPLE)])
        values = np.empty((n_panels, d, _native.PANEL_ROWS), np.float32)
        half_norms = np.empty((n_panels, _native.PANEL_ROWS), np.float32)
        largest = _native.pack_panels(rows, centre, scale, values, half_norms, boxes, threads)
        return cls(rows, values, half_norms, centre, scale, largest, index, boxes, metric.name)

    @property
    def _parts(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "values": self.values,
            "half_norms": self.half_norms,
            "centre": self.centre,
            "scale": self.scale,
            "largest_norm": self.largest_norm,
            "index": self.index,
            "boxes": self.boxes,
            "metric": self.metric,
        }

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:
        """Fill in the nearest rows of each query."""
        output: dict[str, Any] = {"distances": distances, "indices": indices}
        _native.nearest_in_panels(**self._parts, queries=queries, **output, threads=threads)

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query."""
        query_args: dict[str, Any] = {"queries": queries, "radius": radius}
        neighbors: Within = _native.within_in_panels(**self._parts, **query_args, threads=threads)
        return neighbors


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


@dataclass(frozen=True, eq=False)
class BlockIndex:
    """Rows in blocks, which are scanned one after another or are the leaves of a k-d tree.

    `boxes` are the bounding boxes of the tree's nodes, None if there is no tree.
    """

    metric: DistanceMetric
    values: Floats
    index: NDArray[np.uint32]
    boxes: Floats | None
    gower: GowerColumns | None

    @classmethod
    def build(
        cls,
        rows: Floats,
        metric: DistanceMetric,
        gower: GowerColumns | None,
        *,
        tree: bool,
        threads: int,
    ) -> BlockIndex:
        """Pack rows into blocks, in their order or in that of a tree."""
        n, d = rows.shape
        n_blocks = -(-n // _native.BLOCK_ROWS)
        values = np.empty((n_blocks, d, _native.BLOCK_ROWS))
        index = np.empty(n, np.uint32)
        boxes = np.empty((2 * n_blocks - 1, 2, d)) if tree else None
        _native.pack_blocks(rows, values, index, boxes, threads)
        return cls(metric, values, index, boxes, gower)

    @property
    def _parts(self) -> dict[str, Any]:
        return {
            "values": self.values,
            "index": self.index,
            "boxes": self.boxes,
            "metric": self.metric.name,
            "p": self.metric.p,
            "weights": None if self.gower is None else self.gower.weights,
            "inverse_ranges": None if self.gower is None else self.gower.inverse_ranges,
        }

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:
        """Fill in the nearest rows of each query."""
        output: dict[str, Any] = {"distances": distances, "indices": indices}
        _native.nearest_in_blocks(**self._parts, queries=queries, **output, threads=threads)

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query."""
        query_args: dict[str, Any] = {"queries": queries, "radius": radius}
        neighbors: Within = _native.within_in_blocks(**self._parts, **query_args, threads=threads)
        return neighbors


@dataclass(frozen=True, eq=False)
class SparseIndex:
    """A sparse matrix, stored by row and by column."""

    by_row: Compressed
    by_column: Compressed
    metric: str

    @classmethod
    def build(cls, rows: Any, metric: DistanceMetric) -> SparseIndex:
        """Store the matrix in both orders."""
        return cls(_compressed(rows), _compressed(rows.tocsc()), metric.name)

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:
        """Fill in the nearest rows of each query."""
        query_args = _compressed(queries)
        _native.nearest_in_sparse(
            *self.by_row, *self.by_column, self.metric, *query_args, distances, indices, threads
        )

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query."""
        query_args = _compressed(queries)
        neighbors: Within = _native.within_in_sparse(
            *self.by_row, *self.by_column, self.metric, *query_args, radius, threads
        )
        return neighbors


def _compressed(matrix: Any) -> Compressed:
    """Return the arrays of a CSR or CSC matrix, with sorted indices."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return (
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
