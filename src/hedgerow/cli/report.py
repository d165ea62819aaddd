"""`hedgerow report`: a model and rows whose targets are known → one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hedgerow.cli.examples import Known, Roles, read_examples
from hedgerow.cli.models import load_model
from hedgerow.cli.options import FILE, debug_option, format_option, truth_options
from hedgerow.cli.output import all_or_nothing, require_file, say, size_of
from hedgerow.cli.reporting import write_report
from hedgerow.cli.scores import require_truth


@click.command(short_help="Write a page about a model for any browser.")
@click.argument("model_file", metavar="MODEL", type=FILE)
@click.argument("data", type=FILE)
@truth_options
@click.option("-o", "--out", type=FILE, default=Path("report.html"), show_default=True)
@format_option
@debug_option
def report(model_file: Path, data: Path, out: Path, kind: str | None, **columns: Any) -> None:
    """Write a report of a model on the rows of the file DATA: one HTML file for any browser."""
    require_file(out)
    model, roles = load_model(model_file), Roles(**columns)
    examples = read_examples(data, kind, roles, Known.of_model(model, roles.target))
    require_truth(model, examples)
    with all_or_nothing(out.parent) as folder:
        write_report(model, examples, folder / out.name, roles.target)
    say(f"{out} ({size_of(out)})")
