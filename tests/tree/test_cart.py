"""Trees grown to the end, held to a search of every cut in NumPy and to scikit-learn's trees."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from hedgerow._data import intake
from hedgerow._data.binning import Binner
from hedgerow._data.outputs import TreeTarget
from hedgerow._tree.cart import (
    BootstrapSamples,
    CartParams,
    SortedMatrix,
    grow_trees,
)
from oracles.cart import Task, best_fall, check_tree


def binned(X):
    _, table = intake.learn_schema(X)
    return Binner().fit_transform(table)


def all_rows(matrix):
    return BootstrapSamples.all(matrix.n_rows)


def check_bins(tree, matrix, values, weight, params, n_outputs=1):
    """Hold a tree to the search of every cut between bins."""
    bins = np.where(matrix.by_column == 255, np.nan, matrix.by_column).T
    task = Task(bins, matrix.is_categorical, values, weight, params, n_outputs, exact=False)
    check_tree(replace(tree, threshold=tree.split_bin.astype(float)), task)


def table(rng, n_rows, missing):
    X = rng.integers(0, 12, (n_rows, 4)).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("min_samples_leaf", [1, 6])
def test_classification_trees_have_the_best_cut_everywhere(
    criterion, n_classes, missing, min_samples_leaf
):
    rng = np.random.default_rng(n_classes)
    X = table(rng, 150, missing)
    labels = rng.integers(0, n_classes, 150).astype(np.uint16)
    weight = rng.integers(0, 4, 150).astype(float) * rng.choice([1.0, 0.37])
    matrix = binned(X)
    params = CartParams(criterion=criterion, min_samples_leaf=min_samples_leaf)
    (tree,) = grow_trees(
        matrix, TreeTarget.of_classes(labels, n_classes), params, all_rows(matrix), weights=weight
    )
    check_bins(tree, matrix, np.eye(n_classes)[labels], weight, params)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_gain_ratio_chooses_among_the_features_as_c4_5_does(n_classes):
    rng = np.random.default_rng(n_classes)
    X = table(rng, 120, missing=True)
    X[:, 3] = rng.random(120)  # many values: the gain alone would favour it
    labels = rng.integers(0, n_classes, 120).astype(np.uint16)
    weight = rng.random(120) + 0.5  # no ties
    matrix, params = binned(X), CartParams(criterion="gain_ratio", min_samples_leaf=2)
    target = TreeTarget.of_classes(labels, n_classes)
    (tree,) = grow_trees(matrix, target, params, all_rows(matrix), weights=weight)
    check_bins(tree, matrix, np.eye(n_classes)[labels], weight, params)
    (by_gain,) = grow_trees(
        matrix, target, replace(params, criterion="entropy"), all_rows(matrix), weights=weight
    )
    assert tree.feature.tolist() != by_gain.feature.tolist()


@pytest.mark.parametrize("exact", [False, True])
def test_gini_decides_among_splits_with_equal_errors(exact):
    X = np.array([[0, 1], [1, 0], [2, 1], [3, 1], [4, 0], [5, 0.0]])
    labels = np.array([0, 0, 0, 0, 1, 0], np.uint16)  # no single split has less than one error
    matrix = SortedMatrix.from_matrix(X) if exact else binned(X)
    params = CartParams(criterion="error", max_depth=1)
    target = TreeTarget.of_classes(labels, 2)
    (tree,) = grow_trees(matrix, target, params, all_rows(matrix))
    (by_gini,) = grow_trees(matrix, target, replace(params, criterion="gini"), all_rows(matrix))
    assert tree.gain[0] == 0.0
    assert (tree.feature[0], tree.threshold[0]) == (by_gini.feature[0], by_gini.threshold[0])
    assert tree.threshold[0] > 1.0  # not simply the first of all splits


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("max_leaves", [0, 9])
def test_regression_trees_have_the_best_cut_everywhere(criterion, n_outputs, missing, max_leaves):
    rng = np.random.default_rng(n_outputs)
    X = table(rng, 100, missing)
    numbers = rng.standard_normal((100, n_outputs)) * [1.0, 100.0, 0.01][:n_outputs] + 7.0
    weight = rng.random(100) + 0.5
    matrix = binned(X)
    params = CartParams(criterion=criterion, min_samples_leaf=2, max_leaves=max_leaves)
    (tree,) = grow_trees(
        matrix, TreeTarget.of_numbers(numbers), params, all_rows(matrix), weights=weight
    )
    if max_leaves:
        assert tree.n_leaves == max_leaves
    else:
        check_bins(tree, matrix, numbers, weight, params, n_outputs)


@pytest.mark.parametrize("max_depth", [1, 3])
def test_small_trees_are_those_of_scikit_learn(max_depth):
    rng = np.random.default_rng(2)
    X = rng.permuted(np.tile(np.arange(120.0), (5, 1)), axis=1).T  # no two cuts tie
    y = X[:, 0] * 0.1 + X[:, 3] + rng.standard_normal(120)
    matrix = binned(X)
    params = CartParams(criterion="squared_error", max_depth=max_depth)
    (ours,) = grow_trees(matrix, TreeTarget.of_numbers(y[:, None].copy()), params, all_rows(matrix))
    theirs = DecisionTreeRegressor(max_depth=max_depth).fit(X, y).tree_
    np.testing.assert_array_equal(ours.feature, np.where(theirs.feature < 0, -1, theirs.feature))
    np.testing.assert_allclose(ours.threshold, np.where(theirs.feature < 0, 0, theirs.threshold))
    np.testing.assert_allclose(ours.value, theirs.value[:, :, 0])
    (ours,) = grow_trees(
        matrix,
        TreeTarget.of_classes((y > 60).astype(np.uint16), 2),
        CartParams(max_depth=max_depth),
        all_rows(matrix),
    )
    theirs = DecisionTreeClassifier(max_depth=max_depth).fit(X, y > 60).tree_
    np.testing.assert_array_equal(ours.feature, np.where(theirs.feature < 0, -1, theirs.feature))
    np.testing.assert_allclose(ours.value, theirs.value[:, 0])


@pytest.mark.parametrize("random_thresholds", [False, True])
@pytest.mark.parametrize(
    ("n_rows", "n_features", "max_features"),
    [(600, 3, 2), (600, 40, 2), (600, 300, 300), (20_000, 3, 2), (20_000, 40, 2)],
)
def test_two_classes_are_cut_alike_however_much_all_rows_weigh(
    n_rows, n_features, max_features, random_thresholds
):
    # Rows of weight one, of other integers and of fractions are added up in different ways.
    rng = np.random.default_rng(n_rows)
    X = rng.standard_normal((n_rows, n_features)).round(1)
    X[rng.random(X.shape) < 0.05] = np.nan
    labels = (np.nan_to_num(X[:, 0]) + rng.standard_normal(n_rows) > 0).astype(np.uint16)
    matrix = binned(X)
    params = CartParams(
        max_features=max_features, min_samples_leaf=3, random_thresholds=random_thresholds, seed=1
    )
    grown = [
        grow_trees(
            matrix,
            TreeTarget.of_classes(labels, 2),
            params,
            all_rows(matrix),
            weights=np.full(n_rows, weight),
            n_trees=2,
        )
        for weight in (1.0, 2.0, 1.5)
    ]
    fields = ("feature", "split_bin", "left", "right", "missing_left", "count", "value")
    for tree, *others in zip(*grown, strict=True):
        assert tree.n_leaves > n_rows / 40
        for other in others:
            for name in fields:
                np.testing.assert_array_equal(getattr(tree, name), getattr(other, name))


@pytest.mark.parametrize("random_thresholds", [False, True])
def test_a_forest_is_the_same_on_any_number_of_threads(random_thresholds):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((6_000, 8))  # more rows than a node that takes its bins along
    labels = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.uint16)
    matrix = binned(X)
    params = CartParams(
        max_features=3, min_samples_leaf=2, random_thresholds=random_thresholds, seed=4
    )
    draws = BootstrapSamples(n_draws=6_000, seed=4)
    forests = [
        grow_trees(matrix, TreeTarget.of_classes(labels, 2), params, draws, n_trees=7, n_threads=n)
        for n in (1, 2, 3, 8)
    ]
    assert all(forest == forests[0] for forest in forests)
    assert forests[0][0] != forests[0][1]
    late = grow_trees(
        matrix,
        TreeTarget.of_classes(labels, 2),
        params,
        draws,
        first_tree=5,
        n_trees=2,
        n_threads=2,
    )
    assert late == forests[0][5:]


def test_a_bootstrap_draws_as_many_rows_and_leaves_about_a_third_out():
    draws = BootstrapSamples(n_draws=20_000, seed=1)
    counts = draws.counts(0, 20_000)
    assert counts.sum() == 20_000
    assert (counts == 0).mean() == pytest.approx(np.exp(-1), abs=0.01)
    assert not np.array_equal(counts, draws.counts(1, 20_000))
    once = BootstrapSamples(n_draws=5_000, bootstrap=False, seed=1).counts(0, 20_000)
    assert once.sum() == 5_000
    assert once.max() == 1


def test_classes_that_were_drawn_can_weigh_the_same():
    rng = np.random.default_rng(5)
    matrix = binned(rng.standard_normal((1_000, 3)))
    labels = (rng.random(1_000) < 0.1).astype(np.uint16)
    draws = BootstrapSamples(n_draws=1_000, seed=2)
    (tree,) = grow_trees(
        matrix, TreeTarget.of_classes(labels, 2), CartParams(), draws, balance_classes=True
    )
    np.testing.assert_allclose(tree.value[0], [0.5, 0.5], atol=1e-9)


def test_two_classes_get_the_best_of_all_subsets_of_categories():
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 7, 400)
    chance = np.array([0.1, 0.9, 0.3, 0.5, 0.2, 0.8, 0.6])[codes]
    labels = (rng.random(400) < chance).astype(np.uint16)
    matrix = binned(pd.DataFrame({"c": pd.Categorical(codes)}))
    params = CartParams(max_depth=1)
    (tree,) = grow_trees(matrix, TreeTarget.of_classes(labels, 2), params, all_rows(matrix))
    assert tree.category_set[0] == 0
    check_bins(tree, matrix, np.eye(2)[labels], np.ones(400), params)


def test_a_tree_that_drew_no_row_of_any_weight_has_all_that_weigh_something():
    X = np.arange(50.0)[:, None]
    weight = np.zeros(50)
    weight[[3, 7]] = 1.0
    matrix = binned(X)
    labels = (X[:, 0] > 5).astype(np.uint16)
    draws = BootstrapSamples(n_draws=2, seed=0)
    trees = grow_trees(
        matrix, TreeTarget.of_classes(labels, 2), CartParams(), draws, weights=weight, n_trees=20
    )
    assert {int(tree.count[0]) for tree in trees} <= {1, 2}
    assert all(np.isfinite(tree.value).all() for tree in trees)


def test_limits_on_weight_and_fall_of_impurity_hold():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((800, 3))
    numbers = (X[:, :1] > 0) * 3.0 + rng.standard_normal((800, 1))
    weight = rng.random(800) * 2
    matrix = binned(X)
    params = CartParams(criterion="squared_error", min_weight_leaf=40.0)
    (tree,) = grow_trees(
        matrix, TreeTarget.of_numbers(numbers), params, all_rows(matrix), weights=weight
    )
    assert 40.0 <= tree.cover.min() < 80.0
    least = 0.01
    params = CartParams(criterion="squared_error", min_impurity_decrease=least)
    (tree,) = grow_trees(
        matrix, TreeTarget.of_numbers(numbers), params, all_rows(matrix), weights=weight
    )
    inner = tree.feature >= 0
    assert inner.any()
    assert (tree.gain[inner] >= least * weight.sum()).all()


@pytest.mark.parametrize("exact", [False, True])
def test_weights_over_many_decades_find_the_best_cut(exact):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).round(1)
    labels = (X[:, 0] + rng.normal(size=400) > 0).astype(np.uint16)
    weight = 10.0 ** rng.uniform(-12, 12, 400)
    table = SortedMatrix.from_matrix(X) if exact else binned(X)
    params = CartParams(max_depth=1)
    draws = BootstrapSamples.all(400)
    tree = grow_trees(table, TreeTarget.of_classes(labels, 2), params, draws, weights=weight)[0]
    task = Task(X, np.zeros(3, bool), np.eye(2)[labels], weight, params)
    assert tree.gain[0] == pytest.approx(best_fall(task, np.arange(400)), rel=1e-9)
