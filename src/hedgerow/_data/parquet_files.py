"""Parquet files as one table: their common schema, and blocks of rows of some columns.

Rows are numbered through all files, in the order of the files. A file that changes between two
passes, or that cannot be read, is an error that names it. PyArrow is imported on first use.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw

from hedgerow._data.columns import LabelColumn, NumericColumn
from hedgerow._data.names import column_label, listed, read_names
from hedgerow._data.sources import read_series, with_usual_columns
from hedgerow._data.streamed_table import RowsInOrder
from hedgerow._spelling import near
from hedgerow.exceptions import DataError

# Values in a block of rows, over all columns of a read: 32 MB of float64.
_BLOCK_VALUES = 1 << 22
_MIN_BLOCK, _MAX_BLOCK = 1 << 10, 1 << 17
# Bytes read from a column chunk at a time: a row group may be as large as its file.
_BUFFER = 1 << 20


def pyarrow_parquet() -> Any:
    """Return pyarrow.parquet; an ImportError that says what to install if it is missing."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need PyArrow: pip install pyarrow") from error
    return pyarrow.parquet


@dataclass(frozen=True)
class FileState:
    """A file, and what shows that it has changed: its size and the time of its last change."""

    path: str
    size: int
    changed: int
    metadata: Any

    def check(self) -> None:
        """Refuse a file that is not the one that was opened."""
        try:
            now = os.stat(self.path)  # noqa: PTH116  a path may be bytes that pathlib refuses
        except OSError as error:
            raise DataError(
                f"{self.path} can no longer be read: {error.strerror}. A ParquetTable is read "
                "several times; its files must not change."
            ) from error
        if (now.st_size, now.st_mtime_ns) != (self.size, self.changed):
            raise DataError(
                f"{self.path} has changed since the table was opened. A ParquetTable is read "
                "several times; open it again when its files are complete."
            )


class ParquetFiles:
    """Files with the same columns; see `ColumnFiles`.

    `kept` is held as long as the files are in use: the temporary folder that contains them, if any.
    """

    def __init__(self, paths: Sequence[str], kept: Any = None) -> None:
        self.kept = kept
        parquet = pyarrow_parquet()
        self._kinds: dict[int, NumericColumn | LabelColumn] = {}
        self.states = [_open(parquet, path) for path in paths]
        self._starts = [0]
        for state in self.states:
            self._starts.append(self._starts[-1] + state.metadata.num_rows)
        self.n_rows = self._starts[-1]
        self.schema = self._common_schema()
        self.names = [str(name) for name in read_names(self.schema.names)]

    @property
    def paths(self) -> list[str]:
        """The files, in the order of their rows."""
        return [state.path for state in self.states]

    def _common_schema(self) -> Any:
        """Return the schema of all files; refuse columns that are absent or of another type."""
        import pyarrow as pa

        first, schema = self.states[0], self.states[0].metadata.schema.to_arrow_schema()
        fields = {field.name: field for field in schema}
        for state in self.states:
            read_names(state.metadata.schema.to_arrow_schema().names)
        for state in self.states[1:]:
            own = {field.name: field for field in state.metadata.schema.to_arrow_schema()}
            for one, names, other in ((state, own, first), (first, fields, state)):
                has = fields if names is own else own
                absent = [name for name in has if name not in names]
                if absent:
                    raise DataError(
                        f"{one.path} has no column {listed(absent)}, which {other.path} has. All "
                        "files of a table need the same columns."
                    )
            for name, field in own.items():
                known = fields[name]
                if pa.types.is_null(known.type):
                    fields[name] = field
                elif not (pa.types.is_null(field.type) or _same_type(known.type, field.type)):
                    raise DataError(
                        f"Column {name!r} has the type {known.type} in {first.path}, but "
                        f"{field.type} in {state.path}. All files of a table need the same types."
                    )
        return pa.schema([fields[field.name] for field in schema])

    def position(self, name: Any, argument: str) -> int:
        """Return where a column is; refuse a name that no column has."""
        if name in self.names:
            return self.names.index(name)
        similar = near(str(name), self.names)
        hint = f"Did you mean {similar[0]!r}?" if similar else f"There are {listed(self.names)}."
        raise DataError(f"{argument}={name!r}: {self.paths[0]} has no such column. {hint}")

    def kind(self, column: int) -> NumericColumn | LabelColumn:
        """Return a column without rows; raise if columns of its type are not supported."""
        if column not in self._kinds:
            import pyarrow as pa

            self._kinds[column] = self._as_column(
                pa.array([], self.schema.field(column).type), column
            )
        return self._kinds[column]

    def width(self, column: int) -> int:
        """Return the bytes of a value in memory: of a number, or of a category's code."""
        kind = self.kind(column)
        return kind.values.itemsize if isinstance(kind, NumericColumn) else 4

    def is_declared(self, column: int) -> bool:
        """Return whether the type of a column is categorical."""
        return str(self.schema.field(column).type).startswith("dictionary")

    @cached_property
    def index_columns(self) -> set[str]:
        """The columns in which pandas stores the index of a data frame."""
        first = self.states[0]
        try:
            metadata = first.metadata.schema.to_arrow_schema().pandas_metadata or {}
            stored = [name for name in metadata.get("index_columns", ()) if isinstance(name, str)]
        except (ValueError, AttributeError, TypeError) as error:
            raise DataError(
                f"{first.path} is damaged: its metadata for pandas cannot be read: {error}"
            ) from error
        return {name for name in stored if name.startswith("__index_level_")}

    def blocks(
        self, columns: Sequence[int], selection: RowsInOrder | None = None
    ) -> Iterator[tuple[int, list[Any]]]:
        """Yield blocks of rows of some columns: their first row, and each column as read."""
        for first, batch in self.batches(columns, selection):
            yield first, [self._as_column(batch.column(i), j) for i, j in enumerate(columns)]

    def batches(
        self, columns: Sequence[int], selection: RowsInOrder | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield blocks of rows of some columns, as Arrow record batches, and their first rows.

        Row groups without a selected row are not read.
        """
        size = min(max(_BLOCK_VALUES // max(len(columns), 1), _MIN_BLOCK), _MAX_BLOCK)
        for start, state in zip(self._starts, self.states, strict=False):
            for first, n_rows, groups in _stretches(state, start, selection):
                row = first
                for batch in self._batches_of(state, columns, size, groups):
                    yield row, batch
                    row += batch.num_rows
                if row != first + n_rows:
                    raise DataError(
                        f"{state.path} has {row - first} rows, but {n_rows} according to its "
                        "metadata: the file is damaged."
                    )

    def _batches_of(
        self, state: FileState, columns: Sequence[int], size: int, groups: list[int]
    ) -> Iterator[Any]:
        import pyarrow as pa

        state.check()
        names = [self.names[j] for j in columns]
        texts = [name for name in names if _is_text(self.schema.field(name).type)]
        with _as_data_errors(state.path):
            options = {"buffer_size": _BUFFER, "pre_buffer": False, "read_dictionary": texts}
            file = pyarrow_parquet().ParquetFile(state.path, metadata=state.metadata, **options)
            with file:
                for batch in file.iter_batches(size, groups, names):
                    arrays = [batch.column(name) for name in names]
                    yield pa.record_batch(arrays, names=names)
        pa.default_memory_pool().release_unused()  # which Arrow would keep for the next file
        state.check()

    def _as_column(self, array: Any, column: int) -> NumericColumn | LabelColumn:
        import pyarrow as pa

        where, kind = column_label(tuple(self.names), column), self.schema.field(column).type
        if pa.types.is_null(array.type) and not pa.types.is_null(kind):
            array = array.cast(kind)
        usual = with_usual_columns(pa.table([array], names=["column"])).column(0)
        return read_series(nw.from_native(usual, series_only=True), where)


def _stretches(
    state: FileState, start: int, selection: RowsInOrder | None
) -> Iterator[tuple[int, int, list[int]]]:
    """Yield row groups to read together: their first row, number of rows, and indices."""
    stretch: list[int] = []
    first = row = start
    for group in range(state.metadata.num_row_groups):
        n_rows = state.metadata.row_group(group).num_rows
        is_read = n_rows > 0 and (selection is None or selection.has_rows(row, n_rows))
        if is_read:
            first = first if stretch else row
            stretch.append(group)
        elif stretch and n_rows:
            yield first, row - first, stretch
            stretch = []
        row += n_rows
    if stretch:
        yield first, row - first, stretch


def _open(parquet: Any, path: str) -> FileState:
    with _as_data_errors(path):
        status = os.stat(path)  # noqa: PTH116
        if status.st_size == 0:
            raise DataError(f"{path} is empty, not a Parquet file.")
        return FileState(path, status.st_size, status.st_mtime_ns, parquet.read_metadata(path))


@contextmanager
def _as_data_errors(path: str) -> Iterator[None]:
    """Turn errors of PyArrow into errors that name the file; those of the system stay."""
    import pyarrow as pa

    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError, MemoryError):
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a complete Parquet file, or is damaged: {error}") from error


def _same_type(one: Any, other: Any) -> bool:
    """Compare types; categories may have codes of any width."""
    import pyarrow as pa

    if pa.types.is_dictionary(one) and pa.types.is_dictionary(other):
        return bool(one.value_type == other.value_type)
    return bool(one == other)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
