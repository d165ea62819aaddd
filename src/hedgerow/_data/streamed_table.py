"""A table whose columns stay in files: a few are read at a time, binned, and dropped.

Binning is by column, and so are Parquet files. While columns are binned, there is as much memory
for them as the fit needs later for the second layout of the bins and for gradients (`_ROW_BYTES`),
so reading them does not raise its peak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.binning import row_bytes
from hedgerow._data.columns import (
    CategoricalColumn,
    LabelColumn,
    NumericColumn,
    RowSelection,
)
from hedgerow._data.names import Names
from hedgerow._data.table import Table
from hedgerow._progress import with_progress

# Of the bytes of a row that a fit needs later for scores, gradients, leaves and the order of rows.
_ROW_BYTES = 16
# A block of a column as read, the row of the table it begins at → numbers or codes.
Convert = Callable[[NumericColumn | LabelColumn, int], NumericColumn | CategoricalColumn]


class ColumnFiles(Protocol):
    """Files that hold the columns of a table."""

    n_rows: int

    def blocks(
        self, columns: Sequence[int], selection: RowsInOrder | None = None
    ) -> Iterator[tuple[int, list[Any]]]:
        """Yield blocks of rows of some columns: their first row, and each column as read.

        Blocks without a selected row may be left out.
        """

    def width(self, column: int) -> int:
        """Return the bytes of a value in memory."""


class StreamedTable(Table):
    """Columns of files, or some of their rows; see `Table`.

    A column is either one of the files, by its position there and how its blocks are converted, or
    in memory: a statistic that replaces it.
    """

    __slots__ = ("_files", "_rows", "_sources", "verbose")

    def __init__(
        self,
        names: Names | None,
        files: ColumnFiles,
        sources: Sequence[tuple[int, Convert] | NumericColumn],
        rows: NDArray[np.intp] | None = None,
        verbose: int = 0,
    ) -> None:
        self.names, self.dense, self.sparse = names, None, None
        self.n_rows = files.n_rows if rows is None else len(rows)
        self.n_features = len(sources)
        self._files, self._sources, self._rows = files, tuple(sources), rows
        self.verbose = verbose

    @property
    def is_streamed(self) -> bool:
        """Whether columns are read from files when they are needed: yes."""
        return True

    @property
    def reads_columns(self) -> bool:
        """Whether columns are read from files when they are needed: yes."""
        return True

    def column(self, j: int) -> NumericColumn | CategoricalColumn:
        """Read column j."""
        (column,) = self._read([j])
        return column

    def batches(self) -> Iterator[tuple[slice, Table]]:
        """Read a few columns at a time."""
        ends = self._batch_ends()
        batches = zip([0, *ends[:-1]], ends, strict=True)
        for first, last in with_progress(
            batches, len(ends), self.verbose, unit="batch of columns", title="reading columns"
        ):
            names = None if self.names is None else self.names[first:last]
            yield slice(first, last), Table(names, columns=self._read(range(first, last)))

    def select(self, features: Sequence[int]) -> StreamedTable:
        """Return a table of some columns, without names."""
        return self._with(None, [self._sources[j] for j in features])

    def with_columns(
        self, replaced: Mapping[int, NumericColumn], added: Sequence[NumericColumn]
    ) -> StreamedTable:
        """Return a table with some columns replaced and others added, without names."""
        kept = [replaced.get(j) or source for j, source in enumerate(self._sources)]
        return self._with(None, [*kept, *added])

    def take(self, rows: RowSelection) -> StreamedTable:
        """Return a table of some rows, which are selected as they are read."""
        whole = np.arange(self.n_rows) if self._rows is None else self._rows
        sources = [
            source.take(rows) if isinstance(source, NumericColumn) else source
            for source in self._sources
        ]
        return StreamedTable(self.names, self._files, sources, whole[rows], self.verbose)

    def _with(
        self, names: Names | None, sources: Sequence[tuple[int, Convert] | NumericColumn]
    ) -> StreamedTable:
        return StreamedTable(names, self._files, sources, self._rows, self.verbose)

    def _batch_ends(self) -> list[int]:
        return batch_ends(
            [0 if isinstance(s, NumericColumn) else self._files.width(s[0]) for s in self._sources]
        )

    def _read(self, features: Sequence[int]) -> list[NumericColumn | CategoricalColumn]:
        columns: dict[int, NumericColumn | CategoricalColumn] = {}
        in_files: dict[int, tuple[int, Convert]] = {}
        for j in features:
            source = self._sources[j]
            if isinstance(source, NumericColumn):
                columns[j] = source
            else:
                in_files[j] = source
        if in_files:
            selection = None if self._rows is None else RowsInOrder(self._rows)
            read = {j: ColumnWriter(self.n_rows) for j in in_files}
            positions = [at for at, _ in in_files.values()]
            for first, block in self._files.blocks(positions, selection):
                for (j, (_, convert)), values in zip(in_files.items(), block, strict=True):
                    read[j].add(convert(values, first), first, selection)
            columns |= {j: writer.column() for j, writer in read.items()}
        return [columns[j] for j in features]


def batch_ends(widths: Sequence[int]) -> list[int]:
    """Return where batches of columns end: each fits into the memory that the fit needs later."""
    room = _ROW_BYTES + row_bytes(len(widths))
    ends, used = [0], 0
    for j, width in enumerate(widths):
        if used + width > room and j > ends[-1]:
            ends.append(j)
            used = 0
        used += width
    return [*ends[1:], len(widths)]


class RowsInOrder:
    """Selected rows, in the order of the files, and where each belongs in the selection."""

    def __init__(self, rows: NDArray[np.intp]) -> None:
        is_sorted = len(rows) < 2 or bool((rows[1:] >= rows[:-1]).all())
        self._places = None if is_sorted else np.argsort(rows, kind="stable")
        self._rows = rows if self._places is None else rows[self._places]

    def has_rows(self, first: int, n_rows: int) -> bool:
        """Return whether any row of a block is selected."""
        begin, end = np.searchsorted(self._rows, [first, first + n_rows])
        return bool(begin < end)

    def within(self, first: int, n_rows: int) -> tuple[NDArray[np.intp], Any]:
        """Return the selected rows of a block, counted from its first, and their places."""
        begin, end = np.searchsorted(self._rows, [first, first + n_rows])
        places = slice(begin, end) if self._places is None else self._places[begin:end]
        return self._rows[begin:end] - first, places


class ColumnWriter:
    """Puts the blocks of a column together, in arrays that are allocated once."""

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self._values: NDArray[Any] | None = None
        self._missing: NDArray[np.bool_] | None = None
        self._are_codes = False

    def add(
        self,
        block: NumericColumn | CategoricalColumn,
        first: int,
        selection: RowsInOrder | None,
    ) -> None:
        """Add the rows of a block, or those that are selected."""
        self._are_codes = isinstance(block, CategoricalColumn)
        values = block.codes if isinstance(block, CategoricalColumn) else block.values
        missing = None if isinstance(block, CategoricalColumn) else block.missing
        places: Any = slice(first, first + len(values))
        if selection is not None:
            rows, places = selection.within(first, len(values))
            values, missing = values[rows], None if missing is None else missing[rows]
        if self._values is None:
            self._values = np.empty(self._n_rows, values.dtype)
        elif values.dtype != self._values.dtype:
            self._values = self._values.astype(np.result_type(self._values, values), copy=False)
        self._values[places] = values
        if missing is not None:
            if self._missing is None:
                self._missing = np.zeros(self._n_rows, bool)
            self._missing[places] = missing

    def column(self) -> NumericColumn | CategoricalColumn:
        """Return the whole column."""
        values: NDArray[Any] = np.empty(0, np.float32) if self._values is None else self._values
        if self._are_codes:
            return CategoricalColumn(values)
        return NumericColumn(values, self._missing)
