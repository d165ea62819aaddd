"""Targets and predictions of the rows of a report: one `Outcome` for each target.

Everything is read and predicted here, once. Metrics, curves and mistakes are computed from these
arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from hedgerow._boosting import GradientBoostingRanker, GradientBoostingSurvival
from hedgerow._boosting.losses import RankingLoss
from hedgerow._boosting.losses.regression import as_levels
from hedgerow._boosting.metrics import Measure, metric_of_loss
from hedgerow._boosting.targets.ranking import Judgements
from hedgerow._contract import internals
from hedgerow._data.survival_times import read_survival_times
from hedgerow._data.target import (
    has_columns,
    read_fitted_classes,
    read_number_columns,
    read_probabilities,
)
from hedgerow._reporting.any_model import fitted_part
from hedgerow._reporting.fold_models import FoldModels
from hedgerow._svm import OneClassSVM
from hedgerow._types import Floats, Indices
from hedgerow._validation import CrossValidation
from hedgerow._validation.predictions import with_offset
from hedgerow.exceptions import DataError, ParameterError

USUAL_COVERAGE = 0.9  # the default of `predict_interval`
COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # that intervals are compared at


class _Predicted:
    """What all outcomes have: a prediction for each row."""

    predicted: NDArray[Any]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.predicted)


@dataclass(frozen=True, eq=False)
class ClassOutcome(_Predicted):
    """A class target, with the actual and the predicted class of each row.

    If there are no probabilities, there may be a decision: a score that is higher the more likely
    the second class is.
    """

    name: str  # of the target; empty if it is the only one
    classes: tuple[str, ...]
    index: Indices
    predicted: Indices
    probabilities: Floats | None  # (n_rows, n_classes)
    decision: Floats | None = None
    positive_class: int | None = None  # that the caller chose; by default the second of two

    @property
    def scored_classes(self) -> list[int]:
        """The classes whose scores are evaluated: the positive one of two, or all of more."""
        first = [] if self.positive_class is None else [self.positive_class]
        if len(self.classes) == 2:
            return first or [1]
        return [*first, *(k for k in range(len(self.classes)) if k not in first)]

    @property
    def surprise(self) -> Floats:
        """The log loss of each row."""
        if self.probabilities is None:
            return (self.index != self.predicted).astype(np.float64)
        p = self.probabilities[np.arange(self.n_rows), self.index]
        return -np.log(np.maximum(p, np.finfo(np.float64).eps))

    def score_of(self, k: int) -> Floats | None:
        """Return a score that increases with the probability of class k, if there is one."""
        if self.probabilities is not None:
            return self.probabilities[:, k]
        if self.decision is None:
            return None
        return self.decision if k == 1 else -self.decision


@dataclass(frozen=True, eq=False)
class Intervals:
    """Calibrated prediction intervals (n_rows, 2), as `predict_interval` returns them."""

    coverage: float  # the nominal one
    ends: Floats
    by_coverage: tuple[tuple[float, Floats], ...]  # for other coverages, from low to high


def is_within(y: Floats, ends: Floats) -> NDArray[np.bool_]:
    """Mark the rows whose true value lies in its interval."""
    return (y >= ends[:, 0]) & (y <= ends[:, 1])


@dataclass(frozen=True, eq=False)
class NumberOutcome(_Predicted):
    """A numeric target with predictions, and intervals if the model is calibrated.

    `loss` is the metric of the loss by its name, unless that is a usual one.
    """

    name: str
    y: Floats
    predicted: Floats
    intervals: Intervals | None = None
    loss: Mapping[str, Measure] = field(default_factory=dict)

    @property
    def surprise(self) -> Floats:
        """The error of each row."""
        return np.abs(self.y - self.predicted)


@dataclass(frozen=True, eq=False)
class QuantileOutcome(_Predicted):
    """A numeric target with predicted quantiles, (n_rows, n_levels).

    If the model is calibrated, `intervals` are its prediction intervals.
    """

    name: str
    y: Floats
    predicted: Floats
    levels: tuple[float, ...]
    intervals: Intervals | None = None

    @property
    def pinball(self) -> Floats:
        """The loss of each row and level."""
        r = self.y[:, np.newaxis] - self.predicted
        levels = np.array(self.levels)
        return np.maximum(levels * r, (levels - 1.0) * r)

    @property
    def surprise(self) -> Floats:
        """The error of each row."""
        return self.pinball.mean(axis=1)


@dataclass(frozen=True, eq=False)
class RankingOutcome(_Predicted):
    """Relevances and queries, (n_rows, 2), and scores."""

    name: str
    target: Floats
    predicted: Floats
    loss: RankingLoss


@dataclass(frozen=True, eq=False)
class SurvivalOutcome(_Predicted):
    """Bounds of times, (n_rows, 2); predicted numbers are larger for what should last longer."""

    name: str
    bounds: Floats
    predicted: Floats


Outcome = ClassOutcome | NumberOutcome | QuantileOutcome | RankingOutcome | SurvivalOutcome


def read_outcomes(
    model: Any,
    X: Any,
    y: Any,
    qid: Any,
    offset: Any = None,
    positive_class: Any = None,
    folds: CrossValidation | None = None,
) -> list[Outcome]:
    """Predict the rows, or take the predictions of folds, and read their targets."""
    if y is None:
        raise DataError("y is None: a report evaluates predictions, and needs the targets.")
    if qid is not None and not isinstance(model, GradientBoostingRanker):
        raise ParameterError("qid is only for rankers.")
    predictor = with_offset(model, offset) if folds is None else FoldModels(model, folds, offset)
    if isinstance(model, GradientBoostingRanker):
        return [_ranking(predictor, X, y, qid)]
    if isinstance(model, GradientBoostingSurvival):
        return [_survival(predictor, X, y)]
    if isinstance(model, OneClassSVM):
        return [_inside_or_outside(model, X, y)]
    if is_classifier(model):
        return _with_positive_class(_classes(predictor, X, y), model, positive_class)
    if is_regressor(model):
        return _numbers(predictor, X, y)
    raise ParameterError(
        f"{type(model).__name__} is not supported; pass a classifier, a regressor, a ranker or a "
        "survival model."
    )


def _classes(model: Any, X: Any, y: Any) -> list[Outcome]:
    predicted = model.predict(X)
    n_rows = len(predicted)
    probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    if isinstance(model.classes_, list):
        columns = _columns(y, n_rows, len(model.classes_))
        labels = zip(_names(y, len(columns)), model.classes_, columns, predicted.T, strict=True)
        return [
            _one_of_classes(classes, of, one, _of_label(probabilities, k), name=name)
            for k, (name, classes, of, one) in enumerate(labels)
        ]
    if getattr(model, "loss", None) == "cross_entropy" and has_columns(y):
        # Rows have probabilities of all classes; the most likely one is the target.
        y = model.classes_[read_probabilities(y, n_rows, len(model.classes_))[1].argmax(axis=1)]
    decision = None
    if probabilities is None and len(model.classes_) == 2 and hasattr(model, "decision_function"):
        decision = np.asarray(model.decision_function(X), np.float64).reshape(n_rows)
    return [_one_of_classes(model.classes_, y, predicted, probabilities, decision)]


def _with_positive_class(outcomes: list[Outcome], model: Any, positive_class: Any) -> list[Outcome]:
    """Set the positive class; the caller has checked that the model has one target."""
    if positive_class is None:
        return outcomes
    (outcome,) = outcomes
    assert isinstance(outcome, ClassOutcome)
    return [replace(outcome, positive_class=model.classes_.tolist().index(positive_class))]


def _one_of_classes(
    classes: NDArray[Any],
    y: Any,
    predicted: NDArray[Any],
    probabilities: Any = None,
    decision: Floats | None = None,
    name: str = "",
) -> ClassOutcome:
    if probabilities is not None and not np.isfinite(probabilities).all():
        probabilities = None  # radius neighbours do not predict rows without neighbours
    return ClassOutcome(
        name,
        tuple(str(label) for label in classes),
        np.asarray(read_fitted_classes(y, classes, len(predicted)), np.intp),
        np.searchsorted(classes, predicted).astype(np.intp),
        None if probabilities is None else np.asarray(probabilities, np.float64),
        decision,
    )


def _of_label(probabilities: Any, k: int) -> Any:
    """Return the probabilities of both classes of one label."""
    if probabilities is None:
        return None
    if isinstance(probabilities, list):
        return probabilities[k]
    return np.column_stack([1.0 - probabilities[:, k], probabilities[:, k]])


def _columns(y: Any, n_rows: int, n_columns: int) -> Sequence[Any]:
    """Return the columns of several targets."""
    array = np.asarray(y)
    if array.shape != (n_rows, n_columns):
        raise DataError(
            f"y has the shape {array.shape}, but the predictions have the shape "
            f"{(n_rows, n_columns)}."
        )
    return list(array.T)


def _names(y: Any, n_columns: int) -> list[str]:
    """Return the names of several targets: column names, or y0 and so on."""
    names = getattr(y, "column_names", getattr(y, "columns", None))  # Arrow has the first
    if names is None or len(names) != n_columns:
        return [f"y{k}" for k in range(n_columns)]
    return [str(name) for name in names]


def _numbers(model: Any, X: Any, y: Any) -> list[Outcome]:
    predicted = np.asarray(model.predict(X), np.float64)
    n_rows = len(predicted)
    predicted = predicted.reshape(n_rows, -1)
    _require_predictions(predicted)
    targets = np.asarray(read_number_columns(y, n_rows), np.float64)
    if getattr(model, "loss", None) == "quantile" and predicted.shape[1] > 1:
        levels = as_levels(model.quantile)
        intervals = _intervals(model, X, levels[-1] - levels[0])
        return [QuantileOutcome("", targets[:, 0], predicted, levels, intervals)]
    if targets.shape[1] != predicted.shape[1]:
        raise DataError(
            f"y has {targets.shape[1]} columns, but the model predicts {predicted.shape[1]}."
        )
    if targets.shape[1] == 1:
        intervals = _intervals(model, X, USUAL_COVERAGE)
        loss = metric_of_loss(model)
        return [NumberOutcome("", targets[:, 0], predicted[:, 0], intervals, loss)]
    names = _names(y, targets.shape[1])
    return [
        NumberOutcome(name, *both)
        for name, *both in zip(names, targets.T, predicted.T, strict=True)
    ]


def _intervals(model: Any, X: Any, coverage: float) -> Intervals | None:
    """Return the intervals of a calibrated model; None if it is not calibrated."""
    if fitted_part(model, "residuals") is None:
        return None
    coverage = round(coverage, 9)  # 0.95 - 0.05 is not quite 0.9
    nominal = sorted({*COVERAGES, coverage})
    ends = {one: np.asarray(model.predict_interval(X, one), np.float64) for one in nominal}
    return Intervals(coverage, ends[coverage], tuple(ends.items()))


def _require_predictions(predicted: Floats) -> None:
    """Refuse rows that a model does not predict, as radius neighbours may."""
    open_rows = np.flatnonzero(np.isnan(predicted).any(axis=1))
    if len(open_rows):
        raise DataError(
            f"The model predicts NaN for {len(open_rows):,} rows of X (first for row "
            f"{open_rows[0]:,}), which cannot be evaluated. Omit these rows."
        )


def _ranking(model: Any, X: Any, y: Any, qid: Any) -> RankingOutcome:
    features, query = internals(model).split_queries(X, qid, None)
    scores = model.predict(features)
    loss = internals(model).task.choose_loss(model, None)
    return RankingOutcome("", Judgements(y, query, None).read(len(scores)), scores, loss)


def _survival(model: Any, X: Any, y: Any) -> SurvivalOutcome:
    predicted = model.predict(X)
    longer = -predicted if model.loss == "cox" else predicted
    return SurvivalOutcome("", read_survival_times(y, len(longer)), longer)


def _inside_or_outside(model: Any, X: Any, y: Any) -> ClassOutcome:
    """Read the outcome of a one-class SVM: 1 for inliers, −1 for outliers."""
    predicted = model.predict(X)
    decision = np.asarray(model.decision_function(X), np.float64).reshape(len(predicted))
    return _one_of_classes(np.array([-1, 1]), y, predicted, decision=decision)
