"""The task: that of ``--task``, or inferred from the target with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from hedgerow._cli.cell_values import non_numeric_values
from hedgerow._cli.dataset import LabeledDataset, Roles
from hedgerow._data.names import listed
from hedgerow.exceptions import DataError, ParameterError

# Integer targets are classes if they count from 0 or 1 and there are at most this many.
_MOST_NUMBERED_CLASSES = 10
# Text with more distinct values is hardly a class target, unless each value has many rows.
_MANY_CLASSES, _ROWS_PER_CLASS = 100, 10


@dataclass(frozen=True)
class TaskChoice:
    """A task and the reason for choosing it."""

    name: str
    why: str


def find_task(task: str | None, dataset: LabeledDataset, roles: Roles) -> TaskChoice:
    """Return the task of ``--task``, or the one that the target suggests."""
    implied = _implied(dataset, roles)
    if task is None:
        return implied or _inferred(dataset.y, f"column {roles.target!r} (--target)")
    if implied is not None and implied.name != task:
        raise ParameterError(f"--task {task} contradicts {implied.name}, {implied.why}.")
    if task in ("ranking", "survival") and implied is None:
        option = "--qid" if task == "ranking" else "--event"
        raise ParameterError(f"--task {task} needs {option}.")
    return TaskChoice(task, "as set by --task")


def has_numeric_target(task: str | None, event: str | None, qid: str | None) -> bool:
    """Tell whether the target must be numeric, before it is read."""
    return task in ("regression", "counts") or (event is None) != (qid is None)


def _implied(dataset: LabeledDataset, roles: Roles) -> TaskChoice | None:
    """Return the task that columns other than the target imply."""
    if roles.event is not None and dataset.qid is not None:
        raise ParameterError("--event is for survival and --qid for ranking: use one of them.")
    if roles.event is not None:
        return TaskChoice("survival", f"since --event {roles.event} is given")
    if dataset.qid is not None:
        source = "the file has queries" if roles.qid is None else f"--qid {roles.qid} is given"
        return TaskChoice("ranking", f"since {source}")
    return None


def _inferred(y: Any, where: str) -> TaskChoice:
    values = pd.Series(y)
    distinct = values.dropna().unique()
    if pd.api.types.is_bool_dtype(values):
        return TaskChoice("classification", "since the target is true or false")
    if not pd.api.types.is_numeric_dtype(values):
        _require_classes(values, len(distinct), where)
        return TaskChoice(
            "classification", f"since the target is text with {len(distinct):,} distinct values"
        )
    numbers = np.sort(np.asarray(distinct, np.float64))
    if not (numbers == np.round(numbers)).all():
        return TaskChoice("regression", "since the target has non-integer numbers")
    if len(numbers) == 2:
        return TaskChoice("classification", f"since the target is {numbers[0]:g} or {numbers[1]:g}")
    is_consecutive = np.array_equal(numbers, numbers[0] + np.arange(len(numbers)))
    if len(numbers) <= _MOST_NUMBERED_CLASSES and numbers[0] in (0, 1) and is_consecutive:
        return TaskChoice(
            "classification",
            f"since the target is the integers {numbers[0]:g} to {numbers[-1]:g}",
        )
    hint = "; for counts, use --task counts" if numbers[0] >= 0 else ""
    return TaskChoice(
        "regression", f"since the target has {len(numbers):,} distinct integers{hint}"
    )


def _require_classes(values: Any, n_classes: int, where: str) -> None:
    """Refuse text that was probably not meant to be classes."""
    others = non_numeric_values(pa.array(values.dropna().astype(str), pa.string()))
    as_classes = "--task classification makes each value a class"
    if n_classes > _MOST_NUMBERED_CLASSES and others is not None and others.is_nearly_numeric:
        raise DataError(
            f"{where} has {n_classes:,} distinct values, and {others}. If these mean missing, use "
            f"{others.option} --drop-missing-target. Otherwise {as_classes}."
        )
    if n_classes > max(_MANY_CLASSES, len(values) // _ROWS_PER_CLASS):
        some = listed([str(value) for value in values.dropna().unique()[:3]])
        raise DataError(
            f"{where} is text with {n_classes:,} distinct values in {len(values):,} rows (such as "
            f"{some}): is it the right column? {as_classes}."
        )
