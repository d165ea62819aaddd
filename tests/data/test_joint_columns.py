"""Features with few bins share the codes of a column: nothing is lost, and no tree changes."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native
from hedgerow._data import intake
from hedgerow._data.binning import Binner, own_columns
from hedgerow._tree.trainer import RowSampler
from oracles.places import decoded

from .test_bundle import binned, one_hot, trees


def joined(n_bins, has_missing=0, most_codes=256):
    """Return the column, stride and radix of features with these numbers of bins."""
    missing = np.broadcast_to(np.uint8(has_missing), len(n_bins)).copy()
    n_bins = np.array(n_bins, np.int32)
    places = _native.join_columns(own_columns(len(n_bins)), n_bins, missing, most_codes)
    return places.reshape(-1, 5)[:, [0, 3, 4]]


def test_eight_flags_are_a_byte():
    np.testing.assert_array_equal(
        joined([2] * 9), [*((0, 2**k, 2) for k in range(7, -1, -1)), (1, 0, 0)]
    )


def test_two_features_of_16_bins_are_a_byte_unless_one_has_missing_values():
    np.testing.assert_array_equal(joined([16, 16]), [(0, 16, 16), (0, 1, 16)])
    np.testing.assert_array_equal(joined([16, 16], 1), [(0, 0, 0), (1, 0, 0)])
    np.testing.assert_array_equal(joined([15, 15], 1), [(0, 16, 16), (0, 1, 16)])


def test_a_feature_with_many_bins_keeps_its_column():
    np.testing.assert_array_equal(joined([2, 65, 2]), [(0, 2, 2), (1, 0, 0), (0, 1, 2)])


def test_small_tables_have_joint_columns_of_few_codes():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (64 * 64, 8)).astype(float)
    assert len(np.unique(binned(X[: 16 * 64]).places[:, 0])) == 2  # of 16 codes each
    assert len(np.unique(binned(X[: 32 * 64]).places[:, 0])) == 2  # of 32 and of 8
    assert binned(np.tile(X, (4, 1))).places[:, 0].max() == 0  # of 256


def test_a_constant_takes_no_room():
    rows = np.arange(100)
    matrix = binned(np.column_stack([0 * rows, rows, 0 * rows + 7, rows % 2, rows % 3]))
    np.testing.assert_array_equal(matrix.places[:, 0], [0, 1, 0, 0, 0])
    np.testing.assert_array_equal(decoded(matrix), matrix.by_column)


bin_counts = st.lists(st.integers(1, 255), max_size=60) | st.lists(st.integers(1, 9), max_size=60)


@given(bin_counts, st.sampled_from([16, 47, 256]), st.randoms(use_true_random=False))
def test_every_code_has_one_meaning(n_bins, most_codes, random):
    """The digits of a column do not overlap: each stride is the product of the radices below."""
    has_missing = [random.random() < 0.3 for _ in n_bins]
    places = joined(n_bins, has_missing, most_codes)
    for column in range(places[:, 0].max(initial=-1) + 1):
        members = np.flatnonzero(places[:, 0] == column)
        assert len(members) > 0
        if len(members) == 1:
            assert places[members[0], 2] == 0
            continue
        digits = sorted((s, r) for _, s, r in places[members].tolist() if r > 1)
        assert not digits or digits[0][0] == 1
        assert all(s * r == above for (s, r), (above, _) in pairwise(digits))
        assert not digits or digits[-1][0] * digits[-1][1] <= most_codes
        for f in members:
            assert places[f, 2] == n_bins[f] + has_missing[f]


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 40))
def test_every_bin_can_be_read_back(seed, n_rows, n_features):
    """Of numbers with and without gaps, some of them exclusive, so that there are bundles too."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(1, 12, n_features), (n_rows, n_features)).astype(float)
    X = np.column_stack([X, one_hot(rng, n_rows, 6)])
    gaps = np.flatnonzero(rng.random(X.shape[1]) < 0.3)
    X[:, gaps] = np.where(rng.random((n_rows, len(gaps))) < 0.2, np.nan, X[:, gaps])
    matrix = binned(X)
    np.testing.assert_array_equal(decoded(matrix), matrix.by_column)


def few_values(rng, n_rows):
    """Return flags, small integers and categories, some missing, numbers, one-hot columns."""
    X = pd.DataFrame({f"flag{i}": rng.random(n_rows) < 0.1 * (i + 1) for i in range(9)})
    X = X.astype(np.float32)
    for name, n_values in {"a": 10, "b": 10, "c": 4, "d": 60, "e": 3}.items():
        X[name] = rng.integers(-1, n_values - 1, n_rows).astype(np.float32)
    X["town"] = rng.choice(["Basel", "Bern", "Chur", "Genf"], n_rows)
    X["code"] = rng.choice([f"code {i}" for i in range(12)], n_rows)
    X["x"] = rng.standard_normal(n_rows)
    X[[f"hot{i}" for i in range(6)]] = one_hot(rng, n_rows, 6)
    X["rare"] = (np.arange(n_rows) == n_rows // 2).astype(np.float32)
    for name in ("flag3", "b", "town"):
        X.loc[rng.random(n_rows) < 0.15, name] = None
    y = X["a"] * X["flag1"] - 3 * X["flag2"] * X["c"] + X["b"].isna() + (X["code"] < "code 3")
    return X, (y + X["x"] + rng.standard_normal(n_rows)).to_numpy(np.float64)


def shared_and_alone(X):
    """Return a table in bins with joint columns, and the same with a column for each feature."""
    _, table = intake.learn_schema(X)
    binner = Binner()
    alone = binner.fit_transform(table).with_places(own_columns(len(X.columns)))
    bundles = _native.bundle_features(alone.by_column, alone.n_bins, binner.zero_bins())
    missing = _native.find_missing(alone.by_column, 1)
    places = _native.join_columns(bundles.reshape(-1, 5), alone.n_bins, missing, 256)
    shared = alone.with_places(places.reshape(-1, 5))
    assert np.count_nonzero(shared.places[:, 4]) > 20
    assert shared.places[:, 0].max() < 8
    return shared, alone


OPTIONS = {
    "plain": {},
    "colsample": {"colsample_bytree": 0.4, "colsample_bylevel": 0.8},
    "weights": {"feature_weights": tuple(1.0 + (f % 3) for f in range(24))},
    "monotonic": {"directions": (*[1, -1, 0, 0, 0] * 2, 1, 0, -1, 1, *[0] * 10)},
    "interactions": {"interaction_groups": ((0, 1, 9, 10, 16), (2, 3, 14, 15, 20))},
    "penalties": {"reg_alpha": 0.7, "reg_lambda": 2.0, "max_delta_step": 0.2},
    "large leaves": {"min_samples_leaf": 40, "min_child_weight": 11.0},
    "no lambda": {"reg_lambda": 0.0, "min_child_weight": 0.0, "min_samples_leaf": 1},
    "symmetric": {"max_leaves": 64, "grow_policy": "symmetric"},
    "deep": {"max_leaves": 0, "max_depth": 5, "grow_policy": "levelwise"},
}


@pytest.mark.parametrize("n_rows", [300, 5_000, 40_000])
@pytest.mark.parametrize("name", OPTIONS)
def test_trees_are_the_same_with_and_without_joint_columns(n_rows, name):
    rng = np.random.default_rng(n_rows)
    X, y = few_values(rng, n_rows)
    shared, alone = shared_and_alone(X)
    expected = trees(alone, y, n_threads=1, **OPTIONS[name])
    assert sum(tree.n_leaves for tree in expected) > 30
    assert trees(shared, y, **OPTIONS[name]) == expected


def test_trees_are_the_same_on_samples_of_weighted_rows():
    rng = np.random.default_rng(1)
    X, y = few_values(rng, 6_000)
    shared, alone = shared_and_alone(X)
    weights = rng.integers(0, 4, len(y)).astype(np.float64)
    options = {"weights": weights, "row_sampler": RowSampler(len(y), 0.5)}
    assert trees(shared, y, **options) == trees(alone, y, n_threads=1, **options)
