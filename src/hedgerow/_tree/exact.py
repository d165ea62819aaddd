"""Exact greedy growth: a candidate threshold between any two adjacent values (Algorithm 1).

A table is sorted once; each tree is then one native call. Rules and arrays are those of the
histogram engine, but thresholds are midpoints between values instead of bin boundaries.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.structure import NATIVE_FIELDS

MISSING_BIN = 255

Column = NDArray[Any]


class ExactGrower:
    """Grows trees on one table, which is sorted once.

    It keeps views of the columns (for thresholds), their sorted order and working memory: 16 bytes
    per value. Not thread-safe: it grows one tree at a time.

    Parameters
    ----------
    columns : sequence of 1-d arrays, or a 2-d array (n_rows, n_features)
        Numeric columns of any dtype and stride; NaN is missing. Categorical columns contain bin
        numbers 0 … 254; NaN, negative numbers and 255 are missing.
    is_categorical : bool array, optional
        Which columns are categorical; none by default.
    n_threads : int
        Threads for sorting.
    """

    def __init__(
        self,
        columns: Sequence[Column] | NDArray[Any],
        is_categorical: NDArray[np.bool_] | None = None,
        n_threads: int = 1,
    ) -> None:
        raw_columns = list(columns.T) if isinstance(columns, np.ndarray) else list(columns)
        flags = np.zeros(len(raw_columns), np.bool_) if is_categorical is None else is_categorical
        self._is_categorical = np.ascontiguousarray(flags, np.bool_)
        self._columns = [
            category_bins(column) if categorical else _floats(column)
            for column, categorical in zip(raw_columns, self._is_categorical, strict=True)
        ]
        self._n_rows = len(self._columns[0]) if self._columns else 0
        rows = np.empty((len(self._columns), self._n_rows), np.uint32)
        ranks = np.empty_like(rows)
        _native.exact_presort(self._columns, rows, ranks, n_threads)
        self._native = _native.ExactGrower(self._columns, rows, ranks, self._is_categorical)

    def grow(
        self,
        g: NDArray[np.float64],
        h: NDArray[np.float64],
        params: GrowthParams,
        *,
        rows: NDArray[np.integer[Any]] | None = None,
        features: NDArray[np.bool_] | None = None,
        tree_id: int = 0,
        n_threads: int = 1,
    ) -> dict[str, NDArray[Any]]:
        """Grow one tree.

        Parameters
        ----------
        g, h : float64 arrays (n_rows,)
            Gradients and hessians of all rows, weights multiplied in.
        params : GrowthParams
            The growth parameters.
        rows : integer array, optional
            The distinct rows of the bag, at least one; all by default.
        features : bool array (n_features,), optional
            Features that this tree may use; all by default.
        tree_id : int
            Index of the tree; with ``params.seed`` it determines the sampled features.
        n_threads : int
            Maximum number of threads; the tree does not depend on it.

        Returns
        -------
        dict of arrays
            The fields of a `Tree` except ``split_bin``, and ``leaf_of_row`` (int32): the leaf of
            each row, -1 for rows that are not in the bag.
        """
        bag = None if rows is None else np.sort(rows).astype(np.uint32)
        allowed = np.arange(len(self._columns)) if features is None else np.flatnonzero(features)
        arrays, leaf_of_row = self._native.grow(
            np.ascontiguousarray(g, np.float64),
            np.ascontiguousarray(h, np.float64),
            bag,
            allowed.astype(np.int32),
            params,
            tree_id,
            n_threads,
        )
        return dict(zip(NATIVE_FIELDS[:-1], arrays, strict=False)) | {"leaf_of_row": leaf_of_row}


def _floats(column: Column) -> Column:
    keep = column.dtype in (np.float32, np.float64) and column.dtype.isnative
    return column if keep else column.astype(np.float64)


def category_bins(column: Column) -> NDArray[np.uint8]:
    """Return bin numbers as bytes; everything except 0 … 254 becomes 255, missing."""
    if column.dtype == np.uint8:
        return column
    is_valid = (column >= 0) & (column < MISSING_BIN)
    return np.where(is_valid, column, MISSING_BIN).astype(np.uint8)
