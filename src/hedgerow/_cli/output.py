"""Output: lines or one JSON object, and files that are written completely or not at all."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import click

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from hedgerow._cli.choices import TABLE_ENDS
from hedgerow._cli.options import STANDARD, DataFiles, ParquetPaths
from hedgerow._cli.streams import ClosedOutput
from hedgerow._data.parquet_table import find_files
from hedgerow._files import replace_file
from hedgerow._model_file.atomic import write_atomically
from hedgerow._model_file.values import encode
from hedgerow.exceptions import HedgerowError, ParameterError

_UNFINISHED = ".hedgerow-unfinished-"  # prefix of temporary folders
# By which spreadsheets recognise a formula (OWASP, "CSV injection"); the last four are full-width.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_SECONDS_TO_LOCK = 10  # after creating the folder


def say(line: str) -> None:
    """Print progress or a note on standard error."""
    click.echo(line, err=True)


def to_json(value: Any) -> str:
    """Return JSON, with the encoding of `hedgerow._model_file.values` for other types.

    NaN, such as an undefined metric, becomes null.
    """
    plain = _without_nan(value)
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False, default=encode)


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def answer(text: str) -> None:
    """Print the result of a command; raise if standard output is closed."""
    click.echo(text)


def summarise(text: str) -> None:
    """Print a summary, unless standard output is closed: the files are the result."""
    if not isinstance(sys.stdout, ClosedOutput):
        click.echo(text)


def answer_json(value: Any) -> None:
    """Print one JSON object."""
    answer(to_json(value))


def number(value: float) -> str:
    """Return a number with four digits, or a dash for NaN."""
    return f"{value:.4g}" if math.isfinite(value) else "–"


def count(number_of: int, thing: str) -> str:
    """Return a count with its noun: 1 row, 2,000 rows."""
    return f"{number_of:,} {thing}" + ("" if number_of == 1 else "s")


def lines_of(fields: Mapping[str, str]) -> str:
    """Return names and texts in two columns, with indented continuation lines."""
    width = max(map(cells, fields))
    indent = "\n" + " " * (width + 2)
    padding = {name: " " * (width - cells(name)) for name in fields}
    lines = (f"{name}{padding[name]}  {text}" for name, text in fields.items())
    return "\n".join(line.replace("\n", indent) for line in lines)


def cells(text: str) -> int:
    """Return the width of a text in a terminal: East Asian characters take two cells."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def size_of(path: Path) -> str:
    """Return a file's size in MB or kB."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


def require_folder(folder: Path) -> None:
    """Raise before any work if files could not be written there; create nothing yet."""
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir():
        raise ParameterError(f"cannot write into {folder}: {existing} is not a folder.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ParameterError(f"cannot write into {folder}: no permission in {existing}.")


def require_file(path: Path, ends: tuple[str, ...] = ("",)) -> None:
    """Raise before any work if a file could not be written there, or has another name's ending."""
    if path.is_dir():
        raise ParameterError(f"cannot write {path}: it is a folder.")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"cannot write {path}: there is no folder {path.parent}.")
    require_folder(path.parent)
    if not path.name.lower().endswith(ends):
        raise ParameterError(f"cannot write {path}: its name must end in {', '.join(ends)}.")


def require_table_name(path: Path | None, *, escape_formulas: bool = False) -> None:
    """Raise before any work if a table cannot be written there, or not in a format of its name."""
    if path is None:
        return
    require_file(path, TABLE_ENDS)
    if escape_formulas and path.name.lower().endswith((".parquet", ".feather")):
        raise ParameterError(f"--escape-formulas is for CSV files, but not for {path}.")


def require_other_files(outs: Iterable[Path | None], *inputs: DataFiles | None) -> None:
    """Raise before any work if a file to write is a file to read, by whatever name or link."""
    existing = [out for out in outs if out is not None and out.exists()]
    for path in chain.from_iterable(map(input_files, inputs)) if existing else []:
        for out in existing:
            if path.exists() and path.samefile(out):
                raise ParameterError(
                    f"cannot write {out}: it is the input {path}. Choose another name."
                )


def input_files(data: DataFiles | None) -> list[Path]:
    """Return the files that an argument names, as far as they exist."""
    if data is None or data == STANDARD:
        return []
    if not isinstance(data, ParquetPaths):
        return [data]
    with suppress(HedgerowError):  # which reading them reports
        return [Path(file) for file in find_files(list(data))]
    return []


@contextmanager
def all_or_nothing(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder whose files move to `folder` if nothing fails.

    On failure, no files and no new folders remain. Temporary folders of killed processes are
    removed by the next process that writes to the same folder.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _clear_abandoned(folder)
        with (
            tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=folder) as temporary,
            _locked(Path(temporary), tolerant=True),
        ):
            yield Path(temporary)
            for file in sorted(Path(temporary).iterdir()):
                replace_file(file, folder / file.name)
    except BaseException:
        with suppress(OSError):  # not created, or other processes have written to it since
            for path in missing:
                path.rmdir()
        raise


@contextmanager
def _locked(folder: Path, *, tolerant: bool) -> Iterator[None]:
    """Lock a folder while this process uses it; OSError if another process has the lock.

    With `tolerant`, go on without a lock: not every file system has them.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError) if tolerant else nullcontext():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _clear_abandoned(folder: Path) -> None:
    """Delete the temporary folders of killed processes: unlocked and not created just now."""
    if fcntl is None:
        return
    for abandoned in folder.glob(f"{_UNFINISHED}*"):
        with suppress(OSError):
            if time.time() - abandoned.stat().st_mtime > _SECONDS_TO_LOCK:
                with _locked(abandoned, tolerant=False):
                    shutil.rmtree(abandoned)


def write_table(frame: Any, path: Path | None, *, escape_formulas: bool = False) -> None:
    """Write a data frame in the format of the file name, or as CSV on standard output.

    Numbers in CSV have the shortest digits that give the same float64 back. If formulas are
    escaped, a spreadsheet shows all text of a CSV file as text.
    """
    if escape_formulas:
        frame = _without_formulas(frame)
    if path is None:
        answer(_as_csv(frame).removesuffix("\n"))
        return
    name = path.name.lower()
    if name.endswith(".csv"):
        data = _as_csv(frame).encode()
    elif name.endswith(".csv.gz"):
        data = gzip.compress(_as_csv(frame).encode(), mtime=0)
    else:
        buffer = io.BytesIO()
        write = frame.to_parquet if name.endswith(".parquet") else frame.to_feather
        write(buffer)
        data = buffer.getvalue()
    write_atomically(str(path), data)


def _without_formulas(frame: Any) -> Any:
    """Put an apostrophe before text, in cells and in names, that a spreadsheet would evaluate."""

    def escaped(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

    texts = frame.select_dtypes(exclude=["number", "bool"])
    columns = {name: texts[name].astype(object).map(escaped) for name in texts}
    return frame.assign(**columns).rename(columns=escaped)


def _as_csv(frame: Any) -> str:
    return str(frame.to_csv(index=False, lineterminator="\n"))
