"""Our own exp, log and log1p, and the transforms built on them, against extended precision."""

import numpy as np
import pytest

from hedgerow import _native


def errors(function, exact, x):
    """Distance from the exact values, in units in the last place."""
    if np.finfo(np.longdouble).nmant == np.finfo(np.float64).nmant:
        pytest.skip("Windows and macOS have no extended precision to compare with")
    ours = x.copy()
    function(ours)
    wide = exact(x.astype(np.longdouble))
    return np.abs(ours - wide) / np.spacing(np.abs(wide.astype(np.float64)))


def spread(rng, low, high):
    """Numbers of every magnitude from 2^low to 2^high."""
    return np.ldexp(rng.uniform(1, 2, 200_000), rng.integers(low, high, 200_000))


def test_exp_is_accurate_over_the_whole_range():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-708, 709.78, 200_000), rng.normal(size=200_000)])
    assert errors(_native.exp_inplace, np.exp, x).max() < 1.1


def test_exp_of_subnormal_results_is_accurate():
    x = np.random.default_rng(0).uniform(-745, -708, 100_000)
    assert errors(_native.exp_inplace, np.exp, x).max() < 1.1


def test_log_is_accurate_over_the_whole_range():
    rng = np.random.default_rng(1)
    x = np.concatenate([spread(rng, -1074, 1023), rng.uniform(0.5, 2, 200_000)])
    assert errors(_native.log_inplace, np.log, x).max() < 1.0


def test_log1p_is_accurate_over_the_whole_range():
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [spread(rng, -1000, 1023), -spread(rng, -1000, -1), rng.normal(size=99) ** 2]
    )
    assert errors(_native.log1p_inplace, np.log1p, x).max() < 1.0


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (_native.exp_inplace, np.exp),
        (_native.log_inplace, np.log),
        (_native.log1p_inplace, np.log1p),
    ],
)
def test_extremes_are_as_in_numpy(function, exact):
    x = np.array([np.nan, np.inf, -np.inf, 0, -1, -2, 710, -746, 1e308, 5e-324])
    with np.errstate(all="ignore"):
        expected = exact(x)
    function(x)
    np.testing.assert_allclose(x, expected, rtol=3e-16)


def test_sigmoid_is_within_three_units_in_the_last_place_over_the_whole_range():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-708, 708, 200_000), rng.normal(size=200_000), [0.0, -0.0]])
    ours = x.copy()
    _native.sigmoid_inplace(ours)
    exact = 1 / (1 + np.exp(-x.astype(np.longdouble)))
    assert (np.abs(ours - exact) <= 3 * np.spacing(exact.astype(np.float64))).all()


def test_sigmoid_of_extremes_is_zero_one_or_nan():
    x = np.array([-np.inf, -1e300, -800, 800, 1e300, np.inf, np.nan])
    _native.sigmoid_inplace(x)
    np.testing.assert_array_equal(x, [0, 0, 0, 1, 1, 1, np.nan])


def test_sigmoid_does_not_fall_where_the_score_rises():
    x = np.linspace(-40, 40, 1_000_001)
    _native.sigmoid_inplace(x)
    assert (np.diff(x) >= -np.spacing(x[1:])).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_outputs", [1, 2, 7, 100])
def test_softmax_agrees_with_extended_precision_in_both_orders(order, n_outputs):
    rng = np.random.default_rng(1)
    scores = rng.normal(scale=50, size=(333, n_outputs))
    ours = np.array(scores, order=order)
    _native.softmax_inplace(ours)
    gap = scores.max(axis=1, keepdims=True).astype(np.longdouble) - scores
    exact = np.exp(-gap) / np.exp(-gap).sum(axis=1, keepdims=True)
    # Rounding the gap moves its exponential by gap · eps / 2; the rest is one ulp an operation.
    bound = (gap.max(axis=1, keepdims=True) + 4 + n_outputs) * np.finfo(np.float64).eps * exact
    assert (np.abs(ours - exact) <= bound).all()


def test_softmax_has_the_same_bits_in_both_orders():
    scores = np.random.default_rng(2).normal(size=(1000, 5))
    by_column = np.asfortranarray(scores)
    _native.softmax_inplace(scores)
    _native.softmax_inplace(by_column)
    np.testing.assert_array_equal(scores, by_column)
