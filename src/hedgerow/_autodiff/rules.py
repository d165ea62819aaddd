"""Differentiation rules of NumPy's and SciPy's elementwise functions, as a table.

A rule for one argument takes x and v = function(x) and returns the first and second derivative. A
function of two arguments has such a rule for each of them, and one for the mixed derivative. A
derivative that is 0 everywhere is None, a constant one a float.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[Any]
Derivative = NDArray[np.float64] | float | None
Pair = tuple[Derivative, Derivative]
Rule = Callable[[Any, Any], Pair]
TwoArgumentRule = Callable[[Any, Any, Any], Pair]

LN2, LN10, DEGREE = log(2.0), log(10.0), pi / 180.0


@dataclass(frozen=True)
class Binary:
    """Derivatives of a function of (a, b) with value v; None where there is no rule."""

    by_a: TwoArgumentRule | None = None
    by_b: TwoArgumentRule | None = None
    mixed: Callable[[Any, Any, Any], Derivative] = lambda _a, _b, _v: None


def _linear(factor: float) -> Rule:
    return lambda _x, _v: (factor, None)


def _exponential(log_base: float) -> Rule:
    return lambda _x, v: (log_base * v, log_base * log_base * v)


def _logarithm(log_base: float) -> Rule:
    def rule(x: Array, _v: Array) -> Pair:
        first = (1.0 / log_base) / x
        return first, -first / x

    return rule


def _sqrt(x: Array, v: Array) -> Pair:
    first = 0.5 / v
    return first, -0.5 * first / x


def _cbrt(x: Array, v: Array) -> Pair:
    first = 1.0 / (3.0 * v * v)
    return first, -2.0 * first / (3.0 * x)


def _expm1(x: Array, _v: Array) -> Pair:
    e = np.exp(x)  # not v + 1, which has lost its digits where x is far below 0
    return e, e


def _log1p(x: Array, _v: Array) -> Pair:
    first = 1.0 / (1.0 + x)
    return first, -first * first


def _tan(_x: Array, v: Array) -> Pair:
    first = 1.0 + v * v
    return first, 2.0 * v * first


def _arcsin(x: Array, _v: Array) -> Pair:
    first = 1.0 / np.sqrt((1.0 - x) * (1.0 + x))
    return first, x * first**3


def _arccos(x: Array, v: Array) -> Pair:
    first, second = _arcsin(x, v)
    return -first, -second  # type: ignore[operator]


def _arctan(x: Array, _v: Array) -> Pair:
    first = 1.0 / (1.0 + x * x)
    return first, -2.0 * x * first * first


def _tanh(x: Array, v: Array) -> Pair:
    first = 1.0 / np.cosh(x) ** 2
    return first, -2.0 * v * first


def _arcsinh(x: Array, _v: Array) -> Pair:
    first = 1.0 / np.hypot(1.0, x)
    return first, -x * first**3


def _arccosh(x: Array, _v: Array) -> Pair:
    first = 1.0 / np.sqrt((x - 1.0) * (x + 1.0))
    return first, -x * first**3


def _arctanh(x: Array, _v: Array) -> Pair:
    first = 1.0 / ((1.0 - x) * (1.0 + x))
    return first, 2.0 * x * first * first


def _expit(x: Array, v: Array) -> Pair:
    rest = special.expit(-x)  # not 1 − v, which is 0 where v rounds to 1
    first = v * rest
    return first, first * (rest - v)


def _log_expit(x: Array, _v: Array) -> Pair:
    rest = special.expit(-x)
    return rest, -rest * special.expit(x)


def _logit(x: Array, _v: Array) -> Pair:
    first = 1.0 / (x * (1.0 - x))
    return first, (2.0 * x - 1.0) * first * first


def _gammaln(x: Array, _v: Array) -> Pair:
    return special.digamma(x), special.zeta(2.0, x)


def _gamma(x: Array, v: Array) -> Pair:
    psi = special.digamma(x)
    return v * psi, v * (psi * psi + special.zeta(2.0, x))


def _digamma(x: Array, _v: Array) -> Pair:
    return special.zeta(2.0, x), -2.0 * special.zeta(3.0, x)


def _erf(x: Array, _v: Array) -> Pair:
    first = 2.0 / sqrt(pi) * np.exp(-x * x)
    return first, -2.0 * x * first


def _erfc(x: Array, v: Array) -> Pair:
    first, second = _erf(x, v)
    return -first, -second  # type: ignore[operator]


def _erfcx(x: Array, v: Array) -> Pair:
    first = 2.0 * x * v - 2.0 / sqrt(pi)
    return first, 2.0 * (v + x * first)


def _erfinv(_x: Array, v: Array) -> Pair:
    first = sqrt(pi) / 2.0 * np.exp(v * v)
    return first, 2.0 * v * first * first


def _ndtr(x: Array, _v: Array) -> Pair:
    density = np.exp(-0.5 * x * x) / sqrt(2.0 * pi)
    return density, -x * density


def _log_ndtr(x: Array, _v: Array) -> Pair:
    hazard = sqrt(2.0 / pi) / special.erfcx(-x / sqrt(2.0))
    return hazard, -hazard * (x + hazard)


def _ndtri(_x: Array, v: Array) -> Pair:
    first = sqrt(2.0 * pi) * np.exp(0.5 * v * v)
    return first, v * first * first


def _i0(x: Array, v: Array) -> Pair:
    return special.i1(x), 0.5 * (v + special.iv(2, x))


def _i0e(x: Array, v: Array) -> Pair:
    slope = special.i1e(x)
    return slope - np.sign(x) * v, 1.5 * v + 0.5 * special.ive(2, x) - 2.0 * np.abs(slope)


UNARY: dict[Any, Rule] = {
    np.negative: _linear(-1.0),
    np.positive: _linear(1.0),
    np.deg2rad: _linear(DEGREE),
    np.radians: _linear(DEGREE),
    np.rad2deg: _linear(1.0 / DEGREE),
    np.degrees: _linear(1.0 / DEGREE),
    np.absolute: lambda x, _: (np.sign(x), None),
    np.fabs: lambda x, _: (np.sign(x), None),
    np.square: lambda x, _: (2.0 * x, 2.0),
    np.reciprocal: lambda _, v: (-v * v, 2.0 * v * v * v),
    np.sqrt: _sqrt,
    np.cbrt: _cbrt,
    special.cbrt: _cbrt,
    np.exp: lambda _, v: (v, v),
    np.exp2: _exponential(LN2),
    special.exp2: _exponential(LN2),
    special.exp10: _exponential(LN10),
    np.expm1: _expm1,
    special.expm1: _expm1,
    np.log: _logarithm(1.0),
    np.log2: _logarithm(LN2),
    np.log10: _logarithm(LN10),
    np.log1p: _log1p,
    special.log1p: _log1p,
    np.sin: lambda x, v: (np.cos(x), -v),
    np.cos: lambda x, v: (-np.sin(x), -v),
    special.cosm1: lambda x, _: (-np.sin(x), -np.cos(x)),
    np.tan: _tan,
    np.arcsin: _arcsin,
    np.arccos: _arccos,
    np.arctan: _arctan,
    np.sinh: lambda x, v: (np.cosh(x), v),
    np.cosh: lambda x, v: (np.sinh(x), v),
    np.tanh: _tanh,
    np.arcsinh: _arcsinh,
    np.arccosh: _arccosh,
    np.arctanh: _arctanh,
    special.expit: _expit,
    special.log_expit: _log_expit,
    special.logit: _logit,
    special.gammaln: _gammaln,
    special.loggamma: _gammaln,
    special.gamma: _gamma,
    special.digamma: _digamma,
    special.erf: _erf,
    special.erfc: _erfc,
    special.erfcx: _erfcx,
    special.erfinv: _erfinv,
    special.ndtr: _ndtr,
    special.log_ndtr: _log_ndtr,
    special.ndtri: _ndtri,
    special.entr: lambda x, _: (-1.0 - np.log(x), -1.0 / x),
    special.i0: _i0,
    special.i0e: _i0e,
}


def _power_by_base(a: Array, b: Any, _v: Array) -> Pair:
    if np.ndim(b) == 0 and b == 2:
        return 2.0 * a, 2.0
    return _monomial(b, a, b - 1), _monomial(b * (b - 1), a, b - 2)


def _monomial(coefficient: Any, a: Array, exponent: Any) -> Derivative:
    """Return coefficient · a^exponent, and 0 where the coefficient is 0, even if a is 0."""
    if np.ndim(coefficient) == 0:
        return None if coefficient == 0 else coefficient * a**exponent
    return np.where(coefficient == 0, 0.0, coefficient * a**exponent)


def _power_by_exponent(a: Array, _b: Array, v: Array) -> Pair:
    log_a = np.log(a)
    return np.where(v == 0.0, 0.0, v * log_a), np.where(v == 0.0, 0.0, v * log_a * log_a)


def _logaddexp(scale: float) -> Binary:
    """Return the rules for log(e^a + e^b), or that of another base with its logarithm as scale."""

    def by_first(a: Array, b: Array, _v: Array) -> Pair:
        share, rest = special.expit(scale * (a - b)), special.expit(scale * (b - a))
        return share, scale * share * rest

    def mixed(a: Array, b: Array, v: Array) -> Derivative:
        return -by_first(a, b, v)[1]  # type: ignore[operator]

    return Binary(by_first, lambda a, b, v: by_first(b, a, v), mixed)


def _arctan2_by_y(y: Array, x: Array, _v: Array) -> Pair:
    square = x * x + y * y
    first = x / square
    return first, -2.0 * y * first / square


def _arctan2_by_x(y: Array, x: Array, _v: Array) -> Pair:
    square = x * x + y * y
    first = -y / square
    return first, -2.0 * x * first / square


def _x_logy(shift: float) -> Binary:
    """Return the rules for x log(shift + y), which is 0 where x is 0."""

    def by_y(x: Array, y: Array, _v: Array) -> Pair:
        first = np.where(x == 0.0, 0.0, x / (shift + y))
        return first, np.where(x == 0.0, 0.0, -first / (shift + y))

    logarithm = np.log1p if shift else np.log
    return Binary(lambda _x, y, _v: (logarithm(y), None), by_y, lambda _x, y, _v: 1.0 / (shift + y))


def _divergence(constant: float) -> Binary:
    """Return the rules for x log(x / y), minus x and plus y where the constant is 1."""
    return Binary(
        lambda x, y, _: (np.log(x / y) + (1.0 - constant), 1.0 / x),
        lambda x, y, _: (constant - x / y, x / y**2),
        lambda _x, y, _v: -1.0 / y,
    )


def _huber(delta: Array, r: Array, _v: Array) -> Pair:
    return np.clip(r, -delta, delta), (np.abs(r) <= delta).astype(np.float64)


def _pseudo_huber(delta: Array, r: Array, _v: Array) -> Pair:
    root = np.hypot(1.0, r / delta)
    return r / root, root**-3


def _boxcox(shift: float) -> Binary:
    def by_x(x: Array, power: Any, _v: Array) -> Pair:
        first = (x + shift) ** (power - 1.0)
        return first, (power - 1.0) * first / (x + shift)

    return Binary(by_x)


def _inv_boxcox(shift: float) -> Binary:
    def by_y(_y: Array, power: Any, v: Array) -> Pair:
        first = (v + shift) ** (1.0 - power)
        return first, (1.0 - power) * first * first / (v + shift)

    return Binary(by_y)


def _betaln(a: Array, b: Array, _v: Array) -> Pair:
    return special.digamma(a) - special.digamma(a + b), special.zeta(2.0, a) - special.zeta(
        2.0, a + b
    )


def _gammainc(sign: float) -> Binary:
    def by_x(a: Array, x: Array, _v: Array) -> Pair:
        density = sign * np.exp(special.xlogy(a - 1.0, x) - x - special.gammaln(a))
        return density, density * ((a - 1.0) / x - 1.0)

    return Binary(by_b=by_x)


POWER = Binary(
    _power_by_base,
    _power_by_exponent,
    lambda a, b, _: a ** (b - 1.0) * (1.0 + b * np.log(a)),
)

BINARY: dict[Any, Binary] = {
    np.add: Binary(lambda *_: (1.0, None), lambda *_: (1.0, None)),
    np.subtract: Binary(lambda *_: (1.0, None), lambda *_: (-1.0, None)),
    np.multiply: Binary(lambda _a, b, _v: (b, None), lambda a, _b, _v: (a, None), lambda *_: 1.0),
    np.divide: Binary(
        lambda _a, b, _v: (1.0 / b, None),
        lambda _, b, v: (-v / b, 2.0 * v / b**2),
        lambda _a, b, _v: -1.0 / b**2,
    ),
    np.remainder: Binary(lambda *_: (1.0, None)),
    np.power: POWER,
    np.float_power: POWER,
    np.logaddexp: _logaddexp(1.0),
    np.logaddexp2: _logaddexp(LN2),
    np.hypot: Binary(
        lambda a, b, v: (a / v, (b / v) ** 2 / v),
        lambda a, b, v: (b / v, (a / v) ** 2 / v),
        lambda a, b, v: -(a / v) * (b / v) / v,
    ),
    np.arctan2: Binary(
        _arctan2_by_y, _arctan2_by_x, lambda y, x, _: (y * y - x * x) / (x * x + y * y) ** 2
    ),
    special.xlogy: _x_logy(0.0),
    special.xlog1py: _x_logy(1.0),
    special.rel_entr: _divergence(0.0),
    special.kl_div: _divergence(1.0),
    special.huber: Binary(by_b=_huber),
    special.pseudo_huber: Binary(by_b=_pseudo_huber),
    special.boxcox: _boxcox(0.0),
    special.boxcox1p: _boxcox(1.0),
    special.inv_boxcox: _inv_boxcox(0.0),
    special.inv_boxcox1p: _inv_boxcox(1.0),
    special.betaln: Binary(
        _betaln, lambda a, b, v: _betaln(b, a, v), lambda a, b, _: -special.zeta(2.0, a + b)
    ),
    special.gammainc: _gammainc(1.0),
    special.gammaincc: _gammainc(-1.0),
}

# Functions that select one of the arguments; where they are equal, derivatives are averaged.
SELECTIONS = (np.maximum, np.minimum, np.fmax, np.fmin)

# Functions that return booleans, and functions that are piecewise constant.
WITHOUT_DERIVATIVE = (
    *(np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal),
    *(np.logical_and, np.logical_or, np.logical_not, np.logical_xor),
    *(np.isnan, np.isinf, np.isfinite, np.signbit),
    *(np.sign, np.heaviside, np.floor, np.ceil, np.trunc, np.rint, np.floor_divide),
)
