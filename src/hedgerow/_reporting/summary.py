"""Model and dataset → a dict with all contents of the report.

It can be stored as JSON. A section that does not apply to a model is ``{"absent": reason}``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from hedgerow._data.sources import has_rows
from hedgerow._data.target import read_weights
from hedgerow._reporting.any_model import with_trees
from hedgerow._reporting.columns import Column, RowIds, read_columns, read_row_ids
from hedgerow._reporting.curves import MOST_DOTS, curves_of, histogram_bars
from hedgerow._reporting.features import (
    effect_summary,
    importance_summary,
    renamed,
    shap_summary,
    shuffled_summary,
)
from hedgerow._reporting.forest_payload import (
    OmittedError,
    page_trees,
    score_label,
    trees_payload,
)
from hedgerow._reporting.metrics import COVERAGE, by_class, measured
from hedgerow._reporting.mistakes import MistakeKind, mistake_kinds, mistakes_summary
from hedgerow._reporting.outcomes import (
    ClassOutcome,
    NumberOutcome,
    Outcome,
    QuantileOutcome,
    RankingOutcome,
    SurvivalOutcome,
    read_outcomes,
)
from hedgerow._reporting.profile import data_profile
from hedgerow._reporting.threshold import threshold_payload
from hedgerow._reporting.training import parameter_table, reproducibility, training_summary
from hedgerow._reporting.verdict import title_of, verdict
from hedgerow._reporting.what_if import explained_class, what_if_payload
from hedgerow._types import Floats
from hedgerow._validation import CrossValidation
from hedgerow.exceptions import DataError

N_START_ROWS = 12
MOST_TARGETS = 6  # with curves
TRAINED_ON_THESE = "the model, unlike those of the folds, was trained on these rows."


@dataclass(frozen=True)
class ReportOptions:
    """The arguments of `report`."""

    title: str | None
    target_name: str
    n_mistakes: int
    n_bootstrap: int
    seed: int
    positive_class: Any = None


def summarise(
    model: Any,
    X: Any,
    y: Any,
    options: ReportOptions,
    *,
    sample_weight: Any = None,
    qid: Any = None,
    offset: Any = None,
    folds: CrossValidation | None = None,
) -> dict[str, Any]:
    """Return the contents of the report of a model on a dataset."""
    if not has_rows(X):
        raise DataError("X has 0 sample(s); a report needs rows to evaluate a model on.")
    passed, model = model, with_trees(model)
    outcomes = read_outcomes(model, X, y, qid, offset, options.positive_class, folds)
    n_rows = outcomes[0].n_rows
    weights = read_weights(sample_weight, n_rows)
    columns = read_columns(model, X)
    ids = read_row_ids(X)
    importances = importance_summary(model, columns)
    shuffled: dict[str, Any] = {"absent": TRAINED_ON_THESE}
    if folds is None:
        shuffled = shuffled_summary(model, X, y, offset, columns, outcomes)
    order = shuffled.get("order") or importances.get("order") or list(range(len(columns)))
    kinds = mistake_kinds(outcomes[0], options.n_mistakes)
    n_dots = MOST_DOTS // min(len(outcomes), MOST_TARGETS)
    summary: dict[str, Any] = {
        "target": options.target_name,
        "data": data_profile(columns, outcomes, order),
        "targets": [_target(outcome) for outcome in outcomes],
        "training": training_summary(passed),
        "outcomes": [_evaluate(outcome, weights, options, n_dots) for outcome in outcomes],
        "n_folds": None if folds is None else len(folds.folds),
        "is_weighted": weights is not None,
        "has_offset": offset is not None,
        "n_drawn": MOST_TARGETS,
        "coverage": COVERAGE,
        "n_bootstrap": options.n_bootstrap,
        "threshold": threshold_payload(outcomes[0], weights) if len(outcomes) == 1 else None,
        "importances": importances,
        "shuffled": shuffled,
        "shap": shap_summary(model, X, outcomes, options.target_name),
        "effects": effect_summary(model, X, columns, outcomes, order, options.target_name),
        "mistakes": mistakes_summary(
            *(model, X, outcomes[0], kinds, [columns[j] for j in order], ids, options.target_name),
            why_not=None if folds is None else TRAINED_ON_THESE,
        ),
        **_trees(model, columns, order, outcomes, kinds, ids, options),
        "parameters": parameter_table(passed),
        "reproducibility": reproducibility(passed),
    }
    summary["title"] = (
        title_of(outcomes, options.target_name) if options.title is None else options.title
    )
    summary["verdict"] = verdict(summary, outcomes[0])
    return plain(summary)


def _evaluate(
    outcome: Outcome, weights: Floats | None, options: ReportOptions, n_dots: int
) -> dict[str, Any]:
    evaluation: dict[str, Any] = {
        "name": outcome.name,
        "metrics": measured(outcome, weights, options.n_bootstrap, options.seed),
        "curves": curves_of(outcome, options.seed, n_dots),
    }
    if isinstance(outcome, ClassOutcome):
        evaluation |= {
            "classes": list(outcome.classes),
            "positive": outcome.classes[outcome.scored_classes[0]],
            "by_class": by_class(outcome, weights),
        }
    return evaluation


def _target(outcome: Outcome) -> dict[str, Any]:
    """Return the distribution of the target."""
    if isinstance(outcome, ClassOutcome):
        counts = np.bincount(outcome.index, minlength=len(outcome.classes))
        shares = [
            {"label": label, "rows": int(n), "share": float(n / outcome.n_rows)}
            for label, n in zip(outcome.classes, counts, strict=True)
        ]
        return {"kind": "classes", "name": outcome.name, "classes": shares}
    if isinstance(outcome, NumberOutcome | QuantileOutcome):
        return _number_target(outcome.name, outcome.y, "numbers")
    if isinstance(outcome, RankingOutcome):
        relevance, queries = outcome.target.T
        summary = _number_target("", relevance, "relevances")
        return summary | {"n_queries": len(np.unique(queries))}
    lower, upper = outcome.bounds.T
    return _number_target("", lower, "times") | {"seen": float(np.mean(lower == upper))}


def _number_target(name: str, values: Floats, kind: str) -> dict[str, Any]:
    low, middle, high = np.quantile(values, [0.0, 0.5, 1.0]).tolist()
    summary = {"min": low, "median": middle, "max": high, "mean": float(values.mean())}
    return {"kind": kind, "name": name, **summary, "histogram": histogram_bars(values)}


def _trees(
    model: Any,
    columns: Sequence[Column],
    order: Sequence[int],
    outcomes: Sequence[Outcome],
    kinds: Sequence[MistakeKind],
    ids: RowIds,
    options: ReportOptions,
) -> dict[str, Any]:
    """Return the trees to browse and the what-if form, or the reason why there are none."""
    try:
        trees = page_trees(model)
    except OmittedError as reason:
        return {"trees": {"absent": str(reason)}, "what_if": {"absent": str(reason)}}
    groups = _start_rows(outcomes[0], kinds, options)
    rows = list(dict.fromkeys(row for group in groups.values() for row in group))
    try:
        what_if = what_if_payload(model, trees, columns, order, rows, ids)
    except OmittedError as reason:
        what_if = {"absent": str(reason)}
    else:
        what_if["targets"] = _prediction_names(outcomes, options.target_name)
        what_if["groups"] = [
            {"label": label, "rows": [rows.index(row) for row in group]}
            for label, group in groups.items()
            if group
        ]
        explained = explained_class(what_if["explained"], outcomes[0])
        if "names" in explained:
            explained["names"] = [renamed(name, outcomes) for name in explained["names"]]
            explained["what"] = score_label(trees.unit, explained["names"], options.target_name)
        what_if["explained"] = explained
    payload = trees_payload(trees, options.target_name)
    payload["output_names"] = [renamed(name, outcomes) for name in payload["output_names"]]
    return {"trees": payload, "what_if": what_if}


def _prediction_names(outcomes: Sequence[Outcome], target_name: str) -> list[str]:
    """Return a name for each prediction of the what-if form."""
    first = outcomes[0]
    if isinstance(first, QuantileOutcome):
        return [f"{level:g} quantile of {target_name}" for level in first.levels]
    if isinstance(first, RankingOutcome | SurvivalOutcome):
        return ["prediction"]
    if isinstance(first, ClassOutcome) and first.probabilities is None:
        return [f"score of {first.classes[1]}"]
    return [outcome.name or target_name for outcome in outcomes]


def _start_rows(
    outcome: Outcome, kinds: Sequence[MistakeKind], options: ReportOptions
) -> dict[str, list[int]]:
    """Return a few random rows, and the worst mistakes of each kind."""
    sample = np.random.RandomState(options.seed).permutation(outcome.n_rows)[:N_START_ROWS]
    groups = {"Random rows": np.sort(sample).tolist()}
    return groups | {kind.title: kind.rows for kind in kinds}


def plain(value: Any) -> Any:
    """Return JSON types; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float | np.floating):
        return float(value) if isfinite(value) else None
    if isinstance(value, np.bool_):
        return bool(value)
    return int(value) if isinstance(value, np.integer) else value
