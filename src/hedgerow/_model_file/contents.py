"""A fitted estimator ↔ the document and arrays of a model file.

Reading checks everything: each part checks itself, and indices into another part that native code
uses are checked against that part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

import hedgerow
from hedgerow._adaboost import AdaBoostClassifier, AdaBoostRegressor
from hedgerow._bagging import BaggingClassifier, BaggingRegressor
from hedgerow._boosting import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvival,
)
from hedgerow._estimator import adopt
from hedgerow._forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow._model_file import (
    adaboost,
    bagging,
    boosted,
    forests,
    kernel,
    linear,
    neighbors,
    stagewise,
    survival,
    trees,
)
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.stored import MOST_DEPTH, Stored, require
from hedgerow._model_file.values import NotStored, decode, encode
from hedgerow._neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from hedgerow._stagewise import StagewiseClassifier, StagewiseRegressor
from hedgerow._svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from hedgerow._tree import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.exceptions import ModelFileError


@dataclass(frozen=True)
class FileKind:
    """An estimator that model files support, with its writer and reader."""

    estimator: type[Any]
    write: Callable[[Any], tuple[Document, Arrays]]
    read: Callable[[type[Any], Stored], dict[str, Any]]


# A file names its estimator by a key of this table, never by something to import.
_KINDS: dict[str, FileKind] = {
    kind.estimator.__name__: kind
    for kind in (
        FileKind(GradientBoostingClassifier, boosted.write, boosted.read),
        FileKind(GradientBoostingRegressor, boosted.write, boosted.read),
        FileKind(GradientBoostingRanker, boosted.write, boosted.read),
        FileKind(GradientBoostingSurvival, survival.write, survival.read),
        FileKind(AdaBoostClassifier, adaboost.write, adaboost.read),
        FileKind(AdaBoostRegressor, adaboost.write, adaboost.read),
        FileKind(StagewiseClassifier, stagewise.write, stagewise.read),
        FileKind(StagewiseRegressor, stagewise.write, stagewise.read),
        FileKind(DecisionTreeClassifier, trees.write, trees.read),
        FileKind(DecisionTreeRegressor, trees.write, trees.read),
        FileKind(BaggingClassifier, bagging.write, bagging.read),
        FileKind(BaggingRegressor, bagging.write, bagging.read),
        FileKind(RandomForestClassifier, forests.write, forests.read),
        FileKind(RandomForestRegressor, forests.write, forests.read),
        FileKind(ExtraTreesClassifier, forests.write, forests.read),
        FileKind(ExtraTreesRegressor, forests.write, forests.read),
        FileKind(KNeighborsClassifier, neighbors.write, neighbors.read),
        FileKind(KNeighborsRegressor, neighbors.write, neighbors.read),
        FileKind(NearestNeighbors, neighbors.write, neighbors.read),
        FileKind(RadiusNeighborsClassifier, neighbors.write, neighbors.read),
        FileKind(RadiusNeighborsRegressor, neighbors.write, neighbors.read),
        FileKind(LinearSVC, linear.write, linear.read),
        FileKind(LinearSVR, linear.write, linear.read),
        FileKind(SVC, kernel.write, kernel.read),
        FileKind(NuSVC, kernel.write, kernel.read),
        FileKind(SVR, kernel.write, kernel.read),
        FileKind(NuSVR, kernel.write, kernel.read),
        FileKind(OneClassSVM, kernel.write, kernel.read),
    )
}
# Parameters that may be functions, random states or other objects that are not stored.
_MAY_BE_NOT_STORED = {
    *("loss", "eval_metric", "random_state", "categorical_features", "class_weight", "oob_score"),
    *("estimator", "init", "weights", "metric", "kernel"),
}
# How a fit ran, not what it learned: the same model has the same file on any number of threads.
_NOT_PART_OF_MODEL = ("n_jobs", "verbose")


def write_estimator(estimator: Any) -> tuple[Document, Arrays]:
    """Return a fitted estimator as a document of JSON types and named arrays."""
    kind = _KINDS.get(type(estimator).__name__)
    if kind is None or type(estimator) is not kind.estimator:
        raise TypeError(
            f"A {_full_name(type(estimator))} cannot be saved in a model file; these of Hedgerow's "
            f"own can: {', '.join(_KINDS)}. Pickle a model of other learners, with joblib or skops."
        )
    learned, arrays = kind.write(estimator)
    document = {
        "library_version": hedgerow.__version__,
        "estimator": type(estimator).__name__,
        "parameters": _write_parameters(estimator),
    }
    na_values = getattr(estimator, "na_values_", None)  # recorded by the command line
    noted = {} if na_values is None else {"na_values": list(na_values)}
    return document | noted | learned, arrays


def _full_name(kind: type[Any]) -> str:
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"


def _write_parameters(estimator: Any) -> Document:
    return {
        name: write_parameter(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in _NOT_PART_OF_MODEL
    }


def write_parameter(value: Any) -> Any:
    """Return a value as JSON types; one of the library's own estimators with its parameters."""
    kind = _KINDS.get(type(value).__name__)
    if kind is None or type(value) is not kind.estimator:
        return encode(value)
    return {"estimator": type(value).__name__, "parameters": _write_parameters(value)}


def read_estimator(document: Document, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Make the fitted estimator again, or raise ModelFileError."""
    try:
        return read_stored(Stored(document, arrays))
    except RecursionError:
        raise ModelFileError("the header is nested too deeply") from None
    except ModelFileError:
        raise
    except ValueError as error:  # the parts' own checks: DataError, ParameterError and their base
        raise ModelFileError(str(error)) from error


def read_stored(stored: Stored) -> Any:
    """Make the fitted estimator of a file, or of a part of one."""
    kind = _kind_named(stored.field("estimator"))
    require(isinstance(stored.field("library_version"), str), "the library version is not a string")
    parameters = _read_parameters(stored.field("parameters"), kind.estimator)
    attributes = kind.read(kind.estimator, stored) | _read_na_values(stored)
    stored.finish()
    queries, features = parameters.get("qid_column"), attributes.get("feature_names_in_", ())
    require(queries not in list(features), "the column of queries is a feature, too")
    estimator = kind.estimator(**parameters)
    adopt(estimator, attributes)
    return estimator


def _read_na_values(stored: Stored) -> dict[str, Any]:
    """Read the texts that meant a missing value in the training file, if any were noted."""
    if not stored.has("na_values"):
        return {}
    values = stored.field("na_values")
    are_texts = isinstance(values, list) and all(type(value) is str for value in values)
    require(are_texts, "na_values is not a list of texts")
    return {"na_values_": values}


def _kind_named(name: Any) -> FileKind:
    require(isinstance(name, str) and name in _KINDS, f"it holds the unknown model {name!r}")
    return _KINDS[name]


def _read_parameters(stored: Any, kind: type[Any], depth: int = 0) -> dict[str, Any]:
    """Read the parameters; one that is not in the file, being younger, has its default."""
    require(isinstance(stored, dict), "the parameters are not a table of names and values")
    declared = {parameter.name: parameter for parameter in kind._parameters}  # noqa: SLF001
    unknown = sorted(set(stored) - set(declared))
    require(not unknown, f"this version does not know the parameters {', '.join(unknown)}")
    values = {name: read_parameter(value, depth) for name, value in stored.items()}
    for name, value in values.items():
        if not (isinstance(value, NotStored) and name in _MAY_BE_NOT_STORED):
            declared[name].check(value)
    return values


def read_parameter(stored: Any, depth: int = 0) -> Any:
    """Read what `write_parameter` gave; `depth` counts the estimators that it is a part of."""
    if not (isinstance(stored, dict) and set(stored) == {"estimator", "parameters"}):
        return decode(stored)
    require(depth < MOST_DEPTH, f"estimators are nested more than {MOST_DEPTH} deep")
    kind = _kind_named(stored["estimator"]).estimator
    return kind(**_read_parameters(stored["parameters"], kind, depth + 1))
