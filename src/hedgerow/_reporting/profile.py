"""The data profile: a summary of each column, and notes on possible problems.

It describes the test set of the report, not the training set, which a model file does not contain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._reporting.associations import associations
from hedgerow._reporting.columns import Column
from hedgerow._reporting.curves import histogram_bars
from hedgerow._reporting.outcomes import ClassOutcome, NumberOutcome, Outcome, QuantileOutcome
from hedgerow._reporting.wording import share_text

MOST_LABELS = 6  # of a categorical column that are listed
SMALL_BARS = 24  # of the histogram of a column
ENOUGH_ROWS = 30  # to call a column an identifier
UNIQUE = 0.98  # fraction of distinct values of an identifier
SAME = 0.99  # fraction of rows with the most common value of a nearly constant column
RARE_CLASS = 0.1
MANY_MISSING = 0.5


def data_profile(
    columns: Sequence[Column], outcomes: Sequence[Outcome], order: Sequence[int]
) -> dict[str, Any]:
    """Return the profile of a table; columns are compared with the first target.

    `order` are the columns, the most important first.
    """
    n_rows = outcomes[0].n_rows
    kinds = [column.kind for column in columns]
    related = associations(columns, outcomes[0], order)
    summaries = [_summary(column) for column in columns]
    duplicates = _duplicates(columns, outcomes[0])
    return {
        "n_rows": n_rows,
        "n_columns": len(columns),
        "kinds": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "n_missing": sum(one["n_missing"] for one in summaries),
        "n_with_missing": sum(one["n_missing"] > 0 for one in summaries),
        "columns": summaries,
        "duplicates": duplicates,
        "associations": related,
        "notes": _notes(summaries, duplicates, related, outcomes[0]),
    }


def _summary(column: Column) -> dict[str, Any]:
    missing = column.missing
    present = column.values[~missing]
    summary: dict[str, Any] = {
        "name": column.name,
        "kind": column.kind,
        "n_missing": int(missing.sum()),
        "missing": float(missing.mean()),
    }
    return summary | (_of_labels(present) if column.is_category else _of_numbers(present))


def _of_labels(present: NDArray[Any]) -> dict[str, Any]:
    labels, counts = np.unique(present.astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_LABELS]
    listed: list[dict[str, Any]] = [
        {"label": str(labels[i]), "rows": int(counts[i]), "share": float(counts[i] / len(present))}
        for i in order
    ]
    return {
        "n_distinct": len(labels),
        "labels": listed,
        "is_id": len(present) >= ENOUGH_ROWS and len(labels) >= UNIQUE * len(present),
        "most_common": float(counts.max() / len(present)) if len(present) else 0.0,
    }


def _of_numbers(present: NDArray[Any]) -> dict[str, Any]:
    if len(present) == 0:
        return {"n_distinct": 0, "is_id": False, "most_common": 0.0}
    values, counts = np.unique(present, return_counts=True)
    low, middle, high = np.quantile(present, [0.0, 0.5, 1.0]).tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(present.mean()), float(present.std())
    are_integers = bool((present == np.round(present)).all())
    return {
        "n_distinct": len(values),
        "min": low,
        "median": middle,
        "max": high,
        "mean": mean,
        "deviation": deviation,
        "histogram": histogram_bars(present, SMALL_BARS),
        "is_id": are_integers
        and len(present) >= ENOUGH_ROWS
        and len(values) >= UNIQUE * len(present),
        "most_common": float(counts.max() / len(present)),
    }


def _duplicates(columns: Sequence[Column], outcome: Outcome) -> dict[str, int]:
    """Count the rows that repeat an earlier one, and those of them with another target."""
    rows = _row_hashes([_bits(column) for column in columns], outcome.n_rows)
    _, first, where, counts = np.unique(
        rows, return_index=True, return_inverse=True, return_counts=True
    )
    repeated = np.ones(len(rows), bool)
    repeated[first] = False
    target = _target_of(outcome)
    conflicting = 0
    if target is not None and repeated.any():
        conflicting = int((target[repeated] != target[first[where[repeated]]]).sum())
    return {
        "n_rows": int(repeated.sum()),
        "n_conflicting": conflicting,
        "most": int(counts.max(initial=0)),
    }


def _target_of(outcome: Outcome) -> NDArray[Any] | None:
    if isinstance(outcome, ClassOutcome):
        return outcome.index
    return outcome.y if isinstance(outcome, NumberOutcome | QuantileOutcome) else None


def _bits(column: Column) -> NDArray[np.uint64]:
    """Return an integer for each value, equal for equal values."""
    if column.is_category:
        _, codes = np.unique([str((v is None, v)) for v in column.values], return_inverse=True)
        return codes.astype(np.uint64)
    values = np.where(np.isnan(column.values), np.nan, column.values + 0.0)  # no −0
    return np.ascontiguousarray(values, np.float64).view(np.uint64)


def _row_hashes(columns: Sequence[NDArray[np.uint64]], n_rows: int) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row; collisions have a probability of about 10⁻¹⁹."""
    hashes = np.zeros(n_rows, np.uint64)
    with np.errstate(over="ignore"):
        for bits in columns:
            hashes = (hashes ^ bits) * np.uint64(0x9E3779B97F4A7C15)
            hashes ^= hashes >> np.uint64(29)
            hashes = hashes * np.uint64(0xBF58476D1CE4E5B9)
            hashes ^= hashes >> np.uint64(32)
    return hashes


def _notes(
    columns: Sequence[dict[str, Any]],
    duplicates: dict[str, int],
    related: dict[str, Any],
    outcome: Outcome,
) -> list[dict[str, Any]]:
    """Return notes on possible problems, the most important first."""
    notes = [
        _leakage(related),
        _class_balance(outcome),
        _duplicate_rows(duplicates, outcome.n_rows),
        _listed(
            [c["name"] for c in columns if c["is_id"]],
            "Possible identifiers",
            "nearly every value is different. An identifier carries no information about new rows; "
            "leave it out of the model.",
        ),
        _listed(
            [c["name"] for c in columns if c["n_distinct"] == 0],
            "Entirely missing",
            "all values are missing in these rows.",
        ),
        _listed(
            [c["name"] for c in columns if c["n_distinct"] == 1],
            "Constant features",
            "all values are the same, so they carry no information about these rows.",
        ),
        _listed(
            [c["name"] for c in columns if c["n_distinct"] > 1 and c["most_common"] >= SAME],
            "Nearly constant features",
            f"at least {100 * SAME:.0f}% of the rows share one value.",
        ),
        _listed(
            [c["name"] for c in columns if c["missing"] >= MANY_MISSING and c["n_distinct"]],
            "Mostly missing",
            f"at least {100 * MANY_MISSING:.0f}% of the values are missing.",
        ),
    ]
    return [note for note in notes if note is not None]


def _listed(names: Sequence[str], title: str, meaning: str) -> dict[str, Any] | None:
    if not names:
        return None
    return {"title": title, "columns": list(names), "meaning": meaning}


def _leakage(related: dict[str, Any]) -> dict[str, Any] | None:
    leaks = [one["name"] for one in related.get("target", []) if one["is_leak"]]
    return _listed(
        leaks,
        "Possible target leakage",
        "this column alone predicts the target almost perfectly. Check that its value is known "
        "before the target is."
        if len(leaks) == 1
        else "each of these columns alone predicts the target almost perfectly. Check that their "
        "values are known before the target is.",
    )


def _class_balance(outcome: Outcome) -> dict[str, Any] | None:
    if not isinstance(outcome, ClassOutcome):
        return None
    counts = np.bincount(outcome.index, minlength=len(outcome.classes))
    shares = counts / outcome.n_rows
    rare = [f"{outcome.classes[k]} ({share_text(shares[k])})" for k in np.argsort(shares)]
    rare = rare[: int((shares < RARE_CLASS).sum())]
    if not rare or len(outcome.classes) > 10:
        return None
    return _listed(
        rare,
        "Imbalanced classes",
        "accuracy says little about rare classes; look at precision and recall instead.",
    )


def _duplicate_rows(duplicates: dict[str, int], n_rows: int) -> dict[str, Any] | None:
    n = duplicates["n_rows"]
    if n == 0:
        return None
    rows = "1 row repeats" if n == 1 else f"{n:,} rows ({share_text(n / n_rows)}) repeat"
    meaning = f"{rows} the features of an earlier row."
    if duplicates["n_conflicting"]:
        meaning += f" In {duplicates['n_conflicting']:,} of them the target differs."
    return {"title": "Duplicate rows", "columns": [], "meaning": meaning}
