"""What is shown and written: lines or one JSON object, and files that are whole or not there."""

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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import click

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from hedgerow._cli.choices import TABLE_ENDS
from hedgerow._cli.streams import ClosedOutput
from hedgerow._model_file.atomic import write_atomically
from hedgerow._model_file.values import encode
from hedgerow.exceptions import ParameterError

_UNFINISHED = ".hedgerow-unfinished-"  # how names of folders begin whose files are not all there
_SECONDS_TO_LOCK = 10  # in which a process locks the folder that it has made


def say(line: str) -> None:
    """Tell on standard error what is going on."""
    click.echo(line, err=True)


def to_json(value: Any) -> str:
    """Return JSON, with what it has no word for as `hedgerow._model_file.values` has it.

    What is not a number, such as a metric that rows do not allow, is null.
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
    """Print what was asked for. If standard output is closed, it was for nothing."""
    click.echo(text)


def summarise(text: str) -> None:
    """Print what was done, unless standard output is closed: the files are what matters."""
    if not isinstance(sys.stdout, ClosedOutput):
        click.echo(text)


def answer_json(value: Any) -> None:
    """Print one JSON object."""
    answer(to_json(value))


def number(value: float) -> str:
    """Return a number with four digits, or a dash for what is none."""
    return f"{value:.4g}" if math.isfinite(value) else "–"


def count(number_of: int, thing: str) -> str:
    """Return how many there are: 1 row, 2,000 rows."""
    return f"{number_of:,} {thing}" + ("" if number_of == 1 else "s")


def lines_of(fields: Mapping[str, str]) -> str:
    """Return names and texts in two columns; texts of several lines stay in theirs."""
    width = max(map(cells, fields))
    indent = "\n" + " " * (width + 2)
    return "\n".join(
        f"{padded(name, width)}  {text}".replace("\n", indent) for name, text in fields.items()
    )


def padded(text: str, width: int) -> str:
    """Return a text padded with spaces to the width of a terminal column."""
    return text + " " * (width - cells(text))


def cells(text: str) -> int:
    """Return how wide a terminal shows a text: signs of East Asia fill two cells."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def size_of(path: Path) -> str:
    """Return a file's size as people say it."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


def require_folder(folder: Path) -> None:
    """Raise before any work if files could not be written there; make nothing yet."""
    found = folder.absolute()
    while not found.exists():
        found = found.parent
    if not found.is_dir():
        raise ParameterError(f"cannot write into {folder}: {found} is not a folder.")
    if not os.access(found, os.W_OK | os.X_OK):
        raise ParameterError(f"cannot write into {folder}: no permission in {found}.")


def require_file(path: Path) -> None:
    """Raise before any work if a file could not be written there."""
    if path.is_dir():
        raise ParameterError(f"cannot write {path}: it is a folder.")
    if not path.absolute().parent.is_dir():
        raise ParameterError(f"cannot write {path}: there is no folder {path.parent}.")
    require_folder(path.parent)


def require_table_name(path: Path | None) -> None:
    """Raise before any work if a table cannot be written there, or not as what its name says."""
    if path is None:
        return
    require_file(path)
    if not path.name.lower().endswith(TABLE_ENDS):
        raise ParameterError(f"cannot write {path}: its name must end in {', '.join(TABLE_ENDS)}.")


@contextmanager
def all_or_nothing(folder: Path) -> Iterator[Path]:
    """Give a folder to write files into, which move to `folder` if nothing fails.

    If anything does, there are no files, and no folder that was not there before. What a process
    leaves behind that is killed meanwhile is cleared away by the next one that writes there.
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
                file.replace(folder / file.name)
    except BaseException:
        with suppress(OSError):  # it was not made, or holds what others have written since
            for path in missing:
                path.rmdir()
        raise


@contextmanager
def _locked(folder: Path, *, tolerant: bool) -> Iterator[None]:
    """Mark a folder as that of a living process; OSError if it is another's, or cannot be marked.

    A tolerant one goes on without: not every file system has locks.
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
    """Delete what killed processes left: folders that are nobody's and have not just been made."""
    if fcntl is None:
        return
    for left in folder.glob(f"{_UNFINISHED}*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _SECONDS_TO_LOCK:
                with _locked(left, tolerant=False):
                    shutil.rmtree(left)


def write_table(frame: Any, path: Path | None) -> None:
    """Write a data frame as what the file's name says, or as CSV on standard output.

    CSV has the shortest digits that give the same float64 back.
    """
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


def _as_csv(frame: Any) -> str:
    return str(frame.to_csv(index=False, lineterminator="\n"))
