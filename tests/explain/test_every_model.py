"""Partial dependence, accumulated effects and H² of every kind of model: as predicting tells."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

import hedgerow as hr
from hedgerow.explain import accumulated_effects, interaction_strength, partial_dependence

DRAW = np.random.RandomState(0)
X = pd.DataFrame(
    {
        "a": np.where(np.arange(80) % 9, DRAW.normal(size=80), np.nan),
        "b": DRAW.randint(0, 6, 80).astype(float),
        "c": DRAW.choice(["u", "v", "w"], 80),
    }
)
NUMBER = np.nan_to_num(X["a"]) * X["b"] + 2.0 * (X["c"] == "v") + DRAW.normal(scale=0.1, size=80)
NUMBER = NUMBER.to_numpy()
TWO, THREE = NUMBER > 1.0, np.digitize(NUMBER, [0.0, 2.0])
NUMBERS = np.column_stack([NUMBER, np.sin(NUMBER)])
WEIGHTS = DRAW.uniform(0.1, 3.0, 80)
QUERIES = np.repeat(np.arange(8), 10)
BOOSTED = {"n_estimators": 6, "max_leaves": 6, "min_samples_leaf": 4}
FEW = {"n_estimators": 4, "max_depth": 4}

Boosted, BoostedClasses = hr.GradientBoostingRegressor, hr.GradientBoostingClassifier
MODELS = {
    "numbers": Boosted(**BOOSTED).fit(X, NUMBER, WEIGHTS),
    "poisson": Boosted(loss="poisson", **BOOSTED).fit(X, np.abs(NUMBER)),
    "quantiles": Boosted(loss="quantile", quantile=[0.2, 0.8], **BOOSTED).fit(X, NUMBER),
    "several numbers": Boosted(**BOOSTED).fit(X, NUMBERS),
    "DART": Boosted(boosting="dart", drop_rate=0.5, skip_drop=0.0, **BOOSTED).fit(X, NUMBER),
    "linear leaves": Boosted(linear_leaves=True, **BOOSTED).fit(X, NUMBER),
    "few categories": Boosted(max_categories=2, **BOOSTED).fit(X, NUMBER),
    "two classes": BoostedClasses(**BOOSTED).fit(X, TWO, WEIGHTS),
    "classes": BoostedClasses(**BOOSTED).fit(X, THREE),
    "vector leaves": BoostedClasses(multi_strategy="vector", **BOOSTED).fit(X, THREE),
    "several labels": BoostedClasses(**BOOSTED).fit(X, np.column_stack([TWO, THREE > 0])),
    "calibrated": BoostedClasses(calibration="isotonic", **BOOSTED).fit(X, TWO),
    "mean of several": Boosted(n_estimators="auto", budget=0.1).fit(X, NUMBER),
    "risks": hr.GradientBoostingSurvival(**BOOSTED).fit(X, np.exp(NUMBER / 5.0)),
    "times": hr.GradientBoostingSurvival(loss="aft", **BOOSTED).fit(X, np.exp(NUMBER / 5.0)),
    "ranker": hr.GradientBoostingRanker(**BOOSTED).fit(X, THREE, qid=QUERIES),
    "tree": hr.DecisionTreeRegressor(max_depth=5).fit(X, NUMBERS),
    "tree of classes": hr.DecisionTreeClassifier(max_depth=5).fit(X, THREE, WEIGHTS),
    "forest": hr.RandomForestRegressor(**FEW).fit(X, NUMBERS),
    "forest of classes": hr.RandomForestClassifier(**FEW).fit(X, THREE),
    "extra trees": hr.ExtraTreesRegressor(**FEW).fit(X, NUMBER, WEIGHTS),
    "extra trees of classes": hr.ExtraTreesClassifier(**FEW).fit(X, TWO),
    "bagging": hr.BaggingRegressor(n_estimators=4, max_features=0.7).fit(X, NUMBER),
    "bagging of classes": hr.BaggingClassifier(n_estimators=4).fit(X, THREE),
    "AdaBoost.R2": hr.AdaBoostRegressor(n_estimators=4).fit(X, NUMBER),
}
for algorithm in ("SAMME", "real", "gentle", "logit"):
    for y in (TWO, THREE):
        committee = hr.AdaBoostClassifier(n_estimators=4, max_depth=2, algorithm=algorithm)
        MODELS[f"{algorithm} of {len(np.unique(y))}"] = committee.fit(X, y)

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def predicted(model: Any, frame: pd.DataFrame) -> np.ndarray:
    """Return what is predicted, (rows, outputs): of two classes, the probability of the second."""
    if not is_classifier(model):
        return model.predict(frame).reshape(len(frame), -1)
    p = model.predict_proba(frame)
    is_labels = isinstance(model.classes_, list)
    return p[:, 1:] if p.shape[1] == 2 and not is_labels else p


def close(result: np.ndarray, expected: np.ndarray) -> None:
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12 * scale)


@every_model
def test_partial_dependence_is_the_mean_of_repeated_predictions(model: Any) -> None:
    results = partial_dependence(
        model, X, ["a", "c", ("a", "c")], kind="both", grid_resolution=4, sample_weight=WEIGHTS
    )
    for result in results:
        points = pd.MultiIndex.from_product(result.grid).to_frame(index=False)
        points.columns = result.features
        for k, point in enumerate(points.itertuples(index=False)):
            expected = predicted(model, X.assign(**point._asdict()))
            individual = result.individual.reshape(len(X), len(points), -1)[:, k]
            average = result.average.reshape(len(points), -1)[k]
            close(individual, expected)
            close(average, np.average(expected, axis=0, weights=WEIGHTS))


@every_model
def test_accumulated_effects_are_sums_of_differences_of_predictions(model: Any) -> None:
    result = accumulated_effects(model, X, "a", grid_resolution=5)
    edges = result.grid[0]
    cell = np.maximum(np.searchsorted(edges, X["a"]) - 1, 0)[X["a"].notna()]
    rows = X[X["a"].notna()]
    rises = predicted(model, rows.assign(a=edges[cell + 1])) - predicted(
        model, rows.assign(a=edges[cell])
    )
    steps = np.array([rises[cell == k].mean(axis=0) for k in range(len(edges) - 1)])
    effect = np.concatenate([np.zeros_like(steps[:1]), np.cumsum(steps, axis=0)])
    middle = (effect[cell] + effect[cell + 1]) / 2.0
    close(result.average, effect - middle.mean(axis=0))


@every_model
def test_interaction_strengths_are_those_of_repeated_predictions(model: Any) -> None:
    rows = X.head(25)
    result = interaction_strength(model, rows, n_rows=25, response="prediction")
    single = {name: dependence(model, rows, [name]) for name in "abc"}
    prediction = centred(predicted(model, rows))
    for k, name in enumerate("abc"):
        others = dependence(model, rows, [other for other in "abc" if other != name])
        assert_share(result.overall[k], prediction - single[name] - others, prediction)
    for k, (first, second) in enumerate(combinations("abc", 2)):
        both = dependence(model, rows, [first, second])
        together = both - single[first] - single[second]
        assert_share(result.h2[k], together, both)
        close(result.strength[k], np.sqrt((together**2).mean(axis=0)))


def dependence(model: Any, rows: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Return what is predicted on average if columns are those of each row in turn."""
    n = len(rows)
    crossed = rows.iloc[np.tile(np.arange(n), n)].reset_index(drop=True)
    crossed[names] = rows.iloc[np.repeat(np.arange(n), n)][names].to_numpy()
    return centred(predicted(model, crossed.astype(rows.dtypes)).reshape(n, n, -1).mean(axis=1))


def centred(values: np.ndarray) -> np.ndarray:
    return values - values.mean(axis=0)


def assert_share(result: np.ndarray, part: np.ndarray, prediction: np.ndarray) -> None:
    """Compare a part of the variance; of what hardly varies, its rounding has no say."""
    close(result * (prediction**2).sum(axis=0), (part**2).sum(axis=0))
