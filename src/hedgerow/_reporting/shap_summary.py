"""The SHAP summary: size and direction of the contributions of each feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow import explain
from hedgerow._contract import internals
from hedgerow._reporting.features import MOST_OUTPUTS, renamed
from hedgerow._reporting.forest_payload import score_label
from hedgerow._reporting.outcomes import Outcome
from hedgerow._tree.additive import additive_trees
from hedgerow._types import Floats
from hedgerow._validation.fold_data import take_rows
from hedgerow.exceptions import HedgerowError

MOST_FEATURES = 15
MOST_ROWS, FEWEST_ROWS = 300, 50
WORK = 3e7  # leaves × rows in a few seconds
N_COLORS = 6  # from low values of a feature to high ones
LANES = 60  # of a feature's strip


def shap_summary(
    model: Any, X: Any, outcomes: Sequence[Outcome], target_name: str
) -> dict[str, Any]:
    """Return dots of one score, or mean absolute values by output; or the reason for neither."""
    rows = _rows(model, outcomes[0].n_rows)
    background = 100 if getattr(model, "linear_leaves", False) else None
    try:
        explained = explain.shap_values(model, take_rows(X, rows), background=background)
    except HedgerowError as error:
        return {"absent": why_not_explained(model, error)}
    sizes = np.abs(explained.values).mean(axis=0).reshape(len(explained.feature_names), -1)
    order = np.argsort(-sizes.sum(axis=1), kind="stable")[:MOST_FEATURES]
    summary = {
        "what": score_label(explained.unit, explained.output_names, target_name),
        "n_rows": len(rows),
        "n_all_rows": outcomes[0].n_rows,
        "features": [explained.feature_names[j] for j in order],
        "n_more": len(explained.feature_names) - len(order),
        "n_outputs": len(explained.output_names),
    }
    if len(explained.output_names) > MOST_OUTPUTS:
        return summary | {"totals": _totals(explained, sizes, order)}
    if len(explained.output_names) > 1:
        names = [renamed(name, outcomes) for name in explained.output_names]
        return summary | {"bars": _bars(explained, sizes, order, names)}
    return summary | {"dots": _dots(explained, order), "sizes": sizes[order, 0].tolist()}


def why_not_explained(model: Any, error: HedgerowError) -> str:
    """Return the reason why there are no SHAP values, for a reader of the page."""
    if not internals(model).can_be_additive:
        return f"SHAP values are computed for tree models, and {type(model).__name__} is not one."
    return str(error)


def _rows(model: Any, n_rows: int) -> Any:
    """Return a sample of rows, smaller for large ensembles."""
    try:
        n_leaves = additive_trees(model).ensemble.n_nodes // 2 + 1
    except HedgerowError:
        n_leaves = 1
    most = int(np.clip(WORK / n_leaves, FEWEST_ROWS, MOST_ROWS))
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.RandomState(0).permutation(n_rows)[:most])


def _bars(explained: Any, sizes: Floats, order: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"name": explained.feature_names[j], "output": names[k], "value": float(sizes[j, k])}
        for j in order
        for k in range(len(names))
    ]


def _totals(explained: Any, sizes: Floats, order: Any) -> list[dict[str, Any]]:
    return [{"name": explained.feature_names[j], "value": float(sizes[j].sum())} for j in order]


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
