"""Gradients of ranking losses against double loops over pairs, and against differences."""

import numpy as np
import pytest

from hedgerow._boosting.losses import RankingLoss
from interrupts import interrupted
from oracles import ranking as oracle

RNG = np.random.default_rng(0)
SIZES = (1, 2, 7, 8, 9, 17, 40)
QUERY = RNG.permutation(np.repeat(np.arange(len(SIZES)), SIZES)).astype(float)
N = len(QUERY)
GRADES = RNG.integers(0, 5, N).astype(float)
RELEVANT = (RNG.random(N) < 0.3).astype(float)
SCORES = np.round(RNG.normal(size=N), 1)  # with ties
WEIGHTS = RNG.uniform(0.1, 3.0, len(SIZES))[QUERY.astype(int)]


def loss_of(name, gain="exponential", sigma=1.0, truncation=None, normalize=False):
    return RankingLoss(name, gain, sigma, truncation, normalize)


def target_of(name):
    return np.column_stack([RELEVANT if name == "map" else GRADES, QUERY])


def derivatives(loss, target, scores, weights=None, n_threads=1):
    g, h = loss.differentiator(target.T, weights, n_threads)(scores[np.newaxis].copy())
    return g[0], h[0]


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("truncation", [1, 3, 8, None])
@pytest.mark.parametrize("sigma", [1.0, 2.5])
@pytest.mark.parametrize("name", ["ndcg", "map", "pairwise"])
def test_forces_are_those_of_all_pairs(name, sigma, truncation, normalize):
    target = target_of(name)
    loss = loss_of(name, sigma=sigma, truncation=truncation, normalize=normalize)
    gains = loss.gain_of(target[:, 0])
    options = {"sigma": sigma, "truncation": truncation or N, "normalize": normalize}
    options["curvature"] = 2.0 if name == "pairwise" else 1.5
    for scores in (SCORES, np.zeros(N)):
        g, h = derivatives(loss, target, scores, WEIGHTS)
        expected = oracle.gradients(name, gains, QUERY, scores, WEIGHTS, **options)
        np.testing.assert_allclose(g, expected[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(h, expected[1], rtol=1e-12, atol=1e-12)


def pairwise(gains, scores, sigma):
    """Return the sum of log(1 + e^(−σ (s_i − s_j))) over pairs with i worth more than j."""
    more = (gains[:, None] > gains) & (QUERY[:, None] == QUERY)
    return np.logaddexp(0.0, -sigma * (scores[:, None] - scores))[more].sum()


def listwise(gains, scores, _sigma):
    """Return the cross-entropies of gains and softmax of the queries that have differing gains."""
    total = 0.0
    for q in range(len(SIZES)):
        own = q == QUERY
        if np.ptp(gains[own]) > 0.0:
            log_p = scores[own] - np.logaddexp.reduce(scores[own])
            total -= (gains[own] / gains[own].sum() * log_p).sum()
    return total


@pytest.mark.parametrize(("name", "formula"), [("pairwise", pairwise), ("listwise", listwise)])
@pytest.mark.parametrize("gain", ["exponential", "linear", [0, 1, 1, 4, 5]])
def test_gradients_are_the_formulas_slopes_and_hessians_not_below_its_curvatures(
    name, formula, gain
):
    loss, sigma, eps = loss_of(name, gain, sigma=1.3), 1.3, 1e-4
    gains = loss.gain_of(GRADES)
    g, h = derivatives(loss, target_of(name), SCORES)
    factor = 2.0 if name == "pairwise" else 1.0
    for row in range(N):
        step = eps * (np.arange(N) == row)
        down, at, up = (formula(gains, SCORES + sign * step, sigma) for sign in (-1, 0, 1))
        assert g[row] == pytest.approx((up - down) / (2 * eps), rel=1e-5, abs=1e-7)
        assert h[row] == pytest.approx(factor * (up - 2 * at + down) / eps**2, rel=1e-3, abs=1e-5)


def test_the_parabola_of_pairs_lies_above_their_loss():
    """So a step of whole leaves at once never goes too far."""
    loss = loss_of("pairwise")
    gains = loss.gain_of(GRADES)
    g, h = derivatives(loss, target_of("pairwise"), np.zeros(N))
    for _ in range(100):
        step = RNG.normal(0.0, 2.0, N)
        bound = pairwise(gains, np.zeros(N), 1.0) + (g * step + 0.5 * h * step**2).sum()
        assert pairwise(gains, step, 1.0) <= bound


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", ["ndcg", "map", "pairwise", "listwise"])
def test_a_querys_gradients_add_up_to_nothing(name, normalize):
    g, h = derivatives(loss_of(name, normalize=normalize), target_of(name), SCORES, WEIGHTS)
    np.testing.assert_allclose(np.bincount(QUERY.astype(int), g), 0.0, atol=1e-13)
    assert (h >= 0.0).all()
    assert np.abs(g).max() > 0.01


@pytest.mark.parametrize("name", ["ndcg", "map", "pairwise", "listwise"])
def test_queries_of_one_row_or_of_equal_relevances_teach_nothing(name):
    query = np.repeat([0.0, 1.0, 2.0, 3.0], [1, 4, 4, 3])
    y = np.array([1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0], float)
    g, h = derivatives(loss_of(name, normalize=True), np.column_stack([y, query]), y - 0.5)
    assert not g[:9].any()
    assert not h[:9].any()
    assert g[9:].all()


@pytest.mark.parametrize("name", ["ndcg", "map", "pairwise", "listwise"])
def test_gradients_do_not_depend_on_how_rows_of_queries_are_mixed_or_on_threads(name):
    loss, target = loss_of(name, truncation=5, normalize=True), target_of(name)
    expected = derivatives(loss, target, SCORES, WEIGHTS)
    sorted_ = np.argsort(QUERY, kind="stable")
    for n_threads in (1, 2, 7):
        g, h = derivatives(loss, target[sorted_], SCORES[sorted_], WEIGHTS[sorted_], n_threads)
        np.testing.assert_array_equal(g, expected[0][sorted_])
        np.testing.assert_array_equal(h, expected[1][sorted_])


def test_scores_far_apart_or_infinite_do_not_break_a_ranking():
    y, query = np.array([0.0, 1.0, 2.0, 1.0]), np.zeros(4)
    for name in ("ndcg", "pairwise", "listwise"):
        scores = np.array([1e300, -1e300, 0.0, 5e5])
        g, h = derivatives(loss_of(name, normalize=True), np.column_stack([y, query]), scores)
        assert np.isfinite(g).all()
        assert np.isfinite(h).all()


def test_gains_follow_the_parameter():
    y = np.array([0.0, 1.0, 2.0, 30.0])
    np.testing.assert_array_equal(loss_of("ndcg").gain_of(y), [0, 1, 3, 2**30 - 1])
    np.testing.assert_array_equal(loss_of("ndcg", "linear").gain_of(y), y)
    np.testing.assert_array_equal(loss_of("ndcg", [0, 2, 7]).gain_of(y[:3]), [0, 2, 7])


ONE_QUERY = """
import numpy as np
from hedgerow._boosting.losses import RankingLoss

n = 2_000_000
rng = np.random.default_rng(0)
target = np.stack([rng.integers(0, 5, n).astype(float), np.zeros(n)])
loss = RankingLoss("pairwise", "exponential", 1.0, None, False)
differentiate = loss.differentiator(target, None)
scores = rng.normal(size=(1, n))
"""


def test_ctrl_c_ends_the_comparison_of_many_rows():
    assert interrupted(ONE_QUERY, "differentiate(scores)") == "True"
