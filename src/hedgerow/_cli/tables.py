"""Files → tables: CSV, Parquet and Arrow become data frames, SVMlight a sparse matrix.

Every data file is read here. Invalid content raises `DataError`, a file that cannot be read
`OSError`.
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

from hedgerow._cli.choices import FORMATS
from hedgerow._cli.csv_file import (
    Kinds,
    as_data_errors,
    read_csv,
    require_distinct,
    table_without_na,
    together_by_option,
    warn_about_text,
)
from hedgerow._cli.options import STANDARD, Reading
from hedgerow.exceptions import DataError, ParameterError


@dataclass(frozen=True)
class SparseFile:
    """The content of an SVMlight file: rows without column names, targets, and query ids if any."""

    X: Any
    y: NDArray[np.float64]
    qid: NDArray[np.int64] | None


def read_file(path: Path, reading: Reading, kinds: Kinds, n_features: int | None = None) -> Any:
    """Read a file, or standard input, as a pandas data frame or a `SparseFile`.

    `kinds` returns the kind of a column of a CSV file by its name, None to infer it. An SVMlight
    file has at most `n_features` columns.
    """
    if path == STANDARD:
        with _standard_input(reading) as (copy, copy_reading):
            return read_file(copy, copy_reading, kinds, n_features)
    _require_content(path)
    kind = reading.kind or _kind_of(path)
    if kind != "csv" and reading.header is not None:
        option = "--header" if reading.header else "--no-header"
        raise ParameterError(f"{option} is for CSV files, but {path} is read as {kind}.")
    if kind == "svmlight":
        if reading.na:
            raise ParameterError(f"--na: {path} is an SVMlight file, which has only numbers.")
        return _read_svmlight(path, n_features)
    frame = (
        read_csv(path, kinds, reading) if kind == "csv" else _read_frame(path, kind, kinds, reading)
    )
    if (len(frame) == 0 and not reading.may_be_empty) or frame.shape[1] == 0:
        raise DataError(f"{path} has no rows or no columns.")
    return frame


_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}


@contextmanager
def _standard_input(reading: Reading) -> Iterator[tuple[Path, Reading]]:
    """Copy standard input to a file, since files are read more than once, and detect its format.

    The format is CSV, unless --format or the first bytes are of another one.
    """
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    data = sys.stdin.buffer.read()
    detected = next((kind for start, kind in _MAGIC.items() if data.startswith(start)), "csv")
    copy_reading = replace(reading, kind=reading.kind or detected)
    # Windows cannot remove a file while an Arrow table is mapped to it.
    with tempfile.TemporaryDirectory(prefix="hedgerow-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / ("rows.gz" if data.startswith(b"\x1f\x8b") else "rows")
        copy.write_bytes(data)
        try:
            yield copy, copy_reading
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
    endings = ", ".join(end for ends in FORMATS.values() for end in ends if ".gz" not in end)
    raise DataError(
        f"{path}: the format is not clear from the file name. Use one of {endings} (text also with "
        ".gz), or pass --format."
    )


def _read_parquet(path: Path) -> Any:
    with parquet.ParquetFile(path) as file:
        return file.read()


def _read_arrow(path: Path) -> Any:
    """Read Arrow's file format (which Feather uses too) or its stream format."""
    with pa.memory_map(str(path)) as source:
        try:
            return ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
        return ipc.open_stream(source).read_all()


_READERS: Mapping[str, Any] = {"parquet": _read_parquet, "arrow": _read_arrow}
_FORMAT_NAMES = {"parquet": "a Parquet file", "arrow": "an Arrow file"}


def _read_frame(path: Path, kind: str, kinds: Kinds, reading: Reading) -> Any:
    with as_data_errors(path, _FORMAT_NAMES[kind]):
        table = _READERS[kind](path)
        table.validate(full=True)
        require_distinct(table.column_names, path)
        table = table_without_na(table, reading.na)
    with together_by_option():
        for name, column in zip(table.column_names, table.columns, strict=True):
            is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
            if is_text and kinds(name) is None:
                warn_about_text(column, name)
    with as_data_errors(path, _FORMAT_NAMES[kind]):
        return table.to_pandas()


def _read_svmlight(path: Path, n_features: int | None) -> SparseFile:
    """Read an SVMlight file. Its columns are numbered from 1, unless the number 0 occurs."""
    # Slow to import, and other formats do not need it.
    from sklearn.datasets import load_svmlight_file

    with as_data_errors(path, "an SVMlight file with the expected columns"):
        X, y, qid = load_svmlight_file(str(path), n_features=n_features, query_id=True)
    if X.shape[0] == 0:
        raise DataError(f"{path} has no rows.")
    return SparseFile(X, y, qid if len(qid) else None)
