"""Losses of survival against brute force, differences, and scipy's distributions."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize, minimize_scalar
from scipy.special import erfcx

from hedgerow._boosting.losses import CoxLoss, FailureTimeLoss
from oracles import survival as oracle

RNG = np.random.default_rng(0)
N = 60
WEIGHTS = RNG.uniform(0.2, 3.0, N)
SCORES = RNG.normal(size=N)
STANDARD = {"normal": stats.norm, "logistic": stats.logistic, "extreme": stats.gumbel_l}
DISTRIBUTIONS = tuple(STANDARD)


def right_censored(digits):
    """Return times of which some are the end of observation; rounded, so that some are equal."""
    rng = np.random.default_rng(digits)  # the same rows, whichever tests ran before
    time = np.round(rng.exponential(size=N) + 0.1, digits)
    return np.column_stack([time, np.where(rng.random(N) < 0.6, time, np.inf)])


def censored():
    """Return times that are known, or lie in intervals open on either side or on none."""
    time = RNG.lognormal(size=N)
    before, after = time * RNG.uniform(0.2, 0.9, N), time * RNG.uniform(1.1, 3.0, N)
    kind = RNG.integers(0, 4, N)
    lower = np.choose(kind, [time, before, np.zeros(N), before])
    return np.column_stack([lower, np.choose(kind, [time, np.full(N, np.inf), after, after])])


BOUNDS = censored()


def derivatives(loss, bounds, scores, weights=None):
    g, h = loss.gradients(bounds.T, scores[np.newaxis], weights)
    return g[0], h[0]


def differences(total, scores, row, eps=1e-4):
    """Return the slope and curvature of a function of scores in one of them."""
    step = eps * (np.arange(len(scores)) == row)
    down, at, up = (total(scores + sign * step) for sign in (-1, 0, 1))
    return (up - down) / (2 * eps), (up - 2 * at + down) / eps**2


# Cox


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_coxs_loss_and_its_derivatives_are_those_of_brute_force(ties, digits, weights):
    bounds, w = right_censored(digits), np.ones(N) if weights is None else weights
    loss = CoxLoss(ties)

    def total(scores):
        return oracle.cox_loss(bounds, scores, w, ties)

    observed = bounds[:, 0] == bounds[:, 1]
    assert loss.mean(bounds, SCORES, weights) == pytest.approx(total(SCORES) / w[observed].sum())
    g, h = derivatives(loss, bounds, SCORES, weights)
    for row in range(N):
        slope, curvature = differences(total, SCORES, row)
        assert g[row] == pytest.approx(slope, rel=1e-5, abs=1e-6)
        assert h[row] == pytest.approx(curvature, rel=1e-3, abs=1e-5)
    assert g.sum() == pytest.approx(0.0, abs=1e-12)


def test_a_weight_of_two_is_a_row_twice():
    """With Breslow's way of breaking ties: Efron's tells two rows from one that weighs twice."""
    bounds, twice = right_censored(6), np.arange(N) % 3 == 0
    more = np.append(np.arange(N), np.flatnonzero(twice))
    g, _ = derivatives(CoxLoss("breslow"), bounds, SCORES, np.where(twice, 2.0, 1.0))
    of_each, _ = derivatives(CoxLoss("breslow"), bounds[more], SCORES[more])
    np.testing.assert_allclose(g, np.bincount(more, of_each), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_scores_only_count_relative_to_others(ties):
    bounds = right_censored(1)
    here = derivatives(CoxLoss(ties), bounds, SCORES)
    there = derivatives(CoxLoss(ties), bounds, SCORES + 500.0)
    np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-12)


def test_risks_far_apart_do_not_break_coxs_loss():
    bounds = right_censored(1)
    for spread in (1e3, 1e100):
        g, h = derivatives(CoxLoss("efron"), bounds, spread * SCORES)
        assert np.isfinite(g).all()
        assert np.isfinite(h).all()
        assert (h >= 0.0).all()


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_without_covariates_the_baseline_is_nelson_and_aalens(ties):
    bounds = right_censored(1)
    curve = CoxLoss(ties).curve(bounds.T, np.zeros(N), None)
    time, observed = bounds[:, 0], bounds[:, 0] == bounds[:, 1]
    expected, total = [], 0.0
    for t in np.unique(time[observed]):
        deaths, n = (observed & (time == t)).sum(), (time >= t).sum()
        total += sum(1.0 / (n - k) for k in range(deaths)) if ties == "efron" else deaths / n
        expected.append(total)
    np.testing.assert_array_equal(curve.times, np.unique(time[observed]))
    np.testing.assert_allclose(curve.hazard, expected, rtol=1e-12)


def test_the_baseline_undoes_a_shift_of_all_scores():
    bounds, loss = right_censored(1), CoxLoss("efron")
    here, there = (loss.curve(bounds.T, SCORES + shift, WEIGHTS) for shift in (0.0, 3.0))
    np.testing.assert_allclose(here.hazard, there.hazard * np.exp(3.0), rtol=1e-12)


# Accelerated failure times


def surprises(distribution, bounds, scores, scale):
    """Return −log likelihood of each row by scipy."""
    z = STANDARD[distribution]
    with np.errstate(divide="ignore"):
        low, high = ((np.log(bounds) - scores[:, np.newaxis]) / scale).T
    known, left, right = bounds[:, 0] == bounds[:, 1], bounds[:, 0] == 0.0, bounds[:, 1] == np.inf
    of_density = -z.logpdf(low) + np.log(scale) + np.log(np.where(known, bounds[:, 0], 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        between = -np.log(np.where(low > 0, z.sf(low) - z.sf(high), z.cdf(high) - z.cdf(low)))
    return np.select([known, left, right], [of_density, -z.logcdf(high), -z.logsf(low)], between)


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_failure_times_have_the_likelihood_that_scipy_gives_them(distribution, scale):
    loss = FailureTimeLoss(distribution, scale)
    expected = np.average(surprises(distribution, BOUNDS, SCORES, scale), weights=WEIGHTS)
    assert loss.mean(BOUNDS, SCORES, WEIGHTS) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_derivatives_of_failure_times_are_differences_or_steps_to_the_middle(distribution, scale):
    g, h = derivatives(FailureTimeLoss(distribution, scale), BOUNDS, SCORES, WEIGHTS)
    eps = 1e-4
    down, at, up = (surprises(distribution, BOUNDS, SCORES + d, scale) for d in (-eps, 0.0, eps))
    slope, curvature = (up - down) / (2 * eps), (up - 2 * at + down) / eps**2
    np.testing.assert_allclose(g, WEIGHTS * slope, rtol=1e-5, atol=1e-7)
    with np.errstate(divide="ignore"):
        low, high = ((np.log(BOUNDS) - SCORES[:, np.newaxis]) / scale).T
    off = np.maximum(np.maximum(low, -high), 0.0)
    off = np.where(np.isfinite(low) & np.isfinite(high) & (low < high), off, np.inf)
    one_sided = np.isinf(off)
    end = np.where(np.isfinite(low), low, high)
    off = np.where(one_sided, np.abs(end), off)
    least = np.abs(slope) * scale / np.maximum(1.0, off) / scale**2
    np.testing.assert_allclose(h, WEIGHTS * np.maximum(curvature, least), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_tails_are_finite_and_go_on_as_they_should(distribution):
    time = np.array([1e-300, 1e-30, 1e-3, 1.0, 1e3, 1e30, 1e300])
    for bounds in (
        np.column_stack([time, time]),
        np.column_stack([time, np.full(7, np.inf)]),
        np.column_stack([np.zeros(7), time]),
        np.column_stack([time, 2 * time]),
        np.column_stack([time, time * (1 + 1e-7)]),
    ):
        for score in (-300.0, 0.0, 300.0):
            for scale in (0.05, 1.0, 20.0):
                loss = FailureTimeLoss(distribution, scale)
                g, h = derivatives(loss, bounds, np.full(7, score))
                assert np.isfinite(g).all()
                assert np.isfinite(h).all()
                assert (h >= 0.0).all()
                assert np.isfinite(loss.mean(bounds, np.full(7, score), None))
                # No row's step leads past the middle, or farther than a scale.
                away = np.abs(np.log(bounds[:, [0]]) - score) if bounds[0, 0] > 0 else None
                if away is not None:
                    limit = np.maximum(scale, away[:, 0] + np.log(2.0)) * (1 + 1e-9)
                    assert (np.abs(g) <= h * limit + 1e-300).all()


def test_a_normal_tail_is_exact_where_probabilities_underflow():
    z = np.array([-40.0, -8.0, -1.0, 0.0, 1.0, 8.0, 40.0, 1e4])
    bounds = np.column_stack([np.exp(z / 1e3), np.full(len(z), np.inf)])
    loss = FailureTimeLoss("normal", 1e-3)
    g, _ = derivatives(loss, bounds, np.zeros(len(z)))
    hazard = np.sqrt(2 / np.pi) / erfcx(z / np.sqrt(2))
    np.testing.assert_allclose(-g * 1e-3, hazard, rtol=1e-9)


def test_an_interval_far_above_all_has_the_curvature_of_what_comes_later():
    z = np.linspace(5.0, 39.9, 200)
    loss, scores = FailureTimeLoss("extreme", 1.0), np.zeros(len(z))
    intervals = np.column_stack([np.exp(z), np.exp(z + 0.5)])
    later = np.column_stack([np.exp(z), np.full(len(z), np.inf)])
    for actual, expected in zip(
        derivatives(loss, intervals, scores), derivatives(loss, later, scores), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-9)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_an_interval_of_one_step_of_a_number_has_a_likelihood(distribution):
    after = np.nextafter(1.0, 2.0)
    loss = FailureTimeLoss(distribution, 1.0)
    density = -STANDARD[distribution].logpdf(-5.0)
    actual = loss.mean(np.array([[1.0, after]]), np.array([5.0]), None)
    assert actual == pytest.approx(density - np.log(after - 1.0), rel=1e-12)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_what_is_found_of_a_row_does_not_depend_on_its_neighbours(distribution):
    n = 5_000
    rng = np.random.default_rng(1)
    time, scores, kind = rng.lognormal(size=n), rng.normal(size=n), rng.integers(0, 5, n)
    upper = np.choose(kind, [time, np.inf, time, time * rng.uniform(1, 9, n), time * (1 + 1e-9)])
    bounds = np.column_stack([np.where(kind == 2, 0.0, time), upper])
    loss = FailureTimeLoss(distribution, 0.7)
    whole = np.stack(derivatives(loss, bounds, scores))
    for start in (1, 2, 3):
        part = np.stack(derivatives(loss, bounds[start::7], scores[start::7]))
        np.testing.assert_array_equal(part, whole[:, start::7])


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_scores_start_at_the_greatest_likelihood(distribution, weights):
    loss = FailureTimeLoss(distribution, 0.8)
    (start,) = loss.base_score(BOUNDS.T, weights)
    best = minimize_scalar(
        lambda s: np.average(surprises(distribution, BOUNDS, np.full(N, s), 0.8), weights=weights),
        bounds=(-5, 5),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert start == pytest.approx(best.x, abs=1e-6)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_scale_to_be_found_is_that_of_the_greatest_likelihood(distribution):
    loss = FailureTimeLoss(distribution, None)
    (start,) = loss.base_score(BOUNDS.T, WEIGHTS)

    def mean(at):
        return np.average(
            surprises(distribution, BOUNDS, np.full(N, at[0]), np.exp(at[1])), weights=WEIGHTS
        )

    best = minimize(mean, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert start == pytest.approx(best.x[0], abs=1e-5)
    scale = loss.curve(BOUNDS.T, np.full(N, start), WEIGHTS).scale
    assert np.log(scale) == pytest.approx(best.x[1], abs=1e-5)
    at_best = loss.mean(BOUNDS, np.full(N, start), WEIGHTS)
    assert at_best == pytest.approx(mean(best.x), rel=1e-9)


@pytest.mark.parametrize("n", [5, 5000])
def test_equal_times_have_the_least_scale_that_there_is(n):
    bounds = np.full((n, 2), 3.0)
    loss = FailureTimeLoss("normal", None)
    assert loss.base_score(bounds.T, None) == pytest.approx(np.log(3.0))
    assert loss.curve(bounds.T, np.full(n, np.log(3.0)), None).scale == 1e-3


# Scales of many rows are found from those of a few.

TIMES_OVER = 100  # 6,000 rows
MANY_BOUNDS, MANY_SCORES = np.tile(BOUNDS, (TIMES_OVER, 1)), np.tile(SCORES, TIMES_OVER)
MANY_WEIGHTS = np.tile(WEIGHTS, TIMES_OVER)


def counting(loss):
    """Have a loss count the rows that it looks at to find a scale."""
    observed, losses = [], loss._losses

    def look(rows, *given):
        observed.append(rows.n)
        return losses(rows, *given)

    loss._losses = look
    return observed


@pytest.mark.parametrize("weights", [None, MANY_WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_many_rows_have_the_scale_that_each_of_them_alone_would_have(distribution, weights):
    once = None if weights is None else WEIGHTS
    expected = FailureTimeLoss(distribution, None).curve(BOUNDS.T, SCORES, once).scale
    loss = FailureTimeLoss(distribution, None)
    observed = counting(loss)
    actual = loss.curve(MANY_BOUNDS.T, MANY_SCORES, weights).scale
    assert actual == pytest.approx(expected, rel=1e-8)
    assert observed.count(len(MANY_BOUNDS)) <= 6
    # Rounds are content with less.
    observed.clear()
    g, _ = loss.gradients(MANY_BOUNDS.T, MANY_SCORES[np.newaxis], weights)
    assert observed.count(len(MANY_BOUNDS)) <= 3
    exact, _ = derivatives(FailureTimeLoss(distribution, actual), MANY_BOUNDS, MANY_SCORES, weights)
    np.testing.assert_allclose(g[0], exact, rtol=1e-2, atol=1e-3 * np.abs(exact).max())


@pytest.mark.parametrize("few", ["far", "censored", "weightless", "equal"])
def test_rows_unlike_those_at_even_distances_have_their_own_scale(few):
    step = 6000 // 1024
    bounds, weights = MANY_BOUNDS.copy(), MANY_WEIGHTS.copy()
    if few == "far":
        bounds[::step] *= np.exp(5 * np.sin(np.arange(0, 6000, step)))[:, np.newaxis]
        weights[::step] *= 1e-6
    elif few == "censored":
        bounds[::step, 1] = np.inf
    elif few == "weightless":
        weights[::step] = 0.0
    else:
        bounds[::step] = np.exp(MANY_SCORES[::step, np.newaxis])
        weights[::step] *= 1e-6
    loss = FailureTimeLoss("normal", None)
    scale = loss.curve(bounds.T, MANY_SCORES, weights).scale

    def mean(log_scale):
        likelihoods = surprises("normal", bounds, MANY_SCORES, np.exp(log_scale))
        return np.average(likelihoods, weights=weights)

    best = minimize_scalar(mean, bounds=(-1, 2), method="bounded", options={"xatol": 1e-9})
    assert np.log(scale) == pytest.approx(best.x, abs=1e-5)
