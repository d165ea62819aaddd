"""The oracle itself, on cases small enough to see through."""

import numpy as np
import pytest

from hedgerow._tree.growth_params import GrowthParams
from oracles.grow import Columns, assert_same_splits, grow


def random_bins(rng, n_rows, n_features, missing=0.1):
    bins = rng.integers(0, 12, (n_features, n_rows)).astype(np.uint8)
    bins[rng.random(bins.shape) < missing] = 255
    return bins


@pytest.mark.parametrize("policy", ["leafwise", "levelwise"])
def test_the_oracle_passes_its_own_check(policy):
    rng = np.random.default_rng(0)
    bins = random_bins(rng, 300, 5)
    columns = Columns.from_bins(bins, np.full(5, 12), [False, True, False, True, False])
    g, h = rng.normal(size=300), rng.uniform(0.1, 1, 300)
    params = GrowthParams(
        max_leaves=9, max_depth=4, grow_policy=policy, min_samples_leaf=3, reg_alpha=0.1
    )
    tree = grow(columns, g, h, params)
    assert len(tree.feature) == 17
    assert_same_splits(tree, columns, g, h, params)


def test_a_step_is_found_with_the_formula_s_gain_and_weights():
    X = np.array([[1.0], [2.0], [3.0], [np.nan]])
    g, h = np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4)
    tree = grow(
        Columns.from_values(X), g, h, GrowthParams(reg_lambda=1.0, learning_rate=1.0, max_leaves=2)
    )
    assert tree.threshold[0] == 2.5
    assert not tree.missing_left[0]
    assert tree.gain[0] == pytest.approx(0.5 * (4 / 3 + 4 / 3))
    np.testing.assert_allclose(tree.value, [0.0, -2 / 3, 2 / 3])


def test_a_worse_split_is_noticed():
    rng = np.random.default_rng(1)
    columns = Columns.from_bins(random_bins(rng, 200, 3), np.full(3, 12), [False] * 3)
    h, params = np.ones(200), GrowthParams(max_leaves=6)
    g = rng.normal(size=200) + 3 * (columns.codes[0] > 5)
    tree = grow(columns, g, h, params, features=[1, 2])
    with pytest.raises(AssertionError, match="oracle has"):
        assert_same_splits(tree, columns, g, h, params)
