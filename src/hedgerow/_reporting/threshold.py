"""Data with which the page evaluates any positive class, decision threshold and costs.

For each distinct score the page has the number of rows, or their weight, of either class, so that
its counts are exact at any threshold. If there are very many distinct scores, it has a few thousand
thresholds, at each of which counts are exact as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow._reporting.forest_payload import packed
from hedgerow._reporting.outcomes import ClassOutcome, Outcome
from hedgerow._types import Floats

MOST_THRESHOLDS = 2500


def threshold_payload(outcome: Outcome, weights: Floats | None) -> dict[str, Any] | None:
    """Return scores and counts of both classes as JSON types; None if there are not two."""
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
        "positive": outcome.scored_classes[0],
        "unit": "probability" if is_probability else "score",
        "start": start,
        "n_rows": outcome.n_rows,
        "is_weighted": weights is not None,
        "n_scores": [len(np.unique(np.asarray(score))) for score in scores],
        "n_thresholds": [n for n, _ in by_class],
        "by_class": [payload for _, payload in by_class],
        "at_start": _at_start(outcome, start, weights),
    }


def _counts(
    score: Floats | None, positive: Any, weights: Floats | None, start: float
) -> tuple[int, dict[str, Any]]:
    """Return the thresholds, and the positive and negative rows from each to the next."""
    assert score is not None
    thresholds = _thresholds(score, positive, start)
    cell = np.searchsorted(thresholds, score, side="right") - 1
    w = np.ones(len(score)) if weights is None else weights
    dtype = "u4" if weights is None else "f8"
    counted = {
        name: packed(np.bincount(cell[rows], w[rows], minlength=len(thresholds)), dtype)
        for name, rows in (("positive", positive), ("negative", ~positive))
    }
    return len(thresholds), {"thresholds": packed(thresholds, "f8"), **counted}


def _thresholds(score: Floats, positive: Any, start: float) -> Floats:
    """Return all distinct scores or, of very many, a selection by value, by rows and by class.

    The selection includes round numbers, which a reader is likely to enter.
    """
    distinct = np.unique(score)
    if len(distinct) <= MOST_THRESHOLDS:
        return distinct
    candidates = [np.arange(len(distinct)), np.searchsorted(distinct, np.sort(score[positive]))]
    selected = [
        places[np.linspace(0, len(places) - 1, 800).round().astype(int)] for places in candidates
    ]
    evenly = np.linspace(distinct[0], distinct[-1], 700)
    selected.append(np.searchsorted(distinct, evenly))
    some = distinct[np.unique(np.concatenate(selected))]
    round_numbers = np.append(np.arange(1, 100) / 100, start)
    inside = (round_numbers > some[0]) & (round_numbers < some[-1])
    return np.union1d(some, round_numbers[inside])


def _at_start(outcome: ClassOutcome, start: float, weights: Floats | None) -> dict[str, Any]:
    """Return the confusion matrix at the threshold that the page starts with."""
    (k,) = outcome.scored_classes
    score = outcome.score_of(k)
    assert score is not None
    w = np.ones(outcome.n_rows) if weights is None else weights
    predicted, is_positive = score >= start, outcome.index == k
    return {
        "tp": float(w[predicted & is_positive].sum()),
        "fp": float(w[predicted & ~is_positive].sum()),
        "fn": float(w[~predicted & is_positive].sum()),
        "tn": float(w[~predicted & ~is_positive].sum()),
        "n_otherwise": int((predicted != (outcome.predicted == k)).sum()),
    }
