"""What readers say of a file that is not what it should be → one kind of error."""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from hedgerow.exceptions import DataError

_OF_CONTENT = (ValueError, OverflowError, EOFError, zlib.error, csv.Error, pa.ArrowException)


@contextmanager
def read_as(path: Path, what: str) -> Iterator[None]:
    """Let whatever a reader of `what`, such as "a CSV file", says of the content be a `DataError`.

    Errors of the system, such as a file that may not be read, stay what they are.
    """
    try:
        yield
    except DataError:
        raise
    except UnicodeDecodeError as error:
        at = f"byte {error.object[error.start]:#x} at position {error.start}"
        raise DataError(f"{path} is not {what} in UTF-8: {at}.") from error
    except (*_OF_CONTENT, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{path} is not {what}, or is damaged: {error}") from error


def require_distinct(names: Sequence[str], path: Path) -> None:
    """Refuse two columns of one name."""
    seen = set()
    for name in names:
        if name in seen:
            raise DataError(f"{path} has more than one column named {name!r}.")
        seen.add(name)
