"""A picture of a sum of trees: its terms add up to the score, its paths are those of the row."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import hedgerow as hr
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot import TreeDisplay, TreeSumDisplay
from oracles.pictures import assert_no_overlap, texts_of

mpl.use("Agg")
import matplotlib.pyplot as plt

X, Y = load_diabetes(return_X_y=True, as_frame=True)
FEW = {"n_estimators": 6, "max_leaves": 4}
REGRESSOR = hr.GradientBoostingRegressor(**FEW).fit(X, Y)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_the_terms_are_the_base_score_the_trees_and_the_rest():
    display = TreeSumDisplay.from_estimator(REGRESSOR, X[7:8], n_trees=2)
    stages = [float(stage[0]) for stage in REGRESSOR.staged_predict(X[7:8])]
    base = Y.mean()
    expected = [base, stages[0] - base, stages[1] - stages[0], stages[-1] - stages[1]]
    assert [term.value for term in display.terms] == pytest.approx(expected)
    assert [term.name for term in display.terms] == ["F₀", "tree 1", "tree 2", "4 other trees"]
    assert display.score == pytest.approx(stages[-1])


def test_the_path_leads_to_the_leaf_of_the_row():
    display = TreeSumDisplay.from_estimator(REGRESSOR, X[7:8], n_trees=3)
    leaves = REGRESSOR.apply(X[7:8])[0]
    for tree, leaf in zip(display.trees, leaves, strict=False):
        passed = [tree.nodes[place] for place in tree.path]
        assert passed[0].node == 0
        assert passed[-1].node == leaf
        assert passed[-1].kind == "leaf"
        for above, below in pairwise(passed):
            assert below.node in [tree.nodes[child].node for child in above.children]


def test_scores_of_classes_and_votes_add_up_too():
    X, y = load_iris(return_X_y=True)
    model = hr.GradientBoostingClassifier(**FEW).fit(X, y)
    for k in range(3):
        display = TreeSumDisplay.from_estimator(model, X[:1], label=k, n_trees=1)
        assert display.score == pytest.approx(model.decision_function(X[:1])[0, k])
        assert len(display.trees) == 1
    X, y = load_breast_cancer(return_X_y=True)
    votes = hr.AdaBoostClassifier(n_estimators=5).fit(X, y)
    display = TreeSumDisplay.from_estimator(votes, X[:1], n_trees=1)
    total = votes.estimator_weights_.sum()
    assert 2 * display.score / total == pytest.approx(votes.decision_function(X[:1])[0])


def test_the_picture_can_be_read_on_new_axes_and_on_others():
    display = TreeSumDisplay.from_estimator(REGRESSOR, X[7:8])
    assert_no_overlap(display.figure_)
    shown = [text.get_text() for text in texts_of(display.figure_)]
    assert sum(text.startswith("tree ") and ": " in text for text in shown) == 3
    assert "3 other trees" in shown
    _, ax = plt.subplots(figsize=(14, 7))
    assert display.plot(ax).ax_ is ax


def test_one_tree_shows_the_path_of_a_row():
    tree = hr.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    display = TreeDisplay.from_estimator(tree, row=X[:1])
    assert display.nodes[display.path[-1]].node == tree.apply(X[:1])[0]
    assert np.isin(display.path, range(len(display.nodes))).all()


def test_what_is_no_sum_of_trees_is_refused():
    with pytest.raises(ParameterError, match="RandomForestRegressor is not a fitted gradient"):
        TreeSumDisplay.from_estimator(hr.RandomForestRegressor(n_estimators=2).fit(X, Y), X[:1])
    with pytest.raises(DataError, match="row has 2 rows"):
        TreeSumDisplay.from_estimator(REGRESSOR, X[:2])
    with pytest.raises(ParameterError, match="label='a' is not allowed"):
        TreeSumDisplay.from_estimator(REGRESSOR, X[:1], label="a")
    sloped = hr.GradientBoostingRegressor(linear_leaves=True, **FEW).fit(X, Y)
    with pytest.raises(ParameterError, match="linear_leaves"):
        TreeSumDisplay.from_estimator(sloped, X[:1])
