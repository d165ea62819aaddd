"""Models of every kind that can be exported, and rows on which exports are likely to differ."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import hedgerow as hr

N_ROWS = 500


def table(n_rows: int = N_ROWS, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
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


@cache
def model(kind: str) -> Any:
    frame = table()
    estimator, y = KINDS[kind](number_of(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.NoSplitWarning)
        return estimator.fit(frame, y)


def prediction(kind: str, frame: pd.DataFrame) -> np.ndarray:
    """What an export of the model must return: a row of numbers for each row of the table."""
    estimator = model(kind)
    if not hasattr(estimator, "predict_proba"):
        return estimator.predict(frame).reshape(len(frame), -1)
    p = estimator.predict_proba(frame)
    return np.concatenate(p, axis=1) if isinstance(p, list) else p


@cache
def rows(kind: str) -> pd.DataFrame:
    """Return other rows: thresholds of the model, numbers next to them, unknown categories."""
    frame = table(200, seed=5)
    rng = np.random.default_rng(6)
    frame["floor area"] = frame["floor area"].astype(float)
    for j, name in enumerate(["size", "floor area"]):
        t = thresholds(kind, j)
        t = t[np.abs(t) < 1e300]  # a split between all values and the missing ones has the largest
        if len(t):
            near = np.concatenate(
                [t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), [0.0, -0.0]]
            )
            frame.loc[:149, name] = rng.choice(near, 150)
    frame.loc[::17, "colour"] = "unknown"
    frame.loc[::19, "code"] = 7
    return frame


def thresholds(kind: str, feature: int) -> np.ndarray:
    fitted = model(kind).__hedgerow__().model()
    trees = (
        fitted.ensemble.trees()
        if hasattr(fitted, "ensemble")
        else [fitted.forest.tree(t) for t in range(fitted.forest.n_trees)]
    )
    return np.unique(np.concatenate([tree.threshold[tree.feature == feature] for tree in trees]))
