"""Models by the names that ``--model`` takes, their parameters, and the arguments of their fits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import hedgerow as hr
from hedgerow._arguments import unknown_parameter
from hedgerow._cli.choices import MODELS
from hedgerow._cli.dataset import LabeledDataset, suggestion
from hedgerow._cli.tasks import TaskChoice
from hedgerow._params import Parameter, parameters_of
from hedgerow.exceptions import ParameterError

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
    if dataset.groups is not None and "groups" in accepted:
        options["groups"] = dataset.groups
    return options


def load_model(path: Path) -> Any:
    """Load a model that can predict."""
    model = hr.load(path)
    if not hasattr(model, "predict"):
        raise ParameterError(f"{path} has a {type(model).__name__}, which cannot predict.")
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
