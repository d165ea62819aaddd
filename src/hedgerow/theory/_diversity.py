"""Why a mean of different models is better than its members: the ambiguity decomposition.

For the squared error (for classes the Brier score) of a weighted mean f̄ = Σ w_i f_i,

    (f̄ − y)² = Σ w_i (f_i − y)² − Σ w_i (f_i − f̄)²

in every row (Krogh and Vedelsby, 1995): the error of the ensemble is the mean error of its members
minus their ambiguity, that is, how much they disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._contract import internals
from hedgerow._data.outputs import ClassOutputs
from hedgerow._data.target import read_regression_target
from hedgerow._ensemble.estimators import ModelEnsemble
from hedgerow._ensemble.model import EnsembleModel
from hedgerow._params import short_repr
from hedgerow._result import GREEN, GREY, Columns, Result
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.theory._voters import class_numbers, require_fitted

_ACCEPTED = "a fitted EnsembleClassifier or EnsembleRegressor"


def diversity(model: Any, X: Any, y: Any, *, out_of_fold: bool = True) -> EnsembleDiversity:
    """Return the errors of an ensemble's members, how they are correlated, and the ambiguity.

    Parameters
    ----------
    model : EnsembleClassifier or EnsembleRegressor
        A fitted ensemble.
    X : table of shape (n_rows, n_features)
        The training set, in the order of fit.
    y : array of shape (n_rows,)
        Their targets.
    out_of_fold : bool
        Whether each row is predicted by the models that were not fitted to it. False is for rows
        that were not used in fit.

    Returns
    -------
    EnsembleDiversity

    References
    ----------
    Krogh and Vedelsby, "Neural Network Ensembles, Cross Validation, and Active Learning", 1995.
    """
    require_fitted(model, _ACCEPTED)
    if not isinstance(model, ModelEnsemble):
        raise ParameterError(f"model={short_repr(model)} is not allowed; it must be {_ACCEPTED}.")
    if not isinstance(out_of_fold, (bool, np.bool_)):
        raise ParameterError(f"{out_of_fold=} is not allowed; it must be True or False.")
    fitted: EnsembleModel = internals(model).model()
    by_model = internals(model).predictions(X)
    n_rows = len(by_model[0])
    if out_of_fold and fitted.refit is True:
        raise ParameterError(
            "model: with refit=True every model was fitted to every row. Pass other rows and "
            "out_of_fold=False, or fit with refit='both' or refit=False."
        )
    if out_of_fold and n_rows != fitted.n_rows:
        raise DataError(
            f"X has {n_rows} rows, but the model was trained on {fitted.n_rows}. Out-of-fold "
            "predictions need the training set, in the order of fit."
        )
    values = np.stack(list(_by_member(fitted, by_model, out_of_fold)))
    weights = np.array([member.weight for member in fitted.members])
    names = np.array([member.name for member in fitted.members], object)
    if isinstance(fitted.outputs, ClassOutputs):
        truth = class_numbers(model, y, n_rows)
        predictions = np.stack([fitted.outputs.probabilities(own)[0] for own in values])
        target = np.equal.outer(truth, np.arange(predictions.shape[2])).astype(np.float64)
        evidence = _margins(predictions, truth)
    else:
        predictions = values
        target = read_regression_target(y, n_rows)[:, None]
        evidence = predictions[:, :, 0] - target[:, 0]
    return _decomposition(names, weights, predictions, target, evidence)


def _by_member(model: EnsembleModel, by_model: list[Floats], out_of_fold: bool) -> Any:
    """Yield the predictions of each member: of the models of its folds, or the mean of all."""
    position, shares = 0, model.shares()
    for member in model.members:
        own = np.stack(by_model[position : position + len(member.base_models)])
        position += len(own)
        if out_of_fold:
            yield own[model.fold, np.arange(model.n_rows)]
        else:
            yield np.tensordot(shares, own, 1)


def _margins(probabilities: Floats, truth: NDArray[np.int64]) -> Floats:
    """Return each row's probability of its class minus the largest of the others, by member."""
    rows = np.arange(len(truth))
    own = probabilities[:, rows, truth]
    others = probabilities.copy()
    others[:, rows, truth] = -np.inf
    margins: Floats = own - others.max(axis=2)
    return margins


def _decomposition(
    names: NDArray[Any], weights: Floats, predictions: Floats, target: Floats, evidence: Floats
) -> EnsembleDiversity:
    mean = np.tensordot(weights, predictions, 1)
    errors = ((predictions - target) ** 2).sum(axis=2).mean(axis=1)
    ambiguities = ((predictions - mean) ** 2).sum(axis=2).mean(axis=1)
    is_classification = target.shape[1] > 1
    return EnsembleDiversity(
        name=names,
        weight=weights,
        error=errors,
        ambiguity=ambiguities,
        strength=evidence.mean(axis=1) if is_classification else np.full(len(names), np.nan),
        correlation=_correlation(evidence).reshape(len(names), len(names)),
        ensemble_error=float(((mean - target) ** 2).sum(axis=1).mean()),
        is_classification=is_classification,
    )


def _correlation(evidence: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):  # a member may be constant
        return np.asarray(np.corrcoef(evidence), np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleDiversity(Result):
    """Errors of the members of an ensemble, and how much they differ.

    Attributes
    ----------
    name, weight : arrays
        Names and weights of the members.
    error : array of shape (n_members,)
        Mean squared error of each; for classes the Brier score, the sum over the classes.
    ambiguity : array of shape (n_members,)
        Mean squared difference between each and the ensemble.
    strength : array of shape (n_members,)
        For classes the mean margin, the probability of the right class minus the largest of the
        others; otherwise NaN.
    correlation : array of shape (n_members, n_members)
        Correlation of the margins of two members over the rows; for numbers, of their residuals.
    ensemble_error : float
        The error of the weighted mean: `mean_error` − `mean_ambiguity`.
    is_classification : bool
        Whether the ensemble is a classifier.
    """

    name: NDArray[Any]
    weight: Floats
    error: Floats
    ambiguity: Floats
    strength: Floats
    correlation: Floats
    ensemble_error: float
    is_classification: bool

    _is_long = False

    @property
    def mean_error(self) -> float:
        """The weighted mean of the members' errors."""
        return float((self.weight * self.error).sum())

    @property
    def mean_ambiguity(self) -> float:
        """The weighted mean of the members' ambiguities."""
        return float((self.weight * self.ambiguity).sum())

    @property
    def mean_correlation(self) -> float:
        """The mean correlation of two different members; NaN if there is only one."""
        n = len(self.name)
        if n < 2:
            return np.nan
        return float((self.correlation.sum() - np.trace(self.correlation)) / (n * (n - 1)))

    def _title(self) -> str:
        kind = "Brier score" if self.is_classification else "squared error"
        n = len(self.name)
        return f"EnsembleDiversity: {n} {'member' if n == 1 else 'members'}, {kind}"

    def _figures(self) -> dict[str, float]:
        return {
            "mean error of members": self.mean_error,
            "− ambiguity": self.mean_ambiguity,
            "= error of ensemble": self.ensemble_error,
            "mean correlation": self.mean_correlation,
        }

    def _columns(self) -> Columns:
        columns = {"member": self.name, "weight": self.weight, "error": self.error}
        columns["ambiguity"] = self.ambiguity
        return columns | {"strength": self.strength} if self.is_classification else columns

    def _draw(self, ax: Any) -> None:
        rows = np.arange(len(self.name))
        ax.barh(rows, self.error, color=GREEN, alpha=0.8)
        ax.axvline(self.ensemble_error, color="black", linewidth=1.2, label="ensemble")
        ax.axvline(
            self.mean_error, color=GREY, linewidth=1.2, linestyle=":", label="mean of the members"
        )
        labels = [f"{name} ({w:.2f})" for name, w in zip(self.name, self.weight, strict=True)]
        ax.set_yticks(rows, labels)
        ax.invert_yaxis()
        ax.set(xlabel="Brier score" if self.is_classification else "mean squared error")
        ax.legend(frameon=False, title=f"mean correlation {self.mean_correlation:.2f}")

    def _figure_size(self) -> tuple[float, float]:
        return 6.0, 1.4 + 0.45 * len(self.name)
