"""Programs at every instruction-set level: here at that of this process, in others at the rest."""

import contextlib
import io
import json
import os
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from unittest import mock

import pytest
from hedgerow._native.cpu import isa_level

from hedgerow import _native

OTHERS = [level for level in _native.LEVELS if level <= isa_level() and level != _native.level]
ONE_LEVEL = "this build has one instruction-set level for this processor"


def printed_at_every_level(code):
    """Return what code prints at each level. It can import test modules, as in `tree.test_x`.

    Skip the test if there is one level only.
    """
    if not OTHERS:
        pytest.skip(ONE_LEVEL)
    return [_printed_here(code), *(_printed_elsewhere(level, code) for level in OTHERS)]


def printed_with_any_threads(code):
    """Return what code, which is told a number of threads, prints at each level.

    Each run has another number: whatever depends on threads or level differs from the first.
    """
    elsewhere = zip(OTHERS, (2, 3), strict=False)
    here = [_printed_here(code, n_threads) for n_threads in (1, 8)]
    return here + [_printed_elsewhere(level, code, n_threads) for level, n_threads in elsewhere]


def printed_by_another_process(code):
    """Return what code prints in a process at this level, in which other programs may have run."""
    return _printed_elsewhere(_native.level, code)


def _printed_here(code, *arguments):
    patched_argv = mock.patch.object(sys, "argv", ["-c", *map(str, arguments)])
    with (
        patched_argv,
        contextlib.redirect_stdout(io.StringIO()) as printed,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        exec(code, {})
    return printed.getvalue()


def _printed_elsewhere(level, code, *arguments):
    process = _process_at(level)
    process.stdin.write(json.dumps([code, *map(str, arguments)]) + "\n")
    process.stdin.flush()
    try:
        answer = process.stdout.readline()
    except BaseException:  # the time limit of a test
        process.kill()
        answer = ""
        raise
    finally:
        if not answer:
            _process_at.cache_clear()  # other tests get a new one
    assert answer, f"the process at level {level} has ended"
    printed, failure = json.loads(answer)
    assert failure is None, failure
    return printed


# Runs one program after the other: most of them take less time than a process takes to import.
_SERVE = """
import contextlib, io, json, sys, traceback
sys.path[:] = json.loads(sys.argv[1])
answers, programs = sys.stdout, sys.stdin
for line in programs:
    code, *arguments = json.loads(line)
    sys.argv = ["-c", *arguments]
    failure = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            exec(code, {"__name__": "__main__"})
        except BaseException:
            failure = traceback.format_exc()
    print(json.dumps([printed.getvalue(), failure]), file=answers, flush=True)
"""


@cache
def _process_at(level):
    """Start a process at a level, which ends when its standard input is closed: with this one."""
    path = json.dumps([str(Path(__file__).parent), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _SERVE, path],
        env=os.environ | {"HEDGEROW_ISA": level},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
