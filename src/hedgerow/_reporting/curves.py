"""Points of the curves that show how an outcome was predicted; charts.py draws them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from hedgerow._reporting.metrics import confusion, ndcg_by_query
from hedgerow._reporting.outcomes import (
    ClassOutcome,
    NumberOutcome,
    Outcome,
    QuantileOutcome,
    RankingOutcome,
    SurvivalOutcome,
    is_within,
)
from hedgerow._types import Floats

Points = list[dict[str, Any]]

MOST_POINTS = 200  # of a curve: beyond that, none is a pixel from the next
MOST_DOTS = 1500  # of a cloud
MOST_CLASSES = 6  # that are drawn
BINS = 10  # of calibration
BARS = 40  # of a histogram


def curves_of(outcome: Outcome, seed: int, n_dots: int = MOST_DOTS) -> dict[str, Any]:
    """Return the curves that suit an outcome, by name."""
    if isinstance(outcome, ClassOutcome):
        return _of_classes(outcome)
    if isinstance(outcome, NumberOutcome):
        return _of_numbers(outcome, seed, n_dots)
    if isinstance(outcome, QuantileOutcome):
        return {"coverage": _coverage(outcome), **_interval_coverage(outcome)}
    if isinstance(outcome, RankingOutcome):
        return {"ndcg": histogram(ndcg_by_query(outcome))}
    return _of_survival(outcome)


def _of_classes(outcome: ClassOutcome) -> dict[str, Any]:
    counts = confusion(outcome, np.ones(outcome.n_rows)) if len(outcome.classes) <= 20 else None
    curves: dict[str, Any] = {"confusion": None if counts is None else counts.astype(int).tolist()}
    drawn = [1] if len(outcome.classes) == 2 else range(min(len(outcome.classes), MOST_CLASSES))
    roc: Points = []
    precision: Points = []
    calibration: Points = []
    for k in drawn:
        score, positive = outcome.score_of(k), outcome.index == k
        if score is None or not positive.any() or positive.all():
            continue
        label = outcome.classes[k]
        roc += _roc(label, positive, score)
        precision += _precision(label, positive, score)
        if outcome.probabilities is not None:
            calibration += _calibration(label, positive, score)
    found = {"roc": roc, "precision": precision, "calibration": calibration}
    return curves | {name: points for name, points in found.items() if points}


def _roc(label: str, positive: Any, score: Floats) -> Points:
    false, true, _ = roc_curve(positive, score)
    kept = _thinned(len(false))
    return [
        {"class": label, "x": x, "y": y, "i": i}
        for i, (x, y) in enumerate(zip(false[kept].tolist(), true[kept].tolist(), strict=True))
    ]


def _precision(label: str, positive: Any, score: Floats) -> Points:
    precision, recall, _ = precision_recall_curve(positive, score)
    kept = _thinned(len(recall))
    return [
        {"class": label, "x": x, "y": y, "i": i}
        for i, (x, y) in enumerate(
            zip(recall[kept].tolist(), precision[kept].tolist(), strict=True)
        )
    ]


def _calibration(label: str, positive: Any, p: Floats) -> Points:
    """Compare what was said with what was, in bins of as many rows each."""
    order = np.argsort(p, kind="stable")
    points = []
    for rows in np.array_split(order, min(BINS, len(order))):
        said, was, n = float(p[rows].mean()), float(positive[rows].mean()), len(rows)
        low, high = _wilson(was, n)
        points.append({"class": label, "x": said, "y": was, "low": low, "high": high, "rows": n})
    return points


def _wilson(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    z = 1.959963984540054
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _of_numbers(outcome: NumberOutcome, seed: int, n_dots: int) -> dict[str, Any]:
    rows = np.arange(outcome.n_rows)
    if len(rows) > n_dots:
        rows = np.sort(np.random.RandomState(seed).permutation(outcome.n_rows)[:n_dots])
    residual = outcome.y - outcome.predicted
    dots = [
        {"predicted": p, "true": t, "residual": r}
        for p, t, r in zip(
            outcome.predicted[rows].tolist(),
            outcome.y[rows].tolist(),
            residual[rows].tolist(),
            strict=True,
        )
    ]
    return {
        "dots": dots,
        "n_rows": outcome.n_rows,
        "residuals": histogram(residual),
        **_interval_coverage(outcome),
    }


def _interval_coverage(outcome: NumberOutcome | QuantileOutcome) -> dict[str, Any]:
    """Return how much calibrated intervals of several nominal coverages cover."""
    if outcome.intervals is None:
        return {}
    points = []
    for nominal, ends in outcome.intervals.by_coverage:
        share = float(is_within(outcome.y, ends).mean())
        low, high = _wilson(share, outcome.n_rows)
        points.append({"x": nominal, "y": share, "low": low, "high": high})
    return {"intervals": points}


def _coverage(outcome: QuantileOutcome) -> Points:
    below = (outcome.y[:, np.newaxis] <= outcome.predicted).mean(axis=0)
    points = []
    for level, share in zip(outcome.levels, below.tolist(), strict=True):
        low, high = _wilson(share, outcome.n_rows)
        points.append({"x": level, "y": share, "low": low, "high": high})
    return points


def _of_survival(outcome: SurvivalOutcome) -> dict[str, Any]:
    """Return Kaplan and Meier's curves of the thirds that should last longest to shortest."""
    lower, upper = outcome.bounds.T
    seen = lower == upper
    if not (seen | np.isinf(upper)).all() or outcome.n_rows < 3:
        return {}
    order = np.argsort(outcome.longer, kind="stable")
    names = ("shortest third", "middle third", "longest third")
    points: Points = []
    for name, rows in zip(names, np.array_split(order, 3), strict=True):
        points += _kaplan_meier(name, lower[rows], seen[rows])
    return {"survival": points}


def _kaplan_meier(name: str, times: Floats, seen: Any) -> Points:
    at, place = np.unique(times, return_inverse=True)
    events, ended = np.bincount(place, seen), np.bincount(place)
    at_risk = len(times) - np.append(0, np.cumsum(ended)[:-1])
    survival = np.cumprod(1.0 - events / at_risk)
    kept = _thinned(len(at))
    start: Points = [{"class": name, "x": 0.0, "y": 1.0, "i": 0}]
    return start + [
        {"class": name, "x": x, "y": y, "i": i}
        for i, (x, y) in enumerate(
            zip(at[kept].tolist(), survival[kept].tolist(), strict=True), start=1
        )
    ]


def histogram(values: Floats, most_bars: int = BARS) -> Points:
    """Return bars; numbers beyond the middle 99.8 % count in the outer bars."""
    # Halves, because the difference of two numbers may be beyond the largest one.
    halves = 0.5 * values[np.isfinite(values)]
    if len(halves) == 0:
        return []
    low, high = np.quantile(halves, [0.001, 0.999])
    edges = _edges(halves, low, high, most_bars)
    counts, _ = np.histogram(np.clip(halves, low, high), edges)
    ends = (2.0 * edges).tolist()
    return [
        {"low": a, "high": b, "rows": n}
        for a, b, n in zip(ends[:-1], ends[1:], counts.tolist(), strict=True)
    ]


def _edges(halves: Floats, low: float, high: float, most_bars: int) -> Floats:
    """Return where bars begin and end: about each of a few whole numbers, or evenly."""
    whole = 2.0 * halves
    if high - low < 0.5 * most_bars and (whole == np.round(whole)).all():
        return 0.5 * (np.arange(np.floor(2.0 * low), np.ceil(2.0 * high) + 2.0) - 0.5)
    edges = np.linspace(low, high, min(most_bars, len(np.unique(halves))) + 1)
    if (np.diff(edges) > 0.0).all():
        return edges
    return low + max(abs(low), 1.0) * np.array([-0.25, 0.25])


def _thinned(n: int) -> Any:
    return np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS)).round().astype(np.intp))
