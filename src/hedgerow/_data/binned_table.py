"""A table that is read and binned once, so that several fits to some of its rows share the work.

`share_bins` makes one of a table. It is given to `fit` and `predict` in place of X, whole or in
part: `learn_schema` and `read_table` let it pass, and a `Binner` takes over its bins. These are
learned from all rows when the first fit asks for them. The numbers themselves are only copied if
something asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.binning import BinnedMatrix, Binner
from hedgerow._data.columns import CategoricalColumn, NumericColumn, Rows
from hedgerow._data.schema import TableSchema
from hedgerow._data.table import Table
from hedgerow._types import Indices


class SharedBins:
    """The bins of a whole table, which are learned, and mapped to, when they are asked for."""

    def __init__(self, table: Table, fitted: Callable[[], Binner]) -> None:
        self._table = table
        self._fitted = fitted
        self._binned: BinnedMatrix | None = None

    @cached_property
    def binner(self) -> Binner:
        """What has learned them."""
        return self._fitted()

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
    rows : int array
        Which of its rows these are.
    """

    __slots__ = ("_bins", "_numbers", "_whole", "rows", "schema")

    def __init__(self, whole: Table, schema: TableSchema, bins: SharedBins, rows: Indices) -> None:
        self.names, self.n_rows, self.n_features = whole.names, len(rows), whole.n_features
        self.schema, self.rows = schema, rows
        self._whole, self._bins = whole, bins
        self._numbers: Table | None = None

    @property
    def known_bins(self) -> BinnedTable:
        """The table itself knows its bins."""
        return self

    @property
    def binner(self) -> Binner:
        """What has learned the bins of the whole table."""
        return self._bins.binner

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

    def has_every_category(self) -> bool:
        """Tell whether these rows hold every category of the whole table."""
        return all(
            _has_all(self._whole.column(j), self.rows, len(learned.values))
            for j, learned in self.schema.categories.items()
        )

    def _taken(self) -> Table:
        if self._numbers is None:
            self._numbers = self._whole.take(self.rows)
        return self._numbers


def _has_all(column: NumericColumn | CategoricalColumn, rows: Indices, n_categories: int) -> bool:
    assert isinstance(column, CategoricalColumn)
    counts = np.bincount(column.codes[rows] + 1, minlength=n_categories + 1)  # missing is -1
    return bool(counts[1:].all())


def share_bins(
    schema: TableSchema, table: Table, binner: Binner, weights: Any, threads: int
) -> BinnedTable:
    """Make a table whose fits share the bins that a binner, not fitted yet, learns from it."""

    def fitted() -> Binner:
        counts = {j: len(learned.values) for j, learned in schema.categories.items()}
        return binner.fit(table, weights, n_categories=counts, threads=threads)

    return BinnedTable(table, schema, SharedBins(table, fitted), np.arange(table.n_rows))
