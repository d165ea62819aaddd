"""Exact CART, held to a search of every cut, to scikit-learn's trees and to the other engine."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from contract import SINCE_1_8
from hedgerow._data.binning import BinnedMatrix, own_columns
from hedgerow._data.outputs import TreeTarget
from hedgerow._tree.cart import (
    BootstrapSamples,
    CartParams,
    SortedMatrix,
    grow_trees,
)
from hedgerow.exceptions import DataError
from interrupts import interrupted_inside
from levels import printed_at_every_level
from oracles.cart import Task, check_tree, goes_left, node_rows

NUMERIC = np.zeros(4, bool)


def table(rng, n_rows, missing=False, n_values=15, n_features=4):
    X = rng.integers(0, n_values, (n_rows, n_features)).astype(float) * 0.7 - 3.0
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X


def grow(task, labels=None, *, n_trees=1, draws=None, n_threads=1):
    """Grow exact trees for a task; those of classes if there are labels."""
    matrix = SortedMatrix.from_matrix(task.X, task.is_categorical, n_threads=n_threads)
    draws = BootstrapSamples.all(matrix.n_rows) if draws is None else draws
    extent = {"weights": task.weight, "n_trees": n_trees, "n_threads": n_threads}
    if labels is None:
        return grow_trees(
            matrix, TreeTarget.of_numbers(task.values, task.n_outputs), task.params, draws, **extent
        )
    return grow_trees(
        matrix, TreeTarget.of_classes(labels, task.values.shape[1]), task.params, draws, **extent
    )


def as_bins(X, is_categorical):
    """A binned matrix in which every distinct value has a bin of its own."""
    n_rows, n_features = X.shape
    by_column = np.full((n_features, n_rows), 255, np.uint8)
    n_bins, thresholds, starts = [], [], [0]
    for j, column in enumerate(X.T):
        present = ~np.isnan(column)
        values = np.unique(column[present])
        if is_categorical[j]:
            by_column[j, present] = column[present]
            n_bins.append(int(values.max()) + 1)
        else:
            by_column[j, present] = np.searchsorted(values, column[present])
            n_bins.append(len(values))
            thresholds.extend(values[:-1] / 2 + values[1:] / 2)
        starts.append(len(thresholds))
    return BinnedMatrix(
        by_column=by_column,
        by_row=None,
        width=1,
        places=own_columns(n_features),
        n_bins=np.array(n_bins, np.int32),
        is_categorical=np.asarray(is_categorical),
        threshold_values=np.array(thresholds),
        threshold_starts=np.array(starts, np.int64),
    )


# ---- the best cut everywhere -----------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("min_samples_leaf", [1, 6])
def test_classification_trees_have_the_best_cut_everywhere(
    criterion, n_classes, missing, min_samples_leaf
):
    rng = np.random.default_rng(n_classes)
    labels = rng.integers(0, n_classes, 90).astype(np.uint16)
    weight = rng.integers(0, 4, 90) * (0.37 if missing else 1.0)
    params = CartParams(criterion=criterion, min_samples_leaf=min_samples_leaf)
    task = Task(table(rng, 90, missing), NUMERIC, np.eye(n_classes)[labels], weight, params)
    check_tree(grow(task, labels)[0], task)


def fewest_errors(X, labels, n_classes, rows):
    """The smallest error of a cut of the rows, and the largest Gini score of a cut with it."""
    best = (-1, 0.0)
    for column in X[rows].T:
        order = np.argsort(column, kind="stable")  # NaN last
        x, missing = column[order], int(np.isnan(column).sum())
        left = np.cumsum(np.eye(n_classes, dtype=int)[labels[rows][order]], axis=0)
        total, known = left[-1], len(x) - missing
        cut = np.flatnonzero(x[:-1] != x[1:])
        cut = cut[cut < known]  # after the last number: missing values on their own
        for sides in (left[cut], left[cut] + total - left[known - 1]):
            weight, W = sides.sum(axis=1), total.sum()
            sides, weight = sides[weight < W], weight[weight < W]
            correct = sides.max(axis=1) + (total - sides).max(axis=1)
            apart = ((W * sides - np.outer(weight, total)) ** 2).sum(axis=1)
            best = max([best, *zip(correct, apart / (weight * (W - weight)), strict=True)])
    return len(rows) - best[0], best[1]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("missing", [False, True])
def test_long_lists_are_not_left_before_the_cut_with_the_fewest_errors(n_classes, missing):
    rng = np.random.default_rng(n_classes)
    X = rng.standard_normal((3000, 3))
    score = X[:, 0] + 2 * rng.standard_normal(3000)
    labels = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    if missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    params = CartParams(criterion="error", max_depth=8)
    task = Task(X, np.zeros(3, bool), np.eye(n_classes)[labels], np.ones(3000), params)
    tree = grow(task, labels.astype(np.uint16))[0]
    rows_of = node_rows(tree, task)
    for node in np.flatnonzero(tree.feature >= 0):
        rows = rows_of[node]
        left, right = rows_of[tree.left[node]], rows_of[tree.right[node]]
        sides = np.array([np.bincount(labels[side], minlength=n_classes) for side in (left, right)])
        error, gini = fewest_errors(X, labels, n_classes, rows)
        assert len(rows) - sides.max(axis=1).sum() == error
        W, (w, _) = len(rows), sides.sum(axis=1)
        apart = W * sides[0] - w * sides.sum(axis=0)
        assert (apart**2).sum() / (w * (W - w)) == pytest.approx(gini, rel=1e-9)


@pytest.mark.parametrize("missing", [False, True])
def test_the_gain_ratio_chooses_among_the_features_as_c4_5_does(missing):
    rng = np.random.default_rng(11)
    labels = rng.integers(0, 3, 90).astype(np.uint16)
    params = CartParams(criterion="gain_ratio", min_samples_leaf=2)
    weight = rng.random(90) + 0.5  # no ties
    task = Task(table(rng, 90, missing), NUMERIC, np.eye(3)[labels], weight, params)
    task.X[:, 2] = rng.random(90)
    check_tree(grow(task, labels)[0], task)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("min_samples_leaf", [1, 4])
def test_regression_trees_have_the_best_cut_everywhere(
    criterion, n_outputs, missing, min_samples_leaf
):
    rng = np.random.default_rng(n_outputs)
    numbers = rng.standard_normal((80, n_outputs)) * [1.0, 100.0, 0.01][:n_outputs] + 7.0
    weight = rng.random(80) + 0.5
    params = CartParams(criterion=criterion, min_samples_leaf=min_samples_leaf)
    task = Task(table(rng, 80, missing), NUMERIC, numbers, weight, params, n_outputs)
    check_tree(grow(task)[0], task)


@pytest.mark.parametrize("missing", [False, True])
def test_medians_of_very_different_weights_have_the_best_cut_everywhere(missing):
    rng = np.random.default_rng(5)
    numbers = rng.standard_normal((80, 2))
    weight = np.exp(3 * rng.standard_normal(80))
    params = CartParams(criterion="absolute_error", min_samples_leaf=2)
    task = Task(table(rng, 80, missing), NUMERIC, numbers, weight, params, 2)
    check_tree(grow(task)[0], task)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_numbers_with_ties_and_constant_outputs_have_the_best_cut_everywhere(criterion):
    rng = np.random.default_rng(4)
    X = table(rng, 90, missing=True, n_values=4)
    numbers = np.stack([rng.integers(0, 3, 90), np.full(90, 2.5), X[:, 0] > 0], axis=1)
    params = CartParams(criterion=criterion)
    task = Task(X, NUMERIC, numbers.astype(float), rng.integers(1, 4, 90) * 1.0, params, 3)
    check_tree(grow(task)[0], task)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error", "squared_error"])
@pytest.mark.parametrize("missing", [False, True])
def test_two_classes_and_numbers_get_the_best_of_all_subsets_of_categories(criterion, missing):
    rng = np.random.default_rng(6)
    X = table(rng, 120, missing)
    X[:, 1] = rng.integers(0, 6, 120)
    X[:, 3] = rng.choice([0, 7, 40, 254], 120)
    if missing:
        X[rng.random((120, 4)) < 0.1] = np.nan
    is_categorical = np.array([False, True, False, True])
    labels = (rng.random(120) < np.nan_to_num(X[:, 1]) / 6).astype(np.uint16)
    classes = criterion != "squared_error"
    values = np.eye(2)[labels] if classes else rng.standard_normal((120, 1)) + labels[:, None]
    params = CartParams(criterion=criterion, min_samples_leaf=3)
    task = Task(X, is_categorical, values, np.ones(120), params)
    check_tree(grow(task, labels if classes else None)[0], task)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_several_outputs_of_classes_are_one_hot_numbers(criterion):
    rng = np.random.default_rng(7)
    X = table(rng, 90)
    outputs = np.stack([rng.integers(0, 3, 90), X[:, 0] + rng.standard_normal(90) > 0], axis=1)
    values = np.concatenate([np.eye(3)[outputs[:, 0]], np.eye(2)[outputs[:, 1]]], axis=1)
    params = CartParams(criterion=criterion, min_samples_leaf=2)
    task = Task(X, NUMERIC, values, rng.integers(1, 3, 90) * 1.0, params, n_outputs=2)
    check_tree(grow(task)[0], task)


def test_limits_hold():
    rng = np.random.default_rng(8)
    X = table(rng, 150, missing=True)
    numbers = (X[:, :1] > 0) * 3.0 + rng.standard_normal((150, 1))
    weight = rng.random(150) * 2
    for limits in (
        {"min_weight_leaf": 8.0},
        {"min_impurity_decrease": 0.01},
        {"max_depth": 3},
        {"min_samples_split": 40},
    ):
        for criterion in ("squared_error", "absolute_error"):
            params = CartParams(criterion=criterion, **limits)
            task = Task(X, NUMERIC, numbers, weight, params)
            check_tree(grow(task)[0], task)


@settings(max_examples=60)
@given(data=st.data())
def test_small_tables_of_any_kind_have_the_best_cut_everywhere(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n_rows = data.draw(st.integers(1, 14))
    criterion = data.draw(st.sampled_from(["gini", "entropy", "squared_error", "absolute_error"]))
    X = rng.integers(0, data.draw(st.integers(1, 6)), (n_rows, 3)).astype(np.float32)
    X[rng.random(X.shape) < data.draw(st.sampled_from([0.0, 0.3]))] = np.nan
    min_samples_leaf = data.draw(st.integers(1, 3))
    # With a least size the best set of categories need not be a run of them in any order.
    sorts = criterion != "absolute_error" and min_samples_leaf == 1
    is_categorical = np.array([False, False, sorts])
    labels = rng.integers(0, 2, n_rows).astype(np.uint16)
    classes = criterion in ("gini", "entropy")
    values = np.eye(2)[labels] if classes else rng.integers(-3, 4, (n_rows, 1)) * 0.5
    weight = rng.integers(1, 4, n_rows) * data.draw(st.sampled_from([1.0, 0.125]))
    params = CartParams(
        criterion=criterion,
        min_samples_leaf=min_samples_leaf,
        max_depth=data.draw(st.integers(0, 2)),
    )
    task = Task(X, is_categorical, values, weight, params)
    (tree,) = grow(task, labels if classes else None)
    check_tree(tree, task)


# ---- scikit-learn's trees --------------------------------------------------------------------


def assert_same_tree(ours, theirs):
    """Preorder both; scikit-learn's values are (nodes, outputs, classes)."""
    np.testing.assert_array_equal(ours.feature, np.where(theirs.feature < 0, -1, theirs.feature))
    np.testing.assert_array_equal(ours.left, theirs.children_left)
    np.testing.assert_array_equal(ours.right, theirs.children_right)
    np.testing.assert_array_equal(
        ours.threshold, np.where(theirs.feature < 0, 0.0, theirs.threshold)
    )
    np.testing.assert_array_equal(ours.count, theirs.n_node_samples)
    np.testing.assert_allclose(ours.cover, theirs.weighted_n_node_samples, rtol=1e-9)
    n_nodes = len(ours.value)
    np.testing.assert_allclose(ours.value, theirs.value.reshape(n_nodes, -1), rtol=1e-9, atol=1e-9)
    inner = np.flatnonzero(ours.feature >= 0)
    impure = theirs.impurity * theirs.weighted_n_node_samples
    falls = impure[inner] - impure[ours.left[inner]] - impure[ours.right[inner]]
    np.testing.assert_allclose(ours.gain[inner], falls, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("max_leaves", [0, 12])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "absolute_error"])
def test_trees_are_those_of_scikit_learn(criterion, max_leaves):
    if criterion == "absolute_error" and not SINCE_1_8:
        pytest.skip("scikit-learn before 1.8 takes medians of weighted rows in another way")
    rng = np.random.default_rng(11)
    X = rng.standard_normal((600, 5)).astype(np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(600)
    # So that no two cuts tie; eighths, since scikit-learn must see that a node is pure.
    weight = rng.integers(4, 2_000, 600) / 8
    classes = criterion in ("gini", "entropy")
    labels = np.digitize(y, [-0.5, 0.5]).astype(np.uint16)
    values = np.eye(3)[labels] if classes else y[:, None].astype(float)
    params = CartParams(criterion=criterion, min_samples_leaf=8, max_leaves=max_leaves)
    task = Task(X, np.zeros(5, bool), values, weight, params)
    (ours,) = grow(task, labels if classes else None)
    peer = DecisionTreeClassifier if classes else DecisionTreeRegressor
    limits = {"min_samples_leaf": 8, "max_leaf_nodes": max_leaves or None}
    model = peer(criterion=criterion, random_state=0, **limits)
    theirs = model.fit(X, labels if classes else y, sample_weight=weight).tree_
    entropy_in_nats = criterion == "entropy"
    if max_leaves:  # scikit-learn numbers nodes in another order
        assert ours.n_leaves == theirs.n_leaves == max_leaves
        assert {*ours.threshold[ours.feature >= 0]} == {*theirs.threshold[theirs.feature >= 0]}
    else:
        if entropy_in_nats:  # scikit-learn's is in bits
            ours = replace(ours, gain=ours.gain / np.log(2))
        assert ours.n_leaves > 30
        assert_same_tree(ours, theirs)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_trees_of_several_class_outputs_are_those_of_scikit_learn(criterion):
    rng = np.random.default_rng(12)
    X = rng.standard_normal((400, 4)).astype(np.float32)
    Y = np.stack([np.digitize(X[:, 0] + X[:, 1], [-1, 1]), X[:, 2] > X[:, 3]], axis=1).astype(int)
    weight = rng.integers(4, 2_000, 400) / 8
    one_hot = np.concatenate([np.eye(3)[Y[:, 0]], np.eye(2)[Y[:, 1]]], axis=1)
    params = CartParams(criterion=criterion, max_depth=4, min_samples_leaf=10)
    task = Task(X, NUMERIC, one_hot, weight, params, n_outputs=2)
    (ours,) = grow(task)
    model = DecisionTreeClassifier(
        criterion=criterion, max_depth=4, min_samples_leaf=10, random_state=0
    )
    theirs = model.fit(X, Y, sample_weight=weight).tree_
    np.testing.assert_array_equal(ours.threshold, np.where(theirs.feature < 0, 0, theirs.threshold))
    np.testing.assert_allclose(ours.value[:, :3], theirs.value[:, 0], atol=1e-9)
    np.testing.assert_allclose(ours.value[:, 3:], theirs.value[:, 1, :2], atol=1e-9)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_a_full_tree_gives_back_distinct_rows_to_the_last_bit(criterion):
    rng = np.random.default_rng(13)
    X = rng.standard_normal((500, 3))
    y = rng.standard_normal((500, 1)) * np.exp(3 * rng.standard_normal((500, 1))) + 1000.0
    task = Task(X, np.zeros(3, bool), y, np.ones(500), CartParams(criterion=criterion))
    (tree,) = grow(task)
    rows_of = node_rows(tree, task)
    for leaf in np.flatnonzero(tree.feature < 0):
        assert (tree.value[leaf] == y[rows_of[leaf]]).all()


def test_medians_halve_the_weight_as_those_of_scikit_learn_do():
    X = np.zeros((6, 1), np.float32)
    y = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    for weight in ([1] * 6, [1, 1, 1, 1, 1, 5], [3, 1, 1, 1, 1, 1], [0.5, 0.25, 0.25, 1, 0, 0]):
        weights = np.array(weight, float)
        params = CartParams(criterion="absolute_error")
        (tree,) = grow(Task(X, np.zeros(1, bool), y[:, None], weights, params))
        peer = DecisionTreeRegressor(criterion="absolute_error").fit(X, y, sample_weight=weights)
        assert tree.value[0, 0] == peer.predict(X)[0]


# ---- the histogram engine --------------------------------------------------------------------


def assert_same_cuts(exact, binned):
    """The same nodes, cut between the same values, but for where in the gap."""
    for name in ("feature", "left", "right", "missing_left", "category_set", "category_bits"):
        np.testing.assert_array_equal(getattr(exact, name), getattr(binned, name))
    for name in ("value", "gain", "cover", "count"):
        np.testing.assert_array_equal(getattr(exact, name), getattr(binned, name))


# Enough rows that both engines start on the table and then copy small nodes aside.
@pytest.mark.parametrize("max_leaves", [0, 60])
@pytest.mark.parametrize("max_features", [0, 2])
@pytest.mark.parametrize("kind", ["gini", "entropy", "squared_error", "absolute_error", "classes"])
def test_both_engines_grow_the_same_trees(kind, max_features, max_leaves):
    rng = np.random.default_rng(14)
    n_rows = 45_000
    X = table(rng, n_rows, missing=True, n_values=40, n_features=6)
    X[:, 4] = rng.integers(0, 30, n_rows)
    X[:, 5] = rng.random(n_rows) < 0.02
    is_categorical = np.arange(6) == 4
    score = np.nan_to_num(X[:, 0]) + np.sin(X[:, 4]) + rng.standard_normal(n_rows)
    labels = np.digitize(score, [-2, 0, 2] if kind == "classes" else [0]).astype(np.uint16)
    params = CartParams(
        criterion="gini" if kind == "classes" else kind,
        max_features=max_features,
        max_leaves=max_leaves,
        min_samples_leaf=5,
        max_depth=9 if kind == "absolute_error" else 0,
        seed=3,
    )
    draws = (
        BootstrapSamples(n_draws=n_rows, seed=5) if max_features else BootstrapSamples.all(n_rows)
    )
    trees = []
    for matrix in (SortedMatrix.from_matrix(X, is_categorical), as_bins(X, is_categorical)):
        if kind in ("squared_error", "absolute_error"):
            numbers = np.round(score[:, None], 2)
            trees += grow_trees(matrix, TreeTarget.of_numbers(numbers), params, draws, n_threads=2)
        else:
            trees += grow_trees(
                matrix, TreeTarget.of_classes(labels, labels.max() + 1), params, draws, n_threads=2
            )
    exact, binned = trees
    assert exact.split_bin is None
    assert exact.n_leaves == max_leaves or exact.n_leaves > 100
    assert_same_cuts(exact, binned)


# ---- drawn rows, random cuts -----------------------------------------------------------------


def test_a_bootstrap_is_a_weighting_by_counts():
    rng = np.random.default_rng(15)
    X = rng.standard_normal((9_000, 3)).astype(np.float32)
    labels = (X[:, 0] + rng.standard_normal(9_000) > 0).astype(np.uint16)
    matrix = SortedMatrix.from_matrix(X)
    draws = BootstrapSamples(n_draws=9_000, seed=1)
    sampled = grow_trees(
        matrix, TreeTarget.of_classes(labels, 2), CartParams(), draws, first_tree=4, n_trees=2
    )
    for tree, number in zip(sampled, (4, 5), strict=True):
        weights = draws.counts(number, 9_000).astype(float)
        (weighted,) = grow_trees(
            matrix,
            TreeTarget.of_classes(labels, 2),
            CartParams(),
            BootstrapSamples.all(9_000),
            weights=weights,
            first_tree=number,
        )
        assert weighted == tree


def test_random_thresholds_are_uniform_between_the_smallest_and_the_largest_value():
    X = np.array([[0.0], [1e-3], [2e-3], [10.0]])
    numbers = np.arange(4.0)[:, None]
    for criterion in ("squared_error", "absolute_error"):
        params = CartParams(criterion=criterion, max_depth=1, random_thresholds=True)
        matrix = SortedMatrix.from_matrix(X)
        trees = grow_trees(
            matrix, TreeTarget.of_numbers(numbers), params, BootstrapSamples.all(4), n_trees=2_000
        )
        cuts = np.sort([tree.threshold[0] for tree in trees])
        assert cuts[0] >= 0.0
        assert cuts[-1] < 10.0
        # Kolmogorov's distance; 1.95 / √n is passed once in a thousand seeds.
        assert abs(cuts / 10.0 - (np.arange(2_000) + 0.5) / 2_000).max() < 1.95 / np.sqrt(2_000)
        sizes = {int(tree.count[tree.left[0]]) for tree in trees}
        assert 3 in sizes


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
def test_random_thresholds_divide_the_rows_they_say(criterion):
    rng = np.random.default_rng(16)
    n_rows = 9_000
    X = table(rng, n_rows, missing=True, n_values=500)
    X[:, 3] = rng.integers(0, 9, n_rows)
    score = np.nan_to_num(X[:, 0]) + 100 * rng.standard_normal(n_rows)
    labels = (score > 20 * X[:, 3]).astype(np.uint16)
    classes = criterion == "gini"
    values = np.eye(2)[labels] if classes else score[:, None]
    params = CartParams(
        criterion=criterion, min_samples_leaf=20, random_thresholds=True, max_features=2
    )
    task = Task(X, np.arange(4) == 3, values, np.ones(n_rows), params)
    (tree,) = grow(task, labels if classes else None)
    assert tree.n_leaves > 30
    rows_of = node_rows(tree, task)
    for node, rows in rows_of.items():
        assert tree.count[node] == len(rows) >= 20
    categorical = tree.category_set >= 0
    assert 0 < categorical.sum() < (tree.feature >= 0).sum()


# ---- numbers at the edge of what floats hold --------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("random_thresholds", [False, True])
def test_no_value_falls_on_the_wrong_side_of_its_threshold(dtype, random_thresholds):
    tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    one = dtype(1.0)
    columns = (
        [one, np.nextafter(one, dtype(2))],
        [dtype(0), tiny],
        [-tiny, dtype(0)],
        [-huge, huge],
        [np.nextafter(huge, dtype(0)), huge],
        [-huge, dtype(-np.inf)],
        [huge, dtype(np.inf)],
        [dtype(-np.inf), dtype(np.inf)],
    )
    for column in columns:
        X = np.array([column], dtype).T
        task = Task(
            X,
            np.zeros(1, bool),
            np.eye(2),
            np.ones(2),
            CartParams(random_thresholds=random_thresholds),
        )
        (tree,) = grow(task, np.array([0, 1], np.uint16))
        assert tree.n_leaves == 2
        assert sorted(goes_left(tree, 0, X[:, 0])) == [False, True]


def test_zeros_of_either_sign_are_one_value():
    X = np.array([[-0.0], [0.0], [1.0]])
    task = Task(X, np.zeros(1, bool), np.eye(3), np.ones(3), CartParams())
    (tree,) = grow(task, np.arange(3, dtype=np.uint16))
    assert sorted(tree.count[tree.feature < 0]) == [1, 2]
    assert tree.threshold[0] == 0.5


def test_one_far_number_does_not_blur_the_others():
    rng = np.random.default_rng(17)
    X = rng.standard_normal((3_000, 2))
    y = np.where(X[:, 0] > 0, 1.0, 2.0) + 0.01 * rng.standard_normal(3_000)
    y[0] = 1e12
    params = CartParams(criterion="squared_error", max_depth=8, min_samples_leaf=1)
    task = Task(X, np.zeros(2, bool), y[:, None], np.ones(3_000), params)
    (tree,) = grow(task)
    rows_of = node_rows(tree, task)
    for leaf in np.flatnonzero(tree.feature < 0):
        assert tree.value[leaf, 0] == pytest.approx(y[rows_of[leaf]].mean(), rel=1e-6)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_numbers_of_any_size_make_the_same_cuts(criterion):
    rng = np.random.default_rng(18)
    X = rng.standard_normal((200, 3))
    y = rng.standard_normal((200, 1))
    params = CartParams(criterion=criterion, min_samples_leaf=3)
    trees = [
        grow(Task(X, np.zeros(3, bool), y * 2.0**power, np.ones(200), params))[0]
        for power in (0, -900, -60, 60, 1000)
    ]
    for tree in trees[1:]:
        np.testing.assert_array_equal(tree.threshold, trees[0].threshold)
        assert np.isfinite(tree.gain).all()


def test_numbers_that_cannot_be_added_up_are_refused():
    y = np.array([[1.7e308], [-1.7e308], [1.7e308]])
    task = Task(np.arange(3.0)[:, None], np.zeros(1, bool), y, np.ones(3), CartParams())
    with pytest.raises(DataError, match="too large"):
        grow(task)


# ---- the same everywhere ---------------------------------------------------------------------


def varied_trees(n_threads):
    """Trees of all kinds, large enough to be shared out among threads."""
    rng = np.random.default_rng(9)
    n_rows = 40_000
    X = rng.standard_normal((n_rows, 6)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 3] = rng.integers(0, 40, n_rows)
    is_categorical = np.arange(6) == 3
    score = np.nan_to_num(X[:, 0] * X[:, 1]) + np.sin(X[:, 3]) + rng.standard_normal(n_rows)
    labels = np.digitize(score, [-1, 1]).astype(np.uint16)
    matrix = SortedMatrix.from_matrix(X, is_categorical, n_threads=n_threads)
    once, sampled = BootstrapSamples.all(n_rows), BootstrapSamples(n_draws=n_rows // 2, seed=7)
    leaf = {"min_samples_leaf": 3}
    runs = {"n_threads": n_threads, "weights": rng.random(n_rows)}
    numbers = np.stack([score, np.exp(score)], axis=1)
    return [
        *grow_trees(matrix, TreeTarget.of_classes(labels, 3), CartParams(**leaf), once, **runs),
        *grow_trees(
            matrix,
            TreeTarget.of_classes(labels > 0, 2),
            CartParams("entropy", **leaf),
            once,
            **runs,
        ),
        *grow_trees(
            matrix,
            TreeTarget.of_classes(labels, 3),
            CartParams(max_features=2),
            sampled,
            n_trees=3,
            **runs,
        ),
        *grow_trees(
            matrix,
            TreeTarget.of_classes(labels, 3),
            CartParams(random_thresholds=True),
            sampled,
            **runs,
        ),
        *grow_trees(
            matrix,
            TreeTarget.of_numbers(numbers),
            CartParams("squared_error", max_leaves=50),
            once,
            **runs,
        ),
        *grow_trees(
            matrix,
            TreeTarget.of_numbers(numbers),
            CartParams("absolute_error", max_depth=5),
            sampled,
            **runs,
        ),
    ]


def digest(trees):
    names = ("feature", "threshold", "left", "missing_left", "category_bits", "value", "gain")
    arrays = [getattr(tree, name) for tree in trees for name in names]
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def test_trees_are_the_same_on_any_number_of_threads():
    alone = varied_trees(1)
    assert len(alone) == 8
    for n_threads in (2, 3, 8):
        assert varied_trees(n_threads) == alone


def test_trees_are_the_same_at_every_instruction_set_level():
    code = "from tree.test_cart_exact import *; print(digest(varied_trees(2)))"
    assert len(set(printed_at_every_level(code))) == 1


@pytest.mark.parametrize("criterion", ["gini", "absolute_error"])
def test_ctrl_c_ends_the_growing_of_a_tree(criterion):
    setup = f"""
import numpy as np
from hedgerow._tree.cart import *
rng = np.random.default_rng(0)
X = rng.standard_normal((200_000, 30), dtype=np.float32)
matrix = SortedMatrix.from_matrix(X, n_threads=2)
y = rng.integers(0, 2, 200_000)
params, draws = CartParams({criterion!r}), BootstrapSamples.all(200_000)
if params.criterion == "gini":
    target = TreeTarget.of_classes(y.astype(np.uint16), 2)
else:
    target = TreeTarget.of_numbers(rng.standard_normal((200_000, 1)))
"""
    call = "grow_trees(matrix, target, params, draws, n_trees=10_000, n_threads=2)"
    assert interrupted_inside("grow_exact_forest", setup, call)
