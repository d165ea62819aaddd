"""Gradient boosting ↔ a model file: trees, link, history, calibration, survival curves."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.fit.budget import MAX_MODELS
from hedgerow._boosting.fit.choice import Choice, TrialResult
from hedgerow._boosting.fit.fit_data import AUTO_DEFAULTS
from hedgerow._boosting.losses import CONSTANT_SPREAD, Spread
from hedgerow._boosting.model import BoostedModel, Calibration, CalibrationMethod
from hedgerow._boosting.survival_curves import (
    AcceleratedTimes,
    ProportionalHazards,
    SurvivalCurve,
    TimeDistribution,
)
from hedgerow._contract import internals
from hedgerow._data.table import TableSchema
from hedgerow._data.target import Classes
from hedgerow._data.target_statistics import BESIDES, EncodedColumn, TargetStatistics
from hedgerow._estimator import Estimator, column_attributes
from hedgerow._links import Link
from hedgerow._model_file.base_models import require_classes, require_columns, require_numbers
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import (
    Stored,
    check_array,
    is_number,
    is_table,
    read_classes,
    read_initial_rounds,
    require,
    with_prefix,
    write_classes,
    write_initial_rounds,
)
from hedgerow._model_file.trees import read_trees, write_arithmetic, write_trees
from hedgerow._model_file.values import decode, encode
from hedgerow._tree.growth_params import GrowPolicy
from hedgerow._types import Floats

_ONE_SCORE = {"ranker": ("identity",), "survival": ("identity", "log")}
_CALIBRATION = ("slope", "offset", "x", "y", "start")
_STATISTICS_PREFIX = "statistics."
_STATISTICS_ARRAYS = ("features", "numbers", "priors", "smoothing")
_CHOICE_FIELDS = {"parameters", "n_members", "metric", "n_folds", "tried", "best"}


def write(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted model."""
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
    document |= write_initial_rounds(fitted)
    if "auto_" in fitted:
        document["auto"] = write_choice(fitted["auto_"])
    arrays = write_trees(model)
    document |= write_arithmetic(model.ensemble)
    if model.zero_is_missing is not None:
        document["zero_is_missing"] = model.zero_is_missing.tolist()
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
    if model.init_estimator is not None:
        document["initial"], of_initial = _write_initial(model.init_estimator)
        arrays |= with_prefix("initial.", of_initial)
    return document, arrays


def _write_initial(estimator: Any) -> tuple[Document, Arrays]:
    from hedgerow._model_file.contents import is_supported, write_estimator

    if not is_supported(estimator):
        raise TypeError(
            f"init_estimator={type(estimator).__name__} cannot be saved in a model file, because "
            "it is not an estimator of Hedgerow. Save the model with joblib or skops; or fit it "
            "with offset=… (the scores of the initial estimator), and save the two separately."
        )
    return write_estimator(estimator)


def _read_initial(stored: Stored, model: BoostedModel, columns: dict[str, Any]) -> BoostedModel:
    """Read what predicts the initial scores; most files have none."""
    from hedgerow._model_file.contents import read_stored

    if not stored.has("initial"):
        return model
    estimator = read_stored(stored.nested("initial"))
    require_columns(estimator, columns)
    if model.classes is None:
        n_numbers = 1 if model.link == "sorted" else model.ensemble.n_outputs
        require(model.link != "softmax", "there are initial scores for probabilities of numbers")
        require_numbers(estimator, n_numbers)
    else:
        require(not isinstance(model.classes, list), "there are initial scores for labels")
        has_margins = model.link != "margin" or hasattr(estimator, "decision_function")
        require(has_margins, "the initial estimator has no decision_function")
        require_classes(estimator, [model.classes], shares=model.link != "margin")
        require(len(estimator.classes_) == len(model.classes), "initial classes are missing")
    return replace(model, init_estimator=estimator)


def read(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    classes = _read_classes(stored.field("classes"))
    model = _read_model(stored, classes)
    _check_task(kind, model, classes)
    _check_rounds(model)
    model = _read_calibration(stored, model)
    columns: dict[str, Any] = column_attributes(model.schema)
    model = _read_initial(stored, model, columns)
    has_columns = isinstance(classes, list) or (classes is None and model.link != "sorted")
    attributes: dict[str, Any] = columns | {
        "_model": model,
        "n_iter_": model.ensemble.n_rounds,
        "n_outputs_": model.ensemble.n_outputs if has_columns else 1,
        "evals_result_": _read_evals_result(stored.field("evals_result")),
        "n_initial_rounds_": read_initial_rounds(stored, model.ensemble.n_rounds),
    }
    if classes is not None:
        attributes["classes_"] = classes
    if stored.has("auto"):
        attributes["auto_"] = read_choice(stored.field("auto"))
    best = decode(stored.field("best_iteration")), decode(stored.field("best_score"))
    return attributes | _read_best(*best)


def _read_model(stored: Stored, classes: Classes | None) -> BoostedModel:
    schema = stored.schema()
    statistics = read_statistics(stored, schema)
    binner, ensemble = read_trees(stored, statistics.encoded_schema(schema), may_slope=True)
    link = stored.field("link")
    require(isinstance(link, str) and link in get_args(Link), f"the link is {link!r}")
    return BoostedModel(
        *(schema, statistics, binner, ensemble, link, classes),
        quantiles=_read_quantiles(stored),
        zero_is_missing=_read_zero_is_missing(stored, schema),
    )


def _read_zero_is_missing(stored: Stored, schema: TableSchema) -> NDArray[np.intp] | None:
    """Read the columns in which 0 is missing; only models of other libraries have any."""
    if not stored.has("zero_is_missing"):
        return None
    listed = stored.field("zero_is_missing")
    numeric = set(range(schema.n_features)) - set(schema.categories)
    are_columns = (
        isinstance(listed, list)
        and len(listed) > 0
        and all(type(j) is int for j in listed)
        and set(listed) <= numeric
        and sorted(set(listed)) == listed
    )
    require(are_columns, "zero_is_missing is not a list of numeric columns")
    return np.array(listed, np.intp)


def _read_quantiles(stored: Stored) -> tuple[float, ...]:
    """Read the levels of quantile regression; files of other losses do not have them."""
    quantiles = decode(stored.field("quantiles")) if stored.has("quantiles") else []
    are_levels = isinstance(quantiles, list) and all(
        isinstance(level, float) and 0.0 < level < 1.0 for level in quantiles
    )
    require(are_levels, "the quantiles are not numbers between 0 and 1")
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
        isinstance(method, str) and method in get_args(CalibrationMethod),
        f"the calibration is {method!r}",
    )
    slope, offset, x, y, start = stored.arrays("calibration.", _CALIBRATION).values()
    for name, array in (("slope", slope), ("offset", offset)):
        check_array(array, (n_outputs,), name)
        require(np.isfinite(array).all(), f"{name} is not finite")
    check_array(x, (len(x),), "x")
    check_array(y, (len(x),), "y")
    require(np.isfinite(x).all(), "x is not finite")
    require(((y >= 0.0) & (y <= 1.0)).all(), "y is not a probability")
    check_array(start, (n_outputs + 1,) if len(x) else start.shape, "start", np.int64)
    if method == "isotonic":
        ends = start[0] == 0 and start[-1] == len(x) and len(start) == n_outputs + 1
        require(ends and (np.diff(start) > 0).all(), "start does not divide x")
    return replace(model, calibration=Calibration(method, slope, offset, x, y, start))


def _read_spread(stored: Stored, link: Link) -> Spread:
    """Read how the width of intervals varies; older files have intervals of constant width."""
    if not stored.has("spread"):
        return CONSTANT_SPREAD
    numbers = decode(stored.field("spread"))
    is_list = isinstance(numbers, list) and len(numbers) in (3, 4) and all(map(is_number, numbers))
    require(is_list, "the spread is not three or four numbers")
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
    require(type(iteration) is int and iteration >= 1, "best_iteration is not a positive integer")
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
    require(
        (classes is None) != (task == "classifier"), f"the classes do not match {kind.__name__}"
    )
    n_outputs = model.ensemble.n_outputs
    links: tuple[str, ...] = ("sigmoid", "half_sigmoid", "margin")
    if isinstance(classes, list):
        require(all(len(of) == 2 for of in classes), "a label does not have two classes")
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
    require(n_outputs == n_expected, "the number of outputs does not match the classes")
    require(n_outputs >= 1, "there is no output")
    require(model.link in links, f"the link is {model.link!r}, but must be one of {links}")


def _check_rounds(model: BoostedModel) -> None:
    ensemble, per_round = model.ensemble, model.ensemble.trees_per_round
    in_turn = np.arange(ensemble.n_trees) % per_round
    require(
        ensemble.n_trees % per_round == 0 and np.array_equal(ensemble.tree_output, in_turn),
        "the rounds do not have one tree for all outputs, or one for each in turn",
    )


def statistics_arrays(statistics: TargetStatistics) -> Arrays:
    """Return the arrays of target statistics: columns side by side, a row for each target."""
    arrays = {
        "features": np.array(statistics.features, np.int64),
        "numbers": np.concatenate([column.numbers for column in statistics.columns], axis=1),
        "priors": statistics.priors,
        "smoothing": np.column_stack([column.smoothing for column in statistics.columns]),
    }
    return with_prefix(_STATISTICS_PREFIX, arrays)


def read_statistics(stored: Stored, schema: TableSchema) -> TargetStatistics:
    """Read the target statistics; most files have none."""
    if not stored.has("statistics_seed"):
        return TargetStatistics(schema.n_features)
    seed = stored.field("statistics_seed")
    require(type(seed) is int and 0 <= seed < 2**32, "statistics_seed is not a seed")
    arrays = stored.arrays(_STATISTICS_PREFIX, _STATISTICS_ARRAYS)
    features, priors = _read_statistics_features(arrays["features"], schema), arrays["priors"]
    check_array(priors, (priors.size,), "priors")
    require(len(priors) > 0 and len(features) > 0, "the target statistics are empty")
    require(np.isfinite(priors).all(), "a prior is not finite")
    widths = [len(schema.categories[j].values) + BESIDES for j in features]
    numbers, smoothing = arrays["numbers"], arrays["smoothing"]
    check_array(numbers, (len(priors), sum(widths)), "numbers")
    check_array(smoothing, (len(priors), len(features)), "smoothing")
    require((smoothing > 0.0).all(), "smoothing is not positive")
    by_column = np.split(numbers, np.cumsum(widths)[:-1], axis=1)
    columns = tuple(map(EncodedColumn, features, smoothing.T, map(_checked_statistics, by_column)))
    return TargetStatistics(schema.n_features, seed, priors, columns)


def _read_statistics_features(features: NDArray[Any], schema: TableSchema) -> list[int]:
    check_array(features, (features.size,), "features", np.int64)
    listed: list[int] = features.tolist()
    require(sorted(set(listed)) == listed, "the features of the target statistics are not sorted")
    require(schema.categories.keys() >= set(listed), "statistics are of a numeric feature")
    return listed


def _checked_statistics(numbers: Floats) -> Floats:
    """Check the encoding of a column; only the last number, for missing values, may be NaN."""
    require(np.isfinite(numbers[:, :-1]).all(), "the encoding of a category is not finite")
    require(not np.isinf(numbers[:, -1]).any(), "the encoding of missing values is infinite")
    return numbers


def write_choice(choice: Choice) -> Document:
    """Return an automatic choice as JSON values."""
    optional: Document = {"in_turn": choice.in_turn} if choice.in_turn else {}
    if choice.members:
        optional["members"] = [dict(member) for member in choice.members]
    return optional | {
        "parameters": dict(choice.parameters),
        "n_members": choice.n_members,
        "metric": choice.metric,
        "n_folds": choice.n_folds,
        "best": choice.best,
        "tried": [_write_trial(trial) for trial in choice.tried],
    }


def _write_trial(trial: TrialResult) -> list[Any]:
    """Return a trial; without an expected score if the choice was not made by it."""
    stored = [dict(trial.parameters), trial.n_rounds, encode(trial.score), encode([*trial.curve])]
    return stored if trial.expected is None else [*stored, encode(trial.expected)]


def read_choice(stored: Any) -> Choice:
    """Read the output of `write_choice`."""
    is_choice = is_table(stored) and set(stored) - {"in_turn", "members"} == _CHOICE_FIELDS
    require(is_choice, "the automatic choice does not have the expected fields")
    members, metric, folds = stored["n_members"], stored["metric"], stored["n_folds"]
    is_number = type(members) is int and members in range(1, max(MAX_MODELS) + 1)
    require(is_number and members.bit_count() == 1, "the number of averaged models is not allowed")
    require(isinstance(metric, str), "the metric is not a string")
    require(type(folds) is int and folds >= 0, "the number of folds is not a non-negative integer")
    require(isinstance(stored["tried"], list), "the trials are not a list")
    parameters = _read_chosen_parameters(stored["parameters"])
    require("n_estimators" in parameters, "the automatic choice has no n_estimators")
    trials, best = tuple(map(_read_trial, stored["tried"])), stored["best"]
    require(
        type(best) is int and 0 <= best <= max(len(trials) - 1, 0), "the best trial does not exist"
    )
    require(len({frozenset(each.parameters) for each in trials}) <= 1, "trials differ")
    in_turn = stored.get("in_turn", 0)
    is_fewer = type(in_turn) is int and in_turn in range(members)
    require(is_fewer, "in_turn is not below the number of averaged models")
    own = _read_members(stored.get("members", []), in_turn or members)
    return Choice(parameters, members, metric, folds, trials, best, in_turn, own)


def _read_members(stored: Any, n_in_turn: int) -> tuple[dict[str, Any], ...]:
    """Read the parameters of models that differ, one for each model whose rounds alternate."""
    is_complete = isinstance(stored, list) and len(stored) in (0, n_in_turn)
    require(is_complete, "the averaged models do not have parameters each")
    return tuple(map(_read_chosen_parameters, stored))


def _read_chosen_parameters(stored: Any) -> dict[str, Any]:
    """Read the values of automatically chosen parameters."""
    what = "the automatically chosen parameters are not valid"
    names = (*AUTO_DEFAULTS, "max_bins")
    require(is_table(stored) and set(stored) <= set(names), what)
    for name, value in stored.items():
        is_count = name in ("n_estimators", "max_leaves", "min_samples_leaf", "max_bins")
        if name == "max_leaves" and value is None:
            continue
        if name == "grow_policy":
            require(value in get_args(GrowPolicy), what)
            continue
        require(type(value) is int if is_count else is_number(value), what)
        require(0 <= value < 2**31, what)
    return {name: stored[name] for name in names if name in stored}


def _read_trial(stored: Any) -> TrialResult:
    is_trial = isinstance(stored, list) and len(stored) in (4, 5)
    require(is_trial, "a trial does not have four or five entries")
    parameters, n_rounds, score, curve, *expected = stored
    score, curve, expected = decode(score), decode(curve), decode(expected)
    is_curve = isinstance(curve, list) and all(map(is_number, curve))
    require(is_curve, "the curve of a trial is not a list of numbers")
    require(is_table(parameters) and "max_leaves" in parameters, "a trial has no max_leaves")
    require(type(n_rounds) is int and n_rounds >= 0, "the best round of a trial is negative")
    are_scores = is_number(score) and (not expected or is_number(expected[0]))
    require(are_scores, "the score of a trial is not a number")
    parameters = _read_chosen_parameters(parameters)
    return TrialResult(parameters, n_rounds, score, tuple(curve), *expected)


def write_survival(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return the document and arrays of a fitted model."""
    document, arrays = write(estimator)
    curve = internals(estimator).model().curve
    if curve is None:
        return document | {"curve": None}, arrays
    if isinstance(curve, AcceleratedTimes):
        described = {"distribution": curve.distribution, "scale": curve.scale}
        return document | {"curve": described}, arrays
    hazard = with_prefix("curve.", {"times": curve.times, "hazard": curve.hazard})
    return document | {"curve": "hazard"}, arrays | hazard


def read_survival(kind: type[Any], stored: Stored) -> dict[str, Any]:
    """Read the attributes of a fitted estimator."""
    attributes, described = read(kind, stored), stored.field("curve")
    if described is None:
        return attributes
    has_hazards = described == "hazard"
    curve = _read_hazards(stored) if has_hazards else _read_times(described)
    model = attributes["_model"]
    expected = "identity" if has_hazards else "log"
    require(model.link == expected, "the link does not match the survival curve")
    return attributes | {"_model": replace(model, curve=curve)}


def _read_times(described: Any) -> SurvivalCurve:
    fits = isinstance(described, dict) and set(described) == {"distribution", "scale"}
    require(fits, "the survival curve is neither a hazard nor a distribution with a scale")
    distribution, scale = described["distribution"], described["scale"]
    is_valid = isinstance(distribution, str) and distribution in get_args(TimeDistribution)
    require(is_valid, f"the distribution is {distribution!r}")
    require(is_number(scale) and 0.0 < scale < np.inf, f"the scale is {scale!r}")
    return AcceleratedTimes(distribution, float(scale))


def _read_hazards(stored: Stored) -> SurvivalCurve:
    arrays = stored.arrays("curve.", ("times", "hazard"))
    times, hazard = arrays["times"], arrays["hazard"]
    require(times.ndim == 1 and len(times) > 0, "the survival curve has no times")
    for name, array in arrays.items():
        check_array(array, (len(times),), f"curve.{name}")
        require(bool(np.isfinite(array).all()) and array[0] >= 0.0, f"curve.{name} is not finite")
    require(bool((np.diff(times) > 0.0).all()), "the times of the survival curve do not increase")
    require(bool((np.diff(hazard) >= 0.0).all()), "the cumulative hazard decreases")
    return ProportionalHazards(times, hazard)
