"""Small tables of many features, which are scanned eight at a time: no tree changes.

Weights of 1 for all features change nothing but the engine, so the other engine is the twin.
"""

import numpy as np
import pytest

from data.test_bundle import binned, trees
from hedgerow import _native
from hedgerow._data.binning import own_columns
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.trainer import RowSampler


def mostly_zeros(rng, n_rows, n_features=50):
    """Return counts, flags and numbers, most of them zero, and a target of some of them."""
    X = rng.standard_normal((n_rows, n_features)).astype(np.float32)
    X[:, ::3] = rng.integers(0, 4, X[:, ::3].shape)
    X[:, 1::5] = np.round(X[:, 1::5], 1)
    X *= rng.random(X.shape) < rng.uniform(0.02, 0.5, n_features)
    X[:, 7] = X[:, 4]  # a copy: the lower feature wins
    X[:, 11] = 3  # a constant
    y = X[:, 4] - X[:, 3] * X[:, 9] + np.abs(X[:, 16]) + X[:, 12]
    return X, (y + 0.3 * rng.standard_normal(n_rows)).astype(np.float64)


def grower(matrix, params, n_threads=1, **limits):
    return _native.ScalarGrower(
        matrix.by_column, matrix.by_row, matrix.n_bins, matrix.is_categorical, matrix.places,
        matrix.width, matrix.threshold_values, matrix.threshold_starts,
        _native.GrowthParams(params), _native.Constraints(params), n_threads, **limits,
    )  # fmt: skip


def ones(matrix):
    return {"feature_weights": (1.0,) * len(matrix.n_bins)}


OPTIONS = {
    "plain": {"colsample_bynode": 1.0},
    "sampled nodes": {},
    "sampled levels": {"colsample_bylevel": 0.3},
    "interactions": {"interaction_groups": (tuple(range(20)), tuple(range(10, 50)))},
    "large leaves": {"min_samples_leaf": 40, "min_child_weight": 11.0, "colsample_bynode": 1.0},
    "small leaves": {"min_samples_leaf": 1, "min_child_weight": 0.0, "max_leaves": 100},
    "no lambda": {"reg_lambda": 0.0, "min_child_weight": 1.0},
    "gain": {"min_split_gain": 2.0},
    "deep": {"max_leaves": 0, "max_depth": 5, "grow_policy": "levelwise"},
}


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_rows", [400, 900, 6_000])
@pytest.mark.parametrize("name", OPTIONS)
def test_trees_are_those_of_the_other_engine(name, n_rows, n_threads):
    X, y = mostly_zeros(np.random.default_rng(n_rows), n_rows)
    matrix = binned(X)
    assert grower(matrix, GrowthParams(**OPTIONS[name])).has_lanes
    assert not grower(matrix, GrowthParams(**OPTIONS[name], **ones(matrix))).has_lanes
    expected = trees(matrix, y, n_threads=1, **OPTIONS[name], **ones(matrix))
    assert sum(tree.n_leaves for tree in expected) > 10
    assert trees(matrix, y, n_threads=n_threads, **OPTIONS[name]) == expected


def test_trees_are_the_same_on_samples_of_weighted_rows():
    rng = np.random.default_rng(1)
    X, y = mostly_zeros(rng, 3_000)
    matrix = binned(X)
    weights = rng.integers(0, 4, len(y)).astype(np.float64)  # a hessian of 0, too
    options = {"weights": weights, "row_sampler": RowSampler(len(y), 0.5)}
    assert trees(matrix, y, **options) == trees(matrix, y, **options, **ones(matrix))


def test_no_tree_depends_on_the_memory_for_histograms():
    X, y = mostly_zeros(np.random.default_rng(2), 5_000)
    matrix, params = binned(X), GrowthParams(max_leaves=60, min_samples_leaf=5)
    h = np.ones(len(y))

    def grown(**limits):
        gradients = _native.GradientStore(len(y), 1, 1)
        gradients.take(y[None], h[None])
        leaf = np.zeros((1, len(y)), np.uint16)
        value = np.zeros((1, _native.most_leaves))
        tree = grower(matrix, params, **limits).grow(gradients, 0, None, 0, leaf, value)
        return [array.tobytes() for array in tree] + [leaf.tobytes()]

    assert grown(histogram_bytes=1) == grown() == grown(leaves_ahead=4, histogram_bytes=1)


def test_tables_of_few_or_dense_features_have_no_lanes():
    rng = np.random.default_rng(3)
    X, _ = mostly_zeros(rng, 2_000)
    params = GrowthParams()
    assert grower(binned(X), params).has_lanes
    assert not grower(binned(X[:, :31]), params).has_lanes
    dense = binned(rng.standard_normal((2_000, 50)))
    assert not grower(dense.with_places(own_columns(50)), params).has_lanes
    assert not grower(binned(np.tile(X, (17, 1))), params).has_lanes  # packed rows


@pytest.mark.parametrize(
    "options",
    [
        {"colsample_bytree": 0.5},
        {"reg_alpha": 0.1},
        {"max_delta_step": 1.0},
        {"grow_policy": "symmetric", "max_leaves": 64},
        {"directions": (1,) + (0,) * 49},
        {"reg_lambda": 0.0, "min_child_weight": 0.0},
    ],
)
def test_options_that_need_the_other_engine(options):
    X, _ = mostly_zeros(np.random.default_rng(4), 2_000)
    assert not grower(binned(X), GrowthParams(**options)).has_lanes


def test_missing_values_need_the_other_engine():
    X, _ = mostly_zeros(np.random.default_rng(5), 2_000)
    X[17, 4] = np.nan
    assert not grower(binned(X), GrowthParams()).has_lanes
