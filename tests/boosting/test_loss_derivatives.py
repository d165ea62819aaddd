"""Every built-in loss against its formula: derivatives, the best constant, the best leaf."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

import hedgerow as hr
from hedgerow import _native
from hedgerow._boosting.losses import (
    AbsoluteError,
    AbsolutePercentageError,
    BernoulliLogLoss,
    BinaryLogLoss,
    CrossEntropy,
    ExpectileLoss,
    ExponentialLoss,
    FocalLoss,
    HingeLoss,
    MultinomialLogLoss,
    QuantileLoss,
    RobustLoss,
    SquaredError,
    TweedieLoss,
)
from hedgerow._boosting.losses.base import weighted_quantile

RNG = np.random.default_rng(0)
N = 400
NUMBERS = RNG.normal(0.0, 2.0, N)
COUNTS = RNG.poisson(2.0, N).astype(float)
POSITIVE = RNG.gamma(2.0, 1.5, N)
PARTS = RNG.uniform(0.0, 1.0, N)
LABELS = (RNG.random(N) < 0.3).astype(float)
CLASSES = RNG.integers(0, 3, N).astype(float)
PROBABILITIES = RNG.dirichlet(np.ones(3), N)
WEIGHTS = RNG.uniform(0.1, 3.0, N)


def sign(y):
    return 2.0 * y - 1.0


def tweedie(p):
    return lambda y, s: np.exp((2 - p) * s) / (2 - p) - y * np.exp((1 - p) * s) / (1 - p)


def pinball(a):
    return lambda y, s: np.maximum(a * (y - s), (a - 1) * (y - s))


def huber(d):
    return lambda y, s: np.where(
        np.abs(y - s) <= d, 0.5 * (y - s) ** 2, d * (np.abs(y - s) - 0.5 * d)
    )


def focal(gamma):
    return lambda y, s: -(expit(-sign(y) * s) ** gamma) * log_expit(sign(y) * s)


# Loss, target, and the loss of a row by its formula.
SMOOTH = {
    "squared_error": (SquaredError(), NUMBERS, lambda y, s: 0.5 * (y - s) ** 2),
    "poisson": (TweedieLoss(1.0), COUNTS, lambda y, s: np.exp(s) - y * s),
    "gamma": (TweedieLoss(2.0), POSITIVE, lambda y, s: y * np.exp(-s) + s),
    "tweedie": (TweedieLoss(1.3), COUNTS, tweedie(1.3)),
    "bernoulli": (BernoulliLogLoss(), PARTS, lambda y, s: np.logaddexp(0, s) - y * s),
    "log_loss": (BinaryLogLoss(), LABELS, lambda y, s: np.logaddexp(0, s) - y * s),
    "exponential": (ExponentialLoss(), LABELS, lambda y, s: np.exp(-sign(y) * s)),
}
CORNERED = {
    "expectile": (
        ExpectileLoss(0.8), NUMBERS, lambda y, s: np.where(y > s, 0.8, 0.2) * (y - s) ** 2
    ),
    "absolute_error": (AbsoluteError(), NUMBERS, lambda y, s: np.abs(y - s)),
    "quantile": (QuantileLoss([0.2]), NUMBERS, pinball(0.2)),
    "hinge": (HingeLoss(), LABELS, lambda y, s: np.maximum(0.0, 1.0 - sign(y) * s)),
}  # fmt: skip
# Nearly linear far from the target.
ROBUST = {
    "huber": (RobustLoss("huber", 1.5), NUMBERS, huber(1.5)),
    "pseudo_huber": (
        RobustLoss("pseudo_huber", 0.7), NUMBERS,
        lambda y, s: 0.49 * (np.sqrt(1 + ((y - s) / 0.7) ** 2) - 1),
    ),
    "log_cosh": (
        RobustLoss("log_cosh", 0.5), NUMBERS,
        lambda y, s: 0.25 * (np.logaddexp(2 * (y - s), -2 * (y - s)) - np.log(2)),
    ),
}  # fmt: skip
FOCAL = {
    f"focal {gamma}": (FocalLoss(gamma), LABELS, focal(gamma)) for gamma in (0.0, 0.5, 2.0, 5.0)
}
ALL = SMOOTH | CORNERED | ROBUST | FOCAL


def derivatives(loss, y, s, weights=None):
    gradient, hessian = loss.gradients(y, s[np.newaxis].copy(), weights)
    return gradient[0], hessian[0]


def differences(formula, y, s, eps):
    """Return first and second differences, and whether no kink lies within them."""
    down, at, up = (formula(y, s + d) for d in (-eps, 0.0, eps))
    left, right = (at - down) / eps, (up - at) / eps
    return (up - down) / (2 * eps), (right - left) / eps, np.abs(right - left) < 0.01


@pytest.mark.parametrize("name", ALL)
def test_gradients_are_the_formulas_slopes(name):
    loss, y, formula = ALL[name]
    s = RNG.normal(0.0, 2.0, N)
    gradient, hessian = derivatives(loss, y, s, WEIGHTS)
    slope, _, is_smooth = differences(formula, y, s, 1e-6)
    assert is_smooth.mean() > 0.95
    np.testing.assert_allclose(
        gradient[is_smooth], (WEIGHTS * slope)[is_smooth], rtol=1e-5, atol=1e-7
    )
    assert (hessian > 0.0).all()


@pytest.mark.parametrize("name", [*SMOOTH, "expectile"])
def test_hessians_are_the_formulas_curvatures(name):
    loss, y, formula = ALL[name]
    s = RNG.normal(0.0, 2.0, N)
    _, hessian = derivatives(loss, y, s, WEIGHTS)
    _, curvature, _ = differences(formula, y, s, 1e-4)
    near = np.abs(y - s) > 1e-3  # an expectile's kink
    np.testing.assert_allclose(hessian[near], (WEIGHTS * curvature)[near], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", FOCAL)
def test_the_focal_hessian_is_the_curvature_or_that_of_a_weighted_log_loss(name):
    loss, y, formula = FOCAL[name]
    s = RNG.normal(0.0, 3.0, N)
    _, hessian = derivatives(loss, y, s)
    _, curvature, _ = differences(formula, y, s, 1e-4)
    p = expit(sign(y) * s)
    expected = np.maximum(curvature, (1 - p) ** loss.gamma * p * (1 - p))
    np.testing.assert_allclose(hessian, expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", ROBUST)
def test_the_parabola_of_a_robust_loss_lies_above_it(name):
    """So a Newton step can never make it worse, however far away the target is."""
    loss, y, formula = ROBUST[name]
    s = np.concatenate([RNG.normal(0.0, 2.0, N // 2), RNG.normal(0.0, 500.0, N // 2)])
    gradient, hessian = derivatives(loss, y, s)
    for step in RNG.normal(0.0, 30.0, (40, N)):
        bound = formula(y, s) + gradient * step + 0.5 * hessian * step**2
        assert (formula(y, s + step) <= bound * (1 + 1e-12) + 1e-9).all()


def test_multinomial_and_cross_entropy_derive_the_logarithm_of_softmax():
    s = RNG.normal(0.0, 2.0, (3, N))
    one_hot = (CLASSES[:, None] == np.arange(3)).astype(float)
    p = np.exp(s) / np.exp(s).sum(axis=0)
    for loss, target, soft in [
        (MultinomialLogLoss(3), CLASSES, one_hot),
        (CrossEntropy(3), np.ascontiguousarray(PROBABILITIES.T), PROBABILITIES),
    ]:
        gradient, hessian = loss.gradients(target, s.copy(), WEIGHTS)
        np.testing.assert_allclose(gradient, WEIGHTS * (p - soft.T), atol=1e-13)
        np.testing.assert_allclose(hessian, WEIGHTS * p * (1 - p), atol=1e-13)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", ALL)
def test_scores_start_at_the_best_constant(name, weights):
    loss, y, formula = ALL[name]
    w = np.ones(N) if weights is None else weights
    total = lambda s: float((w * formula(y, s)).sum())  # noqa: E731
    (start,) = loss.base_score(y, weights)
    best = minimize_scalar(total, bounds=(-12, 12), method="bounded", options={"xatol": 1e-10})
    assert total(start) <= best.fun * (1 + 1e-12) + 1e-12


def test_percentage_errors_start_at_their_best_constant_too():
    y = np.concatenate([POSITIVE, [0.0, 1e-9]])
    (start,) = AbsolutePercentageError().base_score(y, None)
    total = [(np.abs(y - s) / np.maximum(y, 1.0)).sum() for s in np.append(start, y)]
    assert total[0] == min(total)


def test_percentages_of_small_targets_do_not_turn_into_absolute_errors():
    weights = AbsolutePercentageError().row_weights(1e-3 * POSITIVE, None)
    expected = 1.0 / np.maximum(POSITIVE, POSITIVE.mean())
    np.testing.assert_allclose(weights, expected / expected.mean(), rtol=1e-12)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_quantiles_minimise_the_pinball_loss(level, weights):
    values = np.round(NUMBERS, 1)  # with ties
    w = np.ones(N) if weights is None else weights
    actual = weighted_quantile(values, weights, level)
    loss = [w @ pinball(level)(values, v) for v in np.unique(values)]
    assert w @ pinball(level)(values, actual) <= min(loss) * (1 + 1e-12)


def test_the_middle_of_many_minimisers_is_taken():
    assert weighted_quantile(np.array([1.0, 2.0, 4.0, 9.0]), None, 0.5) == 3.0
    assert weighted_quantile(np.array([1.0, 2.0, 4.0]), np.array([2.0, 1.0, 1.0]), 0.5) == 1.5
    assert weighted_quantile(np.array([1.0, 5.0, 9.0]), np.array([1.0, 0.0, 1.0]), 0.5) == 5.0


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_leaves_have_quantiles_of_their_own_rows(weights, n_threads):
    leaf = RNG.integers(0, 7, N).astype(np.uint16)
    leaf[leaf == 5] = 4
    bag = np.flatnonzero(RNG.random(N) < 0.7).astype(np.uint32)
    levels = np.linspace(0.1, 0.9, 7)
    for some in (None, bag):
        rows = np.arange(N) if some is None else some
        actual = _native.leaf_quantiles(NUMBERS, weights, leaf, some, levels, n_threads)
        for number, (value, level) in enumerate(zip(actual, levels, strict=True)):
            own = rows[leaf[rows] == number]
            own_weights = None if weights is None else weights[own]
            desired = weighted_quantile(NUMBERS[own], own_weights, level) if len(own) else 0.0
            assert value == desired


X = RNG.normal(size=(N, 3))


@pytest.mark.parametrize("splitter", ["hist", "exact"])
@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "mape", "hinge"])
def test_a_leaf_is_the_best_step_of_a_loss_with_a_corner(loss, splitter):
    options = {"loss": loss, "n_estimators": 3, "learning_rate": 1.0, "splitter": splitter}
    options |= {"max_leaves": 5}
    if loss == "hinge":
        y, model = LABELS, hr.GradientBoostingClassifier(**options)
        formula, weights = CORNERED["hinge"][2], WEIGHTS
    else:
        y = POSITIVE + X[:, 0]
        level = {"quantile": 0.3} if loss == "quantile" else {}
        model = hr.GradientBoostingRegressor(**options, **level)
        formula = pinball(0.3) if loss == "quantile" else lambda y, s: np.abs(y - s)
        weights = WEIGHTS
        if loss == "mape":
            weights = AbsolutePercentageError().row_weights(y, WEIGHTS)
    model.fit(X, y, WEIGHTS)
    staged = list(model._staged_scores(X))
    before, after = staged[1][:, 0], staged[2][:, 0]
    leaf = model.apply(X)[:, 2]
    for node in np.unique(leaf):
        rows = leaf == node
        step = float(np.unique(after[rows] - before[rows]).mean())
        at = lambda v: float((weights * formula(y, before + v))[rows].sum())  # noqa: B023, E731
        others = np.concatenate([step + np.linspace(-3, 3, 301), RNG.normal(0, 10, 50)])
        assert at(step) <= min(map(at, others)) * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("splitter", ["hist", "exact"])
@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie", "exponential"])
@pytest.mark.parametrize("reg_lambda", [0.0, 1.0])
def test_a_leaf_is_the_best_step_of_a_loss_of_exponentials(loss, splitter, reg_lambda):
    options = {"loss": loss, "n_estimators": 3, "learning_rate": 1.0, "splitter": splitter}
    options |= {"max_leaves": 5, "reg_lambda": reg_lambda}
    if loss == "exponential":
        y, model = LABELS, hr.GradientBoostingClassifier(**options)
        formula = SMOOTH[loss][2]
    else:
        y = COUNTS + (0.1 if loss == "gamma" else 0.0)
        power = {"tweedie_power": 1.3} if loss == "tweedie" else {}
        model = hr.GradientBoostingRegressor(**options, **power)
        formula = SMOOTH[loss][2]
    model.fit(X, y, WEIGHTS)
    staged = list(model._staged_scores(X))
    before, after = staged[1][:, 0], staged[2][:, 0]
    leaf = model.apply(X)[:, 2]
    for node in np.unique(leaf):
        rows = leaf == node
        step = float((after[rows] - before[rows]).mean())
        at = lambda v: (  # noqa: E731
            float((WEIGHTS * formula(y, before + v))[rows].sum()) + 0.5 * reg_lambda * v * v  # noqa: B023
        )
        best = minimize_scalar(at, bounds=(-15, 15), method="bounded", options={"xatol": 1e-9})
        assert at(step) <= best.fun + 1e-6 * abs(best.fun)
