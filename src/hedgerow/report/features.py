"""Which columns matter, and how the prediction goes with each of the most important ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow import explain
from hedgerow.exceptions import HedgerowError
from hedgerow.forest.bagging.tables import take_rows
from hedgerow.report.columns import Column

MOST_BARS = 20
MOST_EFFECTS = 6
EFFECT_ROWS = (
    2000  # that means are taken over: a curve's error is then below a fortieth of the spread
)
EFFECT_POINTS = 40
MOST_OUTPUTS = 6  # that are drawn


def importance_summary(model: Any, columns: Sequence[Column]) -> dict[str, Any]:
    """Return a number for each column, by the model's own account; the largest first."""
    try:
        importances = np.asarray(model.feature_importances_, np.float64)
    except (AttributeError, HedgerowError):
        return {"absent": f"{type(model).__name__} has no importances of its own."}
    if len(importances) != len(columns):
        return {"absent": "its importances are not those of the table's columns."}
    order = np.argsort(-importances, kind="stable")
    return {
        "what": "part of the gain of all splits",
        "order": order.tolist(),
        "bars": [
            {"name": columns[j].name, "value": float(importances[j])} for j in order[:MOST_BARS]
        ],
        "n_more": max(0, len(columns) - MOST_BARS),
    }


def effect_summary(
    model: Any, X: Any, n_rows: int, importances: dict[str, Any], target_name: str
) -> dict[str, Any]:
    """Return the partial dependence on the most important columns."""
    partial_dependence = getattr(explain, "partial_dependence", None)
    if partial_dependence is None:
        return {"absent": "this version has no partial dependence."}
    order = importances.get("order", [])[:MOST_EFFECTS]
    if not order:
        return {"absent": "it is not known which columns matter most."}
    rows = np.arange(n_rows)
    if n_rows > EFFECT_ROWS:
        rows = np.sort(np.random.RandomState(0).permutation(n_rows)[:EFFECT_ROWS])
    try:
        found = partial_dependence(model, take_rows(X, rows), order, grid_resolution=EFFECT_POINTS)
    except HedgerowError as error:
        return {"absent": str(error)}
    what = score_words(found[0].unit, found[0].output_names, target_name)
    return {
        "what": what,
        "words": (
            f"The mean of {what} over {len(rows):,} rows, if the column had this or that value and "
            "all others stayed (partial dependence)."
        ),
        "curves": [_effect(one) for one in found],
    }


def score_words(unit: str, output_names: Sequence[str], target_name: str) -> str:
    """Say what a score is: the target, or a probability, or log-odds of a class."""
    if unit == "the target":
        return target_name
    return f"{unit} of {output_names[0]}" if len(output_names) == 1 else unit


def _effect(found: Any) -> dict[str, Any]:
    is_category = bool(found.is_categorical[0])
    points = []
    for place, value in enumerate(found.grid[0].tolist()):
        is_gap = value is None or value != value
        if is_gap and not is_category:
            continue  # a gap has no place on an axis of numbers
        at = "missing" if is_gap else str(value) if is_category else float(value)
        points += [
            {"x": at, "y": float(found.average[place, k]), "output": name}
            for k, name in enumerate(found.output_names[:MOST_OUTPUTS])
        ]
    return {
        "name": found.features[0],
        "is_category": is_category,
        "points": points,
    }
