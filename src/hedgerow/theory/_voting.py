"""The error of majority votes, and the coverage of bootstrap samples.

`majority_vote_error` is the binomial sum for independent classifiers, `bootstrap_coverage` the
expected fraction of the rows in a bootstrap sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from hedgerow._result import GREEN, GREY, Columns, Result
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
