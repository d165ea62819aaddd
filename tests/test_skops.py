"""Every fitted model passes through skops with the types that are listed, and no others."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.skops import TRUSTED_TYPES

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town=RNG.choice(["Ulm", "Bonn"], 120))
T = X[:, 0] + RNG.normal(size=120)
THREE, TWO, TIMES = np.digitize(T, [-0.5, 0.5]), (T > 0).astype(int), np.abs(T) + 0.1
FEW = {"n_estimators": 2}

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


def test_every_type_exists_and_is_of_this_library():
    assert list(TRUSTED_TYPES) == sorted(set(TRUSTED_TYPES))
    for name in TRUSTED_TYPES:
        module, _, kind = name.rpartition(".")
        assert module.startswith("hedgerow."), name
        assert isinstance(getattr(import_module(module), kind), type), name


@pytest.mark.filterwarnings("ignore")  # of skops and what it imports
def test_models_are_loaded_with_the_listed_types():
    skops = pytest.importorskip("skops.io")
    needed = set()
    for name, (model, rows, y) in MODELS.items():
        data = skops.dumps(model.fit(rows) if y is None else model.fit(rows, y))
        needed |= set(skops.get_untrusted_types(data=data))
        loaded = skops.loads(data, trusted=TRUSTED_TYPES)
        if hasattr(model, "predict"):
            assert np.array_equal(loaded.predict(rows), model.predict(rows)), name
    assert needed == set(TRUSTED_TYPES)
