"""Metrics of rankings against scikit-learn's, one query at a time."""

import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score, ndcg_score

from hedgerow import ParameterError
from hedgerow._boosting.losses import RankingLoss
from hedgerow._boosting.ranking_metrics import ranking_metrics

RNG = np.random.default_rng(1)
SIZES = np.array([2, 3, 10, 30, 5, 8])
QUERY = RNG.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
N = len(QUERY)
GRADES = RNG.integers(0, 4, N)
RELEVANT = RNG.integers(0, 2, N)
for q in range(len(SIZES)):  # at least one relevant row each
    GRADES[np.flatnonzero(q == QUERY)[0]] = RELEVANT[np.flatnonzero(q == QUERY)[0]] = 1
DISTINCT = RNG.permutation(N) / N
TIED = np.round(RNG.normal(size=N), 0)
BY_QUERY = RNG.uniform(0.5, 2.0, len(SIZES))


def measured(name, y, scores, weights=None, query=QUERY):
    loss = RankingLoss("ndcg", "exponential", 1.0, None, False)
    (metric,) = ranking_metrics(name, loss)
    return metric.measure(np.column_stack([y, query]).astype(float), scores, weights)


def mean(function, weights=None):
    values = [function(np.flatnonzero(q == QUERY)) for q in range(len(SIZES))]
    return np.average(values, weights=weights)


@pytest.mark.parametrize("scores", [DISTINCT, TIED], ids=["distinct", "tied"])
@pytest.mark.parametrize("k", [1, 3, 10, None])
@pytest.mark.parametrize("weights", [None, BY_QUERY], ids=["plain", "weighted"])
def test_ndcg_is_scikit_learns_ties_included(scores, k, weights):
    gains = 2.0**GRADES - 1.0
    expected = mean(lambda rows: ndcg_score([gains[rows]], [scores[rows]], k=k), weights)
    name = "ndcg" if k is None else f"ndcg@{k}"
    of_rows = None if weights is None else weights[QUERY]
    assert measured(name, GRADES, scores, of_rows) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scores", [DISTINCT, TIED], ids=["distinct", "tied"])
def test_map_is_scikit_learns_ties_included(scores):
    expected = mean(
        lambda rows: label_ranking_average_precision_score([RELEVANT[rows]], [scores[rows]])
    )
    assert measured("map", RELEVANT, scores) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_map_and_mrr_up_to_a_rank(k):
    def precision(rows):
        ranked = RELEVANT[rows[np.argsort(-DISTINCT[rows])]][:k]
        precisions = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
        return (precisions * ranked).sum() / min(k, RELEVANT[rows].sum())

    def reciprocal(rows):
        ranked = RELEVANT[rows[np.argsort(-DISTINCT[rows])]][:k]
        return 1.0 / (ranked.argmax() + 1) if ranked.any() else 0.0

    assert measured(f"map@{k}", RELEVANT, DISTINCT) == pytest.approx(mean(precision), rel=1e-12)
    assert measured(f"mrr@{k}", RELEVANT, DISTINCT) == pytest.approx(mean(reciprocal), rel=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("weights", [None, BY_QUERY], ids=["plain", "weighted"])
def test_precision_and_recall_are_the_means_over_all_orders_of_tied_rows(k, weights):
    rng = np.random.default_rng(0)

    def found(rows):
        orders = [rows[np.lexsort((rng.random(len(rows)), -TIED[rows]))] for _ in range(1500)]
        return np.mean([RELEVANT[order[:k]].sum() for order in orders])

    of_rows = None if weights is None else weights[QUERY]
    precision = mean(lambda rows: found(rows) / min(k, len(rows)), weights)
    recall = mean(lambda rows: found(rows) / RELEVANT[rows].sum(), weights)
    assert measured(f"precision@{k}", RELEVANT, TIED, of_rows) == pytest.approx(precision, abs=0.03)
    assert measured(f"recall@{k}", RELEVANT, TIED, of_rows) == pytest.approx(recall, abs=0.03)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_precision_and_recall_of_distinct_scores_count_the_first_rows(k):
    def found(rows):
        return RELEVANT[rows[np.argsort(-DISTINCT[rows])][:k]].sum()

    precision = mean(lambda rows: found(rows) / min(k, len(rows)))
    recall = mean(lambda rows: found(rows) / RELEVANT[rows].sum())
    assert measured(f"precision@{k}", RELEVANT, DISTINCT) == pytest.approx(precision, rel=1e-12)
    assert measured(f"recall@{k}", RELEVANT, DISTINCT) == pytest.approx(recall, rel=1e-12)


@pytest.mark.parametrize("name", ["precision", "pre@10", "PrecisionAt:top=10"])
def test_precision_needs_a_cutoff(name):
    with pytest.raises(ParameterError, match="did you mean 'precision@10'"):
        measured(name, RELEVANT, DISTINCT)


ALL_NAMES = ["ndcg", "ndcg@3", "map", "map@3", "mrr", "mrr@2", "precision@3", "recall@3"]


@pytest.mark.parametrize("name", ALL_NAMES)
def test_no_metric_depends_on_the_order_of_rows(name):
    order = RNG.permutation(N)
    here = measured(name, GRADES, TIED)
    there = measured(name, GRADES[order], TIED[order], query=QUERY[order])
    assert here == pytest.approx(there, rel=1e-12)


@pytest.mark.parametrize("name", ["ndcg@2", "map", "mrr", "precision@2", "recall@2"])
def test_queries_without_a_relevant_row_do_not_count(name):
    query = np.append(QUERY, [99, 99])
    y, scores = np.append(RELEVANT, [0, 0]), np.append(DISTINCT, [1.0, 2.0])
    assert measured(name, y, scores, query=query) == measured(name, RELEVANT, DISTINCT)
    assert np.isnan(measured(name, np.zeros(N), DISTINCT))


def test_a_function_is_called_for_each_query():
    def spread(y, scores):
        return "spread", scores.max() - scores.min() + len(y), False

    expected = mean(lambda rows: np.ptp(DISTINCT[rows]) + len(rows), BY_QUERY)
    assert measured(spread, GRADES, DISTINCT, BY_QUERY[QUERY]) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["ndcg@0", "ndcg@", "NDCG", "rmse", "ndcg@-1", "map@1.5"])
def test_unknown_names_are_refused(name):
    with pytest.raises(ParameterError, match="eval_metric="):
        measured(name, GRADES, DISTINCT)
