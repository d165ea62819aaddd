"""The metrics of each outcome, with bootstrap confidence intervals.

A metric is a function of row weights. A bootstrap sample is a set of integer weights, so that one
function serves both, and nothing is sorted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hedgerow._boosting.losses import Queries
from hedgerow._boosting.ranking_metrics import ALL, RankedRows, ndcg
from hedgerow._boosting.survival_metrics import concordance
from hedgerow._reporting.outcomes import (
    ClassOutcome,
    NumberOutcome,
    Outcome,
    QuantileOutcome,
    RankingOutcome,
    SurvivalOutcome,
    is_within,
)
from hedgerow._reporting.wording import brief
from hedgerow._types import Floats

COVERAGE = 0.95  # of the confidence intervals


@dataclass(frozen=True)
class Measure:
    """A metric of an outcome."""

    name: str
    meaning: str  # one line for readers who do not know the metric
    higher_is_better: bool | None  # None for a coverage, which should equal its nominal value
    of: Callable[[Floats], float]  # row weights → the metric, NaN if it is undefined
    unit_is_query: bool = False  # whether weights are of queries, not of rows


def measured(
    outcome: Outcome, weights: Floats | None, n_bootstrap: int, seed: int
) -> list[dict[str, Any]]:
    """Return the metrics of an outcome: name, value, confidence interval and meaning."""
    measures = measures_of(outcome)
    n_units = _n_queries(outcome) if measures[0].unit_is_query else outcome.n_rows
    w = np.ones(n_units) if weights is None or measures[0].unit_is_query else weights
    samples = _bootstrap(measures, w, n_bootstrap, seed)
    return [
        {
            "name": measure.name,
            "value": measure.of(w),
            "low": low,
            "high": high,
            "higher_is_better": measure.higher_is_better,
            "meaning": measure.meaning,
        }
        for measure, (low, high) in zip(measures, _intervals(samples), strict=True)
    ]


def _bootstrap(measures: Sequence[Measure], weights: Floats, n_bootstrap: int, seed: int) -> Floats:
    """Return each metric of each bootstrap sample, (n_bootstrap, n_measures)."""
    draw, n = np.random.RandomState(seed), len(weights)
    values = np.empty((n_bootstrap, len(measures)))
    for b in range(n_bootstrap):
        counts = np.bincount(draw.randint(0, n, n), minlength=n) * weights
        values[b] = [measure.of(counts) for measure in measures]
    return values


def _intervals(values: Floats) -> list[tuple[float, float]]:
    """Return the percentile intervals; NaN if the metric is undefined in a sample."""
    if len(values) == 0:
        return [(float("nan"), float("nan"))] * values.shape[1]
    outside = 0.5 * (1.0 - COVERAGE)
    low, high = np.quantile(values, [outside, 1.0 - outside], axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def measures_of(outcome: Outcome) -> list[Measure]:
    """Return the metrics of an outcome, the most important first."""
    if isinstance(outcome, ClassOutcome):
        return _of_classes(outcome)
    if isinstance(outcome, NumberOutcome):
        return _of_numbers(outcome)
    if isinstance(outcome, QuantileOutcome):
        return _of_quantiles(outcome)
    if isinstance(outcome, RankingOutcome):
        return _of_rankings(outcome)
    return _of_survival(outcome)


def _of_classes(outcome: ClassOutcome) -> list[Measure]:
    right = (outcome.index == outcome.predicted).astype(np.float64)
    accuracy = Measure("accuracy", "share of rows classified correctly", True, _mean_of(right))
    balanced = Measure(
        *("balanced accuracy", "mean of the recalls of the classes, whether frequent or rare"),
        *(True, partial(_balanced, outcome)),
    )
    geometric = Measure(
        *("G-mean", "geometric mean of the recalls of the classes: 0 if one class is never found"),
        *(True, partial(_geometric, outcome)),
    )
    return [*_of_scores(outcome), *_of_probabilities(outcome), accuracy, balanced, geometric]


def _of_scores(outcome: ClassOutcome) -> list[Measure]:
    """Return the ranking metrics of the scores."""
    scored = [k for k in outcome.scored_classes if outcome.score_of(k) is not None]
    if not scored:
        return []
    of = " (one class against the rest, mean over classes)" if len(scored) > 1 else ""
    auc = Measure(
        "ROC AUC",
        f"probability that a random positive row scores above a random negative one{of}; 0.5 is "
        "guessing",
        *(True, _mean_over(_Auc, outcome, scored)),
    )
    if len(scored) > 1:
        return [auc]
    positive = outcome.classes[scored[0]]
    chance = float(np.mean(outcome.index == scored[0]))
    precision = Measure(
        "average precision",
        f"area under the precision–recall curve of {brief(positive)}; {chance:.3g} is guessing",
        *(True, _mean_over(_AveragePrecision, outcome, scored)),
    )
    return [auc, precision]


def _of_probabilities(outcome: ClassOutcome) -> list[Measure]:
    if outcome.probabilities is None:
        return []
    surprise, squares = _mean_of(outcome.surprise), _mean_of(_squared_errors(outcome))
    return [
        Measure(
            "log loss", "mean of −log of the probability given to the true class", False, surprise
        ),
        Measure("Brier score", "mean squared error of the probabilities", False, squares),
    ]


def _squared_errors(outcome: ClassOutcome) -> Floats:
    assert outcome.probabilities is not None
    truth = np.equal.outer(outcome.index, np.arange(len(outcome.classes)))
    errors = ((outcome.probabilities - truth) ** 2).sum(axis=1)
    return 0.5 * errors if len(outcome.classes) == 2 else errors


def _balanced(outcome: ClassOutcome, weights: Floats) -> float:
    recalls = _recalls(outcome, weights)
    return _part(recalls.sum(), len(recalls))


def _geometric(outcome: ClassOutcome, weights: Floats) -> float:
    recalls = _recalls(outcome, weights)
    return float(np.prod(recalls) ** (1.0 / len(recalls))) if len(recalls) else float("nan")


def _recalls(outcome: ClassOutcome, weights: Floats) -> Floats:
    """Return the recall of each class that has rows."""
    table = confusion(outcome, weights)
    present = table.sum(axis=1) > 0.0
    return np.asarray(np.diag(table)[present] / table.sum(axis=1)[present])


def confusion(outcome: ClassOutcome, weights: Floats) -> Floats:
    """Return the weight of rows by true (rows) and predicted class (columns)."""
    k = len(outcome.classes)
    cells = np.bincount(outcome.index * k + outcome.predicted, weights, minlength=k * k)
    return cells.reshape(k, k).astype(np.float64)


def by_class(outcome: ClassOutcome, weights: Floats | None) -> list[dict[str, Any]]:
    """Return precision, recall, F1 and the number of rows of each class."""
    w = np.ones(outcome.n_rows) if weights is None else weights
    table = confusion(outcome, w)
    right, true, predicted = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    return [
        {
            "class": label,
            "rows": int(np.count_nonzero(outcome.index == k)),
            "precision": _part(right[k], predicted[k]),
            "recall": _part(right[k], true[k]),
            "f1": _part(2.0 * right[k], true[k] + predicted[k]),
        }
        for k, label in enumerate(outcome.classes)
    ]


def _part(part: float, total: float) -> float:
    return float(part / total) if total > 0.0 else float("nan")


def _mean_over(
    metric: type[_Auc], outcome: ClassOutcome, scored: Sequence[int]
) -> Callable[[Floats], float]:
    """Return the mean of a metric over classes."""
    metrics = []
    for k in scored:
        score = outcome.score_of(k)
        assert score is not None
        metrics.append(metric(outcome.index == k, score))
    return lambda weights: float(np.mean([one(weights) for one in metrics]))


class _Auc:
    """The area under the ROC curve as a function of row weights; rows are sorted once."""

    def __init__(self, positive: Any, score: Floats) -> None:
        self._order = np.argsort(score, kind="stable")
        self._positive = positive[self._order]
        begins = np.diff(score[self._order], prepend=-np.inf) > 0.0
        self._tie = np.cumsum(begins) - 1

    def __call__(self, weights: Floats) -> float:
        up, down = self._by_score(weights)
        below = np.cumsum(down) - 0.5 * down
        total = up.sum() * down.sum()
        return float((up * below).sum() / total) if total > 0.0 else float("nan")

    def _by_score(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the weight of positive and of negative rows at each distinct score, ascending."""
        w = weights[self._order]
        up = np.bincount(self._tie, np.where(self._positive, w, 0.0)).astype(np.float64)
        return up, np.bincount(self._tie, np.where(self._positive, 0.0, w)).astype(np.float64)


class _AveragePrecision(_Auc):
    """The mean of the precisions at each recall, as scikit-learn defines it."""

    def __call__(self, weights: Floats) -> float:
        up, down = self._by_score(weights)
        hits, flagged = np.cumsum(up[::-1]), np.cumsum((up + down)[::-1])
        if not hits[-1] > 0.0:
            return float("nan")
        precision = hits / np.where(flagged > 0.0, flagged, 1.0)
        return float((up[::-1] * precision).sum() / hits[-1])


def _of_numbers(outcome: NumberOutcome) -> list[Measure]:
    residual = outcome.y - outcome.predicted
    squares = _mean_of(residual**2)
    return [
        *(
            Measure(
                name.replace("_", " "),
                "the loss that the model was trained for, on these rows",
                *(False, partial(_weighted, measure, outcome)),
            )
            for name, measure in outcome.loss.items()
        ),
        Measure(
            *("R²", "share of the variance explained; 0 is predicting the mean", True),
            partial(_explained, outcome),
        ),
        Measure(
            *("RMSE", "root mean squared error, in units of the target", False),
            lambda weights: float(np.sqrt(squares(weights))),
        ),
        Measure(
            *("MAE", "mean absolute error, in units of the target", False),
            _mean_of(np.abs(residual)),
        ),
        *_of_intervals(outcome),
    ]


def _weighted(measure: Any, outcome: NumberOutcome, weights: Floats) -> float:
    defined = weights > 0.0
    if not defined.any():
        return float("nan")
    return float(measure(outcome.y[defined], outcome.predicted[defined], weights[defined]))


def _of_intervals(outcome: NumberOutcome | QuantileOutcome) -> list[Measure]:
    """Return the metrics of calibrated intervals."""
    intervals = outcome.intervals
    if intervals is None:
        return []
    nominal = f"{100 * intervals.coverage:.3g}%"
    return [
        Measure(
            f"coverage of the {nominal} intervals",
            f"share of true values inside the calibrated interval; should be {nominal}",
            *(None, _mean_of(is_within(outcome.y, intervals.ends).astype(np.float64))),
        ),
        Measure(
            f"mean width of the {nominal} intervals",
            "in units of the target, at the coverage above",
            *(False, _mean_of(intervals.ends[:, 1] - intervals.ends[:, 0])),
        ),
    ]


def _explained(outcome: NumberOutcome, weights: Floats) -> float:
    if not weights.any():
        return float("nan")
    centred = outcome.y - np.average(outcome.y, weights=weights)
    spread = (weights * centred**2).sum()
    residual = (weights * (outcome.y - outcome.predicted) ** 2).sum()
    return float(1.0 - residual / spread) if spread > 0.0 else float("nan")


def _of_quantiles(outcome: QuantileOutcome) -> list[Measure]:
    low, high = outcome.predicted[:, 0], outcome.predicted[:, -1]
    within = ((outcome.y >= low) & (outcome.y <= high)).astype(np.float64)
    nominal = f"{100 * (outcome.levels[-1] - outcome.levels[0]):.3g}%"
    levels = f"{outcome.levels[0]:g} to {outcome.levels[-1]:g}"
    calibrated = _of_intervals(outcome)
    before = ", before calibration" if calibrated else ""
    return [
        *calibrated,
        Measure(
            *("pinball loss", "mean loss of the quantiles, in units of the target", False),
            _mean_of(outcome.surprise),
        ),
        Measure(
            f"coverage of quantiles {levels}{before}",
            f"share of true values between the outer quantiles; should be {nominal}",
            *(None, _mean_of(within)),
        ),
        Measure(
            f"mean width of quantiles {levels}{before}",
            "distance of the outer quantiles, in units of the target",
            *(False, _mean_of(high - low)),
        ),
    ]


def _n_queries(outcome: Outcome) -> int:
    assert isinstance(outcome, RankingOutcome)
    return len(np.unique(outcome.target[:, 1]))


def ndcg_by_query(outcome: RankingOutcome, k: int = ALL) -> Floats:
    """Return the NDCG of each query; NaN if none of its rows is relevant."""
    gain = outcome.loss.gain_of(outcome.target[:, 0])
    ranked = RankedRows(Queries.of(outcome.target[:, 1]), gain, outcome.predicted)
    return ndcg(ranked, k)


def _of_rankings(outcome: RankingOutcome) -> list[Measure]:
    gain = "normalised discounted cumulative gain"
    return [
        Measure(
            *(name, f"{gain} of {part}, mean over queries; 1 is a perfect order", True),
            _mean_of(ndcg_by_query(outcome, k)),
            unit_is_query=True,
        )
        for name, k, part in (
            ("NDCG", ALL, "the whole ranking"),
            ("NDCG@10", 10, "the first 10"),
            ("NDCG@3", 3, "the first 3"),
        )
    ]


def _of_survival(outcome: SurvivalOutcome) -> list[Measure]:
    return [
        Measure(
            *(
                "concordance",
                "share of comparable pairs of rows whose order is right (C-index); 0.5 is guessing",
            ),
            *(True, lambda weights: concordance(outcome.bounds, outcome.predicted, weights)),
        )
    ]


def _mean_of(values: Floats) -> Callable[[Floats], float]:
    """Return the mean of the values that are defined, as a function of their weights."""
    defined = ~np.isnan(values)

    def mean(weights: Floats) -> float:
        return _part((weights[defined] * values[defined]).sum(), weights[defined].sum())

    return mean
