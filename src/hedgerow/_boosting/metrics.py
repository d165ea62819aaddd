"""Metrics on evaluation sets: built-in ones by name, or a user's function.

A metric receives predictions, not raw scores: the predicted value in regression, the probability of
`classes_[1]` for two classes, and (n, K) probabilities for more. For several columns of y it is the
mean over them.

Metrics that are means over rows, among them the default of every loss, are computed here and not by
scikit-learn, for two reasons. They decide when early stopping ends and what "auto" chooses, so
their bits decide models: means are those of `weighted_mean`, which do not depend on where rows are,
and logarithms are our own, because the last bit of NumPy's depends on the processor. And they run
after every round, where scikit-learn's argument checks cost more than a round on a small table.
Other metrics (ranks, medians, ratios of counts) are scikit-learn's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics as sk

from hedgerow import _native
from hedgerow._arithmetic import exp, log
from hedgerow._boosting.losses import (
    BaseLoss,
    BernoulliLogLoss,
    ExpectileLoss,
    FocalLoss,
    FormulaLoss,
    QuantileLoss,
    TweedieLoss,
    read_only,
    weighted_mean,
    with_weights,
)
from hedgerow._contract import internals
from hedgerow._data.target import Classes, decode_labels
from hedgerow._links import log_likelihoods
from hedgerow._peer_values import metric_instead
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError

Measure = Callable[[Any, Any, Any], float]
# For each name: whether higher is better, and the measure.
Metrics = dict[str, tuple[bool, Measure]]
# Suffixes of function names, and whether higher is then better.
DIRECTIONS = {"_score": True, "_loss": False, "_error": False, "_deviance": False}


@dataclass(frozen=True)
class Metric:
    """A named measure of (target, prediction, weights), and whether higher is better.

    The target is the class index in classification. If `of_scores` is True, the measure receives
    raw scores (n, K) in place of predictions.
    """

    name: str
    higher_is_better: bool
    measure: Measure
    of_scores: bool = False

    has_direction: ClassVar[bool] = True


class UserMetric:
    """A user's (y, prediction[, sample_weight]) → number or (name, number, higher_is_better).

    If it returns a number only, its name gives the direction, as in scikit-learn: higher is better
    for a ``_score``, lower for a ``_loss``, ``_error`` or ``_deviance``. With any other name,
    values are recorded but cannot be used for early stopping. In classification, y holds the
    classes of the user.
    """

    of_scores = False

    def __init__(
        self, function: Callable[..., Any], classes: Classes | None, argument: str = "eval_metric"
    ) -> None:
        self.function, _ = with_weights(function, argument)
        self.classes = classes
        self.argument = argument  # by which it was passed
        named = function.func if isinstance(function, partial) else function
        self.name = getattr(named, "__name__", type(named).__name__)
        self._higher_is_better = _direction_of(self.name)

    @property
    def has_direction(self) -> bool:
        """Whether it is known which values are better."""
        return self._higher_is_better is not None

    @property
    def higher_is_better(self) -> bool:
        """Whether higher values are better; an error if it is not known."""
        if self._higher_is_better is None:
            raise ParameterError(
                f"{self.argument}: the best round cannot be found, because {self.name} does not "
                "return whether higher is better, and its name does not end in "
                f"{', '.join(map(repr, DIRECTIONS))}. It should return (name, value, "
                "higher_is_better)."
            )
        return self._higher_is_better

    def measure(self, target: Floats, prediction: Floats, weights: Floats | None) -> float:
        """Call the function; if it returns a name and a direction, store them."""
        y = read_only(target) if self.classes is None else _decode(self.classes, target)
        returned = self.function(y, read_only(prediction), read_only(weights))
        if isinstance(returned, tuple):
            self.name, returned, self._higher_is_better = self._checked_triple(returned)
        return self._checked_number(returned)

    def _checked_triple(self, returned: tuple[Any, ...]) -> tuple[str, Any, bool]:
        if len(returned) != 3 or not isinstance(returned[0], str):
            raise ParameterError(
                f"{self.argument}: {self.name} returned {returned!r}, "
                "not a number or (name, value, higher_is_better)."
            )
        return returned[0], returned[1], bool(returned[2])

    def _checked_number(self, returned: Any) -> float:
        try:
            return float(returned)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(
                f"{self.argument}: {self.name} returned {type(returned).__name__}, not a number."
            ) from None


def _direction_of(name: str) -> bool | None:
    """Return whether higher is better for a function with this name; None if unknown."""
    return next((higher for end, higher in DIRECTIONS.items() if f"_{name}".endswith(end)), None)


def _decode(classes: Classes, target: Floats) -> NDArray[Any]:
    """Return the classes of rows, or their labels."""
    if isinstance(classes, list):
        return decode_labels(classes, target == 1.0)
    return classes[target.astype(np.intp)]


def log_loss(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    """Return the mean of −log P(y), with P at least one rounding error."""
    if prediction.ndim == 1:
        return -weighted_mean(log_likelihoods(target, prediction), weights)
    rows = target.astype(np.intp)
    return -weighted_mean(_log(prediction[np.arange(len(rows)), rows]), weights)


def _log(probability: Floats) -> Floats:
    """Return the logarithm of probabilities, which count as at least one rounding error."""
    result = np.maximum(probability, np.finfo(np.float64).eps)
    _native.log_inplace(result.reshape(-1))
    return result


def rmse(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    """Return the root of the mean squared error."""
    return math.sqrt(_mse(target, prediction, weights))


def _mse(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    return weighted_mean((target - prediction) ** 2, weights)


def _mae(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    return weighted_mean(np.abs(target - prediction), weights)


def _mape(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    size = np.maximum(np.abs(target), np.finfo(np.float64).eps)
    return weighted_mean(np.abs(target - prediction) / size, weights)


def _rmsle(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    """Return the root of the mean squared difference of log(1 + y)."""
    if (target <= -1.0).any():
        raise DataError(
            f"y contains {target.min():g}, but the metric 'rmsle' needs numbers above −1. Use "
            "'rmse' or 'mae'."
        )
    # Predictions of −1 or less, whose logarithm does not exist, count as next to it.
    above = np.maximum(prediction, np.finfo(np.float64).eps - 1.0)
    return rmse(_log1p(target), _log1p(above), weights)


def _log1p(numbers: Floats) -> Floats:
    result = np.array(numbers, np.float64, order="C")
    _native.log1p_inplace(result.reshape(-1))
    return result


def _brier(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    """Return the mean of (P(class 1) − y)², or of the sum over more classes."""
    if prediction.ndim == 1:
        return _mse(target, prediction, weights)
    is_class = target[:, None] == np.arange(prediction.shape[1])
    return weighted_mean(((prediction - is_class) ** 2).sum(axis=1), weights)


def _labels(prediction: Floats) -> NDArray[np.intp]:
    """Return the class indices that are predicted."""
    if prediction.ndim == 1:
        return (prediction > 0.5).astype(np.intp)
    return prediction.argmax(axis=1)


def _on_labels(function: Callable[..., float]) -> Measure:
    def measure(target: Floats, prediction: Floats, weights: Floats | None) -> float:
        return float(function(target, _labels(prediction), sample_weight=weights))

    return measure


def _on_prediction(function: Callable[..., float]) -> Measure:
    def measure(target: Floats, prediction: Floats, weights: Floats | None) -> float:
        return float(function(target, prediction, sample_weight=weights))

    return measure


def _error(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    return 1.0 - _accuracy(target, prediction, weights)


def _accuracy(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    return weighted_mean((target == _labels(prediction)).astype(np.float64), weights)


def _f1(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    """Return F1 of class 1 for two classes, or the mean over more classes."""
    options: dict[str, Any] = {"average": "binary" if prediction.ndim == 1 else "macro"}
    options |= {"sample_weight": weights, "zero_division": 0.0}
    return float(sk.f1_score(target, _labels(prediction), **options))


def _macro_f1(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    """Return the mean of the F1 of all classes, also of two."""
    options: dict[str, Any] = {"average": "macro", "sample_weight": weights, "zero_division": 0.0}
    return float(sk.f1_score(target, _labels(prediction), **options))


def _quadratic_kappa(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    """Return Cohen's κ with the squared distances of the classes, in their order, as weights.

    NaN if there is one class only, in the target and in the predictions.
    """
    n_classes = 2 if prediction.ndim == 1 else prediction.shape[1]
    pair = target.astype(np.intp) * n_classes + _labels(prediction)
    observed = np.bincount(pair, weights, n_classes**2).reshape(n_classes, n_classes)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / observed.sum()
    distance = np.subtract.outer(np.arange(n_classes), np.arange(n_classes)) ** 2
    by_chance = float((distance * expected).sum())
    return 1.0 - float((distance * observed).sum()) / by_chance if by_chance > 0.0 else math.nan


def _g_mean(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    """Return the geometric mean of the recalls of the classes: 0 if one is never found."""
    labels = np.unique(target)
    options: dict[str, Any] = {"labels": labels, "average": None, "sample_weight": weights}
    recalls = sk.recall_score(target, _labels(prediction), zero_division=0.0, **options)
    return float(np.prod(recalls) ** (1.0 / len(recalls)))


def _auc(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    if prediction.ndim == 1:
        return float(sk.roc_auc_score(target, prediction, sample_weight=weights))
    options: dict[str, Any] = {"multi_class": "ovr", "labels": np.arange(prediction.shape[1])}
    return float(sk.roc_auc_score(target, prediction, sample_weight=weights, **options))


def _average_precision(target: Floats, prediction: Floats, weights: Floats | None) -> float:
    truth = target if prediction.ndim == 1 else target[:, None] == np.arange(prediction.shape[1])
    return float(sk.average_precision_score(truth, prediction, sample_weight=weights))


CLASSIFICATION: Metrics = {
    "log_loss": (False, log_loss),
    "auc": (True, _auc),
    "average_precision": (True, _average_precision),
    "error": (False, _error),
    "accuracy": (True, _accuracy),
    "balanced_accuracy": (True, _on_labels(sk.balanced_accuracy_score)),
    "g_mean": (True, _g_mean),
    "f1": (True, _f1),
    "macro_f1": (True, _macro_f1),
    "mcc": (True, _on_labels(sk.matthews_corrcoef)),
    "quadratic_kappa": (True, _quadratic_kappa),
    "brier": (False, _brier),
}
OF_PROBABILITIES = ("log_loss", "brier")

REGRESSION: Metrics = {
    "rmse": (False, rmse),
    "mse": (False, _mse),
    "mae": (False, _mae),
    "median_absolute_error": (False, _on_prediction(sk.median_absolute_error)),
    "mape": (False, _mape),
    "rmsle": (False, _rmsle),
    "r2": (True, _on_prediction(sk.r2_score)),
}


def resolve_metrics(
    eval_metric: Any, classes: Classes | None, loss: BaseLoss
) -> list[Metric | UserMetric]:
    """Return the metrics that `eval_metric` selects; classes are None in regression."""
    known = known_metrics(classes, loss)
    return [resolve_metric(one, known, classes) for one in listed(eval_metric, loss)]


def listed(eval_metric: Any, loss: BaseLoss) -> list[Any]:
    """Return `eval_metric` as a list; None is the metric of the loss."""
    is_list = isinstance(eval_metric, list | tuple)
    return list(eval_metric) if is_list else [eval_metric or loss.metric]


def known_metrics(classes: Classes | None, loss: BaseLoss) -> dict[str, Any]:
    """Return the metrics for the predictions of a loss: the fields of `Metric` after the name."""
    one = loss.single_output
    known: dict[str, Any]
    known = _regression_metrics(one) if classes is None else _classification_metrics(one)
    if loss.n_targets > 1:
        known = {name: (higher, _mean_over(measure)) for name, (higher, measure) in known.items()}
    if isinstance(loss, FormulaLoss):
        of_scores = {loss.metric: (False, loss.mean, True)}
        return known | of_scores if loss.predicts_targets else dict(of_scores)
    return known


def metric_of_loss(model: Any) -> dict[str, Measure]:
    """Return the metric of a boosted regressor's loss, unless that is one of the usual metrics."""
    task = getattr(internals(model), "task", None) if hasattr(model, "__hedgerow__") else None
    if task is None:
        return {}
    loss = task.choose_loss(model, None)
    metrics = known_metrics(None, loss)
    if loss.metric in REGRESSION or loss.metric not in metrics:
        return {}
    return {loss.metric: metrics[loss.metric][1]}


def _mean_over(measure: Measure) -> Measure:
    """Return the mean of a measure over the columns of the target."""

    def measure_all(target: Floats, prediction: Floats, weights: Floats | None) -> float:
        columns = zip(target.T, prediction.T, strict=True)
        return float(np.mean([measure(y, at, weights) for y, at in columns]))

    return measure_all


def _regression_metrics(loss: BaseLoss) -> Metrics:
    """Return the metrics that the loss's predictions allow."""
    if isinstance(loss, QuantileLoss):
        several: Metrics = {"pinball": (False, partial(_pinball, loss.at))}
        return several if loss.n_outputs > 1 else REGRESSION | several
    if isinstance(loss, ExpectileLoss):
        return REGRESSION | {"expectile": (False, partial(_expectile, loss.level))}
    if isinstance(loss, TweedieLoss):
        return REGRESSION | {loss.metric: (False, partial(_deviance, loss.power))}
    if isinstance(loss, BernoulliLogLoss):
        return REGRESSION | {"log_loss": (False, _bernoulli)}
    return REGRESSION


def _classification_metrics(loss: BaseLoss) -> Metrics:
    if loss.link == "margin":
        return {name: of for name, of in CLASSIFICATION.items() if name not in OF_PROBABILITIES}
    if isinstance(loss, FocalLoss):
        return CLASSIFICATION | {"focal": (False, partial(_focal, loss.gamma))}
    if loss.is_soft:
        measure = _bernoulli if loss.n_outputs == 1 else _cross_entropy
        return {"cross_entropy": (False, measure)}
    return CLASSIFICATION


def _pinball(levels: Sequence[float], target: Floats, prediction: Floats, weights: Any) -> float:
    """Return the pinball loss, averaged over the levels."""
    columns = prediction.reshape(len(target), -1).T
    losses = []
    for level, column in zip(levels, columns, strict=True):
        r = target - column
        losses.append(weighted_mean(np.where(r > 0.0, level, level - 1.0) * r, weights))
    return float(np.mean(losses))


def d2_pinball(levels: Sequence[float], target: Floats, prediction: Floats, weights: Any) -> float:
    """Return the fraction by which predictions reduce the pinball loss of the best constants.

    If all targets are equal, 1 for perfect predictions and 0 otherwise, like scikit-learn's R².
    """
    best = np.tile(QuantileLoss(levels).base_score(target, weights), (len(target), 1))
    ours, constant = (_pinball(levels, target, at, weights) for at in (prediction, best))
    if constant == 0.0:
        return float(ours == 0.0)
    return 1.0 - ours / constant


def _expectile(level: float, target: Floats, prediction: Floats, weights: Any) -> float:
    r = target - prediction
    return weighted_mean(np.where(r > 0.0, level, 1.0 - level) * r * r, weights)


def _deviance(power: float, target: Floats, prediction: Floats, weights: Floats | None) -> float:
    """Return the mean Tweedie deviance; its powers are exponentials of our own logarithms."""
    mean = np.maximum(prediction, np.finfo(np.float64).tiny)
    log_mean, log_target = log(mean), log(np.where(target > 0.0, target, 1.0))
    with np.errstate(over="ignore"):
        if power == 1.0:
            half = target * (log_target - log_mean) - target + mean
        elif power == 2.0:
            half = target / mean - (log_target - log_mean) - 1.0
        else:
            target_part = np.where(target > 0.0, exp((2.0 - power) * log_target), 0.0)
            half = (
                target_part / ((1.0 - power) * (2.0 - power))
                - target * exp((1.0 - power) * log_mean) / (1.0 - power)
                + exp((2.0 - power) * log_mean) / (2.0 - power)
            )
        return 2.0 * weighted_mean(half, weights)


def _bernoulli(target: Floats, prediction: Floats, weights: Any) -> float:
    p = np.clip(prediction, np.finfo(np.float64).eps, 1.0 - np.finfo(np.float64).eps)
    of_other = -p
    _native.log1p_inplace(of_other)
    return -weighted_mean(target * _log(p) + (1.0 - target) * of_other, weights)


def _focal(gamma: float, target: Floats, prediction: Floats, weights: Any) -> float:
    p = np.where(target == 1.0, prediction, 1.0 - prediction)
    factor = exp(gamma * log(np.maximum(1.0 - p, 0.0))) if gamma else 1.0
    return -weighted_mean(factor * _log(p), weights)


def _cross_entropy(target: Floats, prediction: Floats, weights: Any) -> float:
    return -weighted_mean((target * _log(prediction)).sum(axis=1), weights)


# Measures that are means over rows, which workers that share the rows find together.
MEANS = (
    *(log_loss, rmse, _mse, _mae, _mape, _rmsle),
    *(_error, _accuracy, _brier, _bernoulli, _cross_entropy),
)


def resolve_metric(
    metric: Any, known: Mapping[str, Any], classes: Classes | None
) -> Metric | UserMetric:
    """Return a known metric by its name, or a function of the user's."""
    if hasattr(metric, "_score_func"):
        raise ParameterError(
            f"eval_metric={metric!r} is a scorer, which needs an estimator; pass the metric "
            "function that it is made from, or the name of a metric."
        )
    if callable(metric):
        return UserMetric(metric, classes)
    if metric not in known:
        hint = metric_instead(metric, known)
        raise ParameterError(
            f"eval_metric={metric!r} is not allowed; {hint}{'It' if hint else 'it'} must be a "
            f"function or one of {', '.join(known)}."
        )
    return Metric(metric, *known[metric])
