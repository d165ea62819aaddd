"""Trees grown to the end, held to a search of every cut in NumPy and to scikit-learn's trees."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from hedgerow.data import intake
from hedgerow.data.binning import Binner
from hedgerow.tree.cart import CartParams, RowDraws, grow_classifiers, grow_regressors


def binned(X):
    _, table = intake.learn_schema(X)
    return Binner().fit_transform(table)


def all_rows(matrix):
    return RowDraws(n_draws=matrix.n_rows, bootstrap=False)


def impurity(sums, weight, criterion):
    """Weight times impurity, up to a constant that does not depend on the cut."""
    if criterion == "entropy":
        p = sums[sums > 0] / weight
        return -weight * (p * np.log(p)).sum()
    return -(sums**2).sum() / weight


def fall(values, weight, left, criterion):
    """How much the weighted impurity falls when rows are parted."""

    def of(rows):
        w = weight[rows]
        return impurity((w[:, None] * values[rows]).sum(axis=0), w.sum(), criterion)

    return of(np.full(len(left), True)) - of(left) - of(~left)


def best_fall(bins, values, weight, params):
    """The best cut over all features, missing values to either side."""
    best = 0.0
    for column in bins:
        missing = column == 255
        for bin_ in np.unique(column[~missing]):
            for left in ((column <= bin_), (column <= bin_) | missing):
                sizes = left.sum(), (~left).sum()
                if min(sizes) >= max(1, params.min_samples_leaf):
                    best = max(best, fall(values, weight, left, params.criterion))
    return best


def check_tree(tree, matrix, values, weight, params):
    """Every node has the rows, value and best cut that NumPy finds; every leaf is one rightly."""
    rows_of = {0: np.flatnonzero(weight > 0)}
    for node in range(tree.n_nodes):
        rows = rows_of[node]
        w = weight[rows]
        assert tree.count[node] == len(rows)
        np.testing.assert_allclose(tree.cover[node], w.sum(), rtol=1e-9)
        np.testing.assert_allclose(
            tree.value[node], (w[:, None] * values[rows]).sum(axis=0) / w.sum(), atol=1e-9
        )
        bins = matrix.by_column[:, rows]
        if tree.feature[node] < 0:
            is_pure = (values[rows] == values[rows[0]]).all()
            small = len(rows) < max(params.min_samples_split, 2 * params.min_samples_leaf)
            constant = (bins == bins[:, :1]).all()
            assert is_pure or small or constant or best_fall(bins, values[rows], w, params) == 0
            continue
        column = bins[tree.feature[node]]
        left = np.where(column == 255, tree.missing_left[node], column <= tree.split_bin[node])
        expected = best_fall(bins, values[rows], w, params)
        made = fall(values[rows], w, left, params.criterion)
        assert made == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert tree.gain[node] == pytest.approx(
            made / (1 if params.criterion != "squared_error" else values.shape[1]),
            rel=1e-9,
            abs=1e-9,
        )
        rows_of[tree.left[node]], rows_of[tree.right[node]] = rows[left], rows[~left]


def table(rng, n_rows, missing):
    X = rng.integers(0, 12, (n_rows, 4)).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
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
    (tree,) = grow_classifiers(matrix, labels, n_classes, params, all_rows(matrix), weights=weight)
    check_tree(tree, matrix, np.eye(n_classes)[labels], weight, params)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("max_leaves", [0, 9])
def test_regression_trees_have_the_best_cut_everywhere(n_outputs, missing, max_leaves):
    rng = np.random.default_rng(n_outputs)
    X = table(rng, 150, missing)
    numbers = rng.standard_normal((150, n_outputs)) * [1.0, 100.0, 0.01][:n_outputs] + 7.0
    weight = rng.random(150) + 0.5
    matrix = binned(X)
    params = CartParams(criterion="squared_error", min_samples_leaf=2, max_leaves=max_leaves)
    (tree,) = grow_regressors(matrix, numbers, params, all_rows(matrix), weights=weight)
    if max_leaves:
        assert tree.n_leaves == max_leaves
    else:
        check_tree(tree, matrix, numbers, weight, params)


@pytest.mark.parametrize("max_depth", [1, 3])
def test_small_trees_are_those_of_scikit_learn(max_depth):
    rng = np.random.default_rng(2)
    X = rng.permuted(np.tile(np.arange(120.0), (5, 1)), axis=1).T  # no two cuts tie
    y = X[:, 0] * 0.1 + X[:, 3] + rng.standard_normal(120)
    matrix = binned(X)
    params = CartParams(criterion="squared_error", max_depth=max_depth)
    (ours,) = grow_regressors(matrix, y[:, None].copy(), params, all_rows(matrix))
    theirs = DecisionTreeRegressor(max_depth=max_depth).fit(X, y).tree_
    np.testing.assert_array_equal(ours.feature, np.where(theirs.feature < 0, -1, theirs.feature))
    np.testing.assert_allclose(ours.threshold, np.where(theirs.feature < 0, 0, theirs.threshold))
    np.testing.assert_allclose(ours.value, theirs.value[:, :, 0])
    (ours,) = grow_classifiers(
        matrix, (y > 60).astype(np.uint16), 2, CartParams(max_depth=max_depth), all_rows(matrix)
    )
    theirs = DecisionTreeClassifier(max_depth=max_depth).fit(X, y > 60).tree_
    np.testing.assert_array_equal(ours.feature, np.where(theirs.feature < 0, -1, theirs.feature))
    np.testing.assert_allclose(ours.value, theirs.value[:, 0])


@pytest.mark.parametrize("random_cuts", [False, True])
def test_a_forest_is_the_same_on_any_number_of_threads(random_cuts):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((6_000, 8))  # more rows than a node that takes its bins along
    labels = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.uint16)
    matrix = binned(X)
    params = CartParams(max_features=3, min_samples_leaf=2, random_cuts=random_cuts, seed=4)
    draws = RowDraws(n_draws=6_000, seed=4)
    forests = [
        grow_classifiers(matrix, labels, 2, params, draws, n_trees=7, n_threads=n)
        for n in (1, 2, 3, 8)
    ]
    assert all(forest == forests[0] for forest in forests)
    assert forests[0][0] != forests[0][1]
    late = grow_classifiers(matrix, labels, 2, params, draws, first_tree=5, n_trees=2, n_threads=2)
    assert late == forests[0][5:]


def test_a_bootstrap_draws_as_many_rows_and_leaves_about_a_third_out():
    draws = RowDraws(n_draws=20_000, seed=1)
    counts = draws.counts(0, 20_000)
    assert counts.sum() == 20_000
    assert (counts == 0).mean() == pytest.approx(np.exp(-1), abs=0.01)
    assert not np.array_equal(counts, draws.counts(1, 20_000))
    once = RowDraws(n_draws=5_000, bootstrap=False, seed=1).counts(0, 20_000)
    assert once.sum() == 5_000
    assert once.max() == 1


def test_classes_that_were_drawn_can_weigh_the_same():
    rng = np.random.default_rng(5)
    matrix = binned(rng.standard_normal((1_000, 3)))
    labels = (rng.random(1_000) < 0.1).astype(np.uint16)
    draws = RowDraws(n_draws=1_000, seed=2)
    (tree,) = grow_classifiers(matrix, labels, 2, CartParams(), draws, balance_drawn=True)
    np.testing.assert_allclose(tree.value[0], [0.5, 0.5], atol=1e-9)


def test_two_classes_get_the_best_of_all_subsets_of_categories():
    rng = np.random.default_rng(6)
    codes = rng.integers(0, 7, 400)
    labels = (rng.random(400) < np.array([0.1, 0.9, 0.3, 0.5, 0.2, 0.8, 0.6])[codes]).astype(
        np.uint16
    )
    matrix = binned(pd.DataFrame({"c": pd.Categorical(codes)}))
    (tree,) = grow_classifiers(matrix, labels, 2, CartParams(max_depth=1), all_rows(matrix))
    values, weight = np.eye(2)[labels], np.ones(400)
    falls = [
        fall(values, weight, np.isin(codes, subset), "gini")
        for size in range(1, 7)
        for subset in itertools.combinations(range(7), size)
    ]
    assert tree.category_set[0] == 0
    assert tree.gain[0] == pytest.approx(max(falls), rel=1e-9)


def test_limits_on_weight_and_fall_of_impurity_hold():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((800, 3))
    numbers = (X[:, :1] > 0) * 3.0 + rng.standard_normal((800, 1))
    weight = rng.random(800) * 2
    matrix = binned(X)
    params = CartParams(criterion="squared_error", min_weight_leaf=40.0)
    (tree,) = grow_regressors(matrix, numbers, params, all_rows(matrix), weights=weight)
    assert 40.0 <= tree.cover.min() < 80.0
    least = 0.01
    params = CartParams(criterion="squared_error", min_impurity_decrease=least)
    (tree,) = grow_regressors(matrix, numbers, params, all_rows(matrix), weights=weight)
    inner = tree.feature >= 0
    assert inner.any()
    assert (tree.gain[inner] >= least * weight.sum()).all()
