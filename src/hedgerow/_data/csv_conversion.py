"""CSV files → Parquet files, block by block: the types of the columns first, then the values."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from hedgerow._data.names import listed, read_names
from hedgerow._data.parquet_files import pyarrow_parquet
from hedgerow._progress import Progress, progress
from hedgerow.exceptions import DataError, ParameterError

# Strings that mean missing, those of `pandas.read_csv`.
MISSING_TEXTS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)
# Types in the order in which they are tried.
_TYPES = ("int64", "double", "bool", "string")
_BLOCK_BYTES = 1 << 24
# Rows of a row group, so that reading one column of it is one read of megabytes.
_GROUP_ROWS = 1 << 20


def convert_csv(
    sources: Sequence[str], to: str | PathLike[str] | None, delimiter: str, verbose: int
) -> tuple[list[str], TemporaryFolder | None]:
    """Convert files; return the new files, and the temporary folder that holds them, if any."""
    pyarrow_parquet()
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise ParameterError(f"delimiter={delimiter!r} is not allowed; it must be one character.")
    kept: TemporaryFolder | None = None
    if to is None:
        kept = TemporaryFolder()
        folder = Path(kept.path)
    else:
        folder = Path(to)
        if folder.exists() and not folder.is_dir():
            raise ParameterError(f"to={str(to)!r} is a file; it must be a folder.")
    targets = _targets(sources, folder)
    total = 2 * sum(Path(source).stat().st_size for source in sources) >> 20
    with progress(verbose, max(total, 1), unit="MB", title="converting") as display:
        counter = _Counter(display)
        types = _column_types(sources, delimiter, counter)
        folder.mkdir(parents=True, exist_ok=True)
        for source, target in zip(sources, targets, strict=True):
            _convert(source, target, types, delimiter, counter)
    return [str(target) for target in targets], kept


class TemporaryFolder:
    """A folder that is removed with this object, or at the end of the program."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="hedgerow-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _targets(sources: Sequence[str], folder: Path) -> list[Path]:
    """Return a Parquet file for each CSV file; refuse names that are taken."""
    stems = [Path(source).name.removesuffix(".gz") for source in sources]
    width = len(str(len(sources)))
    are_distinct = len(set(stems)) == len(stems)
    names = [
        stem if are_distinct else f"{number:0{width}}-{stem}" for number, stem in enumerate(stems)
    ]
    targets = [folder / Path(name).with_suffix(".parquet") for name in names]
    for target in targets:
        if target.exists():
            raise DataError(
                f"to: {target} already exists and will not be overwritten. Open it with "
                "ParquetTable, remove it, or choose another folder."
            )
    return targets


class _Counter:
    """Counts the bytes of the blocks that have been read."""

    def __init__(self, display: Progress | None) -> None:
        self._display, self._bytes = display, 0

    def add(self, n_bytes: int) -> None:
        self._bytes += n_bytes
        if self._display is not None:
            self._display.show(self._bytes >> 20)


def _column_types(sources: Sequence[str], delimiter: str, counter: _Counter) -> dict[str, str]:
    """Return the first type that fits all values of each column, over all files."""
    types: dict[str, str] = {}
    for source in sources:
        with _open_csv(source, delimiter, None) as reader:
            names = _names(reader)
            if types and names != list(types):
                raise DataError(
                    f"{source} has the columns {listed(names)}, but {sources[0]} has "
                    f"{listed(list(types))}. All files of a table need the same columns."
                )
            types = types or dict.fromkeys(names, _TYPES[0])
            for batch in reader:
                for name, column in zip(names, batch.columns, strict=True):
                    while not _fits(column, types[name]):
                        types[name] = _TYPES[_TYPES.index(types[name]) + 1]
                counter.add(batch.nbytes)
    return types


def _names(reader: Any) -> list[str]:
    return [str(name) for name in read_names(reader.schema.names)]


def _fits(column: Any, kind: str) -> bool:
    import pyarrow as pa

    if kind == "string":
        return True
    try:
        column.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _convert(
    source: str, target: Path, types: dict[str, str], delimiter: str, counter: _Counter
) -> None:
    """Convert one file; nothing is left of it if that fails."""
    parquet = pyarrow_parquet()
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with _open_csv(source, delimiter, types) as reader:
            rows: list[Any] = []
            with parquet.ParquetWriter(partial, reader.schema) as writer:
                for batch in reader:
                    rows.append(batch)
                    counter.add(batch.nbytes)
                    if sum(each.num_rows for each in rows) >= _GROUP_ROWS:
                        _write(writer, rows)
                _write(writer, rows)
        os.link(partial, target)  # which, unlike a rename, replaces no file
    finally:
        partial.unlink(missing_ok=True)


def _write(writer: Any, rows: list[Any]) -> None:
    import pyarrow as pa

    if rows:
        writer.write_table(pa.Table.from_batches(rows), row_group_size=_GROUP_ROWS)
        rows.clear()


@contextmanager
def _open_csv(source: str, delimiter: str, types: dict[str, str] | None) -> Iterator[Any]:
    """Open a file for reading in blocks; all columns are text unless their types are known."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        read, parse = (
            csv.ReadOptions(block_size=_BLOCK_BYTES),
            csv.ParseOptions(delimiter=delimiter),
        )
        parse.newlines_in_values = True
        if types is None:
            with csv.open_csv(source, read, parse) as reader:
                types = dict.fromkeys(_names(reader), "string")
        convert = csv.ConvertOptions(
            column_types={name: pa.type_for_alias(kind) for name, kind in types.items()},
            null_values=MISSING_TEXTS,
            strings_can_be_null=True,
        )
        with csv.open_csv(source, read, parse, convert) as reader:
            yield reader
    except (pa.ArrowException, UnicodeDecodeError) as error:
        if "Empty CSV" in str(error):
            raise DataError(f"{source} is empty.") from error
        raise DataError(f"{source} is not a CSV file: {error}") from error
