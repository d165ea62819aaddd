"""What several commands take: files, the columns that are no features, how to answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from hedgerow._cli.choices import FORMATS

Command = TypeVar("Command", bound=Callable[..., Any])

FILE: Any = click.Path(path_type=Path)
STANDARD = Path("-")  # standard input or output, where a file may be named


def source_name(path: Path) -> str:
    """Return what messages call a file that is read."""
    return "standard input" if path == STANDARD else str(path)


class Part(click.FloatRange):
    """A part of 1, which NaN is not."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


@dataclass
class Run:
    """What is known of this run of the program beside the arguments of its command."""

    debug: bool = False


@dataclass(frozen=True)
class Reading:
    """How a file of rows is read: the options that say so, and what a model knows of its columns.

    `kind` is the format, `header` whether the first line is names (None: if it does not look like
    numbers), `na` are strings that mean a missing value, `names` the columns of a model;
    `may_be_empty` takes a table without rows, of which nothing can be learned, but all predicted.
    """

    kind: str | None = None
    header: bool | None = None
    na: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    may_be_empty: bool = False

    def like(self, model: Any) -> Reading:
        """Return how files for a model are read: what was missing for its training still is."""
        stored = getattr(model, "na_values_", ())
        return replace(self, na=tuple(dict.fromkeys((*stored, *self.na))))


def _set_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.ensure_object(Run).debug = value


def debug_option(command: Command) -> Command:
    """Add --debug."""
    return click.option(
        "--debug",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_set_debug,
        help="Show the traceback of an error.",
    )(command)


def json_option(command: Command) -> Command:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def threads_option(command: Command) -> Command:
    """Add --threads."""
    return click.option(
        "--threads", type=click.IntRange(1, 2**31 - 1), help="Default: all available CPUs."
    )(command)


def _split(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return all values of an option that is repeated, or has commas between its values."""
    values = (value.strip() for text in given for value in text.split(","))
    return tuple(dict.fromkeys(value for value in values if value))


def reading_options(command: Command) -> Command:
    """Add the options of `Reading`: --format, --header, --no-header and --na."""
    for option in (
        click.option(
            "--na",
            multiple=True,
            metavar="VALUE,...",
            callback=_split,
            help="More values that mean missing; may be repeated. The model remembers them.",
        ),
        click.option(
            "--header/--no-header",
            default=None,
            help="CSV: whether the first line has column names. If not, they are x0, x1, ...",
        ),
        click.option(
            "--format",
            "kind",
            type=click.Choice(list(FORMATS)),
            help="Format of DATA, if its file name does not show it.",
        ),
    ):
        command = option(command)
    return command


def positive_option(what: str) -> Callable[[Command], Command]:
    """Add --positive-class, and say in its help what it does."""
    return click.option("--positive-class", "positive", metavar="CLASS", help=what)


def truth_options(command: Command) -> Command:
    """Add the options that name columns of the truth: --target, --event, --qid and --weights."""
    for option in (
        click.option(
            "--drop-missing-target",
            is_flag=True,
            help="Skip rows without a target; otherwise they are an error.",
        ),
        click.option("--weights", metavar="COL", help="Column of sample weights."),
        click.option("--qid", metavar="COL", help="Ranking: column of query ids."),
        click.option(
            "--event",
            metavar="COL",
            help="Survival: column that is true if the event occurred; the target is the time.",
        ),
        click.option(
            "--target",
            metavar="COL",
            help="Column to predict. Not needed for SVMlight files.",
        ),
    ):
        command = option(command)
    return command
