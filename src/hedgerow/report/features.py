"""Which columns matter, and how the prediction goes with each of the most important ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import explain
from hedgerow.exceptions import HedgerowError
from hedgerow.forest.bagging.tables import take_rows
from hedgerow.report.columns import Column
from hedgerow.report.outcomes import ClassOutcome, Floats, Outcome, RankingOutcome

MOST_BARS = 20
MOST_EFFECTS = 6
MOST_ROWS = 2000  # that means are taken over: their error is then a 45th of what rows differ by
EFFECT_POINTS = 40
MOST_OUTPUTS = 6  # that are drawn
N_SHUFFLES = 5
MOST_SHUFFLED = 100  # columns; each is predicted anew N_SHUFFLES times


def importance_summary(model: Any, columns: Sequence[Column]) -> dict[str, Any]:
    """Return a number for each column, by the model's own account; the largest first."""
    try:
        importances = np.asarray(model.feature_importances_, np.float64)
    except (AttributeError, HedgerowError):
        return {"absent": f"{type(model).__name__} has no importances of its own."}
    if len(importances) != len(columns):
        return {"absent": "its importances are not those of the table's columns."}
    return {"what": "part of the gain of all splits", **_ordered(importances, columns)}


def _ordered(values: Floats, columns: Sequence[Column]) -> dict[str, Any]:
    order = np.argsort(-values, kind="stable")
    return {
        "order": order.tolist(),
        "bars": [{"name": columns[j].name, "value": float(values[j])} for j in order[:MOST_BARS]],
        "n_more": max(0, len(columns) - MOST_BARS),
    }


def shuffled_summary(
    model: Any, X: Any, y: Any, columns: Sequence[Column], outcomes: Sequence[Outcome]
) -> dict[str, Any]:
    """Return how much worse the model does on the rows if a column is shuffled."""
    if isinstance(outcomes[0], RankingOutcome):
        return {"absent": "rows of a ranking are not shuffled across queries."}
    if not hasattr(model, "score"):
        return {"absent": f"{type(model).__name__} has no score that could fall."}
    if len(columns) > MOST_SHUFFLED:
        return {"absent": f"{len(columns):,} columns are too many to shuffle one by one."}
    has_probabilities = (
        isinstance(outcomes[0], ClassOutcome) and outcomes[0].probabilities is not None
    )
    rows = _some_rows(outcomes[0].n_rows)
    try:
        found = explain.permutation_importance(
            *(model, take_rows(X, rows), take_rows(y, rows)),
            scoring="log_loss" if has_probabilities and len(outcomes) == 1 else None,
            n_repeats=N_SHUFFLES,
        )
    except HedgerowError as error:
        return {"absent": str(error)}
    change = "fall" if found.higher_is_better else "rise"
    summary = _ordered(found.mean, columns)
    return {"what": f"{change} of {found.metric.replace('_', ' ')} if it is shuffled", **summary}


def _some_rows(n_rows: int) -> NDArray[np.intp]:
    """Return all rows, or as many as means need."""
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.RandomState(0).permutation(n_rows)[:MOST_ROWS])


def effect_summary(
    model: Any, X: Any, n_rows: int, order: Sequence[int], target_name: str
) -> dict[str, Any]:
    """Return the partial dependence on the most important columns, given their order."""
    rows, columns = _some_rows(n_rows), list(order[:MOST_EFFECTS])
    try:
        found = explain.partial_dependence(
            model, take_rows(X, rows), columns, grid_resolution=EFFECT_POINTS
        )
    except HedgerowError as error:
        return {"absent": str(error)}
    what = score_words(found[0].unit, found[0].output_names, target_name)
    return {
        "what": what,
        "words": (
            f"What is drawn is {what}: the mean over {len(rows):,} rows, if the column had this or "
            "that value and all others stayed (partial dependence)."
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
