"""The program: its commands, and how errors become one line and an exit code."""

from __future__ import annotations

import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click

import hedgerow
from hedgerow._cli.commands import COMMANDS
from hedgerow._cli.options import Run
from hedgerow._cli.streams import broken_pipes, drop_unwritten, standard_streams
from hedgerow.exceptions import HedgerowError

FINE, UNEXPECTED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
# Signals that terminate the process: message and exit code, as shells number them.
_TERMINATING = {signal.SIGTERM: ("terminated", 143)}
if hasattr(signal, "SIGHUP"):  # the terminal was closed
    _TERMINATING[signal.SIGHUP] = ("hung up", 129)

_REQUIRED = ("pandas", "pyarrow")  # by commands, in addition to the dependencies of the library


class _InOrder(click.Group):
    """Commands in order of use, not by name."""

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
    """Train models on tables; predict, evaluate and explain.

    Exit codes: 0 success, 2 invalid input, 130 interrupted, 143 terminated, 129 terminal closed,
    1 any other error.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors are a line on standard error."""
    with standard_streams(), _one_line_warnings():
        try:
            return _exit_code(arguments, Run())
        finally:
            drop_unwritten()


def _exit_code(arguments: Sequence[str] | None, this: Run) -> int:
    try:
        with _ending_signals(), broken_pipes():
            program.main(arguments, "hedgerow", standalone_mode=False, obj=this)
            sys.stdout.flush()
    except click.Abort:
        _say("hedgerow: interrupted")
        return INTERRUPTED
    except _Terminated as end:
        message, code = _TERMINATING[end.signal]
        _say(f"hedgerow: {message}")
        return code
    except Exception as error:  # noqa: BLE001  the last place to catch it
        if this.debug:
            with suppress(OSError):
                traceback.print_exception(error)
        return _report(error)
    return FINE


def _report(error: Exception) -> int:
    """Print an error as one line and return its exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return BAD_INPUT
    if isinstance(error, BrokenPipeError):  # the reader has closed the pipe, as `head` does
        return UNEXPECTED
    message, code = _explained(error)
    _say(f"hedgerow: error: {' '.join(message.split())}")
    return code


def _explained(error: Exception) -> tuple[str, int]:
    """Return an error as text, and its exit code."""
    if isinstance(error, click.ClickException):
        return error.format_message(), BAD_INPUT
    if isinstance(error, HedgerowError):
        return str(error), BAD_INPUT
    if isinstance(error, OSError) and error.strerror:
        return error.strerror + ("" if error.filename is None else f": {error.filename}"), BAD_INPUT
    if isinstance(error, ModuleNotFoundError) and error.name in _REQUIRED:
        needed = f"the command line needs {error.name}: pip install click pandas pyarrow rich"
        return needed, UNEXPECTED
    if isinstance(error, ImportError):  # an optional dependency
        return str(error), UNEXPECTED
    if isinstance(error, MemoryError):
        return "not enough memory.", UNEXPECTED
    return f"unexpected {type(error).__name__}: {error} (--debug shows the traceback)", UNEXPECTED


def _say(line: str) -> None:
    """Print a line on standard error; if that fails, the exit code alone reports the error."""
    with suppress(OSError):
        click.echo(line, err=True)


class _Terminated(BaseException):
    """A signal to terminate; not an Exception, so that no error handler catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)


@contextmanager
def _ending_signals() -> Iterator[None]:
    """Raise terminating signals as exceptions, so that unfinished files are removed.

    A signal that the parent process ignores stays ignored: `nohup` ignores SIGHUP, and shells
    ignore SIGINT in background jobs.
    """

    def end(number: int, _: Any) -> None:
        raise _Terminated(number)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set signal handlers
        return
    before = {number: signal.getsignal(number) for number in _TERMINATING}
    defaults = {number: then for number, then in before.items() if then == signal.SIG_DFL}
    for number in defaults:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, then in defaults.items():
            signal.signal(number, then)


def _is_repeated(text: str, columns: set[str]) -> bool:
    """Tell whether a warning is about numbers or dates in a column that was warned about before."""
    is_about_type = re.search(r"number|numeric|date", text) is not None
    return is_about_type and any(repr(column) in text for column in columns)


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Print warnings of the library as lines on standard error, and ignore those of others.

    A column that was warned about when its file was read (with the options that help) is not
    warned about again when the model is fitted.
    """
    columns: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        warned = getattr(message, "columns", ())
        if not warned and _is_repeated(str(message), columns):
            return
        columns.update(warned)
        _say(f"hedgerow: warning: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("default", category)
        warnings.showwarning = show
        yield
