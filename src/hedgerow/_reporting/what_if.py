"""Data of the what-if form: a field for each column, rows to start from, and the trees.

The page adds up the trees itself: page/what_if.js computes `predict_proba` or `predict` for the
same values, to the last bit. If it cannot, the section is replaced by the reason.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow._contract import internals
from hedgerow._data.table import Categories
from hedgerow._reporting.columns import Column, RowIds
from hedgerow._reporting.forest_payload import (
    MOST_OPTIONS,
    UNITS,
    OmittedError,
    PageTrees,
    rule_payload,
)
from hedgerow._reporting.outcomes import ClassOutcome, Outcome
from hedgerow._reporting.positive import mirror_of

MOST_FIELDS = 60
MOST_LETTERS = 600_000  # of fields and rows in a page below 5 MB


def what_if_payload(
    model: Any,
    trees: PageTrees,
    columns: Sequence[Column],
    order: Sequence[int],
    rows: Any,
    ids: RowIds | None = None,
) -> dict[str, Any]:
    """Return fields, rows to start from and the rule of the prediction, as JSON types.

    `order` are the columns, the most important first; only the first ones get a field.
    """
    if not trees.is_complete:
        raise OmittedError(
            f"the model has {trees.n_trees:,} trees, which are too large to embed in a page of "
            "5 MB. A smaller model (fewer or shallower trees) can be tried out here."
        )
    ids = RowIds() if ids is None else ids
    rule, method = _rule_and_method(model)
    fields = [_field(j, columns[j], trees, rows) for j in range(len(columns))]
    payload = {
        "rule": rule,
        "method": method,
        "fields": fields,
        "order": [int(j) for j in order][:MOST_FIELDS],
        "explained": _explained(model, trees),
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
        raise OmittedError("its columns and their categories do not fit into a page of 5 MB.")
    return payload


def explained_class(explained: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """Return the names of the explained scores if the positive class is the first of two.

    The page subtracts the other class's score from `mirror`.
    """
    if not isinstance(outcome, ClassOutcome) or len(explained.get("names", ())) != 1:
        return explained
    if len(outcome.classes) != 2 or outcome.scored_classes != [0]:
        return explained
    return explained | {"names": [outcome.classes[0]], "mirror": mirror_of(explained["unit"])}


def _explained(model: Any, trees: PageTrees) -> dict[str, Any]:
    """Return the names and the unit of the explained scores, or why there are none."""
    if trees.ensemble.slopes is not None:
        return {
            "absent": "contributions of a model with linear leaves need rows to compare with; see "
            "hr.explain.shap_values(model, X, background=100)."
        }
    fitted = internals(model).model()
    return {
        "unit": UNITS.get(trees.unit, trees.unit),
        "names": list(trees.output_names),
        "is_calibrated": getattr(fitted, "calibration", None) is not None,
    }


def _rule_and_method(model: Any) -> tuple[dict[str, Any], str]:
    """Return how scores become a prediction, and which method returns the same."""
    rule = rule_payload(model)
    if "classes" not in rule and "labels" not in rule:
        return rule, "predict"
    if hasattr(model, "predict_proba"):
        return rule, "predict_proba"
    # A margin is not a probability: the page shows the score.
    return {"kind": "link", "link": "identity", "calibration": None}, "decision_function"


def _field(j: int, column: Column, trees: PageTrees, rows: Any) -> dict[str, Any]:
    categories = trees.schema.categories.get(j)
    if categories is not None:
        return _choice(j, column, categories, trees, rows)
    present = column.values[~np.isnan(column.values)]
    low, high = (present.min(), present.max()) if len(present) else (0.0, 1.0)
    return {
        "name": column.name,
        "kind": "number",
        "is_whole": bool(len(present) and (present == np.round(present)).all()),
        "is_float32": column.is_float32,
        "low": float(low),
        "high": float(high),
    }


def _choice(
    j: int, column: Column, categories: Categories, trees: PageTrees, rows: Any
) -> dict[str, Any]:
    """Return a column's categories, and their encoding for the trees."""
    labels = [str(label) for label in categories.values]
    codes = _offered(labels, column, rows)
    numbers = next((c.numbers for c in trees.encoded if c.feature == j), None)
    field: dict[str, Any] = {
        "name": column.name,
        "kind": "choice",
        "labels": [labels[code] for code in codes],
        "n_labels": len(labels),
    }
    if numbers is None:
        bins = np.asarray(trees.category_bins[j])
        return field | {"seen": [[int(bins[code])] for code in codes], "gap": [None]}
    gap = [None if np.isnan(number) else float(number) for number in numbers[:, -1]]
    return field | {
        "seen": numbers[:, codes].T.tolist(),
        "gap": gap,
        "features": _features(j, trees),
    }


def _offered(labels: list[str], column: Column, rows: Any) -> list[int]:
    """Return the codes to choose from: all, or the most frequent and those of the rows."""
    if len(labels) <= MOST_OPTIONS:
        return list(range(len(labels)))
    place = {label: code for code, label in enumerate(labels)}
    frequencies = [place[v] for v in _texts(column) if v in place]
    frequent = np.argsort(-np.bincount(frequencies, minlength=len(labels)), kind="stable")[
        :MOST_OPTIONS
    ]
    texts = _texts(column)
    needed = [place[texts[i]] for i in rows if texts[i] in place]
    return sorted({*frequent.tolist(), *needed})


def _features(j: int, trees: PageTrees) -> list[int]:
    """Return the features of an encoded column: its own, then those at the end."""
    n_targets = len(trees.encoded[0].numbers)
    which = [c.feature for c in trees.encoded].index(j)
    first = trees.schema.n_features + which * (n_targets - 1)
    return [j, *range(first, first + n_targets - 1)]


def _texts(column: Column) -> list[Any]:
    """Return labels as text; numeric categories as in the schema."""
    if column.is_category:
        return list(column.values)
    return [None if np.isnan(v) else _number_text(v) for v in column.values.tolist()]


def _number_text(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _value(column: Column, field: dict[str, Any], row: int) -> Any:
    """Return a number, an index of a field's labels, or None for a missing value."""
    if field["kind"] == "number":
        value = float(column.values[row])
        return None if np.isnan(value) else value
    text = _texts(column)[row]
    return field["labels"].index(text) if text in field["labels"] else None
