"""The functions that read models: from a file of any library, and from fitted objects."""

from __future__ import annotations

import stat
import sys
from codecs import BOM_UTF8
from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from hedgerow import _model_file
from hedgerow._arguments import with_argument_hints
from hedgerow._import.catboost_json import read_catboost
from hedgerow._import.cbm import json_of_cbm
from hedgerow._import.fields import parse_json
from hedgerow._import.lightgbm_text import read_lightgbm
from hedgerow._import.model import boosted_estimator
from hedgerow._import.ubjson import parse_ubjson
from hedgerow._import.xgboost_json import read_xgboost
from hedgerow._model_file.atomic import file_name
from hedgerow._model_file.text import FORMAT as HEDGEROW_JSON
from hedgerow._model_file.text import from_json
from hedgerow._params import short_repr
from hedgerow.exceptions import HedgerowError, ModelFileError, ParameterError

_OWN = b'{"__metadata__"'  # follows the length of the header
_FORMATS = (
    "read_model reads model files of Hedgerow, its JSON, XGBoost's JSON and UBJSON, LightGBM's "
    "text, CatBoost's JSON and cbm"
)
_BEGINNING = 64  # bytes that tell formats apart
_UBJSON_OBJECTS = (b"{L", b"{l", b"{I", b"{i", b"{U", b"{$", b"{#")


@with_argument_hints
def read_model(path: str | PathLike[str]) -> Any:
    """Read a model of Hedgerow, XGBoost, LightGBM or CatBoost from a file.

    The format is recognised from the contents: a model file of Hedgerow or its JSON, XGBoost's JSON
    or UBJSON from version 1.7 on, LightGBM's text format, or CatBoost's JSON. The other library
    need not be installed, except to read CatBoost's binary format (cbm). Raw scores are the same as
    in the other library, bit for bit.

    Files from untrusted sources may be read: that runs no code, and everything in the file is
    checked before it is used; SECURITY.md says how this is tested. This does not hold for cbm,
    which CatBoost's own loader reads: it runs in a process of its own, so a damaged file cannot
    crash this one, but that process is not a sandbox. From untrusted sources, take CatBoost's JSON.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    fitted estimator
        Unless it is a model of Hedgerow, it has an attribute ``origin_``: library, version, format
        and objective of the model.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model, or is a model that has no counterpart in Hedgerow.
    OSError
        If the file does not exist or cannot be read.
    """
    name = file_name(path)
    status = Path(name).stat()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise ModelFileError(f"{name!r}: not a regular file")
    with Path(name).open("rb") as file:
        beginning = file.read(_BEGINNING)
    reader = _reader_of(beginning)
    if reader is None and not beginning[8:].startswith(_OWN):
        _refuse_other(name)
    if reader is None:
        return _model_file.load(name)
    try:
        return reader(Path(name).read_bytes())
    except ModelFileError as error:
        raise ModelFileError(f"{name!r}: {error}") from error


def _refuse_other(name: str) -> NoReturn:
    """Raise for a file of no known format; `load` knows what some of them are."""
    try:
        _model_file.load(name)
    except ModelFileError as error:
        raise ModelFileError(f"{error}. {_FORMATS}") from error
    raise ModelFileError(f"{name!r}: the file has changed while it was read.")


def _reader_of(beginning: bytes) -> Callable[[bytes], Any] | None:
    """Return the function that reads a file with this beginning; None for our own."""
    text = beginning.removeprefix(BOM_UTF8)  # which some editors add
    if text.startswith((b"tree\n", b"tree\r\n")):
        return _read_text
    if beginning.startswith(b"CBM1"):
        return _read_cbm
    if beginning.startswith(_UBJSON_OBJECTS):
        return _read_ubjson
    return _read_json if text.lstrip().startswith(b"{") else None


def is_foreign(data: bytes) -> bool:
    """Return whether the bytes of a model are not those of a model file of this library."""
    return _reader_of(data[:_BEGINNING]) is not None


def _read_text(data: bytes) -> Any:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"the file is not UTF-8: {error}.") from None
    return _checked(lambda: boosted_estimator(read_lightgbm(text)))


def _read_ubjson(data: bytes) -> Any:
    return _checked(lambda: boosted_estimator(read_xgboost(parse_ubjson(data), "UBJSON")))


def _read_json(data: bytes) -> Any:
    document = parse_json(data)
    if isinstance(document, dict) and document.get("format") == HEDGEROW_JSON:
        return from_json(data)
    if isinstance(document, dict) and "learner" in document:
        return _checked(lambda: boosted_estimator(read_xgboost(document, "JSON")))
    if isinstance(document, dict) and "features_info" in document:
        return _of_catboost(document)
    raise ModelFileError("the JSON is not a model of Hedgerow, XGBoost or CatBoost.")


def _read_cbm(data: bytes) -> Any:
    return _of_catboost(parse_json(json_of_cbm(data)))


def _of_catboost(document: Any) -> Any:
    return _checked(lambda: boosted_estimator(read_catboost(document)))


def _checked(read: Callable[[], Any]) -> Any:
    """Read a model; what our own classes refuse, such as names that occur twice, is its fault."""
    try:
        return read()
    except ModelFileError:
        raise
    except HedgerowError as error:
        raise ModelFileError(str(error)) from error


@with_argument_hints
def from_lightgbm(model: Any) -> Any:
    """Convert a LightGBM model to an estimator of Hedgerow.

    Parameters
    ----------
    model : lightgbm.Booster, or a fitted lightgbm.LGBMClassifier, LGBMRegressor or LGBMRanker
        The rounds up to the best iteration are used, as in LightGBM's own predictions.

    Returns
    -------
    fitted estimator
        As `read_model` returns it, with the classes of an LGBMClassifier.
    """
    booster = getattr(model, "booster_", model)
    to_text = getattr(booster, "model_to_string", None)
    if to_text is None:
        raise _not_a_model(model, "a lightgbm.Booster or a fitted estimator of LightGBM")
    classes = getattr(model, "classes_", None)
    return _checked(
        lambda: boosted_estimator(read_lightgbm(to_text(), _version_of(booster), classes))
    )


@with_argument_hints
def from_xgboost(model: Any) -> Any:
    """Convert an XGBoost model to an estimator of Hedgerow.

    Parameters
    ----------
    model : xgboost.Booster, or a fitted xgboost.XGBClassifier, XGBRegressor or XGBRanker
        If training stopped early, the rounds up to the best iteration are used, as in XGBoost's own
        predictions.

    Returns
    -------
    fitted estimator
        As `read_model` returns it, with the classes of an XGBClassifier.
    """
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not hasattr(booster, "save_raw"):
        raise _not_a_model(model, "an xgboost.Booster or a fitted estimator of XGBoost")
    data, classes = bytes(booster.save_raw("ubj")), getattr(model, "classes_", None)
    read = _checked(lambda: boosted_estimator(read_xgboost(parse_ubjson(data), "UBJSON", classes)))
    best = _best_iteration(model) if booster is not model else None
    # An iteration with parallel trees is several rounds.
    return read if best is None else read[: best * read.n_iter_ // booster.num_boosted_rounds()]


def _best_iteration(model: Any) -> int | None:
    """Return the number of iterations up to the best one, if an estimator stopped early."""
    try:
        return int(model.best_iteration) + 1
    except AttributeError:
        return None


@with_argument_hints
def from_catboost(model: Any, pool: Any = None) -> Any:
    """Convert a CatBoost model to an estimator of Hedgerow.

    Parameters
    ----------
    model : a fitted catboost.CatBoost, CatBoostClassifier, CatBoostRegressor or CatBoostRanker
        Its splits must be on numbers or single categories (one-hot), not on target statistics.
    pool : catboost.Pool, optional
        The training data. It is needed if the model has categorical features, because the model
        only stores hashes of the categories.

    Returns
    -------
    fitted estimator
        As `read_model` returns it.
    """
    if not hasattr(model, "save_model") or getattr(model, "tree_count_", None) is None:
        raise _not_a_model(model, "a fitted model of CatBoost")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json", pool=pool)
        except Exception as error:  # CatBoost's own, which is not imported by name
            raise ModelFileError(f"CatBoost cannot write the model as JSON: {error}") from error
        document = parse_json(path.read_bytes())
    return _of_catboost(document)


@with_argument_hints
def from_sklearn(model: Any) -> Any:
    """Convert a scikit-learn model to an estimator of Hedgerow.

    Parameters
    ----------
    model : fitted estimator
        HistGradientBoosting, GradientBoosting with a constant init, RandomForest, ExtraTrees,
        DecisionTree or ExtraTree, or AdaBoost of trees; each a classifier or a regressor.

    Returns
    -------
    fitted estimator
        An estimator of the same kind, with an attribute ``origin_``: library, version, class and
        loss.
    """
    from sklearn import ensemble
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    from hedgerow._import import sklearn_boosting, sklearn_trees

    readers: dict[tuple[type, ...], Callable[[Any], Any]] = {
        (ensemble.HistGradientBoostingClassifier, ensemble.HistGradientBoostingRegressor): (
            lambda fitted: boosted_estimator(sklearn_boosting.read_hist_gradient_boosting(fitted))
        ),
        (ensemble.GradientBoostingClassifier, ensemble.GradientBoostingRegressor): (
            lambda fitted: boosted_estimator(sklearn_boosting.read_gradient_boosting(fitted))
        ),
        tuple(theirs for theirs, _ in sklearn_trees.FORESTS): sklearn_trees.read_forest,
        sklearn_trees.TREES: sklearn_trees.read_tree,
        (ensemble.AdaBoostClassifier, ensemble.AdaBoostRegressor): sklearn_trees.read_adaboost,
    }
    if isinstance(model, Pipeline):
        raise ParameterError(
            "model is a Pipeline: pass its last step, pipeline[-1]. The X of the imported model is "
            "then the output of the other steps, pipeline[:-1].transform(X)."
        )
    for kinds, read in readers.items():
        if isinstance(model, kinds):
            check_is_fitted(model)
            return _checked(partial(read, model))
    raise _not_a_model(
        model,
        "a HistGradientBoosting, GradientBoosting, RandomForest, ExtraTrees, DecisionTree or "
        "AdaBoost estimator of scikit-learn",
    )


def _version_of(fitted: Any) -> str:
    """Return the version of the library of an object, which is loaded."""
    library = sys.modules.get(type(fitted).__module__.partition(".")[0])
    return str(getattr(library, "__version__", ""))


def _not_a_model(model: Any, allowed: str) -> ParameterError:
    return ParameterError(f"model={short_repr(model)} is not allowed; it must be {allowed}.")
