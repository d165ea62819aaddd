"""Monotone constraints in both engines: every step of growth, all pairs of leaves, best values."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow._tree.exact import ExactGrower
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.monotone import is_monotone, monotone_links, nearest_monotone
from hedgerow._tree.structure import Tree
from hedgerow._tree.trainer import RowSampler
from oracles.grow import Columns
from oracles.monotone import (
    assert_best_growth,
    assert_monotone,
    best_values,
    comparable,
    leaf_boxes,
)
from tree.test_grower import binned_table, columns_of, grow, in_both_layouts, random_params


def random_directions(rng, is_categorical):
    directions = np.where(is_categorical, 0, rng.choice([-1, 0, 1, 1], len(is_categorical)))
    return tuple(directions.tolist())


def random_gradients(rng, codes, directions):
    """Give gradients that follow the constraints, but for a rough surface over two features."""
    known = np.where(np.isnan(codes), 0, codes) / (1 + np.nanmax(codes, axis=1, keepdims=True))
    trend = rng.choice([0.0, 1.0, 3.0]) * np.array(directions) @ known
    thirds = (3 * known[[0, -1]]).astype(int)
    rough = rng.normal(size=(3, 3))[tuple(thirds)]
    return 0.3 * rng.normal(size=codes.shape[1]) - trend + rough


def draw_binned(rng, n_rows, n_features, most_bins):
    n_categorical, missing = int(rng.integers(0, 2)), float(rng.choice([0.05, 0.4]))
    binned = binned_table(
        rng, n_rows, n_features, n_categorical=n_categorical, most_bins=most_bins, missing=missing
    )
    directions = random_directions(rng, binned.is_categorical)
    codes = np.where(binned.by_column == 255, np.nan, binned.by_column)
    return binned, directions, random_gradients(rng, codes, directions)


def draw_values(rng, n_rows, n_features):
    X, is_categorical = rng.normal(size=(n_rows, n_features)), rng.random(n_features) < 0.3
    coarse = rng.random(n_features) < 0.8
    X[:, coarse] = (2 * X[:, coarse]).round()
    for f in np.flatnonzero(is_categorical):
        X[:, f] = rng.integers(0, rng.choice([3, 8, 20]), n_rows)
    X[rng.random(X.shape) < rng.choice([0, 0.1, 0.4])] = np.nan
    directions = random_directions(rng, is_categorical)
    codes = (X - np.nanmin(X, axis=0)).T
    return X, is_categorical, directions, random_gradients(rng, codes, directions)


def small_params(rng, directions):
    samples = replace(random_params(rng), min_samples_leaf=2, directions=directions)
    weak = {"min_split_gain": float(rng.choice([0, 0.01])), "min_child_weight": 1e-3}
    sizes = {"max_leaves": int(rng.choice([5, 12])), "max_depth": int(rng.choice([0, 5]))}
    return replace(samples, **weak, **sizes)


@pytest.mark.parametrize("seed", range(25))
def test_every_step_of_histogram_growth_is_the_best_within_limits(seed):
    rng = np.random.default_rng(seed)
    binned, directions, g = draw_binned(rng, int(rng.choice([40, 250, 600])), 4, most_bins=9)
    h = rng.uniform(0.3, 1.5, binned.n_rows)
    params = small_params(rng, directions)
    tree = grow(binned, g, h, params)
    assert_best_growth(tree, columns_of(binned), g, h, params)


@pytest.mark.parametrize("seed", range(25))
def test_every_step_of_exact_growth_is_the_best_within_limits(seed):
    rng = np.random.default_rng(100 + seed)
    n_rows = int(rng.choice([40, 90]))
    X, is_categorical, directions, g = draw_values(rng, n_rows, 3)
    h = rng.uniform(0.3, 1.5, n_rows)
    params = small_params(rng, directions)
    tree = SimpleNamespace(**ExactGrower(X, is_categorical).grow(g, h, params))
    assert_best_growth(tree, Columns.from_values(X, is_categorical), g, h, params, rtol=1e-11)


def crowded(rng):
    """Give few values of few features and many leaves to grow, so that each touches many others."""
    n_bins = np.array([6, 6, 4], np.int32)
    bins = rng.integers(0, n_bins[:, None], (3, 120)).astype(np.uint8)
    bins[rng.random(bins.shape) < rng.choice([0.0, 0.2])] = 255
    directions = (1, 0, -1)
    g = random_gradients(rng, np.where(bins == 255, np.nan, bins), directions)
    params = GrowthParams(max_leaves=14, min_samples_leaf=2, reg_lambda=0.1, directions=directions)
    return bins, n_bins, g, rng.uniform(0.3, 1.5, 120), params


@pytest.mark.parametrize("seed", range(16))
def test_every_step_is_the_best_where_leaves_are_crowded(seed):
    bins, n_bins, g, h, params = crowded(np.random.default_rng(500 + seed))
    none = np.zeros(3, bool)
    binned = in_both_layouts(bins, n_bins, none)
    assert_best_growth(grow(binned, g, h, params), columns_of(binned), g, h, params)
    X = np.where(bins == 255, np.nan, bins).T
    tree = SimpleNamespace(**ExactGrower(X, none).grow(g, h, params))
    assert_best_growth(tree, Columns.from_values(X, none), g, h, params, rtol=1e-11)


@pytest.mark.parametrize("seed", range(60))
def test_no_two_leaves_of_a_histogram_tree_are_in_the_wrong_order(seed):
    rng = np.random.default_rng(200 + seed)
    n_rows, n_features = int(rng.choice([60, 400, 3000])), int(rng.integers(2, 7))
    most_bins = int(rng.choice([4, 40, 255]))
    binned, directions, g = draw_binned(rng, n_rows, n_features, most_bins)
    h = rng.uniform(0.01, 0.25, n_rows)
    sampled = {"row_sampler": RowSampler(n_rows, 0.7), "colsample_bytree": 0.8}
    params = replace(random_params(rng), directions=directions, colsample_bynode=0.8)
    tree = grow(binned, g, h, params, **(sampled if seed % 3 == 0 else {}))
    assert_monotone(tree, directions, binned.is_categorical)
    assert is_monotone(tree, directions)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_two_leaves_of_an_exact_tree_are_in_the_wrong_order(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice([30, 300]))
    X, is_categorical, directions, g = draw_values(rng, n_rows, int(rng.integers(2, 6)))
    params = replace(random_params(rng), directions=directions)
    tree = ExactGrower(X, is_categorical).grow(g, rng.uniform(0.1, 1, n_rows), params, n_threads=2)
    assert_monotone(SimpleNamespace(**tree), directions, is_categorical)


def test_leaves_are_clipped_only_by_leaves_that_they_meet():
    """Halfway between the first two leaves lies 1.25: a bound there would cut off 4 and 5."""
    x0, x1 = np.repeat([0, 0, 1, 1], 50), np.repeat([0, 1, 0, 1], 50)
    y = np.array([-10.0, 4.0, 5.0, 6.0])[2 * x0 + x1]
    params = GrowthParams(max_leaves=4, reg_lambda=0.0, learning_rate=1.0, directions=(1, 0))
    tree = ExactGrower(np.c_[x0, x1].astype(float)).grow(-y, np.ones(200), params)
    assert tree["feature"][0] == 0
    np.testing.assert_allclose(tree["value"][tree["leaf_of_row"], 0], y, rtol=1e-12)


def test_missing_values_are_bound_to_none():
    x = np.repeat([0.0, 1.0, np.nan], 50)
    y = np.repeat([1.0, 2.0, -100.0], 50)
    params = GrowthParams(max_leaves=3, reg_lambda=0.0, learning_rate=1.0, directions=(1,))
    tree = ExactGrower(x[:, None]).grow(-y, np.ones(150), params)
    np.testing.assert_allclose(tree["value"][tree["leaf_of_row"], 0], y, rtol=1e-12)
    bins = binned_table(np.random.default_rng(0), 150, 1, most_bins=2, missing=0.0)
    bins.by_column[0] = np.where(np.isnan(x), 255, x)
    bins.by_row[0, :, 0] = bins.by_column[0]
    by_bin = grow(bins, -y, np.ones(150), params)
    assert sorted(by_bin.value[by_bin.feature < 0, 0]) == pytest.approx([-100.0, 1.0, 2.0])


@pytest.mark.parametrize("n_rows", [1_000, 40_000])
def test_a_monotone_tree_is_the_same_on_any_number_of_threads(n_rows):
    rng = np.random.default_rng(7)
    binned = binned_table(rng, n_rows, 30, n_categorical=2)
    directions = (0, 0, *rng.choice([-1, 1], 28).tolist())
    g = rng.normal(size=n_rows) - 0.02 * (binned.by_column[5] % 90) * directions[5]
    h = rng.uniform(0.1, 1, n_rows)
    params = GrowthParams(directions=directions, min_samples_leaf=5)
    first = grow(binned, g, h, params)
    assert len(monotone_links(first, directions)) > 10
    for n_threads in (2, 3, 8):
        assert grow(binned, g, h, params, n_threads=n_threads) == first


def random_links(rng, n):
    """Give some pairs (lower, upper) of a random order of n items."""
    place = rng.permutation(n)
    pairs = [(a, b) for a in range(n) for b in range(n) if place[a] < place[b]]
    kept = rng.random(len(pairs)) < rng.choice([0.05, 0.2, 0.6])
    return [pair for pair, keep in zip(pairs, kept, strict=True) if keep]


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32 - 1))
def test_isotonic_values_are_the_nearest_that_keep_the_order(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 16))
    links, target = random_links(rng, n), rng.normal(size=n)
    if rng.random() < 0.3:
        target = target.round()
    weights = 10.0 ** rng.uniform(-2, 2, n)
    pairs = np.array(links, np.int32).reshape(-1, 2)
    value = _native.isotonic(pairs, target, weights)
    assert (value[pairs[:, 0]] <= value[pairs[:, 1]]).all()
    expected = best_values(target, weights, links)
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "weights", [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1e-300, 1e300, 1.0], [5e-324, 0.0, 1.0]]
)
def test_isotonic_values_are_there_for_any_weights(weights):
    links = np.array([[0, 1], [1, 2]], np.int32)
    value = _native.isotonic(links, np.array([3.0, 1.0, -2.0]), np.array(weights))
    assert value[0] <= value[1] <= value[2]
    assert np.isfinite(value).all()


def any_tree(rng):
    """Give a tree that was grown without constraints, and whether its columns are categorical."""
    X, is_categorical, directions, g = draw_values(rng, 200, 4)
    arrays = ExactGrower(X, is_categorical).grow(g, np.ones(200), GrowthParams(max_leaves=12))
    arrays.pop("leaf_of_row")
    return Tree(**arrays), is_categorical, directions


def closure(pairs):
    """Give all pairs that follow from others."""
    actual = set(map(tuple, pairs))
    while True:
        more = {(a, d) for a, b in actual for c, d in actual if b == c} - actual
        if not more:
            return actual
        actual |= more


@pytest.mark.parametrize("seed", range(30))
def test_links_are_what_all_comparable_leaves_follow_from(seed):
    tree, is_categorical, directions = any_tree(np.random.default_rng(300 + seed))
    links = {(int(a), int(b)) for a, b in monotone_links(tree, directions)}
    pairs = comparable(leaf_boxes(tree), directions, is_categorical)
    assert links <= set(pairs)
    assert set(pairs) <= closure(links)


@pytest.mark.parametrize("seed", range(30))
def test_any_tree_can_be_given_the_nearest_monotone_values(seed):
    rng = np.random.default_rng(400 + seed)
    tree, is_categorical, directions = any_tree(rng)
    leaves = np.flatnonzero(tree.feature < 0)
    desired, weights = rng.normal(size=len(leaves)), rng.uniform(0.1, 5, len(leaves))
    value = nearest_monotone(tree, directions, desired, weights)
    tree.value[leaves, 0] = value
    assert_monotone(tree, directions, is_categorical)
    place = {int(leaf): i for i, leaf in enumerate(leaves)}
    pairs = comparable(leaf_boxes(tree), directions, is_categorical)
    expected = best_values(desired, weights, [(place[a], place[b]) for a, b in pairs])
    np.testing.assert_allclose(value, expected, atol=1e-7)
