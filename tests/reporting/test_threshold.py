"""The decision threshold: what the page counts is scikit-learn's confusion matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, roc_curve

from hedgerow._reporting import threshold as threshold_module
from hedgerow._reporting.outcomes import ClassOutcome
from hedgerow._reporting.threshold import threshold_payload
from reporting.test_what_if import NODE, in_node

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no Node to run the page's scripts")


def outcome_of(p: np.ndarray, index: np.ndarray) -> ClassOutcome:
    probabilities = np.column_stack([1.0 - p, p])
    return ClassOutcome("", ("no", "yes"), index, (p > 0.5).astype(np.intp), probabilities)


def random_scores(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.RandomState(seed)
    p = draw.beta(1.0, 4.0, n_rows)
    return p, (draw.rand(n_rows) < p).astype(np.intp)


def counted(payload: dict[str, Any], k: int, thresholds: Any) -> list[Any]:
    """Return what the page counts at some thresholds: place, tp, fp, fn, tn."""
    code = """
      const { by_class: byClass, n_scores: scores, n_thresholds: n } = input.payload;
      const counts = new Counts(byClass[input.k], scores[input.k] === n[input.k]);
      return input.thresholds.map((t) => {
        const { tp, fp, fn, tn } = counts.at(counts.placeOf(t));
        return [tp, fp, fn, tn];
      });
    """
    return in_node(code, payload=payload, k=k, thresholds=list(thresholds))


@pytest.mark.parametrize("k", [0, 1])
def test_counts_are_the_confusion_matrix(k: int) -> None:
    p, index = random_scores(600)
    p = np.round(p, 2)  # with ties, also at the thresholds
    outcome = outcome_of(p, index)
    score = outcome.probabilities[:, k]
    thresholds = [0.0, 0.07, 0.25, 0.31, 0.5, float(score.max()), 1.01]
    actual = counted(threshold_payload(outcome, None), k, thresholds)
    for t, row in zip(thresholds, actual, strict=True):
        tn, fp, fn, tp = confusion_matrix(index == k, score >= t, labels=[False, True]).ravel()
        assert row == [tp, fp, fn, tn], t


def test_weights_are_counted() -> None:
    p, index = random_scores(300)
    w = np.random.RandomState(3).uniform(0.5, 2.0, 300)
    actual = counted(threshold_payload(outcome_of(p, index), w), 1, [0.2])[0]
    expected = confusion_matrix(index, p >= 0.2, sample_weight=w).ravel()[[3, 1, 2, 0]]
    assert actual == pytest.approx(expected.tolist())


def test_of_very_many_scores_counts_are_exact_at_thresholds(monkeypatch: Any) -> None:
    monkeypatch.setattr(threshold_module, "MOST_THRESHOLDS", 400)
    p, index = random_scores(20_000)
    payload = threshold_payload(outcome_of(p, index), None)
    assert payload["n_thresholds"][1] < 3000 < payload["n_scores"][1]
    # Round numbers are among them, whatever the scores are.
    thresholds = [0.01, 0.25, 0.5, 0.77]
    for t, (tp, fp, fn, tn) in zip(thresholds, counted(payload, 1, thresholds), strict=True):
        expected = confusion_matrix(index, p >= t).ravel()
        assert [tn, fp, fn, tp] == expected.tolist()


def test_the_least_cost_is_found() -> None:
    p, index = random_scores(500)
    payload = threshold_payload(outcome_of(p, index), None)
    code = """
      const counts = new Counts(input.payload.by_class[1], true);
      return input.costs.map(([fp, fn]) => {
        const best = counts.cheapest(fp, fn);
        return [best.threshold, best.cost];
      });
    """
    costs = [[1, 1], [1, 10], [10, 1], [0, 1], [1, 0], [3, 2]]
    actual = in_node(code, payload=payload, costs=costs)
    for (cost_fp, cost_fn), (t, cost) in zip(costs, actual, strict=True):
        tried = [*np.unique(p), 2.0]
        expected = min(_cost(p, index, one, cost_fp, cost_fn) for one in tried)
        assert cost == pytest.approx(expected)
        assert _cost(p, index, t, cost_fp, cost_fn) == pytest.approx(expected)


def _cost(p: np.ndarray, index: np.ndarray, t: float, cost_fp: float, cost_fn: float) -> float:
    predicted = p >= t
    return cost_fp * (predicted & (index == 0)).sum() + cost_fn * (~predicted & (index == 1)).sum()


def test_rates_are_their_definitions() -> None:
    p, index = random_scores(400)
    payload = threshold_payload(outcome_of(p, index), None)
    code = """
      const counts = new Counts(input.payload.by_class[1], true);
      return rates(counts.at(counts.placeOf(0.3)));
    """
    actual = in_node(code, payload=payload)
    predicted = p >= 0.3
    false, true, at = roc_curve(index, p, drop_intermediate=False)
    place = np.flatnonzero(at >= 0.3)[-1]
    assert actual["recall"] == pytest.approx(true[place])
    assert actual["specificity"] == pytest.approx(1.0 - false[place])
    assert actual["precision"] == pytest.approx(index[predicted].mean())
    assert actual["lift"] == pytest.approx(index[predicted].mean() / index.mean())
    assert actual["flagged"] == pytest.approx(predicted.mean())
    assert actual["accuracy"] == pytest.approx((predicted == index).mean())
    f1 = 2 * actual["precision"] * actual["recall"] / (actual["precision"] + actual["recall"])
    assert actual["f1"] == pytest.approx(f1)


def test_a_page_without_two_classes_and_scores_has_no_threshold() -> None:
    p, index = random_scores(50)
    outcome = outcome_of(p, index)
    assert threshold_payload(outcome_of(p, np.zeros(50, np.intp)), None) is None
    mute = ClassOutcome("", ("no", "yes"), index, outcome.predicted, None)
    assert threshold_payload(mute, None) is None
    start = threshold_payload(outcome, None)["at_start"]
    assert start["tp"] + start["fn"] == index.sum()
    assert start["n_otherwise"] == 0
