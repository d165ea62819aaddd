"""`tree_` and `estimators_` against scikit-learn's trees, and against what the models predict."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import tree as sk
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import hedgerow as hr

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
NAMES = (
    *("children_left", "children_right", "feature", "threshold", "n_node_samples"),
    *("weighted_n_node_samples", "value", "missing_go_to_left", "impurity"),
)


def in_preorder(tree):
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if tree.children_left[node] >= 0:
            waiting += [tree.children_right[node], tree.children_left[node]]
    return order


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("several", [False, True])
def test_a_view_of_a_classification_tree_has_the_arrays_of_scikit_learns(criterion, several):
    X, y = IRIS
    y = np.column_stack([y, y > 0]) if several else y
    options = {"criterion": criterion, "max_depth": 3, "random_state": 0}
    view = hr.DecisionTreeClassifier(splitter="exact", **options).fit(X, y).tree_
    theirs = sk.DecisionTreeClassifier(**options).fit(X, y).tree_
    mine, other = in_preorder(view), in_preorder(theirs)
    for name in ("node_count", "max_depth", "n_leaves", "n_outputs", "max_n_classes", "n_features"):
        assert getattr(view, name) == getattr(theirs, name), name
    for name in ("n_node_samples", "weighted_n_node_samples", "value", "impurity"):
        ours = getattr(view, name)[mine]
        np.testing.assert_allclose(ours, getattr(theirs, name)[other], atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(view.n_classes, theirs.n_classes)
    is_leaf = view.children_left < 0
    assert (view.feature[is_leaf] == -2).all()
    assert (view.threshold[is_leaf] == -2).all()
    np.testing.assert_array_equal(is_leaf[mine], theirs.children_left[other] < 0)


def test_a_view_of_a_regression_tree_walks_applies_and_predicts():
    X, y = DIABETES
    model = hr.DecisionTreeRegressor(max_depth=4).fit(X, y)
    view = model.tree_
    nodes = np.zeros(len(X), int)
    for _ in range(view.max_depth):
        inner = view.feature[nodes] >= 0
        goes_left = X[np.arange(len(X)), view.feature[nodes]] <= view.threshold[nodes]
        after = np.where(goes_left, view.children_left[nodes], view.children_right[nodes])
        nodes = np.where(inner, after, nodes)
    np.testing.assert_array_equal(view.apply(X), nodes)
    np.testing.assert_array_equal(view.apply(X), model.apply(X))
    np.testing.assert_array_equal(view.predict(X)[:, 0], model.predict(X))
    assert (view.decision_path(X) != model.decision_path(X)).nnz == 0
    with pytest.raises(AttributeError, match="does not store the impurity"):
        _ = view.impurity
    with pytest.raises(ValueError, match="read-only"):
        view.children_left[0] = 7


def test_a_view_marks_categorical_splits_and_is_not_pickled():
    table = pd.DataFrame({"c": pd.Categorical(list("abcd") * 30)})
    model = hr.DecisionTreeRegressor().fit(table, np.tile([0.0, 5.0, 1.0, 7.0], 30))
    before = len(pickle.dumps(model))
    assert np.isnan(model.tree_.threshold[0])
    assert model.tree_.category_set[0] == 0
    assert model.tree_ is model.tree_
    for name in NAMES[:-1]:
        getattr(model.tree_, name)
    assert len(pickle.dumps(model)) == before


@pytest.mark.parametrize("kind", [hr.RandomForestClassifier, hr.BaggingClassifier])
def test_the_trees_of_a_forest_have_views(kind):
    X, y = CANCER
    model = kind(n_estimators=3).fit(X, y)
    mean = np.mean([tree.tree_.predict(X) for tree in model.estimators_], axis=0)
    np.testing.assert_allclose(mean, model.predict_proba(X), atol=1e-12)
    tree = model.estimators_[1]
    rows = model.estimators_samples_[1]
    assert tree.tree_.weighted_n_node_samples[0] == len(rows)
    shares = np.bincount(y[rows]) / len(rows)
    np.testing.assert_allclose(tree.tree_.value[0, 0], shares, atol=1e-12)
    assert tree.tree_.impurity[0] == pytest.approx(1 - (shares**2).sum())


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({}, (6, 3)),
        ({"multi_strategy": "vector"}, (6, 1)),
        ({"boosting": "dart"}, (6, 3)),
        ({"linear_leaves": True}, (6, 3)),
    ],
    ids=str,
)
def test_the_trees_of_boosting_add_up_to_its_scores(options, shape):
    X, y = IRIS
    table = pd.DataFrame(X, columns=list("abcd")).assign(e=pd.Categorical(np.tile(list("xyz"), 50)))
    model = hr.GradientBoostingClassifier(n_estimators=6, **options).fit(table, y)
    trees = model.estimators_
    assert trees.shape == shape
    assert model.n_estimators_ == 6
    base = model._model.ensemble.base_score
    scores = [np.column_stack([tree.predict(table) for tree in of_round]) for of_round in trees]
    np.testing.assert_allclose(base + sum(scores), model.decision_function(table), atol=1e-10)
    assert trees[0, 0].tree_.node_count == model._model.ensemble.tree(0).n_nodes


def test_trees_on_target_statistics_are_no_estimators():
    codes = np.arange(2000) % 600
    table = pd.DataFrame({"c": pd.Categorical([f"c{i}" for i in codes])})
    model = hr.GradientBoostingRegressor(n_estimators=2).fit(table, np.sin(codes))
    assert not hasattr(model, "estimators_")
