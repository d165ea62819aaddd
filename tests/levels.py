"""Programs at the instruction-set levels that this processor runs, each in its own process."""

import os
import subprocess
import sys
from pathlib import Path

from hedgerow._native.cpu import isa_level

from hedgerow._native import LEVELS

LOWER, HIGHEST = [level for level in LEVELS if level < isa_level()], isa_level()


def printed(level, code, *arguments):
    """Run code at a level; return what it prints. It can import test modules, as `tree.test_x`."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {"HEDGEROW_ISA": level, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def printed_at_every_level(code):
    """Return what code prints at each level."""
    return [printed(level, code) for level in (*LOWER, HIGHEST)]


def printed_with_any_threads(code):
    """Return what code, which is told a number of threads, prints at each level.

    Each run has another number: whatever depends on threads or level differs from the first.
    """
    runs = [(HIGHEST, 1), (HIGHEST, 8), *zip(LOWER, (2, 3), strict=False)]
    return [printed(level, code, n_threads) for level, n_threads in runs]
