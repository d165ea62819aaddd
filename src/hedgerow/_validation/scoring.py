"""What models of folds are judged by: the library's metrics, functions, scikit-learn's scorers.

A metric is a measure of the target and the prediction, and keeps its sign: of "rmse" less is
better. A scorer of scikit-learn's is asked with the model and the rows, and more is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer, get_scorer_names

from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._boosting.metrics import (
    CLASSIFICATION,
    REGRESSION,
    Metric,
    UserMetric,
    known_metrics,
)
from hedgerow._boosting.model import prediction_of
from hedgerow._boosting.targets.multi_output import choose_loss
from hedgerow._data.target import read_fitted_classes
from hedgerow._peer_values import metric_instead
from hedgerow.exceptions import ParameterError


@dataclass(frozen=True)
class Target:
    """The target of all rows as metrics see it, and which metrics there are for it.

    `classes` are those of a classifier's y, a list if it has several columns of labels, else None;
    `values` are then class numbers. They are None if metrics could not see the target.
    """

    values: NDArray[Any] | None
    classes: Any
    metrics: Mapping[str, Any]
    default: Any


def read_target(model: Any, y: Any, n_rows: int) -> Target:
    """Read the target of all folds."""
    if isinstance(model, GradientBoosting) and (is_classifier(model) or is_regressor(model)):
        return _read_boosted(model, y, n_rows)
    values = None if y is None else np.asarray(y)
    if values is None or not (is_classifier(model) or is_regressor(model)):
        return Target(values, None, {}, OWN_SCORE)
    if values.ndim > 1:
        return _several_columns(model, values)
    if is_regressor(model):
        return Target(values, None, REGRESSION, "rmse")
    classes, numbers = np.unique(values, return_inverse=True)
    numbers = numbers.astype(np.float64)
    if hasattr(model, "predict_proba"):
        return Target(numbers, classes, CLASSIFICATION, "log_loss")
    return Target(numbers, classes, {}, OWN_SCORE)


def read_known_target(model: Any, y: Any, n_rows: int) -> Target:
    """Read the target of other rows than those of `fit`, with the classes that the model knows."""
    if isinstance(model, GradientBoosting) and (is_classifier(model) or is_regressor(model)):
        classes = model._fitted_model().classes  # noqa: SLF001
        values = model._task.read_target(y, n_rows, classes, model.loss)  # noqa: SLF001
        return _boosted_target(model, classes, values)
    classes = getattr(model, "classes_", None)
    if not (isinstance(classes, np.ndarray) and hasattr(model, "predict_proba")):
        return read_target(model, y, n_rows)
    numbers = read_fitted_classes(y, classes, n_rows).astype(np.float64)
    return Target(numbers, classes, CLASSIFICATION, "log_loss")


def _read_boosted(model: GradientBoosting, y: Any, n_rows: int) -> Target:
    task: Any = model._task  # noqa: SLF001  the judge is a friend
    return _boosted_target(model, *task.learn_target(y, n_rows, model.loss))


def _boosted_target(model: GradientBoosting, classes: Any, values: NDArray[Any]) -> Target:
    task: Any = model._task  # noqa: SLF001
    loss = choose_loss(task, model, classes, task.count_targets(classes, values))
    own = model.eval_metric
    return Target(
        values, classes, known_metrics(classes, loss), loss.metric if own is None else own
    )


def _several_columns(model: Any, values: NDArray[Any]) -> Target:
    if is_regressor(model):
        return Target(values, None, {"r2": REGRESSION["r2"]}, "r2")
    return Target(values, None, {"accuracy": (True, _accuracy_of_columns)}, "accuracy")


def _accuracy_of_columns(labels: Any, predicted: Any, weights: Any) -> float:
    """Return the part of the labels of all columns that are right."""
    return float(np.average((labels == predicted).mean(axis=1), weights=weights))


@dataclass
class HeldOut:
    """A fitted model and the rows that it has not seen: as they came, and as it reads them.

    `options` are what `fit` would get for them, beside X and y.
    """

    model: Any
    X: Callable[[], Any]
    table: Any
    y: Any
    weights: NDArray[Any] | None
    options: Mapping[str, Any]
    target: Any
    classes: Any
    predicted: Callable[[str], NDArray[Any]]

    @cached_property
    def prediction(self) -> NDArray[Any]:
        """What metrics see: numbers, P(class 1), or the probabilities of more classes."""
        if self.classes is None:
            return self.predicted("predict")
        if hasattr(self.model, "predict_proba"):
            p = self.predicted("predict_proba")
            return p[:, 1] if not isinstance(self.classes, list) and p.shape[1] == 2 else p
        if isinstance(self.model, GradientBoosting):
            return prediction_of(self.scores, self.model._fitted_model().link)  # noqa: SLF001
        raise ParameterError(
            f"scoring: {type(self.model).__name__} has no predict_proba, which this metric needs. "
            "scikit-learn's scorers may need less, such as 'accuracy' or 'roc_auc'."
        )

    @cached_property
    def scores(self) -> NDArray[Any]:
        """Raw scores of gradient boosting, (n, K)."""
        return self.model._scores(self.table)  # noqa: SLF001

    @property
    def own_target(self) -> NDArray[Any]:
        """The target as the model itself numbers its classes."""
        classes = self.model._fitted_model().classes  # noqa: SLF001
        n_rows, loss = len(self.target), self.model.loss
        return self.model._task.read_target(self.y, n_rows, classes, loss)  # noqa: SLF001


class Score(Protocol):
    """A name, and a number for rows that were held out."""

    @property
    def name(self) -> str:
        """What it is called in results."""

    def of(self, held_out: HeldOut) -> float:
        """Return how well the model does."""


@dataclass
class OfPredictions:
    """A metric of target and prediction."""

    metric: Metric | UserMetric

    @property
    def name(self) -> str:
        """The metric's name, which a user's function may tell when it is called."""
        return self.metric.name

    def of(self, held_out: HeldOut) -> float:
        """Measure."""
        if self.metric.of_scores:
            seen = held_out.own_target, held_out.scores
        else:
            seen = held_out.target, held_out.prediction
        return self.metric.measure(*seen, held_out.weights)


@dataclass
class OfModels:
    """A scorer of the model and the rows."""

    name: str
    scorer: Callable[..., Any]

    def of(self, held_out: HeldOut) -> float:
        """Ask the scorer, which gets the weights if it is of a function that takes them."""
        function = getattr(self.scorer, "_score_func", None)
        options = {}
        if held_out.weights is not None and "sample_weight" in _parameters(function):
            options["sample_weight"] = held_out.weights
        try:
            returned = self.scorer(held_out.model, held_out.X(), held_out.y, **options)
        except AttributeError as error:  # of a method that the scorer calls
            raise ParameterError(
                f"scoring={self.name!r} does not suit this model. {error}"
            ) from error
        try:
            return float(returned)
        except (TypeError, ValueError):
            raise ParameterError(
                f"scoring: {self.name} returned {type(returned).__name__}, not a number."
            ) from None


@dataclass
class OwnScore:
    """What the model's `score` says."""

    name: str = "score"

    def of(self, held_out: HeldOut) -> float:
        """Ask the model, with weights and the like if it takes them."""
        ask = held_out.model.score
        taken = signature(ask).parameters
        options = {name: given for name, given in held_out.options.items() if name in taken}
        rows = (held_out.X(),) if held_out.y is None else (held_out.X(), held_out.y)
        return float(ask(*rows, **options))


OWN_SCORE = OwnScore()


@dataclass
class Renamed:
    """A score under another name."""

    name: str
    score: Score

    def of(self, held_out: HeldOut) -> float:
        """Ask the score."""
        return self.score.of(held_out)


def resolve_scores(scoring: Any, target: Target) -> list[Score]:
    """Turn `scoring` into scores, None into the model's default."""
    scores: list[Score]
    if isinstance(scoring, Mapping):
        scores = [Renamed(str(name), _resolve(one, target)) for name, one in scoring.items()]
    else:
        scoring = target.default if scoring is None else scoring
        several = scoring if isinstance(scoring, list | tuple) else [scoring]
        scores = [_resolve(one, target) for one in several]
    if not scores:
        raise ParameterError(f"scoring={scoring!r} names no metric.")
    require_names(scores)
    return scores


def require_names(scores: list[Score]) -> None:
    """Refuse scores that cannot be told apart."""
    names = [score.name for score in scores]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(
                f"scoring has several metrics called {name!r}. Give a dict from names to metrics."
            )


def _resolve(one: Any, target: Target) -> Score:
    if isinstance(one, OwnScore):
        return one
    if isinstance(one, str) and one in target.metrics:
        return OfPredictions(Metric(one, *target.metrics[one]))
    if isinstance(one, str) and one in get_scorer_names():
        return OfModels(one, get_scorer(one))
    if not callable(one):
        meant = metric_instead(one, [*target.metrics, *get_scorer_names()])
        ours = f"one of {', '.join(target.metrics)}, " if target.metrics else ""
        raise ParameterError(
            f"scoring={one!r} is not allowed; {meant}{'It' if meant else 'it'} must be a function, "
            f"a scorer, {ours}or a name that sklearn.metrics.get_scorer_names() lists."
        )
    if _is_scorer(one):
        return OfModels(_name_of(one), one)
    return OfPredictions(UserMetric(one, target.classes, "scoring"))


def _is_scorer(function: Callable[..., Any]) -> bool:
    """Tell a scorer, of (model, X, y), from a metric, of (y, prediction[, sample_weight])."""
    if hasattr(function, "_score_func"):
        return True
    required = [
        name
        for name, parameter in _parameters(function).items()
        if parameter.default is Parameter.empty
        and parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    return len(required) >= 3 and required[2] != "sample_weight"


def _parameters(function: Any) -> Mapping[str, Parameter]:
    """Return what a function takes; of nothing, and of some built-in ones, nothing is known."""
    try:
        return signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _name_of(scorer: Any) -> str:
    function = getattr(scorer, "_score_func", scorer)
    return str(getattr(function, "__name__", type(function).__name__))
