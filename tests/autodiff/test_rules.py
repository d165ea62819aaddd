"""Rules of derivatives: each against the derivatives of a polynomial through nearby values.

A polynomial of degree 24 through Chebyshev's points of an interval follows an analytic function to
rounding, and so do its derivatives, less the digits that differentiation costs.
"""

import numpy as np
import pytest
from numpy.polynomial import Chebyshev
from scipy import special

from hedgerow._autodiff import NotDifferentiableError, derivatives
from hedgerow._autodiff.rules import BINARY, UNARY

DEGREE, RADIUS = 24, 0.1
UNIT = np.array([-0.65, -0.3, 0.25, 0.6])
PART = np.array([0.3, 0.45, 0.55, 0.7])
POSITIVE = np.array([0.4, 1.0, 2.5, 7.0])
ABOVE_ONE = np.array([1.5, 2.0, 4.0, 9.0])
ANY = np.array([-2.3, -0.7, 0.6, 1.9, 4.1])

DOMAINS = {
    np.sqrt: POSITIVE,
    np.cbrt: POSITIVE,
    special.cbrt: POSITIVE,
    np.reciprocal: POSITIVE,
    np.absolute: ANY,
    np.log: POSITIVE,
    np.log2: POSITIVE,
    np.log10: POSITIVE,
    np.log1p: POSITIVE - 0.8,
    special.log1p: POSITIVE - 0.8,
    np.tan: UNIT,
    np.arcsin: UNIT,
    np.arccos: UNIT,
    np.arctanh: UNIT,
    special.erfinv: UNIT,
    np.arccosh: ABOVE_ONE,
    special.logit: PART,
    special.ndtri: PART,
    special.entr: POSITIVE,
    special.gammaln: POSITIVE,
    special.loggamma: POSITIVE,
    special.gamma: POSITIVE,
    special.digamma: POSITIVE,
    special.i0: ANY,
    special.i0e: ANY,
}
PAIRS = {
    np.power: (POSITIVE, 1.7),
    np.float_power: (POSITIVE, 1.7),
    np.logaddexp: (ANY, -0.4),
    np.logaddexp2: (ANY, -0.4),
    np.divide: (ANY, 2.3),
    np.remainder: (np.array([0.4, 1.5, -0.7]), 1.1),
    special.xlogy: (ANY, 1.3),
    special.xlog1py: (ANY, 1.3),
    special.rel_entr: (POSITIVE, 1.4),
    special.kl_div: (POSITIVE, 1.4),
    special.huber: (1.5, np.array([-3.0, -0.6, 0.4, 2.2])),
    special.pseudo_huber: (1.5, ANY),
    special.boxcox: (POSITIVE, 0.7),
    special.boxcox1p: (POSITIVE, 0.7),
    special.inv_boxcox: (POSITIVE, 0.7),
    special.inv_boxcox1p: (POSITIVE, 0.7),
    special.betaln: (POSITIVE, 1.6),
    special.gammainc: (1.8, POSITIVE),
    special.gammaincc: (1.8, POSITIVE),
}


def expected(function, n_points):
    """Differentiate t → function(t), an array, twice at 0."""
    nodes = RADIUS * np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    values = np.array([np.broadcast_to(function(t), n_points) for t in nodes])
    first, second = [], []
    for column in values.T:
        polynomial = Chebyshev.fit(nodes, column, DEGREE, domain=[-RADIUS, RADIUS])
        first.append(polynomial.deriv(1)(0.0))
        second.append(polynomial.deriv(2)(0.0))
    return np.array(first), np.array(second)


def assert_derivatives(function, n_points):
    """Compare with what comes of f → function(f) at f = 0."""
    actual = derivatives(function, np.zeros(n_points))
    first, second = expected(function, n_points)
    np.testing.assert_array_equal(actual.value, function(np.zeros(n_points)))
    np.testing.assert_allclose(actual.first[0], first, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(actual.second[0], second, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda ufunc: ufunc.__name__)
def test_functions_of_one_argument(ufunc):
    x = DOMAINS.get(ufunc, ANY)
    assert_derivatives(lambda f: ufunc(x + f), len(x))


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda ufunc: ufunc.__name__)
def test_functions_of_two_arguments_by_each_of_them(ufunc):
    a, b = PAIRS.get(ufunc, (ANY, 1.2))
    n_points = np.broadcast(a, b).size
    if BINARY[ufunc].by_a is not None:
        assert_derivatives(lambda f: ufunc(a + f, b), n_points)
    if BINARY[ufunc].by_b is not None:
        assert_derivatives(lambda f: ufunc(a, b + f), n_points)


@pytest.mark.parametrize(
    "ufunc",
    [ufunc for ufunc, rules in BINARY.items() if rules.by_a and rules.by_b],
    ids=lambda ufunc: ufunc.__name__,
)
def test_functions_of_two_arguments_that_move_together(ufunc):
    a, b = PAIRS.get(ufunc, (ANY, 1.2))
    assert_derivatives(lambda f: ufunc(a + 0.7 * f, b - 0.4 * f), np.broadcast(a, b).size)


@pytest.mark.parametrize(
    "ufunc",
    [special.huber, special.pseudo_huber, special.gammainc],
    ids=lambda ufunc: ufunc.__name__,
)
def test_an_argument_without_a_rule_is_named(ufunc):
    with pytest.raises(NotDifferentiableError, match=f"{ufunc.__name__} with scores in its first"):
        derivatives(lambda f: ufunc(f, 1.0), np.ones(3))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 2.0])
def test_powers_at_and_away_from_zero(exponent):
    x = np.array([0.0, 1.5]) if exponent in (0, 1, 2, 3) else np.array([0.7, 1.5])
    actual = derivatives(lambda f: f**exponent, x)
    p = float(exponent)
    coefficients = p, p * (p - 1.0)
    for c, k, derivative in zip(coefficients, (1, 2), (actual.first, actual.second), strict=True):
        np.testing.assert_allclose(derivative[0], c * x ** (p - k) if c else 0 * x, rtol=1e-14)


def test_exponents_may_differ_from_row_to_row():
    exponents = np.array([0.0, 1.0, 2.0, 2.5])
    actual = derivatives(lambda f: f**exponents, np.array([0.0, 0.0, 0.0, 4.0]))
    np.testing.assert_allclose(actual.first[0], [0.0, 1.0, 0.0, 2.5 * 8.0])
    np.testing.assert_allclose(actual.second[0], [0.0, 0.0, 2.0, 2.5 * 1.5 * 2.0])


@pytest.mark.parametrize("x", [-800.0, -40.0, 40.0, 800.0])
def test_log_loss_keeps_its_digits_far_from_zero(x):
    small = np.exp(-abs(x))
    for loss in (lambda f: np.logaddexp(0.0, f), lambda f: -special.log_expit(-f)):
        actual = derivatives(loss, np.array([x]))
        np.testing.assert_allclose(actual.first[0], small if x < 0 else 1.0, rtol=1e-13)
        np.testing.assert_allclose(actual.second[0], small, rtol=1e-13)
    p = derivatives(special.expit, np.array([x]))
    np.testing.assert_allclose(p.first[0], small, rtol=1e-13)


def test_the_hazard_of_the_normal_distribution_keeps_its_digits_in_the_tail():
    x = np.array([-1e4])
    actual = derivatives(special.log_ndtr, x)
    np.testing.assert_allclose(actual.first[0], -x + 1.0 / -x, rtol=1e-12)
