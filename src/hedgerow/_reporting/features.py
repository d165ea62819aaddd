"""Feature importances, partial dependence on the most important features, and SHAP values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import explain
from hedgerow._curves import some_rows
from hedgerow._data.names import fitted_names
from hedgerow._data.pass_through import take_rows
from hedgerow._reporting.any_model import model_name, why_no_shap
from hedgerow._reporting.columns import OTHER, Column
from hedgerow._reporting.curves import histogram_bars
from hedgerow._reporting.forest_payload import in_units, score_label
from hedgerow._reporting.outcomes import (
    ClassOutcome,
    NumberOutcome,
    Outcome,
    QuantileOutcome,
    RankingOutcome,
)
from hedgerow._reporting.positive import effect_of_class, shap_of_class
from hedgerow._tree.additive import additive_trees
from hedgerow._types import Floats
from hedgerow.exceptions import HedgerowError

MOST_BARS = 20
MOST_EFFECTS = 6
MOST_ROWS = 2000  # for means: their standard error is then 1/45 of the standard deviation of rows
EFFECT_POINTS = 40
EFFECT_BARS = 30
MOST_CATEGORIES = 12  # of a column, that are drawn
MOST_OUTPUTS = 6  # that are drawn
N_SHUFFLES = 5
MOST_FEATURES = 15  # with SHAP values
MOST_EXPLAINED, FEWEST_EXPLAINED = 300, 50  # rows with SHAP values
WORK = 3e7  # leaves × rows in a few seconds
N_COLORS = 6  # from low values of a feature to high ones
LANES = 60  # of a feature's strip
MOST_SHUFFLED = 100  # columns; each is predicted anew N_SHUFFLES times


def importance_summary(model: Any, columns: Sequence[Column]) -> dict[str, Any]:
    """Return the importances of the model itself, the largest first."""
    try:
        importances = np.asarray(model.feature_importances_, np.float64)
    except (AttributeError, HedgerowError):
        return {"absent": f"{model_name(model)} has no importances of its own."}
    if len(importances) != len(columns):
        return {"absent": "the importances of the model do not refer to columns."}
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
    model: Any,
    X: Any,
    y: Any,
    offset: Any,
    columns: Sequence[Column],
    outcomes: Sequence[Outcome],
) -> dict[str, Any]:
    """Return the permutation importance of each column."""
    if isinstance(outcomes[0], RankingOutcome):
        return {"absent": "rankings are evaluated by query, not by row."}
    if not hasattr(model, "score"):
        return {"absent": f"{model_name(model)} has no score to compare."}
    if outcomes[0].n_rows < 2:
        return {"absent": "it needs at least two rows."}
    if len(columns) > MOST_SHUFFLED:
        return {"absent": f"it would take too long for {len(columns):,} features."}
    first = outcomes[0]
    by_probability = (
        isinstance(first, ClassOutcome) and first.probabilities is not None and len(outcomes) == 1
    )
    rows = some_rows(outcomes[0].n_rows, MOST_ROWS)
    try:
        result = explain.permutation_importance(
            *(model, take_rows(X, rows), take_rows(y, rows)),
            scoring="log_loss" if by_probability else None,
            n_repeats=N_SHUFFLES,
            offset=None if offset is None else take_rows(offset, rows),
        )
    except HedgerowError as error:
        return {"absent": str(error)}
    change = "decrease" if result.higher_is_better else "increase"
    metric = "log loss" if by_probability else _score_name(first)
    places_in_X = [column.place for column in columns]
    summary = _ordered(result.mean[places_in_X], columns, result.std[places_in_X])
    return {"what": f"{change} in {metric}", "n_rows": len(rows), **summary}


def _score_name(outcome: Outcome) -> str:
    """Return the name of the model's score."""
    if isinstance(outcome, ClassOutcome):
        return "accuracy"
    if isinstance(outcome, NumberOutcome):
        return "R²"
    return "D²" if isinstance(outcome, QuantileOutcome) else "concordance"


def effect_summary(
    model: Any,
    X: Any,
    table: Sequence[Column],
    outcomes: Sequence[Outcome],
    order: Sequence[int],
    target_name: str,
) -> dict[str, Any]:
    """Return the partial dependence on the most important columns, with their distributions."""
    rows = some_rows(outcomes[0].n_rows, MOST_ROWS)
    readable = [j for j in order if table[j].kind != OTHER]
    places = [j for j in readable if not table[j].missing[rows].all()][:MOST_EFFECTS]
    if not places:
        return {"absent": "no feature has values that could be varied."}
    learned = fitted_names(model)
    # An integer is a name if names are integers, else an index.
    names_or_indices = [
        table[j].place if learned is None or not isinstance(learned[j], int) else learned[j]
        for j in places
    ]
    try:
        result = explain.partial_dependence(
            model, take_rows(X, rows), names_or_indices, grid_resolution=EFFECT_POINTS
        )
    except HedgerowError as error:
        return {"absent": str(error)}
    if isinstance(outcomes[0], ClassOutcome) and outcomes[0].positive_class is not None:
        positive = outcomes[0].classes, outcomes[0].positive_class
        result = [effect_of_class(one, *positive) for one in result]
    names = [renamed(name, outcomes) for name in result[0].output_names]
    return {
        "what": score_label(result[0].unit, result[0].output_names, target_name),
        "n_rows": len(rows),
        "n_outputs": len(names),
        "n_drawn": min(len(names), MOST_OUTPUTS),
        "curves": [
            _effect(one, names[:MOST_OUTPUTS], table[j])
            for one, j in zip(result, places, strict=True)
        ],
    }


def renamed(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return an output name with the name of its target in place of y0 and so on."""
    target, equals, label = name.partition("=")
    numbered = {f"y{k}": outcome.name for k, outcome in enumerate(outcomes) if outcome.name}
    return numbered[target] + equals + label if target in numbered else name


def _effect(result: Any, names: Sequence[str], column: Column) -> dict[str, Any]:
    if result.is_categorical[0]:
        return _category_effect(result, names, column)
    grid = np.asarray(result.grid[0], np.float64)
    present, absent = np.flatnonzero(~np.isnan(grid)), np.flatnonzero(np.isnan(grid))
    points = _points(result, present, grid[present].tolist(), names)
    inside = column.values[
        (column.values >= grid[present].min()) & (column.values <= grid[present].max())
    ]
    return {
        "name": result.features[0],
        "is_category": False,
        "points": points,
        "bars": histogram_bars(inside, EFFECT_BARS),
        # Missing values are a level of their own, without a position on the numeric axis.
        "missing": _points(result, absent, ["missing"] * len(absent), names),
        "n_missing": int(column.missing.sum()),
        "n_left_out": 0,
    }


def _points(
    result: Any, places: Any, x: Sequence[Any], names: Sequence[str]
) -> list[dict[str, Any]]:
    return [
        {"x": at, "y": float(result.average[place, k]), "output": name}
        for place, at in zip(places, x, strict=True)
        for k, name in enumerate(names)
    ]


def _category_effect(result: Any, names: Sequence[str], column: Column) -> dict[str, Any]:
    """Return the effects of the most frequent categories, the lowest first, and their counts."""
    labels = ["missing" if v is None or v != v else _label(v) for v in result.grid[0].tolist()]
    values = ["missing" if v is None or v != v else _label(v) for v in column.values.tolist()]
    counts = dict.fromkeys(labels, 0)
    for value in values:
        if value in counts:
            counts[value] += 1
    frequent = sorted(range(len(labels)), key=lambda i: -counts[labels[i]])[:MOST_CATEGORIES]
    selected = sorted(frequent, key=lambda i: float(result.average[i, 0]))
    return {
        "name": result.features[0],
        "is_category": True,
        "points": _points(result, selected, [labels[i] for i in selected], names),
        "bars": [{"x": labels[i], "rows": counts[labels[i]]} for i in selected],
        "n_left_out": len(labels) - len(selected),
    }


def _label(value: Any) -> str:
    """Return a category as text; integers without a decimal point."""
    is_integer = isinstance(value, float) and value == int(value)
    return str(int(value)) if is_integer else str(value)


def shap_summary(
    model: Any, X: Any, outcomes: Sequence[Outcome], target_name: str
) -> dict[str, Any]:
    """Return dots of one score, or mean absolute values by output; or the reason for neither."""
    rows = _rows_to_explain(model, outcomes[0].n_rows)
    background = 100 if getattr(model, "linear_leaves", False) else None
    try:
        explained = explain.shap_values(model, take_rows(X, rows), background=background)
    except HedgerowError as error:
        return {"absent": why_no_shap(model, error)}
    if isinstance(outcomes[0], ClassOutcome) and outcomes[0].positive_class is not None:
        explained = shap_of_class(explained, outcomes[0].classes, outcomes[0].positive_class)
    sizes = np.abs(explained.values).mean(axis=0).reshape(len(explained.feature_names), -1)
    order = np.argsort(-sizes.sum(axis=1), kind="stable")[:MOST_FEATURES]
    summary: dict[str, Any] = {
        "what": score_label(explained.unit, explained.output_names, target_name),
        "units": in_units(explained.unit, explained.output_names, target_name),
        "n_rows": len(rows),
        "n_all_rows": outcomes[0].n_rows,
        "features": [explained.feature_names[j] for j in order],
        "n_more": len(explained.feature_names) - len(order),
        "n_outputs": len(explained.output_names),
    }
    if len(explained.output_names) > MOST_OUTPUTS:
        sums = zip(summary["features"], sizes[order].sum(axis=1).tolist(), strict=True)
        return summary | {"totals": [{"name": name, "value": total} for name, total in sums]}
    if len(explained.output_names) > 1:
        names = [renamed(name, outcomes) for name in explained.output_names]
        return summary | {"bars": _bars(explained, sizes, order, names)}
    return summary | {"dots": _dots(explained, order), "sizes": sizes[order, 0].tolist()}


def _rows_to_explain(model: Any, n_rows: int) -> NDArray[np.intp]:
    """Return a sample of rows, smaller for large ensembles."""
    try:
        n_leaves = additive_trees(model).ensemble.n_nodes // 2 + 1
    except HedgerowError:
        n_leaves = 1
    return some_rows(n_rows, int(np.clip(WORK / n_leaves, FEWEST_EXPLAINED, MOST_EXPLAINED)))


def _bars(explained: Any, sizes: Floats, order: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"name": explained.feature_names[j], "output": names[k], "value": float(sizes[j, k])}
        for j in order
        for k in range(len(names))
    ]


def _dots(explained: Any, order: Any) -> list[dict[str, Any]]:
    dots = []
    span = float(np.ptp(explained.values[:, order])) or 1.0
    for j in order:
        values = explained.values[:, j]
        beside = _beside(values, span)
        for x, y, color in zip(
            values.tolist(), beside.tolist(), _colors(explained.data[:, j]), strict=True
        ):
            dot = {"name": explained.feature_names[j], "x": float(f"{x:.4g}"), "y": y}
            dots.append(dot | {"color": color})
    return dots


def _beside(values: Floats, span: float) -> Floats:
    """Return the offset of each dot from the middle of its strip, −1 to 1, without overlap."""
    lane = np.floor(values * (LANES / span)).astype(np.int64)
    offset = np.zeros(len(values))
    widest = 1
    for one in np.unique(lane):
        rows = np.flatnonzero(lane == one)
        places = np.arange(1, len(rows) + 1) // 2
        offset[rows] = np.where(np.arange(len(rows)) % 2 == 0, places, -places)
        widest = max(widest, int(places.max()))
    return np.round(offset / max(widest, 5), 3)


def _colors(data: Any) -> list[int]:
    """Return 0 for low values to N_COLORS − 1 for high ones; −1 for labels and missing values."""
    try:
        numbers = data.astype(np.float64)
    except (TypeError, ValueError):
        return [-1] * len(data)
    present = ~np.isnan(numbers)
    if not present.any():
        return [-1] * len(data)
    low, high = np.quantile(numbers[present], [0.05, 0.95])
    share = np.clip((numbers - low) / ((high - low) or 1.0), 0.0, 1.0)
    colors = np.full(len(data), -1)
    colors[present] = np.minimum((share[present] * N_COLORS).astype(int), N_COLORS - 1)
    return [int(color) for color in colors]
