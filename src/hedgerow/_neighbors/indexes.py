"""Indexes: what is made of the training rows once, and how queries are held against it.

Every way gives the same neighbours and the same distances: those of a float64 brute force that sums
over the columns in their order, rows at the same distance by their index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._neighbors.gower import GowerColumns
from hedgerow._neighbors.metrics import Metric
from hedgerow._types import Floats, RowNumbers

# For each query the number of its neighbours, then the distances and indices of all of them.
Within = tuple[RowNumbers, Floats, RowNumbers]
# The numbers of a sparse matrix, their places, and where each row or column starts.
Compressed = tuple[Floats, NDArray[np.int32], RowNumbers]

# What was faster for ten neighbours of normally distributed rows without structure, for which trees
# are least of use; one thread, AVX-512. Euclid's distance: a tree up to this many columns.
_PRODUCT_COLUMNS = 8
# Its leaves are walked to one by one for few columns, or for more if there are many rows; otherwise
# six queries are held against the boxes of all leaves at once.
_WALKED_COLUMNS, _MANY_ROWS = 5, 200_000
# Other distances: from so many rows on, a tree up to so many columns.
_OTHER_COLUMNS = ((0, 6), (10_000, 8))
# Rows that the centre and the scale of float32 numbers are taken from, at most.
_SAMPLE = 4096


class Index(Protocol):
    """Training rows, prepared for queries."""

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:
        """Fill in the nearest rows of each query, as many as there is room for."""

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query."""


def prefers_tree(n_rows: int, n_features: int, metric: Metric) -> bool:
    """Tell whether a k-d tree is likely to be faster than to look at all rows."""
    if metric.is_given or not metric.is_of_numbers:
        return False
    if metric.has_products:
        return n_features <= _PRODUCT_COLUMNS
    return n_features <= max(most for rows, most in _OTHER_COLUMNS if n_rows >= rows)


def _is_walked(n_rows: int, n_features: int) -> bool:
    """Tell whether a tree for Euclid's distance is walked, leaf by leaf."""
    return n_features <= _WALKED_COLUMNS or (
        n_features <= _PRODUCT_COLUMNS and n_rows >= _MANY_ROWS
    )


def build_index(
    rows: Any, metric: Metric, gower: GowerColumns | None, use_tree: bool, threads: int
) -> Index:
    """Prepare rows for queries, in the way that suits them."""
    if scipy.sparse.issparse(rows):
        return SparseIndex.build(rows, metric)
    if metric.has_products and not (use_tree and _is_walked(*rows.shape)):
        return PanelIndex.build(rows, metric, tree=use_tree, threads=threads)
    return BlockIndex.build(rows, metric, gower, tree=use_tree, threads=threads)


@dataclass(frozen=True, eq=False)
class PanelIndex:
    """Rows in float32 to choose candidates by, and in float64 to judge these: see the kernel.

    They are in their own order, or in that of a k-d tree whose leaves are the panels: `index` then
    has the row at each place, and `boxes` those of the leaves.
    """

    rows: Floats
    values: NDArray[np.float32]
    half_norms: NDArray[np.float32]
    centre: Floats
    scale: float
    largest_norm: float
    index: NDArray[np.uint32] | None
    boxes: Floats | None
    is_cosine: bool

    @classmethod
    def build(cls, rows: Floats, metric: Metric, *, tree: bool, threads: int) -> PanelIndex:
        """Choose a centre and a scale, and round."""
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
        is_cosine = metric.name == "cosine"
        return cls(rows, values, half_norms, centre, scale, largest, index, boxes, is_cosine)

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
            "cosine": self.is_cosine,
        }

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:
        """Fill in the nearest rows of each query."""
        room: dict[str, Any] = {"distances": distances, "indices": indices}
        _native.nearest_in_panels(**self._parts, queries=queries, **room, threads=threads)

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query."""
        asked: dict[str, Any] = {"queries": queries, "radius": radius}
        found: Within = _native.within_in_panels(**self._parts, **asked, threads=threads)
        return found


def _centre_and_scale(rows: Floats) -> tuple[Floats, float]:
    """Return the mean, and a power of two that brings the mean of the squared norms near 1.

    Both only decide how many candidates there are, so those of a sample will do.
    """
    centre = rows[0] + (rows - rows[0]).mean(axis=0)
    moved = rows - centre
    _, exponent = np.frexp(np.abs(moved).max())
    moved = np.ldexp(moved, -exponent)
    _, of_squares = np.frexp((moved * moved).sum() / len(rows))
    return centre, float(np.ldexp(1.0, -int(exponent) - int(of_squares) // 2))


@dataclass(frozen=True, eq=False)
class BlockIndex:
    """Rows in blocks, which are looked through one after another or are the leaves of a k-d tree.

    `boxes` are those of the tree's nodes, None if there is no tree.
    """

    metric: Metric
    values: Floats
    index: NDArray[np.uint32]
    boxes: Floats | None
    gower: GowerColumns | None

    @classmethod
    def build(
        cls, rows: Floats, metric: Metric, gower: GowerColumns | None, *, tree: bool, threads: int
    ) -> BlockIndex:
        """Put rows into blocks in their order, or those of a tree together."""
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
            "kind": self.metric.kind,
            "p": self.metric.p,
            "weights": None if self.gower is None else self.gower.weights,
            "inverse_ranges": None if self.gower is None else self.gower.inverse_ranges,
        }

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:
        """Fill in the nearest rows of each query."""
        room: dict[str, Any] = {"distances": distances, "indices": indices}
        _native.nearest_in_blocks(**self._parts, queries=queries, **room, threads=threads)

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query."""
        asked: dict[str, Any] = {"queries": queries, "radius": radius}
        found: Within = _native.within_in_blocks(**self._parts, **asked, threads=threads)
        return found


@dataclass(frozen=True, eq=False)
class SparseIndex:
    """Rows of a sparse matrix by row and by column."""

    by_row: Compressed
    by_column: Compressed
    is_cosine: bool

    @classmethod
    def build(cls, rows: Any, metric: Metric) -> SparseIndex:
        """Store the numbers twice."""
        return cls(_compressed(rows), _compressed(rows.tocsc()), metric.name == "cosine")

    def nearest(self, queries: Any, distances: Floats, indices: RowNumbers, threads: int) -> None:
        """Fill in the nearest rows of each query."""
        asked = _compressed(queries)
        _native.nearest_in_sparse(
            *self.by_row, *self.by_column, self.is_cosine, *asked, distances, indices, threads
        )

    def within(self, queries: Any, radius: float, threads: int) -> Within:
        """Return all rows within a radius of each query."""
        asked = _compressed(queries)
        found: Within = _native.within_in_sparse(
            *self.by_row, *self.by_column, self.is_cosine, *asked, radius, threads
        )
        return found


def _compressed(matrix: Any) -> Compressed:
    """Return the arrays of a CSR or CSC matrix, positions in order."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return (
        np.ascontiguousarray(matrix.data, np.float64),
        np.ascontiguousarray(matrix.indices, np.int32),
        np.ascontiguousarray(matrix.indptr, np.int64),
    )
