"""Which features matter, and how the prediction depends on each of the most important ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import explain
from hedgerow._data.names import fitted_names
from hedgerow._reporting.columns import Column
from hedgerow._reporting.curves import histogram_bars
from hedgerow._reporting.forest_payload import score_words
from hedgerow._reporting.outcomes import (
    ClassOutcome,
    NumberOutcome,
    Outcome,
    QuantileOutcome,
    RankingOutcome,
)
from hedgerow._types import Floats
from hedgerow._validation.fold_data import take_rows
from hedgerow.exceptions import HedgerowError

MOST_BARS = 20
MOST_EFFECTS = 6
MOST_ROWS = 2000  # that means are taken over: their error is then a 45th of what rows differ by
EFFECT_POINTS = 40
EFFECT_BARS = 30
MOST_CATEGORIES = 12  # of a column, that are drawn
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
        return {"absent": "the importances of the model are not those of the columns."}
    return {"what": "share of the total gain", **_ordered(importances, columns)}


def _ordered(
    values: Floats, columns: Sequence[Column], deviations: Floats | None = None
) -> dict[str, Any]:
    order = np.argsort(-values, kind="stable")
    bars: list[dict[str, Any]] = []
    for j in order[:MOST_BARS]:
        bar: dict[str, Any] = {"name": columns[j].name, "value": float(values[j])}
        if deviations is not None:
            spread = float(deviations[j])
            bar |= {"low": bar["value"] - spread, "high": bar["value"] + spread}
        bars.append(bar)
    return {"order": order.tolist(), "bars": bars, "n_more": max(0, len(columns) - MOST_BARS)}


def shuffled_summary(
    model: Any, X: Any, y: Any, columns: Sequence[Column], outcomes: Sequence[Outcome]
) -> dict[str, Any]:
    """Return how much worse the model does on the rows if a column is shuffled."""
    if isinstance(outcomes[0], RankingOutcome):
        return {"absent": "a ranking is judged query by query, not row by row."}
    if not hasattr(model, "score"):
        return {"absent": f"{type(model).__name__} has no score to compare."}
    if outcomes[0].n_rows < 2:
        return {"absent": "it takes at least two rows."}
    if len(columns) > MOST_SHUFFLED:
        return {"absent": f"it would take too long for {len(columns):,} features."}
    first = outcomes[0]
    by_probability = (
        isinstance(first, ClassOutcome) and first.probabilities is not None and len(outcomes) == 1
    )
    rows = _some_rows(outcomes[0].n_rows)
    try:
        found = explain.permutation_importance(
            *(model, take_rows(X, rows), take_rows(y, rows)),
            scoring="log_loss" if by_probability else None,
            n_repeats=N_SHUFFLES,
        )
    except HedgerowError as error:
        return {"absent": str(error)}
    change = "decrease" if found.higher_is_better else "increase"
    metric = "log loss" if by_probability else _score_name(first)
    summary = _ordered(found.mean, columns, found.std)
    return {"what": f"{change} in {metric}", "n_rows": len(rows), **summary}


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
    model: Any,
    X: Any,
    table: Sequence[Column],
    outcomes: Sequence[Outcome],
    order: Sequence[int],
    target_name: str,
) -> dict[str, Any]:
    """Return the partial dependence on the most important columns, and how their values lie."""
    rows, places = _some_rows(outcomes[0].n_rows), order[:MOST_EFFECTS]
    learned = fitted_names(model)
    # A number means a name where names are integers, else a place.
    wanted = [
        j if learned is None or not isinstance(learned[j], int) else learned[j] for j in places
    ]
    try:
        found = explain.partial_dependence(
            model, take_rows(X, rows), wanted, grid_resolution=EFFECT_POINTS
        )
    except HedgerowError as error:
        return {"absent": str(error)}
    names = [renamed(name, outcomes) for name in found[0].output_names]
    return {
        "what": score_words(found[0].unit, found[0].output_names, target_name),
        "n_rows": len(rows),
        "n_outputs": len(names),
        "n_drawn": min(len(names), MOST_OUTPUTS),
        "curves": [
            _effect(one, names[:MOST_OUTPUTS], table[j])
            for one, j in zip(found, places, strict=True)
        ],
    }


def renamed(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return a score's name with that of its target in place of y0 and so on."""
    target, equals, label = name.partition("=")
    numbered = {f"y{k}": outcome.name for k, outcome in enumerate(outcomes) if outcome.name}
    return numbered[target] + equals + label if target in numbered else name


def _effect(found: Any, names: Sequence[str], column: Column) -> dict[str, Any]:
    if found.is_categorical[0]:
        return _category_effect(found, names, column)
    grid = np.asarray(found.grid[0], np.float64)
    known = np.flatnonzero(~np.isnan(grid))  # a missing value has no place on an axis of numbers
    points = _points(found, known, grid[known].tolist(), names)
    inside = column.values[
        (column.values >= grid[known].min()) & (column.values <= grid[known].max())
    ]
    return {
        "name": found.features[0],
        "is_category": False,
        "points": points,
        "bars": histogram_bars(inside, EFFECT_BARS),
        "n_left_out": 0,
    }


def _points(
    found: Any, places: Any, x: Sequence[Any], names: Sequence[str]
) -> list[dict[str, Any]]:
    return [
        {"x": at, "y": float(found.average[place, k]), "output": name}
        for place, at in zip(places, x, strict=True)
        for k, name in enumerate(names)
    ]


def _category_effect(found: Any, names: Sequence[str], column: Column) -> dict[str, Any]:
    """Return the effects of the most frequent categories, the lowest first, and their rows."""
    labels = ["missing" if v is None or v != v else _label(v) for v in found.grid[0].tolist()]
    values = ["missing" if v is None or v != v else _label(v) for v in column.values.tolist()]
    counts = dict.fromkeys(labels, 0)
    for value in values:
        if value in counts:
            counts[value] += 1
    frequent = sorted(range(len(labels)), key=lambda i: -counts[labels[i]])[:MOST_CATEGORIES]
    shown = sorted(frequent, key=lambda i: float(found.average[i, 0]))
    return {
        "name": found.features[0],
        "is_category": True,
        "points": _points(found, shown, [labels[i] for i in shown], names),
        "bars": [{"x": labels[i], "rows": counts[labels[i]]} for i in shown],
        "n_left_out": len(labels) - len(shown),
    }


def _label(value: Any) -> str:
    """Return a category as text; a whole number without its point."""
    is_whole = isinstance(value, float) and value == int(value)
    return str(int(value)) if is_whole else str(value)
