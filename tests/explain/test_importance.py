"""Importances of trees: what the estimators tell, and Shapley values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.explain import importance, shap_values

DRAW = np.random.RandomState(0)
X = pd.DataFrame(DRAW.normal(size=(120, 4)), columns=list("abcd")).assign(
    e=[f"k{k}" for k in DRAW.randint(0, 30, 120)]
)
NUMBER = (X["a"] * X["b"] + X["c"]).to_numpy()
THREE = np.digitize(NUMBER, [-0.5, 0.5])
BOOSTED = {"n_estimators": 5, "max_leaves": 6, "max_categories": 8}


@pytest.mark.parametrize("kind", ["gain", "cover", "split"])
def test_boosted_models_and_forests_tell_their_own(kind: str) -> None:
    for model in (
        hr.GradientBoostingRegressor(**BOOSTED).fit(X, NUMBER),
        hr.RandomForestRegressor(n_estimators=3).fit(X, NUMBER),
    ):
        result = importance(model, kind)
        assert np.array_equal(result.value, model.importances(kind))
        assert result.feature.tolist() == list("abcde")
        assert result.share.sum() == pytest.approx(1.0)


def sums(trees: list[Any], kind: str, n_columns: int) -> np.ndarray:
    """Add up a split at a time."""
    result = np.zeros(n_columns)
    for tree in trees:
        for node in np.flatnonzero(tree.feature >= 0):
            added = {"gain": tree.gain, "cover": tree.cover, "split": np.ones(tree.n_nodes)}[kind]
            result[tree.feature[node]] += added[node]
    return result


@pytest.mark.parametrize("kind", ["cover", "split"])
def test_trees_are_summed_up_split_by_split(kind: str) -> None:
    tree = hr.DecisionTreeRegressor(max_depth=4).fit(X, NUMBER)
    np.testing.assert_allclose(importance(tree, kind).value, sums([tree.tree_], kind, 5))
    committee = hr.AdaBoostClassifier(n_estimators=4, max_depth=2).fit(X, THREE > 1)
    assert importance(committee, "split").value.sum() >= 4


def test_the_gain_of_trees_is_their_feature_importance() -> None:
    for model in (
        hr.DecisionTreeRegressor(max_depth=4).fit(X, NUMBER),
        hr.AdaBoostClassifier(n_estimators=4, max_depth=2).fit(X, THREE > 1),
        hr.AdaBoostRegressor(n_estimators=3).fit(X, NUMBER),
    ):
        assert np.array_equal(importance(model).value, model.feature_importances_)


def test_bagging_of_trees_sums_over_the_columns_that_its_trees_drew() -> None:
    bag = hr.BaggingRegressor(n_estimators=4, max_features=0.5).fit(X.drop(columns="e"), NUMBER)
    expected = np.zeros(4)
    for member, columns in zip(bag.estimators_, bag.estimators_features_, strict=True):
        np.add.at(expected, columns, sums([member.tree_], "split", len(columns)))
    assert np.array_equal(importance(bag, "split").value, expected)


def test_shapley_values_are_averaged_over_rows() -> None:
    model = hr.GradientBoostingClassifier(**BOOSTED).fit(X, THREE)
    result = importance(model, "shap", X=X)
    values = np.abs(shap_values(model, X).values).mean(axis=0)
    np.testing.assert_allclose(result.by_output, values)
    np.testing.assert_allclose(result.value, values.sum(axis=1))
    assert list(result.to_frame().columns) == ["feature", "value", "share", "0", "1", "2"]
    single = importance(hr.DecisionTreeRegressor(max_depth=3).fit(X, NUMBER), "shap", X=X)
    assert single.by_output.shape == (5, 1)


def test_results_print_become_frames_and_are_drawn() -> None:
    result = importance(hr.GradientBoostingRegressor(**BOOSTED).fit(X, NUMBER), "split")
    frame = result.to_frame()
    assert frame["value"].is_monotonic_decreasing
    assert "number of splits" in repr(result)
    ax = result.plot()
    assert "splits" in ax.get_xlabel()
    ax.figure.clear()


def test_what_cannot_be_asked_is_refused() -> None:
    model = hr.GradientBoostingRegressor(**BOOSTED).fit(X, NUMBER)
    with pytest.raises(hr.ParameterError, match="kind='weight'"):
        importance(model, "weight")
    with pytest.raises(hr.ParameterError, match="needs X"):
        importance(model, "shap")
    with pytest.raises(hr.ParameterError, match="X is only used with kind='shap'"):
        importance(model, "gain", X=X)
    numbers = X.drop(columns="e").to_numpy()
    with pytest.raises(hr.ParameterError, match="not a sum of trees"):
        importance(hr.SVR().fit(numbers, NUMBER))
