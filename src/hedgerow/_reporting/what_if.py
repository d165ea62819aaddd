"""What the page lets a reader change: a field for each column, rows to start from, and the trees.

The page adds up the trees itself; page/what_if.js gives what `predict_proba`, or `predict`, returns
for the same values, to the last bit. Where that cannot be, the section says why and is left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow._contract import internals
from hedgerow._data.schema import Categories
from hedgerow._reporting.columns import Column, RowIds
from hedgerow._reporting.forest_payload import (
    MOST_OPTIONS,
    UNITS,
    NotShownError,
    ShownTrees,
    rule_payload,
)

MOST_FIELDS = 60
MOST_LETTERS = 600_000  # of fields and rows in a page, which stays below 5 MB


def what_if_payload(
    model: Any,
    shown: ShownTrees,
    columns: Sequence[Column],
    order: Sequence[int],
    rows: Any,
    ids: RowIds | None = None,
) -> dict[str, Any]:
    """Return fields, rows to start from and the rule of the prediction, as JSON types.

    Parameters
    ----------
    model : fitted estimator
    shown : ShownTrees
        Its trees; there must be all of them.
    columns : sequence of Column
        The table of the report.
    order : sequence of int
        The columns, the most important first: of very many, only the first get a field.
    rows : array of int
        Rows that a reader can start from.
    ids : RowIds, optional
        What rows are called.
    """
    if not shown.is_whole:
        raise NotShownError(
            f"the model has {shown.n_trees:,} trees, which are too large to embed in a page of "
            "5 MB, and a part of them would give other predictions. A smaller model (fewer or "
            "shallower trees) can be tried out here."
        )
    ids = RowIds() if ids is None else ids
    rule, method = _rule_and_method(model)
    fields = [_field(j, columns[j], shown, rows) for j in range(len(columns))]
    payload = {
        "rule": rule,
        "method": method,
        "fields": fields,
        "order": [int(j) for j in order][:MOST_FIELDS],
        "explained": _explained(model, shown),
        "rows": [
            {
                "row": int(i),
                "id": ids.of(int(i)),
                "values": [_value(column, fields[j], i) for j, column in enumerate(columns)],
            }
            for i in rows
        ],
    }
    if len(json.dumps(payload)) > MOST_LETTERS:
        raise NotShownError("its columns and their categories do not fit into a page of 5 MB.")
    return payload


def _explained(model: Any, shown: ShownTrees) -> dict[str, Any]:
    """Return what contributions are of: a name and a unit for each score, or why there are none."""
    if shown.ensemble.slopes is not None:
        return {
            "absent": "contributions of a model with linear leaves need rows to compare with; see "
            "hr.explain.shap_values(model, X, background=100)."
        }
    fitted = internals(model).model()
    return {
        "unit": UNITS.get(shown.unit, shown.unit),
        "names": list(shown.output_names),
        "is_calibrated": getattr(fitted, "calibration", None) is not None,
    }


def _rule_and_method(model: Any) -> tuple[dict[str, Any], str]:
    """Return how scores become a prediction, and which method returns the same."""
    rule = rule_payload(model)
    if "classes" not in rule and "labels" not in rule:
        return rule, "predict"
    if hasattr(model, "predict_proba"):
        return rule, "predict_proba"
    # A margin is no probability: it is told as it is.
    return {"kind": "link", "link": "identity", "calibration": None}, "decision_function"


def _field(j: int, column: Column, shown: ShownTrees, rows: Any) -> dict[str, Any]:
    categories = shown.schema.categories.get(j)
    if categories is not None:
        return _choice(j, column, categories, shown, rows)
    known = column.values[~np.isnan(column.values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    return {
        "name": column.name,
        "kind": "number",
        "is_whole": bool(len(known) and (known == np.round(known)).all()),
        "is_float32": column.is_float32,
        "low": float(low),
        "high": float(high),
    }


def _choice(
    j: int, column: Column, categories: Categories, shown: ShownTrees, rows: Any
) -> dict[str, Any]:
    """Return a column's categories, and what trees see in place of each."""
    labels = [str(label) for label in categories.values]
    codes = _offered(labels, column, rows)
    numbers = next((c.numbers for c in shown.encoded if c.feature == j), None)
    field: dict[str, Any] = {
        "name": column.name,
        "kind": "choice",
        "labels": [labels[code] for code in codes],
        "n_labels": len(labels),
    }
    if numbers is None:
        bins = np.asarray(shown.category_bins[j])
        return field | {"seen": [[int(bins[code])] for code in codes], "gap": [None]}
    gap = [None if np.isnan(number) else float(number) for number in numbers[:, -1]]
    return field | {
        "seen": numbers[:, codes].T.tolist(),
        "gap": gap,
        "features": _features(j, shown),
    }


def _offered(labels: list[str], column: Column, rows: Any) -> list[int]:
    """Return the codes to choose from: all, or the most frequent and those of the rows."""
    if len(labels) <= MOST_OPTIONS:
        return list(range(len(labels)))
    place = {label: code for code, label in enumerate(labels)}
    found = [place[v] for v in _texts(column) if v in place]
    frequent = np.argsort(-np.bincount(found, minlength=len(labels)), kind="stable")[:MOST_OPTIONS]
    texts = _texts(column)
    needed = [place[texts[i]] for i in rows if texts[i] in place]
    return sorted({*frequent.tolist(), *needed})


def _features(j: int, shown: ShownTrees) -> list[int]:
    """Return the features that a column's numbers are: its own, then those at the end."""
    n_targets = len(shown.encoded[0].numbers)
    which = [c.feature for c in shown.encoded].index(j)
    first = shown.schema.n_features + which * (n_targets - 1)
    return [j, *range(first, first + n_targets - 1)]


def _texts(column: Column) -> list[Any]:
    """Return labels as text; numbers that are categories as they are written in the schema."""
    if column.is_category:
        return list(column.values)
    return [None if np.isnan(v) else _number_text(v) for v in column.values.tolist()]


def _number_text(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _value(column: Column, field: dict[str, Any], row: int) -> Any:
    """Return a number, a place among a field's labels, or None for a gap."""
    if field["kind"] == "number":
        value = float(column.values[row])
        return None if np.isnan(value) else value
    text = _texts(column)[row]
    return field["labels"].index(text) if text in field["labels"] else None
