"""The commands and their options. The code of a command is imported when it runs.

Help, and completion at every key press, then need neither the library nor its dependencies.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from hedgerow._cli.choices import COVERAGE, MODELS, REPORT, TASKS, TEST_SIZE
from hedgerow._cli.options import (
    FILE,
    Fraction,
    Reading,
    data_argument,
    debug_option,
    formula_option,
    json_option,
    offset_option,
    positive_option,
    reading_options,
    threads_option,
    truth_options,
)

# The module of a command, where it is not that of its name.
_MODULES = {"report": "evaluate", "inspect": "model_file", "convert": "model_file"}


class _LazyCommand(click.Command):
    """A command declared here, whose code is in another module."""

    def invoke(self, ctx: click.Context) -> Any:
        """Call the function of the command's name."""
        name, arguments = str(self.name), dict(ctx.params)
        module: Any = import_module(f"hedgerow._cli.{_MODULES.get(name, name)}")
        arguments.pop("out_of_core", None)  # which DATA has taken into account
        if "kind" in arguments:
            fields = (arguments.pop(option) for option in ("kind", "header", "na"))
            arguments["reading"] = Reading(*fields)
        return getattr(module, name)(**arguments)


@click.command(cls=_LazyCommand, short_help="Train a model on a file.")
@data_argument
@truth_options
@offset_option
@click.option(
    "--groups", metavar="COL", help="Column of group labels; rows of the same group stay together."
)
@click.option("--drop", metavar="COL,...", default="", help="Columns to ignore.")
@reading_options
@click.option("--task", type=click.Choice(TASKS), help="Default: inferred from the target.")
@positive_option(
    "Add precision, recall, F1 and average precision of this class to the metrics. The model file "
    "stores it."
)
@click.option(
    "--model",
    "family",
    default="gradient_boosting",
    show_default=True,
    help=f"One of {', '.join(MODELS)}.",
)
@click.option(
    "--param",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the model; may be repeated.",
)
@click.option(
    "--budget",
    help="Gradient boosting: search budget (quick, balanced, thorough, or a number).",
)
@click.option("--test", "test_file", type=FILE, help="File with a test set.")
@click.option(
    "--test-size",
    type=Fraction(0, 1, max_open=True),
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
@click.option("--out", type=FILE, default=Path("out"), show_default=True, help="Output folder.")
@click.option("--no-report", is_flag=True, help=f"Do not write {REPORT}.")
@click.option("-q", "--quiet", is_flag=True, help="Do not show progress.")
@json_option
@debug_option
def train() -> None:
    """Train a model on the table in the file DATA (CSV, Parquet, Arrow or SVMlight).

    DATA may be - for standard input, or several Parquet files, which are then read a few columns at
    a time. Writes the model, its metrics on a test set and a report on that test set into a folder.
    """


@click.command(cls=_LazyCommand, short_help="Predict the rows of a file.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@data_argument
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
    type=Fraction(0, 1, min_open=True, max_open=True),
    help=f"Coverage of the prediction interval. [default: {COVERAGE}]",
)
@click.option("--id", "keep", metavar="COL", help="Column to copy next to the predictions.")
@offset_option
@formula_option
@threads_option
@reading_options
@debug_option
def predict() -> None:
    """Predict the rows of the file DATA with a model. DATA may be - for standard input.

    Columns are matched by name, and columns that the model does not use are ignored. Numbers are
    written with full precision and equal those of the Python API bit for bit.
    """


@click.command(cls=_LazyCommand, short_help="Evaluate a model on rows with known targets.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@data_argument
@truth_options
@offset_option
@positive_option(
    "Add precision, recall, F1 and average precision of this class. [default: as in train]"
)
@reading_options
@json_option
@debug_option
def evaluate() -> None:
    """Compute a model's metrics on the rows of the file DATA, whose targets are known."""


@click.command(cls=_LazyCommand, short_help="Show what each column adds to predictions.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@click.argument("data", type=FILE)
@click.option(
    "--rows", "selection", metavar="0-4,7", help="Rows to explain one by one; the first is 0."
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Number of columns to show.",
)
@click.option(
    "-o", "--out", type=FILE, help="File for the Shapley values of all columns; - prints them."
)
@positive_option("Explain the score of this class. [default: as in train]")
@formula_option
@reading_options
@json_option
@debug_option
def explain() -> None:
    """Show what each column adds to the predictions for the file DATA (exact Shapley values).

    Without --rows, shows the mean absolute Shapley value of each column over all rows.
    """


@click.command(cls=_LazyCommand, short_help="Write an HTML report on a model.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@data_argument
@truth_options
@offset_option
@positive_option("Positive class of metrics, curves and explanations. [default: as in train]")
@click.option("-o", "--out", type=FILE, default=Path(REPORT), show_default=True)
@reading_options
@debug_option
def report() -> None:
    """Evaluate a model on the file DATA and write the report: one HTML file for any browser."""


@click.command(cls=_LazyCommand, short_help="Show the contents of a model file.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@click.option(
    "--tree", "number_of_tree", type=click.IntRange(0), help="Print this tree; the first is 0."
)
@json_option
@debug_option
def inspect() -> None:
    """Show the contents of a model file: estimator, parameters, columns, size and checksum."""


@click.command(cls=_LazyCommand, short_help="Convert a model to another format.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@click.argument("out", type=FILE)
@click.option("--table", metavar="NAME", help="For .sql: the table with the rows to predict.")
@click.option(
    "--keep", metavar="COL,...", default="", help="For .sql: columns to copy to the result."
)
@debug_option
def convert() -> None:
    """Convert a model to OUT; the ending of its name is the format.

    MODEL may also be a file of XGBoost (JSON or UBJSON), LightGBM (text) or CatBoost (JSON), as in
    all commands.

    \b
      .json, .hedgerow   the whole model, without loss in either direction
      .txt               LightGBM's text format
      .xgb.json          XGBoost's JSON
      .onnx              ONNX, with categories and missing values inside the graph
      .h                 C99, a header without dependencies
      .js, .mjs          JavaScript, a module
      .py                Python, a module without imports
      .sql               SQL, a query of --table

    OUT may be - for JSON on standard output.
    """  # noqa: D301  the \b is click's: lines stay as they are


@click.command(cls=_LazyCommand, short_help="Try the commands on an example.")
@click.option(
    "--out", type=FILE, default=Path("hedgerow-demo"), show_default=True, help="Output folder."
)
@debug_option
def demo() -> None:
    """Try the commands on made-up churn data with text, numbers and missing values."""


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@debug_option
def completion(shell: str) -> None:
    """Print a script that completes commands in a shell.

    \b
      bash   eval "$(hedgerow completion bash)"     in ~/.bashrc
      zsh    eval "$(hedgerow completion zsh)"      in ~/.zshrc
      fish   hedgerow completion fish > ~/.config/fish/completions/hedgerow.fish
    """  # noqa: D301  the \b is click's: lines stay as they are
    script = get_completion_class(shell)
    assert script is not None  # click knows all three
    program = click.get_current_context().find_root().command
    click.echo(script(program, {}, "hedgerow", "_HEDGEROW_COMPLETE").source())


COMMANDS = (train, predict, evaluate, explain, report, inspect, convert, demo, completion)
