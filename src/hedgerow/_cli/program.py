"""The program: its commands, and how whatever goes wrong becomes one line and an exit code."""

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
# Signals that ask a process to end: what is said, and the exit code, as shells number them.
_ENDING = {signal.SIGTERM: ("terminated", 143)}
if hasattr(signal, "SIGHUP"):  # the terminal was closed
    _ENDING[signal.SIGHUP] = ("hung up", 129)

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

    Exit codes: 0 fine, 2 bad input, 130 interrupted, 143 terminated, 129 terminal closed, 1
    anything else.
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
    except _Ended as end:
        said, code = _ENDING[end.signal]
        _say(f"hedgerow: {said}")
        return code
    except Exception as error:  # noqa: BLE001  the last one who could catch it
        if this.debug:
            with suppress(OSError):
                traceback.print_exception(error)
        return _report(error)
    return FINE


def _report(error: Exception) -> int:
    """Say in a line what went wrong, and return the exit code that it means."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return BAD_INPUT
    if isinstance(error, BrokenPipeError):  # whoever reads has had enough, as `head` does
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
    _say(f"hedgerow: error: {' '.join(message.split())}")


def _say(line: str) -> None:
    """Print a line on standard error; if that fails, the exit code alone has to tell."""
    with suppress(OSError):
        click.echo(line, err=True)


class _Ended(BaseException):
    """The process was asked to end; no handler of errors shall take it for one."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = signal.Signals(number)


@contextmanager
def _ending_signals() -> Iterator[None]:
    """Let signals that end a process be exceptions, so that unfinished files are cleared away.

    One that is ignored stays ignored, as whoever started the process wanted: `nohup` ignores
    SIGHUP, and a shell SIGINT of a job in the background.
    """

    def end(number: int, _: Any) -> None:
        raise _Ended(number)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may ask for signals
        return
    before = {number: signal.getsignal(number) for number in _ENDING}
    heeded = {number: then for number, then in before.items() if then == signal.SIG_DFL}
    for number in heeded:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, then in heeded.items():
            signal.signal(number, then)


def _says_again(text: str, columns: set[str]) -> bool:
    """Tell whether a warning is of numbers or dates in a column that was spoken of."""
    is_of_kind = re.search(r"number|numeric|date", text) is not None
    return is_of_kind and any(repr(column) in text for column in columns)


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Let warnings of the library be lines on standard error, and keep quiet about others'.

    What was said of a column when its file was read, where the options that help are known, is
    not said again when it is fitted.
    """
    columns: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        column = getattr(message, "column", None)
        if column is None and _says_again(str(message), columns):
            return
        columns.update([] if column is None else [column])
        _say(f"hedgerow: warning: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("default", category)
        warnings.showwarning = show
        yield
