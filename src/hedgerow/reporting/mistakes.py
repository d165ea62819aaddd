"""The rows that a model was most wrong about, and what each column added to their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow import explain
from hedgerow.exceptions import HedgerowError
from hedgerow.reporting.columns import Column
from hedgerow.reporting.outcomes import (
    ClassOutcome,
    NumberOutcome,
    Outcome,
    QuantileOutcome,
    RankingOutcome,
    SurvivalOutcome,
)
from hedgerow.validation.rows import taken

MOST_BARS = 9  # of a waterfall: the largest, and one for all others


def most_wrong(outcome: Outcome, n_rows: int) -> list[int]:
    """Return the rows with the largest errors, the largest first."""
    if isinstance(outcome, RankingOutcome | SurvivalOutcome):
        return []
    surprise = outcome.surprise
    if isinstance(outcome, ClassOutcome):
        surprise = np.where(outcome.index != outcome.predicted, surprise, 0.0)
    order = np.argsort(-surprise, kind="stable")[:n_rows]
    return [int(i) for i in order if surprise[i] > 0.0]


def mistakes_summary(
    model: Any, X: Any, outcome: Outcome, n_rows: int, columns: Sequence[Column]
) -> dict[str, Any]:
    """Return the most wrong rows: what was, what was said, and a waterfall of each.

    Without waterfalls, they have the values of the first of the columns.
    """
    if isinstance(outcome, RankingOutcome | SurvivalOutcome):
        return {"absent": "a row by itself is neither right nor wrong in a comparison of rows."}
    rows = most_wrong(outcome, n_rows)
    if n_rows == 0:
        return {"absent": "none were asked for."}
    if not rows:
        return {"absent": "the model is right about every row."}
    waterfalls, reason = _waterfalls(model, X, outcome, rows)
    return {
        "target": outcome.name,
        "no_waterfall": reason,
        "rows": [
            {
                "row": row,
                **_words(outcome, row),
                "waterfall": waterfall,
                "values": _values(columns, row) if waterfall is None else [],
            }
            for row, waterfall in zip(rows, waterfalls, strict=True)
        ],
    }


def _values(columns: Sequence[Column], row: int) -> list[str]:
    shown = columns[:MOST_BARS]
    return [f"{column.name} = {_shown(column.values[row])}" for column in shown]


def _words(outcome: ClassOutcome | NumberOutcome | QuantileOutcome, row: int) -> dict[str, Any]:
    if isinstance(outcome, ClassOutcome):
        p = outcome.probabilities
        was, said = int(outcome.index[row]), int(outcome.predicted[row])
        return {
            "true": outcome.classes[was],
            "said": outcome.classes[said],
            "p_true": None if p is None else float(p[row, was]),
            "p_said": None if p is None else float(p[row, said]),
        }
    said_numbers = np.atleast_1d(outcome.predicted[row]).tolist()
    return {"true": float(outcome.y[row]), "said": said_numbers}


def _waterfalls(
    model: Any, X: Any, outcome: Outcome, rows: list[int]
) -> tuple[list[dict[str, Any] | None], str | None]:
    """Return the waterfall of each row, or why there is none."""
    try:
        background = 100 if getattr(model, "linear_leaves", False) else None
        found = explain.shap_values(model, taken(X, np.array(rows)), background=background)
    except HedgerowError as error:
        return [None] * len(rows), str(error)
    return [_waterfall(found, i, _output(outcome, found, row)) for i, row in enumerate(rows)], None


def _output(outcome: Outcome, found: Any, row: int) -> int | None:
    """Return which of several scores to explain: that of the class said, the middle quantile."""
    n = len(found.output_names)
    if n == 1:
        return None
    if isinstance(outcome, ClassOutcome) and len(outcome.classes) == n:
        return int(outcome.predicted[row])
    return n // 2 if isinstance(outcome, QuantileOutcome) else 0


def _waterfall(found: Any, i: int, output: int | None) -> dict[str, Any]:
    values = found.values[i] if output is None else found.values[i][:, output]
    base = float(found.base_values[i] if output is None else found.base_values[i][output])
    order = np.argsort(-np.abs(values), kind="stable")
    shown = order[: MOST_BARS - 1] if len(order) > MOST_BARS else order
    bars, at = [], base
    for j in shown:
        end = at + float(values[j])
        bars.append(
            {
                "name": found.feature_names[j],
                "value": _shown(found.data[i][j]),
                "from": at,
                "to": end,
            }
        )
        at = end
    if len(shown) < len(order):
        rest = float(values[order[len(shown) :]].sum())
        n_more = len(order) - len(shown)
        bars.append({"name": f"{n_more} other columns", "value": "", "from": at, "to": at + rest})
        at += rest
    return {
        "unit": found.unit,
        "of": found.output_names[output or 0],
        "base": base,
        "score": at,
        "bars": bars,
    }


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
