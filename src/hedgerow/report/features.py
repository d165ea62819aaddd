"""Which columns matter, and how the prediction goes with each of the most important ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow import explain
from hedgerow.exceptions import HedgerowError
from hedgerow.report.columns import Column

MOST_BARS = 20
MOST_CURVES = 6


def importance_summary(model: Any, columns: Sequence[Column]) -> dict[str, Any]:
    """Return a number for each column, by the model's own account; the largest first."""
    try:
        importances = np.asarray(model.feature_importances_, np.float64)
    except (AttributeError, HedgerowError):
        return {"absent": f"{type(model).__name__} has no importances of its own."}
    if len(importances) != len(columns):
        return {"absent": "its importances are not of the columns of the table."}
    order = np.argsort(-importances, kind="stable")
    return {
        "what": "share of the gain of all splits",
        "order": order.tolist(),
        "bars": [
            {"name": columns[j].name, "value": float(importances[j])} for j in order[:MOST_BARS]
        ],
        "n_more": max(0, len(columns) - MOST_BARS),
    }
