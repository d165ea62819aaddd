"""`hedgerow evaluate`: a model and rows whose targets are known → metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hedgerow.cli.examples import Known, Roles, read_examples
from hedgerow.cli.models import load_model
from hedgerow.cli.options import FILE, debug_option, format_option, json_option, truth_options
from hedgerow.cli.output import answer_json, count, lines_of, number
from hedgerow.cli.scores import measure


@click.command(short_help="Judge a model by rows whose targets are known.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@click.argument("data", type=FILE)
@truth_options
@format_option
@json_option
@debug_option
def evaluate(model_file: Path, data: Path, kind: str | None, as_json: bool, **columns: Any) -> None:
    """Judge a model by the rows of the file DATA, whose targets are known."""
    model, roles = load_model(model_file), Roles(**columns)
    examples = read_examples(data, kind, roles, Known.of_model(model, roles.target))
    metrics = measure(model, examples)
    if as_json:
        name = type(model).__name__
        answer_json({"model": name, "rows": examples.n_rows, "metrics": metrics})
        return
    title = {type(model).__name__: f"{count(examples.n_rows, 'row')} of {data}"}
    click.echo(lines_of(title | {name: number(value) for name, value in metrics.items()}))
