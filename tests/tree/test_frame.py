"""`trees_to_dataframe`: a walk through the table ends in what the model predicts."""

import sys

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow._tree.additive import additive_trees
from hedgerow.exceptions import ParameterError

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=300), "b": RNG.normal(size=300)})
X.loc[::7, "a"] = np.nan
X["c"] = pd.Categorical(RNG.choice(list("pqr"), 300))
Y = X["b"].to_numpy() + (X["c"] == "q") + np.nan_to_num(X["a"].to_numpy())


def total(frame, row):
    """Return the sum of the values of a row's leaves."""
    result = 0.0
    for _, tree in frame.groupby("tree_index"):
        nodes = tree.set_index("node_index")
        node = nodes.loc[0]
        while node.left_child >= 0:
            value = row[node.split_feature]
            if pd.isna(value):
                goes_left = node.missing_direction == "left"
            elif node.categories is not None:
                goes_left = value in node.categories
            else:
                goes_left = value <= node.threshold
            child = nodes.loc[node.left_child if goes_left else node.right_child]
            assert (child.parent_index, child.node_depth) == (node.name, node.node_depth + 1)
            node = child
        result += node.value
    return result


@pytest.mark.parametrize(
    "model",
    [
        hr.GradientBoostingRegressor(n_estimators=5),
        hr.RandomForestRegressor(n_estimators=3, max_depth=4),
        hr.DecisionTreeRegressor(max_depth=4),
        hr.BaggingRegressor(n_estimators=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_values_of_the_leaves_of_a_row_add_up_to_its_prediction(model):
    frame = model.fit(X, Y).trees_to_dataframe()
    is_boosted = hasattr(model, "n_iter_")
    base = model._model.ensemble.base_score[0] if is_boosted else 0.0
    for row in (0, 7, 20):
        expected = model.predict(X.iloc[[row]])[0]
        assert base + total(frame, X.iloc[row]) == pytest.approx(expected)
    roots = frame[frame.node_index == 0]
    is_sampled = isinstance(model, hr.RandomForestRegressor | hr.BaggingRegressor)
    assert ((roots["count"] < len(X)) == is_sampled).all()
    assert set(frame.columns) >= {"split_gain", "weight", "output"}


NUMBERS = X[["a", "b"]].fillna(0.0)


@pytest.mark.parametrize(
    ("model", "table", "y", "scores"),
    [
        (hr.AdaBoostClassifier(n_estimators=4, max_depth=2), X, Y > 0.5, "decision_function"),
        (hr.AdaBoostClassifier(n_estimators=4, algorithm="real"), X, Y > 0.5, "decision_function"),
        (hr.StagewiseRegressor(n_estimators=4), NUMBERS, Y, "predict"),
        (hr.StagewiseClassifier(n_estimators=4), NUMBERS, Y > 0.5, "decision_function"),
    ],
    ids=str,
)
def test_the_leaves_of_adaboost_and_stagewise_models_add_up_to_their_scores(
    model, table, y, scores
):
    frame = model.fit(table, y).trees_to_dataframe()
    base = additive_trees(model).ensemble.base_score[0]
    expected = getattr(model, scores)(table)
    for row in (0, 7, 20):
        assert base + total(frame, table.iloc[row]) == pytest.approx(expected[row])


def test_categories_of_trees_that_were_fitted_apart_are_in_the_table_of_each_tree():
    bag = hr.BaggingRegressor(hr.DecisionTreeRegressor(max_depth=4), n_estimators=2, max_features=2)
    for model in (hr.StagewiseRegressor(n_estimators=2), bag):
        model.fit(X[["b", "c"]], Y)
        with pytest.raises(
            ParameterError, match=r"Use model\.estimators_\[i\]\.trees_to_dataframe"
        ):
            model.trees_to_dataframe()
        tree = model.estimators_[0]
        table = X[["b", "c"]]
        for row in (0, 7, 20):
            found = total(tree.trees_to_dataframe(), table.iloc[row])
            assert found == pytest.approx(tree.predict(table.iloc[[row]])[0])


def test_trees_of_several_classes_name_their_outputs():
    y = np.digitize(Y, [0.0, 1.0])
    boosted = hr.GradientBoostingClassifier(n_estimators=2).fit(X, y).trees_to_dataframe()
    assert list(boosted.groupby("tree_index")["output"].first()) == ["0", "1", "2"] * 2
    forest = hr.RandomForestClassifier(n_estimators=2).fit(X, y).trees_to_dataframe()
    assert {"value_0", "value_1", "value_2"} <= set(forest.columns)


def test_models_without_trees_have_no_such_table():
    model = hr.KNeighborsRegressor().fit(X[["b"]], Y)
    with pytest.raises(AttributeError, match="has no attribute"):
        model.trees_to_dataframe()


def test_a_table_of_trees_without_pandas_says_what_to_install(monkeypatch):
    model = hr.GradientBoostingRegressor(n_estimators=1).fit(X[["b"]].to_numpy(), Y)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas"):
        model.trees_to_dataframe()
