"""A sparse table in bins: each feature lists the rows in which its bin is not that of 0.

Trees of one output are grown on such a table in time that follows its stored values; they are the
trees of the same table in a `BinnedMatrix`, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._collective import workers
from hedgerow._data.binning import BinnableTable, Binner, report_infinity, stored_values

# A fuller table is smaller as a matrix of bytes, and grows trees faster there.
_MOST_STORED = 1 / 64
_SUM_BYTES = 16  # of a bin


@dataclass(frozen=True, eq=False)
class SparseBinnedMatrix:
    """Entries of a sparse table; see docs/architecture.md for the fields."""

    starts: NDArray[np.int64]
    rows: NDArray[np.uint32]
    bins: NDArray[np.uint8]
    zero_bins: NDArray[np.int32]
    n_bins: NDArray[np.int32]
    threshold_values: NDArray[np.float64]
    threshold_starts: NDArray[np.int64]
    n_rows: int

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.n_bins)

    @property
    def n_entries(self) -> int:
        """Bins that are added up to the histograms of all rows."""
        return len(self.bins)

    @property
    def n_bytes(self) -> int:
        """Bytes of the bins and their rows."""
        return self.bins.nbytes + self.rows.nbytes

    @property
    def histogram_bytes(self) -> int:
        """Bytes of the histograms of a node."""
        return _SUM_BYTES * int(self.n_bins.sum())


def stays_sparse(table: BinnableTable) -> bool:
    """Return whether trees of one output should be grown on the stored values of a table."""
    if table.sparse is None or workers().size > 1:
        return False
    return bool(table.sparse.matrix.nnz <= _MOST_STORED * table.n_rows * table.n_features)


def bin_stored(binner: Binner, table: BinnableTable, threads: int) -> SparseBinnedMatrix:
    """Map the stored values of a sparse table to bins, and leave out those in the bin of 0."""
    assert table.sparse is not None
    data, rows, starts = stored_values(table.sparse)
    bins = np.empty(len(data), np.uint8)
    thresholds = binner.threshold_values, binner.threshold_starts
    if not _native.map_stored_to_bins(data, rows, starts, table.n_rows, *thresholds, bins, threads):
        report_infinity(table)
    zero_bins = binner.zero_bins()
    is_entry = bins != np.repeat(zero_bins.astype(np.uint8), np.diff(starts))
    n_before = np.concatenate([[0], np.cumsum(is_entry)])
    return SparseBinnedMatrix(
        n_before[starts],
        rows[is_entry].astype(np.uint32),
        bins[is_entry],
        zero_bins,
        binner.n_bins,
        *thresholds,
        table.n_rows,
    )
