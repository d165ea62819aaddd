"""What several commands take: files, the columns that are no features, how to answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from hedgerow.cli.choices import FORMATS

Command = TypeVar("Command", bound=Callable[..., Any])

FILE: Any = click.Path(path_type=Path)


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
        help="Show where an error comes from.",
    )(command)


def json_option(command: Command) -> Command:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")(
        command
    )


def threads_option(command: Command) -> Command:
    """Add --threads."""
    return click.option(
        "--threads", type=click.IntRange(1, 2**31 - 1), help="Default: as many as are useful."
    )(command)


def format_option(command: Command) -> Command:
    """Add --format."""
    return click.option(
        "--format",
        "kind",
        type=click.Choice(list(FORMATS)),
        help="What kind of file DATA is, if its name does not tell.",
    )(command)


def truth_options(command: Command) -> Command:
    """Add the options that name columns of the truth: --target, --event, --qid and --weights."""
    for option in (
        click.option("--weights", metavar="COL", help="Column of the rows' weights."),
        click.option("--qid", metavar="COL", help="Ranking: column of the rows' queries."),
        click.option(
            "--event",
            metavar="COL",
            help="Survival: column that tells whether the event was seen; the target is the time.",
        ),
        click.option(
            "--target",
            metavar="COL",
            help="Column to predict. SVMlight files tell it without a name.",
        ),
    ):
        command = option(command)
    return command
