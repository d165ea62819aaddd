"""Programs at every instruction-set level: here at that of this process, in others at the rest."""

import contextlib
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

from hedgerow._native.cpu import isa_level

from hedgerow._native import LEVELS

HERE = os.environ.get("HEDGEROW_ISA", isa_level())
OTHERS = [level for level in LEVELS if level <= isa_level() and level != HERE]


def printed_at_every_level(code):
    """Return what code prints at each level. It can import test modules, as in `tree.test_x`."""
    return [_printed_here(code), *(_printed_elsewhere(level, code) for level in OTHERS)]


def printed_with_any_threads(code):
    """Return what code, which is told a number of threads, prints at each level.

    Each run has another number: whatever depends on threads or level differs from the first.
    """
    elsewhere = zip(OTHERS, (2, 3), strict=False)
    here = [_printed_here(code, n_threads) for n_threads in (1, 8)]
    return here + [_printed_elsewhere(level, code, n_threads) for level, n_threads in elsewhere]


def _printed_here(code, *arguments):
    told = mock.patch.object(sys, "argv", ["-c", *map(str, arguments)])
    with told, contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, {})
    return printed.getvalue()


def _printed_elsewhere(level, code, *arguments):
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)],
        env=os.environ | {"HEDGEROW_ISA": level, "PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
