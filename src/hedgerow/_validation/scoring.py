"""Scores of folds: the library's metrics, user functions, scikit-learn's scorers.

A metric is a function of target and prediction and keeps its sign: a lower "rmse" is better. A
scorer of scikit-learn's is a function of the model and the rows, and higher is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, signature
from typing import Any

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
from hedgerow._boosting.ranking_metrics import NAME, WITH_EXAMPLES
from hedgerow._contract import internals
from hedgerow._data.target import read_fitted_classes
from hedgerow._links import prediction_of
from hedgerow._peer_values import metric_instead
from hedgerow._validation.predictions import WithOffset
from hedgerow.exceptions import ParameterError


@dataclass(frozen=True)
class ScoringTarget:
    """The target of all rows as metrics receive it, and the metrics for it.

    `classes` are those of a classifier's y (a list for multilabel y), otherwise None; `values` are
    then class indices. `values` is None if there is no target. Metrics of rankers, which need
    queries, are known by the form of their names instead.
    """

    values: NDArray[Any] | None
    classes: Any
    metrics: Mapping[str, Any]
    default: Any
    is_ranking: bool = False


def read_target(model: Any, y: Any, n_rows: int) -> ScoringTarget:
    """Read the target of all folds."""
    if isinstance(model, GradientBoosting) and (is_classifier(model) or is_regressor(model)):
        return _read_boosted(model, y, n_rows)
    values = None if y is None else np.asarray(y)
    if values is None or not (is_classifier(model) or is_regressor(model)):
        is_ranking = isinstance(model, GradientBoosting) and internals(model).task.name == "ranker"
        return ScoringTarget(values, None, {}, OWN_SCORE, is_ranking)
    if values.ndim > 1:
        return _several_columns(model, values)
    if is_regressor(model):
        return ScoringTarget(values, None, REGRESSION, "rmse")
    classes, numbers = np.unique(values, return_inverse=True)
    numbers = numbers.astype(np.float64)
    if hasattr(model, "predict_proba"):
        return ScoringTarget(numbers, classes, CLASSIFICATION, "log_loss")
    return ScoringTarget(numbers, classes, {}, OWN_SCORE)


def read_known_target(model: Any, y: Any, n_rows: int) -> ScoringTarget:
    """Read the target of rows that were not in `fit`, with the classes of the model."""
    if isinstance(model, GradientBoosting) and (is_classifier(model) or is_regressor(model)):
        classes = internals(model).model().classes
        values = internals(model).task.read_target(y, n_rows, classes, model.loss)
        return _boosted_target(model, classes, values)
    classes = getattr(model, "classes_", None)
    if not (isinstance(classes, np.ndarray) and hasattr(model, "predict_proba")):
        return read_target(model, y, n_rows)
    numbers = read_fitted_classes(y, classes, n_rows).astype(np.float64)
    return ScoringTarget(numbers, classes, CLASSIFICATION, "log_loss")


def _read_boosted(model: GradientBoosting, y: Any, n_rows: int) -> ScoringTarget:
    task: Any = internals(model).task
    return _boosted_target(model, *task.learn_target(y, n_rows, model.loss))


def _boosted_target(model: GradientBoosting, classes: Any, values: NDArray[Any]) -> ScoringTarget:
    task: Any = internals(model).task
    loss = task.choose_loss(model, classes, task.count_targets(classes, values))
    own = model.eval_metric
    return ScoringTarget(
        values, classes, known_metrics(classes, loss), loss.metric if own is None else own
    )


def _several_columns(model: Any, values: NDArray[Any]) -> ScoringTarget:
    if is_regressor(model):
        return ScoringTarget(values, None, {"r2": REGRESSION["r2"]}, "r2")
    return ScoringTarget(values, None, {"accuracy": (True, _accuracy_of_columns)}, "accuracy")


def _accuracy_of_columns(labels: Any, predicted: Any, weights: Any) -> float:
    """Return the fraction of correct labels over all columns."""
    return float(np.average((labels == predicted).mean(axis=1), weights=weights))


@dataclass
class FoldHoldout:
    """A fitted model and its holdout: the original rows, and the table that the model reads.

    `options` are the arguments that `fit` would get for these rows besides X and y.
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
        """What metrics receive: numbers, P(class 1), or the probabilities of several classes."""
        if self.classes is None:
            return self.predicted("predict")
        if hasattr(self.model, "predict_proba"):
            p = self.predicted("predict_proba")
            return p[:, 1] if not isinstance(self.classes, list) and p.shape[1] == 2 else p
        if isinstance(self.model, GradientBoosting | WithOffset):
            return prediction_of(self.scores, internals(self.model).model().link)
        raise ParameterError(
            f"scoring: {type(self.model).__name__} has no predict_proba, which this metric needs. "
            "Some of scikit-learn's scorers, such as 'accuracy' or 'roc_auc', do not need it."
        )

    @cached_property
    def scores(self) -> NDArray[Any]:
        """Raw scores of gradient boosting, (n, K)."""
        return internals(self.model).scores(self.table)

    @property
    def own_target(self) -> NDArray[Any]:
        """The target with the class indices of the model itself."""
        classes = internals(self.model).model().classes
        n_rows, loss = len(self.target), self.model.loss
        return internals(self.model).task.read_target(self.y, n_rows, classes, loss)


@dataclass
class MetricScore:
    """A metric: a function of target and prediction."""

    metric: Metric | UserMetric

    @property
    def name(self) -> str:
        """The name of the metric; a user's function may return it when it is called."""
        return self.metric.name

    def of(self, holdout: FoldHoldout) -> float:
        """Return the metric on a holdout."""
        if self.metric.of_scores:
            return self.metric.measure(holdout.own_target, holdout.scores, holdout.weights)
        return self.metric.measure(holdout.target, holdout.prediction, holdout.weights)


@dataclass
class ScorerScore:
    """A scorer: a function of the model and the rows."""

    name: str
    scorer: Callable[..., Any]

    def of(self, holdout: FoldHoldout) -> float:
        """Call the scorer, with weights if its function accepts them."""
        function = getattr(self.scorer, "_score_func", None)
        options = {}
        if holdout.weights is not None and "sample_weight" in _parameters(function):
            options["sample_weight"] = holdout.weights
        try:
            returned = self.scorer(holdout.model, holdout.X(), holdout.y, **options)
        except AttributeError as error:  # of a method that the scorer calls
            raise ParameterError(
                f"scoring={self.name!r} cannot be used with this model. {error}"
            ) from error
        try:
            return float(returned)
        except (TypeError, ValueError):
            raise ParameterError(
                f"scoring: {self.name} returned {type(returned).__name__}, not a number."
            ) from None


@dataclass
class OwnScore:
    """The result of the model's `score`."""

    name: str = "score"

    def of(self, holdout: FoldHoldout) -> float:
        """Call the model's `score`, with weights and other arguments that it accepts."""
        rows = (holdout.X(),) if holdout.y is None else (holdout.X(), holdout.y)
        return float(holdout.model.score(*rows, **_score_options(holdout)))


OWN_SCORE = OwnScore()


@dataclass
class RankingScore:
    """A metric of rankers: the mean over the queries."""

    name: str

    def of(self, holdout: FoldHoldout) -> float:
        """Return the mean over the queries of a holdout."""
        ranker = internals(holdout.model)
        options = _score_options(holdout)
        return float(ranker.mean_of(self.name, holdout.X(), holdout.y, **options))


def _score_options(holdout: FoldHoldout) -> dict[str, Any]:
    """Return the arguments of fit that `score` has as well."""
    accepted = signature(holdout.model.score).parameters
    return {name: value for name, value in holdout.options.items() if name in accepted}


@dataclass
class RenamedScore:
    """A score under another name."""

    name: str
    score: Score

    def of(self, holdout: FoldHoldout) -> float:
        """Return the score on a holdout."""
        return self.score.of(holdout)


Score = MetricScore | ScorerScore | OwnScore | RankingScore | RenamedScore


def resolve_scores(scoring: Any, target: ScoringTarget) -> list[Score]:
    """Return the scores that `scoring` selects; None is the model's default."""
    scores: list[Score]
    if isinstance(scoring, Mapping):
        scores = [RenamedScore(str(name), _resolve(one, target)) for name, one in scoring.items()]
    else:
        scoring = target.default if scoring is None else scoring
        several = scoring if isinstance(scoring, list | tuple) else [scoring]
        scores = [_resolve(one, target) for one in several]
    if not scores:
        raise ParameterError(f"scoring={scoring!r} has no metric.")
    require_names(scores)
    return scores


def require_names(scores: list[Score]) -> None:
    """Raise if two scores have the same name."""
    names = [score.name for score in scores]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(
                f"scoring has several metrics named {name!r}. Pass a dict from names to metrics."
            )


def _resolve(one: Any, target: ScoringTarget) -> Score:
    if isinstance(one, OwnScore):
        return one
    if isinstance(one, str) and one in target.metrics:
        return MetricScore(Metric(one, *target.metrics[one]))
    if isinstance(one, str) and target.is_ranking and NAME.fullmatch(one):
        return RankingScore(one)
    if isinstance(one, str) and one in get_scorer_names():
        return ScorerScore(one, get_scorer(one))
    if not callable(one):
        known = WITH_EXAMPLES if target.is_ranking else tuple(target.metrics)
        hint = metric_instead(one, [*known, *get_scorer_names()])
        names = f"one of {', '.join(known)}, " if known else ""
        raise ParameterError(
            f"scoring={one!r} is not allowed; {hint}{'It' if hint else 'it'} must be a function, "
            f"a scorer, {names}or a name that sklearn.metrics.get_scorer_names() lists."
        )
    if _is_scorer(one):
        return ScorerScore(_name_of(one), one)
    return MetricScore(UserMetric(one, target.classes, "scoring"))


def _is_scorer(function: Callable[..., Any]) -> bool:
    """Return whether a function takes (model, X, y), not (y, prediction[, sample_weight])."""
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
    """Return the parameters of a function; none if they are unknown, as for some built-ins."""
    try:
        return signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _name_of(scorer: Any) -> str:
    function = getattr(scorer, "_score_func", scorer)
    return str(getattr(function, "__name__", type(function).__name__))
