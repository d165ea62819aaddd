"""Options that several commands share: files, columns that are not features, output formats."""

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
    """Return the name of an input file in messages."""
    return "standard input" if path == STANDARD else str(path)


class Fraction(click.FloatRange):
    """A number between 0 and 1; NaN is refused."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


@dataclass
class Run:
    """The state of this run of the program, beside the arguments of its command."""

    debug: bool = False


@dataclass(frozen=True)
class Reading:
    """How a data file is read: the options of the user and the columns of the model.

    `kind` is the format, `header` whether the first line has the column names (None: unless it
    looks like numbers), `na` are strings that mean a missing value, `names` the columns of the
    model. With `may_be_empty`, a table without rows is accepted: it can be predicted, not learned.
    """

    kind: str | None = None
    header: bool | None = None
    na: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    may_be_empty: bool = False

    def like(self, model: Any) -> Reading:
        """Return how files for a model are read: with the missing-value strings of its training."""
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


def _split(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values of an option that may be repeated, or have several with commas between."""
    values = (value.strip() for text in texts for value in text.split(","))
    return tuple(dict.fromkeys(value for value in values if value))


def reading_options(command: Command) -> Command:
    """Add the options of `Reading`: --format, --header, --no-header and --na."""
    for option in (
        click.option(
            "--na",
            multiple=True,
            metavar="VALUE,...",
            callback=_split,
            help="More values that mean missing; may be repeated. The model file stores them.",
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
    """Add --positive-class with this help."""
    return click.option("--positive-class", "positive", metavar="CLASS", help=what)


def truth_options(command: Command) -> Command:
    """Add the options of labeled data: --target, --event, --qid, --weights, missing targets."""
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
