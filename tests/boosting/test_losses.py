"""Losses: where scores start, and the door for a user's own function."""

# ruff: noqa: ARG005

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar

from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor, ParameterError
from hedgerow._boosting.losses import (
    BinaryLogLoss,
    CustomLoss,
    MultinomialLogLoss,
    SquaredError,
    with_weights,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
NUMBERS = X[:, 0] * 2 + RNG.normal(size=300)
LABELS = (NUMBERS > 0.5).astype(int)
WEIGHTS = RNG.uniform(0.1, 3.0, 300)
THREE = np.digitize(NUMBERS, [-1.0, 1.0])


@given(
    arrays(np.float64, 9, elements=st.floats(-1e3, 1e3)),
    arrays(np.float64, 9, elements=st.floats(0.1, 10)),
)
def test_squared_error_starts_at_its_optimum(y, w):
    best = minimize_scalar(lambda s: np.sum(w * (y - s) ** 2)).x
    assert SquaredError().base_score(y, w)[0] == pytest.approx(best, abs=1e-4)


@given(st.integers(1, 8), arrays(np.float64, 9, elements=st.floats(0.1, 10)))
def test_binary_log_loss_starts_at_its_optimum(n_ones, w):
    y = (np.arange(9) < n_ones).astype(float)
    best = minimize_scalar(lambda s: np.sum(w * (np.logaddexp(0, s) - y * s))).x
    assert BinaryLogLoss().base_score(y, w)[0] == pytest.approx(best, abs=1e-4)


def test_multinomial_log_loss_starts_at_the_log_priors():
    y = np.array([0.0, 1.0, 1.0, 2.0])
    w = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(
        MultinomialLogLoss(3).base_score(y, w), np.log([0.1, 0.5, 0.4]), rtol=1e-14
    )


def test_a_class_of_no_weight_has_a_finite_score():
    w = np.array([1.0, 0.0])
    assert np.isfinite(BinaryLogLoss().base_score(np.array([0.0, 1.0]), w)).all()
    assert np.isfinite(MultinomialLogLoss(2).base_score(np.array([0.0, 1.0]), w)).all()


def test_the_mean_survives_weights_near_the_ends_of_float64():
    y = np.array([1.0, 3.0])
    assert SquaredError().base_score(y, np.array([1e308, 1e308]))[0] == 2.0
    assert SquaredError().base_score(y, np.array([1e-310, 1e-310]))[0] == pytest.approx(2.0)


def squared(y, scores):
    return scores - y, np.ones_like(y)


def logistic(y, scores):
    p = 1 / (1 + np.exp(-scores))
    return p - y, p * (1 - p)


def multinomial(y, scores):
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p - (y[:, None] == np.arange(p.shape[1])), p * (1 - p)


def test_a_user_s_squared_error_equals_the_built_in_one_on_a_centred_target():
    y = NUMBERS - NUMBERS.mean()
    own = GradientBoostingRegressor(loss=squared).fit(X, y)
    built_in = GradientBoostingRegressor().fit(X, y)
    np.testing.assert_allclose(own.predict(X), built_in.predict(X), atol=1e-3)


@pytest.mark.parametrize(("y", "function"), [(LABELS, logistic), (THREE, multinomial)])
def test_a_user_s_log_loss_learns_as_well_as_the_built_in_one(y, function):
    own = GradientBoostingClassifier(loss=function, n_estimators=60).fit(X, y)
    built_in = GradientBoostingClassifier(n_estimators=60).fit(X, y)
    assert own.score(X, y) > built_in.score(X, y) - 0.02
    np.testing.assert_allclose(own.predict_proba(X).sum(axis=1), 1.0)


def test_weights_multiply_what_a_function_of_two_arguments_returns():
    def weighted(y, scores, sample_weight):
        return sample_weight * (scores - y), sample_weight

    unaware = GradientBoostingRegressor(loss=squared).fit(X, NUMBERS, WEIGHTS)
    aware = GradientBoostingRegressor(loss=weighted).fit(X, NUMBERS, WEIGHTS)
    np.testing.assert_array_equal(unaware.predict(X), aware.predict(X))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda y, s: None, False),
        (lambda y, s, w: None, True),
        (lambda y, s, *, sample_weight=None: None, True),
        (lambda y, s, alpha=0.5: None, False),
        (max, False),
    ],
)
def test_whether_a_function_takes_weights_is_read_from_its_signature(function, expected):
    assert with_weights(function)[1] is expected


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda n: np.zeros(n), r"must return \(gradient, hessian\), not ndarray"),
        (
            lambda n: (np.zeros(n - 1), np.ones(n)),
            r"gradient has shape \(299,\); raw_scores has \(300,\)",
        ),
        (lambda n: (np.zeros((n, 1)), np.ones(n)), r"gradient has shape \(300, 1\)"),
        (lambda n: (np.zeros(n), 1.0), r"hessian has shape \(\)"),
        (lambda n: (np.zeros(n), np.full(n, np.nan)), "hessian has NaN or infinite"),
        (lambda n: (np.full(n, np.inf), np.ones(n)), "gradient has NaN or infinite"),
        (lambda n: (np.zeros(n), -np.ones(n)), "negative hessian"),
        (lambda n: (np.full(n, "1"), np.ones(n)), "gradient has dtype <U1, not numbers"),
        (lambda n: (np.zeros(n, complex), np.ones(n)), "gradient has dtype complex128"),
    ],
)
def test_what_a_function_returns_is_checked(returned, message):
    model = GradientBoostingRegressor(loss=lambda y, s: returned(len(y)), n_estimators=5)
    with pytest.raises(ParameterError, match=f"^loss: .*{message}"):
        model.fit(X, NUMBERS)


def test_integers_and_float32_are_taken():
    def coarse(y, scores):
        return (scores - y).astype(np.float32), np.ones(len(y), int)

    exact = GradientBoostingRegressor(loss=squared).fit(X, NUMBERS)
    rounded = GradientBoostingRegressor(loss=coarse).fit(X, NUMBERS)
    np.testing.assert_allclose(exact.predict(X), rounded.predict(X), atol=0.05)


def test_a_function_s_exception_is_passed_through():
    def broken(y, scores):
        raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        GradientBoostingRegressor(loss=broken).fit(X, NUMBERS)


def test_a_function_cannot_spoil_the_scores_it_is_shown():
    def vandal(y, scores):
        result = squared(y, scores)
        scores[:] = 1e9
        return result

    honest = GradientBoostingRegressor(loss=squared).fit(X, NUMBERS)
    np.testing.assert_array_equal(
        GradientBoostingRegressor(loss=vandal).fit(X, NUMBERS).predict(X), honest.predict(X)
    )


def test_a_function_sees_outputs_as_columns():
    loss = CustomLoss(lambda y, s: (s, np.ones_like(s)), "softmax", 3, "log_loss")
    scores = np.arange(12.0).reshape(3, 4)
    gradient, hessian = loss.gradients(np.zeros(4), scores, None)
    np.testing.assert_array_equal(gradient, scores)
    assert hessian.shape == (3, 4)


def logistic(y, scores):
    p = 1.0 / (1.0 + np.exp(-scores))
    return p - y, p * (1.0 - p)


def poisson(y, scores):
    return np.exp(scores) - y, np.exp(scores)


def softmax(y, scores):
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return p - np.eye(3)[y.astype(int)], p * (1.0 - p)


@pytest.mark.parametrize("weights", [None, WEIGHTS[:40]], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    ("function", "target", "expected"),
    [
        (squared, np.linspace(1e6, 1e6 + 39, 40), lambda mean: mean),
        (logistic, (np.arange(40) < 3).astype(float), lambda p: np.log(p / (1 - p))),
        (poisson, np.linspace(0, 5000, 40), np.log),
    ],
)
def test_scores_of_a_function_start_at_its_best_constant(function, target, expected, weights):
    loss = CustomLoss(function, "identity", 1, "rmse")
    mean = np.average(target, weights=weights)
    np.testing.assert_allclose(loss.base_score(target, weights), [expected(mean)], rtol=1e-9)


def test_scores_of_several_outputs_start_at_their_best_constants():
    target = np.repeat([0.0, 1.0, 2.0], [2, 8, 30])
    scores = CustomLoss(softmax, "softmax", 3, "log_loss").base_score(target, None)
    np.testing.assert_allclose(np.exp(scores) / np.exp(scores).sum(), [0.05, 0.2, 0.75], rtol=1e-6)


def test_gradients_that_always_add_up_to_0_leave_scores_at_0():
    loss = CustomLoss(lambda y, s: (y - y.mean() + 0 * s, np.ones_like(s)), "identity", 1, "rmse")
    np.testing.assert_allclose(loss.base_score(np.arange(8.0), None), [0.0], atol=1e-12)


def test_a_class_alone_starts_at_a_finite_score():
    score = CustomLoss(logistic, "sigmoid", 1, "log_loss").base_score(np.ones(40), None)
    assert 5.0 < score[0] < 100.0
