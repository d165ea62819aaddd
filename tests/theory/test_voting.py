"""The binomial vote and the bootstrap: against enumeration, simulation and each other."""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import betabinom, multivariate_normal

from hedgerow import ParameterError, theory
from hedgerow.theory._voting import _factor_correlation


def binomial_sum(error, n):
    """Σ C(n, i) εⁱ (1 − ε)ⁿ⁻ⁱ over a wrong majority, and half of a tie."""
    terms = [comb(n, i) * error**i * (1 - error) ** (n - i) for i in range(n + 1)]
    tie = terms[n // 2] / 2 if n % 2 == 0 else 0.0
    return sum(terms[n // 2 + 1 :]) + tie


def test_the_lecture_s_25_classifiers():
    assert theory.majority_vote_error(0.35, 25) == pytest.approx(0.06, abs=0.0005)
    assert theory.majority_vote_error(0.35, 25) == pytest.approx(binomial_sum(0.35, 25), rel=1e-12)


@pytest.mark.parametrize("error", [0.0, 0.01, 0.35, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 11, 50])
def test_the_vote_is_the_binomial_sum(error, n):
    assert theory.majority_vote_error(error, n) == pytest.approx(binomial_sum(error, n), rel=1e-10)


def test_every_outcome_of_a_few_voters():
    error, n = 0.3, 6
    expected = 0.0
    for wrong in product([0, 1], repeat=n):
        probability = np.prod([error if w else 1 - error for w in wrong])
        expected += probability * (1.0 if sum(wrong) > n / 2 else 0.5 if sum(wrong) == n / 2 else 0)
    assert theory.majority_vote_error(error, n) == pytest.approx(expected, rel=1e-12)


def test_a_simulated_vote_errs_as_often():
    rng = np.random.default_rng(0)
    wrong = rng.random((40_000, 15)) < 0.4
    measured = (wrong.sum(axis=1) > 7).mean()
    expected = theory.majority_vote_error(0.4, 15)
    assert measured == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 40_000))


def test_an_even_vote_is_as_good_as_one_less():
    sizes = np.arange(2, 60, 2)
    np.testing.assert_allclose(
        theory.majority_vote_error(0.2, sizes), theory.majority_vote_error(0.2, sizes - 1)
    )


def test_numbers_give_a_number_and_arrays_broadcast():
    assert isinstance(theory.majority_vote_error(0.1, 3), float)
    table = theory.majority_vote_error([0.1, 0.2], [[3], [5], [7]])
    assert table.shape == (3, 2)
    assert table[1, 1] == theory.majority_vote_error(0.2, 5)


def test_the_curve_holds_the_vote_for_every_size():
    curve = theory.majority_vote_curve([1, 5])
    np.testing.assert_allclose(curve.vote_error[0], curve.error, atol=1e-15)
    assert curve.vote_error.shape == (2, 101)
    frame = curve.to_frame()
    assert list(frame) == ["n", "error", "vote_error"]
    row = frame[(frame["n"] == 5) & (frame["error"] == 0.5)]
    assert row["vote_error"].item() == pytest.approx(0.5)


def test_a_bootstrap_holds_63_percent():
    assert theory.bootstrap_coverage(1_000_000) == pytest.approx(1 - np.exp(-1), abs=1e-6)
    assert theory.bootstrap_coverage(1) == 1.0
    assert theory.bootstrap_coverage(2) == pytest.approx(0.75)


def test_the_lecture_s_series_is_the_coverage():
    """1/n + (n − 1)/n² + (n − 1)²/n³ + …, n terms: hit at the first draw, the second, …"""
    n = 20
    series = sum((n - 1) ** k / n ** (k + 1) for k in range(n))
    assert theory.bootstrap_coverage(n) == pytest.approx(series, rel=1e-12)


def test_a_simulated_bootstrap_covers_as_much():
    rng = np.random.default_rng(0)
    coverage = [len(np.unique(rng.integers(200, size=300))) / 200 for _ in range(500)]
    assert np.mean(coverage) == pytest.approx(theory.bootstrap_coverage(200, draws=300), abs=0.005)


def test_no_draws_hold_nothing():
    np.testing.assert_array_equal(theory.bootstrap_coverage([1, 5], draws=0), [0.0, 0.0])


@pytest.mark.parametrize("error", [-0.1, 1.1, np.nan, "0.5", [0.1, 2.0], True])
def test_an_error_that_is_no_probability_is_refused(error):
    with pytest.raises(ParameterError, match="error="):
        theory.majority_vote_error(error, 3)


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", [1, 0], True])
def test_a_number_of_voters_that_is_no_count_is_refused(n):
    with pytest.raises(ParameterError, match="n="):
        theory.majority_vote_error(0.1, n)
    with pytest.raises(ParameterError, match="n="):
        theory.bootstrap_coverage(n)
    with pytest.raises(ParameterError, match="draws="):
        theory.bootstrap_coverage(5, draws=-1)


RHO = np.array([0.0, 0.05, 0.2, 0.5, 0.9, 0.999, 1.0])


@pytest.mark.parametrize("n", [1, 4, 25])
@pytest.mark.parametrize("error", [0.2, 0.35, 0.5])
def test_the_beta_binomial_vote_is_the_sum_of_its_probabilities(error, n):
    vote = theory.majority_vote(error, n, correlation=RHO)
    for rho, found in zip(RHO[1:-1], vote.beta_binomial[1:-1], strict=True):
        a, b = error * (1 - rho) / rho, (1 - error) * (1 - rho) / rho
        terms = betabinom.pmf(np.arange(n + 1), n, a, b)
        tie = terms[n // 2] / 2 if n % 2 == 0 else 0.0
        assert found == pytest.approx(terms[n // 2 + 1 :].sum() + tie, rel=1e-9)


@pytest.mark.parametrize("model", ["beta_binomial", "one_factor_normal"])
def test_a_correlated_vote_runs_from_the_binomial_sum_to_the_error_of_one(model):
    errors = getattr(theory.majority_vote(0.35, 25, correlation=RHO), model)
    assert errors[0] == pytest.approx(binomial_sum(0.35, 25), rel=1e-12)
    assert errors[-1] == 0.35
    assert (np.diff(errors) > 0.0).all()
    for always in (0.0, 0.5, 1.0):
        found = getattr(theory.majority_vote(always, 7, correlation=RHO), model)
        np.testing.assert_allclose(found, always, atol=1e-9)


def test_simulated_voters_with_a_common_factor_have_the_correlation_and_the_error():
    rho, error, n, rows = 0.3, 0.35, 11, 60_000
    vote = theory.majority_vote(error, n, correlation=rho)
    r = _factor_correlation(error, rho)
    rng = np.random.default_rng(0)
    shared, own = rng.normal(size=(rows, 1)), rng.normal(size=(rows, n))
    wrong = np.sqrt(r) * shared + np.sqrt(1 - r) * own < ndtri(error)
    found = np.corrcoef(wrong.T)[np.triu_indices(n, 1)].mean()
    assert found == pytest.approx(rho, abs=0.01)
    measured = (wrong.sum(axis=1) > n / 2).mean()
    expected = vote.one_factor_normal[0]
    assert measured == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / rows))


def test_few_voters_with_a_common_factor_are_integrals_of_the_normal_distribution():
    # Three voters err together, or two of them: probabilities of a trivariate normal distribution.
    error, rho = 0.3, 0.25
    r, t = _factor_correlation(error, rho), ndtri(error)
    pair = multivariate_normal(cov=[[1, r], [r, 1]]).cdf([t, t])
    assert (pair - error**2) / (error * (1 - error)) == pytest.approx(rho, abs=1e-8)
    covariance = r + (1 - r) * np.eye(3)
    triple = multivariate_normal.cdf([t] * 3, cov=covariance, abseps=1e-9, releps=1e-9)
    expected = 3 * (pair - triple) + triple
    found = theory.majority_vote(error, 3, correlation=rho).one_factor_normal[0]
    assert found == pytest.approx(expected, abs=1e-5)


def test_the_correlated_vote_is_drawn_and_checked():
    vote = theory.majority_vote()
    assert list(vote.to_frame()) == ["correlation", "beta_binomial", "one_factor_normal"]
    assert vote.correlation.shape == (101,)
    assert "25 classifiers" in repr(vote)
    for arguments in ({"error": 1.5}, {"n": 0}, {"correlation": -0.1}, {"error": [0.1, 0.2]}):
        with pytest.raises(ParameterError, match=f"{next(iter(arguments))}=.* is not allowed"):
            theory.majority_vote(**arguments)
    with pytest.raises(ParameterError, match="one dimension"):
        theory.majority_vote(correlation=[[0.1]])
