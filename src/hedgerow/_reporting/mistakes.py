"""The worst mistakes of each kind, and what each feature contributed to their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow import explain
from hedgerow._data.pass_through import take_rows
from hedgerow._reporting.any_model import why_no_shap
from hedgerow._reporting.columns import Column, RowIds
from hedgerow._reporting.forest_payload import score_label
from hedgerow._reporting.outcomes import (
    ClassOutcome,
    NumberOutcome,
    Outcome,
    QuantileOutcome,
    RankingOutcome,
    SurvivalOutcome,
)
from hedgerow._reporting.positive import shap_of_class
from hedgerow._reporting.wording import brief, decimals_of
from hedgerow._types import Floats
from hedgerow.exceptions import HedgerowError

MOST_BARS = 9  # of a waterfall: the largest, and one for all others
MOST_VALUES = 200  # of a row, that are listed


@dataclass(frozen=True)
class MistakeKind:
    """A kind of mistake: its rows, the worst first, and a sentence about them and their order."""

    title: str
    meaning: str
    rows: list[int]
    n_rows: int  # number of all such rows


def mistake_kinds(outcome: Outcome, n_rows: int) -> list[MistakeKind]:
    """Return the kinds of mistakes, with n_rows of each, or twice as many of an only one."""
    if isinstance(outcome, RankingOutcome | SurvivalOutcome):
        return []
    if isinstance(outcome, ClassOutcome):
        return _of_classes(outcome, n_rows)
    if isinstance(outcome, QuantileOutcome):
        return _of_quantiles(outcome, n_rows)
    return _of_numbers(outcome, n_rows)


def _of_classes(outcome: ClassOutcome, n_rows: int) -> list[MistakeKind]:
    wrong = outcome.index != outcome.predicted
    if len(outcome.classes) != 2:
        meaning = "Misclassified rows, those with the lowest probability of the true class first."
        return _kinds(2 * n_rows, ("Most confident mistakes", meaning, outcome.surprise, wrong))
    (k,) = outcome.scored_classes
    positive, negative = brief(outcome.classes[k]), brief(outcome.classes[1 - k])
    sure = outcome.surprise
    if outcome.probabilities is None and outcome.decision is not None:
        sure = np.abs(outcome.decision)  # the distance of a score from the threshold
    over = f"Predicted {positive}, actually {negative}; the most confident first."
    under = f"Predicted {negative}, actually {positive}; the most confident first."
    return _kinds(
        n_rows,
        ("False positives", over, sure, wrong & (outcome.predicted == k)),
        ("False negatives", under, sure, wrong & (outcome.predicted != k)),
    )


def _of_numbers(outcome: NumberOutcome, n_rows: int) -> list[MistakeKind]:
    error = outcome.predicted - outcome.y
    over = "Predicted too high; the largest error first."
    under = "Predicted too low; the largest error first."
    return _kinds(
        n_rows,
        ("Over-predictions", over, error, error > 0.0),
        ("Under-predictions", under, -error, error < 0.0),
    )


def _of_quantiles(outcome: QuantileOutcome, n_rows: int) -> list[MistakeKind]:
    low, high = ends_of(outcome).T
    what = "the calibrated interval" if outcome.intervals is not None else "the outer quantiles"
    over = f"The true value lies below {what}; the largest distance first."
    under = f"The true value lies above {what}; the largest distance first."
    return _kinds(
        n_rows,
        ("Over-predictions", over, low - outcome.y, outcome.y < low),
        ("Under-predictions", under, outcome.y - high, outcome.y > high),
    )


def ends_of(outcome: QuantileOutcome) -> Floats:
    """Return the bounds of the intervals that are evaluated, (n_rows, 2)."""
    if outcome.intervals is not None:
        return outcome.intervals.ends
    return outcome.predicted[:, [0, -1]]


def _kinds(n_rows: int, *kinds: tuple[str, str, Floats, Any]) -> list[MistakeKind]:
    """Return kinds with their worst rows, from titles, meanings, sizes of mistakes and masks."""
    found = []
    for title, meaning, size, which in kinds:
        rows = np.flatnonzero(which)
        order = rows[np.argsort(-size[rows], kind="stable")]
        found.append(MistakeKind(title, meaning, order[:n_rows].tolist(), len(rows)))
    return [kind for kind in found if kind.n_rows]


def mistakes_summary(
    model: Any,
    X: Any,
    outcome: Outcome,
    kinds: Sequence[MistakeKind],
    columns: Sequence[Column],
    ids: RowIds,
    target_name: str,
    why_not: str | None = None,
) -> dict[str, Any]:
    """Return the worst rows of each kind: truth, prediction, features and a waterfall.

    Columns are sorted by importance, the most important first. There are no waterfalls if
    `why_not` is a reason.
    """
    if isinstance(outcome, RankingOutcome | SurvivalOutcome):
        return {
            "absent": "the model is evaluated by the order of rows, so that no single row is "
            "right or wrong."
        }
    rows = [row for kind in kinds for row in kind.rows]
    if not rows:
        why = "n_mistakes is 0." if kinds else "there are none on these rows."
        return {"absent": why}
    waterfalls: dict[int, dict[str, Any] | None] = dict.fromkeys(rows)
    reason = why_not
    if reason is None:
        waterfalls, reason = _waterfalls(model, X, outcome, rows, outcome.name or target_name)
    return {
        "target": outcome.name,
        "id_name": ids.name,
        "no_waterfall": reason,
        "kinds": [
            {
                "title": kind.title,
                "meaning": kind.meaning,
                "n_rows": kind.n_rows,
                "share": kind.n_rows / outcome.n_rows,
                "rows": [
                    {
                        "row": row,
                        "id": ids.of(row),
                        **_truth_and_prediction(outcome, row),
                        "waterfall": waterfalls[row],
                        "values": _values(columns, row),
                    }
                    for row in kind.rows
                ],
            }
            for kind in kinds
        ],
    }


def _values(columns: Sequence[Column], row: int) -> list[dict[str, str]]:
    listed = columns[:MOST_VALUES]
    return [{"name": column.name, "value": value_text(column.values[row])} for column in listed]


def _truth_and_prediction(
    outcome: ClassOutcome | NumberOutcome | QuantileOutcome, row: int
) -> dict[str, Any]:
    if isinstance(outcome, ClassOutcome):
        p = outcome.probabilities
        was, predicted = int(outcome.index[row]), int(outcome.predicted[row])
        return {
            "true": outcome.classes[was],
            "predicted": outcome.classes[predicted],
            "p_true": None if p is None else float(p[row, was]),
            "p_predicted": None if p is None else float(p[row, predicted]),
        }
    if isinstance(outcome, QuantileOutcome):
        return {"true": float(outcome.y[row]), "interval": ends_of(outcome)[row].tolist()}
    true, prediction = float(outcome.y[row]), float(outcome.predicted[row])
    return {"true": true, "predicted": prediction, "error": prediction - true}


def _waterfalls(
    model: Any, X: Any, outcome: Outcome, rows: list[int], target: str
) -> tuple[dict[int, dict[str, Any] | None], str | None]:
    """Return the waterfall of each row, or the reason why there is none."""
    try:
        background = 100 if getattr(model, "linear_leaves", False) else None
        explained = explain.shap_values(model, take_rows(X, np.array(rows)), background=background)
    except HedgerowError as error:
        return dict.fromkeys(rows), why_no_shap(model, error)
    if isinstance(outcome, ClassOutcome) and len(outcome.classes) == 2:
        explained = shap_of_class(explained, outcome.classes, outcome.scored_classes[0])
    return {
        row: waterfall(explained, i, output_of(outcome, explained, row), target)
        for i, row in enumerate(rows)
    }, None


def output_of(outcome: Outcome, explained: Any, row: int) -> int | None:
    """Return the output to explain: the predicted class, or the middle quantile."""
    n = len(explained.output_names)
    if n == 1:
        return None
    if isinstance(outcome, ClassOutcome) and len(outcome.classes) == n:
        return int(outcome.predicted[row])
    return n // 2 if isinstance(outcome, QuantileOutcome) else 0


def waterfall(explained: Any, i: int, output: int | None, target: str) -> dict[str, Any]:
    """Return the bars of a row's contributions, the largest first, with their start and end.

    Positions are also given as shares of the total width, for the page.
    """
    values = explained.values[i] if output is None else explained.values[i][:, output]
    base = float(explained.base_values[i] if output is None else explained.base_values[i][output])
    order = np.argsort(-np.abs(values), kind="stable")
    largest = order[: MOST_BARS - 1] if len(order) > MOST_BARS else order
    steps = [
        (explained.feature_names[j], value_text(explained.data[i][j]), float(values[j]))
        for j in largest
    ]
    if len(largest) < len(order):
        others = float(values[order[len(largest) :]].sum())
        steps.append((f"{len(order) - len(largest)} other features", "", others))
    ends = base + np.cumsum([0.0, *(step[2] for step in steps)])
    low = float(ends.min())
    width = float(ends.max()) - low or 1.0
    bars = [
        {
            "name": name,
            "value": value,
            "from": float(begin),
            "to": float(end),
            "adds": adds,
            "left": (min(begin, end) - low) / width,
            "size": abs(end - begin) / width,
        }
        for (name, value, adds), begin, end in zip(steps, ends[:-1], ends[1:], strict=True)
    ]
    return {
        "what": score_label(explained.unit, [explained.output_names[output or 0]], target),
        "base": base,
        "score": float(ends[-1]),
        "base_at": (base - low) / width,
        "score_at": (float(ends[-1]) - low) / width,
        "bars": bars,
        "decimals": decimals_of(ends),
    }


def value_text(value: Any) -> str:
    """Return a value as text."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    return f"{value:.6g}".replace("-", "−") if isinstance(value, float) else str(value)
