"""Exclusive features share columns: nothing is lost, and no tree changes."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import _native
from hedgerow._boosting.losses import SquaredError
from hedgerow._data import intake
from hedgerow._data.binning import Binner, own_columns
from hedgerow._tree.engine import HistogramEngine
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.trainer import RowSampler, Trainer
from oracles.places import decoded


def binned(X):
    _, table = intake.learn_schema(X)
    return Binner().fit_transform(table)


def bundles(matrix):
    """Return the bundles of the features of a table, before columns are joined."""
    zero_bins = np.where(matrix.is_categorical, -1, 0).astype(np.int32)
    for f, start in enumerate(matrix.threshold_starts[:-1]):
        stop = matrix.threshold_starts[f + 1]
        zero_bins[f] += np.count_nonzero(matrix.threshold_values[start:stop] < 0)
    places = _native.bundle_features(matrix.by_column, matrix.n_bins, zero_bins)
    return matrix.with_places(places.reshape(-1, 5))


def one_hot(rng, n_rows, width):
    return np.eye(width, dtype=np.float32)[rng.integers(0, width, n_rows)]


def mixed_table(rng, n_rows):
    """Two one-hot groups between numbers, one sparse column with negative values, gaps in one."""
    X = np.column_stack(
        [
            rng.standard_normal(n_rows),
            one_hot(rng, n_rows, 5),
            rng.standard_normal(n_rows),
            one_hot(rng, n_rows, 30),
            np.where(rng.random(n_rows) < 0.05, rng.integers(-3, 4, n_rows), 0),
            one_hot(rng, n_rows, 2),
        ]
    )
    X[rng.random(n_rows) < 0.1, 3] = np.nan
    return X


def test_one_hot_columns_become_one():
    X = one_hot(np.random.default_rng(0), 2_000, 40)
    matrix = binned(X)
    assert matrix.by_row.shape == (1, 2_000, 4)
    assert set(matrix.places[:, 0]) == {0}
    assert not matrix.places[:, 4].any()
    np.testing.assert_array_equal(decoded(matrix), matrix.by_column)


def test_without_rows_no_column_is_shared():
    two = np.array([3, 3], np.int32)
    places = _native.bundle_features(np.empty((2, 0), np.uint8), two, np.zeros(2, np.int32))
    np.testing.assert_array_equal(places.reshape(-1, 5), own_columns(2))


def test_a_feature_that_overlaps_or_has_gaps_keeps_its_column():
    rng = np.random.default_rng(1)
    X = one_hot(rng, 500, 4)
    X[7] = 1  # row 7 has all four
    assert len(set(bundles(binned(X)).places[:, 0])) == 4
    X = one_hot(rng, 500, 4)
    X[3, 2] = np.nan
    np.testing.assert_array_equal(bundles(binned(X)).places[:, 0], [0, 0, 1, 0])


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.integers(1, 90))
def test_every_bin_can_be_read_back(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    density = rng.choice([0.001, 0.02, 0.3])
    X = scipy.sparse.random(
        n_rows, n_features, density=density, format="csc", random_state=rng,
        data_rvs=lambda size: rng.integers(-3, 9, size).astype(float),
    )  # fmt: skip
    matrix = bundles(binned(X))
    np.testing.assert_array_equal(decoded(matrix), matrix.by_column)
    sharing = [set(matrix.places[matrix.places[:, 0] == c, 2]) for c in matrix.places[:, 0]]
    assert all((-1 in group) == (group == {-1}) for group in sharing)
    assert matrix.by_row.max(initial=0) < 255 or (matrix.by_column == 255).any()


def trees(matrix, y, *, n_threads=2, weights=None, row_sampler=None, **options):
    params = GrowthParams(
        **{"max_leaves": 24, "min_samples_leaf": 3, "colsample_bynode": 0.7, "seed": 5, **options}
    )
    engine = HistogramEngine(matrix, params, np.zeros(1), n_threads=n_threads)
    trainer = Trainer(
        engine, y, weights, loss=SquaredError(), params=params, n_threads=n_threads,
        row_sampler=row_sampler,
    )  # fmt: skip
    return [tree for round_ in range(6) for tree in trainer.boost(round_)]


@pytest.mark.parametrize("n_rows", [300, 5_000, 60_000])
@pytest.mark.parametrize(("fraction", "options"), [(1.0, {}), (0.6, {"colsample_bytree": 0.5})])
def test_trees_are_the_same_with_and_without_shared_columns(n_rows, fraction, options):
    rng = np.random.default_rng(n_rows)
    X = mixed_table(rng, n_rows)
    y = rng.standard_normal(n_rows) + X[:, 5] - 2 * X[:, 12] + X[:, 0] * X[:, 7]
    shared = bundles(binned(X))
    assert shared.places[-1, 0] < 10 < len(shared.places)
    alone = shared.with_places(own_columns(X.shape[1]))
    options = options | {"row_sampler": RowSampler(n_rows, fraction)}
    assert trees(shared, y, **options) == trees(alone, y, n_threads=1, **options)


def test_ties_between_features_out_of_order_go_to_the_lower_one():
    """Column 0 holds features 0, 2 and 4, so that feature 3, a copy of 4, is offered after it."""
    rng = np.random.default_rng(3)
    group = one_hot(rng, 4_000, 3)
    X = np.column_stack(
        [group[:, 0], group[:, 0] + group[:, 1], group[:, 1], group[:, 2], group[:, 2]]
    )
    y = 5 * group[:, 2] + rng.standard_normal(4_000) * 0.01
    matrix = bundles(binned(X))
    assert len(set(matrix.places[:, 0])) < 5
    alone = matrix.with_places(own_columns(5))
    assert trees(matrix, y)[0].feature[0] == trees(alone, y)[0].feature[0]
    assert trees(matrix, y) == trees(alone, y)


def test_a_sparse_table_and_its_dense_twin_give_one_model():
    rng = np.random.default_rng(4)
    X = np.column_stack([one_hot(rng, 3_000, 60), one_hot(rng, 3_000, 7)])
    y = X[:, 3] - X[:, 64] + rng.standard_normal(3_000) * 0.1
    dense = hr.GradientBoostingRegressor(n_estimators=5).fit(X, y)
    sparse = hr.GradientBoostingRegressor(n_estimators=5).fit(scipy.sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(X))
