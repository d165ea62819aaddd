"""What a user sees while rounds run: a bar with the time left and the metric, lines, or nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from hedgerow.boosting.callbacks import RoundInfo


class Progress(Protocol):
    """Shows a round."""

    def show(self, info: RoundInfo) -> None:
        """Show a finished round."""


class Lines:
    """A line on standard error every `every` rounds, and for the last one."""

    def __init__(self, every: int) -> None:
        self.every = every

    def show(self, info: RoundInfo) -> None:
        """Print the round and its metrics when it is due."""
        if info.round % self.every == 0 or info.round == info.n_rounds:
            print(f"round {info.round}/{info.n_rounds}  {_metrics(info)}".rstrip(), file=sys.stderr)


class Bar:
    """A rich progress bar."""

    def __init__(self, bar: Any, n_rounds: int, done: int) -> None:
        self.bar = bar
        self.task = bar.add_task("boosting", total=n_rounds, completed=done, metrics="")

    def show(self, info: RoundInfo) -> None:
        """Move the bar."""
        self.bar.update(self.task, completed=info.round, metrics=_metrics(info))


@contextmanager
def progress(verbose: int, n_rounds: int, done: int) -> Iterator[Progress | None]:
    """Give the best display there is for rounds `done` to `n_rounds`; none if not verbose."""
    if not verbose:
        yield None
        return
    rich_progress = _rich_progress() if sys.stderr.isatty() else None
    if rich_progress is None:
        yield Lines(int(verbose))
        return
    with rich_progress as bar:
        yield Bar(bar, n_rounds, done)


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


def _metrics(info: RoundInfo) -> str:
    return "  ".join(
        f"{of} {name} {value:.6g}"
        for of, values in info.metrics.items()
        for name, value in values.items()
    )
