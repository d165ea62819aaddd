"""What the page needs to let its reader choose the positive class, the threshold and the costs.

Rows are sorted by their score. For each distinct score the page has the number of rows, or their
weight, of either class; so it counts exactly at any threshold. Of very many distinct scores it has
some thousand thresholds, at each of which counts are exact as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow._reporting.forest_payload import packed
from hedgerow._reporting.outcomes import ClassOutcome, Outcome
from hedgerow._types import Floats

MOST_THRESHOLDS = 2500


def threshold_payload(outcome: Outcome, weights: Floats | None) -> dict[str, Any] | None:
    """Return scores and counts of both classes, as JSON types; None if there are not two classes.

    Parameters
    ----------
    outcome : Outcome
    weights : array of shape (n_rows,), optional
        Of the rows.
    """
    if not isinstance(outcome, ClassOutcome) or len(outcome.classes) != 2:
        return None
    scores = [outcome.score_of(k) for k in (0, 1)]
    if scores[0] is None or scores[1] is None or len(np.unique(outcome.index)) < 2:
        return None
    is_probability = outcome.probabilities is not None
    start = 0.5 if is_probability else 0.0
    by_class = [_counts(scores[k], outcome.index == k, weights, start) for k in (0, 1)]
    return {
        "classes": list(outcome.classes),
        "unit": "probability" if is_probability else "score",
        "start": start,
        "n_rows": outcome.n_rows,
        "is_weighted": weights is not None,
        "n_scores": [len(np.unique(np.asarray(score))) for score in scores],
        "n_thresholds": [n for n, _ in by_class],
        "by_class": [payload for _, payload in by_class],
        "at_start": _at_start(outcome, scores[1], start, weights),
    }


def _counts(
    score: Floats | None, positive: Any, weights: Floats | None, start: float
) -> tuple[int, dict[str, Any]]:
    """Return the thresholds, and the rows from each to the next: positive and negative ones."""
    assert score is not None
    thresholds = _thresholds(score, positive, start)
    cell = np.searchsorted(thresholds, score, side="right") - 1
    given = np.ones(len(score)) if weights is None else weights
    dtype = "u4" if weights is None else "f8"
    counted = {
        name: packed(np.bincount(cell[rows], given[rows], minlength=len(thresholds)), dtype)
        for name, rows in (("positive", positive), ("negative", ~positive))
    }
    return len(thresholds), {"thresholds": packed(thresholds, "f8"), **counted}


def _thresholds(score: Floats, positive: Any, start: float) -> Floats:
    """Return all distinct scores or, of very many, some: by value, by rows and by class.

    Among these are round numbers, where a reader is likely to look.
    """
    distinct = np.unique(score)
    if len(distinct) <= MOST_THRESHOLDS:
        return distinct
    parts = [np.arange(len(distinct)), np.searchsorted(distinct, np.sort(score[positive]))]
    chosen = [places[np.linspace(0, len(places) - 1, 800).round().astype(int)] for places in parts]
    evenly = np.linspace(distinct[0], distinct[-1], 700)
    chosen.append(np.searchsorted(distinct, evenly))
    some = distinct[np.unique(np.concatenate(chosen))]
    round_numbers = np.append(np.arange(1, 100) / 100, start)
    inside = (round_numbers > some[0]) & (round_numbers < some[-1])
    return np.union1d(some, round_numbers[inside])


def _at_start(
    outcome: ClassOutcome, score: Floats | None, start: float, weights: Floats | None
) -> dict[str, Any]:
    """Return the confusion matrix of the second class at the threshold that the page starts at."""
    assert score is not None
    given = np.ones(outcome.n_rows) if weights is None else weights
    said, is_positive = score >= start, outcome.index == 1
    return {
        "tp": float(given[said & is_positive].sum()),
        "fp": float(given[said & ~is_positive].sum()),
        "fn": float(given[~said & is_positive].sum()),
        "tn": float(given[~said & ~is_positive].sum()),
        "n_otherwise": int((said != (outcome.predicted == 1)).sum()),
    }
