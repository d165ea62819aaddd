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


class ParquetPaths(tuple[str, ...]):
    """Parquet files, a pattern or a folder, which are read a few columns at a time."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the first file or pattern, and the number of others."""
        more = f" and {len(self) - 1} more" if len(self) > 1 else ""
        return f"{Path(self[0]).name}{more}"

    def __str__(self) -> str:
        more = f" and {len(self) - 1} more" if len(self) > 1 else ""
        return f"{self[0]}{more}"


DataFiles = Path | ParquetPaths


def _data_files(
    context: click.Context, _: click.Parameter, paths: tuple[Path, ...]
) -> DataFiles | None:
    """Return the file; or Parquet files, if there are several or a pattern."""
    (first, *others) = paths
    is_pattern = any(mark in str(first) for mark in "*?[") and not first.exists()
    if others or is_pattern or context.params.get("out_of_core"):
        return ParquetPaths(map(str, paths))
    return first


def data_argument(command: Command) -> Command:
    """Add DATA and --out-of-core."""
    option = click.option(
        "--out-of-core",
        is_flag=True,
        is_eager=True,
        expose_value=True,
        help="Read Parquet files, or a folder of them, a few columns at a time: the default for "
        "several files.",
    )
    argument = click.argument(
        "data", type=FILE, nargs=-1, required=True, callback=_data_files, metavar="DATA..."
    )
    return argument(option(command))


def source_name(path: DataFiles) -> str:
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


debug_option = click.option(
    "--debug",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_set_debug,
    help="Show the traceback of an error.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
threads_option = click.option(
    "--threads", type=click.IntRange(1, 2**31 - 1), help="Default: all available CPUs."
)


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds several options, in the order in which help lists them."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _split(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values of an option that may be repeated, or have several with commas between."""
    values = (value.strip() for text in texts for value in text.split(","))
    return tuple(dict.fromkeys(value for value in values if value))


# The options of `Reading`.
reading_options = _together(
    click.option(
        "--format",
        "kind",
        type=click.Choice(list(FORMATS)),
        help="Format of DATA, if its file name does not show it.",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="CSV: whether the first line has column names. If not, they are x0, x1, ...",
    ),
    click.option(
        "--na",
        multiple=True,
        metavar="VALUE,...",
        callback=_split,
        help="More values that mean missing; may be repeated. The model file stores them.",
    ),
)
# The options of labeled data.
truth_options = _together(
    click.option(
        "--target", metavar="COL", help="Column to predict. Not needed for SVMlight files."
    ),
    click.option(
        "--event",
        metavar="COL",
        help="Survival: column that is true if the event occurred; the target is the time.",
    ),
    click.option("--qid", metavar="COL", help="Ranking: column of query ids."),
    click.option("--weights", metavar="COL", help="Column of sample weights."),
    click.option(
        "--drop-missing-target",
        is_flag=True,
        help="Skip rows without a target; otherwise they are an error.",
    ),
)


offset_option = click.option(
    "--offset",
    metavar="COL",
    help="Gradient boosting: column that is added to scores, such as the log of an exposure.",
)


formula_option = click.option(
    "--escape-formulas",
    is_flag=True,
    help="CSV: put ' before text that a spreadsheet would evaluate (=, +, -, @): for files that "
    "others open, if ids or classes are not trusted.",
)


def positive_option(what: str) -> Callable[[Command], Command]:
    """Add --positive-class with this help."""
    return click.option("--positive-class", "positive", metavar="CLASS", help=what)
