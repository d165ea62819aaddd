"""Ranking metrics up to a rank k: NDCG, average precision, reciprocal rank, precision, recall.

Each is the weighted mean over queries. A query without a relevant row has no best order and does
not count. For tied scores, NDCG, as in scikit-learn, precision and recall are averaged over all
orders; the other metrics give each row the last rank of its tie, as scikit-learn's
``label_ranking_average_precision_score``. So no metric depends on the order of rows in the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hedgerow._boosting.losses import Queries, RankingLoss, weighted_mean
from hedgerow._boosting.metrics import Metric, UserMetric, listed
from hedgerow._peer_values import metric_instead
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

NAME = re.compile(r"(ndcg|map|mrr)|(ndcg|map|mrr|precision|recall)@([1-9][0-9]{0,8})")
ALL = np.iinfo(np.int64).max


class RankedRows:
    """Rows sorted by query and, in each query, from the highest score to the lowest.

    Attributes
    ----------
    gain : array of shape (n_rows,)
        The gain of each row.
    last : array of shape (n_rows,)
        The last rank, counted from 1, among rows with the same score.
    tie : array of shape (n_rows,)
        The index of each row's tie: rows with the same query and score.
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

    def tie_means(self, values: Floats) -> Floats:
        """Return, for each row, the mean over its tie: over all orders of tied rows."""
        return self.tie_sums(values) / self.tie_sums(np.ones_like(values))

    def tie_sums(self, values: Floats) -> Floats:
        """Return, for each row, the sum over its tie."""
        return np.bincount(self.tie, values)[self.tie]


def ndcg(ranked: RankedRows, k: int) -> Floats:
    """Return the DCG of each query's ranking divided by that of the best ranking."""
    queries = ranked.queries
    discount = np.where(queries.rank < k, queries.discount, 0.0)
    mean_gain = ranked.tie_means(ranked.gain)
    best = ranked.gain[np.lexsort((-ranked.gain, queries.query))]
    return _ratio(queries.sum(mean_gain * discount), queries.sum(best * discount))


def average_precision(ranked: RankedRows, k: int) -> Floats:
    """Return the mean over each query's relevant rows of the precision at their ranks.

    At most k relevant rows count.
    """
    queries = ranked.queries
    relevant = (ranked.gain > 0.0).astype(np.float64)
    so_far = np.cumsum(relevant) - relevant
    before = so_far - so_far[queries.start[queries.query]]
    n_relevant = np.maximum.reduceat(before + relevant, _begins(ranked.tie))[ranked.tie]
    precision = np.where(ranked.last <= k, relevant * n_relevant / ranked.last, 0.0)
    return _ratio(queries.sum(precision), np.minimum(queries.sum(relevant), k))


def reciprocal_rank(ranked: RankedRows, k: int) -> Floats:
    """Return 1 / rank of each query's first relevant row, or 0 if that rank is beyond k."""
    is_relevant, begins = ranked.gain > 0.0, ranked.queries.start[:-1]
    inverse = np.where(is_relevant & (ranked.last <= k), 1.0 / ranked.last, 0.0)
    return _ratio(
        np.maximum.reduceat(inverse, begins),
        np.maximum.reduceat(is_relevant, begins).astype(np.float64),
    )


def precision(ranked: RankedRows, k: int) -> Floats:
    """Return the fraction of relevant rows among the first k, or all if the query has fewer."""
    n_first = np.minimum(np.diff(ranked.queries.start), k)
    counts = ranked.queries.sum(ranked.gain) > 0.0
    return _ratio(_found(ranked, k), np.where(counts, n_first, 0.0))


def recall(ranked: RankedRows, k: int) -> Floats:
    """Return the fraction of each query's relevant rows that are among the first k."""
    relevant = (ranked.gain > 0.0).astype(np.float64)
    return _ratio(_found(ranked, k), ranked.queries.sum(relevant))


def _found(ranked: RankedRows, k: int) -> Floats:
    """Return the number of relevant rows among the first k of each query."""
    relevant = ranked.tie_means((ranked.gain > 0.0).astype(np.float64))
    return ranked.queries.sum(np.where(ranked.queries.rank < k, relevant, 0.0))


QUALITIES: dict[str, Callable[[RankedRows, int], Floats]] = {
    "ndcg": ndcg,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "precision": precision,
    "recall": recall,
}

# Without a cutoff precision does not depend on the order, and recall is 1.
WITH_EXAMPLES = ("ndcg", "map", "mrr", "precision@10", "recall@10")


def mean_quality(
    name: str, k: int, loss: RankingLoss, target: Floats, scores: Floats, weights: Floats | None
) -> float:
    """Return the weighted mean of a metric over the queries; NaN if none counts."""
    queries = Queries.of(target[:, 1])
    quality = QUALITIES[name](RankedRows(queries, loss.gain_of(target[:, 0]), scores), k)
    return _mean(quality, None if weights is None else queries.of_first(weights))


class MetricOfQueries(UserMetric):
    """The mean over queries of a user's metric."""

    def measure(self, target: Floats, prediction: Floats, weights: Floats | None) -> float:
        """Call the function with the relevances and scores of each query."""
        queries = Queries.of(target[:, 1])
        each = np.split(queries.row, queries.start[1:-1])
        values = [
            super(MetricOfQueries, self).measure(target[rows, 0], prediction[rows], None)
            for rows in each
        ]
        return _mean(np.array(values), None if weights is None else queries.of_first(weights))


def ranking_metrics(eval_metric: Any, loss: RankingLoss) -> list[Metric | UserMetric]:
    """Return the metrics that `eval_metric` selects; None is the metric of the loss."""
    return [_resolve(one, loss) for one in listed(eval_metric, loss)]


def _resolve(name: Any, loss: RankingLoss) -> Metric | UserMetric:
    if callable(name):
        return MetricOfQueries(name, None)
    match = NAME.fullmatch(name)
    if match is None:
        hint = metric_instead(name, WITH_EXAMPLES)
        raise ParameterError(
            f"eval_metric={name!r} is not allowed; {hint}{'It' if hint else 'it'} must be a "
            "function, 'ndcg', 'map' or 'mrr', or one of these, 'precision' or 'recall' with a "
            "cutoff, as in 'ndcg@10'."
        )
    k = int(match[3] or ALL)
    return Metric(name, True, partial(mean_quality, match[1] or match[2], k, loss))


def _begins(tie: Any) -> Any:
    return np.flatnonzero(np.diff(tie, prepend=-1))


def _ratio(value: Floats, best: Floats) -> Floats:
    """Divide; NaN where the divisor is 0."""
    return np.divide(value, best, out=np.full(len(best), np.nan), where=best > 0.0)


def _mean(quality: Floats, weights: Floats | None) -> float:
    counts = ~np.isnan(quality) if weights is None else ~np.isnan(quality) & (weights > 0.0)
    if not counts.any():
        return float("nan")
    return weighted_mean(quality[counts], None if weights is None else weights[counts])
