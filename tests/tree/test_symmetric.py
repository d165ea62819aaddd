"""Symmetric trees against the oracle, which tries every test of every level."""

from dataclasses import replace

import numpy as np
import pytest

from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.trainer import RowSampler
from oracles.random_numbers import child_key, root_key, sampled_features
from oracles.symmetric import assert_symmetric
from tree.test_grower import (
    binned_table,
    columns_of,
    grow,
    in_both_layouts,
    make_trainer,
    random_params,
)

PARAMS = GrowthParams(grow_policy="symmetric", max_leaves=0, max_depth=4, min_samples_leaf=5)


def random_case(seed, n_rows=None):
    rng = np.random.default_rng(seed)
    n_rows = n_rows or int(rng.choice([3, 40, 250]))
    n_features = int(rng.integers(1, 6))
    binned = binned_table(
        rng, n_rows, n_features,
        n_categorical=int(rng.integers(0, min(n_features, 3) + 1)),
        most_bins=int(rng.choice([4, 12, 30])),
    )  # fmt: skip
    g = rng.standard_normal(n_rows) + (binned.by_column[0] > 2) * (binned.by_column[-1] > 1)
    return rng, binned, g, rng.uniform(0.01, 0.25, n_rows)


@pytest.mark.parametrize("seed", range(30))
def test_levels_have_the_oracles_tests_whatever_the_parameters(seed):
    rng, binned, g, h = random_case(seed)
    params = replace(random_params(rng), grow_policy="symmetric", max_depth=int(rng.integers(1, 5)))
    tree = grow(binned, g, h, params)
    assert_symmetric(tree, columns_of(binned), g, h, params)


@pytest.mark.parametrize("seed", range(6))
def test_large_leaves_that_keep_histograms_and_small_ones_that_do_not_have_the_oracles_tests(seed):
    rng, binned, g, h = random_case(seed, n_rows=1_500)
    params = replace(PARAMS, max_depth=5, min_samples_leaf=int(rng.choice([1, 20])))
    tree = grow(binned, g, h, params, n_threads=int(rng.integers(1, 4)))
    assert assert_symmetric(tree, columns_of(binned), g, h, params) >= 2


def test_a_leaf_without_room_for_two_children_stays_while_others_are_divided():
    rng = np.random.default_rng(0)
    first = np.repeat([0, 1], [30, 270])
    bins = np.stack([first, rng.integers(0, 8, 300)]).astype(np.uint8)
    binned = in_both_layouts(bins, np.array([2, 8], np.int32), np.zeros(2, bool))
    g = 5.0 * first + np.where(bins[1] > 3, 1.0, -1.0)
    params = replace(PARAMS, max_depth=3, min_samples_leaf=20)
    tree = grow(binned, g, np.ones(300), params)
    assert_symmetric(tree, columns_of(binned), g, np.ones(300), params)
    assert tree.feature[0] == 0
    assert tree.feature[1] == -1  # 30 rows
    assert tree.feature[2] == 1


def test_the_rows_of_a_bag_decide():
    _, binned, g, h = random_case(3, n_rows=400)
    trainer = make_trainer(binned, PARAMS, row_sampler=RowSampler(400, fraction=0.5, seed=5))
    rows = trainer._row_sampler.bag(0, None).rows
    (tree,) = trainer.boost_with(0, g[None], h[None])
    assert_symmetric(tree, columns_of(binned), g, h, PARAMS, rows=rows)


@pytest.mark.parametrize("seed", range(4))
def test_a_level_counts_as_one_node_when_features_are_sampled(seed):
    rng = np.random.default_rng(seed)
    binned = binned_table(rng, 400, 8, most_bins=10)
    g, h = rng.standard_normal(400), np.ones(400)
    params = replace(PARAMS, colsample_bylevel=0.7, colsample_bynode=0.5, seed=seed)
    tree = grow(binned, g, h, params)
    key, features = root_key(0), []
    for depth in range(params.max_depth + 1):
        level = root_key(0) + depth
        of_level = sampled_features(range(8), 0.7, seed, "level_features", level)
        features.append(sampled_features(of_level, 0.5, seed, "node_features", key))
        key = child_key(key, is_right=False)
    assert assert_symmetric(tree, columns_of(binned), g, h, params, features=features) >= 2


@pytest.mark.parametrize(
    "constraints",
    [
        {"interaction_groups": ((0, 1), (1, 2), (3, 4))},
        {"most_features_on_path": 2},
        {"feature_weights": (1.0, 0.0, 3.0, 0.2, 1.0)},
        {"min_split_gain": 1.0},
    ],
)
def test_constraints_hold_for_the_levels_above(constraints):
    rng = np.random.default_rng(2)
    binned = binned_table(rng, 500, 5, n_categorical=1, most_bins=12)
    g = rng.standard_normal(500) + (binned.by_column[1] > 3) - (binned.by_column[4] > 2)
    params = replace(PARAMS, **constraints)
    tree = grow(binned, g, np.ones(500), params)
    assert assert_symmetric(tree, columns_of(binned), g, np.ones(500), params) >= 2


@pytest.mark.parametrize("cap", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_tests_against_a_monotonic_constraint_gain_nothing(seed, cap):
    rng = np.random.default_rng(seed)
    binned = binned_table(rng, 300, 4, n_categorical=1, most_bins=12)
    g = rng.standard_normal(300) - 0.3 * binned.by_column[1]
    params = replace(PARAMS, directions=(0, -1, 1, 0), max_delta_step=cap)
    tree = grow(binned, g, np.ones(300), params)
    assert_symmetric(tree, columns_of(binned), g, np.ones(300), params)


@pytest.mark.parametrize("n_rows", [700, 40_000])
def test_the_number_of_threads_does_not_change_a_bit(n_rows):
    rng = np.random.default_rng(4)
    binned = binned_table(rng, n_rows, 11, n_categorical=2)
    g, h = rng.standard_normal(n_rows) - binned.by_column[2] / 99, rng.uniform(0.1, 1, n_rows)
    params = replace(PARAMS, max_depth=6)
    alone = grow(binned, g, h, params)
    for n_threads in (2, 5):
        other = grow(binned, g, h, params, n_threads=n_threads)
        for name in ("feature", "split_bin", "missing_left", "value", "gain", "cover", "count"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(other, name))
