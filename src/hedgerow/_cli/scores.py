"""The metrics that `train` and `evaluate` report."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from sklearn import metrics as sk
from sklearn.base import is_classifier

import hedgerow as hr
from hedgerow._boosting.metrics import CLASSIFICATION, REGRESSION, metric_of_loss
from hedgerow._cli.dataset import LabeledDataset, suggestion
from hedgerow._data.names import listed
from hedgerow._data.target import read_classification_target, read_regression_target, read_weights
from hedgerow._validation.predictions import WithOffset
from hedgerow._validation.scoring import OWN_SCORE
from hedgerow.exceptions import DataError, ParameterError

Scores = dict[str, float]

_CLASSIFICATION = ("log_loss", "auc", "accuracy")
_REGRESSION = ("rmse", "mae", "r2")
_SCORE_NAMES = {"ranking": "ndcg", "survival": "concordance"}  # what `score` returns
_TOP = 10  # of a ranking


def measure(model: Any, dataset: LabeledDataset, positive: str | None = None) -> Scores:
    """Return the metrics by name; NaN where the rows do not define one.

    With a positive class, of this call or of the training, precision, recall and the like of that
    class are added.
    """
    require_truth(model, dataset)
    scores, label = _measure(model, dataset), chosen_class(positive, model)
    if label is None:
        return scores
    rows = dataset.X, dataset.y, dataset.weights
    on_rows = model if dataset.offset is None else WithOffset(model, dataset.offset)
    return scores | {
        name: _class_score(label, name, on_rows, *rows) for name in _class_metrics(model)
    }


def _measure(model: Any, dataset: LabeledDataset) -> Scores:
    if isinstance(model, hr.GradientBoostingRanker):
        return _score_ranking(model, dataset)
    if isinstance(model, hr.GradientBoostingSurvival):
        options = {"sample_weight": dataset.weights} | dataset.of_predictions
        score = model.score(dataset.X, dataset.y, **options)
        return {_SCORE_NAMES["survival"]: float(score)}
    if is_classifier(model):
        return _score_classes(model, dataset)
    return _score_numbers(model, dataset)


def fold_scores(model: Any, task: str, positive: Any = None) -> Any:
    """Return the metrics of `measure` for `cross_validate`, as far as it has them."""
    if task in _SCORE_NAMES:
        return {_SCORE_NAMES[task]: OWN_SCORE}
    if task != "classification":
        return list(_number_metrics(model))
    names = _CLASSIFICATION if hasattr(model, "predict_proba") else ("accuracy",)
    scores: dict[str, Any] = dict(zip(names, names, strict=True))
    if positive is not None:
        scores |= {name: _class_scorer(positive, name) for name in _class_metrics(model)}
    return scores


def chosen_class(text: str | None, model: Any) -> Any:
    """Return the class of ``--positive-class``, or the one with which a model was trained."""
    if text is None:
        return getattr(model, "positive_class_", None)
    return positive_class(text, model)


def positive_class(text: str, model: Any, classes: Any = None) -> Any:
    """Return the class that ``--positive-class`` names, as the label of the model."""
    classes = getattr(model, "classes_", None) if classes is None else classes
    if not (is_classifier(model) and isinstance(classes, np.ndarray)):
        name = type(model).__name__
        raise ParameterError(f"--positive-class {text}: a {name} does not predict classes.")
    by_text = {_text_of(label): label for label in classes.tolist()}
    if _text_of(text) not in by_text:
        raise ParameterError(
            f"--positive-class {text}: there is no such class. {suggestion(text, by_text)}"
        )
    return by_text[_text_of(text)]


def _text_of(label: Any) -> str:
    """Return a class as users type it: 1 for 1.0, true for True."""
    if isinstance(label, bool) or (isinstance(label, str) and label.lower() in ("true", "false")):
        return str(label).lower()
    try:
        return f"{float(label):g}"
    except ValueError:
        return str(label)


def _class_metrics(model: Any) -> list[str]:
    """Return the names of the metrics of one class against the others."""
    ranking = ["average_precision"] if hasattr(model, "predict_proba") else []
    return [*ranking, "precision", "recall", "f1"]


def _class_score(
    label: Any, name: str, model: Any, X: Any, y: Any, sample_weight: Any = None
) -> float:
    """Return a metric of one class against the others; NaN if no row has the class."""
    truth = np.asarray(y == label)
    if not truth.any():
        return math.nan
    if name == "average_precision":
        predicted = model.predict_proba(X)[:, model.classes_.tolist().index(label)]
    else:
        predicted = np.asarray(model.predict(X) == label)
    options = {} if name == "average_precision" else {"zero_division": 0.0}
    measure = getattr(sk, f"{name}_score")
    return float(measure(truth, predicted, sample_weight=sample_weight, **options))


def _class_scorer(label: Any, name: str) -> Any:
    """Return a metric of one class as a scorer for `cross_validate`."""
    scorer = partial(_class_score, label, name)
    scorer._score_func = _with_weights  # type: ignore[attr-defined]  # noqa: SLF001
    return scorer


def _with_weights(y: Any, prediction: Any, sample_weight: Any = None) -> None:
    """Show `cross_validate` by its signature that a scorer takes weights."""


def require_truth(model: Any, dataset: LabeledDataset) -> None:
    """Refuse a dataset of another task than the model's."""
    name = type(model).__name__
    for option, is_passed, task, kind in (
        ("--qid", dataset.qid is not None, "ranking", hr.GradientBoostingRanker),
        ("--event", np.ndim(dataset.y) == 2, "survival", hr.GradientBoostingSurvival),
    ):
        if isinstance(model, kind) and not is_passed:
            raise ParameterError(f"a {name} needs {option}.")
        if is_passed and not isinstance(model, kind):
            raise ParameterError(f"{option} is for {task}, not for a {name}.")


def _score_ranking(model: Any, dataset: LabeledDataset) -> Scores:
    def ndcg(k: int | None) -> float:
        truth = {"qid": dataset.qid, "sample_weight": dataset.weights} | dataset.of_predictions
        return float(model.score(dataset.X, dataset.y, k=k, **truth))

    return {f"ndcg@{_TOP}": ndcg(_TOP), _SCORE_NAMES["ranking"]: ndcg(None)}


def _score_classes(model: Any, dataset: LabeledDataset) -> Scores:
    numbers, options = _class_numbers(model, dataset), dataset.of_predictions
    weights = read_weights(dataset.weights, len(numbers))
    if not hasattr(model, "predict_proba"):
        predicted = np.searchsorted(model.classes_, model.predict(dataset.X, **options))
        return {"accuracy": float(sk.accuracy_score(numbers, predicted, sample_weight=weights))}
    p = model.predict_proba(dataset.X, **options)
    prediction = p[:, 1] if p.shape[1] == 2 else p
    all_occur = len(np.unique(numbers)) == len(model.classes_)
    return {
        name: CLASSIFICATION[name][1](numbers.astype(np.float64), prediction, weights)
        if all_occur or name != "auc"  # it compares each class with the others
        else math.nan
        for name in _CLASSIFICATION
    }


def _class_numbers(model: Any, dataset: LabeledDataset) -> Any:
    """Return the index of each row's class in the model."""
    labels, index = read_classification_target(dataset.y, dataset.n_rows, fewest_classes=1)
    require_classes(labels, model.classes_)
    return np.searchsorted(model.classes_, labels.astype(model.classes_.dtype))[index]


def require_classes(labels: Any, classes: Any) -> None:
    """Refuse a target with classes that the model was not trained on."""
    expected = set(classes.tolist())
    unknown = [label for label in labels.tolist() if label not in expected]
    if unknown:
        raise DataError(
            f"the target contains {listed(list(map(str, unknown)))}, but the classes of the model "
            f"are {listed(list(map(str, classes)))}."
        )


def _score_numbers(model: Any, dataset: LabeledDataset) -> Scores:
    target = read_regression_target(dataset.y, dataset.n_rows)
    prediction = model.predict(dataset.X, **dataset.of_predictions)
    if np.ndim(prediction) != 1:
        raise ParameterError("metrics are not available for several outputs or quantiles.")
    weights = read_weights(dataset.weights, len(target))
    return {
        name: measure(target, prediction, weights)
        for name, measure in _number_metrics(model).items()
    }


def _number_metrics(model: Any) -> dict[str, Any]:
    """Return the metrics of numbers by name; the one of the loss, such as a deviance, is first."""
    return metric_of_loss(model) | {name: REGRESSION[name][1] for name in _REGRESSION}
