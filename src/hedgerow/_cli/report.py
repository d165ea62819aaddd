"""`hedgerow report`: a model and rows whose targets are known → one page to look at."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import hedgerow as hr
from hedgerow._cli.dataset import ExpectedColumns, LabeledDataset, Roles, read_dataset
from hedgerow._cli.models import load_model
from hedgerow._cli.options import Reading
from hedgerow._cli.output import all_or_nothing, require_file, say, size_of
from hedgerow._cli.scores import positive_class, require_truth


def report(
    model_file: Path,
    data: Path,
    out: Path,
    reading: Reading,
    positive: str | None,
    **columns: Any,
) -> None:
    """Write a page about a model and the rows of a file."""
    require_file(out)
    model, roles = load_model(model_file), Roles(**columns)
    dataset = read_dataset(
        data, reading.like(model), roles, ExpectedColumns.of_model(model, roles.target)
    )
    require_truth(model, dataset)
    label = None if positive is None else positive_class(positive, model)
    with all_or_nothing(out.parent) as folder:
        write_report(model, dataset, folder / out.name, roles.target, label)
    say(f"{out} ({size_of(out)})")


def write_report(
    model: Any, dataset: LabeledDataset, path: Path, target: str | None, positive: Any = None
) -> None:
    """Write a page about a model and how it does on some rows.

    Raises
    ------
    ImportError
        If what pages are made with is not there.
    """
    options: dict[str, Any] = {}
    if positive is not None and "positive_class" in signature(hr.report).parameters:
        options["positive_class"] = positive  # otherwise the page's reader chooses
    hr.report(
        model,
        dataset.X,
        dataset.y,
        path,
        sample_weight=dataset.weights,
        qid=dataset.qid,
        target_name=target,
        **options,
    )
