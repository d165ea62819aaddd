"""Standard output and standard error that are closed, full, or a broken pipe.

The interpreter flushes both when it exits, and turns a failure into a message and an exit code of
its own. Failures are therefore detected here, while they can still be reported, and what remains
in a buffer is dropped.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any


class ClosedOutput(io.TextIOBase):
    """Standard output that is closed: every write is an error."""

    def write(self, text: str) -> int:  # noqa: ARG002  nothing can be done with it
        """Raise OSError."""
        raise OSError(errno.EBADF, "standard output is closed")


@contextmanager
def standard_streams() -> Iterator[None]:
    """Replace closed streams: results need standard output, messages may be lost."""
    if sys.stdout is None or sys.stderr is None:
        _occupy_descriptors()
    if os.name == "nt":
        use_utf8(sys.stdout)
    with Path(os.devnull).open("w") as nowhere:
        out = ClosedOutput() if sys.stdout is None else sys.stdout
        err = nowhere if sys.stderr is None else sys.stderr
        with redirect_stdout(out), redirect_stderr(err):
            yield


def use_utf8(stream: Any) -> None:
    """Let a stream that goes into a file or a pipe write what it would on Linux.

    Windows translates ends of lines, and its code pages lack letters of columns and of bars.
    """
    if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8", newline="\n")


def _occupy_descriptors() -> None:
    """Keep new files from getting the descriptor of a closed stream, and its output."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest free number: this one


@contextmanager
def broken_pipes() -> Iterator[None]:
    """Raise BrokenPipeError where click would exit: it replaces both streams in that case."""
    out, err = sys.stdout, sys.stderr
    try:
        yield
    except SystemExit:
        if sys.stdout is out:
            raise
        sys.stdout, sys.stderr = out, err
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None


def drop_unwritten() -> None:
    """Empty the buffers of both streams, so that nothing is left to fail at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # a stream that was closed in the meantime
            with suppress(OSError, ValueError):
                _flush_into_nothing(stream)


def _flush_into_nothing(stream: Any) -> None:
    """Flush a stream into the null device, then restore its descriptor."""
    descriptor = stream.fileno()
    copy, nowhere = os.dup(descriptor), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, descriptor)
        stream.flush()
    finally:
        os.dup2(copy, descriptor)
        os.close(copy)
        os.close(nowhere)
