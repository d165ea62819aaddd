"""How good a model is on rows that it has not seen: a few numbers that people ask for first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn import metrics as sk
from sklearn.base import is_classifier

import hedgerow as hr
from hedgerow._boosting.metrics import CLASSIFICATION, REGRESSION
from hedgerow._cli.dataset import LabeledDataset
from hedgerow._cli.names import suggestion
from hedgerow._data.schema import listed
from hedgerow._data.target import read_classification_target, read_regression_target, read_weights
from hedgerow._validation.scoring import OWN_SCORE
from hedgerow.exceptions import DataError, ParameterError

Scores = dict[str, float]

_OF_CLASSES = ("log_loss", "auc", "accuracy")
_OF_NUMBERS = ("rmse", "mae", "r2")
_OWN_SCORES = {"ranking": "ndcg", "survival": "concordance"}  # what `score` of a model tells
_TOP = 10  # of a ranking


def measure(model: Any, dataset: LabeledDataset, positive: str | None = None) -> Scores:
    """Return names and values of metrics; NaN where rows do not allow one.

    With a positive class, a classifier is also judged by how well it finds that one.
    """
    require_truth(model, dataset)
    found = _measure(model, dataset)
    if positive is None:
        return found
    judge = Finding(positive_class(positive, model))
    return found | judge.all(model, dataset.X, dataset.y, dataset.weights)


def _measure(model: Any, dataset: LabeledDataset) -> Scores:
    if isinstance(model, hr.GradientBoostingRanker):
        return _of_ranking(model, dataset)
    if isinstance(model, hr.GradientBoostingSurvival):
        found = model.score(dataset.X, dataset.y, sample_weight=dataset.weights)
        return {_OWN_SCORES["survival"]: float(found)}
    if is_classifier(model):
        return _of_classes(model, dataset)
    return _of_numbers(model, dataset)


def fold_scores(model: Any, task: str, positive: Any = None) -> Any:
    """Return what `cross_validate` is to measure: the same, as far as it knows it by name."""
    if task in _OWN_SCORES:
        return {_OWN_SCORES[task]: OWN_SCORE}
    if task != "classification":
        return list(_OF_NUMBERS)
    names = _OF_CLASSES if hasattr(model, "predict_proba") else ("accuracy",)
    scores: dict[str, Any] = dict(zip(names, names, strict=True))
    if positive is not None:
        judge = Finding(positive)
        scores |= {name: judge.scorer(name) for name in judge.names(model)}
    return scores


def positive_class(wanted: str, model: Any, classes: Any = None) -> Any:
    """Return the class that ``--positive-class`` names, as a model knows it."""
    classes = getattr(model, "classes_", None) if classes is None else classes
    if not (is_classifier(model) and isinstance(classes, np.ndarray)):
        name = type(model).__name__
        raise ParameterError(f"--positive-class {wanted}: a {name} does not predict classes.")
    by_text = {_text_of(label): label for label in classes.tolist()}
    if _text_of(wanted) not in by_text:
        raise ParameterError(
            f"--positive-class {wanted}: there is no such class. {suggestion(wanted, by_text)}"
        )
    return by_text[_text_of(wanted)]


def _text_of(label: Any) -> str:
    """Return a class as it is typed: 1 for 1.0, true for True."""
    if isinstance(label, bool) or (isinstance(label, str) and label.lower() in ("true", "false")):
        return str(label).lower()
    try:
        return f"{float(label):g}"
    except ValueError:
        return str(label)


@dataclass(frozen=True)
class Finding:
    """How well one class is found among the others."""

    label: Any

    def names(self, model: Any) -> list[str]:
        """Return what is measured."""
        of_ranks = ["average_precision"] if hasattr(model, "predict_proba") else []
        return [*of_ranks, "precision", "recall", "f1"]

    def all(self, model: Any, X: Any, y: Any, weights: Any) -> Scores:
        """Return all measures."""
        return {name: self.one(name, model, X, y, weights) for name in self.names(model)}

    def scorer(self, name: str) -> Any:
        """Return one measure as `cross_validate` takes it."""
        scorer = partial(self.one, name)
        scorer._score_func = _with_weights  # type: ignore[attr-defined]  # noqa: SLF001
        return scorer

    def one(self, name: str, model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Measure; NaN if the rows have none of the class."""
        truth = np.asarray(y == self.label)
        if not truth.any():
            return math.nan
        if name == "average_precision":
            k = model.classes_.tolist().index(self.label)
            seen = model.predict_proba(X)[:, k]
        else:
            seen = np.asarray(model.predict(X) == self.label)
        options = {} if name == "average_precision" else {"zero_division": 0.0}
        measure = getattr(sk, f"{name}_score")
        return float(measure(truth, seen, sample_weight=sample_weight, **options))


def _with_weights(y: Any, prediction: Any, sample_weight: Any = None) -> None:
    """Tell `cross_validate` by its signature that a scorer takes weights."""


def require_truth(model: Any, dataset: LabeledDataset) -> None:
    """Refuse rows of another task than the model's."""
    ranks = isinstance(model, hr.GradientBoostingRanker)
    if ranks != (dataset.qid is not None):
        name = type(model).__name__
        raise ParameterError(
            f"a {name} needs --qid." if ranks else f"--qid is for rankings; this is a {name}."
        )
    survives = isinstance(model, hr.GradientBoostingSurvival)
    has_events = np.ndim(dataset.y) == 2
    if survives != has_events:
        name = type(model).__name__
        raise ParameterError(
            f"a {name} needs --event." if survives else f"--event is for survival, not a {name}."
        )


def _of_ranking(model: Any, dataset: LabeledDataset) -> Scores:
    def ndcg(k: int | None) -> float:
        truth = {"qid": dataset.qid, "sample_weight": dataset.weights}
        return float(model.score(dataset.X, dataset.y, k=k, **truth))

    return {f"ndcg@{_TOP}": ndcg(_TOP), _OWN_SCORES["ranking"]: ndcg(None)}


def _of_classes(model: Any, dataset: LabeledDataset) -> Scores:
    numbers = _class_numbers(model, dataset)
    weights = read_weights(dataset.weights, len(numbers))
    if not hasattr(model, "predict_proba"):
        predicted = np.searchsorted(model.classes_, model.predict(dataset.X))
        return {"accuracy": float(sk.accuracy_score(numbers, predicted, sample_weight=weights))}
    p = model.predict_proba(dataset.X)
    prediction = p[:, 1] if p.shape[1] == 2 else p
    all_occur = len(np.unique(numbers)) == len(model.classes_)
    return {
        name: CLASSIFICATION[name][1](numbers.astype(np.float64), prediction, weights)
        if all_occur or name != "auc"  # which compares each class with the others
        else math.nan
        for name in _OF_CLASSES
    }


def _class_numbers(model: Any, dataset: LabeledDataset) -> Any:
    """Return the number of each row's class in the model."""
    found, index = read_classification_target(dataset.y, dataset.n_rows, fewest_classes=1)
    require_classes(found, model.classes_)
    return np.searchsorted(model.classes_, found.astype(model.classes_.dtype))[index]


def require_classes(found: Any, classes: Any) -> None:
    """Refuse a target with classes that a model does not know."""
    known = set(classes.tolist())
    unknown = [label for label in found.tolist() if label not in known]
    if unknown:
        raise DataError(
            f"the target holds {listed(list(map(str, unknown)))}, but the model knows the classes "
            f"{listed(list(map(str, classes)))}."
        )


def _of_numbers(model: Any, dataset: LabeledDataset) -> Scores:
    target = read_regression_target(dataset.y, dataset.n_rows)
    prediction = model.predict(dataset.X)
    if np.ndim(prediction) != 1:
        raise ParameterError("a model of several outputs or quantiles has no score here.")
    weights = read_weights(dataset.weights, len(target))
    return {name: REGRESSION[name][1](target, prediction, weights) for name in _OF_NUMBERS}
