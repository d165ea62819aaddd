"""Interaction constraints and feature weights in all growers, held to their oracles."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow._tree.exact import ExactGrower
from hedgerow._tree.growth_params import GrowthParams
from oracles.grow import Columns, assert_same_splits
from oracles.vector_grow import assert_same_splits as assert_same_vector_splits
from tree.test_grower import binned_table, columns_of, grow, in_both_layouts, random_params
from tree.test_vector_grower import grow_vector, some_gradients

GROUPS = [((0, 1), (2, 3, 4)), ((0, 1, 2), (2, 3), (4,)), ((0, 4), (1, 4), (2, 4), (3, 4))]
CONSTRAINTS = [
    *({"interaction_groups": groups} for groups in GROUPS),
    {"most_features_on_path": 1},
    {"most_features_on_path": 2},
    {"feature_weights": (1.0, 0.5, 4.0, 0.0, 1e-3)},
    {"feature_weights": (1e-200, 1.0, 1e200, 1.0, 0.0), "most_features_on_path": 2},
    {"feature_weights": (0.0, 0.0, 0.3, 0.0, 0.2), "interaction_groups": GROUPS[1]},
]


def paths_of(tree):
    """Give the set of features on the way to each leaf."""
    above = {0: frozenset()}
    for node in np.flatnonzero(tree.feature >= 0):
        for child in (tree.left[node], tree.right[node]):
            above[int(child)] = above[int(node)] | {int(tree.feature[node])}
    return [path for node, path in above.items() if tree.feature[node] < 0]


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("seed", range(5))
def test_histogram_trees_have_the_oracle_s_splits(seed, constraints):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice([30, 200, 1500]))
    binned = binned_table(rng, n_rows, 5, n_categorical=seed % 2, most_bins=40)
    g = rng.standard_normal(n_rows) + (binned.by_column[0] > 5) * (binned.by_column[3] > 2)
    h = rng.uniform(0.01, 0.25, n_rows)
    params = replace(random_params(rng), **constraints)
    assert_same_splits(grow(binned, g, h, params), columns_of(binned), g, h, params)


@pytest.mark.parametrize("constraints", [*CONSTRAINTS, {"directions": (1, 0, -1, 1, 0)}])
@pytest.mark.parametrize("seed", range(4))
def test_trees_for_all_outputs_have_the_oracle_s_splits(seed, constraints):
    rng = np.random.default_rng(20 + seed)
    n_rows, n_outputs = int(rng.choice([60, 700])), int(rng.choice([2, 3, 9]))
    n_categorical = 0 if "directions" in constraints else seed % 2
    binned = binned_table(rng, n_rows, 5, n_categorical=n_categorical, most_bins=12)
    g, h = some_gradients(rng, binned, n_outputs)
    params = replace(random_params(rng), max_leaves=10, **constraints)
    tree = grow_vector(binned, g, h, params)
    assert_same_vector_splits(tree, columns_of(binned), g, h, params)


@pytest.mark.parametrize("constraints", CONSTRAINTS)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_exact_trees_have_the_oracle_s_splits(seed, constraints):
    rng = np.random.default_rng(seed)
    X, is_categorical = rng.normal(size=(120, 5)).round(1), rng.random(5) < 0.3
    X[:, is_categorical] = rng.integers(0, 6, (120, is_categorical.sum()))
    X[rng.random(X.shape) < 0.1] = np.nan
    g, h = rng.normal(size=120), rng.uniform(0.1, 1, 120)
    params = replace(random_params(rng), **constraints)
    tree = ExactGrower(X, is_categorical).grow(g, h, params)
    columns = Columns.from_values(X, is_categorical)
    assert_same_splits(tree, columns, g, h, params, rtol=1e-12)


@pytest.mark.parametrize("draws", [{}, {"colsample_bylevel": 0.6, "colsample_bynode": 0.6}])
@pytest.mark.parametrize("groups", GROUPS)
def test_no_path_mixes_groups_whatever_is_drawn(groups, draws):
    rng = np.random.default_rng(1)
    binned = binned_table(rng, 3_000, 5)
    g, h = rng.standard_normal(3_000), np.ones(3_000)
    # A level may draw none of the features that may follow, so some trees are small.
    params = [GrowthParams(interaction_groups=groups, seed=seed, **draws) for seed in range(5)]
    trees = [grow(binned, g, h, one, colsample_bytree=0.8) for one in params]
    assert np.mean([tree.n_leaves for tree in trees]) > 10
    for tree in trees:
        assert all(any(path <= set(group) for group in groups) for path in paths_of(tree))


def test_a_node_draws_from_the_features_that_may_follow():
    """Half of two allowed features is one: a node below the root has always something to try."""
    rng = np.random.default_rng(2)
    bins = rng.integers(0, 200, (20, 4_000)).astype(np.uint8)
    binned = in_both_layouts(bins, np.full(20, 200, np.int32), np.zeros(20, bool))
    g, h = rng.standard_normal(4_000), np.ones(4_000)
    pairs = tuple((f, f + 1) for f in range(0, 20, 2))
    params = GrowthParams(max_depth=3, max_leaves=8, interaction_groups=pairs, colsample_bynode=0.5)
    assert grow(binned, g, h, params).n_leaves == 8


def test_trees_draw_their_features_from_those_with_a_weight():
    rng = np.random.default_rng(3)
    binned = binned_table(rng, 2_000, 20, missing=0.0)
    weights = tuple(float(f in (4, 7, 9, 11)) for f in range(20))
    params = GrowthParams(feature_weights=weights)
    for seed in range(5):
        one = replace(params, seed=seed)
        g, h = rng.standard_normal(2_000), np.ones(2_000)
        tree = grow(binned, g, h, one, colsample_bytree=0.25)
        assert len({int(f) for f in tree.feature} - {-1}) == 1
        assert {int(f) for f in tree.feature} <= {-1, 4, 7, 9, 11}
