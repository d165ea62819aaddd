"""Renaming a file to a name that another file has, on every operating system."""

from __future__ import annotations

import time
from pathlib import Path

# Windows refuses (access denied, sharing violation) while anybody has the other file open: a
# reader, a virus scanner or the search index, which most often need a fraction of a second.
_IN_USE = (5, 32)
_PATIENCE = 2.0  # seconds
_PAUSE = 0.02


def replace_file(source: Path, target: Path) -> None:
    """Rename a file, replacing the target; if somebody has this open on Windows, wait a while."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            source.replace(target)
        except PermissionError as error:
            if getattr(error, "winerror", None) not in _IN_USE or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)
        else:
            return
