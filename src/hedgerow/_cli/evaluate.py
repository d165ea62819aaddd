"""`hedgerow evaluate` and `hedgerow report`: a model and a dataset → metrics, or an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hedgerow as hr
from hedgerow._cli import output
from hedgerow._cli.choices import PAGE_ENDS
from hedgerow._cli.dataset import ExpectedColumns, LabeledDataset, Roles, read_dataset
from hedgerow._cli.models import load_model
from hedgerow._cli.options import DataFiles, Reading
from hedgerow._cli.scores import chosen_class, measure, require_truth


def evaluate(
    model_file: Path,
    data: DataFiles,
    reading: Reading,
    positive: str | None,
    as_json: bool,
    **columns: Any,
) -> None:
    """Print the metrics of a model on the rows of a file."""
    model, dataset = _load(model_file, data, reading, Roles(**columns))
    metrics = measure(model, dataset, positive)
    if as_json:
        name = type(model).__name__
        output.answer_json({"model": name, "rows": dataset.n_rows, "metrics": metrics})
        return
    title = {type(model).__name__: f"{output.count(dataset.n_rows, 'row')} of {data}"}
    output.answer(
        output.lines_of(title | {name: output.number(value) for name, value in metrics.items()})
    )


def report(
    model_file: Path,
    data: DataFiles,
    out: Path,
    reading: Reading,
    positive: str | None,
    **columns: Any,
) -> None:
    """Write an HTML report on a model and the rows of a file."""
    output.require_file(out, PAGE_ENDS)
    output.require_other_files([out], model_file, data)
    roles = Roles(**columns)
    model, dataset = _load(model_file, data, reading, roles)
    require_truth(model, dataset)
    label = chosen_class(positive, model)
    with output.all_or_nothing(out.parent) as folder:
        write_report(model, dataset, folder / out.name, roles.target, label)
    output.say(f"{out} ({output.size_of(out)})")


def _load(
    model_file: Path, data: DataFiles, reading: Reading, roles: Roles
) -> tuple[Any, LabeledDataset]:
    model = load_model(model_file)
    expected = ExpectedColumns.of_model(model, roles.target)
    return model, read_dataset(data, reading.like(model), roles, expected)


def write_report(
    model: Any,
    dataset: LabeledDataset,
    path: Path,
    target: str | None,
    positive: Any = None,
    cross_validation: Any = None,
) -> None:
    """Write an HTML report on a model and a dataset; ImportError if packages are missing."""
    hr.report(
        model,
        dataset.X,
        dataset.y,
        path,
        sample_weight=dataset.weights,
        qid=dataset.qid,
        offset=dataset.offset,
        target_name=target,
        positive_class=positive,
        cross_validation=cross_validation,
    )
