"""Curves of an outcome as JSON types: points from `hedgerow._curves`, which charts.py draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._curves import (
    ThresholdCounts,
    calibration_bins,
    histogram,
    kaplan_meier,
    some_rows,
    thinned,
    wilson_interval,
)
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

MOST_POINTS = 200  # of a curve: more would be less than a pixel apart
MOST_DOTS = 1500  # of a scatter plot
MOST_CLASSES = 6  # that are drawn
MOST_CELLS = 20  # of a side of the confusion matrix
BARS = 40  # of a histogram


def curves_of(outcome: Outcome, seed: int, n_dots: int = MOST_DOTS) -> dict[str, Any]:
    """Return the curves of an outcome, by name."""
    if isinstance(outcome, ClassOutcome):
        return _of_classes(outcome)
    if isinstance(outcome, NumberOutcome):
        return _of_numbers(outcome, seed, n_dots)
    if isinstance(outcome, QuantileOutcome):
        return {"coverage": _coverage(outcome), **_interval_coverage(outcome)}
    if isinstance(outcome, RankingOutcome):
        return {"ndcg": histogram_bars(ndcg_by_query(outcome))}
    return _of_survival(outcome)


def _of_classes(outcome: ClassOutcome) -> dict[str, Any]:
    curves: dict[str, Any] = {"confusion": None}
    if len(outcome.classes) <= MOST_CELLS:
        matrix = confusion(outcome, np.ones(outcome.n_rows))
        curves["confusion"] = matrix.astype(int).tolist()
    roc: Points = []
    precision: Points = []
    calibration: Points = []
    for k in outcome.scored_classes[:MOST_CLASSES]:
        score, positive = outcome.score_of(k), outcome.index == k
        if score is None or not positive.any() or positive.all():
            continue
        label = outcome.classes[k]
        counts = ThresholdCounts.of(positive, score)
        roc += _points(label, counts.fpr, counts.tpr)
        precision += _points(label, counts.tpr, counts.precision)
        if outcome.probabilities is not None:
            calibration += _calibration(label, positive, score)
    by_name = {"roc": roc, "precision": precision, "calibration": calibration}
    return curves | {name: points for name, points in by_name.items() if points}


def _points(label: str, x: Floats, y: Floats) -> Points:
    """Return a line of at most `MOST_POINTS` points."""
    selected = thinned(len(x), MOST_POINTS)
    return _line(label, x[selected], y[selected])


def _line(label: str, x: Floats, y: Floats) -> Points:
    return [{"class": label} | point for point in _records(x=x, y=y, i=np.arange(len(x)))]


def _records(**columns: NDArray[Any]) -> Points:
    """Return arrays of one length as a list of dicts."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _calibration(label: str, positive: Any, p: Floats) -> Points:
    bins = calibration_bins(positive, p)
    ends = {"low": bins.low, "high": bins.high}
    points = _records(x=bins.probability, y=bins.frequency, **ends, rows=bins.n_rows)
    return [{"class": label} | point for point in points]


def _of_numbers(outcome: NumberOutcome, seed: int, n_dots: int) -> dict[str, Any]:
    rows = some_rows(outcome.n_rows, n_dots, seed)
    y, predicted, residual = outcome.y, outcome.predicted, outcome.y - outcome.predicted
    return {
        "dots": _records(predicted=predicted[rows], true=y[rows], residual=residual[rows]),
        "n_rows": outcome.n_rows,
        "residuals": histogram_bars(residual),
        **_interval_coverage(outcome),
    }


def _interval_coverage(outcome: NumberOutcome | QuantileOutcome) -> dict[str, Any]:
    """Return the observed coverage of calibrated intervals, by nominal coverage."""
    if outcome.intervals is None:
        return {}
    points = []
    for nominal, ends in outcome.intervals.by_coverage:
        share = float(is_within(outcome.y, ends).mean())
        points.append(_share(nominal, share, outcome.n_rows))
    return {"intervals": points}


def _coverage(outcome: QuantileOutcome) -> Points:
    below = (outcome.y[:, np.newaxis] <= outcome.predicted).mean(axis=0)
    levels = zip(outcome.levels, below.tolist(), strict=True)
    return [_share(level, share, outcome.n_rows) for level, share in levels]


def _share(nominal: float, share: float, n_rows: int) -> dict[str, float]:
    """Return an observed share with its nominal value and confidence interval."""
    low, high = wilson_interval(share, n_rows)
    return {"x": nominal, "y": share, "low": float(low), "high": float(high)}


def _of_survival(outcome: SurvivalOutcome) -> dict[str, Any]:
    """Return Kaplan and Meier's curves of three groups by predicted survival time."""
    lower, upper = outcome.bounds.T
    is_event = lower == upper
    if not (is_event | np.isinf(upper)).all() or outcome.n_rows < 3:
        return {}
    order = np.argsort(outcome.predicted, kind="stable")
    names = ("shortest third", "middle third", "longest third")
    points: Points = []
    for name, rows in zip(names, np.array_split(order, 3), strict=True):
        points += _survival(name, lower[rows], is_event[rows])
    return {"survival": points}


def _survival(name: str, times: Floats, is_event: Any) -> Points:
    at, survival = kaplan_meier(times, is_event)
    selected = thinned(len(at), MOST_POINTS)
    return _line(name, np.append(0.0, at[selected]), np.append(1.0, survival[selected]))


def histogram_bars(values: Floats, most_bars: int = BARS) -> Points:
    """Return the bars of a histogram."""
    edges, counts = histogram(values, most_bars)
    return _records(low=edges[:-1], high=edges[1:], rows=counts)
