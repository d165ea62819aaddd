"""What is learned, and by which model.

The task is that of ``--task``, or inferred from the target with the reason. Models have the names
that ``--model`` takes, their parameters, and the arguments of their fits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import hedgerow as hr
from hedgerow._arguments import unknown_parameter
from hedgerow._cli.choices import MODELS
from hedgerow._cli.csv_file import non_numeric_values
from hedgerow._cli.dataset import LabeledDataset, Roles, suggestion
from hedgerow._data.names import listed
from hedgerow._params import Parameter, parameters_of
from hedgerow.exceptions import DataError, ParameterError

# The models of ``--model`` under the names of other libraries and textbooks.
_ALIASES = {
    "gradient_boosting": (
        *("xgboost", "xgb", "lightgbm", "lgbm", "lgb", "catboost", "gbm", "gbdt", "gbt", "gbrt"),
        *("mart", "hist_gradient_boosting", "boosting", "boosted_trees", "gradient_boosted_trees"),
        *("lambdamart", "cox", "coxph", "poisson", "dart", "h2o", "ngboost"),
    ),
    "random_forest": ("rf", "forest", "random_forests", "ranger", "randomforest"),
    "extra_trees": ("et", "extra_tree", "extremely_randomized_trees"),
    "decision_tree": ("dt", "tree", "cart", "rpart", "c45", "id3"),
    "bagging": ("bag", "bagged_trees"),
    "adaboost": ("ada", "ada_boost", "samme", "adaboost_m1", "logitboost", "gentleboost"),
    "stagewise": ("forward_stagewise", "additive_model", "l2boost"),
    "svm": ("svc", "svr", "nusvc", "nusvr", "libsvm", "kernel_svm", "support_vector_machine"),
    "linear_svm": ("linear_svc", "linear_svr", "liblinear"),
    "neighbors": ("knn", "k_neighbors", "nearest_neighbors", "kneighbors", "neighbours"),
}
# Models that Hedgerow does not have, by the most similar one.
_SUBSTITUTES = {
    "linear_svm": (
        *("logistic_regression", "logistic", "logreg", "linear", "linear_regression", "ridge"),
        *("lasso", "elastic_net", "sgd", "perceptron", "glm", "lm", "lda", "linear_model"),
    ),
    "gradient_boosting": (
        *("mlp", "neural_network", "nn", "tabnet", "tabpfn", "naive_bayes", "gaussian_nb"),
        *("gaussian_process", "gp", "gam", "ebm", "mars", "automl"),
    ),
}
_CONSTANTS = {"none": None, "null": None, "true": True, "false": False}
# Integer targets are classes if they count from 0 or 1 and there are at most this many.
_MOST_NUMBERED_CLASSES = 10
# Text with more distinct values is hardly a class target, unless each value has many rows.
_MANY_CLASSES, _ROWS_PER_CLASS = 100, 10


@dataclass(frozen=True)
class TaskChoice:
    """A task and the reason for choosing it."""

    name: str
    why: str


def find_task(task: str | None, dataset: LabeledDataset, roles: Roles) -> TaskChoice:
    """Return the task of ``--task``, or the one that the target suggests."""
    implied = _implied(dataset, roles)
    if task is None:
        return implied or _inferred(dataset.y, f"column {roles.target!r} (--target)")
    if implied is not None and implied.name != task:
        raise ParameterError(
            f"--task {task} is not possible: the task is {implied.name}, {implied.why}."
        )
    if task in ("ranking", "survival") and implied is None:
        option = "--qid" if task == "ranking" else "--event"
        raise ParameterError(f"--task {task} needs {option}.")
    return TaskChoice(task, "as set by --task")


def has_numeric_target(task: str | None, event: str | None, qid: str | None) -> bool:
    """Tell whether the target must be numeric, before it is read."""
    return task in ("regression", "counts") or (event is None) != (qid is None)


def _implied(dataset: LabeledDataset, roles: Roles) -> TaskChoice | None:
    """Return the task that columns other than the target imply."""
    if roles.event is not None and dataset.qid is not None:
        raise ParameterError("--event is for survival and --qid for ranking: use one of them.")
    if roles.event is not None:
        return TaskChoice("survival", f"since --event {roles.event} is given")
    if dataset.qid is not None:
        source = "the file has queries" if roles.qid is None else f"--qid {roles.qid} is given"
        return TaskChoice("ranking", f"since {source}")
    return None


def _inferred(y: Any, where: str) -> TaskChoice:
    values = pd.Series(y)
    distinct = values.dropna().unique()
    if pd.api.types.is_bool_dtype(values):
        return TaskChoice("classification", "since the target is true or false")
    if not pd.api.types.is_numeric_dtype(values):
        _require_classes(values, len(distinct), where)
        return TaskChoice(
            "classification", f"since the target is text with {len(distinct):,} distinct values"
        )
    numbers = np.sort(np.asarray(distinct, np.float64))
    if not (numbers == np.round(numbers)).all():
        return TaskChoice("regression", "since the target has non-integer numbers")
    if len(numbers) == 2:
        return TaskChoice("classification", f"since the target is {numbers[0]:g} or {numbers[1]:g}")
    is_consecutive = np.array_equal(numbers, numbers[0] + np.arange(len(numbers)))
    if len(numbers) <= _MOST_NUMBERED_CLASSES and numbers[0] in (0, 1) and is_consecutive:
        return TaskChoice(
            "classification",
            f"since the target is the integers {numbers[0]:g} to {numbers[-1]:g}",
        )
    hint = "; for counts, use --task counts" if numbers[0] >= 0 else ""
    return TaskChoice(
        "regression", f"since the target has {len(numbers):,} distinct integers{hint}"
    )


def _require_classes(values: Any, n_classes: int, where: str) -> None:
    """Refuse text that was probably not meant to be classes."""
    others = non_numeric_values(pa.array(values.dropna().astype(str), pa.string()))
    as_classes = "--task classification makes each value a class"
    if n_classes > _MOST_NUMBERED_CLASSES and others is not None and others.is_nearly_numeric:
        raise DataError(
            f"{where} has {n_classes:,} distinct values, and {others}. If these mean missing, use "
            f"{others.option} --drop-missing-target. Otherwise {as_classes}."
        )
    if n_classes > max(_MANY_CLASSES, len(values) // _ROWS_PER_CLASS):
        some = listed([str(value) for value in values.dropna().unique()[:3]])
        raise DataError(
            f"{where} is text with {n_classes:,} distinct values in {len(values):,} rows (such as "
            f"{some}): is it the right column? {as_classes}."
        )


def new_model(
    name: str, task: TaskChoice, assignments: tuple[str, ...], common: dict[str, Any]
) -> Any:
    """Return an estimator with the parameters of ``--param``.

    `common` are parameters that not every model has: seed, threads, verbosity.
    """
    require_task(name, task.name)
    kind: type[Any] = getattr(hr, MODELS[name][task.name])
    parameters = {"loss": "poisson"} if task.name == "counts" else {}
    declared = {parameter.name for parameter in parameters_of(kind)}
    parameters |= {name: value for name, value in common.items() if name in declared}
    return kind(**parameters | read_parameters(assignments, kind))


def require_task(name: str, task: str | None) -> None:
    """Refuse a task that a model does not support."""
    if task is not None and task not in MODELS[name]:
        raise ParameterError(f"--model {name} does not support {task}; use gradient_boosting.")


def fit_options(model: Any, dataset: LabeledDataset) -> dict[str, Any]:
    """Return the arguments of a fit beside X and y; refuse those that the model cannot use."""
    accepted = signature(model.fit).parameters
    options = {} if dataset.qid is None else {"qid": dataset.qid}
    if dataset.weights is not None:
        if "sample_weight" not in accepted:
            raise ParameterError(f"--weights: {type(model).__name__} does not support weights.")
        options["sample_weight"] = dataset.weights
    if dataset.offset is not None:
        require_offset(model, "")
        options["offset"] = dataset.offset
    if dataset.groups is not None and "groups" in accepted:
        options["groups"] = dataset.groups
    return options


def require_offset(model: Any, name: str | None) -> None:
    """Refuse an offset for a model that is no gradient boosting."""
    if name is not None and "offset" not in signature(model.fit).parameters:
        raise ParameterError(f"--offset: a {type(model).__name__} has no scores to add it to.")


def load_model(path: Path) -> Any:
    """Load a model that can predict."""
    model = hr.read_model(path)
    if not hasattr(model, "predict"):
        raise ParameterError(f"{path} contains a {type(model).__name__}, which cannot predict.")
    return model


def find_family(name: str) -> str:
    """Return the model family of ``--model``, with - or _, or raise with a suggestion."""
    family = name.replace("-", "_")
    if family not in MODELS:
        raise ParameterError(f"--model {name}: there is no such model. {model_suggestion(family)}")
    return family


def model_suggestion(name: str) -> str:
    """Return a sentence about a name that may be that of a model in another library."""
    bare = _bare(name)
    for ours, names in _ALIASES.items():
        if bare in map(_bare, (ours, *MODELS[ours].values(), *names)):
            return f"Use {ours!r}, which corresponds to it."
    for ours, names in _SUBSTITUTES.items():
        if bare in map(_bare, names):
            return f"Hedgerow does not have it; {ours!r} is the most similar."
    return suggestion(name, MODELS)


def _bare(name: str) -> str:
    """Return a name without case, punctuation and suffixes: XGBClassifier becomes xgb."""
    letters = "".join(letter for letter in name.lower() if letter.isalnum())
    for end in ("classifier", "regressor", "ranker", "survival"):
        if letters != end:
            letters = letters.removesuffix(end)
    return letters


def read_parameters(assignments: Iterable[str], estimator: type[Any]) -> dict[str, Any]:
    """Parse ``name=value`` arguments for an estimator; raise `ParameterError` if not allowed."""
    declared = {parameter.name: parameter for parameter in parameters_of(estimator)}
    values: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip()
        if not (name and equals):
            raise ParameterError(f"--param {assignment}: write name=value.")
        if name not in declared:
            raise ParameterError(
                f"--param {name}: {unknown_parameter(name, estimator, list(declared))}"
            )
        values[name] = _parse(text.strip(), declared[name])
    return values


def _parse(text: str, parameter: Parameter) -> Any:
    """Return the first interpretation of a text that the parameter allows."""
    candidates = list(_interpretations(text))
    for value in candidates:
        if value in parameter.allowed:
            return value
    parameter.check(candidates[0])
    return candidates[0]


def _interpretations(text: str) -> Iterator[Any]:
    """Yield what a text may mean: a constant, a number, JSON, a string, a list of names."""
    if text.lower() in _CONSTANTS:
        yield _CONSTANTS[text.lower()]
    for kind in (int, float, json.loads):
        try:
            yield kind(text)
        except (ValueError, RecursionError):
            continue
    yield text
    if "," in text:
        yield [name.strip() for name in text.split(",")]
