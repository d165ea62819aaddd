"""`Table`: the columns of a checked table, and their matrix of floats for the predictor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.binning import BinSource
from hedgerow._data.columns import CategoricalColumn, NumericColumn, RowSelection, dense_column
from hedgerow._data.names import Names

CategoryBins = Mapping[int, NDArray[Any]] | Sequence[NDArray[Any] | None]

# Rows of a dense block: 32 MB with 1,000 columns of float32.
_BLOCK_ROWS = 8192
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class Table:
    """Columns, in the order of the schema.

    Attributes
    ----------
    n_rows, n_features : int
    names : tuple, or None
    dense : ndarray of shape (n_rows, n_features), or None
        The table as one array of booleans, integers or floats, with any strides, if it was passed
        as one and no column is categorical. Not a copy.
    sparse_csc : scipy sparse matrix or array in CSC format, sorted, without duplicates, or None
        The table, if it was passed as a sparse matrix and no column is categorical.
    """

    __slots__ = ("_columns", "dense", "n_features", "n_rows", "names", "sparse_csc")

    def __init__(
        self,
        names: Names | None,
        *,
        dense: NDArray[Any] | None = None,
        sparse_csc: Any = None,
        columns: Sequence[NumericColumn | CategoricalColumn] = (),
    ) -> None:
        self.names = names
        self.dense = dense
        self.sparse_csc = sparse_csc
        whole = dense if dense is not None else sparse_csc
        self._columns = columns if whole is None else ()
        if whole is not None:
            self.n_rows, self.n_features = whole.shape
        else:
            first = columns[0]
            codes_or_values = first.codes if isinstance(first, CategoricalColumn) else first.values
            self.n_rows, self.n_features = len(codes_or_values), len(columns)

    @property
    def shared_bins(self) -> BinSource | None:
        """Bins that several fits share: none for a plain table."""
        return None

    def own_matrix(self, category_bins: CategoryBins) -> NDArray[Any] | None:  # noqa: ARG002
        """Return the matrix of `as_matrix`, if this kind of table has a faster way to build it."""
        return None

    def column(self, j: int) -> NumericColumn | CategoricalColumn:
        """Return column j: a view where possible, with zeros filled in if sparse."""
        if self.dense is not None:
            return NumericColumn(self.dense[:, j])
        if self.sparse_csc is not None:
            return NumericColumn(dense_column(self.sparse_csc, j))
        return self._columns[j]

    def take(self, rows: RowSelection) -> Table:
        """Return a table of some rows: a slice, indices, or a mask."""
        if self.dense is not None:
            return Table(self.names, dense=self.dense[rows])
        if self.sparse_csc is not None:
            csc = self.sparse_csc[rows].tocsc()
            csc.sort_indices()
            return Table(self.names, sparse_csc=csc)
        return Table(self.names, columns=[column.take(rows) for column in self._columns])


def as_matrix(table: Table, category_bins: CategoryBins = ()) -> NDArray[Any]:
    """Return the table as the predictor expects it: floats, with NaN for missing values.

    A category is `category_bins[j][code]`. A float32 or float64 array is returned unchanged.
    Anything else is copied, to float32 if that holds every value exactly, else to float64;
    `iter_dense_blocks` copies at most a block at a time.
    """
    own = table.own_matrix(category_bins)
    if own is not None:
        return own
    dense = table.dense
    if dense is not None:
        return dense if dense.dtype in _FLOATS else dense.astype(_float_for(dense))
    if table.sparse_csc is not None:
        data = table.sparse_csc.data
        return np.ascontiguousarray(table.sparse_csc.toarray().astype(_float_for(data), copy=False))
    columns = [table.column(j) for j in range(table.n_features)]
    numbers = (c.values for c in columns if isinstance(c, NumericColumn))
    dtype = np.result_type(np.float32, *(_float_for(values) for values in numbers))
    matrix = np.empty((table.n_rows, table.n_features), dtype)
    for j, column in enumerate(columns):
        if isinstance(column, CategoricalColumn):
            bins = np.asarray(category_bins[j], dtype)
            # Codes −1 (missing) and n (unknown) both index the last entry.
            matrix[:, j] = np.append(bins, np.nan)[column.codes]
        else:
            matrix[:, j] = column.values
            if column.missing is not None:
                matrix[column.missing, j] = np.nan
    return matrix


def iter_dense_blocks(
    table: Table, category_bins: CategoryBins = (), block_rows: int = _BLOCK_ROWS
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield (first row, matrix) of each block of rows; all rows at once if no copy is needed."""
    if table.dense is not None and table.dense.dtype in _FLOATS:
        yield 0, table.dense
        return
    if table.sparse_csc is not None:
        by_row = table.sparse_csc.tocsr()
        dtype = _float_for(by_row.data)
        for start in range(0, table.n_rows, block_rows):
            yield start, by_row[start : start + block_rows].toarray().astype(dtype, copy=False)
        return
    for start in range(0, table.n_rows, block_rows):
        yield start, as_matrix(table.take(slice(start, start + block_rows)), category_bins)


def _float_for(values: NDArray[Any]) -> np.dtype[Any]:
    """Choose float32 if it holds every value of the dtype exactly, else float64."""
    return np.result_type(np.float32, values.dtype)
