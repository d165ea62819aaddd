"""Losses of stagewise boosting: derivatives, and steps that are held to a search by value."""

# ruff: noqa: ARG005

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from hedgerow._stagewise.line_search import NEGLIGIBLE
from hedgerow._stagewise.losses import (
    AbsoluteErrorLoss,
    AdaBoostLoss,
    BinomialLogLoss,
    HuberLoss,
    MultinomialDeviance,
    PinballLoss,
    PoissonLoss,
    SquaredErrorLoss,
    UserLoss,
    weighted_quantile,
)
from hedgerow.exceptions import ParameterError

N = 60
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=N) * 3
COUNTS = RNG.poisson(2.0, N).astype(float)
TWO = RNG.integers(0, 2, N).astype(float)
THREE = RNG.integers(0, 3, N).astype(float)
F = RNG.normal(size=N)
F3 = RNG.normal(size=(N, 3))
W = RNG.uniform(0.1, 2.0, N)
H = RNG.normal(size=N)
H3 = RNG.normal(size=(N, 3))


class Cosh:
    """log cosh of the residual, as a user would write it."""

    def __repr__(self):
        return "Cosh"

    def loss(self, y, F):
        return np.log(np.cosh(y - F))

    def gradient(self, y, F):
        return np.tanh(F - y)

    def hessian(self, y, F):
        return 1.0 / np.cosh(y - F) ** 2


ONE_OUTPUT = [
    (SquaredErrorLoss(), NUMBERS),
    (AbsoluteErrorLoss(), NUMBERS),
    (PinballLoss(0.5), NUMBERS),
    (PinballLoss(0.83), NUMBERS),
    (PinballLoss(0.1), NUMBERS),
    (HuberLoss(0.9, delta=1.3), NUMBERS),
    (HuberLoss(0.5, delta=0.01), NUMBERS),
    (PoissonLoss(), COUNTS),
    (BinomialLogLoss(), TWO),
    (AdaBoostLoss(), TWO),
    (UserLoss(Cosh(), "identity", 1), NUMBERS),
]
IDS = [f"{loss.name}-{getattr(loss, 'alpha', '')}" for loss, _ in ONE_OUTPUT]
ALL = [(loss, y, F) for loss, y in ONE_OUTPUT] + [(MultinomialDeviance(3), THREE, F3)]
ALL_IDS = [*IDS, "multinomial"]


def total(loss, y, scores, w):
    return float((w * loss.loss(y, scores)).sum())


def minimum_by_value(value):
    """Minimise by value alone: a grid over many scales, then a bounded search around its best."""
    sizes = np.geomspace(1e-4, 1e3, 400)
    grid = np.concatenate([-sizes[::-1], [0.0], sizes])
    with np.errstate(over="ignore"):
        best = int(np.argmin([value(step) for step in grid]))
    actual = minimize_scalar(
        value, bounds=(grid[best - 1], grid[best + 1]), method="bounded", options={"xatol": 1e-10}
    )
    return actual.x, actual.fun


def assert_minimises(step, value):
    expected, lowest = minimum_by_value(value)
    assert value(step) <= lowest + 1e-12 * abs(lowest) + 1e-28
    # By value a minimiser is known to about the root of the rounding.
    level = value(expected) - value(step)
    assert step == pytest.approx(expected, rel=1e-5, abs=1e-5) or abs(level) < 1e-12 * abs(lowest)


@pytest.mark.parametrize(("loss", "y", "scores"), ALL, ids=ALL_IDS)
def test_the_gradient_is_the_derivative_of_the_loss(loss, y, scores):
    small = 1e-6
    for output in range(loss.n_outputs):
        moved = np.zeros_like(scores)
        moved[(slice(None), output) if scores.ndim == 2 else slice(None)] = small
        numeric = (loss.loss(y, scores + moved) - loss.loss(y, scores - moved)) / (2 * small)
        gradient = loss.gradient(y, scores)
        gradient = gradient if scores.ndim == 1 else gradient[:, output]
        np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("loss", "y", "scores"), ALL, ids=ALL_IDS)
def test_the_hessian_is_the_derivative_of_the_gradient(loss, y, scores):
    if not loss.has_hessian:
        with pytest.raises(NotImplementedError):
            loss.hessian(y, scores)
        return
    small = 1e-6
    for output in range(loss.n_outputs):
        at = (slice(None), output) if scores.ndim == 2 else slice(None)
        moved = np.zeros_like(scores)
        moved[at] = small
        numeric = (loss.gradient(y, scores + moved) - loss.gradient(y, scores - moved))[at]
        np.testing.assert_allclose(
            loss.hessian(y, scores)[at], numeric / (2 * small), rtol=1e-6, atol=1e-7
        )


@pytest.mark.parametrize(("loss", "y"), ONE_OUTPUT, ids=IDS)
def test_the_line_step_is_the_minimiser(loss, y):
    step = loss.line_step(y, F, H, W)
    assert_minimises(step, lambda rho: total(loss, y, F + rho * H, W))


@pytest.mark.parametrize(("loss", "y"), ONE_OUTPUT, ids=IDS)
@pytest.mark.parametrize("size", [2, 7, N])
def test_the_leaf_step_is_the_minimiser(loss, y, size):
    leaf = np.argsort(y, kind="stable")[::-1][np.linspace(0, N - 1, size).astype(int)]
    y, scores, w = y[leaf], F[leaf], W[leaf]
    step = loss.leaf_step(y, scores, w)
    assert_minimises(step, lambda gamma: total(loss, y, scores + gamma, w))


def test_the_step_of_several_outputs_is_the_minimiser():
    loss = MultinomialDeviance(3)
    step = loss.line_step(THREE, F3, H3, W)
    assert_minimises(step, lambda rho: total(loss, THREE, F3 + rho * H3, W))
    for output in range(3):
        unit = np.eye(3)[output]
        step = loss.leaf_step(THREE, F3, W, output)
        assert_minimises(step, lambda gamma, unit=unit: total(loss, THREE, F3 + gamma * unit, W))


@pytest.mark.parametrize(("loss", "y"), ONE_OUTPUT, ids=IDS)
def test_a_direction_that_leads_up_is_followed_backwards(loss, y):
    forward, backward = loss.line_step(y, F, H, W), loss.line_step(y, F, -H, W)
    assert backward == pytest.approx(-forward, rel=1e-8)


@pytest.mark.parametrize(("loss", "y"), ONE_OUTPUT, ids=IDS)
def test_a_learner_that_says_nothing_moves_nothing(loss, y):
    assert loss.line_step(y, F, np.zeros(N), W) == 0.0


@pytest.mark.parametrize(("loss", "y", "scores"), ALL, ids=ALL_IDS)
def test_a_weight_of_three_is_three_rows(loss, y, scores):
    w = RNG.integers(1, 4, N)
    h = H if scores.ndim == 1 else H3
    rows = np.repeat(np.arange(N), w)
    ones = np.ones(len(rows))
    weighted = loss.line_step(y, scores, h, w.astype(float))
    repeated = loss.line_step(y[rows], scores[rows], h[rows], ones)
    assert weighted == pytest.approx(repeated, rel=1e-8)
    np.testing.assert_allclose(
        loss.best_constant(y, w.astype(float)), loss.best_constant(y[rows], ones), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("loss", "y", "scores"),
    [case for case in ALL if not isinstance(case[0], HuberLoss)],
    ids=[name for name in ALL_IDS if "huber" not in name],
)
def test_the_best_constant_is_that_of_no_better_neighbour(loss, y, scores):
    constant = loss.best_constant(y, W)

    def value(moved):
        start = np.broadcast_to(moved, scores.T.shape[::-1]) if len(moved) > 1 else moved[0] + 0 * y
        return total(loss, y, start, W)

    for output in range(loss.n_outputs):
        for small in (-1e-4, 1e-4):
            moved = constant + small * np.eye(loss.n_outputs)[output]
            assert value(constant) <= value(moved)


@pytest.mark.parametrize(
    ("loss", "y"),
    [c for c in ONE_OUTPUT if c[0].has_hessian],
    ids=[i for i, c in zip(IDS, ONE_OUTPUT, strict=True) if c[0].has_hessian],
)
def test_repeated_newton_steps_end_at_the_leaf_step(loss, y):
    scores = F.copy()
    for _ in range(50):
        scores = scores + loss.newton_step(y, scores, W)
    assert scores[0] - F[0] == pytest.approx(loss.leaf_step(y, F, W), rel=1e-9)


def test_the_huber_step_of_friedman_is_from_the_median_with_the_rest_cut():
    loss = HuberLoss(0.9, delta=1.3)
    r = NUMBERS - F
    median = np.median(r)
    expected = median + np.mean(np.sign(r - median) * np.minimum(1.3, np.abs(r - median)))
    assert loss.newton_step(NUMBERS, F, np.ones(N)) == pytest.approx(expected, rel=1e-12)


def test_huber_is_the_squared_error_without_outliers_and_the_absolute_error_with_nothing_else():
    wide, narrow = HuberLoss(0.9, delta=1e6), HuberLoss(0.9, delta=1e-6)
    np.testing.assert_allclose(wide.loss(NUMBERS, F), SquaredErrorLoss().loss(NUMBERS, F))
    np.testing.assert_allclose(
        narrow.loss(NUMBERS, F) / 1e-6, AbsoluteErrorLoss().loss(NUMBERS, F), rtol=1e-4
    )


def test_delta_is_the_quantile_of_the_residuals():
    ones = np.ones(N)
    for alpha in (0.5, 0.9):
        expected = np.quantile(np.abs(NUMBERS - F), alpha, method="averaged_inverted_cdf")
        assert HuberLoss(alpha).adapted(NUMBERS, F, ones).delta == pytest.approx(expected)


def test_delta_is_never_zero():
    y = np.array([0.0, 0.0, 0.0, 5.0, -7.0])
    assert HuberLoss(0.5).adapted(y, np.zeros(5), np.ones(5)).delta == 5.0
    fitted = HuberLoss(0.5).adapted(y, y, np.ones(5))
    assert not fitted.gradient(y, y).any()
    assert not fitted.loss(y, y).any()


@given(
    values=st.lists(st.integers(-5, 5), min_size=1, max_size=12),
    alpha=st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9]),
    scale=st.sampled_from([1.0, 0.1, 1e-9, 1e9]),
)
def test_the_quantile_is_the_middle_of_all_minimisers_at_any_scale_of_weights(values, alpha, scale):
    x = np.array(values, dtype=float)
    expected = np.quantile(x, alpha, method="averaged_inverted_cdf")
    assert weighted_quantile(x, np.full(len(x), scale), alpha) == expected


@given(data=st.data())
def test_the_absolute_line_step_is_a_weighted_median_of_ratios(data):
    n = data.draw(st.integers(1, 10))
    numbers = st.lists(st.integers(-4, 4), min_size=n, max_size=n)
    r, h = (np.array(data.draw(numbers), dtype=float) for _ in range(2))
    w = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), dtype=float)
    step = AbsoluteErrorLoss().line_step(r, np.zeros(n), h, w)
    value = lambda rho: (w * np.abs(r - rho * h)).sum()  # noqa: E731
    kinks = [a / b for a, b in zip(r, h, strict=True) if b]
    assert value(step) <= min(map(value, [0.0, *kinks])) + 1e-9


def test_the_exponential_step_is_half_the_log_odds_of_the_weighted_error():
    G = np.where(RNG.random(N) < 0.7, 2 * TWO - 1, 1 - 2 * TWO)
    weight = W * np.exp(-(2 * TWO - 1) * F)
    err = weight[(2 * TWO - 1) != G].sum() / weight.sum()
    step = AdaBoostLoss().line_step(TWO, F, G, W)
    assert step == pytest.approx(0.5 * np.log((1 - err) / err), rel=1e-12)
    far = AdaBoostLoss().line_step(TWO, F + 3000.0 * (2 * TWO - 1), G, W)
    assert far == pytest.approx(step, rel=1e-9)


@pytest.mark.parametrize("loss", [BinomialLogLoss(), AdaBoostLoss()], ids=lambda loss: loss.name)
def test_a_leaf_of_one_class_has_a_finite_step_that_leaves_next_to_no_loss(loss):
    y, ones = np.ones(5), np.ones(5)
    step = loss.leaf_step(y, np.zeros(5), ones)
    assert 10.0 < step < 30.0
    assert total(loss, y, np.full(5, step), ones) <= 10 * NEGLIGIBLE**0.5
    assert loss.leaf_step(0 * y, np.zeros(5), ones) == pytest.approx(-step)


def test_counts_that_are_all_zero_have_a_finite_step():
    step = PoissonLoss().leaf_step(np.zeros(4), np.zeros(4), np.ones(4))
    assert np.log(NEGLIGIBLE) - 1 < step < -10


def test_poisson_refuses_targets_that_are_no_counts():
    assert "y >= 0" in PoissonLoss().objection(np.array([1.0, -2.0]))
    assert "predicts a mean above 0" in PoissonLoss().objection(np.zeros(3))
    assert PoissonLoss().objection(COUNTS) is None


class Broken(Cosh):
    """A user's loss with one method replaced."""

    def __init__(self, **methods):
        for name, method in methods.items():
            setattr(self, name, method)


@pytest.mark.parametrize(
    ("method", "returns", "says"),
    [
        ("loss", lambda y, F: 1.0, r"loss\(y, F\) returned shape \(\); it must be \(60,\)"),
        ("gradient", lambda y, F: np.ones(3), r"gradient\(y, F\) returned shape \(3,\)"),
        ("gradient", lambda y, F: np.full(N, "a"), "not numbers"),
        ("hessian", lambda y, F: -np.ones(N), "negative"),
    ],
)
def test_what_a_loss_of_the_users_returns_is_checked(method, returns, says):
    loss = UserLoss(Broken(**{method: returns}), "identity", 1)
    with pytest.raises(ParameterError, match=says):
        getattr(loss, method)(NUMBERS, F)


def test_a_loss_of_the_users_cannot_write_into_the_callers_arrays():
    def spoil(y, F):
        y[:] = 0.0
        return F

    with pytest.raises(ValueError, match="read-only"):
        UserLoss(Broken(gradient=spoil), "identity", 1).gradient(NUMBERS, F)


def test_a_loss_of_the_users_may_have_ridges():
    wavy = Broken(
        loss=lambda y, F: np.cos(3.0 * F) + 0.05 * F**2 + 2.0 * np.exp(-((F - 4.0) ** 2)),
        gradient=lambda y, F: (
            -3.0 * np.sin(3.0 * F) + 0.1 * F - 4.0 * (F - 4.0) * np.exp(-((F - 4.0) ** 2))
        ),
    )
    loss = UserLoss(wavy, "identity", 1)
    one = np.ones(1)
    for start in np.linspace(-6.0, 6.0, 50):
        step = loss.leaf_step(0 * one, start * one, one)
        assert loss.loss(0 * one, (start + step) * one)[0] <= loss.loss(0 * one, start * one)[0]


def test_a_wrong_gradient_is_warned_of_and_does_no_harm():
    upside_down = Broken(gradient=lambda y, F: np.tanh(y - F))
    with pytest.warns(ConvergenceWarning):
        step = UserLoss(upside_down, "identity", 1).leaf_step(NUMBERS, F, W)
    assert total(UserLoss(Cosh(), "identity", 1), NUMBERS, F + step, W) <= total(
        UserLoss(Cosh(), "identity", 1), NUMBERS, F, W
    )
