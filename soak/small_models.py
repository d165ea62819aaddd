"""One small model of every kind and the data it is fitted to, for checks that fit many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hedgerow as hr

ROWS, COLUMNS = 120, 4
BOOSTED: dict[str, Any] = {"n_estimators": 2, "learning_rate": 0.3, "max_leaves": 4, "n_jobs": 2}


def small_models() -> dict[str, Callable[[], Any]]:
    """Return a way to make each model, by name."""
    return {
        "GradientBoostingClassifier": lambda: hr.GradientBoostingClassifier(**BOOSTED),
        "GradientBoostingRegressor": lambda: hr.GradientBoostingRegressor(**BOOSTED),
        "exact boosting": lambda: hr.GradientBoostingClassifier(splitter="exact", **BOOSTED),
        "linear leaves": lambda: hr.GradientBoostingRegressor(linear_leaves=True, **BOOSTED),
        "DecisionTreeClassifier": lambda: hr.DecisionTreeClassifier(max_depth=3),
        "RandomForestClassifier": lambda: hr.RandomForestClassifier(n_estimators=3, n_jobs=2),
        "ExtraTreesRegressor": lambda: hr.ExtraTreesRegressor(n_estimators=3, n_jobs=2),
        "AdaBoostClassifier": lambda: hr.AdaBoostClassifier(n_estimators=3),
        "KNeighborsClassifier": lambda: hr.KNeighborsClassifier(n_jobs=2),
        "SVC": lambda: hr.SVC(),
        "SVR": lambda: hr.SVR(),
        "LinearSVC": lambda: hr.LinearSVC(),
    }


def more_models() -> dict[str, Callable[[], Any]]:
    """Return the models above and those of every other estimator that takes classes or numbers."""
    tree = hr.DecisionTreeRegressor(max_depth=2)
    return small_models() | {
        "vector leaves": lambda: hr.GradientBoostingClassifier(multi_strategy="vector", **BOOSTED),
        "DART": lambda: hr.GradientBoostingRegressor(boosting="dart", **BOOSTED),
        "DecisionTreeRegressor": lambda: hr.DecisionTreeRegressor(),
        "RandomForestRegressor": lambda: hr.RandomForestRegressor(n_estimators=3, oob_score=True),
        "ExtraTreesClassifier": lambda: hr.ExtraTreesClassifier(n_estimators=3, n_jobs=2),
        "BaggingClassifier": lambda: hr.BaggingClassifier(hr.LinearSVC(), n_estimators=3),
        "BaggingRegressor": lambda: hr.BaggingRegressor(n_estimators=3),
        "AdaBoostRegressor": lambda: hr.AdaBoostRegressor(n_estimators=3),
        "StagewiseClassifier": lambda: hr.StagewiseClassifier(tree, n_estimators=3),
        "StagewiseRegressor": lambda: hr.StagewiseRegressor(tree, n_estimators=3),
        "KNeighborsRegressor": lambda: hr.KNeighborsRegressor(),
        "RadiusNeighborsClassifier": lambda: hr.RadiusNeighborsClassifier(3.0),
        "RadiusNeighborsRegressor": lambda: hr.RadiusNeighborsRegressor(3.0),
        "NuSVC": lambda: hr.NuSVC(nu=0.3),
        "NuSVR": lambda: hr.NuSVR(),
        "OneClassSVM": lambda: hr.OneClassSVM(),
        "LinearSVR": lambda: hr.LinearSVR(),
    }


def small_table(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Give rows with a class each, which is a number too."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, COLUMNS))
    return X, (X[:, 0] + 0.5 * rng.standard_normal(ROWS) > 0).astype(np.int64)
