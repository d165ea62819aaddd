"""The program: its commands, and how whatever goes wrong becomes one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import click

import hedgerow
from hedgerow.cli.commands import COMMANDS
from hedgerow.cli.options import Run
from hedgerow.exceptions import HedgerowError

FINE, UNEXPECTED, BAD_INPUT, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143

_NEEDED = ("pandas", "pyarrow")  # by commands, beside what the library needs


class _InOrder(click.Group):
    """Commands in the order in which they are used, not by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click passes it
        """Return the names of the commands."""
        return list(self.commands)


@click.group(
    cls=_InOrder,
    commands=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(hedgerow.__version__, message="%(prog)s %(version)s")
def program() -> None:
    """Learn from tables: train a model on a file, predict, look at it.

    Exit codes: 0 fine, 2 bad input, 130 interrupted, 143 terminated, 1 anything else.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors are a line on standard error."""
    this = Run()
    with _standard_error(), _one_line_warnings():
        try:
            with _terminable():
                program.main(arguments, "hedgerow", standalone_mode=False, obj=this)
        except click.Abort:
            click.echo("hedgerow: interrupted", err=True)
            return INTERRUPTED
        except _Terminated:
            click.echo("hedgerow: terminated", err=True)
            return TERMINATED
        except Exception as error:  # noqa: BLE001  the last one who could catch it
            if this.debug:
                traceback.print_exception(error)
            return _report(error)
    return FINE


def _report(error: Exception) -> int:
    """Say in a line what went wrong, and return the exit code that it means."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return BAD_INPUT
    if isinstance(error, BrokenPipeError):  # whoever reads has had enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNEXPECTED
    if isinstance(error, click.ClickException):
        _complain(error.format_message())
        return BAD_INPUT
    if isinstance(error, HedgerowError):
        _complain(str(error))
        return BAD_INPUT
    if isinstance(error, OSError) and error.strerror:
        _complain(error.strerror + ("" if error.filename is None else f": {error.filename}"))
        return BAD_INPUT
    if isinstance(error, ModuleNotFoundError) and error.name in _NEEDED:
        _complain(f"the command line needs {error.name}: pip install 'hedgerow[cli]'")
        return UNEXPECTED
    if isinstance(error, ImportError):  # of what is optional
        _complain(str(error))
        return UNEXPECTED
    if isinstance(error, MemoryError):
        _complain("there is not enough memory.")
        return UNEXPECTED
    _complain(f"unexpected: {type(error).__name__}: {error} (--debug shows where)")
    return UNEXPECTED


def _complain(message: str) -> None:
    click.echo(f"hedgerow: error: {' '.join(message.split())}", err=True)


class _Terminated(BaseException):
    """The process was asked to end; no handler of errors shall take it for one."""


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM be an exception, so that files that are not whole are cleared away."""

    def end(*_: Any) -> None:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may ask for signals
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _standard_error() -> Iterator[None]:
    """Let what is said on the way go nowhere if standard error is closed."""
    if sys.stderr is not None:
        yield
        return
    with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
        yield


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Let warnings of the library be lines on standard error, and keep quiet about others'."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        click.echo(f"hedgerow: warning: {' '.join(str(message).split())}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("default", category)
        warnings.showwarning = show
        yield
