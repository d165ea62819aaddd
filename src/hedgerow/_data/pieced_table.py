"""A table whose rows are in pieces, as the partitions of a Dask collection are.

Pieces are neither joined nor copied. When they are mapped to bins for the last time, each is
dropped as soon as its bins are written: if nobody else holds it, its memory is free for the bins of
the next. Pieces that are mapped from a file give back their memory whenever they have been read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import CategoricalColumn, NumericColumn, RowSelection
from hedgerow._data.table import Table

# Rows that are mapped to bins, and then released, at once: enough for several threads.
_ROWS_AT_ONCE = 1 << 16


class RowPieces:
    """The X of a fit as several tables with the same columns, one above the other.

    They can be taken out once. It then holds no reference to them any more.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns of all pieces together.
    release : callable
        Gives back the memory of rows that can be read again, as from a file.
    """

    def __init__(self, pieces: Sequence[Any], release: Callable[[], None] | None = None) -> None:
        self._pieces = list(pieces)
        self.release = release or _keep
        n_columns = self._pieces[0].shape[1] if self._pieces else 0
        self.shape = sum(piece.shape[0] for piece in self._pieces), n_columns

    def take_out(self) -> Iterator[Any]:
        """Yield the pieces; this object loses each of them."""
        while self._pieces:
            yield self._pieces.pop(0)
            self.release()


class PiecedTable(Table):
    """The rows of several tables with the same columns and dtypes, or some of them; see `Table`."""

    __slots__ = ("_parts", "_release")

    def __init__(self, tables: Iterable[Table], release: Callable[[], None]) -> None:
        self._release = release
        # Each table with a mark for every row that belongs to this one; None for all rows.
        self._parts: list[tuple[Table, NDArray[np.bool_] | None]] = [
            (table, None) for table in tables
        ]
        first = self._parts[0][0]
        self.names, self.n_features = first.names, first.n_features
        self.dense, self.sparse, self._columns = None, None, ()
        self.n_rows = sum(map(_count, self._parts))

    @property
    def is_streamed(self) -> bool:
        """Whether the numbers of the rows are gone once they are in bins: yes."""
        return True

    def pieces(self, *, drops: bool = False) -> Iterator[tuple[int, Table]]:
        """Yield some rows of a piece at a time; `drops` if nobody needs them any more."""
        parts = deque(self._parts)
        if drops:
            self._parts = []
        first = 0
        while parts:
            for piece in _slices(*parts.popleft()):
                yield first, piece
                first += piece.n_rows
                del piece  # before the next is made
                self._release()

    def column(self, j: int) -> NumericColumn | CategoricalColumn:
        """Return a copy of column j of all rows."""
        columns = [piece.column(j) for _, piece in self.pieces()]
        codes = [column.codes for column in columns if isinstance(column, CategoricalColumn)]
        if codes:
            return CategoricalColumn(np.concatenate(codes))
        numbers = [column for column in columns if isinstance(column, NumericColumn)]
        values = np.concatenate([column.values for column in numbers])
        if all(column.missing is None for column in numbers):
            return NumericColumn(values)
        return NumericColumn(values, np.concatenate([column.is_missing() for column in numbers]))

    def take(self, rows: RowSelection) -> PiecedTable:
        """Return a table of some rows, which are in increasing order.

        If they are less than half of all, they are copied, so that the others can be dropped.
        """
        selected = np.zeros(self.n_rows, bool)
        selected[rows] = True
        is_copied = 2 * np.count_nonzero(selected) < self.n_rows
        taken = PiecedTable([table for table, _ in self._parts], self._release)
        first = 0
        for i, (table, marks) in enumerate(self._parts):
            end = first + _count((table, marks))
            own = selected[first:end].copy()
            if marks is not None:
                of_table = marks.copy()
                of_table[marks] = own
                own = of_table
            taken._parts[i] = (table.take(own), None) if is_copied else (table, own)
            self._release()
            first = end
        taken.n_rows = sum(map(_count, taken._parts))
        return taken


def _count(part: tuple[Table, NDArray[np.bool_] | None]) -> int:
    table, marks = part
    return table.n_rows if marks is None else int(np.count_nonzero(marks))


def _slices(table: Table, marks: NDArray[np.bool_] | None) -> Iterator[Table]:
    """Yield the rows of a part, some at a time."""
    for start in range(0, max(table.n_rows, 1), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        own = table.take(rows)
        yield own if marks is None else own.take(marks[rows])


def _keep() -> None:
    """Release nothing: pieces are in memory."""
