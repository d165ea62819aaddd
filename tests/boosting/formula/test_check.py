"""The check before the first round: what it lets pass, and what it finds."""

# ruff: noqa: ARG005

import numpy as np
import pytest

from hedgerow import ParameterError
from hedgerow._autodiff import rules
from hedgerow._boosting.losses.formula import Loss

RNG = np.random.RandomState(0)
Y = 3.0 * RNG.normal(size=400) + 5.0
F = np.full(400, 4.0)
CAPTURED = RNG.uniform(0.5, 2.0, 400)

HARMLESS = {
    "squared": lambda y, f: (y - f) ** 2,
    "absolute": lambda y, f: np.abs(y - f),
    "quantile": lambda y, f: np.maximum(0.9 * (y - f), -0.1 * (y - f)),
    "kinks everywhere": lambda y, f: np.abs(np.sin(3e3 * (y - f))),
    "huber with a small delta": lambda y, f: np.where(
        np.abs(y - f) < 1e-3, 500 * (y - f) ** 2, np.abs(y - f)
    ),
    "steps": lambda y, f: np.where(f > 4.0, 2.0, 1.0) * (y - f) ** 2,
    "steep": lambda y, f: np.exp(20.0 * (y - f)),
    "large": lambda y, f: 1e12 * (y - f) ** 2,
    "small": lambda y, f: 1e-12 * (y - f) ** 2,
    "large beside its changes": lambda y, f: 1e9 + (y - f) ** 2,
    "other arrays": lambda y, f: CAPTURED * (y - f) ** 2,
    "linear": lambda y, f: y * f,
    "not convex": lambda y, f: np.log1p((y - f) ** 2),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_correct_loss_passes(name):
    Loss(HARMLESS[name]).check(Y, F)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_scores_of_any_size_pass(scale):
    for name in ("squared", "absolute", "quantile", "not convex"):
        Loss(HARMLESS[name]).check(scale * Y, scale * F)


def test_rows_that_lie_on_a_corner_pass():
    y = np.where(np.arange(400) % 4 == 0, F, Y)
    Loss(HARMLESS["quantile"]).check(y, F)
    Loss(HARMLESS["absolute"]).check(y, F)


def test_random_numbers_are_found():
    stream = np.random.RandomState(0)
    with pytest.raises(ParameterError, match="different values when it was called again"):
        Loss(lambda y, f: (y - f) ** 2 + stream.uniform(size=len(y)) * f).check(Y, F)


@pytest.mark.parametrize(
    "mixed",
    [
        lambda y, f: (y - f + f.mean()) ** 2,
        lambda y, f: (y - f[::-1]) ** 2,
        lambda y, f: (y - np.sort(f)) ** 2,
        lambda y, f: (y - f) * f[0],
        lambda y, f: (y - f) / np.sum(np.abs(y - f)),
    ],
)
def test_rows_that_see_each_other_are_found(mixed):
    with pytest.raises(ParameterError, match="changes with the scores of other rows"):
        Loss(mixed).check(Y, F + np.linspace(0, 1, 400))


def test_columns_that_see_other_rows_are_found():
    with pytest.raises(ParameterError, match="changes with the scores of other rows"):
        Loss(lambda y, f: ((f - f.mean(axis=0)) ** 2).sum(axis=1)).check(Y, np.ones((400, 2)))


def test_a_wrong_first_derivative_is_found(monkeypatch):
    monkeypatch.setitem(rules.UNARY, np.exp, lambda _, v: (1.1 * v, v))
    with pytest.raises(
        ParameterError,
        match=r"the gradient with respect to f is 60.058 in row 0, but finite diff.* give 54.5982",
    ):
        Loss(lambda y, f: np.exp(f) + 0.0 * y).check(Y, F)


def test_a_wrong_second_derivative_is_found(monkeypatch):
    monkeypatch.setitem(rules.UNARY, np.exp, lambda _, v: (v, None))
    with pytest.raises(ParameterError, match="the hessian with respect to f is 0 in row 0"):
        Loss(lambda y, f: np.exp(f) + 0.0 * y).check(Y, F)


def test_a_wrong_derivative_by_one_score_is_found(monkeypatch):
    monkeypatch.setitem(rules.UNARY, np.exp, lambda _, v: (-v, v))
    with pytest.raises(
        ParameterError, match=r"the gradient with respect to f\[:, 1\] is -2.71828 in row 0"
    ):
        Loss(lambda y, f: f[:, 0] ** 2 + np.exp(f[:, 1])).check(Y, np.ones((400, 2)))


def test_numbers_taken_out_of_the_scores_are_found():
    def detached(y, f):
        numbers = getattr(f, "value", f)
        return (y - f) * (y - numbers)

    with pytest.raises(
        ParameterError, match=r"the gradient with respect to f is .* drops derivatives"
    ):
        Loss(detached).check(Y, F)
