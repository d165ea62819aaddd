"""What is to be learned: inferred from the target, and said, unless it is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from hedgerow._cli.examples import Examples, Roles
from hedgerow._cli.numerals import non_numeric_values
from hedgerow._data.schema import listed
from hedgerow.exceptions import DataError, ParameterError

# Whole numbers are names of classes if they are no more than this, and count from 0 or 1 on.
_MOST_NUMBERED_CLASSES = 10
# Text of more different values is hardly a target of classes, unless each has many rows.
_MANY_CLASSES, _ROWS_A_CLASS = 100, 10


@dataclass(frozen=True)
class Task:
    """What is learned, and why that."""

    name: str
    why: str


def find_task(wanted: str | None, examples: Examples, roles: Roles) -> Task:
    """Return the task that is asked for, or that the target looks like."""
    implied = _implied(examples, roles)
    if wanted is None:
        return implied or _inferred(examples.y, f"column {roles.target!r} (--target)")
    if implied is not None and implied.name != wanted:
        raise ParameterError(f"--task {wanted} does not go with {implied.name}, {implied.why}.")
    if wanted in ("ranking", "survival") and implied is None:
        option = "--qid" if wanted == "ranking" else "--event"
        raise ParameterError(f"--task {wanted} needs {option}.")
    return Task(wanted, "as --task says")


def has_numeric_target(wanted: str | None, event: str | None, qid: str | None) -> bool:
    """Tell whether the target must be numbers, before it is read."""
    return wanted in ("regression", "counts") or (event is None) != (qid is None)


def _implied(examples: Examples, roles: Roles) -> Task | None:
    """Return the task that other columns than the target imply."""
    if roles.event is not None and examples.qid is not None:
        raise ParameterError("--event is for survival and --qid for ranking: give one of them.")
    if roles.event is not None:
        return Task("survival", f"since --event {roles.event} is given")
    if examples.qid is not None:
        found = "queries are" if roles.qid is None else f"--qid {roles.qid} is"
        return Task("ranking", f"since {found} given")
    return None


def _inferred(y: Any, where: str) -> Task:
    values = pd.Series(y)
    distinct = values.dropna().unique()
    if pd.api.types.is_bool_dtype(values):
        return Task("classification", "since the target is true or false")
    if not pd.api.types.is_numeric_dtype(values):
        _require_classes(values, len(distinct), where)
        return Task(
            "classification", f"since the target is text, with {len(distinct):,} different values"
        )
    numbers = np.sort(np.asarray(distinct, np.float64))
    if not (numbers == np.round(numbers)).all():
        return Task("regression", "since the target is numbers with fractions")
    if len(numbers) == 2:
        return Task("classification", f"since the target is {numbers[0]:g} or {numbers[1]:g}")
    counts_on = np.array_equal(numbers, numbers[0] + np.arange(len(numbers)))
    if len(numbers) <= _MOST_NUMBERED_CLASSES and numbers[0] in (0, 1) and counts_on:
        return Task(
            "classification",
            f"since the target is the whole numbers {numbers[0]:g} to {numbers[-1]:g}",
        )
    hint = "; if they are counts: --task counts" if numbers[0] >= 0 else ""
    return Task(
        "regression", f"since the target is whole numbers, {len(numbers):,} different ones{hint}"
    )


def _require_classes(values: Any, n_classes: int, where: str) -> None:
    """Refuse text that was probably not meant as classes."""
    others = non_numeric_values(pa.array(values.dropna().astype(str), pa.string()))
    as_classes = "--task classification takes each value as a class"
    if n_classes > _MOST_NUMBERED_CLASSES and others is not None and others.is_nearly_numeric:
        raise DataError(
            f"{where} has {n_classes:,} different values, and {others}. If these mean missing: "
            f"{others.option} --drop-missing-target. Otherwise {as_classes}."
        )
    if n_classes > max(_MANY_CLASSES, len(values) // _ROWS_A_CLASS):
        some = listed([str(value) for value in values.dropna().unique()[:3]])
        raise DataError(
            f"{where} is text with {n_classes:,} different values in {len(values):,} rows (such as "
            f"{some}): is it the right column? {as_classes}."
        )
