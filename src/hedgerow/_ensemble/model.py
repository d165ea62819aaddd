"""A fitted ensemble: its members, their weights, and the encoder of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.intake import TableSchema
from hedgerow._data.outputs import ClassOutputs, Outputs
from hedgerow._ensemble.encoding import TableEncoder
from hedgerow._ensemble.training_set import TargetUnits
from hedgerow._links import fit_sigmoid, probability
from hedgerow._types import Floats, Indices
from hedgerow.exceptions import DataError

Refit = bool | Literal["both"]


@dataclass(frozen=True, eq=False)
class PlattScaling:
    """Class probabilities of a model that has only a decision function.

    For two classes P = 1 / (1 + exp(A f + B)); for more, one such probability for each class
    against the others, divided by their sum. `coefficients` has a row (A, B) for each score.
    """

    coefficients: Floats

    @classmethod
    def fit(
        cls, decisions: Floats, target: NDArray[np.int64], weights: Floats | None
    ) -> PlattScaling:
        """Fit to out-of-fold decisions, (n_rows, n_scores)."""
        weights = np.ones(len(target)) if weights is None else weights
        n_scores = decisions.shape[1]
        positive = [1] if n_scores == 1 else range(n_scores)
        pairs = [
            fit_sigmoid(np.ascontiguousarray(scores), (target == k).astype(np.float64), weights)
            for scores, k in zip(decisions.T, positive, strict=True)
        ]
        return cls(np.array(pairs))

    def probabilities(self, decisions: Floats) -> Floats:
        """Return a column for each class."""
        p: Floats = probability(decisions * self.coefficients[:, 0] + self.coefficients[:, 1])
        if p.shape[1] == 1:
            return np.concatenate([1.0 - p, p], axis=1)
        total = np.zeros(len(p))
        for column in p.T:  # in their order, so that the sum has the same bits everywhere
            total += column
        share = np.full_like(p, 1.0 / p.shape[1])
        return np.divide(p, total[:, None], out=share, where=total[:, None] > 0.0)


def decisions_of(base_model: Any, X: Any, n_classes: int) -> Floats:
    """Return the decision function of a base model, a column for each score."""
    decisions = _numbers_of(base_model, "decision_function", X)
    if len(base_model.classes_) < n_classes:
        raise DataError(
            f"the training set of a fold lacks one of the {n_classes} classes, so the decision "
            f"function of {type(base_model).__name__} has no column for it."
        )
    return decisions


def values_of(
    base_model: Any, X: Any, outputs: Outputs, units: TargetUnits, scaling: PlattScaling | None
) -> Floats:
    """Return the predictions of a base model as `Outputs` stores them, (n_rows, n_values)."""
    if not isinstance(outputs, ClassOutputs):
        prediction = _numbers_of(base_model, "predict", X, n_columns=1)
        return prediction * units.deviation + units.mean
    (classes,) = outputs.classes
    if scaling is not None:
        return outputs.values([scaling.probabilities(decisions_of(base_model, X, len(classes)))])
    own = _numbers_of(base_model, "predict_proba", X, n_columns=len(base_model.classes_))
    if len(base_model.classes_) == len(classes):
        return outputs.values([own])
    spread = np.zeros((len(own), len(classes)))
    spread[:, np.searchsorted(classes, base_model.classes_)] = own
    return outputs.values([spread])


def _numbers_of(base_model: Any, method: str, X: Any, n_columns: int | None = None) -> Floats:
    """Return what a method of a base model, perhaps a user's, returns: (n_rows, n_columns)."""
    name, output = type(base_model).__name__, getattr(base_model, method)(X)
    try:
        numbers = np.asarray(output, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{method} of {name} must return numbers: {error}") from error
    columns = numbers[:, None] if numbers.ndim == 1 else numbers
    expected = (X.shape[0], columns.shape[-1] if n_columns is None else n_columns)
    if columns.shape != expected:
        raise DataError(
            f"{method} of {name} returned an array of shape {numbers.shape}, not {expected}."
        )
    return columns


@dataclass(frozen=True, eq=False)
class Member:
    """A candidate that was selected: the models of its folds, then one that has all rows.

    Which of these there are depends on `refit` of the ensemble.

    Attributes
    ----------
    units : TargetUnits
        Those of its predictions, if the target is numeric.
    scaling : PlattScaling, or None
        What makes probabilities of its decision function.
    """

    name: str
    weight: float
    base_models: list[Any]
    is_encoded: bool
    units: TargetUnits
    scaling: PlattScaling | None

    def values(self, index: int, X: Any, outputs: Outputs) -> Floats:
        """Return the predictions of one of its base models."""
        return values_of(self.base_models[index], X, outputs, self.units, self.scaling)


@dataclass(frozen=True, eq=False)
class EnsembleModel:
    """The members of an ensemble.

    Attributes
    ----------
    schema, encoder : TableSchema and TableEncoder, or None
        How members with `is_encoded` get the table; None if there are none.
    fold : int64 array of shape (n_rows,)
        The fold in whose holdout each training row was; −1 if its weight was 0.
    refit : bool or "both"
        Whether the base models of each member are one that was fitted to all rows, the models of
        the folds, or both, the former with half of the weight.
    """

    outputs: Outputs
    members: list[Member]
    schema: TableSchema | None
    encoder: TableEncoder | None
    fold: NDArray[np.int64]
    refit: Refit

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.fold)

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1

    def shares(self) -> Floats:
        """Return the share of each base model in a member."""
        if self.refit is True:
            return np.ones(1)
        of_folds = np.full(self.n_folds, 1.0 / self.n_folds)
        return np.append(0.5 * of_folds, 0.5) if self.refit == "both" else of_folds

    def each(self) -> Iterator[tuple[Member, int]]:
        """Yield every base model: its member, and its index among the member's."""
        for member in self.members:
            for index in range(len(member.base_models)):
                yield member, index

    def weights(self) -> Floats:
        """Return the weight of every base model."""
        shares = self.shares()
        return np.concatenate([member.weight * shares for member in self.members])

    def predictions(self, X: Any, encode: Callable[[Any], Floats]) -> Iterator[Floats]:
        """Yield what each base model predicts for a table."""
        matrix = encode(X) if any(member.is_encoded for member in self.members) else None
        for member, index in self.each():
            yield member.values(index, matrix if member.is_encoded else X, self.outputs)

    def mean(self, X: Any, encode: Callable[[Any], Floats]) -> Floats:
        """Return the weighted mean of the predictions, (n_rows, n_values)."""
        total: Floats | None = None
        for weight, values in zip(self.weights(), self.predictions(X, encode), strict=True):
            total = weight * values if total is None else total + weight * values
        assert total is not None
        return total

    def samples(self) -> list[Indices]:
        """Return the rows that each base model was fitted to."""
        n_fitted_to_folds = 0 if self.refit is True else self.n_folds
        return [
            np.flatnonzero((self.fold >= 0) & ((self.fold != index) | (index >= n_fitted_to_folds)))
            for _, index in self.each()
        ]
