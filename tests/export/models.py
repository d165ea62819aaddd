"""Models of every kind that can be exported, and rows on which exports are likely to differ."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import sklearn.ensemble
import sklearn.tree
import xgboost

import hedgerow as hr
from importing.rows import hard_rows, with_odd_labels

N_ROWS = 500


def table(n_rows: int = N_ROWS, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows).astype(np.float32).astype(float),
            "floor area": rng.integers(-4, 9, n_rows) / 4,
            "colour": rng.choice(["red", "dark 'blue'", 'a "b" \\ c', "what??!", ""], n_rows),
            "flag": rng.random(n_rows) < 0.4,
            "code": rng.choice([1, 3, 20], n_rows),
        }
    )
    frame.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "colour"] = None
    return frame


def number_of(frame: pd.DataFrame, seed: int = 1) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0.0, 0.3, len(frame))
    colour = frame["colour"].map({"red": 1.0, "what??!": -1.0}).fillna(0.2)
    size = frame["size"].fillna(-0.5)
    return (
        size * frame["floor area"] + colour + frame["flag"] + (frame["code"] == 3) + noise
    ).to_numpy()


def _classes(y: np.ndarray) -> np.ndarray:
    return np.array(["low", "middle", "high"])[np.digitize(y, [0.0, 1.2])]


CATEGORICAL = ["code"]
BOOST = {
    "n_estimators": 12,
    "max_leaves": 9,
    "categorical_features": CATEGORICAL,
    "min_samples_leaf": 5,
}
AUTOMATIC = {"learning_rate": 1.0, "categorical_features": CATEGORICAL}
FOREST = {"n_estimators": 7, "max_depth": 5, "categorical_features": CATEGORICAL}
ADABOOST = {"n_estimators": 6, "max_depth": 2, "categorical_features": CATEGORICAL}
KINDS: dict[str, Any] = {
    "regressor": lambda y: (hr.GradientBoostingRegressor(**BOOST), y),
    "poisson": lambda y: (hr.GradientBoostingRegressor(loss="poisson", **BOOST), np.exp(y / 3)),
    "two_classes": lambda y: (hr.GradientBoostingClassifier(**BOOST), y > 0.8),
    "exponential": lambda y: (hr.GradientBoostingClassifier(loss="exponential", **BOOST), y > 0.8),
    "three_classes": lambda y: (hr.GradientBoostingClassifier(**BOOST), _classes(y)),
    "vector_leaves": lambda y: (
        hr.GradientBoostingClassifier(multi_strategy="vector", **BOOST),
        _classes(y),
    ),
    "multilabel": lambda y: (
        hr.GradientBoostingClassifier(**BOOST),
        np.column_stack([y > 0.0, y > 1.0]),
    ),
    "two_targets": lambda y: (hr.GradientBoostingRegressor(**BOOST), np.column_stack([y, -y])),
    "quantiles": lambda y: (
        hr.GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.5, 0.9], **BOOST),
        y,
    ),
    "sigmoid_calibration": lambda y: (
        hr.GradientBoostingClassifier(calibration="sigmoid", **BOOST),
        _classes(y),
    ),
    "isotonic_calibration": lambda y: (
        hr.GradientBoostingClassifier(calibration="isotonic", **BOOST),
        y > 0.8,
    ),
    "temperature": lambda y: (
        hr.GradientBoostingClassifier(calibration="temperature", **BOOST),
        _classes(y),
    ),
    "linear_leaves": lambda y: (hr.GradientBoostingRegressor(linear_leaves=True, **BOOST), y),
    "target_statistics": lambda y: (
        hr.GradientBoostingClassifier(max_categories=2, **BOOST),
        _classes(y),
    ),
    "symmetric": lambda y: (
        hr.GradientBoostingClassifier(grow_policy="symmetric", **BOOST),
        _classes(y),
    ),
    # What a fit with default parameters returns: the mean of several models, here of few rounds.
    "averaged": lambda y: (hr.GradientBoostingRegressor(**AUTOMATIC), y),
    "averaged_classes": lambda y: (hr.GradientBoostingClassifier(**AUTOMATIC), _classes(y)),
    "no_split": lambda y: (
        hr.GradientBoostingRegressor(**BOOST | {"min_samples_leaf": N_ROWS}),
        y,
    ),
    "forest": lambda y: (hr.RandomForestClassifier(**FOREST), _classes(y)),
    "extra_trees": lambda y: (hr.ExtraTreesRegressor(**FOREST), y),
    "two_class_forest": lambda y: (hr.RandomForestClassifier(**FOREST), y > 0.8),
    "bagging": lambda y: (
        hr.BaggingClassifier(
            hr.DecisionTreeClassifier(
                splitter="hist", max_depth=4, categorical_features=CATEGORICAL
            ),
            n_estimators=5,
        ),
        _classes(y),
    ),
    "real_adaboost": lambda y: (hr.AdaBoostClassifier(algorithm="real", **ADABOOST), y > 0.8),
    "gentle_adaboost": lambda y: (hr.AdaBoostClassifier(algorithm="gentle", **ADABOOST), y > 0.8),
    "logit_adaboost": lambda y: (hr.AdaBoostClassifier(algorithm="logit", **ADABOOST), y > 0.8),
    "real_classes": lambda y: (
        hr.AdaBoostClassifier(algorithm="real", **ADABOOST),
        _classes(y),
    ),
    "tree": lambda y: (
        hr.DecisionTreeClassifier(max_depth=5, categorical_features=CATEGORICAL),
        _classes(y),
    ),
}


# ---- deep trees and models of other libraries, on numbers ----------------------------------------

NUMBERS = ["size", "floor area", "code"]
DEPTH = 20
DEEP = {"max_depth": DEPTH, "min_samples_leaf": 1, "random_state": 0}
LEAVES = {"n_estimators": 5, "max_leaves": 200, "min_samples_leaf": 1}
PEER = {"max_depth": DEPTH, "random_state": 0}


def numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that every library takes, with names that LightGBM keeps."""
    return frame[NUMBERS].astype(float).rename(columns={"floor area": "area"})


def _deep(y: np.ndarray) -> dict[str, tuple[Any, np.ndarray]]:
    """Return estimators of all kinds that take tables with categories, with deep trees."""
    two, three = y > 0.8, _classes(y)
    positive, targets = np.exp(y / 3), np.column_stack([y, -y])
    share = 1 / (1 + np.exp(-y))
    shares = np.column_stack([share, 1 - share])
    few = DEEP | {"n_estimators": 4}
    boost = hr.GradientBoostingRegressor
    classify = hr.GradientBoostingClassifier
    adaboost = hr.AdaBoostClassifier
    bagged = hr.DecisionTreeRegressor(splitter="hist", max_depth=DEPTH)
    return {
        "deep leafwise": (boost(**LEAVES), y),
        "deep levels": (boost(grow_policy="levelwise", max_depth=DEPTH, **LEAVES), y),
        "deep symmetric": (boost(grow_policy="symmetric", max_depth=8, n_estimators=4), y),
        "deep exact": (boost(splitter="exact", **LEAVES), y),
        "deep approx": (boost(splitter="approx", **LEAVES), y),
        "deep DART": (boost(boosting="dart", drop_rate=0.5, **LEAVES), y),
        "deep linear leaves": (boost(linear_leaves=True, **LEAVES), y),
        "deep vector leaves": (boost(multi_strategy="vector", **LEAVES), targets),
        "deep gamma": (boost(loss="gamma", **LEAVES), positive),
        "deep tweedie": (boost(loss="tweedie", **LEAVES), positive),
        "deep absolute error": (boost(loss="absolute_error", **LEAVES), y),
        "deep shares": (boost(loss="log_loss", **LEAVES), share),
        "deep hinge": (classify(loss="hinge", **LEAVES), two),
        "deep focal": (classify(loss="focal", **LEAVES), two),
        "deep cross entropy": (classify(loss="cross_entropy", **LEAVES), shares),
        "deep three classes": (classify(**LEAVES), three),
        "deep survival": (hr.GradientBoostingSurvival(**LEAVES), np.where(two, 1, -1) * positive),
        "deep failure times": (hr.GradientBoostingSurvival(loss="aft", **LEAVES), positive),
        "deep tree": (hr.DecisionTreeRegressor(**DEEP), y),
        "deep binned tree": (hr.DecisionTreeClassifier(splitter="hist", **DEEP), three),
        "deep tree of targets": (hr.DecisionTreeRegressor(**DEEP), targets),
        "deep forest": (hr.RandomForestRegressor(**few), y),
        "deep class forest": (hr.RandomForestClassifier(**few), three),
        "deep extra trees": (hr.ExtraTreesRegressor(**few), y),
        "deep class extra trees": (hr.ExtraTreesClassifier(**few), two),
        "deep bagging": (hr.BaggingRegressor(bagged, n_estimators=4), y),
        "deep class bagging": (hr.BaggingClassifier(n_estimators=4), three),
        "deep SAMME": (adaboost(max_depth=9, n_estimators=4), three),
        "deep real": (adaboost(algorithm="real", max_depth=9, n_estimators=4), three),
        "deep gentle": (adaboost(algorithm="gentle", max_depth=9, n_estimators=4), two),
        "deep logit": (adaboost(algorithm="logit", max_depth=9, n_estimators=4), three),
    }


DEEP_KINDS = tuple(_deep(np.linspace(-2.0, 2.0, 9)))


def _imported(kind: str, X: pd.DataFrame, y: np.ndarray) -> Any:
    three = np.digitize(y, [0.0, 1.2])
    booster = {"n_estimators": 5, "min_child_weight": 0} | PEER
    leaves = booster | {"num_leaves": 300, "min_child_samples": 1, "verbose": -1}
    filled = X.fillna(-3.0)
    made = {
        "LightGBM": lambda: lightgbm.LGBMRegressor(**leaves).fit(X, y),
        "LightGBM classes": lambda: lightgbm.LGBMClassifier(**leaves).fit(X, three),
        "LightGBM forest": lambda: lightgbm.LGBMRegressor(
            boosting_type="rf", subsample=0.6, subsample_freq=1, **leaves
        ).fit(X, y),
        "XGBoost": lambda: xgboost.XGBRegressor(**booster).fit(X, y),
        "XGBoost classes": lambda: xgboost.XGBClassifier(**booster).fit(X, three),
        "XGBoost DART": lambda: xgboost.XGBRegressor(booster="dart", rate_drop=0.5, **booster).fit(
            X, y
        ),
        "scikit-learn tree": lambda: sklearn.tree.DecisionTreeRegressor(**PEER).fit(filled, y),
        "scikit-learn forest": lambda: sklearn.ensemble.RandomForestClassifier(
            n_estimators=4, **PEER
        ).fit(filled, three),
        "scikit-learn extra trees": lambda: sklearn.ensemble.ExtraTreesRegressor(
            n_estimators=4, **PEER
        ).fit(filled, y),
        "scikit-learn boosting": lambda: sklearn.ensemble.GradientBoostingRegressor(
            n_estimators=4, **PEER
        ).fit(filled, y),
        "scikit-learn histograms": lambda: sklearn.ensemble.HistGradientBoostingClassifier(
            max_iter=4, max_leaf_nodes=200, min_samples_leaf=1, **PEER
        ).fit(filled, three),
    }[kind]()
    library = kind.split()[0]
    if library == "scikit-learn":
        return hr.from_sklearn(made)
    return hr.from_lightgbm(made) if library == "LightGBM" else hr.from_xgboost(made)


IMPORTED_KINDS = (
    *("LightGBM", "LightGBM classes", "LightGBM forest"),
    *("XGBoost", "XGBoost classes", "XGBoost DART"),
    *("scikit-learn tree", "scikit-learn forest", "scikit-learn extra trees"),
    *("scikit-learn boosting", "scikit-learn histograms"),
)
# CatBoost's own files; each name is also that of a file.
CATBOOST = Path(__file__).parents[1] / "importing" / "catboost"
CATBOOST_KINDS = tuple(
    f"CatBoost {file.stem}" for file in sorted(CATBOOST.glob("*.json")) if file.stem != "scores"
)


# ---- models without trees, on numbers ------------------------------------------------------------

EXACT = {"tol": 1e-9}  # so that kernel values are float64 for any number of rows


def _of_rows(y: np.ndarray) -> dict[str, tuple[Any, np.ndarray]]:
    two, three = y > 0.8, _classes(y)
    return {
        "linear SVM": (hr.LinearSVC(), three),
        "linear SVM of numbers": (hr.LinearSVR(), y),
        "SVM": (hr.SVC(**EXACT), three),
        "SVM with probabilities": (hr.SVC(probability=True, **EXACT), two),
        "nu-SVM": (hr.NuSVC(nu=0.8, **EXACT), two),
        "SVM of numbers": (hr.SVR(**EXACT), y),
        "nu-SVM of numbers": (hr.NuSVR(**EXACT), y),
        "SVM of one class": (hr.OneClassSVM(nu=0.2, **EXACT), y),
        "neighbours": (hr.KNeighborsClassifier(), three),
        "neighbours of numbers": (hr.KNeighborsRegressor(weights="distance"), y),
        "neighbours within a radius": (
            hr.RadiusNeighborsClassifier(0.5, outlier_label="low"),
            three,
        ),
        "neighbours of numbers within a radius": (hr.RadiusNeighborsRegressor(6.0), y),
    }


ROW_KINDS = tuple(_of_rows(np.linspace(-2.0, 2.0, 9)))
ALL_KINDS = (*KINDS, *DEEP_KINDS, "ranking", *IMPORTED_KINDS, *CATBOOST_KINDS, *ROW_KINDS)
# Kinds whose scores are not their predictions.
KINDS_WITH_SCORES = (
    *("poisson", "two_classes", "three_classes", "multilabel", "temperature"),
    *("deep gamma", "LightGBM classes", "XGBoost classes", "CatBoost two_classes"),
)
# What no format can represent: an estimator of each class, and the reason.
UNSUPPORTED = {
    "a median": (hr.AdaBoostRegressor(n_estimators=2), "weighted median"),
    "costs": (hr.DecisionClassifier(decision_threshold=0.3), "Supported are"),
    "selected classifiers": (
        hr.EnsembleClassifier([("tree", hr.DecisionTreeClassifier())], cv=2),
        "Supported are",
    ),
    "selected regressors": (
        hr.EnsembleRegressor([("tree", hr.DecisionTreeRegressor())], cv=2),
        "Supported are",
    ),
    "rows without predictions": (hr.NearestNeighbors(), "no predictions"),
    "codes": (hr.OutputCodeClassifier(), "Supported are"),
    "stages": (hr.StagewiseClassifier(n_estimators=2), "Supported are"),
    "stages of numbers": (hr.StagewiseRegressor(n_estimators=2), "Supported are"),
}


@cache
def model(kind: str, n_rows: int = N_ROWS) -> Any:
    frame = table(n_rows)
    y = number_of(frame)
    if kind in IMPORTED_KINDS:
        return _imported(kind, numbers(frame), y)
    if kind in CATBOOST_KINDS:
        return hr.read_model(CATBOOST / f"{kind.removeprefix('CatBoost ')}.json")
    if kind in ROW_KINDS:
        estimator, target = _of_rows(y)[kind]
        return estimator.fit(numbers(frame).fillna(-3.0), target)
    if kind == "ranking":
        queries = np.arange(n_rows) // 20
        return hr.GradientBoostingRanker(**LEAVES).fit(frame, np.digitize(y, [0, 1]), qid=queries)
    estimator, target = KINDS[kind](y) if kind in KINDS else _deep(y)[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.NoSplitWarning)
        return estimator.fit(frame, target)


def prediction(kind: str, frame: pd.DataFrame, n_rows: int = N_ROWS) -> np.ndarray:
    """What an export of the model must return: a row of numbers for each row of the table."""
    estimator = model(kind, n_rows)
    if hasattr(estimator, "predict_proba"):
        p = estimator.predict_proba(frame)
        return np.concatenate(p, axis=1) if isinstance(p, list) else p
    is_margin = hasattr(estimator, "decision_function")
    found = estimator.decision_function(frame) if is_margin else estimator.predict(frame)
    return found.reshape(len(frame), -1)


@cache
def rows(kind: str, n_rows: int = N_ROWS, n_new: int = 200) -> pd.DataFrame:
    """Return other rows: thresholds of the model, numbers next to them, unknown categories."""
    if kind in CATBOOST_KINDS:
        hard = with_odd_labels(hard_rows(model(kind), n_new))
        return hard[model(kind).feature_names_in_].replace({np.inf: np.nan, -np.inf: np.nan})
    frame = table(n_new, seed=5)
    if kind in ROW_KINDS:
        return numbers(frame).fillna(-3.0)
    rng = np.random.default_rng(6)
    frame["floor area"] = frame["floor area"].astype(float)
    n_near = 3 * n_new // 4
    for j, name in enumerate(["size", "floor area"]):
        t = thresholds(kind, j, n_rows)
        t = t[np.abs(t) < 1e300]  # a split between all values and the missing ones has the largest
        if len(t):
            near = np.concatenate(
                [t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), [0.0, -0.0]]
            )
            frame.loc[: n_near - 1, name] = rng.choice(near, n_near)
    frame.loc[::17, "colour"] = "unknown"
    frame.loc[::19, "code"] = 7
    return numbers(frame) if kind in IMPORTED_KINDS else frame


def thresholds(kind: str, feature: int, n_rows: int = N_ROWS) -> np.ndarray:
    fitted = model(kind, n_rows).__hedgerow__().model()
    trees = (
        fitted.ensemble.trees()
        if hasattr(fitted, "ensemble")
        else [fitted.forest.tree(t) for t in range(fitted.forest.n_trees)]
    )
    return np.unique(np.concatenate([tree.threshold[tree.feature == feature] for tree in trees]))
