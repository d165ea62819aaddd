"""The base score of a formula loss: against closed forms, and where there is no minimum."""

# ruff: noqa: ARG005

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from hedgerow import ParameterError
from hedgerow._boosting.losses.formula import Loss

RNG = np.random.RandomState(0)
Y = 3.0 * RNG.normal(size=501) + 5.0
WEIGHTS = RNG.uniform(0.1, 3.0, 501)
POSITIVE = np.abs(Y) + 0.1
BINARY = (Y > 6.0).astype(float)
CLASSES = np.digitize(Y, [3.0, 5.0, 8.0])


def weighted_mean(y):
    return np.average(y, weights=WEIGHTS)


CLOSED_FORMS = {
    "squared": (lambda y, f: 0.5 * (y - f) ** 2, Y, weighted_mean(Y)),
    "log loss": (
        lambda y, f: np.logaddexp(0.0, f) - y * f,
        BINARY,
        special.logit(weighted_mean(BINARY)),
    ),
    "poisson": (lambda y, f: np.exp(f) - y * f, POSITIVE, np.log(weighted_mean(POSITIVE))),
    "gamma": (lambda y, f: y * np.exp(-f) + f, POSITIVE, np.log(weighted_mean(POSITIVE))),
    "gamma of a mean": (lambda y, f: y / f + np.log(f), POSITIVE, weighted_mean(POSITIVE)),
    "exponential": (
        lambda y, f: np.exp((1 - 2 * y) * f),
        BINARY,
        0.5 * special.logit(weighted_mean(BINARY)),
    ),
    "log of the mean": (
        lambda y, f: (np.log(y) - np.log(f)) ** 2,
        POSITIVE,
        np.exp(weighted_mean(np.log(POSITIVE))),
    ),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_the_constant_is_that_of_the_closed_form(name):
    function, y, expected = CLOSED_FORMS[name]
    actual = Loss(function).base_score(y, WEIGHTS)
    np.testing.assert_allclose(actual, [expected], rtol=1e-12)


def test_the_squared_error_starts_at_the_mean_to_the_last_bit():
    assert Loss(lambda y, f: (y - f) ** 2).base_score(Y)[0] == Y.mean()


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.floats(0.05, 0.95), st.floats(-8, 8))
def test_a_quantile_minimises_the_pinball_loss(seed, level, log_scale):
    rng = np.random.RandomState(seed)
    y = 10.0**log_scale * (rng.standard_cauchy(40) + 3.0)

    def pinball(y, f):
        return np.maximum(level * (y - f), (level - 1.0) * (y - f))

    loss = Loss(pinball)
    best = min(pinball(y, at).sum() for at in y)
    actual = pinball(y, loss.base_score(y)[0]).sum()
    assert actual <= best * (1.0 + 1e-9)


def test_a_loss_that_falls_for_ever_has_a_finite_start():
    actual = Loss(lambda y, f: np.logaddexp(0.0, -f)).base_score(Y)
    assert 20.0 < actual[0] < 60.0


def test_the_nearest_valley_of_a_loss_with_several_is_found():
    y = np.array([0.0] * 10 + [50.0] * 3)
    actual = Loss(lambda y, f: np.log1p((y - f) ** 2)).base_score(y)
    np.testing.assert_allclose(actual, 0.0, atol=0.01)


def test_a_start_where_the_loss_is_not_defined_is_passed_over():
    actual = Loss(lambda y, f: -np.log(3.0 - f) - np.log(f - 1.0)).base_score(np.array([2.5, 2.6]))
    np.testing.assert_allclose(actual, 2.0, rtol=1e-12)


def test_a_loss_that_is_nowhere_defined_is_refused():
    with pytest.raises(ParameterError, match="NaN or infinite at the constant scores 0"):
        Loss(lambda y, f: np.log(-1.0 - f**2)).base_score(Y)


def multinomial(y, f):
    return np.logaddexp.reduce(f, axis=1) - f[np.arange(len(y)), y]


def test_several_constants_of_the_multinomial_loss_are_the_log_priors():
    actual = Loss(multinomial, n_outputs=4).base_score(CLASSES, WEIGHTS)
    priors = np.bincount(CLASSES, WEIGHTS) / WEIGHTS.sum()
    np.testing.assert_allclose(special.softmax(actual), priors, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_several_constants_of_different_kinds(scale):
    def gaussian(y, f):
        mean, log_scale = f.T
        return 0.5 * ((y - mean) * np.exp(-log_scale)) ** 2 + log_scale

    actual = Loss(gaussian, n_outputs=2).base_score(scale * Y)
    np.testing.assert_allclose(actual, [scale * Y.mean(), np.log(scale * Y.std())], rtol=1e-7)


def test_several_constants_of_a_loss_with_corners():
    levels = np.array([0.105, 0.5, 0.895])

    def pinball(y, f):
        r = y[:, None] - f
        return np.maximum(levels * r, (levels - 1.0) * r).sum(axis=1)

    actual = Loss(pinball, n_outputs=3).base_score(Y)
    expected = np.sort(Y)[(levels * len(Y)).astype(int)]
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_several_constants_start_at_the_means_of_several_targets():
    targets = RNG.normal(size=(50, 2)) * [1.0, 1e6] + [3.0, 1e8]
    actual = Loss(lambda y, f: ((y - f) ** 2).sum(axis=1), n_outputs=2).base_score(targets)
    np.testing.assert_allclose(actual, targets.mean(axis=0), rtol=1e-14)


@pytest.mark.parametrize(
    "function", [lambda y, f: -((y - f) ** 2), lambda y, f: f + 0 * y, lambda y, f: np.exp(f) + f]
)
def test_a_loss_without_a_minimum_is_refused(function):
    y = np.linspace(-1.0, 2.0, 30)
    with pytest.raises(ParameterError, match=r"has no minimum: it still decreases .* sign wrong"):
        Loss(function).base_score(y)
