"""A fitted estimator ↔ the document and arrays of a model file.

Reading checks everything: each object checks itself, and indices that native code uses are checked
against the arrays that they refer to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
from hedgerow._decisions import DecisionClassifier, OutputCodeClassifier
from hedgerow._ensemble import EnsembleClassifier, EnsembleRegressor
from hedgerow._estimator import Estimator, adopt
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
    decisions,
    ensemble,
    neighbors,
    stagewise,
    svm,
    trees,
)
from hedgerow._model_file.container import Arrays, Document
from hedgerow._model_file.origin import read_origin, write_origin
from hedgerow._model_file.stored import MOST_DEPTH, Stored, require
from hedgerow._model_file.values import NotStored, decode, encode
from hedgerow._neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from hedgerow._params import parameters_of
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


# A file identifies its estimator by its name; nothing is imported by name.
_KINDS: dict[str, FileKind] = {
    estimator.__name__: FileKind(estimator, write, read)
    for write, read, estimators in (
        (
            *(boosted.write, boosted.read),
            (GradientBoostingClassifier, GradientBoostingRegressor, GradientBoostingRanker),
        ),
        (boosted.write_survival, boosted.read_survival, (GradientBoostingSurvival,)),
        (adaboost.write, adaboost.read, (AdaBoostClassifier, AdaBoostRegressor)),
        (stagewise.write, stagewise.read, (StagewiseClassifier, StagewiseRegressor)),
        (trees.write_tree, trees.read_tree, (DecisionTreeClassifier, DecisionTreeRegressor)),
        (bagging.write, bagging.read, (BaggingClassifier, BaggingRegressor)),
        (ensemble.write, ensemble.read, (EnsembleClassifier, EnsembleRegressor)),
        (decisions.write_code, decisions.read_code, (OutputCodeClassifier,)),
        (decisions.write_decision, decisions.read_decision, (DecisionClassifier,)),
        (trees.write_forest, trees.read_forest, (RandomForestClassifier, RandomForestRegressor)),
        (trees.write_forest, trees.read_forest, (ExtraTreesClassifier, ExtraTreesRegressor)),
        (neighbors.write, neighbors.read, (KNeighborsClassifier, KNeighborsRegressor)),
        (neighbors.write, neighbors.read, (NearestNeighbors,)),
        (neighbors.write, neighbors.read, (RadiusNeighborsClassifier, RadiusNeighborsRegressor)),
        (svm.write_linear, svm.read_linear, (LinearSVC, LinearSVR)),
        (svm.write_kernel, svm.read_kernel, (SVC, NuSVC, SVR, NuSVR, OneClassSVM)),
    )
    for estimator in estimators
}
# Parameters that may be functions, random states or other objects that are not stored.
_MAY_BE_NOT_STORED = {
    *("loss", "eval_metric", "random_state", "categorical_features", "class_weight", "oob_score"),
    *("estimators", "cv"),
    *("estimator", "init", "init_estimator", "weights", "metric", "kernel"),
}
# Parameters that files of some estimators leave out if they have their defaults, as files did
# before there was such a parameter: the same model is the same file.
_LEFT_OUT_IF_DEFAULT: Mapping[str, tuple[str, ...]] = {
    "init_estimator": ("GradientBoosting",),
    "init": ("GradientBoosting",),
    "leaf_step": ("GradientBoosting",),
    "prune": ("GradientBoosting",),
    "sketch": ("GradientBoosting",),
    "voting": ("RandomForest", "ExtraTrees"),
    "class_weight": ("Bagging", "AdaBoost", "KNeighbors", "RadiusNeighbors", "Stagewise"),
    "criterion": ("AdaBoost",),
    "search": ("Stagewise",),
    "normalise": ("Stagewise",),
}
# Parameters that do not affect the model: its file is the same for any number of threads, and
# for any device.
_NOT_PART_OF_MODEL = ("device", "n_jobs", "verbose")


def write_estimator(estimator: Estimator) -> tuple[Document, Arrays]:
    """Return a fitted estimator as a document of JSON values and named arrays."""
    if not is_supported(estimator):
        ours = [kind.__name__ for kind in type(estimator).__mro__ if kind.__name__ in _KINDS]
        raise TypeError(
            f"A {_full_name(type(estimator))} cannot be saved in a model file, which "
            + (
                f"holds no code, so what this subclass adds to {ours[0]} would be lost. Save it "
                f"with joblib or pickle, or fit a {ours[0]}."
                if ours
                else f"supports {', '.join(_KINDS)}. Save other models with joblib, skops or "
                "pickle."
            )
        )
    learned, arrays = _KINDS[type(estimator).__name__].write(estimator)
    document = {
        "library_version": hedgerow.__version__,
        "estimator": type(estimator).__name__,
        "parameters": _write_parameters(estimator),
    }
    na_values = getattr(estimator, "na_values_", None)  # recorded by the command line
    markers: dict[str, Any] = {} if na_values is None else {"na_values": list(na_values)}
    markers |= _write_positive_class(estimator)
    origin = getattr(estimator, "origin_", None)  # of a model that another library fitted
    source = {} if origin is None else {"origin": write_origin(origin)}
    return document | markers | source | learned, arrays


def is_supported(estimator: object) -> bool:
    """Return whether a model file can hold an estimator of this class."""
    kind = _KINDS.get(type(estimator).__name__)
    return kind is not None and type(estimator) is kind.estimator


def estimator_kinds() -> Iterator[type[Any]]:
    """Yield the estimators that model files support."""
    return (kind.estimator for kind in _KINDS.values())


def _full_name(kind: type[Any]) -> str:
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"


def _write_parameters(estimator: Estimator) -> Document:
    later = {
        parameter.name
        for parameter in parameters_of(estimator)
        if type(estimator).__name__.startswith(_LEFT_OUT_IF_DEFAULT.get(parameter.name, ()))
        and parameter.is_default(getattr(estimator, parameter.name))
    }
    return {
        name: write_parameter(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in _NOT_PART_OF_MODEL and name not in later
    }


def write_parameter(value: Any) -> Any:
    """Return a parameter as JSON values; estimators of the library with their parameters."""
    if _are_named_estimators(value):
        others = [each for _, each in value if not is_supported(each)]
        if others:
            return encode(others[0])
        return {"estimators": [[name, write_parameter(each)] for name, each in value]}
    if not is_supported(value):
        return encode(value)
    return {"estimator": type(value).__name__, "parameters": _write_parameters(value)}


def _are_named_estimators(value: Any) -> bool:
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(pair, tuple) and hasattr(pair[-1], "get_params") for pair in value)


def read_estimator(document: Document, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Rebuild the fitted estimator, or raise ModelFileError."""
    try:
        return read_stored(Stored(document, arrays))
    except RecursionError:
        raise ModelFileError("the header is nested too deeply") from None
    except ModelFileError:
        raise
    except ValueError as error:  # from other packages' checks: DataError, ParameterError
        raise ModelFileError(str(error)) from error


def read_stored(stored: Stored) -> Any:
    """Rebuild the fitted estimator of a file, or one that is nested in another."""
    kind = _file_kind(stored.field("estimator"))
    require(isinstance(stored.field("library_version"), str), "the library version is not a string")
    parameters = _read_parameters(stored.field("parameters"), kind.estimator)
    attributes = kind.read(kind.estimator, stored) | _read_na_values(stored)
    attributes |= _read_positive_class(stored, attributes)
    if stored.has("origin"):
        attributes["origin_"] = read_origin(stored.field("origin"))
    stored.finish()
    queries, features = parameters.get("qid_column"), attributes.get("feature_names_in_", ())
    require(queries not in list(features), "qid_column is also a feature")
    estimator = kind.estimator(**parameters)
    adopt(estimator, attributes)
    return estimator


def _read_na_values(stored: Stored) -> dict[str, Any]:
    """Read the missing-value markers of the training file, if they are recorded."""
    if not stored.has("na_values"):
        return {}
    values = stored.field("na_values")
    are_texts = isinstance(values, list) and all(type(value) is str for value in values)
    require(are_texts, "na_values is not a list of strings")
    return {"na_values_": values}


def _write_positive_class(estimator: Any) -> dict[str, int]:
    """Return the place of the positive class, if the command line recorded it, in the classes."""
    label = getattr(estimator, "positive_class_", None)
    classes = single_classes(getattr(estimator, "classes_", None))
    return {"positive_class": classes.index(label)} if label in classes else {}


def _read_positive_class(stored: Stored, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Read the positive class, if it is recorded."""
    if not stored.has("positive_class"):
        return {}
    place, classes = stored.field("positive_class"), single_classes(attributes.get("classes_"))
    require(type(place) is int, "positive_class is not an integer")
    require(0 <= place < len(classes), "positive_class is not the place of a class")
    return {"positive_class_": classes[place]}


def single_classes(classes: Any) -> list[Any]:
    """Return the classes of a target; none if there are several targets, or no classes."""
    return [] if classes is None or isinstance(classes, list) else classes.tolist()


def _file_kind(name: Any) -> FileKind:
    require(isinstance(name, str) and name in _KINDS, f"the estimator {name!r} is unknown")
    return _KINDS[name]


def _read_parameters(stored: Any, kind: type[Any], depth: int = 0) -> dict[str, Any]:
    """Read the parameters; those that were added since the file was written have their defaults."""
    require(isinstance(stored, dict), "the parameters are not a JSON object")
    declared = {parameter.name: parameter for parameter in parameters_of(kind)}
    unknown = sorted(set(stored) - set(declared))
    require(not unknown, f"this version does not know the parameters {', '.join(unknown)}")
    values = {name: read_parameter(value, depth) for name, value in stored.items()}
    for name, value in values.items():
        if not (isinstance(value, NotStored) and name in _MAY_BE_NOT_STORED):
            declared[name].check(value)
    return values


def read_parameter(stored: Any, depth: int = 0) -> Any:
    """Read the output of `write_parameter`; `depth` counts the enclosing estimators."""
    if isinstance(stored, dict) and set(stored) == {"estimators"}:
        pairs = stored["estimators"]
        are_pairs = isinstance(pairs, list) and all(
            isinstance(pair, list) and len(pair) == 2 for pair in pairs
        )
        require(are_pairs, "the estimators are not pairs of a name and an estimator")
        return [(name, read_parameter(each, depth)) for name, each in pairs]
    if not (isinstance(stored, dict) and set(stored) == {"estimator", "parameters"}):
        return decode(stored)
    require(depth < MOST_DEPTH, f"estimators are nested more than {MOST_DEPTH} deep")
    kind = _file_kind(stored["estimator"]).estimator
    return kind(**_read_parameters(stored["parameters"], kind, depth + 1))
