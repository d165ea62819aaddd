"""The worst mistakes of each kind, and what each feature contributed to their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow import explain
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
from hedgerow._reporting.shap_summary import why_not_explained
from hedgerow._reporting.wording import brief, decimals_of
from hedgerow._types import Floats
from hedgerow._validation.fold_data import take_rows
from hedgerow.exceptions import HedgerowError

MOST_BARS = 9  # of a waterfall: the largest, and one for all others
MOST_VALUES = 200  # of a row, that are listed


@dataclass(frozen=True)
class MistakeKind:
    """A kind of mistake.

    Attributes
    ----------
    title : str
    meaning : str
        One sentence about its rows and their order.
    rows : list of int
        The worst first.
    n_rows : int
        Number of all such rows.
    """

    title: str
    meaning: str
    rows: list[int]
    n_rows: int


def mistake_kinds(outcome: Outcome, n_rows: int) -> list[MistakeKind]:
    """Return the kinds of mistakes, with some rows of each.

    Parameters
    ----------
    outcome : Outcome
    n_rows : int
        Rows of each kind; twice as many if there is only one kind.
    """
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
        meaning = "Misclassified rows, the least probability for the true class first."
        return _non_empty(
            _kind("Most confident mistakes", meaning, outcome.surprise, wrong, 2 * n_rows)
        )
    (k,) = outcome.scored_classes
    positive, negative = brief(outcome.classes[k]), brief(outcome.classes[1 - k])
    sure = outcome.surprise if outcome.probabilities is not None else _distance(outcome)
    return _non_empty(
        _kind(
            "False positives",
            f"Predicted {positive}, actually {negative}; the most confident first.",
            *(sure, wrong & (outcome.predicted == k), n_rows),
        ),
        _kind(
            "False negatives",
            f"Predicted {negative}, actually {positive}; the most confident first.",
            *(sure, wrong & (outcome.predicted != k), n_rows),
        ),
    )


def _distance(outcome: ClassOutcome) -> Floats:
    """Return the distance of a score from the threshold, if there are no probabilities."""
    return outcome.surprise if outcome.decision is None else np.abs(outcome.decision)


def _of_numbers(outcome: NumberOutcome, n_rows: int) -> list[MistakeKind]:
    error = outcome.predicted - outcome.y
    over, under = "Predicted too high", "Predicted too low"
    order = "; the largest error first."
    return _non_empty(
        _kind("Over-predictions", over + order, error, error > 0.0, n_rows),
        _kind("Under-predictions", under + order, -error, error < 0.0, n_rows),
    )


def _of_quantiles(outcome: QuantileOutcome, n_rows: int) -> list[MistakeKind]:
    low, high = ends_of(outcome).T
    what = "the calibrated interval" if outcome.intervals is not None else "the outer quantiles"
    return _non_empty(
        _kind(
            "Over-predictions",
            f"The true value lies below {what}; the largest distance first.",
            *(low - outcome.y, outcome.y < low, n_rows),
        ),
        _kind(
            "Under-predictions",
            f"The true value lies above {what}; the largest distance first.",
            *(outcome.y - high, outcome.y > high, n_rows),
        ),
    )


def ends_of(outcome: QuantileOutcome) -> Floats:
    """Return the bounds of the intervals that are evaluated, (n_rows, 2)."""
    if outcome.intervals is not None:
        return outcome.intervals.ends
    return outcome.predicted[:, [0, -1]]


def _kind(title: str, meaning: str, size: Floats, which: Any, n_rows: int) -> MistakeKind:
    rows = np.flatnonzero(which)
    order = rows[np.argsort(-size[rows], kind="stable")]
    return MistakeKind(title, meaning, order[:n_rows].tolist(), len(rows))


def _non_empty(*kinds: MistakeKind) -> list[MistakeKind]:
    return [kind for kind in kinds if kind.n_rows]


def mistakes_summary(
    model: Any,
    X: Any,
    outcome: Outcome,
    kinds: Sequence[MistakeKind],
    columns: Sequence[Column],
    ids: RowIds,
    target_name: str,
) -> dict[str, Any]:
    """Return the worst rows of each kind: truth, prediction, features and a waterfall.

    Parameters
    ----------
    model, X : fitted estimator and table
    outcome : Outcome
    kinds : sequence of MistakeKind
    columns : sequence of Column
        The most important first.
    ids : RowIds
    target_name : str
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
        return dict.fromkeys(rows), why_not_explained(model, error)
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
