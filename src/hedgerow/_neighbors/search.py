"""The fitted model, and its search: training rows, their index, and the scaling of queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow._data.intake import TableSchema
from hedgerow._data.outputs import Outputs
from hedgerow._neighbors.indexes import FunctionIndex, Index, PrecomputedIndex, Within, build_index
from hedgerow._neighbors.metrics import DistanceMetric, Extent, GowerColumns, unit_rows
from hedgerow._types import Floats, RowNumbers

# Number of multiplications below which a second thread does not pay off.
_SMALL_WORK = 1 << 20
# Maximum number of (query, row) pairs examined together for close rows.
_CLOSE_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class NeighborSearch:
    """Training rows with an index.

    Numbers so large or so small that their powers would overflow or underflow are multiplied by
    2^exponent; a query that needs another exponent gets an index of its own. If large numbers make
    the exponent negative, powers of small differences may underflow instead: the rows that are
    close to a query are then searched again by themselves.
    """

    rows: Any
    metric: DistanceMetric
    use_tree: bool
    gower: GowerColumns | None
    extent: Extent | None
    exponent: int
    index: Index

    @classmethod
    def build(
        cls,
        rows: Any,
        metric: DistanceMetric,
        *,
        use_tree: bool,
        gower: GowerColumns | None,
        threads: int,
    ) -> NeighborSearch:
        """Build the index of the training rows."""
        if metric.name == "cosine":
            rows = unit_rows(rows, threads)
        extent = Extent.of(rows) if metric.spec.sums_powers else None
        exponent = 0 if extent is None else extent.exponent(metric)
        if metric.spec.is_opaque:
            index: Index = FunctionIndex(rows, metric) if metric.function else PrecomputedIndex()
        else:
            index = build_index(_scaled(rows, exponent), metric, gower, use_tree, threads)
        return cls(rows, metric, use_tree, gower, extent, exponent, index)

    def nearest(self, queries: Any, k: int, threads: int) -> tuple[Floats, RowNumbers]:
        """Return distances and indices of the k nearest rows, (n_queries, k), nearest first."""
        distances = np.empty((queries.shape[0], k))
        indices = np.empty((queries.shape[0], k), np.int64)
        if not len(indices):  # kernels require at least one query
            return distances, indices
        queries = self._matching_rows(queries, threads)
        for batch, exponent in self._by_exponent(queries):
            some, index = self._at(queries, batch, exponent, threads)
            near = (np.empty((some.shape[0], k)), np.empty((some.shape[0], k), np.int64))
            index.nearest(some, *near, self._threads_for(some, threads))
            distances[batch], indices[batch] = _unscaled(near[0], exponent), near[1]
            for those, rows, search in self._close(some, index, exponent, threads):
                close_queries = batch[those]
                among = slice(0, min(k, len(rows)))
                close = search.nearest(queries[close_queries], among.stop, threads)
                distances[close_queries, among] = close[0]
                indices[close_queries, among] = rows[close[1]]
        return distances, indices

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query, nearest first."""
        if queries.shape[0] == 0:
            return np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
        queries = self._matching_rows(queries, threads)
        parts: list[Within] = []  # queries, distances, indices
        for batch, exponent in self._by_exponent(queries):
            some, index = self._at(queries, batch, exponent, threads)
            scaled = float(np.ldexp(radius, exponent))
            counts, scaled_distances, rows_within = index.within(
                some, scaled, self._threads_for(some, threads)
            )
            far = (np.repeat(batch, counts), _unscaled(scaled_distances, exponent), rows_within)
            for those, rows, search in self._close(some, index, exponent, threads):
                close_queries = batch[those]
                close = search.within(queries[close_queries], radius, threads)
                parts.append((np.repeat(close_queries, close[0]), close[1], rows[close[2]]))
                is_far = ~(np.isin(far[0], close_queries) & np.isin(far[2], rows))
                far = (far[0][is_far], far[1][is_far], far[2][is_far])
            parts.append(far)
        query, distances, indices = (np.concatenate(part) for part in zip(*parts, strict=True))
        # The rows of a query stay sorted: first the close ones, then the others.
        order = np.argsort(query, kind="stable")
        counts = np.bincount(query, minlength=queries.shape[0])
        return counts, distances[order], indices[order]

    def _close(
        self, queries: Any, index: Index, exponent: int, threads: int
    ) -> Iterator[tuple[RowNumbers, RowNumbers, NeighborSearch]]:
        """Find rows so close to queries that scaling may have underflowed their powers.

        Yield the queries that are close to the same rows, these rows, and a search among them.
        """
        if exponent >= 0:
            return
        searches: dict[bytes, NeighborSearch] = {}
        step = max(1, _CLOSE_AT_ONCE // self.rows.shape[0])
        for begin in range(0, queries.shape[0], step):
            some = queries[begin : begin + step]
            counts, _, indices = index.within(some, self.metric.min_accurate_distance, threads)
            by_rows: dict[bytes, list[int]] = {}
            for position, rows in enumerate(np.split(indices, np.cumsum(counts)[:-1])):
                if 0 < len(rows) < self.rows.shape[0]:
                    by_rows.setdefault(np.sort(rows).tobytes(), []).append(begin + position)
            for key, positions in by_rows.items():
                rows = np.frombuffer(key, np.int64)
                if key not in searches:
                    searches[key] = NeighborSearch.build(
                        self.rows[rows], self.metric, use_tree=False, gower=None, threads=threads
                    )
                yield np.array(positions), rows, searches[key]

    def _matching_rows(self, queries: Any, threads: int) -> Any:
        """Convert queries to the format of the rows: dense or sparse, and of norm 1 for cosine."""
        if self.metric.name == "precomputed":  # the queries hold the distances
            return queries
        if scipy.sparse.issparse(self.rows):
            queries = scipy.sparse.csr_array(queries)
        elif scipy.sparse.issparse(queries):
            queries = queries.toarray()
        return unit_rows(queries, threads) if self.metric.name == "cosine" else queries

    def _by_exponent(self, queries: Any) -> list[tuple[RowNumbers, int]]:
        """Group queries by the exponent they need: nearly always that of the index."""
        every = np.arange(queries.shape[0])
        if self.extent is None:
            return [(every, 0)]
        if self.extent.joined(Extent.of(queries)).exponent(self.metric) == self.exponent:
            return [(every, self.exponent)]
        exponents = np.array(
            [
                self.extent.joined(Extent.of(queries[[i]])).exponent(self.metric)
                for i in range(queries.shape[0])
            ]
        )
        return [(np.flatnonzero(exponents == e), int(e)) for e in np.unique(exponents)]

    def _at(
        self, queries: Any, batch: RowNumbers, exponent: int, threads: int
    ) -> tuple[Any, Index]:
        """Return some queries times 2^exponent, and an index of rows at that scale."""
        if len(batch) < queries.shape[0]:
            queries = queries[batch]
        queries = _scaled(queries, exponent)
        if exponent == self.exponent:
            return queries, self.index
        rows = _scaled(self.rows, exponent)
        return queries, build_index(rows, self.metric, self.gower, self.use_tree, threads)

    def _threads_for(self, queries: Any, threads: int) -> int:
        stored = self.rows.nnz if scipy.sparse.issparse(self.rows) else self.rows.size
        return threads if stored * queries.shape[0] >= _SMALL_WORK else 1


def _scaled(rows: Any, exponent: int) -> Any:
    if exponent == 0:
        return rows
    if not scipy.sparse.issparse(rows):
        return np.ldexp(rows, exponent)
    values = np.ldexp(rows.data, exponent)
    return scipy.sparse.csr_array((values, rows.indices, rows.indptr), rows.shape)


def _unscaled(distances: Floats, exponent: int) -> Floats:
    return distances if exponent == 0 else np.ldexp(distances, -exponent)


@dataclass(frozen=True, eq=False)
class NeighborsModel:
    """Rows as float64 (for Gower with codes for categories), as a CSR matrix, or their distances.

    Distances are a square matrix, or a sparse graph, in which a row without an entry is too far.

    `target` has a row for each: indices of classes or numbers, (n_rows, n_outputs).
    """

    schema: TableSchema
    metric: DistanceMetric
    use_tree: bool
    rows: Any
    gower: GowerColumns | None = None
    outputs: Outputs | None = None
    target: NDArray[Any] | None = None

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return int(self.rows.shape[0])

    @cached_property
    def search(self) -> NeighborSearch:
        """The search over the rows, built on first use: not pickled, since it can be rebuilt."""
        return self.build_search(1)

    def search_by(self, metric: Any) -> NeighborSearch:
        """Return the search, with a user-defined `metric` as it is set on the estimator now.

        So the function can be set again on a model loaded from a file, which does not store it.
        """
        if self.metric.function is None or not callable(metric):
            return self.search
        return NeighborSearch.build(
            self.rows,
            replace(self.metric, function=metric),
            use_tree=False,
            gower=None,
            threads=1,
        )

    def build_search(self, threads: int) -> NeighborSearch:
        """Build the index for queries."""
        return NeighborSearch.build(
            self.rows, self.metric, use_tree=self.use_tree, gower=self.gower, threads=threads
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).copy().items() if name != "search"}
