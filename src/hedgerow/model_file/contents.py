"""A fitted estimator ↔ the document and arrays of a model file.

Reading trusts nothing: each part checks itself, and `_check_agreement` sees that they belong
together, because native code will take one part's numbers as places in another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

import hedgerow
from hedgerow.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.boosting.losses import Link
from hedgerow.boosting.model import BoostedModel
from hedgerow.data.binning import Binner
from hedgerow.data.schema import TableSchema
from hedgerow.estimator import adopt, column_attributes
from hedgerow.exceptions import ModelFileError
from hedgerow.model_file.container import Arrays, Document
from hedgerow.model_file.values import NotStored, decode, encode
from hedgerow.tree.structure import Ensemble

Estimator = GradientBoostingClassifier | GradientBoostingRegressor

# A file names its estimator by a word of this list, never by something to import.
_ESTIMATORS: dict[str, type[Estimator]] = {
    "GradientBoostingClassifier": GradientBoostingClassifier,
    "GradientBoostingRegressor": GradientBoostingRegressor,
}
_FIELDS = {
    *("library_version", "estimator", "parameters"),
    *("schema", "link", "classes", "evals_result", "best_iteration", "best_score"),
}
_ENSEMBLE_ARRAYS = {f.name for f in fields(Ensemble) if f.init and f.name != "n_features"}
# Parameters that may be functions, random states or other objects that are not stored.
_MAY_BE_NOT_STORED = {
    *("loss", "eval_metric", "random_state", "categorical_features", "class_weight"),
}
_CLASS_DTYPES: dict[str, type] = {"bool": bool, "str": str, "object": str}
_CLASS_DTYPES |= dict.fromkeys(("float16", "float32", "float64"), float)
_CLASS_DTYPES |= dict.fromkeys(
    (f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)), int
)


# How a fit ran, not what it learned: the same model has the same file on any number of threads.
_OF_THE_MACHINE = ("n_jobs", "verbose")


def write_estimator(estimator: Any) -> tuple[Document, Arrays]:
    """Give a fitted estimator as a document of JSON types and named arrays."""
    if type(estimator) not in _ESTIMATORS.values():
        raise TypeError(
            f"A {type(estimator).__name__} cannot be saved as a model file; "
            f"these can: {', '.join(_ESTIMATORS)}."
        )
    model: BoostedModel = estimator._fitted_model()  # noqa: SLF001  the file is a friend
    fitted = vars(estimator)
    document = {
        "library_version": hedgerow.__version__,
        "estimator": type(estimator).__name__,
        "parameters": {
            name: encode(value)
            for name, value in estimator.get_params().items()
            if name not in _OF_THE_MACHINE
        },
        "schema": model.schema.to_dict(),
        "link": model.link,
        "classes": _write_classes(fitted.get("classes_")),
        "evals_result": encode(fitted["evals_result_"]),
        "best_iteration": encode(fitted.get("best_iteration_")),
        "best_score": encode(fitted.get("best_score_")),
    }
    arrays = {f"ensemble.{name}": getattr(model.ensemble, name) for name in _ENSEMBLE_ARRAYS}
    arrays |= {f"binner.{name}": array for name, array in model.binner.to_dict().items()}
    return document, arrays


def read_estimator(document: Document, arrays: Mapping[str, NDArray[Any]]) -> Estimator:
    """Make the fitted estimator again, or raise ModelFileError."""
    try:
        return _read_estimator(document, arrays)
    except RecursionError:
        raise ModelFileError("the header is nested too deeply") from None
    except ModelFileError:
        raise
    except ValueError as error:  # the parts' own checks: DataError, ParameterError and their base
        raise ModelFileError(str(error)) from error


def _read_estimator(document: Document, arrays: Mapping[str, NDArray[Any]]) -> Estimator:
    _require(set(document) == _FIELDS, "the header's fields are not those of a model")
    kind = document["estimator"]
    _require(isinstance(kind, str) and kind in _ESTIMATORS, f"it holds the unknown model {kind!r}")
    _require(isinstance(document["library_version"], str), "the library version is not a string")
    parameters = _read_parameters(document["parameters"], kind)
    classes = _read_classes(document["classes"])
    model = _read_model(document, arrays)
    _check_task(kind, model, classes)
    attributes: dict[str, Any] = column_attributes(model.schema) | {
        "_model": model,
        "n_iter_": model.ensemble.n_rounds,
        "evals_result_": _read_evals_result(document["evals_result"]),
    }
    if classes is not None:
        attributes["classes_"] = classes
    attributes |= _read_best(decode(document["best_iteration"]), decode(document["best_score"]))
    estimator = _ESTIMATORS[kind](**parameters)
    adopt(estimator, attributes)
    return estimator


def _read_parameters(stored: Any, kind: str) -> dict[str, Any]:
    """Read the parameters; one that is not in the file, being younger, has its default."""
    _require(isinstance(stored, dict), "the parameters are not a table of names and values")
    known = {parameter.name: parameter for parameter in _ESTIMATORS[kind]._parameters}  # noqa: SLF001
    unknown = sorted(set(stored) - set(known))
    _require(not unknown, f"this version does not know the parameters {', '.join(unknown)}")
    values = {name: decode(value) for name, value in stored.items()}
    for name, value in values.items():
        if not (isinstance(value, NotStored) and name in _MAY_BE_NOT_STORED):
            known[name].check(value)
    return values


def _task(kind: str) -> str:
    return _ESTIMATORS[kind]._task.name  # noqa: SLF001


def _write_classes(classes: NDArray[Any] | None) -> Document | None:
    if classes is None:
        return None
    dtype = "str" if classes.dtype.kind == "U" else classes.dtype.name
    return {"dtype": dtype, "values": classes.tolist()}


def _read_classes(stored: Any) -> NDArray[Any] | None:
    if stored is None:
        return None
    _require(isinstance(stored, dict) and set(stored) == {"dtype", "values"}, "no classes")
    dtype, values = stored["dtype"], stored["values"]
    _require(
        isinstance(dtype, str) and dtype in _CLASS_DTYPES, f"the classes are of dtype {dtype!r}"
    )
    _require(
        isinstance(values, list) and all(type(value) is _CLASS_DTYPES[dtype] for value in values),
        f"the classes are not a list of {dtype}",
    )
    ascending = all(a < b for a, b in pairwise(values))
    _require(ascending, "the classes are not distinct and sorted")
    try:
        classes = np.array(values, dtype)
    except OverflowError:
        raise ModelFileError(f"a class does not fit into {dtype}") from None
    _require(classes.tolist() == values, f"a class does not fit into {dtype}")
    return classes


def _read_evals_result(stored: Any) -> dict[str, dict[str, list[float]]]:
    history: dict[str, dict[str, list[float]]] = decode(stored)
    what = "evals_result is not numbers by evaluation set and metric"
    _require(_is_table(history) and all(map(_is_table, history.values())), what)
    columns = [column for metrics in history.values() for column in metrics.values()]
    _require(all(isinstance(column, list) for column in columns), what)
    _require(all(_is_number(value) for column in columns for value in column), what)
    return history


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_best(iteration: Any, score: Any) -> dict[str, Any]:
    if iteration is None and score is None:
        return {}
    _require(type(iteration) is int and iteration >= 1, "best_iteration is not a round's number")
    _require(_is_number(score), "best_score is not a number")
    return {"best_iteration_": iteration, "best_score_": score}


def _read_model(document: Document, arrays: Mapping[str, NDArray[Any]]) -> BoostedModel:
    schema = TableSchema.from_dict(document["schema"])
    binner_arrays = _with_prefix("binner.", arrays)
    binner = Binner.from_dict(binner_arrays)
    ensemble_arrays = _with_prefix("ensemble.", arrays)
    missing = sorted(_ENSEMBLE_ARRAYS - set(ensemble_arrays))
    _require(not missing, f"the arrays {', '.join(missing)} of the trees are missing")
    expected = len(_ENSEMBLE_ARRAYS) + len(binner.to_dict())
    _require(len(arrays) == expected, "there are arrays that belong to no model")
    ensemble = Ensemble(**ensemble_arrays, n_features=schema.n_features)
    ensemble.validate()
    link = document["link"]
    _require(isinstance(link, str) and link in get_args(Link), f"the link is {link!r}")
    model = BoostedModel(schema, binner, ensemble, link)
    _check_agreement(model)
    return model


def _with_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _check_agreement(model: BoostedModel) -> None:
    """Check that schema, bins and trees are of the same columns and categories."""
    schema, binner, ensemble = model.schema, model.binner, model.ensemble
    # First of all, because what follows allocates an entry for each feature.
    _require(
        schema.n_features == len(binner.is_categorical),
        "the bins are of another number of features than the schema",
    )
    _require(
        np.array_equal(schema.is_categorical, binner.is_categorical),
        "schema and bins differ in which features are categorical",
    )
    _require(
        not np.diff(binner.threshold_starts)[schema.is_categorical].any(),
        "a categorical feature has thresholds",
    )
    n_categories = np.zeros(schema.n_features + 1, np.int64)
    for feature, categories in schema.categories.items():
        n_categories[feature + 1] = len(categories.values)
    _require(
        np.array_equal(binner.category_starts, np.cumsum(n_categories)),
        "there is not one bin for each category",
    )
    inner = ensemble.feature >= 0
    _require(
        np.array_equal(
            schema.is_categorical[ensemble.feature[inner]], ensemble.category_set[inner] >= 0
        ),
        "a node tests a category of a numeric feature, or a number of a categorical one",
    )


def _check_task(kind: str, model: BoostedModel, classes: NDArray[Any] | None) -> None:
    """Check that link, outputs and classes are those of the estimator."""
    _require((classes is None) == (_task(kind) == "regressor"), f"classes do not suit a {kind}")
    ensemble, link = model.ensemble, "identity"
    n_outputs = 1
    if classes is not None:
        _require(len(classes) >= 2, "there are fewer than two classes")
        link = "sigmoid" if len(classes) == 2 else "softmax"
        n_outputs = 1 if len(classes) == 2 else len(classes)
    _require(model.link == link, f"the link is {model.link!r}, but must be {link!r}")
    _require(ensemble.n_outputs == n_outputs, "the number of outputs does not suit the model")
    in_turn = np.arange(ensemble.n_trees) % n_outputs
    _require(
        ensemble.n_trees % n_outputs == 0 and np.array_equal(ensemble.tree_output, in_turn),
        "the rounds do not have one tree for each output in turn",
    )


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise ModelFileError(reason)
