"""`hedgerow report`: a model and rows whose targets are known → one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hedgerow as hr
from hedgerow.cli.examples import Examples, Known, Roles, read_examples
from hedgerow.cli.models import load_model
from hedgerow.cli.output import all_or_nothing, require_file, say, size_of
from hedgerow.cli.scores import require_truth


def report(model_file: Path, data: Path, out: Path, kind: str | None, **columns: Any) -> None:
    """Write a page about a model and the rows of a file."""
    require_file(out)
    model, roles = load_model(model_file), Roles(**columns)
    examples = read_examples(data, kind, roles, Known.of_model(model, roles.target))
    require_truth(model, examples)
    with all_or_nothing(out.parent) as folder:
        write_report(model, examples, folder / out.name, roles.target)
    say(f"{out} ({size_of(out)})")


def write_report(model: Any, examples: Examples, path: Path, target: str | None) -> None:
    """Write a page about a model and how it does on some rows.

    Raises
    ------
    ImportError
        If what pages are made with is not there.
    """
    hr.report(
        model,
        examples.X,
        examples.y,
        path,
        sample_weight=examples.weights,
        qid=examples.qid,
        target_name=target,
    )
