"""Fitted models: the classifiers of a code's columns, and a classifier with a rule to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._arithmetic import ordered_product
from hedgerow._decisions.codes import Code, decode
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError


@dataclass(frozen=True, eq=False)
class CodedModel:
    """A classifier for each column of a code; its classes are 0 and 1 for −1 and 1."""

    code: Code
    base_models: Sequence[Any]
    classes: NDArray[Any]

    def agreement(self, X: Any, *, hard: bool) -> Floats:
        """Return how well each class agrees with the classifiers, (n_rows, n_classes)."""
        if X.shape[0] == 0:  # not every estimator accepts an empty table
            return np.zeros((0, len(self.classes)))
        scores = np.column_stack([_scores(model, X, hard=hard) for model in self.base_models])
        return decode(self.code, scores)


def _scores(model: Any, X: Any, *, hard: bool) -> Floats:
    """Return the scores of a classifier of 0 and 1, positive for 1."""
    if not hard and hasattr(model, "predict_proba"):
        p = np.asarray(model.predict_proba(X), np.float64)
        return 2.0 * p[:, 1] - 1.0 if p.shape[1] == 2 else np.full(len(p), _only(model))
    if not hard and hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), np.float64)
    return np.where(np.asarray(model.predict(X)) == 1, 1.0, -1.0)


def _only(model: Any) -> float:
    """Return the score of a classifier that knows one class."""
    return 1.0 if model.classes_[0] == 1 else -1.0


@dataclass(frozen=True, eq=False)
class DecisionModel:
    """A classifier of probabilities, and the costs or the threshold by which to decide.

    `costs` has a row for each class and a column for each decision; None without costs. `positive`
    is the index of the class of `threshold`, if there is one.
    """

    base_model: Any
    classes: NDArray[Any]
    costs: Floats | None
    threshold: float | None
    positive: int

    def probabilities(self, X: Any) -> Floats:
        """Return the probabilities of the classes."""
        if X.shape[0] == 0:
            return np.zeros((0, len(self.classes)))
        p = np.asarray(self.base_model.predict_proba(X), np.float64)
        if p.shape[1] != len(self.classes):
            raise ParameterError(
                f"estimator={type(self.base_model).__name__} returned {p.shape[1]} probabilities "
                f"for {len(self.classes)} classes."
            )
        return p

    def expected_costs(self, p: Floats) -> Floats:
        """Return the expected cost of each decision; without costs, 1 − p."""
        return 1.0 - p if self.costs is None else ordered_product(p, self.costs)

    def decisions(self, p: Floats) -> NDArray[np.intp]:
        """Return the index of the class that is predicted for each row."""
        if self.costs is not None:
            return self.expected_costs(p).argmin(axis=1)
        if self.threshold is not None:
            is_positive = p[:, self.positive] >= self.threshold
            return np.where(is_positive, self.positive, 1 - self.positive)
        return p.argmax(axis=1)
