"""Models as the package `shap` takes them: the same scores and, where it is installed, values."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

import hedgerow as hr
from hedgerow._shap_package import _wrap
from hedgerow._tree.additive import additive_trees
from hedgerow.explain import shap_values, to_shap

rng = np.random.default_rng(0)
X = rng.standard_normal((150, 5))
X[rng.random(X.shape) < 0.1] = np.nan
Y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + np.nan_to_num(X[:, 2])
THREE = np.digitize(Y, [-0.5, 0.5])

FEW = {"n_estimators": 5, "max_leaves": 12}
MODELS = {
    "numbers": hr.GradientBoostingRegressor(**FEW).fit(X, Y),
    "two classes": hr.GradientBoostingClassifier(**FEW).fit(X, Y > 0),
    "classes": hr.GradientBoostingClassifier(**FEW).fit(X, THREE),
    "vector leaves": hr.GradientBoostingClassifier(multi_strategy="vector", **FEW).fit(X, THREE),
    "forest": hr.RandomForestClassifier(n_estimators=4, max_depth=5).fit(X, THREE),
    "adaboost": hr.AdaBoostClassifier(n_estimators=5, max_depth=3).fit(X, Y > 0),
}


def score(converted: dict[str, Any], row: np.ndarray) -> np.ndarray:
    """The score of a row by the rules of that package: ≤ goes left, NaN to the default child."""
    total = converted["base_offset"].copy()
    for tree in converted["trees"]:
        node = 0
        while tree["children_left"][node] >= 0:
            x = row[tree["features"][node]]
            side = (
                "default" if np.isnan(x) else "left" if x <= tree["thresholds"][node] else "right"
            )
            node = tree[f"children_{side}"][node]
        total += tree["values"][node]
    return total


@pytest.mark.parametrize("name", MODELS)
def test_a_converted_model_gives_the_same_scores(name: str) -> None:
    model = MODELS[name]
    converted = to_shap(model)
    expected = additive_trees(model).scores(X[:20])
    result = np.array([score(converted, row) for row in X[:20]])
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_the_rows_of_a_node_are_those_of_its_children(name: str) -> None:
    for tree in to_shap(MODELS[name])["trees"]:
        inner = np.flatnonzero(tree["children_left"] >= 0)
        weight = tree["node_sample_weight"]
        below = weight[tree["children_left"][inner]] + weight[tree["children_right"][inner]]
        np.testing.assert_allclose(weight[inner], below, rtol=1e-12)
        assert weight[0] == 1.0


@pytest.mark.parametrize("name", MODELS)
def test_the_tree_explainer_finds_the_same_values(name: str) -> None:
    shap = pytest.importorskip("shap")
    explainer = shap.TreeExplainer(
        to_shap(MODELS[name]), feature_perturbation="tree_path_dependent"
    )
    ours = shap_values(MODELS[name], X[:20])
    theirs = np.asarray(explainer.shap_values(X[:20], check_additivity=False))
    np.testing.assert_allclose(ours.values, theirs.reshape(ours.shape), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_the_tree_explainer_finds_the_same_values_against_a_background(name: str) -> None:
    shap = pytest.importorskip("shap")
    explainer = shap.TreeExplainer(
        to_shap(MODELS[name]), data=X[20:50], feature_perturbation="interventional"
    )
    ours = shap_values(MODELS[name], X[:20], background=X[20:50])
    theirs = np.asarray(explainer.shap_values(X[:20], check_additivity=False))
    # That package has the weights of this game in single precision.
    np.testing.assert_allclose(ours.values, theirs.reshape(ours.shape), rtol=0, atol=1e-6)


def test_the_tree_explainer_finds_the_same_interactions() -> None:
    shap = pytest.importorskip("shap")
    explainer = shap.TreeExplainer(to_shap(MODELS["numbers"]))
    ours = shap_values(MODELS["numbers"], X[:20], interactions=True)
    theirs = np.asarray(explainer.shap_interaction_values(X[:20]))
    np.testing.assert_allclose(ours.values, theirs.reshape(ours.shape), rtol=0, atol=1e-12)


CODES = rng.integers(0, 4, len(X))
TABLE = pd.DataFrame(X, columns=list("abcde")).assign(
    kind=pd.Categorical(CODES), town=np.array(["Ulm", "Bonn", None, "Köln"])[CODES]
)
WITH_CATEGORIES = {
    "categories": hr.GradientBoostingRegressor(**FEW).fit(TABLE, CODES % 2 + Y),
    "categories in no split": hr.GradientBoostingRegressor(**FEW).fit(TABLE, TABLE["c"].fillna(0)),
    "target statistics": hr.GradientBoostingClassifier(max_categories=1, **FEW).fit(TABLE, THREE),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["TreeExplainer", "Explainer"])
def test_explainers_take_the_model_itself(name: str, kind: str) -> None:
    shap = pytest.importorskip("shap")
    explainer = getattr(shap, kind)(MODELS[name])
    assert isinstance(explainer, shap.TreeExplainer)
    ours, theirs = shap_values(MODELS[name], X[:20]), explainer(X[:20])
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.base_values, theirs.base_values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", WITH_CATEGORIES)
@pytest.mark.parametrize("kind", ["TreeExplainer", "Explainer"])
def test_explainers_take_models_with_categories_and_return_our_values(name: str, kind: str) -> None:
    shap = pytest.importorskip("shap")
    explainer = getattr(shap, kind)(WITH_CATEGORIES[name])
    ours, theirs = shap_values(WITH_CATEGORIES[name], TABLE[:20]), explainer(TABLE[:20])
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_array_equal(ours.base_values, theirs.base_values)
    pairs = shap_values(WITH_CATEGORIES[name], TABLE[:20], interactions=True)
    np.testing.assert_array_equal(pairs.values, explainer.shap_interaction_values(TABLE[:20]))


def test_probabilities_are_explained_by_the_package_itself() -> None:
    shap = pytest.importorskip("shap")
    model = MODELS["two classes"]
    explainer = shap.TreeExplainer(model, X[20:50], model_output="probability")
    total = explainer.expected_value + explainer.shap_values(X[:20]).sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(X[:20])[:, 1], rtol=0, atol=1e-6)


def test_what_only_trees_of_numbers_can_give_is_refused_with_advice() -> None:
    shap = pytest.importorskip("shap")
    with pytest.raises(hr.ParameterError, match=r"a background .*categorical.*to_explanation"):
        shap.TreeExplainer(WITH_CATEGORIES["categories"], TABLE[["a", "b"]].to_numpy())
    with pytest.raises(hr.ParameterError, match="model_output='probability'"):
        shap.TreeExplainer(WITH_CATEGORIES["categories"], model_output="probability")


def test_models_of_other_libraries_pass_through_unchanged() -> None:
    shap = pytest.importorskip("shap")
    table = np.nan_to_num(X)
    forest = RandomForestRegressor(n_estimators=3, max_depth=4, random_state=0).fit(table, Y)
    values = shap.TreeExplainer(forest)(table[:20])
    total = values.base_values + values.values.sum(axis=1)
    np.testing.assert_allclose(total, forest.predict(table[:20]), rtol=0, atol=1e-6)


ORDERS = {
    "before": "import shap; import hedgerow as hr",
    "after": "import hedgerow as hr; import sys; assert 'shap' not in sys.modules; import shap",
}


@pytest.mark.parametrize("order", ORDERS)
def test_the_package_may_be_imported_before_or_after(order: str) -> None:
    pytest.importorskip("shap")
    program = f"""{ORDERS[order]}
model = hr.DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
import numpy as np
assert shap.TreeExplainer(model).shap_values(np.ones((1, 1))) == [[0.5]]
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


def test_a_package_that_is_organised_otherwise_is_left_alone() -> None:
    other = ModuleType("shap.explainers._tree")
    _wrap(other)
    assert "TreeEnsemble" not in vars(other)


def test_values_become_an_explanation() -> None:
    shap = pytest.importorskip("shap")
    explanation = shap_values(MODELS["classes"], X[:20]).to_explanation()
    assert isinstance(explanation, shap.Explanation)
    assert explanation[:, :, 1].values.shape == (20, 5)


def test_an_explanation_needs_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)  # as if it were not installed
    with pytest.raises(ImportError, match="pip install shap"):
        shap_values(MODELS["numbers"], X[:2]).to_explanation()


def test_what_that_package_cannot_express_is_refused() -> None:
    codes = rng.integers(0, 4, len(X))
    table = np.column_stack([codes, X])
    categories = hr.GradientBoostingRegressor(categorical_features=[0], **FEW)
    with pytest.raises(hr.ParameterError, match="to_explanation"):
        to_shap(categories.fit(table, codes % 2 + Y))
    linear = hr.GradientBoostingRegressor(linear_leaves=True, **FEW).fit(X, Y)
    with pytest.raises(hr.ParameterError, match="linear leaves"):
        to_shap(linear)
