"""How good rankings are: NDCG, mean average precision and mean reciprocal rank, up to a rank k.

Each is the mean over queries, by their weights. A query without a relevant row has no best order
and does not count. Rows of equal scores have no order either: NDCG takes the mean over all orders,
as scikit-learn's does; the others take a row's rank to be the last that it could have, as
scikit-learn's ``label_ranking_average_precision_score`` does. So no metric depends on the order of
rows in the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hedgerow._boosting.losses import Queries, RankingLoss
from hedgerow._boosting.metrics import Metric, UserMetric
from hedgerow._peer_values import metric_instead
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

NAME = re.compile(r"(ndcg|map|mrr)(?:@([1-9][0-9]{0,8}))?")
ALL = np.iinfo(np.int64).max


class RankedRows:
    """Rows sorted by query and, in each query, from the highest score to the lowest.

    Attributes
    ----------
    gain : array of shape (n_rows,)
        What each row is worth.
    last : array of shape (n_rows,)
        The last rank, from 1 on, of a row with the same score.
    tie : array of shape (n_rows,)
        A number that rows of the same query and score share.
    """

    def __init__(self, queries: Queries, gain: Floats, scores: Floats) -> None:
        order = queries.row[queries.by(scores)]
        self.queries = queries
        self.gain = gain[order]
        begins_tie = np.diff(scores[order], prepend=0.0) != 0.0
        begins_tie[queries.start[:-1]] = True
        self.tie = np.cumsum(begins_tie) - 1
        end = np.append(np.flatnonzero(begins_tie)[1:], len(order))
        self.last = end[self.tie] - queries.start[queries.query]

    def tie_sums(self, values: Floats) -> Floats:
        """Return, for each row, the sum over the rows that tie with it."""
        return np.bincount(self.tie, values)[self.tie]


def ndcg(ranked: RankedRows, k: int) -> Floats:
    """Return the DCG of each query's ranking as a part of the best one's."""
    queries = ranked.queries
    discount = np.where(queries.rank < k, queries.discount, 0.0)
    mean_gain = ranked.tie_sums(ranked.gain) / ranked.tie_sums(np.ones_like(ranked.gain))
    best = ranked.gain[np.lexsort((-ranked.gain, queries.query))]
    return _parts(queries.sum(mean_gain * discount), queries.sum(best * discount))


def average_precision(ranked: RankedRows, k: int) -> Floats:
    """Return the mean over each query's relevant rows of the part of relevant rows up to them.

    Of more than k relevant rows, as many as there could be up to rank k count.
    """
    queries = ranked.queries
    relevant = (ranked.gain > 0.0).astype(np.float64)
    so_far = np.cumsum(relevant) - relevant
    before = so_far - so_far[queries.start[queries.query]]
    found = np.maximum.reduceat(before + relevant, _begins(ranked.tie))[ranked.tie]
    counted = np.where(ranked.last <= k, relevant * found / ranked.last, 0.0)
    return _parts(queries.sum(counted), np.minimum(queries.sum(relevant), k))


def reciprocal_rank(ranked: RankedRows, k: int) -> Floats:
    """Return 1 / the rank of each query's first relevant row, 0 if it is beyond k."""
    is_relevant, begins = ranked.gain > 0.0, ranked.queries.start[:-1]
    inverse = np.where(is_relevant & (ranked.last <= k), 1.0 / ranked.last, 0.0)
    return _parts(
        np.maximum.reduceat(inverse, begins),
        np.maximum.reduceat(is_relevant, begins).astype(np.float64),
    )


QUALITIES: dict[str, Callable[[RankedRows, int], Floats]] = {
    "ndcg": ndcg,
    "map": average_precision,
    "mrr": reciprocal_rank,
}


def mean_quality(
    name: str, k: int, loss: RankingLoss, target: Floats, scores: Floats, weights: Floats | None
) -> float:
    """Return the weighted mean of a metric over the queries; NaN if none counts."""
    queries = Queries.of(target[:, 1])
    quality = QUALITIES[name](RankedRows(queries, loss.gain_of(target[:, 0]), scores), k)
    return _mean(quality, None if weights is None else queries.of_first(weights))


class MetricOfQueries(UserMetric):
    """A user's metric, called for each query; its mean over them."""

    def measure(self, target: Floats, prediction: Floats, weights: Floats | None) -> float:
        """Call the function with the relevances and scores of one query after the other."""
        queries = Queries.of(target[:, 1])
        each = np.split(queries.row, queries.start[1:-1])
        values = [
            super(MetricOfQueries, self).measure(target[rows, 0], prediction[rows], None)
            for rows in each
        ]
        return _mean(np.array(values), None if weights is None else queries.of_first(weights))


def ranking_metrics(wanted: Any, loss: RankingLoss) -> list[Metric | UserMetric]:
    """Turn `eval_metric` into metrics, None into the loss's own."""
    several = wanted if isinstance(wanted, (list, tuple)) else [wanted or loss.metric]
    return [_resolved(one, loss) for one in several]


def _resolved(wanted: Any, loss: RankingLoss) -> Metric | UserMetric:
    if callable(wanted):
        return MetricOfQueries(wanted, None)
    found = NAME.fullmatch(wanted)
    if found is None:
        meant = metric_instead(wanted, QUALITIES)
        raise ParameterError(
            f"eval_metric={wanted!r} is not allowed; {meant}{'It' if meant else 'it'} must be a "
            "function, 'ndcg', 'map' or 'mrr', or one of these up to a rank, as in 'ndcg@10'."
        )
    k = int(found[2] or ALL)
    return Metric(wanted, True, partial(mean_quality, found[1], k, loss))


def _begins(tie: Any) -> Any:
    return np.flatnonzero(np.diff(tie, prepend=-1))


def _parts(value: Floats, best: Floats) -> Floats:
    """Divide; NaN where there is nothing to divide by."""
    return np.divide(value, best, out=np.full(len(best), np.nan), where=best > 0.0)


def _mean(quality: Floats, weights: Floats | None) -> float:
    counts = ~np.isnan(quality) if weights is None else ~np.isnan(quality) & (weights > 0.0)
    if not counts.any():
        return float("nan")
    return float(np.average(quality[counts], weights=None if weights is None else weights[counts]))
