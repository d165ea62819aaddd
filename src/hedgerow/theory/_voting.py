"""The error of majority votes, and the coverage of bootstrap samples.

`majority_vote_error` is the binomial sum for independent classifiers, `majority_vote` the same for
classifiers whose errors are correlated, `bootstrap_coverage` the expected fraction of the rows in a
bootstrap sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import betainc, betaln, gammaln, ndtr, ndtri, owens_t

from hedgerow._result import BROWN, GREEN, GREY, Columns, Result
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError


def majority_vote_error(error: ArrayLike, n: ArrayLike) -> Any:
    """Return the probability that the majority of independent classifiers is wrong.

    If each of n classifiers is wrong with probability ε, independently of the others, the majority
    is wrong with probability Σ C(n, i) εⁱ (1 − ε)ⁿ⁻ⁱ over i > n/2. For even n, half of the
    probability of a tie is added. (The vote of 2k is then exactly as good as that of 2k − 1.)

    Parameters
    ----------
    error : float or array
        Probability ε, from 0 to 1, that one classifier is wrong.
    n : int or array
        Number of classifiers, at least 1.

    Returns
    -------
    float or array
        A float for two scalars, otherwise an array, broadcast as in NumPy.

    Examples
    --------
    >>> from hedgerow import theory
    >>> round(theory.majority_vote_error(0.35, 25), 2)
    0.06
    """
    errors, sizes = _probabilities("error", error), _counts("n", n)
    # The upper tail of the binomial distribution is an incomplete beta integral; for even n, tail
    # and half of the tie together are the tail for n - 1.
    half = (sizes + 1) // 2
    return _number_or_array(betainc(half, half, errors))


def majority_vote_curve(
    n: ArrayLike = (5, 25, 101), *, error: ArrayLike | None = None
) -> MajorityVoteCurve:
    """Return the error of majority votes for several numbers of classifiers and error rates.

    Parameters
    ----------
    n : int or array
        Numbers of classifiers, one for each curve.
    error : array, optional
        Error rates of one classifier; 101 from 0 to 1 by default.

    Returns
    -------
    MajorityVoteCurve
    """
    errors = np.linspace(0.0, 1.0, 101) if error is None else _probabilities("error", error)
    sizes = np.atleast_1d(_counts("n", n))
    errors = np.atleast_1d(errors)
    return MajorityVoteCurve(errors, sizes, majority_vote_error(errors, sizes[:, None]))


@dataclass(frozen=True, eq=False, repr=False)
class MajorityVoteCurve(Result):
    """The error of a majority vote as a function of the error of one classifier.

    Attributes
    ----------
    error : array of shape (n_errors,)
        Error rates of one classifier.
    n : array of shape (n_sizes,)
        Numbers of classifiers.
    vote_error : array of shape (n_sizes, n_errors)
        Error rates of the vote.
    """

    error: Floats
    n: NDArray[np.int64]
    vote_error: Floats

    def _title(self) -> str:
        return f"MajorityVoteCurve: {len(self.n)} sizes, {len(self.error)} error rates"

    def _columns(self) -> Columns:
        return {
            "n": np.repeat(self.n, len(self.error)),
            "error": np.tile(self.error, len(self.n)),
            "vote_error": self.vote_error.ravel(),
        }

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=":", label="one classifier")
        for i, (n, curve) in enumerate(zip(self.n, self.vote_error, strict=True)):
            share = (i + 1) / len(self.n)
            ax.plot(self.error, curve, color=GREEN, alpha=0.25 + 0.75 * share, label=f"n = {n}")
        ax.set(xlabel="error of one classifier", ylabel="error of the majority vote")
        ax.legend(frameon=False)


def majority_vote(
    error: float = 0.35, n: int = 25, *, correlation: ArrayLike | None = None
) -> MajorityVote:
    """Return the error of a majority vote of classifiers whose errors are correlated.

    Each of n classifiers is wrong with probability ε, and any two of them have the correlation ρ
    between the indicators of their errors. This does not determine the vote, so there are two
    models of how they come to err together:

    - beta-binomial: a row has a difficulty p, drawn from a beta distribution with mean ε, and each
      classifier errs on it with probability p. Its parameters are ε (1 − ρ)/ρ and
      (1 − ε)(1 − ρ)/ρ.
    - one-factor normal: a classifier errs where √r Z + √(1 − r) Z_i < Φ⁻¹(ε), with a standard
      normal Z that all share and a Z_i of its own. r, the correlation of these numbers, is such
      that the indicators have the correlation ρ.

    Both give the binomial sum for ρ = 0, and ε for ρ = 1, because all classifiers then err
    together. For even n, half of the probability of a tie is added.

    Parameters
    ----------
    error : float
        Probability ε, from 0 to 1, that one classifier is wrong.
    n : int
        Number of classifiers, at least 1.
    correlation : float or array, optional
        Correlations ρ of the errors, from 0 to 1; by default 101 values.

    Returns
    -------
    MajorityVote
        ``plot()`` draws the error against ρ.

    Examples
    --------
    >>> from hedgerow import theory
    >>> theory.majority_vote(0.35, 25, correlation=[0.0, 0.2, 1.0]).beta_binomial.round(3)
    array([0.06 , 0.263, 0.35 ])
    """
    epsilon, size = _probabilities("error", error), _counts("n", n)
    for name, value, read in (("error", error, epsilon), ("n", n, size)):
        if read.ndim:
            raise ParameterError(f"{name}={value!r} is not allowed; it must be one number.")
    rho = np.linspace(0.0, 1.0, 101) if correlation is None else correlation
    rho = np.atleast_1d(_probabilities("correlation", rho))
    if rho.ndim > 1:
        raise ParameterError(f"correlation has shape {rho.shape}; it must have one dimension.")
    half = (int(size) + 1) // 2
    return MajorityVote(
        error=float(epsilon),
        n=int(size),
        correlation=rho,
        beta_binomial=np.array([_beta_binomial(float(epsilon), half, r) for r in rho]),
        one_factor_normal=np.array([_one_factor(float(epsilon), half, r) for r in rho]),
    )


@dataclass(frozen=True, eq=False, repr=False)
class MajorityVote(Result):
    """The error of a majority vote as a function of the correlation of the errors.

    Attributes
    ----------
    error : float
        Error rate of one classifier.
    n : int
        Number of classifiers.
    correlation : array of shape (n_correlations,)
        Correlations of the errors of any two classifiers.
    beta_binomial, one_factor_normal : array of shape (n_correlations,)
        Error rates of the vote, by each model.
    """

    error: float
    n: int
    correlation: Floats
    beta_binomial: Floats
    one_factor_normal: Floats

    def _title(self) -> str:
        return f"MajorityVote: {self.n} classifiers, each with error {self.error:.4g}"

    def _columns(self) -> Columns:
        return {
            "correlation": self.correlation,
            "beta_binomial": self.beta_binomial,
            "one_factor_normal": self.one_factor_normal,
        }

    def _draw(self, ax: Any) -> None:
        ax.axhline(self.error, color=GREY, linewidth=1, linestyle=":", label="one classifier")
        ax.plot(self.correlation, self.beta_binomial, color=GREEN, label="beta-binomial")
        ax.plot(
            *(self.correlation, self.one_factor_normal),
            color=BROWN,
            linestyle="--",
            label="one-factor normal",
        )
        ax.set(
            xlabel="correlation ρ of the errors",
            ylabel=f"error of the vote of {self.n}",
            ylim=(0.0, None),
        )
        ax.legend(frameon=False)


def _beta_binomial(error: float, half: int, rho: float) -> float:
    """Return the probability of at least `half` of 2 · half − 1 errors."""
    if rho == 0.0 or error in (0.0, 1.0):
        return float(betainc(half, half, error))
    if rho == 1.0:
        return error
    a, b = error * (1.0 - rho) / rho, (1.0 - error) * (1.0 - rho) / rho
    n, wrong = 2 * half - 1, np.arange(half, 2 * half)
    ways = gammaln(n + 1) - gammaln(wrong + 1) - gammaln(n - wrong + 1)
    return float(np.exp(ways + betaln(wrong + a, n - wrong + b) - betaln(a, b)).sum())


def _one_factor(error: float, half: int, rho: float) -> float:
    """Return the same if errors share one normal factor."""
    if rho == 0.0 or error in (0.0, 1.0):
        return float(betainc(half, half, error))
    if rho == 1.0:
        return error
    limit, r = float(ndtri(error)), _factor_correlation(error, rho)

    def density(z: float) -> float:
        p = ndtr((limit - np.sqrt(r) * z) / np.sqrt(1.0 - r))
        return float(betainc(half, half, p) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))

    # Where the vote turns: for r near 1 the integrand is nearly a step there.
    turn = min(max(limit / np.sqrt(r), -8.0), 8.0)
    return float(quad(density, -10.0, 10.0, points=[turn], epsabs=1e-12, limit=200)[0])


def _factor_correlation(error: float, rho: float) -> float:
    """Return the correlation r of two normal numbers whose signs of error correlate by ρ.

    Both are below a limit t with probability Φ(t) − 2 T(t, √((1 − r)/(1 + r))), by Owen's T.
    """
    limit = ndtri(error)

    def excess(r: float) -> float:
        together = error - 2.0 * owens_t(limit, np.sqrt((1.0 - r) / (1.0 + r)))
        return float((together - error**2) / (error * (1.0 - error)) - rho)

    return float(brentq(excess, 0.0, 1.0, xtol=1e-14))


def bootstrap_coverage(n: ArrayLike, draws: ArrayLike | None = None) -> Any:
    """Return the expected fraction of n rows that a bootstrap sample contains.

    One draw misses a row with probability 1 − 1/n, so that the sample contains
    1 − (1 − 1/n)^draws of the rows. With n draws, this tends to 1 − 1/e = 0.632 as n grows.

    Parameters
    ----------
    n : int or array
        Number of rows, at least 1.
    draws : int or array, optional
        Number of draws with replacement; n by default.

    Returns
    -------
    float or array
        A float for scalars, otherwise an array, broadcast as in NumPy.

    Examples
    --------
    >>> from hedgerow import theory
    >>> round(theory.bootstrap_coverage(1000), 3)
    0.632
    """
    rows = _counts("n", n)
    n_draws = rows if draws is None else _counts("draws", draws, least=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        coverage = -np.expm1(n_draws * np.log1p(-1.0 / rows))
    return _number_or_array(np.where(n_draws == 0, 0.0, coverage))


def _number_or_array(values: NDArray[Any]) -> Any:
    return float(values) if np.ndim(values) == 0 else values


def _probabilities(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" or not ((array >= 0) & (array <= 1)).all():
        raise ParameterError(f"{name}={values!r} is not allowed; it must be in [0, 1].")
    return array.astype(np.float64)


def _counts(name: str, values: ArrayLike, least: int = 1) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or not (array >= least).all():
        raise ParameterError(f"{name}={values!r} is not allowed; it must be an int >= {least}.")
    return array.astype(np.int64)
