"""`Loss`: what it returns, what becomes of hessians, what it says of mistakes."""

# ruff: noqa: ARG005

import copy
import pickle

import numpy as np
import pytest

import hedgerow
from hedgerow import ParameterError
from hedgerow._boosting.losses.formula import Loss

RNG = np.random.RandomState(0)
Y = RNG.normal(size=60)
F = RNG.normal(size=60)


def cauchy(y, f):
    return np.log1p((y - f) ** 2)


def euclidean(y, f):
    return ((y[:, None] - f) ** 2).sum(axis=1)


def test_values_are_those_of_the_function():
    np.testing.assert_array_equal(Loss(cauchy).loss(Y, F), cauchy(Y, F))
    assert Loss(cauchy).mean(Y, F) == pytest.approx(cauchy(Y, F).mean(), rel=1e-15)
    weights = np.arange(60.0)
    expected = np.average(cauchy(Y, F), weights=weights)
    assert Loss(cauchy).mean(Y, F, weights) == pytest.approx(expected, rel=1e-15)


def test_gradients_have_the_shape_of_the_scores():
    for f in (F, np.stack([F, -F], axis=1)):
        loss = Loss(cauchy if f.ndim == 1 else euclidean)
        gradient, hessian = loss.gradients(Y, f)
        assert gradient.shape == hessian.shape == f.shape
    np.testing.assert_allclose(gradient, 2 * (f - Y[:, None]), rtol=1e-15)
    np.testing.assert_array_equal(hessian, 2.0)


def test_a_loss_is_a_function_that_returns_gradient_and_hessian():
    loss = Loss(cauchy)
    for called, expected in zip(loss(Y, F), loss.gradients(Y, F), strict=True):
        np.testing.assert_array_equal(called, expected)


def test_lists_are_taken():
    assert Loss(lambda y, f: (y - f) ** 2).gradients([1, 2], [0, 0])[0].tolist() == [-2.0, -4.0]


def test_negative_hessians_become_their_absolute_value_or_zero_or_one():
    f = np.array([0.1, 0.5, 0.6, 3.0, -10.0])
    second = 2.0 * (1.0 - f**2) / (1.0 + f**2) ** 2
    y = np.zeros(5)
    for curvature, expected in (
        ("absolute", np.abs(second)),
        ("clipped", np.maximum(second, 0.0)),
        ("constant", np.ones(5)),
    ):
        _, hessian = Loss(cauchy, curvature=curvature).gradients(y, f)
        np.testing.assert_allclose(hessian, expected, rtol=1e-12)


def test_a_straight_loss_has_a_hessian_of_one():
    for piecewise_linear in (lambda y, f: np.abs(y - f), lambda y, f: np.maximum(0.0, 1.0 - y * f)):
        np.testing.assert_array_equal(Loss(piecewise_linear).gradients(Y, F)[1], 1.0)


def huber(y, f):
    r = np.abs(y - f)
    return np.where(r < 1.0, 1.5 * r**2, 3.0 * r - 1.5)


def test_a_loss_that_is_linear_in_most_rows_has_the_hessian_of_the_others():
    near, far = np.full(20, 0.5), np.full(40, 5.0)
    zeros = np.zeros(60)
    _, mostly_far = Loss(huber).gradients(zeros, np.concatenate([near, far]))
    np.testing.assert_array_equal(mostly_far, 3.0)
    _, mostly_near = Loss(huber).gradients(zeros, np.concatenate([near, near, near[:5], far[:15]]))
    np.testing.assert_array_equal(mostly_near, [3.0] * 45 + [0.0] * 15)


def test_rows_without_a_gradient_need_no_hessian():
    def squared_hinge(y, f):
        return np.maximum(0.0, 1.0 - f) ** 2

    f = np.array([0.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_array_equal(
        Loss(squared_hinge).gradients(np.ones(5), f)[1], [2.0, 0.0, 0.0, 0.0, 0.0]
    )


def test_each_output_is_piecewise_linear_by_itself():
    def half_straight(y, f):
        return np.abs(y - f[:, 0]) + (y - f[:, 1]) ** 2

    _, hessian = Loss(half_straight).gradients(Y, np.stack([F, F], axis=1))
    np.testing.assert_array_equal(hessian, np.tile([1.0, 2.0], (60, 1)))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, f: (y - f).mean(), r"returned shape \(\); it must be \(60,\).*Leave out the m"),
        (lambda y, f: (y - f)[:, None], r"shape \(60, 1\).*Sum over axis 1"),
        (lambda y, f: (y - f)[:5], r"shape \(5,\).*must not select or repeat rows"),
        (lambda y, f: y**2, "gradient of 0 in every row: it does not depend on f"),
        (lambda y, f: np.floor(f) + y, "gradient of 0 in every row"),
        (lambda y, f: np.log(f - 100), "loss is nan in row 0, where f is 1.76"),
        (lambda y, f: np.sqrt(np.abs(f - f[3])), "the gradient of loss is .* in row 3"),
        (lambda y, f: f > 0, "gradient of 0"),
        (lambda y, f: np.array(["a"] * 60), "returned <U1, not numbers"),
    ],
)
def test_mistakes_are_named(function, message):
    with pytest.raises(ParameterError, match=f"^loss: .*{message}"):
        Loss(function).gradients(Y, np.r_[1.76, F[1:]])


def test_values_that_are_not_finite_are_named():
    with pytest.raises(ParameterError, match=r"^loss: early is inf in row 0, where f is 0"):
        Loss(lambda y, f: 1.0 / f, name="early").loss(Y, np.zeros(60))


def test_a_function_cannot_change_what_it_is_given():
    def vandal(y, f):
        y[:] = 0.0
        return (y - f) ** 2

    with pytest.raises(ValueError, match="read-only"):
        Loss(vandal).gradients(Y.copy(), F)


def test_an_exception_of_the_function_is_passed_through():
    def broken(y, f):
        raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        Loss(broken).gradients(Y, F)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"function": 3}, r"function=3 is not allowed; it must be a function \(y, f\)"),
        ({"link": "logit"}, "link='logit' is not allowed; did you mean 'sigmoid'"),
        ({"n_outputs": 0}, "n_outputs=0 is not allowed"),
        (
            {"curvature": "exact"},
            "curvature='exact' is not allowed; it must be 'absolute', 'clipped' or",
        ),
        ({"name": 3}, "name=3 is not allowed; it must be a str"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        Loss(**{"function": cauchy, **options})


def test_scores_of_a_wrong_shape_are_refused():
    with pytest.raises(ParameterError, match=r"f has shape \(2, 2, 2\); it must be \(n,\) or"):
        Loss(cauchy).loss(np.zeros(2), np.zeros((2, 2, 2)))


def test_a_loss_shows_what_it_is():
    assert repr(Loss(cauchy)) == "Loss(cauchy)"
    assert (
        repr(Loss(lambda y, f: f, link="log", n_outputs=2)) == "Loss(loss, link='log', n_outputs=2)"
    )
    assert repr(Loss(cauchy, curvature="clipped", name="c")) == "Loss(c, curvature='clipped')"
    assert repr(Loss(np.subtract)) == "Loss(subtract)"


def test_a_loss_can_be_copied_and_pickled():
    for again in (copy.deepcopy(Loss(cauchy)), pickle.loads(pickle.dumps(Loss(cauchy)))):
        np.testing.assert_array_equal(again.loss(Y, F), cauchy(Y, F))


def test_it_is_the_same_loss_at_the_top():
    assert hedgerow.Loss is Loss
