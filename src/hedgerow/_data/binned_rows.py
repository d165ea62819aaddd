"""Rows for a predictor: a matrix, the stored values of a sparse table, or bins of one in files.

A tree that was grown on bins sends all values of a bin the same way, so any value of the bin can
stand for the others: predictions from bins have the bits of those from numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._data.binning import MISSING_BIN, Binner
from hedgerow._data.sparse import SparseLayouts
from hedgerow._data.table import Table, as_matrix, float_for

# Values in a block: 4 MB of float64, which stay in the cache between conversion and prediction.
_BLOCK_VALUES = 1 << 19
# Entries of a sparse row up to which a search through all of them costs less than sorting them.
_LONGEST_UNSORTED = 256


class BinnedRows:
    """Rows as bins (n_features, n_rows), for trees that were grown on these bins."""

    def __init__(self, by_column: NDArray[np.uint8], binner: Binner) -> None:
        self.by_column = by_column
        self._value_of_bin = _values_of_bins(binner)

    def __len__(self) -> int:
        return self.by_column.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        n_features, n_rows = self.by_column.shape
        return n_rows, n_features

    def blocks(self, features: NDArray[Any]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield matrices of some rows and which these are; only these features are filled in."""
        n_rows, n_features = self.shape
        step = max(1024, _BLOCK_VALUES // n_features // 8 * 8)  # rows whose bits are whole bytes
        block = np.zeros((n_features, min(step, n_rows)))
        for start in range(0, n_rows, step):
            rows = slice(start, min(start + step, n_rows))
            part = block[:, : rows.stop - start]
            for f in features.tolist():
                # With mode="clip", which is safe for bytes, NumPy makes no copy of the result.
                self._value_of_bin[f].take(self.by_column[f, rows], out=part[f], mode="clip")
            yield rows, part.T


StoredRows = _native.StoredRows
TreeRows = NDArray[Any] | BinnedRows | StoredRows


def stored_rows(table: SparseLayouts) -> StoredRows:
    """Return a sparse table as predictors read it, which visit its stored values only."""
    csr, are_sorted = table.rows_in_any_order(_LONGEST_UNSORTED)
    return StoredRows(
        csr.indptr.astype(np.int64, copy=False),
        csr.indices.astype(np.int32, copy=False),
        csr.data.astype(float_for(csr.data), copy=False),
        csr.shape[1],
        are_sorted,
    )


def _values_of_bins(binner: Binner) -> NDArray[np.float64]:
    """Return a value in each bin of each feature, (n_features, 256); bin numbers of categories."""
    thresholds = binner.thresholds
    values = np.full((len(thresholds), MISSING_BIN + 1), np.nan)
    for f, (of_feature, categorical) in enumerate(
        zip(thresholds, binner.is_categorical, strict=True)
    ):
        if categorical:
            values[f, :MISSING_BIN] = np.arange(MISSING_BIN)
        else:
            beyond = np.nextafter(of_feature[-1:], np.inf) if len(of_feature) else [0.0]
            values[f, : len(of_feature) + 1] = [*of_feature, *beyond]
    return values


def rows_of(table: Table, binner: Binner, threads: int = 1, *, drops: bool = False) -> TreeRows:
    """Return a table as trees read it that were grown on the bins of `binner`.

    `drops` if nobody needs the table afterwards.
    """
    if table.sparse is not None:
        return stored_rows(table.sparse)
    if table.is_streamed:
        binned = binner.transform(table, columns_only=True, drops=drops, threads=threads)
        return BinnedRows(binned.by_column, binner)
    return as_matrix(table, binner.category_bins)
