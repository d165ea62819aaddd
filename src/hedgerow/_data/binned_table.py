"""A table that is read and binned once, so that several fits to some of its rows share the work.

`share_bins` creates one. It, or a selection of its rows, is passed to `fit` and `predict` in place
of X: `learn_schema` and `read_table` accept it, and a `Binner` reuses its bins, which are learned
from all rows by the first fit that needs them. The numbers are copied only on demand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.binning import BinnedMatrix, Binner
from hedgerow._data.columns import CategoricalColumn, NumericColumn, RowSelection
from hedgerow._data.sparse import SparseLayouts
from hedgerow._data.table import Table, TableSchema
from hedgerow._types import Indices

# Folds of a cross-validation may run in several threads of a process, and the first one bins.
_BINNING = RLock()


class SharedBins:
    """The bins of a whole table, learned and computed lazily."""

    def __init__(
        self, table: Table, unfitted: Binner, weights: Any, schema: TableSchema, threads: int
    ) -> None:
        self._table, self._unfitted, self._weights = table, unfitted, weights
        self._n_categories = {j: len(c.values) for j, c in schema.categories.items()}
        self._threads = threads
        self._binner: Binner | None = None
        self._binned: BinnedMatrix | None = None

    @property
    def binner(self) -> Binner:
        """The binner that learned them."""
        with _BINNING:
            if self._binner is None:
                self._binner = self._fit()
            return self._binner

    def _fit(self) -> Binner:
        binner = self._unfitted
        options: dict[str, Any] = {"n_categories": self._n_categories, "threads": self._threads}
        if not self._table.is_streamed:
            return binner.fit(self._table, self._weights, **options)
        self._binned = binner.fit_transform(
            self._table, self._weights, columns_only=True, **options
        )
        return binner

    def of(self, rows: Indices, *, columns_only: bool, threads: int) -> BinnedMatrix:
        """Return some rows in bins."""
        with _BINNING:
            binner, binned = self.binner, self._binned
            if binned is None or (binned.by_row is None and not columns_only):
                if binned is not None and self._table.is_streamed:
                    binned = binner.with_rows(binned, threads=threads)
                else:
                    binned = binner.transform(
                        self._table, columns_only=columns_only, threads=threads
                    )
                self._binned = binned
        return binned.take(rows, columns_only=columns_only)


class BinnedTable(Table):
    """Some rows of a table whose schema and bins are shared by several fits.

    Attributes
    ----------
    schema : TableSchema
        Columns and categories of the whole table.
    rows : int array
        Which of its rows these are.
    """

    __slots__ = ("_bins", "_selected", "_whole", "rows", "schema")

    def __init__(self, whole: Table, schema: TableSchema, bins: SharedBins, rows: Indices) -> None:
        self.names, self.n_rows, self.n_features = whole.names, len(rows), whole.n_features
        self.schema, self.rows = schema, rows
        self._whole, self._bins = whole, bins
        self._selected: Table | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return BinnedTable, (self._whole, self.schema, self._bins, self.rows)

    @property
    def shared_bins(self) -> BinnedTable:
        """The table itself, as the source of its bins."""
        return self

    @property
    def binner(self) -> Binner:
        """The binner of the whole table."""
        return self._bins.binner

    @property
    def dense(self) -> NDArray[Any] | None:  # type: ignore[override]
        """The rows as one array, if the whole table is one."""
        return self._unbinned().dense

    @property
    def sparse(self) -> SparseLayouts | None:  # type: ignore[override]
        """The rows as a sparse table, if the whole table is one."""
        return self._unbinned().sparse

    @property
    def is_streamed(self) -> bool:
        """Whether columns are read from files when they are needed."""
        return self._whole.is_streamed

    @property
    def reads_columns(self) -> bool:
        """Whether columns are read from files when they are needed."""
        return self._whole.reads_columns

    def batches(self) -> Iterator[tuple[slice, Table]]:
        """Yield tables of some columns."""
        return self._unbinned().batches()

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of some columns, which share no bins."""
        return self._unbinned().select(features)

    def with_columns(
        self, replaced: Mapping[int, NumericColumn], added: Sequence[NumericColumn]
    ) -> Table:
        """Return a table with other columns, which shares no bins."""
        return self._unbinned().with_columns(replaced, added)

    def column(self, j: int) -> NumericColumn | CategoricalColumn:
        """Return column j."""
        return self._unbinned().column(j)

    def take(self, rows: RowSelection) -> BinnedTable:
        """Return some of the rows: a slice, indices, or a mask."""
        return BinnedTable(self._whole, self.schema, self._bins, self.rows[rows])

    def binned(self, *, columns_only: bool, threads: int) -> BinnedMatrix:
        """Return the rows in bins."""
        return self._bins.of(self.rows, columns_only=columns_only, threads=threads)

    def has_every_category(self) -> bool:
        """Return whether every category of the whole table occurs in these rows."""
        return all(
            _has_all(self._whole.column(j), self.rows, len(learned.values))
            for j, learned in self.schema.categories.items()
        )

    def _unbinned(self) -> Table:
        if self._selected is None:
            self._selected = self._whole.take(self.rows)
        return self._selected


def _has_all(column: NumericColumn | CategoricalColumn, rows: Indices, n_categories: int) -> bool:
    assert isinstance(column, CategoricalColumn)
    counts = np.bincount(column.codes[rows] + 1, minlength=n_categories + 1)  # missing is -1
    return bool(counts[1:].all())


def share_bins(
    schema: TableSchema, table: Table, binner: Binner, weights: Any, threads: int
) -> BinnedTable:
    """Create a table whose fits share the bins that an unfitted binner learns from it."""
    bins = SharedBins(table, binner, weights, schema, threads)
    return BinnedTable(table, schema, bins, np.arange(table.n_rows))
