"""Files → tables: CSV, Parquet and Arrow become data frames, SVMlight a sparse matrix.

The one door through which files of data enter: whatever is wrong with one is a `DataError`, or the
`OSError` of a file that cannot be read.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc, parquet

from hedgerow._cli.cell_values import table_without_na
from hedgerow._cli.choices import FORMATS
from hedgerow._cli.csv_file import Kinds, read_csv, warn_of_text
from hedgerow._cli.damage import read_as, require_distinct
from hedgerow._cli.options import STANDARD, Reading
from hedgerow.exceptions import DataError, ParameterError


@dataclass(frozen=True)
class SparseFile:
    """What an SVMlight file holds: rows without names of columns, targets, and maybe queries."""

    X: Any
    y: NDArray[np.float64]
    qid: NDArray[np.int64] | None


def read_file(path: Path, reading: Reading, kinds: Kinds, n_features: int | None = None) -> Any:
    """Read a file as a pandas data frame or a `SparseFile`.

    Parameters
    ----------
    path : Path
        The file; - is standard input.
    reading : Reading
        How to; its format is one of `FORMATS`, and the end of the name tells if it is left out.
    kinds : function of a name
        What a column of a CSV file is, None if that is to be found out.
    n_features : int, optional
        Columns that an SVMlight file must not exceed.
    """
    if path == STANDARD:
        with _standard_input(reading) as (copy, named):
            return read_file(copy, named, kinds, n_features)
    _require_content(path)
    kind = reading.kind or _kind_of(path)
    if kind != "csv" and reading.header is not None:
        option = "--header" if reading.header else "--no-header"
        raise ParameterError(f"{option} is for CSV files, and {path} is read as {kind}.")
    if kind == "svmlight":
        if reading.na:
            raise ParameterError(f"--na: {path} is an SVMlight file, which holds numbers only.")
        return _read_svmlight(path, n_features)
    frame = (
        read_csv(path, kinds, reading) if kind == "csv" else _read_frame(path, kind, kinds, reading)
    )
    if (len(frame) == 0 and not reading.may_be_empty) or frame.shape[1] == 0:
        raise DataError(f"{path} has no rows or no columns.")
    return frame


_BEGINNINGS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}


@contextmanager
def _standard_input(reading: Reading) -> Iterator[tuple[Path, Reading]]:
    """Copy standard input to a file, since files are read more than once, and say what it is.

    It is CSV, unless its first bytes or --format say otherwise.
    """
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    data = sys.stdin.buffer.read()
    found = next((kind for start, kind in _BEGINNINGS.items() if data.startswith(start)), "csv")
    named = replace(reading, kind=reading.kind or found)
    with tempfile.TemporaryDirectory(prefix="hedgerow-") as folder:
        copy = Path(folder) / ("rows.gz" if data.startswith(b"\x1f\x8b") else "rows")
        copy.write_bytes(data)
        try:
            yield copy, named
        except (DataError, ParameterError) as error:
            raise type(error)(str(error).replace(str(copy), "standard input")) from error


def _require_content(path: Path) -> None:
    if path.is_dir():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    size = path.stat().st_size
    if not path.is_file():
        raise DataError(f"{path} is not a regular file.")  # files are read more than once
    if size == 0:
        raise DataError(f"{path} is empty.")


def _kind_of(path: Path) -> str:
    name = path.name.lower()
    for kind, ends in FORMATS.items():
        if name.endswith(ends):
            return kind
    known = ", ".join(end for ends in FORMATS.values() for end in ends if ".gz" not in end)
    raise DataError(
        f"{path}: the name does not tell what kind of file it is. It may end in {known} "
        "(text also with .gz), or --format tells."
    )


def _read_parquet(path: Path) -> Any:
    with parquet.ParquetFile(path) as file:
        return file.read()


def _read_arrow(path: Path) -> Any:
    """Read Arrow's file format, which is Feather's, or its format of streams."""
    with pa.memory_map(str(path)) as source:
        try:
            return ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
        return ipc.open_stream(source).read_all()


_READERS: Mapping[str, Any] = {"parquet": _read_parquet, "arrow": _read_arrow}
_SAID = {"parquet": "a Parquet file", "arrow": "an Arrow file"}


def _read_frame(path: Path, kind: str, kinds: Kinds, reading: Reading) -> Any:
    with read_as(path, _SAID[kind]):
        table = _READERS[kind](path)
        table.validate(full=True)
        require_distinct(table.column_names, path)
        table = table_without_na(table, reading.na)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string(column.type) and kinds(name) is None:
            warn_of_text(column, name)
    with read_as(path, _SAID[kind]):
        return table.to_pandas()


def _read_svmlight(path: Path, n_features: int | None) -> SparseFile:
    """Read an SVMlight file. Its columns are numbered from 1, unless a number 0 occurs."""
    from sklearn.datasets import load_svmlight_file  # which other kinds need not wait for

    with read_as(path, "an SVMlight file that fits"):
        X, y, qid = load_svmlight_file(str(path), n_features=n_features, query_id=True)
    if X.shape[0] == 0:
        raise DataError(f"{path} has no rows.")
    return SparseFile(X, y, qid if len(qid) else None)
