"""A search: training rows and their index, and queries brought to the scale that they need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from hedgerow._neighbors.gower import GowerColumns
from hedgerow._neighbors.indexes import Index, Within, build_index
from hedgerow._neighbors.metrics import Extent, Metric, unit_rows
from hedgerow._neighbors.precomputed import FunctionIndex, PrecomputedIndex
from hedgerow._types import Floats, RowNumbers

# Multiplications below which a second thread does not pay.
_SMALL_WORK = 1 << 20
# Rows of all queries that are looked at together for those that are close, at most.
_CLOSE_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Search:
    """Training rows that can be searched.

    Distances of numbers so large or so small that their powers would overflow or vanish are found
    between the numbers times 2^exponent; a query that needs another exponent gets an index of it.
    Where large numbers made the exponent negative, the powers of small differences may be lost
    instead: the rows that are close to a query are searched again, among themselves.
    """

    rows: Any
    metric: Metric
    use_tree: bool
    gower: GowerColumns | None
    extent: Extent | None
    exponent: int
    index: Index

    @classmethod
    def build(
        cls, rows: Any, metric: Metric, *, use_tree: bool, gower: GowerColumns | None, threads: int
    ) -> Search:
        """Prepare rows for queries."""
        if metric.name == "cosine":
            rows = unit_rows(rows, threads)
        extent = Extent.of(rows) if metric.has_powers else None
        exponent = 0 if extent is None else extent.exponent(metric)
        if metric.is_given:
            index = _given_index(rows, metric)
        else:
            index = build_index(_scaled(rows, exponent), metric, gower, use_tree, threads)
        return cls(rows, metric, use_tree, gower, extent, exponent, index)

    def nearest(self, queries: Any, k: int, threads: int) -> tuple[Floats, RowNumbers]:
        """Return distances and indices of the k nearest rows, (n_queries, k), nearest first."""
        distances = np.empty((queries.shape[0], k))
        indices = np.empty((queries.shape[0], k), np.int64)
        if not len(indices):  # kernels want a query at least
            return distances, indices
        queries = self._alike(queries, threads)
        for places, exponent in self._by_exponent(queries):
            some, index = self._at(queries, places, exponent, threads)
            near = (np.empty((some.shape[0], k)), np.empty((some.shape[0], k), np.int64))
            index.nearest(some, *near, self._threads_for(some, threads))
            distances[places], indices[places] = _unscaled(near[0], exponent), near[1]
            for those, rows, search in self._close(some, index, exponent, threads):
                askers = places[those]
                among = slice(0, min(k, len(rows)))
                found = search.nearest(queries[askers], among.stop, threads)
                distances[askers, among], indices[askers, among] = found[0], rows[found[1]]
        return distances, indices

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query, nearest first."""
        if queries.shape[0] == 0:
            return np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
        queries = self._alike(queries, threads)
        parts: list[Within] = []  # askers, distances, indices
        for places, exponent in self._by_exponent(queries):
            some, index = self._at(queries, places, exponent, threads)
            scaled = float(np.ldexp(radius, exponent))
            found = index.within(some, scaled, self._threads_for(some, threads))
            far = (np.repeat(places, found[0]), _unscaled(found[1], exponent), found[2])
            for those, rows, search in self._close(some, index, exponent, threads):
                askers = places[those]
                close = search.within(queries[askers], radius, threads)
                parts.append((np.repeat(askers, close[0]), close[1], rows[close[2]]))
                is_far = ~(np.isin(far[0], askers) & np.isin(far[2], rows))
                far = (far[0][is_far], far[1][is_far], far[2][is_far])
            parts.append(far)
        askers, distances, indices = (np.concatenate(part) for part in zip(*parts, strict=True))
        # Rows of a query stay in their order: the close ones, then those that are farther.
        order = np.argsort(askers, kind="stable")
        counts = np.bincount(askers, minlength=queries.shape[0])
        return counts, distances[order], indices[order]

    def _close(
        self, queries: Any, index: Index, exponent: int, threads: int
    ) -> Iterator[tuple[RowNumbers, RowNumbers, Search]]:
        """Find rows so close to queries that the exponent may have lost their powers.

        Give the places of queries that are close to the same rows, these, and a search among them.
        """
        if exponent >= 0:
            return
        searches: dict[bytes, Search] = {}
        step = max(1, _CLOSE_AT_ONCE // self.rows.shape[0])
        for begin in range(0, queries.shape[0], step):
            some = queries[begin : begin + step]
            counts, _, indices = index.within(some, self.metric.sharp_from, threads)
            askers: dict[bytes, list[int]] = {}
            for place, rows in enumerate(np.split(indices, np.cumsum(counts)[:-1])):
                if 0 < len(rows) < self.rows.shape[0]:
                    askers.setdefault(np.sort(rows).tobytes(), []).append(begin + place)
            for key, places in askers.items():
                rows = np.frombuffer(key, np.int64)
                if key not in searches:
                    searches[key] = Search.build(
                        self.rows[rows], self.metric, use_tree=False, gower=None, threads=threads
                    )
                yield np.array(places), rows, searches[key]

    def _alike(self, queries: Any, threads: int) -> Any:
        """Make queries dense or sparse, and of norm 1, as the rows are."""
        if scipy.sparse.issparse(self.rows):
            queries = scipy.sparse.csr_array(queries)
        elif scipy.sparse.issparse(queries):
            queries = queries.toarray()
        return unit_rows(queries, threads) if self.metric.name == "cosine" else queries

    def _by_exponent(self, queries: Any) -> list[tuple[RowNumbers, int]]:
        """Group queries by the exponent that each needs: nearly always all the index's own."""
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
        self, queries: Any, places: RowNumbers, exponent: int, threads: int
    ) -> tuple[Any, Index]:
        """Return some queries times 2^exponent, and an index of rows at that scale."""
        if len(places) < queries.shape[0]:
            queries = queries[places]
        queries = _scaled(queries, exponent)
        if exponent == self.exponent:
            return queries, self.index
        rows = _scaled(self.rows, exponent)
        return queries, build_index(rows, self.metric, self.gower, self.use_tree, threads)

    def _threads_for(self, queries: Any, threads: int) -> int:
        stored = self.rows.nnz if scipy.sparse.issparse(self.rows) else self.rows.size
        return threads if stored * queries.shape[0] >= _SMALL_WORK else 1


def _given_index(rows: Any, metric: Metric) -> Index:
    return PrecomputedIndex() if metric.function is None else FunctionIndex(rows, metric)


def _scaled(rows: Any, exponent: int) -> Any:
    if exponent == 0:
        return rows
    if not scipy.sparse.issparse(rows):
        return np.ldexp(rows, exponent)
    values = np.ldexp(rows.data, exponent)
    return scipy.sparse.csr_array((values, rows.indices, rows.indptr), rows.shape)


def _unscaled(distances: Floats, exponent: int) -> Floats:
    return distances if exponent == 0 else np.ldexp(distances, -exponent)
