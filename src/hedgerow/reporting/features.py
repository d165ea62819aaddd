"""Which columns matter, and how the prediction goes with each of the most important ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import explain
from hedgerow.exceptions import HedgerowError
from hedgerow.reporting.columns import Column
from hedgerow.reporting.forest_payload import score_words
from hedgerow.reporting.outcomes import (
    ClassOutcome,
    Floats,
    NumberOutcome,
    Outcome,
    QuantileOutcome,
    RankingOutcome,
)
from hedgerow.validation.rows import taken

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
        return {"absent": f"importances by the model. {type(model).__name__} has none of its own."}
    if len(importances) != len(columns):
        return {"absent": "importances by the model. They are not those of the table's columns."}
    return {"what": "part of all gain", **_ordered(importances, columns)}


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
        return {"absent": "importances by shuffling. A query's rows are judged together."}
    if not hasattr(model, "score"):
        return {"absent": f"importances by shuffling. {type(model).__name__} has no score."}
    if outcomes[0].n_rows < 2:
        return {"absent": "importances by shuffling. They take two rows or more."}
    if len(columns) > MOST_SHUFFLED:
        return {"absent": f"importances by shuffling. {len(columns):,} columns are too many."}
    first = outcomes[0]
    by_probability = (
        isinstance(first, ClassOutcome) and first.probabilities is not None and len(outcomes) == 1
    )
    rows = _some_rows(outcomes[0].n_rows)
    try:
        found = explain.permutation_importance(
            *(model, taken(X, rows), taken(y, rows)),
            scoring="log_loss" if by_probability else None,
            n_repeats=N_SHUFFLES,
        )
    except HedgerowError as error:
        return {"absent": f"importances by shuffling. {error}"}
    change = "fall" if found.higher_is_better else "rise"
    metric = "log loss" if by_probability else _score_name(first)
    summary = _ordered(found.mean, columns)
    return {"what": f"{change} of {metric} if it is shuffled", **summary}


def _score_name(outcome: Outcome) -> str:
    """Say what a model's own score is."""
    if isinstance(outcome, ClassOutcome):
        return "accuracy"
    if isinstance(outcome, NumberOutcome):
        return "R²"
    return "D²" if isinstance(outcome, QuantileOutcome) else "concordance"


def _some_rows(n_rows: int) -> NDArray[np.intp]:
    """Return all rows, or as many as means need."""
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.RandomState(0).permutation(n_rows)[:MOST_ROWS])


def effect_summary(
    model: Any, X: Any, outcomes: Sequence[Outcome], order: Sequence[int], target_name: str
) -> dict[str, Any]:
    """Return the partial dependence on the most important columns, given their order."""
    rows, columns = _some_rows(outcomes[0].n_rows), list(order[:MOST_EFFECTS])
    try:
        found = explain.partial_dependence(
            model, taken(X, rows), columns, grid_resolution=EFFECT_POINTS
        )
    except HedgerowError as error:
        return {"absent": str(error)}
    what = score_words(found[0].unit, found[0].output_names, target_name)
    names = [renamed(name, outcomes) for name in found[0].output_names]
    some = (
        f" Of {len(names)} scores, the first {MOST_OUTPUTS}." if len(names) > MOST_OUTPUTS else ""
    )
    return {
        "what": what,
        "words": (
            f"Each curve is the mean over {len(rows):,} rows of {what}, if the column had this or "
            f"that value and all others stayed (partial dependence).{some}"
        ),
        "curves": [_effect(one, names[:MOST_OUTPUTS]) for one in found],
    }


def renamed(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return a score's name with that of its target in place of y0 and so on."""
    target, equals, label = name.partition("=")
    numbered = {f"y{k}": outcome.name for k, outcome in enumerate(outcomes) if outcome.name}
    return numbered[target] + equals + label if target in numbered else name


def _effect(found: Any, names: Sequence[str]) -> dict[str, Any]:
    is_category = bool(found.is_categorical[0])
    points = []
    for place, value in enumerate(found.grid[0].tolist()):
        is_gap = value is None or value != value
        if is_gap and not is_category:
            continue  # a gap has no place on an axis of numbers
        at = "missing" if is_gap else str(value) if is_category else float(value)
        points += [
            {"x": at, "y": float(found.average[place, k]), "output": name}
            for k, name in enumerate(names)
        ]
    return {
        "name": found.features[0],
        "is_category": is_category,
        "points": points,
    }
