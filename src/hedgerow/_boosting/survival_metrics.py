"""Metrics of survival models: likelihoods, and the concordance index.

Predictions are logarithms of risks with Cox's loss, and times with accelerated failure times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow import _native
from hedgerow._arithmetic import log
from hedgerow._boosting.losses import CoxLoss, SurvivalLoss
from hedgerow._boosting.metrics import Metric, UserMetric, listed, resolve_metric
from hedgerow._types import Floats


def concordance(bounds: Floats, longer: Floats, weights: Floats | None) -> float:
    """Return the fraction of comparable pairs in which the later time has the larger number.

    Two rows are comparable if it is known whose event came first: the upper bound of one is below
    the lower bound of the other, or equal to it if the other is censored there. Ties count half.
    For observed and right-censored times this is Harrell's index. NaN if no rows are comparable.
    """
    lower, upper = bounds.T
    rank = np.unique(longer, return_inverse=True)[1]
    is_open = lower < upper
    last = np.lexsort((~is_open, -lower))
    first = np.argsort(-upper, kind="stable")
    first = first[np.isfinite(upper[first])]
    smaller, equal, larger = _native.count_pairs(
        rank, weights, first, _number_beyond(lower[last], is_open[last], upper[first]), last
    )
    total = larger + equal + smaller
    return float((larger + 0.5 * equal) / total) if total > 0.0 else float("nan")


def _number_beyond(lower: Floats, is_open: Any, upper: Floats) -> Any:
    """Return how many rows, sorted by decreasing lower bound, lie beyond each upper bound."""
    later = np.searchsorted(-lower, -upper, side="left")
    up_to = np.searchsorted(-lower, -upper, side="right")
    n_open = np.append(0, np.cumsum(is_open))
    return later + n_open[up_to] - n_open[later]


def survival_metrics(eval_metric: Any, loss: SurvivalLoss) -> list[Metric | UserMetric]:
    """Return the metrics that `eval_metric` selects; None is the metric of the loss."""
    known: dict[str, tuple[bool, Callable[[Floats, Floats, Floats | None], float]]] = {
        loss.metric: (False, loss.mean if isinstance(loss, CoxLoss) else _of_times(loss)),
        "concordance": (True, _of_risks if isinstance(loss, CoxLoss) else concordance),
    }
    return [resolve_metric(one, known, None) for one in listed(eval_metric, loss)]


def _of_times(loss: SurvivalLoss) -> Callable[[Floats, Floats, Floats | None], float]:
    def mean(bounds: Floats, times: Floats, weights: Floats | None) -> float:
        return loss.mean(bounds, log(times), weights)

    return mean


def _of_risks(bounds: Floats, risks: Floats, weights: Floats | None) -> float:
    return concordance(bounds, -risks, weights)
