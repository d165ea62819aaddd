"""Models by the names that ``--model`` takes, and what their fits are given."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import hedgerow as hr
from hedgerow._cli.choices import MODELS
from hedgerow._cli.dataset import LabeledDataset
from hedgerow._cli.names import model_suggestion
from hedgerow._cli.parameters import read_parameters
from hedgerow._cli.tasks import TaskChoice
from hedgerow._params import parameters_of
from hedgerow.exceptions import ParameterError


def new_model(name: str, task: TaskChoice, given: tuple[str, ...], machine: dict[str, Any]) -> Any:
    """Return an estimator with the parameters that are given.

    `machine` are settings that a model need not have: seed, threads, lines of progress.
    """
    require_task(name, task.name)
    kind: type[Any] = getattr(hr, MODELS[name][task.name])
    parameters = {"loss": "poisson"} if task.name == "counts" else {}
    declared = {parameter.name for parameter in parameters_of(kind)}
    parameters |= {name: value for name, value in machine.items() if name in declared}
    return kind(**parameters | read_parameters(given, kind))


def require_task(name: str, task: str | None) -> None:
    """Refuse a task that a model is not for."""
    if task is not None and task not in MODELS[name]:
        raise ParameterError(f"--model {name} is not for {task}; gradient_boosting is.")


def fit_options(model: Any, dataset: LabeledDataset) -> dict[str, Any]:
    """Return what a fit is given beside X and y; refuse what the model cannot use."""
    taken = signature(model.fit).parameters
    options = {} if dataset.qid is None else {"qid": dataset.qid}
    if dataset.weights is not None:
        if "sample_weight" not in taken:
            raise ParameterError(f"--weights: {type(model).__name__} takes no weights.")
        options["sample_weight"] = dataset.weights
    if dataset.groups is not None and "groups" in taken:
        options["groups"] = dataset.groups
    return options


def load_model(path: Path) -> Any:
    """Load a model that can predict."""
    model = hr.load(path)
    if not hasattr(model, "predict"):
        raise ParameterError(f"{path} holds a {type(model).__name__}, which predicts nothing.")
    return model


def model_named(name: str) -> str:
    """Return a model's name, with - or _, or say which there are."""
    found = name.replace("-", "_")
    if found not in MODELS:
        raise ParameterError(f"--model {name}: there is no such model. {model_suggestion(found)}")
    return found
