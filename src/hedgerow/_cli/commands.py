"""The commands and what they take. Each is done by the file of its name, imported when it runs.

So help, and completion at every press of a key, need neither the library nor its packages.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from hedgerow._cli.choices import COVERAGE, MODELS, REPORT, TASKS, TEST_SIZE
from hedgerow._cli.options import (
    FILE,
    Part,
    Reading,
    debug_option,
    json_option,
    positive_option,
    reading_options,
    threads_option,
    truth_options,
)


class _DoneElsewhere(click.Command):
    """A command whose function here has its name and its help, and one elsewhere does it."""

    def invoke(self, ctx: click.Context) -> Any:
        """Do what `hedgerow._cli.NAME.NAME` does."""
        module: Any = import_module(f"hedgerow._cli.{self.name}")
        given = dict(ctx.params)
        if "kind" in given:
            given["reading"] = Reading(*(given.pop(name) for name in ("kind", "header", "na")))
        return getattr(module, str(self.name))(**given)


@click.command(cls=_DoneElsewhere, short_help="Train a model on a file.")
@click.argument("data", type=FILE)
@truth_options
@click.option("--groups", metavar="COL", help="Column of group labels: groups are never split.")
@click.option("--drop", metavar="COL,...", default="", help="Columns to leave out.")
@reading_options
@click.option("--task", type=click.Choice(TASKS), help="Default: inferred from the target.")
@positive_option("Add precision, recall, F1 and average precision of this class to the metrics.")
@click.option(
    "--model",
    "family",
    default="gradient_boosting",
    show_default=True,
    help=f"One of {', '.join(MODELS)}.",
)
@click.option(
    "--param",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the model; may be repeated.",
)
@click.option("--budget", help="Gradient boosting: quick, balanced, thorough or a number.")
@click.option("--test", "test_file", type=FILE, help="File with a test set.")
@click.option(
    "--test-size",
    type=Part(0, 1, max_open=True),
    help=f"Fraction of the rows to hold out as a test set. [default: {TEST_SIZE}]",
)
@click.option(
    "--cv",
    "n_folds",
    type=click.IntRange(2),
    help="Cross-validate with this many folds; the final model is trained on all rows.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True)
@threads_option
@click.option("--out", type=FILE, default=Path("out"), show_default=True, help="Folder to write.")
@click.option("--no-report", is_flag=True, help=f"Do not write {REPORT}.")
@click.option("-q", "--quiet", is_flag=True, help="Do not show progress.")
@json_option
@debug_option
def train() -> None:
    """Train a model on the table in the file DATA (CSV, Parquet, Arrow or SVMlight).

    DATA may be - for standard input. Writes the model, its metrics on a test set and a report on
    that test set into a folder.
    """


@click.command(cls=_DoneElsewhere, short_help="Predict the rows of a file.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@click.argument("data", type=FILE)
@click.option(
    "-o",
    "--out",
    type=FILE,
    help="File to write: .csv, .csv.gz, .parquet or .feather. [default: CSV to the terminal]",
)
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@positive_option("Add the probability of this class.")
@click.option("--interval", is_flag=True, help="Add the bounds of a prediction interval.")
@click.option(
    "--coverage",
    type=Part(0, 1, min_open=True, max_open=True),
    help=f"Coverage of the prediction interval. [default: {COVERAGE}]",
)
@click.option("--id", "keep", metavar="COL", help="Column to copy next to the predictions.")
@threads_option
@reading_options
@debug_option
def predict() -> None:
    """Predict the rows of the file DATA with a model; - is standard input.

    Columns are matched by name, and columns that the model does not use are ignored. Numbers are
    written with full precision, and are those of the Python API bit for bit.
    """


@click.command(cls=_DoneElsewhere, short_help="Evaluate a model on rows with known targets.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@click.argument("data", type=FILE)
@truth_options
@positive_option("Add precision, recall, F1 and average precision of this class.")
@reading_options
@json_option
@debug_option
def evaluate() -> None:
    """Compute a model's metrics on the rows of the file DATA, whose targets are known."""


@click.command(cls=_DoneElsewhere, short_help="Show what each column adds to predictions.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@click.argument("data", type=FILE)
@click.option("--rows", "wanted", metavar="0-4,7", help="Explain each of these rows, from 0 on.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="Columns shown.")
@click.option("-o", "--out", type=FILE, help="File for the values of all columns; - prints them.")
@reading_options
@json_option
@debug_option
def explain() -> None:
    """Show what each column adds to the predictions for the file DATA (exact Shapley values).

    Without --rows, shows the mean absolute Shapley value of each column over all rows.
    """


@click.command(cls=_DoneElsewhere, short_help="Write an HTML report on a model.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@click.argument("data", type=FILE)
@truth_options
@positive_option("Class for which curves and costs are shown first.")
@click.option("-o", "--out", type=FILE, default=Path(REPORT), show_default=True)
@reading_options
@debug_option
def report() -> None:
    """Write a report on a model, evaluated on the file DATA: one HTML file for any browser."""


@click.command(cls=_DoneElsewhere, short_help="Show the contents of a model file.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@click.option(
    "--tree", "number_of_tree", type=click.IntRange(0), help="Print this tree; the first is 0."
)
@json_option
@debug_option
def inspect() -> None:
    """Show the contents of a model file: estimator, parameters, columns, size and checksum."""


@click.command(cls=_DoneElsewhere, short_help="Convert a model to JSON, or back.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@click.argument("out", type=FILE)
@debug_option
def convert() -> None:
    """Convert a model to OUT, a .json or .hedgerow file; neither direction loses anything.

    OUT may be - for JSON on standard output.

    Formats of other libraries (ONNX, PMML, XGBoost's JSON) are not supported.
    """


@click.command(cls=_DoneElsewhere, short_help="Try the commands on an example.")
@click.option(
    "--out", type=FILE, default=Path("hedgerow-demo"), show_default=True, help="Folder to write."
)
@debug_option
def demo() -> None:
    """Try the commands on made-up churn data with text, numbers and missing values."""


@click.command(cls=_DoneElsewhere, short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@debug_option
def completion() -> None:
    """Print a script that completes commands in a shell.

    \b
      bash   eval "$(hedgerow completion bash)"     in ~/.bashrc
      zsh    eval "$(hedgerow completion zsh)"      in ~/.zshrc
      fish   hedgerow completion fish > ~/.config/fish/completions/hedgerow.fish
    """  # noqa: D301  the \b is click's: lines stay as they are


COMMANDS = (train, predict, evaluate, explain, report, inspect, convert, demo, completion)
