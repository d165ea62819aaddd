"""What a user sees of long work: a bar with the time left and the metric, lines, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

Metrics = Mapping[str, Mapping[str, float]]
NO_METRICS: Metrics = {}


class Progress(Protocol):
    """Shows how far the work has come."""

    def show(self, done: int, metrics: Metrics = NO_METRICS) -> None:
        """Show that so many rounds or trees are done, with ``metrics[set][metric]`` so far."""


class Lines:
    """A line on standard error every `every` rounds, and for the last one."""

    def __init__(self, unit: str, total: int, done: int, every: int) -> None:
        self.unit = unit
        self.total = total
        self.shown = done
        self.every = every

    def show(self, done: int, metrics: Metrics = NO_METRICS) -> None:
        """Print how far it is and the metrics when that is due."""
        is_due = done // self.every > self.shown // self.every or done == self.total
        self.shown = done
        if is_due:
            line = f"{self.unit} {done}/{self.total}  {_as_text(metrics)}".rstrip()
            print(line, file=sys.stderr)


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
    rich_progress = _rich_progress() if sys.stderr.isatty() else None
    if rich_progress is None:
        yield Lines(unit, total, done, int(verbose))
        return
    with rich_progress as bar:
        yield Bar(bar, title, total, done)


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
