"""`hedgerow evaluate`: a model and rows whose targets are known → metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hedgerow._cli.dataset import ExpectedColumns, Roles, read_dataset
from hedgerow._cli.models import load_model
from hedgerow._cli.options import Reading
from hedgerow._cli.output import answer, answer_json, count, lines_of, number
from hedgerow._cli.scores import measure


def evaluate(
    model_file: Path,
    data: Path,
    reading: Reading,
    positive: str | None,
    as_json: bool,
    **columns: Any,
) -> None:
    """Measure how good a model is, and tell it."""
    model, roles = load_model(model_file), Roles(**columns)
    dataset = read_dataset(
        data, reading.like(model), roles, ExpectedColumns.of_model(model, roles.target)
    )
    metrics = measure(model, dataset, positive)
    if as_json:
        name = type(model).__name__
        answer_json({"model": name, "rows": dataset.n_rows, "metrics": metrics})
        return
    title = {type(model).__name__: f"{count(dataset.n_rows, 'row')} of {data}"}
    answer(lines_of(title | {name: number(value) for name, value in metrics.items()}))
