"""The binomial vote and the bootstrap: against enumeration, simulation and each other."""

from itertools import product
from math import comb

import numpy as np
import pytest

from hedgerow import ParameterError, theory


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
