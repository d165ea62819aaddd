"""CatBoost's binary format (cbm) → CatBoost's JSON, by CatBoost's own loader.

The loader is native code that trusts the file: a damaged or truncated one makes it read beyond its
buffer, which often ends the process. It therefore runs in a process of its own (`cbm_child.py`), a
fresh interpreter, which is safe to start from any thread and in the child of a fork.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from hedgerow.exceptions import ModelFileError

_CHILD = Path(__file__).with_name("cbm_child.py")
# Importing catboost takes 1 s, on a busy machine ten times that; 20 MB are read in a second.
SECONDS = 120.0
_SECONDS_PER_BYTE = 1e-6
_MOST_LETTERS = 1_000  # of an error
_FIRST_EXCEPTION = 0xC0000000  # of the exit codes of Windows


def json_of_cbm(data: bytes) -> bytes:
    """Return the JSON of a model in binary format, or raise ModelFileError."""
    if find_spec("catboost") is None:
        _refuse("which can only be read if catboost is installed. Install it, or")
    if not sys.executable or getattr(sys, "frozen", False):
        _refuse("which is read by a Python interpreter of its own, and this program has none. So")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        _convert(data, path)
        return path.read_bytes()


def _refuse(why: str) -> NoReturn:
    raise ModelFileError(
        f"the file is a CatBoost model in binary format, {why} save the model as JSON: "
        "save_model(path, format='json')."
    )


def _convert(data: bytes, path: Path) -> None:
    """Let a child process write the JSON to a path."""
    command = [sys.executable, "-I", str(_CHILD), json.dumps(list(map(str, sys.path))), str(path)]
    seconds = SECONDS + _SECONDS_PER_BYTE * len(data)
    try:
        child = subprocess.run(command, input=data, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise ModelFileError(f"CatBoost has not read the file after {seconds:.0f} s.") from None
    if crash := _crash(child.returncode):
        raise ModelFileError(
            f"CatBoost's loader crashed on the file ({crash}), which is probably damaged."
        )
    if child.returncode > 0:
        output = child.stderr.decode(errors="replace").strip()[-_MOST_LETTERS:]
        raise ModelFileError(f"CatBoost cannot read the file: {output}")


def _crash(code: int) -> str | None:
    """Return the signal, or on Windows the exception, that has ended a process, if one has."""
    if code >= _FIRST_EXCEPTION:
        return f"exception {code:#x}"
    if code >= 0:
        return None
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
