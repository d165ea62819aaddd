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


def small_table(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Give rows with a class each, which is a number too."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, COLUMNS))
    return X, (X[:, 0] + 0.5 * rng.standard_normal(ROWS) > 0).astype(np.int64)
