"""Stagewise boosting ↔ a model file: the initial model, and each stage's base model and step."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hedgerow._contract import internals
from hedgerow._estimator import Estimator
from hedgerow._model_file.base_models import (
    read_base_models,
    require_classes,
    require_columns,
    require_numbers,
    require_one_tree,
)
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import (
    Stored,
    is_number,
    read_columns,
    read_initial_rounds,
    read_some_classes,
    require,
    with_prefix,
    write_classes,
    write_columns,
    write_initial_rounds,
    write_list,
)
from hedgerow._stagewise.losses import Link
from hedgerow._stagewise.model import AdditiveModel, Stage

_SIGNS = np.array([-1, 1])
_HISTORIES = ("train_score_", "validation_score_")


def write(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted model."""
    from hedgerow._model_file.contents import write_estimator

    model: AdditiveModel = internals(estimator).model()
    fitted = vars(estimator)
    classes = fitted.get("classes_")
    document: Document = write_columns(estimator) | {
        "link": model.link,
        "n_outputs": model.n_outputs,
        "shrinkage": [stage.shrinkage for stage in model.stages],
        "steps_are_by_leaf": [not isinstance(stage.step, float) for stage in model.stages],
        "classes": None if classes is None else write_classes(classes),
        "best_iteration": fitted.get("best_iteration_"),
        "best_score": fitted.get("best_score_"),
        "histories": [name for name in _HISTORIES if name in fitted],
    }
    document |= write_initial_rounds(fitted)
    learners, arrays = write_list("learners", [write_estimator(s.learner) for s in model.stages])
    starts = [] if isinstance(model.start, np.ndarray) else [write_estimator(model.start)]
    start, start_arrays = write_list("start", starts)
    arrays |= start_arrays
    if not starts:
        arrays["start_scores"] = model.start
    arrays |= {
        f"steps.{number}": np.atleast_1d(np.asarray(stage.step, np.float64))
        for number, stage in enumerate(model.stages)
    }
    arrays |= with_prefix("history.", {name: fitted[name] for name in document["histories"]})
    return document | learners | start, arrays


def read(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    attributes = read_columns(stored, may_have_none=True)
    classes = read_some_classes(stored.field("classes"), kind)
    if classes is not None:
        attributes["classes_"] = classes
    model = _read_model(stored)
    _check_outputs(model, classes)
    _check_base_models(model, attributes)
    steps = [stage.step for stage in model.stages]
    are_numbers = all(isinstance(step, float) for step in steps)
    attributes |= {
        "_model": model,
        "n_iter_": model.n_rounds,
        "n_initial_rounds_": read_initial_rounds(stored, model.n_rounds),
        "init_": model.start,
        "estimators_": [stage.learner for stage in model.stages],
        "steps_": np.array(steps, np.float64) if are_numbers else steps,
    }
    names = stored.field("histories")
    are_names = isinstance(names, list) and all(name in _HISTORIES for name in names)
    require(are_names and len(set(names)) == len(names), "names of histories are unknown")
    histories = stored.arrays("history.", names)
    attributes |= {name: _numbers(array, name) for name, array in histories.items()}
    iteration, score = stored.field("best_iteration"), stored.field("best_score")
    require((iteration is None) == (score is None), "best_iteration or best_score is missing")
    if iteration is not None:
        require(type(iteration) is int and iteration >= 1, "best_iteration is not a number")
        require(is_number(score), "best_score is not a number")
        attributes |= {"best_iteration_": iteration, "best_score_": score}
    return attributes


def _read_model(stored: Stored) -> AdditiveModel:
    link, n_outputs = stored.field("link"), stored.field("n_outputs")
    require(isinstance(link, str) and link in get_args(Link), f"the link is {link!r}")
    require(type(n_outputs) is int and n_outputs >= 1, "there are no outputs")
    learners = read_base_models(stored, "learners")
    shrinkage, by_leaf = stored.field("shrinkage"), stored.field("steps_are_by_leaf")
    fits = all(isinstance(x, list) and len(x) == len(learners) for x in (shrinkage, by_leaf))
    require(fits, "the number of steps is not that of the base models")
    moderate = all(is_number(factor) and abs(factor) < 1e300 for factor in shrinkage)
    require(moderate, "a learning rate is not a number, or too large")
    steps = stored.arrays("steps.", [str(number) for number in range(len(learners))])
    stages = [
        Stage(learner, _read_step(step, is_by_leaf, learner), float(factor))
        for learner, step, is_by_leaf, factor in zip(
            learners, steps.values(), by_leaf, shrinkage, strict=True
        )
    ]
    starts = read_base_models(stored, "start")
    require(len(starts) <= 1, "there are several initial models")
    start: Any
    if starts:
        start = starts[0]
    else:
        start = _numbers(stored.array("start_scores", (n_outputs,)), "start_scores")
    require(len(stages) % n_outputs == 0, "a round does not have a base model for each output")
    return AdditiveModel(start, stages, link, n_outputs)


def _read_step(step: NDArray[Any], is_by_leaf: Any, learner: Any) -> Any:
    numbers = _numbers(step, "steps")
    require(isinstance(is_by_leaf, bool), "steps_are_by_leaf is not true or false")
    if is_by_leaf:
        require_one_tree(learner)
        require(len(numbers) > 0, "there are no steps for the leaves")
        return numbers
    require(len(numbers) == 1, "a step is not one number")
    return float(numbers[0])


def _numbers(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    fits = array.dtype == np.float64 and array.ndim == 1 and np.isfinite(array).all()
    require(fits, f"{name} is not a vector of finite numbers")
    return array


def _check_base_models(model: AdditiveModel, attributes: dict[str, Any]) -> None:
    """Check the outputs and columns of the base models and of the initial model."""
    for stage in model.stages:
        require_columns(stage.learner, attributes)
        if hasattr(stage.learner, "classes_"):
            require_classes(stage.learner, [_SIGNS])
        else:
            require_numbers(stage.learner)
    if isinstance(model.start, np.ndarray):
        return
    require_columns(model.start, attributes)
    if model.link in ("identity", "log"):
        require_numbers(model.start)
        return
    require_classes(model.start, [np.arange(max(model.n_outputs, 2))], shares=True)
    require(model.start.classes_.dtype.kind in "iu", "initial classes are not integers")


def _check_outputs(model: AdditiveModel, classes: NDArray[Any] | None) -> None:
    """Check that outputs and link match the classes, if any."""
    if classes is None:
        fits = model.n_outputs == 1 and model.link in ("identity", "log")
    elif len(classes) == 2:
        fits = model.n_outputs == 1 and model.link in ("sigmoid", "half_sigmoid")
    else:
        fits = model.n_outputs == len(classes) and model.link == "softmax"
    require(fits, f"the link is {model.link!r} and the outputs are {model.n_outputs}")
