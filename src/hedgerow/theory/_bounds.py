"""AdaBoost's training error and its bound, round by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.sparse import sound
from hedgerow._data.target import read_weights
from hedgerow._result import BROWN, GREEN, Columns, Result
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.theory._voters import class_numbers, require_discrete, require_fitted

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
    gives z_m = (1 − err_m + err_m e^α_m) z_{m−1} and the bound
    Π ((1 − err_m) e^(−α_m/2) + err_m e^(α_m/2)), whose factors are 2 √(err_m (1 − err_m)) for the
    α_m above. The latter are returned. For more than two classes the bound only decreases while
    err_m < 1/K, because it counts all votes against a row's class as votes for one rival.

    Parameters
    ----------
    model : fitted AdaBoostClassifier
        Of Hedgerow (algorithm 'SAMME') or scikit-learn.
    X, y : training set, optional
        For the training error.
    sample_weight : array of shape (n_rows,), optional
        The weights passed to fit, if any: the bound is about the error with these weights.

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
    return AdaBoostBound(
        rounds=np.arange(1, n_rounds + 1),
        errors=errors,
        weights=weights,
        weight_sums=_weight_sums(model, errors, weights),
        bound=_running_product(_factors(errors, weights)),
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
    reset = np.flatnonzero(getattr(model, "resets_", [])) + 1
    if len(reset) and reset[-1] > 1:
        raise ParameterError(
            f"model: in round {reset[-1]} of this {name} the weights were reset, so the "
            "product over all rounds is not a bound. Use resample=False."
        )


def _weight_sums(model: Any, errors: Floats, weights: Floats) -> Floats:
    """Return the weight sums that the model recorded, or compute them."""
    recorded = getattr(model, "weight_sums_", None)
    if recorded is not None:
        return np.asarray(recorded, np.float64)
    with np.errstate(over="ignore"):  # after many rounds the sum may overflow
        return _running_product(1.0 - errors + _times(errors, np.exp(weights)))


def _factors(errors: Floats, weights: Floats) -> Floats:
    """Return the factor of the bound for each round."""
    factors = (1.0 - errors) * np.exp(-weights / 2.0) + _times(errors, np.exp(weights / 2.0))
    # A base model without error that outvotes all before it decides every training row.
    outvotes = weights > np.concatenate([[0.0], np.cumsum(np.abs(weights))[:-1]])
    return np.where((errors == 0.0) & outvotes, 0.0, factors)


def _running_product(factors: Floats) -> Floats:
    return np.cumprod(factors, dtype=np.float64)


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
