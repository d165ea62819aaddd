"""Progress display: a bar with the remaining time and the metrics, log lines, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic
from typing import Any, Protocol, TypeVar

Metrics = Mapping[str, Mapping[str, float]]
NO_METRICS: Metrics = {}
Item = TypeVar("Item")

# Limits of a log: number of lines, and seconds between two of them.
MAX_LINES, SECONDS_BETWEEN = 20, 2.0
# A slow fit prints a line at least this often.
SECONDS_OF_SILENCE = 30.0


class Progress(Protocol):
    """A display of the number of finished steps."""

    def show(self, done: int, metrics: Metrics = NO_METRICS) -> None:
        """Show that `done` rounds or trees are finished, with ``metrics[set][metric]``."""


class Lines:
    """Lines on standard error, one every `every` rounds, and one for the last.

    If `every` is 1 and there are many rounds, lines are limited to one per twentieth of the rounds
    and one per two seconds. The first line is printed as soon as that allows, and later ones at
    least every half minute.
    """

    def __init__(self, unit: str, total: int, done: int, every: int) -> None:
        self.unit = unit
        self.total = total
        self.done = done
        is_log = every == 1 and total - done > MAX_LINES
        self.every = -(-(total - done) // MAX_LINES) if is_log else every
        self.seconds = SECONDS_BETWEEN if is_log else 0.0
        self.printed_at = monotonic()
        self.is_first = True
        self.waiting = ""

    def show(self, done: int, metrics: Metrics = NO_METRICS) -> None:
        """Print the number of finished rounds and the metrics, if a line is due."""
        self.waiting = f"{self.unit} {done}/{self.total}  {_as_text(metrics)}".rstrip()
        if not self._is_due(done):
            return
        self.done = done
        self.end()

    def _is_due(self, done: int) -> bool:
        silence = monotonic() - self.printed_at
        is_log, is_next = self.seconds > 0.0, done // self.every != self.done // self.every
        is_slow = is_log and (self.is_first or silence >= SECONDS_OF_SILENCE)
        return (is_next or is_slow) and silence >= self.seconds

    def end(self) -> None:
        """Print the last line, unless it has been printed."""
        if self.waiting:
            print(self.waiting, file=sys.stderr)
            self.waiting, self.printed_at, self.is_first = "", monotonic(), False


class Bar:
    """A rich progress bar."""

    def __init__(self, bar: Any, title: str, total: int, done: int) -> None:
        self.bar = bar
        self.task = bar.add_task(title, total=total, completed=done, metrics="")

    def show(self, done: int, metrics: Metrics = NO_METRICS) -> None:
        """Move the bar."""
        self.bar.update(self.task, completed=done, metrics=_as_text(metrics))


@contextmanager
def progress(
    verbose: int, total: int, done: int = 0, *, unit: str = "round", title: str = "boosting"
) -> Iterator[Progress | None]:
    """Yield the best available display for steps `done` to `total`; None if not verbose."""
    if not verbose:
        yield None
        return
    rich_progress = _rich_progress() if sys.stderr.isatty() or _in_notebook() else None
    if rich_progress is None:
        lines = Lines(unit, total, done, int(verbose))
        yield lines
        lines.end()
        return
    with rich_progress as bar:
        yield Bar(bar, title, total, done)
        bar.refresh()  # rich shows the last step only in terminals


def with_progress(
    items: Iterable[Item], total: int, verbose: int, *, unit: str, title: str
) -> Iterator[Item]:
    """Yield items and show progress; an item is finished when the next is requested."""
    with progress(verbose, total, unit=unit, title=title) as display:
        for done, item in enumerate(items, 1):
            yield item
            if display is not None:
                display.show(done)


def _in_notebook() -> bool:
    """Return whether this is a notebook with the widgets that rich needs."""
    ipython = sys.modules.get("IPython")  # imported by a notebook
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None and find_spec("ipywidgets") is not None


def _rich_progress() -> Any:
    """Return a rich progress bar on standard error, or None where rich is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
    except ImportError:
        return None
    return RichProgress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[metrics]}"),
        console=Console(stderr=True),
    )


def _as_text(metrics: Metrics) -> str:
    return "  ".join(
        f"{of} {name} {value:.6g}"
        for of, values in metrics.items()
        for name, value in values.items()
    )
