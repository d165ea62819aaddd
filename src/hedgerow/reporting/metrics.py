"""How good predictions are: metrics of each outcome, with intervals by the bootstrap.

A metric is a function of row weights. The bootstrap draws rows with replacement, which is to say,
weighs each by how often it is drawn; so one function serves both, and nothing is sorted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from hedgerow.boosting.losses import Queries
from hedgerow.boosting.ranking.metrics import ALL, RankedRows, ndcg
from hedgerow.boosting.survival.metrics import concordance
from hedgerow.reporting.outcomes import (
    ClassOutcome,
    Floats,
    NumberOutcome,
    Outcome,
    QuantileOutcome,
    RankingOutcome,
    SurvivalOutcome,
)

COVERAGE = 0.95  # of the intervals


@dataclass(frozen=True)
class Measure:
    """A metric of an outcome.

    Attributes
    ----------
    name : str
    meaning : str
        One line for a reader who does not know it.
    higher_is_better : bool
    of : function of row weights
        Returns the metric, NaN where it is not defined.
    unit_is_query : bool
        Whether weights are those of queries, not of rows.
    """

    name: str
    meaning: str
    higher_is_better: bool
    of: Callable[[Floats], float]
    unit_is_query: bool = False


def measured(
    outcome: Outcome, weights: Floats | None, n_bootstrap: int, seed: int
) -> list[dict[str, Any]]:
    """Return the metrics of an outcome: name, value, ends of the interval, meaning."""
    measures = measures_of(outcome)
    n_units = _n_queries(outcome) if measures[0].unit_is_query else outcome.n_rows
    given = np.ones(n_units) if weights is None or measures[0].unit_is_query else weights
    drawn = _bootstrap(measures, given, n_bootstrap, seed)
    return [
        {
            "name": measure.name,
            "value": measure.of(given),
            "low": low,
            "high": high,
            "higher_is_better": measure.higher_is_better,
            "meaning": measure.meaning,
        }
        for measure, (low, high) in zip(measures, _intervals(drawn), strict=True)
    ]


def _bootstrap(measures: Sequence[Measure], weights: Floats, n_bootstrap: int, seed: int) -> Floats:
    """Return each metric of each draw, (n_bootstrap, n_measures)."""
    draw, n = np.random.RandomState(seed), len(weights)
    values = np.empty((n_bootstrap, len(measures)))
    for b in range(n_bootstrap):
        counts = np.bincount(draw.randint(0, n, n), minlength=n) * weights
        values[b] = [measure.of(counts) for measure in measures]
    return values


def _intervals(values: Floats) -> list[tuple[float, float]]:
    """Return the percentiles that lie about the middle; NaN where a draw was not defined."""
    if len(values) == 0:
        return [(float("nan"), float("nan"))] * values.shape[1]
    outside = 0.5 * (1.0 - COVERAGE)
    low, high = np.quantile(values, [outside, 1.0 - outside], axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def measures_of(outcome: Outcome) -> list[Measure]:
    """Return the metrics that suit an outcome, the one to look at first."""
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
    accuracy = Measure("accuracy", "part of rows whose class is right", True, _mean_of(right))
    balanced = Measure(
        *("balanced accuracy", "part of rows that are right, each class counted alike", True),
        partial(_balanced, outcome),
    )
    measures = [accuracy, balanced]
    scored = [k for k in _judged_classes(outcome) if outcome.score_of(k) is not None]
    if scored:
        kind = "a class against the others, mean over classes" if len(scored) > 1 else "two classes"
        measures.insert(
            0,
            Measure(
                *("AUC", f"chance that scores order two rows rightly ({kind}); ½ is guessing"),
                *(True, _mean_auc(outcome, scored)),
            ),
        )
    if outcome.probabilities is not None:
        surprise = _mean_of(outcome.surprise)
        brier = _mean_of(_squared_errors(outcome))
        measures[1:1] = [
            Measure(
                "log loss", "mean of −log of the probability of what was true", False, surprise
            ),
            Measure("Brier score", "mean squared error of the probabilities", False, brier),
        ]
    return measures


def _judged_classes(outcome: ClassOutcome) -> list[int]:
    """Return the classes whose scores are judged: of two, the second says all."""
    n_classes = len(outcome.classes)
    return [1] if n_classes == 2 else list(range(n_classes))


def _squared_errors(outcome: ClassOutcome) -> Floats:
    assert outcome.probabilities is not None
    truth = np.equal.outer(outcome.index, np.arange(len(outcome.classes)))
    errors = ((outcome.probabilities - truth) ** 2).sum(axis=1)
    return 0.5 * errors if len(outcome.classes) == 2 else errors


def _balanced(outcome: ClassOutcome, weights: Floats) -> float:
    table = confusion(outcome, weights)
    present = table.sum(axis=1) > 0.0
    recalls = np.diag(table)[present] / table.sum(axis=1)[present]
    return _part(recalls.sum(), len(recalls))


def confusion(outcome: ClassOutcome, weights: Floats) -> Floats:
    """Return the weight of rows by true (rows) and predicted class (columns)."""
    k = len(outcome.classes)
    cells = np.bincount(outcome.index * k + outcome.predicted, weights, minlength=k * k)
    return cells.reshape(k, k).astype(np.float64)


def by_class(outcome: ClassOutcome, weights: Floats | None) -> list[dict[str, Any]]:
    """Return precision, recall and F1 of each class, and how many rows have it."""
    given = np.ones(outcome.n_rows) if weights is None else weights
    table = confusion(outcome, given)
    right, true, said = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    return [
        {
            "class": label,
            "rows": int(np.count_nonzero(outcome.index == k)),
            "precision": _part(right[k], said[k]),
            "recall": _part(right[k], true[k]),
            "f1": _part(2.0 * right[k], true[k] + said[k]),
        }
        for k, label in enumerate(outcome.classes)
    ]


def _part(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0.0 else float("nan")


def _mean_auc(outcome: ClassOutcome, scored: Sequence[int]) -> Callable[[Floats], float]:
    each = []
    for k in scored:
        score = outcome.score_of(k)
        assert score is not None
        each.append(_Auc(outcome.index == k, score))
    return lambda weights: float(np.mean([auc(weights) for auc in each]))


class _Auc:
    """The area under the ROC curve of rows that are sorted once, as a function of their weights."""

    def __init__(self, positive: Any, score: Floats) -> None:
        self._order = np.argsort(score, kind="stable")
        self._positive = positive[self._order]
        begins = np.diff(score[self._order], prepend=-np.inf) > 0.0
        self._tie = np.cumsum(begins) - 1

    def __call__(self, weights: Floats) -> float:
        w = weights[self._order]
        up = np.bincount(self._tie, np.where(self._positive, w, 0.0))
        down = np.bincount(self._tie, np.where(self._positive, 0.0, w))
        below = np.cumsum(down) - 0.5 * down
        total = up.sum() * down.sum()
        return float((up * below).sum() / total) if total > 0.0 else float("nan")


def _of_numbers(outcome: NumberOutcome) -> list[Measure]:
    residual = outcome.y - outcome.predicted
    squares = _mean_of(residual**2)
    return [
        Measure(
            "R²", "part of the variance that is explained; 0 is the mean", True, _explained(outcome)
        ),
        Measure(
            *("RMSE", "root of the mean squared error, in the target's unit", False),
            lambda weights: float(np.sqrt(squares(weights))),
        ),
        Measure(
            *("MAE", "mean size of the error, in the target's unit", False),
            _mean_of(np.abs(residual)),
        ),
    ]


def _explained(outcome: NumberOutcome) -> Callable[[Floats], float]:
    def r2(weights: Floats) -> float:
        if not weights.any():
            return float("nan")
        centred = outcome.y - np.average(outcome.y, weights=weights)
        spread = (weights * centred**2).sum()
        left = (weights * (outcome.y - outcome.predicted) ** 2).sum()
        return float(1.0 - left / spread) if spread > 0.0 else float("nan")

    return r2


def _of_quantiles(outcome: QuantileOutcome) -> list[Measure]:
    measures = [
        Measure(
            *("pinball loss", "mean loss of the quantiles, in the target's unit", False),
            _mean_of(outcome.surprise),
        )
    ]
    low, high = outcome.predicted[:, 0], outcome.predicted[:, -1]
    within = ((outcome.y >= low) & (outcome.y <= high)).astype(np.float64)
    asked = outcome.levels[-1] - outcome.levels[0]
    measures.append(
        Measure(
            f"coverage of {outcome.levels[0]:g} … {outcome.levels[-1]:g}",
            f"part of rows between the outer quantiles; {asked:g} was asked for",
            *(True, _mean_of(within)),
        )
    )
    return measures


def _n_queries(outcome: Outcome) -> int:
    assert isinstance(outcome, RankingOutcome)
    return len(np.unique(outcome.target[:, 1]))


def ndcg_by_query(outcome: RankingOutcome, k: int = ALL) -> Floats:
    """Return the NDCG of each query; NaN if none of its rows is relevant."""
    gain = outcome.loss.gain_of(outcome.target[:, 0])
    ranked = RankedRows(Queries.of(outcome.target[:, 1]), gain, outcome.scores)
    return ndcg(ranked, k)


def _of_rankings(outcome: RankingOutcome) -> list[Measure]:
    near = "is to the best one, mean over queries; 1 is the best"
    return [
        Measure(
            *(name, f"how near {ranking} {near}", True, _mean_of_known(ndcg_by_query(outcome, k))),
            unit_is_query=True,
        )
        for name, k, ranking in (
            ("NDCG", ALL, "each query's ranking"),
            ("NDCG@10", 10, "the top 10 of each ranking"),
            ("NDCG@3", 3, "the top 3 of each ranking"),
        )
    ]


def _mean_of_known(values: Floats) -> Callable[[Floats], float]:
    known = ~np.isnan(values)

    def mean(weights: Floats) -> float:
        return _part((weights[known] * values[known]).sum(), weights[known].sum())

    return mean


def _of_survival(outcome: SurvivalOutcome) -> list[Measure]:
    return [
        Measure(
            *(
                "concordance",
                "chance that of two rows the one that lasts longer is told; ½ is guessing",
            ),
            *(True, lambda weights: concordance(outcome.bounds, outcome.longer, weights)),
        )
    ]


def _mean_of(values: Floats) -> Callable[[Floats], float]:
    def mean(weights: Floats) -> float:
        return _part((weights * values).sum(), weights.sum())

    return mean
