"""Bounds on the error of ensembles, and the quantities that they consist of.

AdaBoost's training error and its bound, round by round; a forest's strength, the correlation of its
trees, and the error bound of both (Breiman).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.sparse import sound
from hedgerow._data.target import read_weights
from hedgerow._result import BROWN, GREEN, GREY, Columns, Result
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.theory._voters import (
    Votes,
    class_numbers,
    margins_and_rivals,
    require_discrete,
    require_fitted,
    require_voters,
    votes,
)
from hedgerow.theory._voters import out_of_bag as out_of_bag_rows

Flags = NDArray[np.bool_]
Classes = NDArray[np.int64]
BARS = 40
ACCEPTED = "a discrete AdaBoost classifier of Hedgerow or scikit-learn"


def adaboost_bound(
    model: Any, X: Any = None, y: Any = None, sample_weight: Any = None
) -> AdaBoostBound:
    """Return AdaBoost's bound on its training error after each round, with the error itself.

    With err_m the weighted error of round m and α_m = log((1 − err_m) / err_m), the weights of rows
    that base model m misclassifies are multiplied by e^α_m. The sum of the weights, initially 1,
    becomes z_m = 2 (1 − err_m) z_{m−1}, and the training error of the vote is at most
    Π 2 √(err_m (1 − err_m)).

    If α_m has another value (learning_rate, or SAMME's log(K − 1) for K classes), the same proof
    gives z_m = (1 − err_m + err_m e^α_m) z_{m−1} and the bound Π ((1 − err_m) e^(−α_m/2) + err_m
    e^(α_m/2)), whose factors are 2 √(err_m (1 − err_m)) for the α_m above. These general values are
    returned. For more than two classes the bound only decreases while err_m < 1/K, because it
    counts all votes against a row's class as votes for one rival; with algorithm='M1' it decreases
    in every round.

    If weights were reset (resample=True), the product is no longer a bound, because the errors
    before and after the reset refer to different weights. An earlier step of the proof still holds:
    the training error is at most the mean of e^(−½ y f), where y f is the weight of the votes for a
    row's class minus that of the other votes. This mean is then returned as the bound.

    Parameters
    ----------
    model : fitted AdaBoostClassifier
        Of Hedgerow (algorithm 'SAMME' or 'M1') or scikit-learn.
    X, y : training set, optional
        For the training error; needed if weights were reset.
    sample_weight : array of shape (n_rows,), optional
        The weights passed to fit, if any: the bound holds for the error with these weights.

    Returns
    -------
    AdaBoostBound

    References
    ----------
    Freund and Schapire, "A decision-theoretic generalization of on-line learning and an
    application to boosting", Journal of Computer and System Sciences 55, 1997.
    """
    _require_adaboost(model)
    if (X is None) != (y is None):
        raise ParameterError("pass both X and y, or neither.")
    # scikit-learn has entries for rounds after early termination.
    n_rounds = len(getattr(model, "estimators_", model.estimator_errors_))
    errors = np.asarray(model.estimator_errors_, np.float64)[:n_rounds]
    weights = np.asarray(model.estimator_weights_, np.float64)[:n_rounds]
    if _was_reset(model):
        _require_rows(model, X)
        bound = _exponential_means(model, weights, X, y, sample_weight)
    else:
        bound = np.cumprod(_factors(errors, weights), dtype=np.float64)
    return AdaBoostBound(
        rounds=np.arange(1, n_rounds + 1),
        errors=errors,
        weights=weights,
        weight_sums=_weight_sums(model, errors, weights),
        bound=bound,
        training_error=None if X is None else _training_error(model, X, y, sample_weight),
    )


@dataclass(frozen=True, eq=False, repr=False)
class AdaBoostBound(Result):
    """AdaBoost's training error and its bound after each round.

    Attributes
    ----------
    rounds : array of shape (n_rounds,)
        1, 2, …
    errors : array of shape (n_rounds,)
        err_m, the weighted error of the base model.
    weights : array of shape (n_rounds,)
        α_m, the weight of its vote.
    weight_sums : array of shape (n_rounds,)
        z_m, the sum of the row weights after the round, without normalisation.
    bound : array of shape (n_rounds,)
        The bound on the training error after the round.
    training_error : array of shape (n_rounds,) or None
        The training error after the round; None without X and y.
    """

    rounds: NDArray[np.int64]
    errors: Floats
    weights: Floats
    weight_sums: Floats
    bound: Floats
    training_error: Floats | None

    @property
    def edges(self) -> Floats:
        """γ_m = ½ − err_m: how much better than chance each base model is."""
        return 0.5 - self.errors

    def _title(self) -> str:
        return f"AdaBoostBound: {len(self.rounds)} rounds"

    def _columns(self) -> Columns:
        columns: dict[str, NDArray[Any]] = {
            "round": self.rounds,
            "err": self.errors,
            "alpha": self.weights,
            "z": self.weight_sums,
            "bound": self.bound,
        }
        if self.training_error is not None:
            columns["training_error"] = self.training_error
        return columns

    def _draw(self, ax: Any) -> None:
        ax.plot(self.rounds, self.bound, color=BROWN, label="bound")
        if self.training_error is not None:
            ax.step(
                self.rounds, self.training_error, where="mid", color=GREEN, label="training error"
            )
        ax.set(xlabel="round", ylabel="share of training rows")
        ax.set_ylim(0.0, min(1.05 * self.bound.max(), 1.05))  # above 1 it is trivial
        ax.legend(frameon=False)


def _require_adaboost(model: Any) -> None:
    require_fitted(model, ACCEPTED)
    name = type(model).__name__
    if not all(hasattr(model, a) for a in ("estimator_errors_", "classes_", "staged_predict")):
        raise ParameterError(f"model: {name} is not {ACCEPTED}.")
    require_discrete(model)
    if getattr(model, "error_divisor", "weights") != "weights":
        raise ParameterError(
            f"model: the bound needs errors relative to the total weight, but this {name} was "
            f"fitted with error_divisor={model.error_divisor!r}. Use error_divisor='weights'."
        )


def _was_reset(model: Any) -> bool:
    """Whether weights were reset after the first round; a reset before it changes nothing."""
    return bool(np.any(np.asarray(getattr(model, "resets_", []))[1:]))


def _require_rows(model: Any, X: Any) -> None:
    if X is None:
        last = np.flatnonzero(model.resets_)[-1] + 1
        raise ParameterError(
            f"model: in round {last} of this {type(model).__name__} the weights were reset, so the "
            "product over all rounds is not a bound. Pass X and y, so that the mean of e^(−½ y f) "
            "can be used as a bound instead."
        )


def _exponential_means(model: Any, weights: Floats, X: Any, y: Any, sample_weight: Any) -> Floats:
    """Return the mean of e^(−½ y f) over the training rows after each round."""
    cast = votes(model, X)
    truth = class_numbers(model, y, cast.shape[1])
    start = _starting_weights(model, X, y, sample_weight, len(truth))
    margins = np.cumsum(weights[:, None] * np.where(cast == truth, 1.0, -1.0), axis=0)
    return np.average(np.exp(-0.5 * margins), axis=1, weights=start)


def _weight_sums(model: Any, errors: Floats, weights: Floats) -> Floats:
    """Return the weight sums that the model recorded, or compute them."""
    recorded = getattr(model, "weight_sums_", None)
    if recorded is not None:
        return np.asarray(recorded, np.float64)
    with np.errstate(over="ignore"):  # after many rounds the sum may overflow
        factors = 1.0 - errors + _times(errors, np.exp(weights))
        return np.cumprod(factors, dtype=np.float64)


def _factors(errors: Floats, weights: Floats) -> Floats:
    """Return the factor of the bound for each round."""
    factors = (1.0 - errors) * np.exp(-weights / 2.0) + _times(errors, np.exp(weights / 2.0))
    # A base model without error that outvotes all before it decides every training row.
    outvotes = weights > np.concatenate([[0.0], np.cumsum(np.abs(weights))[:-1]])
    return np.where((errors == 0.0) & outvotes, 0.0, factors)


def _times(errors: Floats, factors: Floats) -> Floats:
    """Multiply; an error of 0 stays 0, even times infinity."""
    return np.multiply(errors, factors, out=np.zeros_like(errors), where=errors > 0.0)


def _training_error(model: Any, X: Any, y: Any, sample_weight: Any) -> Floats:
    X = sound(X)
    predictions = list(model.staged_predict(X))
    n_rows = len(predictions[0])
    truth = model.classes_[class_numbers(model, y, n_rows)]
    weights = _starting_weights(model, X, y, sample_weight, n_rows)
    return np.array([np.average(stage != truth, weights=weights) for stage in predictions])


def _starting_weights(model: Any, X: Any, y: Any, sample_weight: Any, n_rows: int) -> Floats | None:
    """Return the initial weights: those of the rows times those of their classes."""
    if hasattr(model, "staged_weights"):
        weights: Floats = next(model.staged_weights(X, y, sample_weight))
        return weights
    return read_weights(sample_weight, n_rows)


def forest_bound(model: Any, X: Any, y: Any, *, out_of_bag: bool = True) -> ForestBound:
    """Return a forest's strength and mean correlation, and the bound ρ̄ (1 − s²) / s² on its error.

    All quantities are estimated from out-of-bag votes, as in the second appendix of Breiman's
    paper. Q(x, j) is the share of the votes for class j among the trees that were not trained on
    row x, and the rival ĵ of a row is the other class with the largest share. Then

    - the margin function is mr = Q(x, y) − Q(x, ĵ), and the strength s is its mean over the rows;
    - var(mr) is the mean of mr² minus s²;
    - a tree's raw margin function is 1 if it is right, −1 if it votes for the rival, and 0
      otherwise; if these have the shares p₁ and p₂ among the rows that the tree was not trained
      on, its standard deviation is √(p₁ + p₂ − (p₁ − p₂)²);
    - ρ̄ = var(mr) / (mean standard deviation of the trees)².

    Rivals are determined by the votes of all trees. Rows that are in no out-of-bag sample are
    ignored.

    Parameters
    ----------
    model : fitted classifier
        A random forest, extra trees or bagging, of Hedgerow or scikit-learn. A tree votes for the
        class that it predicts.
    X : table of shape (n_rows, n_features)
        The training set, in the order of fit.
    y : array of shape (n_rows,)
        Their classes.
    out_of_bag : bool
        If False, every tree votes on every row: for rows that the model was not trained on, and for
        forests without bootstrap.

    Returns
    -------
    ForestBound

    References
    ----------
    Breiman, "Random Forests", Machine Learning 45, 2001.
    """
    require_voters(model)
    if hasattr(model, "estimator_weights_"):
        raise ParameterError(
            f"model: the base models of {type(model).__name__} depend on each other, but the bound "
            "is for independent ones: pass a random forest, extra trees or bagging."
        )
    all_votes = votes(model, X)
    truth = class_numbers(model, y, all_votes.shape[1])
    counted = _counted(model, all_votes, out_of_bag)
    return _estimate(all_votes, counted, truth, len(model.classes_))


@dataclass(frozen=True, eq=False, repr=False)
class ForestBound(Result):
    """Strength and correlation of a forest, and the bound on its error.

    Attributes
    ----------
    strength : float
        s, the mean of the margin function.
    correlation : float
        ρ̄, the mean correlation of the trees' raw margin functions; NaN if no tree errs.
    bound : float
        ρ̄ (1 − s²) / s²; infinite if the strength is not positive.
    error : float
        The share of rows that the vote misclassifies (the first class wins ties).
    margin_variance : float
        var(mr). Chebyshev's inequality gives error ≤ var(mr) / s², from which the bound follows.
    margins : array of shape (n_rows,)
        The margin function of each row; NaN where no tree voted.
    tree_rows : array of shape (n_trees,)
        Number of rows that each tree voted on.
    tree_right, tree_rival : array of shape (n_trees,)
        p₁ and p₂, the shares of these rows where it is right and where it votes for the rival.
    tree_sd : array of shape (n_trees,)
        Standard deviation of each tree's raw margin function; NaN if it voted on no row.
    """

    strength: float
    correlation: float
    bound: float
    error: float
    margin_variance: float
    margins: Floats
    tree_rows: NDArray[np.int64]
    tree_right: Floats
    tree_rival: Floats
    tree_sd: Floats

    @property
    def ratio(self) -> float:
        """ρ̄ / s²; smaller is better."""
        return self.correlation / self.strength**2 if self.strength > 0.0 else np.inf

    def _title(self) -> str:
        n_rows = int(np.isfinite(self.margins).sum())
        return f"ForestBound: {len(self.tree_sd)} trees, {n_rows} rows"

    def _figures(self) -> dict[str, float]:
        return {
            "strength s": self.strength,
            "mean correlation ρ": self.correlation,
            "ρ / s²": self.ratio,
            "bound ρ (1 − s²) / s²": self.bound,
            "error of the vote": self.error,
        }

    def _columns(self) -> Columns:
        return {
            "tree": np.arange(len(self.tree_sd)),
            "rows": self.tree_rows,
            "right": self.tree_right,
            "rival": self.tree_rival,
            "sd": self.tree_sd,
        }

    def _repr_columns(self) -> Columns:
        return {}

    def _draw(self, ax: Any) -> None:
        finite = self.margins[np.isfinite(self.margins)]
        edges = np.linspace(-1.0, 1.0, BARS + 1)
        heights = np.histogram(finite, edges)[0] / len(finite)
        half = BARS // 2
        for bars, colour, label in (
            (slice(0, half), BROWN, f"error {self.error:.3f}"),
            (slice(half, BARS), GREEN, None),
        ):
            ax.bar(
                edges[:-1][bars],
                heights[bars],
                width=2.0 / BARS,
                align="edge",
                color=colour,
                alpha=0.8,
                label=label,
            )
        ax.axvline(
            self.strength, color="black", linewidth=1.2, label=f"strength {self.strength:.3f}"
        )
        ax.axvline(0.0, color=GREY, linewidth=1, linestyle=":")
        ax.set(xlabel="margin function", ylabel="share of rows", xlim=(-1.02, 1.02))
        ax.legend(
            title=f"correlation {self.correlation:.3f}\nbound {self.bound:.3f}",
            frameon=False,
            loc="upper left",
            alignment="left",
        )


def _counted(model: Any, all_votes: Votes, only_out_of_bag: bool) -> Flags:
    """Return a mask of the votes to count, (n_trees, n_rows)."""
    if not only_out_of_bag:
        return np.ones(all_votes.shape, np.bool_)
    counted = out_of_bag_rows(model, all_votes.shape[1])
    if not counted.any():
        raise ParameterError(
            f"model: every base model of this {type(model).__name__} was trained on every row, so "
            "there are no out-of-bag rows. Fit it with bootstrap=True, or pass other rows and "
            "out_of_bag=False."
        )
    return counted


def _estimate(all_votes: Votes, counted: Flags, truth: Classes, n_classes: int) -> ForestBound:
    shares = _vote_shares(all_votes, counted, n_classes)
    voted = counted.any(axis=0)
    margins, rivals = margins_and_rivals(shares, truth)
    strength = float(margins[voted].mean())
    variance = float((margins[voted] ** 2).mean()) - strength**2
    rows, right, rival = _tree_votes(all_votes, counted, truth, rivals)
    # For a tree that is always or never right, rounding can make this negative.
    sd = np.sqrt(np.maximum(right + rival - (right - rival) ** 2, 0.0))
    mean_sd = float(np.nanmean(sd))
    correlation = variance / mean_sd**2 if mean_sd > 0.0 else np.nan
    return ForestBound(
        strength=strength,
        correlation=correlation,
        bound=_bound(strength, correlation),
        error=float((shares.argmax(axis=1) != truth)[voted].mean()),
        margin_variance=variance,
        margins=np.where(voted, margins, np.nan),
        tree_rows=rows,
        tree_right=right,
        tree_rival=rival,
        tree_sd=sd,
    )


def _vote_shares(all_votes: Votes, counted: Flags, n_classes: int) -> Floats:
    """Return Q, of shape (n_rows, n_classes); 0 where no tree voted."""
    tally = np.zeros((all_votes.shape[1], n_classes))
    for vote, counts in zip(all_votes, counted, strict=True):
        rows = np.flatnonzero(counts)
        tally[rows, vote[rows]] += 1.0
    return tally / np.maximum(counted.sum(axis=0), 1)[:, None]


def _tree_votes(
    all_votes: Votes, counted: Flags, truth: Classes, rivals: Classes
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return for each tree its rows, and their shares with right votes and votes for the rival."""
    rows = counted.sum(axis=1)
    right = ((all_votes == truth) & counted).sum(axis=1)
    rival = ((all_votes == rivals) & counted).sum(axis=1)
    voters = np.where(rows > 0, rows, np.nan)
    return rows, right / voters, rival / voters


def _bound(strength: float, correlation: float) -> float:
    if strength <= 0.0:
        return np.inf
    return 0.0 if strength == 1.0 else correlation * (1.0 - strength**2) / strength**2
