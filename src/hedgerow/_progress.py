"""What a user sees of long work: a bar with the time left and the metric, lines, or nothing."""

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

# A log is read afterwards: it shall neither be long nor be filled faster than one can read.
MOST_LINES, SECONDS_BETWEEN = 20, 2.0
# Slow work gives a sign of life meanwhile.
SECONDS_OF_SILENCE = 30.0


class Progress(Protocol):
    """Shows how far the work has come."""

    def show(self, done: int, metrics: Metrics = NO_METRICS) -> None:
        """Show that so many rounds or trees are done, with ``metrics[set][metric]`` so far."""


class Lines:
    """Lines on standard error, one every `every` rounds, and one for the last.

    If `every` is 1 and there are many rounds, lines are as few as a log bears: one for each
    twentieth of the rounds, and no two within a second or two. The first one comes as soon as
    that, and none is longer than half a minute in coming.
    """

    def __init__(self, unit: str, total: int, done: int, every: int) -> None:
        self.unit = unit
        self.total = total
        self.done = done
        is_log = every == 1 and total - done > MOST_LINES
        self.every = -(-(total - done) // MOST_LINES) if is_log else every
        self.seconds = SECONDS_BETWEEN if is_log else 0.0
        self.printed_at = monotonic()
        self.is_first = True
        self.waiting = ""

    def show(self, done: int, metrics: Metrics = NO_METRICS) -> None:
        """Print how far it is and the metrics when that is due."""
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
        """Print how far it came, unless that has been done."""
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
    """Give the best display there is for work from `done` to `total`; none if not verbose."""
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
        bar.refresh()  # rich shows the last step in terminals only


def watched(
    items: Iterable[Item], total: int, verbose: int, *, unit: str, title: str
) -> Iterator[Item]:
    """Yield items, and show how many of them are done: each is when the next is asked for."""
    with progress(verbose, total, unit=unit, title=title) as shown:
        for done, item in enumerate(items, 1):
            yield item
            if shown is not None:
                shown.show(done)


def _in_notebook() -> bool:
    """Tell whether a notebook shows what is printed, and has the widgets that rich draws with."""
    ipython = sys.modules.get("IPython")  # which a notebook has imported
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
