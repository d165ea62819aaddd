"""A search: training rows and their index, and queries brought to the scale that they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from hedgerow.neighbors.given import FunctionIndex, PrecomputedIndex
from hedgerow.neighbors.gower import GowerColumns
from hedgerow.neighbors.indexes import Index, Indices, Within, build_index
from hedgerow.neighbors.metrics import Extent, Floats, Metric, unit_rows

# Multiplications below which a second thread does not pay.
_SMALL_WORK = 1 << 20


@dataclass(frozen=True, eq=False)
class Search:
    """Training rows that can be searched.

    Distances of numbers so large or so small that their powers would overflow or vanish are found
    between the numbers times 2^exponent; a query that needs another exponent gets an index of it.
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

    def nearest(self, queries: Any, k: int, threads: int) -> tuple[Floats, Indices]:
        """Return distances and indices of the k nearest rows, (n_queries, k), nearest first."""
        queries = self._alike(queries, threads)
        distances = np.empty((queries.shape[0], k))
        indices = np.empty((queries.shape[0], k), np.int64)
        for places, exponent in self._by_exponent(queries):
            some, index = self._at(queries, places, exponent, threads)
            near = (np.empty((some.shape[0], k)), np.empty((some.shape[0], k), np.int64))
            index.nearest(some, *near, self._threads_for(some, threads))
            distances[places], indices[places] = _unscaled(near[0], exponent), near[1]
        return distances, indices

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query, nearest first."""
        queries = self._alike(queries, threads)
        counts = np.zeros(queries.shape[0], np.int64)
        askers, distances, indices = [], [], []
        for places, exponent in self._by_exponent(queries):
            some, index = self._at(queries, places, exponent, threads)
            scaled = float(np.ldexp(radius, exponent))
            found = index.within(some, scaled, self._threads_for(some, threads))
            counts[places] = found[0]
            askers.append(np.repeat(np.arange(len(counts))[places], found[0]))
            distances.append(_unscaled(found[1], exponent))
            indices.append(found[2])
        order = np.argsort(np.concatenate(askers), kind="stable")
        return counts, np.concatenate(distances)[order], np.concatenate(indices)[order]

    def _alike(self, queries: Any, threads: int) -> Any:
        """Make queries dense or sparse, and of norm 1, as the rows are."""
        if scipy.sparse.issparse(self.rows):
            queries = scipy.sparse.csr_array(queries)
        elif scipy.sparse.issparse(queries):
            queries = queries.toarray()
        return unit_rows(queries, threads) if self.metric.name == "cosine" else queries

    def _by_exponent(self, queries: Any) -> list[tuple[Any, int]]:
        """Group queries by the exponent that each needs: nearly always all the index's own."""
        if self.extent is None:
            return [(slice(None), 0)]
        if self.extent.joined(Extent.of(queries)).exponent(self.metric) == self.exponent:
            return [(slice(None), self.exponent)]
        exponents = np.array(
            [
                self.extent.joined(Extent.of(queries[[i]])).exponent(self.metric)
                for i in range(queries.shape[0])
            ]
        )
        return [(np.flatnonzero(exponents == e), int(e)) for e in np.unique(exponents)]

    def _at(self, queries: Any, places: Any, exponent: int, threads: int) -> tuple[Any, Index]:
        """Return some queries times 2^exponent, and an index of rows at that scale."""
        queries = _scaled(queries[places], exponent)
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
