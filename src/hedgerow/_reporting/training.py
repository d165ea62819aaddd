"""How a model was trained: parameters, automatic choices, learning curves and checksum."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from hedgerow._estimator import Estimator
from hedgerow._model_file.container import pack
from hedgerow._model_file.contents import write_estimator
from hedgerow._params import Parameter, parameters_of
from hedgerow._reporting.any_model import fitted_part, last_step, model_name, with_trees
from hedgerow.exceptions import ModelFileError

MOST_ROUNDS = 300  # of a learning curve, that are drawn


def training_summary(model: Any) -> dict[str, Any]:
    """Return the training history of a fitted model; of a pipeline, that of its last step."""
    name, model = model_name(model), with_trees(last_step(model))
    n_trees, best = _n_trees(model), getattr(model, "best_score_", None)
    return {
        "estimator": name,
        # For other models than trees, n_iter_ counts iterations of a solver.
        "n_rounds": None if n_trees is None else _integer(getattr(model, "n_iter_", None)),
        "n_trees": n_trees,
        "best_round": _integer(getattr(model, "best_iteration_", None)),
        "best_score": None if best is None else float(best),
        "choice": _choice(getattr(model, "auto_", None)),
        "curves": _learning_curves(model),
    }


def _integer(value: Any) -> int | None:
    return int(value) if isinstance(value, int | np.integer) else None


def _n_trees(model: Any) -> int | None:
    for holder in ("ensemble", "forest"):
        trees = fitted_part(model, holder)
        if trees is not None:
            return int(trees.n_trees)
    return None


def _choice(choice: Any) -> dict[str, Any] | None:
    if choice is None:
        return None
    return {
        "parameters": {name: text_of(value) for name, value in choice.parameters.items()},
        "n_members": choice.n_members,
        "metric": choice.metric,
        "n_folds": choice.n_folds,
        "best": choice.best,
        "tried": [
            {
                "parameters": {name: text_of(value) for name, value in trial.parameters.items()},
                "n_rounds": trial.n_rounds,
                "score": trial.score,
                "expected": trial.expected,
                "n_models": choice.n_models(trial),
            }
            for trial in choice.tried
        ],
    }


def _learning_curves(model: Any) -> list[dict[str, Any]]:
    """Return the metrics after each round, by evaluation set."""
    history = getattr(model, "evals_result_", None) or {}
    before = getattr(model, "n_initial_rounds_", 0)
    curves = []
    for metric in dict.fromkeys(name for by_metric in history.values() for name in by_metric):
        points = []
        for name, by_metric in history.items():
            values = by_metric.get(metric, [])
            rounds = np.unique(np.linspace(1, len(values), min(len(values), MOST_ROUNDS)).round())
            points += [
                {"set": name, "round": before + int(r), "value": float(values[int(r) - 1])}
                for r in rounds
                if len(values)
            ]
        curves.append({"metric": metric.replace("_", " "), "points": points})
    return curves


def parameter_table(model: Any) -> list[dict[str, Any]]:
    """Return each parameter: its value, whether it was set, and the automatic choice.

    A model of another library also has those of its parts, such as the steps of a pipeline.
    """
    if not hasattr(model, "get_params"):
        return []
    values = model.get_params(deep=not isinstance(model, Estimator))
    parts = {name: value for name, value in values.items() if _is_part(value)} | {"": model}
    table = []
    for name, value in values.items():
        owner, _, bare = name.rpartition("__")
        if owner in parts and (isinstance(model, Estimator) or not _has_parts(value)):
            table.append({"name": name} | _parameter(parts[owner], bare, value))
    return table


def _is_part(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def _has_parts(value: Any) -> bool:
    """Tell whether a parameter is an estimator, or a list that has some, such as steps."""
    if isinstance(value, list | tuple):
        return any(map(_has_parts, value))
    return _is_part(value)


def _parameter(owner: Any, name: str, value: Any) -> dict[str, Any]:
    """Return the entry of a parameter of a model or of a part of it."""
    known = _declared(owner).get(name)
    automatic = getattr(getattr(owner, "auto_", None), "parameters", {})
    return {
        "value": text_of(value),
        "is_set": known is not None and text_of(value) != text_of(known.default),
        "used": text_of(automatic[name]) if name in automatic else None,
        "description": getattr(known, "description", ""),
    }


def _declared(owner: Any) -> Mapping[str, Parameter | inspect.Parameter]:
    """Return the declarations of an estimator's parameters, or the arguments of its constructor."""
    if isinstance(owner, Estimator):
        return {parameter.name: parameter for parameter in parameters_of(owner)}
    return inspect.signature(type(owner)).parameters


def text_of(value: Any) -> str:
    """Return a parameter value as text, without the address of objects."""
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"


def reproducibility(model: Any) -> dict[str, Any]:
    """Return version, seed and checksum, to reproduce the model."""
    from hedgerow import __version__

    step = last_step(model)
    seed = getattr(step, "random_state", None)
    return {
        "is_ours": isinstance(model, Estimator),
        "version": __version__,
        "numpy": version("numpy"),
        "seed": text_of(seed) if hasattr(step, "random_state") else None,
        "is_seeded": isinstance(seed, int | np.integer),
        "digest": model_digest(model),
    }


def model_digest(model: Any) -> str | None:
    """Return the SHA-256 of the file that `save` would write; None if it cannot be saved."""
    if not isinstance(model, Estimator):
        return None
    try:
        return hashlib.sha256(pack(*write_estimator(model))).hexdigest()
    except (ModelFileError, TypeError):
        return None
