"""Trees that rows step through, because they are large: equal to the oracle in every bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hedgerow._data.binned_rows import stored_rows
from hedgerow._data.sparse import SparseLayouts
from hedgerow._tree.structure import Ensemble
from levels import printed_with_any_threads
from oracles import predict as naive
from oracles.trees import random_ensemble, random_rows, random_tree

LARGE = st.integers(257, 500)  # leaves


def assert_predicts_as_the_oracle(ensemble, X):
    np.testing.assert_array_equal(ensemble.apply(X), naive.apply(ensemble, X))
    np.testing.assert_array_equal(ensemble.predict_raw(X), naive.predict_raw(ensemble, X))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    leaves=st.lists(st.one_of(LARGE, st.integers(1, 20)), min_size=1, max_size=4),
    n_features=st.integers(1, 9),
    n_categorical=st.integers(0, 2),
    n_rows=st.integers(1, 40),
    missing=st.sampled_from([0.0, 0.02, 0.3, 1.0]),
    dtype=st.sampled_from([np.float32, np.float64]),
    order=st.sampled_from("CF"),
)
def test_scores_and_leaves_are_the_oracles(
    seed, leaves, n_features, n_categorical, n_rows, missing, dtype, order
):
    rng = np.random.default_rng(seed)
    n_categorical = min(n_categorical, n_features)
    ensemble = random_ensemble(rng, leaves, n_features, n_categorical=n_categorical)
    X = random_rows(rng, n_rows, n_features, n_categorical=n_categorical, missing=missing)
    X[rng.random(X.shape) < 0.05] = np.inf
    X[rng.random(X.shape) < 0.05] = -np.inf
    assert_predicts_as_the_oracle(ensemble, np.asarray(X, dtype, order=order))


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_thresholds_at_the_ends_of_the_numbers(missing):
    rng = np.random.default_rng(0)
    ends = np.finfo(np.float64).max * np.array([-1.0, 1.0])
    thresholds = [*ends, np.finfo(np.float32).max, 0.0, -0.0, 5e-324, -5e-324]
    ensemble = random_ensemble(rng, [300, 300], 4, thresholds=thresholds)
    X = rng.choice([*thresholds, np.inf, -np.inf], size=(200, 4))
    X[rng.random(X.shape) < missing] = np.nan
    assert_predicts_as_the_oracle(ensemble, X)


def test_a_feature_may_be_a_number_in_one_tree_and_a_category_in_another():
    rng = np.random.default_rng(1)
    trees = [random_tree(rng, 300, 3, n_categorical=n) for n in (0, 3, 1)]
    ensemble = Ensemble.from_trees(trees, [0] * 3, [0.0], 3)
    X = random_rows(rng, 100, 3, n_categorical=2, missing=0.2)
    assert_predicts_as_the_oracle(ensemble, X)
    stored = stored_rows(SparseLayouts(sparse.csr_array(X)))
    np.testing.assert_array_equal(ensemble.predict_raw(stored), ensemble.predict_raw(X))


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_stored_values_step_as_those_of_a_dense_table(missing, is_sorted):
    rng = np.random.default_rng(2)
    ensemble = random_ensemble(rng, [400, 30, 400], 50, n_categorical=5)
    X = random_rows(rng, 300, 50, n_categorical=5, missing=missing)
    X[rng.random(X.shape) < 0.8] = 0.0
    matrix = sparse.csr_array(X)
    matrix.data[::7] = -0.0  # a stored 0 is like one that is not
    if not is_sorted:
        for i in range(300):
            row = slice(matrix.indptr[i], matrix.indptr[i + 1])
            order = rng.permutation(row.stop - row.start)
            matrix.indices[row] = matrix.indices[row][order]
            matrix.data[row] = matrix.data[row][order]
    stored = SparseLayouts(matrix, is_sorted=is_sorted)
    dense = matrix.toarray()
    for n_rows in (5, 300):
        rows = stored_rows(SparseLayouts(stored.matrix[:n_rows], is_sorted=is_sorted))
        np.testing.assert_array_equal(
            ensemble.predict_raw(rows), naive.predict_raw(ensemble, dense[:n_rows])
        )


@pytest.mark.parametrize("n_features", [4, 20_000])
def test_blocks_of_rows_are_like_batches(n_features):
    rng = np.random.default_rng(3)
    ensemble = random_ensemble(rng, [3000, 300, 3000], n_features, n_outputs=2)
    n_rows = 40_000 if n_features == 4 else 300
    X = random_rows(rng, n_rows, n_features, missing=0.0)
    X[n_rows // 2, 0] = np.nan  # the other blocks have no missing value
    scores = ensemble.predict_raw(X)
    for n_threads in (2, 3):
        np.testing.assert_array_equal(ensemble.predict_raw(X, n_threads=n_threads), scores)
    chosen = np.r_[:5, n_rows // 2 - 3 : n_rows // 2 + 3, n_rows - 17 : n_rows]
    np.testing.assert_array_equal(scores[chosen], ensemble.predict_raw(X[chosen]))
    np.testing.assert_array_equal(scores[chosen], naive.predict_raw(ensemble, X[chosen]))


STEP_AND_HASH = """
import hashlib, sys
import numpy as np
from oracles.trees import random_ensemble, random_rows
rng = np.random.default_rng(4)
ensemble = random_ensemble(rng, [500, 20, 700], 6, n_categorical=1)
for missing in (0.0, 0.1):
    for dtype in (np.float32, np.float64):
        X = random_rows(rng, 3000, 6, n_categorical=1, missing=missing).astype(dtype)
        scores = ensemble.predict_raw(X, n_threads=int(sys.argv[1]))
        print(hashlib.sha256(scores.tobytes()).hexdigest())
"""


def test_scores_are_the_same_bytes_for_any_threads_and_instruction_set():
    assert len(set(printed_with_any_threads(STEP_AND_HASH))) == 1
