"""The index of concordance against a look at every pair."""

import numpy as np
import pytest

from hedgerow._boosting.survival_metrics import concordance
from oracles import survival as oracle

RNG = np.random.default_rng(0)


def bounds_of(kind, n):
    time = np.round(RNG.exponential(size=n), 1) + 0.1  # with ties
    if kind == "known":
        return np.column_stack([time, time])
    if kind == "right-censored":
        return np.column_stack([time, np.where(RNG.random(n) < 0.5, time, np.inf)])
    lower = np.where(RNG.random(n) < 0.2, 0.0, time)
    width = np.round(RNG.exponential(0.3, size=n), 1)
    return np.column_stack([lower, np.where(RNG.random(n) < 0.2, np.inf, time + width)])


@pytest.mark.parametrize("kind", ["known", "right-censored", "intervals"])
@pytest.mark.parametrize("n", [2, 3, 40, 200])
@pytest.mark.parametrize("tied", [False, True])
def test_it_is_the_part_of_comparable_pairs(kind, n, tied):
    bounds = bounds_of(kind, n)
    bounds[0], bounds[1] = 0.01, 5.0  # so that a pair can be compared
    longer = RNG.integers(0, 4, n).astype(float) if tied else RNG.normal(size=n)
    weights = RNG.uniform(0.1, 2.0, n)
    expected = oracle.concordance(bounds, longer, np.ones(n))
    assert concordance(bounds, longer, None) == pytest.approx(expected, rel=1e-12)
    expected = oracle.concordance(bounds, longer, weights)
    assert concordance(bounds, longer, weights) == pytest.approx(expected, rel=1e-10)


def test_perfect_reversed_and_constant_predictions():
    bounds = bounds_of("known", 50)
    assert concordance(bounds, bounds[:, 0], None) == 1.0
    assert concordance(bounds, -bounds[:, 0], None) == 0.0
    assert concordance(bounds, np.zeros(50), None) == 0.5


def test_nothing_to_compare_is_not_a_number():
    assert np.isnan(concordance(np.array([[1.0, np.inf], [2.0, np.inf]]), np.arange(2.0), None))
