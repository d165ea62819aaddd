"""A table that is read and binned once, so that several fits to some of its rows share the work.

`share_bins` learns the bins of a table. What comes of it is given to `fit` and `predict` in place
of X, whole or in part: `learn_schema` and `read_table` let it pass, and a `Binner` takes over the
bins that are there. The numbers themselves are only copied if something asks for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.binning import BinnedMatrix, Binner
from hedgerow.data.columns import CategoricalColumn, NumericColumn, Rows
from hedgerow.data.schema import TableSchema
from hedgerow.data.table import Table

Indices = NDArray[np.intp]


class SharedBins:
    """The bins of a whole table; it is mapped to them when the first rows are asked for."""

    def __init__(self, binner: Binner, table: Table) -> None:
        self.binner = binner
        self._table = table
        self._binned: BinnedMatrix | None = None

    def of(self, rows: Indices, *, columns_only: bool, threads: int) -> BinnedMatrix:
        """Return some rows in bins."""
        known = self._binned
        if known is None or (known.by_row is None and not columns_only):
            known = self.binner.transform(self._table, columns_only=columns_only, threads=threads)
            self._binned = known
        return known.take(rows, columns_only=columns_only)


class BinnedTable(Table):
    """Some rows of a table whose columns and bins are known.

    Attributes
    ----------
    schema : TableSchema
        Columns and categories of the whole table.
    binner : Binner
        Its bins.
    rows : int array
        Which of its rows these are.
    """

    __slots__ = ("_bins", "_numbers", "_whole", "binner", "rows", "schema")

    def __init__(self, whole: Table, schema: TableSchema, bins: SharedBins, rows: Indices) -> None:
        self.names, self.n_rows, self.n_features = whole.names, len(rows), whole.n_features
        self.schema, self.binner, self.rows = schema, bins.binner, rows
        self._whole, self._bins = whole, bins
        self._numbers: Table | None = None

    @property
    def known_bins(self) -> BinnedTable:
        """The table itself knows its bins."""
        return self

    @property
    def dense(self) -> NDArray[Any] | None:  # type: ignore[override]
        """The rows as one array, if the whole table is one."""
        return self._taken().dense

    @property
    def sparse_csc(self) -> Any:
        """The rows as a sparse matrix, if the whole table is one."""
        return self._taken().sparse_csc

    def column(self, j: int) -> NumericColumn | CategoricalColumn:
        """Give column j."""
        return self._taken().column(j)

    def take(self, rows: Rows) -> BinnedTable:
        """Give some of the rows: a slice, indices, or a mask."""
        return BinnedTable(self._whole, self.schema, self._bins, self.rows[rows])

    def binned(self, *, columns_only: bool, threads: int) -> BinnedMatrix:
        """Give the rows in bins."""
        return self._bins.of(self.rows, columns_only=columns_only, threads=threads)

    def _taken(self) -> Table:
        if self._numbers is None:
            self._numbers = self._whole.take(self.rows)
        return self._numbers


def share_bins(
    schema: TableSchema, table: Table, binner: Binner, weights: Any, threads: int
) -> BinnedTable:
    """Learn the bins of a table with a binner that is not fitted yet."""
    counts = {j: len(learned.values) for j, learned in schema.categories.items()}
    binner.fit(table, weights, n_categories=counts, threads=threads)
    bins = SharedBins(binner, table)
    return BinnedTable(table, schema, bins, np.arange(table.n_rows))
