"""Every estimator with a table whose fit takes a good part of a second, for checks of long fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import hedgerow as hr

Fit = Callable[[], Any]


def tables(n_rows: int) -> tuple[Any, Any, Any]:
    """Give numbers, two noisy classes and a noisy number for each row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 10))
    score = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(0, 0.5, n_rows)
    return X, score > 0, score


def estimators(scale: float = 1.0) -> dict[str, tuple[Any, Fit]]:
    """Give, by name, each estimator and its fit; `scale` multiplies the work of a fit."""
    X, classes, numbers = tables(int(4000 * scale) + 50)
    small, few = slice(0, int(1200 * scale) + 50), slice(0, int(500 * scale) + 50)
    rounds = {"n_estimators": int(80 * scale) + 2, "min_samples_leaf": 2}
    qid = np.arange(len(X)) // 10
    trees = {"n_estimators": int(20 * scale) + 2}
    made: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
        "GradientBoostingClassifier": (
            hr.GradientBoostingClassifier(**rounds, early_stopping=True),
            *(X, classes, {}),
        ),
        "GradientBoostingRegressor": (
            hr.GradientBoostingRegressor(**rounds, splitter="exact"),
            *(X[small], numbers[small], {}),
        ),
        "GradientBoostingRegressor, auto": (
            hr.GradientBoostingRegressor(budget=0.02),
            *(X[small], numbers[small], {}),
        ),
        "GradientBoostingRanker": (
            hr.GradientBoostingRanker(**rounds),
            *(X, np.digitize(numbers, [0, 1]), {"qid": qid}),
        ),
        "GradientBoostingSurvival": (
            hr.GradientBoostingSurvival(**rounds),
            *(X, np.exp(numbers), {}),
        ),
        "AdaBoostClassifier": (hr.AdaBoostClassifier(**trees), X, classes, {}),
        "AdaBoostRegressor": (hr.AdaBoostRegressor(**trees), X, numbers, {}),
        "StagewiseClassifier": (hr.StagewiseClassifier(**trees), X[small], classes[small], {}),
        "StagewiseRegressor": (hr.StagewiseRegressor(**trees), X[small], numbers[small], {}),
        "DecisionTreeClassifier": (hr.DecisionTreeClassifier(), X, classes, {}),
        "DecisionTreeRegressor": (hr.DecisionTreeRegressor(), X, numbers, {}),
        "RandomForestClassifier": (hr.RandomForestClassifier(**trees), X, classes, {}),
        "RandomForestRegressor": (
            hr.RandomForestRegressor(**trees, oob_score=True),
            *(X, numbers, {}),
        ),
        "ExtraTreesClassifier": (hr.ExtraTreesClassifier(**trees), X, classes, {}),
        "ExtraTreesRegressor": (hr.ExtraTreesRegressor(**trees), X, numbers, {}),
        "BaggingClassifier": (
            hr.BaggingClassifier(hr.SVC(), n_estimators=4),
            *(X[few], classes[few], {}),
        ),
        "BaggingRegressor": (hr.BaggingRegressor(**trees), X, numbers, {}),
        "KNeighborsClassifier": (hr.KNeighborsClassifier(), X, classes, {}),
        "RadiusNeighborsRegressor": (hr.RadiusNeighborsRegressor(3.0), X, numbers, {}),
        "SVC": (hr.SVC(probability=True), X[small], classes[small], {}),
        "NuSVC": (hr.NuSVC(nu=0.3), X[small], classes[small], {}),
        "SVR": (hr.SVR(), X[small], numbers[small], {}),
        "NuSVR": (hr.NuSVR(), X[few], numbers[few], {}),
        "OneClassSVM": (hr.OneClassSVM(), X[small], None, {}),
        "LinearSVC": (hr.LinearSVC(dual=True), X, classes, {}),
        "LinearSVR": (hr.LinearSVR(), X, numbers, {}),
    }
    return {name: (made[name][0], _fit(*made[name])) for name in made}


def _fit(model: Any, X: Any, y: Any, options: dict[str, Any]) -> Fit:
    return lambda: model.fit(X, y, **options)
