"""Gradient boosting ↔ a model file: the trees, the link, and how the fit went."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import Any, get_args

import numpy as np

from hedgerow._boosting.fit.calibration import Calibration, Method
from hedgerow._boosting.losses import CONSTANT_SPREAD, Spread
from hedgerow._boosting.model import BoostedModel
from hedgerow._boosting.targets.classes import Classes
from hedgerow._contract import internals
from hedgerow._estimator import Estimator, column_attributes
from hedgerow._links import Link
from hedgerow._model_file.choice import read_choice, write_choice
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import (
    Stored,
    check_array,
    check_columns,
    is_number,
    is_table,
    read_classes,
    require,
    with_prefix,
    write_classes,
)
from hedgerow._model_file.target_statistics import read_statistics, statistics_arrays
from hedgerow._model_file.trees import check_tests, ensemble_arrays, read_ensemble
from hedgerow._model_file.values import decode, encode

_ONE_SCORE = {"ranker": ("identity",), "survival": ("identity", "log")}
_CALIBRATION = ("slope", "offset", "x", "y", "start")


def write(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return what a fit has learned."""
    model: BoostedModel = internals(estimator).model()
    fitted = vars(estimator)
    classes = fitted.get("classes_")
    document = {
        "schema": model.schema.to_dict(),
        "link": model.link,
        "classes": _write_classes(classes),
        "evals_result": encode(fitted["evals_result_"]),
        "best_iteration": encode(fitted.get("best_iteration_")),
        "best_score": encode(fitted.get("best_score_")),
    }
    if "auto_" in fitted:
        document["auto"] = write_choice(fitted["auto_"])
    arrays = ensemble_arrays(model.ensemble) | with_prefix("binner.", model.binner.to_dict())
    if model.calibration is not None:
        document["calibration"] = model.calibration.method
        own = {name: getattr(model.calibration, name) for name in _CALIBRATION}
        arrays |= with_prefix("calibration.", own)
    if model.residuals is not None:
        document["calibration"] = "conformal"
        arrays["calibration.residuals"] = model.residuals
        document["spread"] = encode(list(astuple(model.spread)))
    if model.quantiles:
        document["quantiles"] = encode(list(model.quantiles))
    if model.statistics.columns:
        document["statistics_seed"] = model.statistics.seed
        arrays |= statistics_arrays(model.statistics)
    return document, arrays


def read(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    classes = _read_classes(stored.field("classes"))
    model = _read_model(stored, classes)
    _check_task(kind, model, classes)
    _check_rounds(model)
    model = _read_calibration(stored, model)
    has_columns = isinstance(classes, list) or (classes is None and model.link != "sorted")
    attributes: dict[str, Any] = column_attributes(model.schema) | {
        "_model": model,
        "n_iter_": model.ensemble.n_rounds,
        "n_outputs_": model.ensemble.n_outputs if has_columns else 1,
        "evals_result_": _read_evals_result(stored.field("evals_result")),
    }
    if classes is not None:
        attributes["classes_"] = classes
    if stored.has("auto"):
        attributes["auto_"] = read_choice(stored.field("auto"))
    best = decode(stored.field("best_iteration")), decode(stored.field("best_score"))
    return attributes | _read_best(*best)


def _read_model(stored: Stored, classes: Classes | None) -> BoostedModel:
    schema, binner = stored.schema(), stored.binner()
    statistics = read_statistics(stored, schema)
    columns = statistics.encoded_schema(schema)
    check_columns(columns, binner)
    ensemble = read_ensemble(stored, columns, may_slope=True)
    check_tests(columns, ensemble)
    link = stored.field("link")
    require(isinstance(link, str) and link in get_args(Link), f"the link is {link!r}")
    quantiles = _read_quantiles(stored)
    return BoostedModel(*(schema, statistics, binner, ensemble, link, classes), quantiles=quantiles)


def _read_quantiles(stored: Stored) -> tuple[float, ...]:
    """Read which quantiles the scores are; files of other losses do not have them."""
    quantiles = decode(stored.field("quantiles")) if stored.has("quantiles") else []
    are_parts = isinstance(quantiles, list) and all(
        isinstance(level, float) and 0.0 < level < 1.0 for level in quantiles
    )
    require(are_parts, "the quantiles are not numbers between 0 and 1")
    return tuple(quantiles)


def _read_calibration(stored: Stored, model: BoostedModel) -> BoostedModel:
    """Read the calibration, if any; older files have no such field."""
    if not stored.has("calibration"):
        return model
    method = stored.field("calibration")
    n_outputs = model.ensemble.n_outputs
    if model.classes is None:
        require(method == "conformal", f"the calibration is {method!r}")
        (residuals,) = stored.arrays("calibration.", ["residuals"]).values()
        check_array(residuals, (len(residuals), n_outputs), "residuals")
        require(np.isfinite(residuals).all(), "a residual is not finite")
        return replace(model, residuals=residuals, spread=_read_spread(stored, model.link))
    require(
        isinstance(method, str) and method in get_args(Method), f"the calibration is {method!r}"
    )
    slope, offset, x, y, start = stored.arrays("calibration.", _CALIBRATION).values()
    for name, array in (("slope", slope), ("offset", offset)):
        check_array(array, (n_outputs,), name)
        require(np.isfinite(array).all(), f"{name} is not finite")
    check_array(x, (len(x),), "x")
    check_array(y, (len(x),), "y")
    require(np.isfinite(x).all(), "x is not finite")
    require(((y >= 0.0) & (y <= 1.0)).all(), "y is no probability")
    check_array(start, (n_outputs + 1,) if len(x) else start.shape, "start", np.int64)
    if method == "isotonic":
        ends = start[0] == 0 and start[-1] == len(x) and len(start) == n_outputs + 1
        require(ends and (np.diff(start) > 0).all(), "start does not part x")
    return replace(model, calibration=Calibration(method, slope, offset, x, y, start))


def _read_spread(stored: Stored, link: Link) -> Spread:
    """Read what widths of intervals grow by; in files before it they were the same everywhere."""
    if not stored.has("spread"):
        return CONSTANT_SPREAD
    numbers = decode(stored.field("spread"))
    is_list = isinstance(numbers, list) and len(numbers) in (3, 4) and all(map(is_number, numbers))
    require(is_list, "the spread is not three numbers, or four")
    power, low, high, excess = map(float, [*numbers, 0.0][:4])
    require(0.0 <= power <= (2.0 if link == "log" else 0.0), f"the spread has the power {power}")
    require(low < high, "the spread has no range")
    require(0.0 <= excess < np.inf, f"the spread has the excess {excess}")
    return Spread(power, low, high, excess)


def _read_evals_result(stored: Any) -> dict[str, dict[str, list[float]]]:
    history: dict[str, dict[str, list[float]]] = decode(stored)
    what = "evals_result is not numbers by evaluation set and metric"
    require(is_table(history) and all(map(is_table, history.values())), what)
    columns = [column for metrics in history.values() for column in metrics.values()]
    require(all(isinstance(column, list) for column in columns), what)
    require(all(is_number(value) for column in columns for value in column), what)
    return history


def _read_best(iteration: Any, score: Any) -> dict[str, Any]:
    if iteration is None and score is None:
        return {}
    require(type(iteration) is int and iteration >= 1, "best_iteration is not a round's number")
    require(is_number(score), "best_score is not a number")
    return {"best_iteration_": iteration, "best_score_": score}


def _write_classes(classes: Classes | None) -> Any:
    if isinstance(classes, list):
        return [write_classes(of_column) for of_column in classes]
    return None if classes is None else write_classes(classes)


def _read_classes(stored: Any) -> Classes | None:
    if isinstance(stored, list):
        return [read_classes(of_column) for of_column in stored]
    return None if stored is None else read_classes(stored)


def _check_task(kind: type[Any], model: BoostedModel, classes: Classes | None) -> None:
    """Check that link, outputs and classes are those of the estimator."""
    task = kind._task.name  # noqa: SLF001
    require((classes is None) != (task == "classifier"), f"classes do not suit a {kind.__name__}")
    n_outputs = model.ensemble.n_outputs
    links: tuple[str, ...] = ("sigmoid", "half_sigmoid", "margin")
    if isinstance(classes, list):
        require(all(len(of) == 2 for of in classes), "a label has not two classes")
        n_expected = len(classes)
        require(n_expected >= 2, "there are fewer than two labels")
    elif classes is not None:
        require(len(classes) >= 2, "there are fewer than two classes")
        n_expected = 1 if len(classes) == 2 else len(classes)
        links = links if n_expected == 1 else ("softmax",)
    elif task in _ONE_SCORE:
        n_expected, links = 1, _ONE_SCORE[task]
    else:
        n_expected = n_outputs
        links = ("identity", "log", "sigmoid", "half_sigmoid")
        links += ("sorted", "softmax") if n_outputs > 1 else ()
    require(n_outputs == n_expected, "the number of outputs does not suit the classes")
    require(n_outputs >= 1, "there is no output")
    require(model.link in links, f"the link is {model.link!r}, but must be one of {links}")


def _check_rounds(model: BoostedModel) -> None:
    ensemble, per_round = model.ensemble, model.ensemble.trees_per_round
    in_turn = np.arange(ensemble.n_trees) % per_round
    require(
        ensemble.n_trees % per_round == 0 and np.array_equal(ensemble.tree_output, in_turn),
        "the rounds do not have one tree for all outputs, or one for each in turn",
    )
