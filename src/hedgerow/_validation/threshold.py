"""A decision threshold for two classes, by the out-of-fold probabilities of a cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._curves import ThresholdCounts
from hedgerow._data.target import read_classification_target, read_weights
from hedgerow._decisions import DecisionClassifier
from hedgerow._params import NOT_NEGATIVE, NOTHING, Options, Parameter, any_of
from hedgerow._result import BROWN, GREEN, GREY, Columns, Result
from hedgerow._types import Floats
from hedgerow._validation.cross_validation import cross_validate
from hedgerow.exceptions import DataError, ParameterError

METRICS = ("g_mean", "balanced_accuracy", "f1", "mcc", "accuracy")
_METRIC = Parameter("metric", "g_mean", Options(METRICS), "")
_COSTS = [
    Parameter(name, None, any_of(NOT_NEGATIVE, NOTHING), "")
    for name in ("cost_false_positive", "cost_false_negative")
]


def tune_threshold(
    model: Any,
    X: Any,
    y: Any,
    *,
    metric: str = "g_mean",
    cost_false_positive: float | None = None,
    cost_false_negative: float | None = None,
    pos_label: Any = None,
    cv: Any = 5,
    sample_weight: Any = None,
) -> ThresholdChoice:
    """Return the decision threshold that is best on the holdouts of a cross-validation.

    Parameters
    ----------
    model : classifier
        Any with `predict_proba`, for two classes. It is not changed.
    X, y : rows and their classes
        The training set.
    metric : {"g_mean", "balanced_accuracy", "f1", "mcc", "accuracy"}
        The metric to maximise: the geometric or arithmetic mean of the recalls of both classes, F1
        of the positive class, Matthews correlation, or accuracy.
    cost_false_positive, cost_false_negative : float, optional
        Costs of the two kinds of errors; both or neither. The expected cost is then minimised
        instead of the metric.
    pos_label : class, optional
        The positive class; by default the second of the two.
    cv : int, splitter, or iterable of (train, test) row indices
        As in `cross_validate`.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows, for fits and for the metric.

    Returns
    -------
    ThresholdChoice
        ``classifier()`` returns the model with this threshold, to be fitted; ``plot()`` draws the
        metric over all thresholds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import hedgerow as hr
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> choice = hr.tune_threshold(hr.RandomForestClassifier(n_estimators=30), X, y, cv=3)
    >>> choice.classifier().fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """
    _METRIC.check(metric)
    costs = (cost_false_positive, cost_false_negative)
    for parameter, cost in zip(_COSTS, costs, strict=True):
        parameter.check(cost)
    if (cost_false_positive is None) != (cost_false_negative is None):
        raise ParameterError("pass both cost_false_positive and cost_false_negative, or neither.")
    validation = cross_validate(
        model, X, y, cv=cv, sample_weight=sample_weight, method="predict_proba"
    )
    classes, index = read_classification_target(y)
    positive = _positive(classes, pos_label)
    known = np.isfinite(validation.oof_prediction[:, positive])
    weights = read_weights(sample_weight, len(index))
    counts = ThresholdCounts.of(
        index[known] == positive,
        validation.oof_prediction[known, positive],
        None if weights is None else weights[known],
    )
    name = "cost" if cost_false_positive is not None else metric
    values = _values(counts, name, *costs)
    best = _best(counts.thresholds, -values if name == "cost" else values)
    return ThresholdChoice(
        threshold=_between(counts.thresholds, best),
        metric=name,
        thresholds=counts.thresholds,
        values=values,
        model=model,
        pos_label=classes.tolist()[positive],
    )


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdChoice(Result):
    """A decision threshold, and the metric over all of them.

    Attributes
    ----------
    threshold : float
        The best threshold, midway between two out-of-fold probabilities.
    metric : str
        The metric, or "cost".
    thresholds : array of shape (n_thresholds,)
        The out-of-fold probabilities of the positive class in decreasing order; the first is
        infinite.
    values : array of shape (n_thresholds,)
        The metric, or the expected cost per row, at each.
    model : classifier
        The model, not fitted.
    pos_label : class
        The positive class.
    """

    threshold: float
    metric: str
    thresholds: Floats
    values: Floats
    model: Any
    pos_label: Any

    @property
    def best_value(self) -> float:
        """The metric, or the cost, at the best threshold."""
        return float(self.values[_place(self.thresholds, self.threshold)])

    def classifier(self) -> DecisionClassifier:
        """Return the model with this threshold, to be fitted."""
        options = {"decision_threshold": self.threshold, "pos_label": self.pos_label}
        return DecisionClassifier(self.model, **options)

    def _title(self) -> str:
        return f"ThresholdChoice: {self.metric} of {type(self.model).__name__}"

    def _figures(self) -> dict[str, float]:
        return {
            "threshold": self.threshold,
            self.metric: self.best_value,
            f"{self.metric} at ½": float(self.values[_place(self.thresholds, 0.5)]),
        }

    def _columns(self) -> Columns:
        return {"threshold": self.thresholds, self.metric: self.values}

    def _repr_columns(self) -> Columns:
        return {}

    def _draw(self, ax: Any) -> None:
        ax.step(self.thresholds[1:], self.values[1:], where="post", color=GREEN, label=self.metric)
        ax.axvline(0.5, color=GREY, linestyle=":", linewidth=1, label="½")
        label = f"best: {self.threshold:.3g}"
        ax.plot([self.threshold], [self.best_value], "o", color=BROWN, label=label, zorder=4)
        ax.set(xlabel=f"threshold for {self.pos_label}", ylabel=self.metric, xlim=(-0.01, 1.01))
        ax.legend(frameon=False)


def _positive(classes: Any, pos_label: Any) -> int:
    if len(classes) != 2:
        raise DataError(f"y has {len(classes)} classes, but a threshold is for two.")
    labels = classes.tolist()
    if pos_label is None:
        return 1
    if pos_label not in labels:
        raise ParameterError(f"pos_label={pos_label!r} is not allowed; it must be one of {labels}.")
    return int(labels.index(pos_label))


def _values(
    counts: ThresholdCounts, metric: str, false_positive: Any, false_negative: Any
) -> Floats:
    """Return the metric at each threshold, or the expected cost."""
    if metric == "cost":
        return counts.cost(false_positive, false_negative)
    tp, fp = counts.true_positive, counts.false_positive
    fn, tn = counts.positive - tp, counts.negative - fp
    recall, specificity = counts.tpr, 1.0 - counts.fpr
    if metric == "g_mean":
        return np.sqrt(recall * np.maximum(specificity, 0.0))
    if metric == "balanced_accuracy":
        return (recall + specificity) / 2.0
    if metric == "accuracy":
        return (tp + tn) / (counts.positive + counts.negative)
    if metric == "f1":
        return 2.0 * tp / (2.0 * tp + fp + fn)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    root = np.sqrt(np.maximum(product, 0.0))
    return np.divide(tp * tn - fp * fn, root, out=np.zeros_like(root), where=root > 0.0)


def _best(thresholds: Floats, values: Floats) -> int:
    """Return the index of the largest value; no threshold below 1 excludes a probability of 1."""
    first = int(thresholds[1] >= 1.0)
    return first + int(values[first:].argmax())


def _between(thresholds: Floats, best: int) -> float:
    """Return the middle between a threshold and the next lower one, within [0, 1]."""
    low = float(thresholds[best + 1]) if best + 1 < len(thresholds) else 0.0
    return 0.5 * min(float(thresholds[best]), 1.0) + 0.5 * low


def _place(thresholds: Floats, threshold: float) -> int:
    return int(np.count_nonzero(thresholds >= threshold)) - 1
