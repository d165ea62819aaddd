"""Every fitted model passes through skops with the types of the list alone."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge, RidgeClassifier

import hedgerow as hr
from hedgerow._params import FLAG, AnyOf, Options, parameters_of
from hedgerow.skops import TRUSTED_TYPES

skops = pytest.importorskip("skops.io")
pytestmark = pytest.mark.filterwarnings("ignore")  # of skops and what it imports

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town=RNG.choice(["Ulm", "Bonn"], 120))
T = X[:, 0] + RNG.normal(size=120)
THREE, TWO, TIMES = np.digitize(T, [-0.5, 0.5]), (T > 0).astype(int), np.abs(T) + 0.1
FEW = {"n_estimators": 2}
SPARSE = scipy.sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
# Parameters that change no type of what is fitted, or only after minutes of a search.
PASSED_OVER = {"verbose", "warm_start", "budget"}

MODELS = {
    "classes": (hr.GradientBoostingClassifier(calibration="sigmoid", **FEW), FRAME, THREE),
    "numbers": (hr.GradientBoostingRegressor(calibration="conformal", budget="quick"), FRAME, T),
    "slopes": (hr.GradientBoostingRegressor(linear_leaves=True, max_categories=1, **FEW), FRAME, T),
    "cox": (hr.GradientBoostingSurvival(**FEW), X, TIMES),
    "aft": (hr.GradientBoostingSurvival(loss="aft", **FEW), X, TIMES),
    "ranker": (hr.GradientBoostingRanker(qid_column=0, **FEW), np.c_[THREE, X], THREE),
    "forest": (hr.RandomForestClassifier(**FEW), FRAME, THREE),
    "quantile forest": (hr.RandomForestRegressor(keep_targets=True, **FEW), X, T),
    "combinations": (hr.RandomForestClassifier(feature_combinations=2, **FEW), X, THREE),
    "extra trees": (hr.ExtraTreesClassifier(**FEW), X, THREE),
    "extra regression": (hr.ExtraTreesRegressor(**FEW), X, T),
    "tree": (hr.DecisionTreeClassifier(), X, THREE),
    "regression tree": (hr.DecisionTreeRegressor(), X, T),
    "adaboost": (hr.AdaBoostClassifier(**FEW), X, TWO),
    "adaboost of numbers": (hr.AdaBoostRegressor(**FEW), X, T),
    "bagging": (hr.BaggingClassifier(**FEW), X, THREE),
    "bagged numbers": (hr.BaggingRegressor(**FEW), X, T),
    "adaboost of estimators": (hr.AdaBoostClassifier(hr.LinearSVC(), algorithm="M1"), X, TWO),
    "adaboost of other estimators": (hr.AdaBoostRegressor(Ridge(), **FEW), X, T),
    "bagged estimators": (hr.BaggingClassifier(hr.KNeighborsClassifier(), **FEW), X, THREE),
    "bagged other estimators": (hr.BaggingRegressor(Ridge(), **FEW), X, T),
    "bagged classifiers": (hr.BaggingClassifier(RidgeClassifier(), voting="hard"), X, THREE),
    "m1": (hr.AdaBoostClassifier(algorithm="M1", max_depth=3, **FEW), X, THREE),
    "code": (hr.OutputCodeClassifier(hr.LinearSVC()), X, THREE),
    "decision": (hr.DecisionClassifier(hr.DecisionTreeClassifier()), X, THREE),
    "ensemble": (hr.EnsembleClassifier(cv=2), FRAME, THREE),
    "ensemble of numbers": (hr.EnsembleRegressor([("svm", hr.SVR())], cv=2), X, T),
    "stagewise": (hr.StagewiseClassifier(**FEW), X, THREE),
    "stagewise numbers": (hr.StagewiseRegressor(**FEW), X, T),
    "neighbours": (hr.KNeighborsClassifier(metric="gower"), FRAME, THREE),
    "neighbours' numbers": (hr.KNeighborsRegressor(), X, T),
    "radius": (hr.RadiusNeighborsClassifier(radius=9.0), X, THREE),
    "radius of numbers": (hr.RadiusNeighborsRegressor(radius=9.0), X, T),
    "search": (hr.NearestNeighbors(), X, None),
    "svc": (hr.SVC(probability=True), X, THREE),
    "nusvc": (hr.NuSVC(nu=0.1), X, TWO),
    "svr": (hr.SVR(), X, T),
    "nusvr": (hr.NuSVR(), X, T),
    "one class": (hr.OneClassSVM(), X, None),
    "linear svc": (hr.LinearSVC(), X, THREE),
    "linear svr": (hr.LinearSVR(), X, T),
}


def settings(model: Any) -> Iterator[Any]:
    """Yield the model, and one with each other option of each of its parameters."""
    yield model
    for parameter in parameters_of(type(model)):
        for option in () if parameter.name in PASSED_OVER else options(parameter.allowed):
            if option != parameter.default:
                yield clone(model).set_params(**{parameter.name: option})


def options(allowed: Any) -> list[Any]:
    if isinstance(allowed, AnyOf):
        return [option for kind in allowed.kinds for option in options(kind)]
    if isinstance(allowed, Options):
        return [name for name in allowed.names if name != "auto"]
    return [True, False] if allowed is FLAG else []


def squared_error(y: np.ndarray, raw_scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return gradients and hessians of a loss of one's own, which model files leave out."""
    return raw_scores - y, np.ones_like(y)


def assert_loaded(model: Any, rows: Any) -> None:
    """Pass a fitted model through skops, with the types of the list alone."""
    loaded = skops.loads(skops.dumps(model), trusted=TRUSTED_TYPES)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))


def test_every_type_exists():
    assert list(TRUSTED_TYPES) == sorted(set(TRUSTED_TYPES))
    for name in TRUSTED_TYPES:
        module, _, kind = name.rpartition(".")
        assert module.startswith(("hedgerow.", "scipy.sparse.")), name
        assert isinstance(getattr(import_module(module), kind), type), name


@pytest.mark.parametrize("name", MODELS)
def test_models_with_any_option_are_loaded_with_the_listed_types(name):
    model, rows, y = MODELS[name]
    n_fitted = 0
    for each in settings(model):
        try:
            each.fit(rows) if y is None else each.fit(rows, y)
        except ValueError:  # an option that these rows, or the others, do not allow
            continue
        assert_loaded(each, rows)
        n_fitted += 1
    assert n_fitted > 0


@pytest.mark.parametrize("name", [name for name in MODELS if name != "ranker"])
def test_models_of_sparse_rows_are_loaded_with_the_listed_types(name):
    model, _, y = MODELS[name]
    model = clone(model)
    if "metric" in model.get_params():
        model.set_params(metric="euclidean")
    assert_loaded(model.fit(SPARSE) if y is None else model.fit(SPARSE, y), SPARSE)


def test_models_from_elsewhere_are_loaded_with_the_listed_types(tmp_path):
    foreign = RandomForestRegressor(**FEW).fit(X, T)
    assert_loaded(hr.from_sklearn(foreign), X)
    for name in ("numbers", "ensemble", "svc"):
        model, rows, y = MODELS[name]
        model.fit(rows, y).save(tmp_path / "model.hedgerow")
        assert_loaded(hr.load(tmp_path / "model.hedgerow"), rows)
    model = hr.GradientBoostingRegressor(loss=squared_error, **FEW).fit(X, T)
    model.save(tmp_path / "model.hedgerow")
    assert_loaded(hr.load(tmp_path / "model.hedgerow"), X)
