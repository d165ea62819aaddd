"""The predictor against a walk of one row, one tree, one node at a time: equal in every bit."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import _native
from levels import printed_at_every_level
from oracles import predict as naive
from oracles.trees import random_ensemble, random_rows, random_tree

SEEDS = st.integers(0, 2**32 - 1)
GRID = np.linspace(-2, 2, 50)


def assert_predicts_as_the_oracle(ensemble, X):
    np.testing.assert_array_equal(ensemble.apply(X), naive.apply(ensemble, X))
    np.testing.assert_array_equal(ensemble.predict_raw(X), naive.predict_raw(ensemble, X))


@settings(max_examples=60)
@given(
    seed=SEEDS,
    leaves=st.lists(st.integers(1, 70), min_size=0, max_size=6),
    n_features=st.integers(1, 5),
    n_categorical=st.integers(0, 2),
    n_outputs=st.integers(1, 3),
    vector=st.booleans(),
    n_rows=st.integers(0, 40),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_scores_and_leaves_are_the_oracles(
    seed, leaves, n_features, n_categorical, n_outputs, vector, n_rows, dtype
):
    rng = np.random.default_rng(seed)
    n_categorical = min(n_categorical, n_features)
    ensemble = random_ensemble(
        rng, leaves, n_features, n_outputs=n_outputs, vector=vector, n_categorical=n_categorical
    )
    ensemble.validate()
    X = random_rows(rng, n_rows, n_features, n_categorical=n_categorical).astype(dtype)
    assert_predicts_as_the_oracle(ensemble, X)


@settings(max_examples=40)
@given(
    seed=SEEDS,
    leaves=st.lists(st.integers(1, 70), min_size=1, max_size=24),
    n_tests=st.integers(1, 9),
    n_categorical=st.integers(0, 2),
    n_outputs=st.integers(1, 2),
    vector=st.booleans(),
    n_rows=st.sampled_from([3, 8, 40, 140]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_trees_whose_nodes_share_tests_predict_as_the_oracle(
    seed, leaves, n_tests, n_categorical, n_outputs, vector, n_rows, dtype
):
    rng = np.random.default_rng(seed)
    ensemble = random_ensemble(
        rng, leaves, 3, n_outputs=n_outputs, vector=vector, n_categorical=n_categorical,
        n_tests=n_tests,
    )  # fmt: skip
    ensemble.validate()
    X = random_rows(rng, n_rows, 3, n_categorical=n_categorical).astype(dtype)
    assert_predicts_as_the_oracle(ensemble, X)


@pytest.mark.parametrize("n_tests", [8, 9, 12, 13])
def test_large_trees_with_few_tests_predict_as_the_oracle(n_tests):
    rng = np.random.default_rng(n_tests)
    ensemble = random_ensemble(rng, [1100, 130, 1100], 3, n_categorical=1, n_tests=n_tests)
    assert_predicts_as_the_oracle(ensemble, random_rows(rng, 150, 3, n_categorical=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("leaves", "options"),
    [
        pytest.param([1, 1], {}, id="single leaves"),
        pytest.param([501], {"chain": True}, id="a chain of depth 500"),
        pytest.param([256, 257, 64, 65], {}, id="around 256 and 64 leaves"),
        pytest.param([300], {"n_categorical": 2}, id="too many leaves for bytes, categories"),
        pytest.param(
            [120] * 8, {"thresholds": np.linspace(-3, 3, 1000)}, id="more thresholds than codes"
        ),
        pytest.param(
            [250] * 2,
            {"thresholds": np.linspace(-3, 3, 254)},
            id="as many thresholds as codes",
        ),
    ],
)
def test_trees_of_every_size_predict_as_the_oracle(leaves, options, dtype):
    rng = np.random.default_rng(0)
    ensemble = random_ensemble(rng, leaves, 3, **options)
    options = {k: v for k, v in options.items() if k != "chain"}
    assert_predicts_as_the_oracle(ensemble, random_rows(rng, 60, 3, **options).astype(dtype))


def test_one_tree_with_more_thresholds_of_a_feature_than_codes_predicts_as_the_oracle():
    rng = np.random.default_rng(0)
    ensemble = random_ensemble(rng, [20, 256, 20], 1, thresholds=np.linspace(-2, 2, 10**6))
    assert len(np.unique(ensemble.tree(1).threshold)) > 254
    assert_predicts_as_the_oracle(ensemble, random_rows(rng, 200, 1))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_categorical", [0, 1])
def test_rows_of_several_chunks_step_through_large_trees(n_categorical, order):
    rng = np.random.default_rng(n_categorical)
    options = {"n_categorical": n_categorical, "n_outputs": 2}
    ensemble = random_ensemble(rng, [300, 20, 400, 350], 3, **options)
    X = random_rows(rng, 1_100, 3, n_categorical=n_categorical)
    assert_predicts_as_the_oracle(ensemble, np.asarray(X, order=order))
    stages = list(ensemble.staged_raw(X))
    np.testing.assert_array_equal(stages[-1], ensemble.predict_raw(X, n_threads=2))
    first = ensemble.of_rounds(range(1))
    np.testing.assert_array_equal(stages[0], first.predict_raw(X))


def test_float32_values_next_to_thresholds_that_float32_cannot_hold_go_to_the_right_side():
    rng = np.random.default_rng(0)
    thresholds = np.concatenate([rng.normal(size=100), [1e-60, -1e-60, 1e300, -1e300, 3.4e38]])
    ensemble = random_ensemble(rng, [60] * 4, 2, thresholds=thresholds)
    near = thresholds.clip(-3e38, 3e38).astype(np.float32)
    near = np.concatenate([near, np.nextafter(near, np.float32(4)), np.nextafter(near, -near)])
    X = rng.choice(near, size=(300, 2))
    assert_predicts_as_the_oracle(ensemble, X)
    wide = X.astype(np.float64)
    np.testing.assert_array_equal(ensemble.predict_raw(X), ensemble.predict_raw(wide))


def test_any_strides_are_read_in_place():
    rng = np.random.default_rng(1)
    ensemble = random_ensemble(rng, [63] * 5, 4)
    wide = random_rows(rng, 600, 8)
    for dtype in (np.float32, np.float64):
        for X in (wide[:, :4], wide[::2, ::2], wide[::-1, 7:3:-1], np.asfortranarray(wide)[:, 4:]):
            X = X.astype(dtype, order="K") if X.dtype != dtype else X
            expected = naive.predict_raw(ensemble, X[:150])
            np.testing.assert_array_equal(ensemble.predict_raw(X[:150]), expected)
            np.testing.assert_array_equal(
                ensemble.predict_raw(X), ensemble.predict_raw(np.ascontiguousarray(X))
            )


def test_read_only_rows_are_accepted():
    rng = np.random.default_rng(1)
    ensemble = random_ensemble(rng, [5], 2)
    X = random_rows(rng, 20, 2)
    X.setflags(write=False)
    assert_predicts_as_the_oracle(ensemble, X)


@pytest.mark.parametrize("size", [1, 2, 7, 8, 127, 128, 129, 500])
def test_a_rows_score_does_not_depend_on_its_batch(size):
    rng = np.random.default_rng(2)
    ensemble = random_ensemble(rng, [63, 300, 10, 63], 4, n_categorical=1, n_outputs=2)
    X = random_rows(rng, 1000, 4, n_categorical=1)
    batches = [ensemble.predict_raw(X[i : i + size]) for i in range(0, len(X), size)]
    np.testing.assert_array_equal(np.concatenate(batches), ensemble.predict_raw(X))


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_scores_do_not_depend_on_the_threads(n_threads):
    rng = np.random.default_rng(3)
    ensemble = random_ensemble(rng, [63] * 6, 4, n_categorical=1)
    X = random_rows(rng, 20_000, 4, n_categorical=1)
    np.testing.assert_array_equal(
        ensemble.predict_raw(X, n_threads=n_threads), ensemble.predict_raw(X)
    )


def test_eight_python_threads_may_predict_at_once_with_a_fresh_model():
    rng = np.random.default_rng(4)
    ensemble = random_ensemble(rng, [63] * 20, 4)
    X = random_rows(rng, 3_000, 4)
    with ThreadPoolExecutor(8) as pool:
        scores = list(pool.map(lambda _: ensemble.predict_raw(X), range(32)))
    expected = naive.predict_raw(ensemble, X[:50])
    for each in scores:
        np.testing.assert_array_equal(each, scores[0])
    np.testing.assert_array_equal(scores[0][:50], expected)


@pytest.mark.parametrize("n_rows", [3, 200])
@pytest.mark.parametrize(("n_rounds", "n_tests"), [(5, None), (13, 6)])
def test_staged_scores_are_those_of_the_first_rounds(n_rows, n_rounds, n_tests, monkeypatch):
    monkeypatch.setattr("hedgerow._tree.structure._STAGED_BYTES", 2 * 16 * n_rows)
    rng = np.random.default_rng(5)
    ensemble = random_ensemble(rng, [20] * 2 * n_rounds, 3, n_outputs=2, n_tests=n_tests)
    X = random_rows(rng, n_rows, 3)
    stages = list(ensemble.staged_raw(X))
    assert len(stages) == ensemble.n_rounds == n_rounds
    for n_rounds, scores in enumerate(stages, start=1):
        np.testing.assert_array_equal(scores, ensemble.predict_raw(X, n_trees=2 * n_rounds))
        np.testing.assert_array_equal(scores, ensemble.first_rounds(n_rounds).predict_raw(X))


def test_adding_trees_in_two_steps_gives_the_same_bits():
    rng = np.random.default_rng(6)
    ensemble = random_ensemble(rng, [20] * 9, 3)
    X = random_rows(rng, 300, 3)
    scores = ensemble.predict_raw(X, n_trees=4)
    ensemble.add_trees(X, scores, 4, 9)
    np.testing.assert_array_equal(scores, ensemble.predict_raw(X))


def test_a_table_of_another_width_is_refused():
    ensemble = random_ensemble(np.random.default_rng(0), [5], 3)
    for width in (2, 4):
        with pytest.raises(ValueError, match="number of columns"):
            ensemble.predict_raw(np.zeros((5, width)))


@pytest.mark.parametrize("n_leaves", [1, 2, 63, 256, 400])
@pytest.mark.parametrize("listed", [False, True])
def test_a_tree_is_added_to_training_rows_by_their_bins(n_leaves, listed):
    rng = np.random.default_rng(7)
    tree = random_tree(rng, n_leaves, 5, n_categorical=2, thresholds=np.arange(255.0))
    by_column = rng.integers(0, 256, size=(5, 1000), dtype=np.uint8)
    rows = np.flatnonzero(rng.random(1000) < 0.05).astype(np.int32) if listed else None
    start = rng.normal(size=1000)
    scores = start.copy()
    tree.add_binned(by_column, scores, rows=rows, n_threads=2)
    expected = start.copy()
    for row in range(1000) if rows is None else rows:
        expected[row] += tree.value[naive.binned_leaf(tree, by_column[:, row]), 0]
    np.testing.assert_array_equal(scores, expected)


def test_an_empty_list_of_rows_changes_nothing():
    rng = np.random.default_rng(7)
    scores = np.ones(300)
    bins = np.zeros((3, 300), dtype=np.uint8)
    random_tree(rng, 9, 3).add_binned(bins, scores, rows=np.empty(0, dtype=np.int32))
    assert (scores == 1).all()


def everything():
    """A digest of what every function of this file's subject returns."""
    rng = np.random.default_rng(8)
    digest = hashlib.sha256()
    ensemble = random_ensemble(rng, [63, 300, 1, 20] * 3, 4, n_categorical=1, n_outputs=2)
    for dtype in (np.float32, np.float64):
        X = random_rows(rng, 700, 4, n_categorical=1).astype(dtype)
        digest.update(ensemble.apply(X).tobytes())
        scores = ensemble.predict_raw(X)
        digest.update(scores.tobytes())
        _native.softmax_inplace(scores)
        digest.update(scores.tobytes())
    margins = rng.normal(scale=30, size=10_001)
    for function in ("sigmoid", "exp", "log", "log1p"):
        getattr(_native, f"{function}_inplace")(margins)
        digest.update(margins.tobytes())
    shared = random_ensemble(rng, [40] * 20, 4, n_categorical=1, n_tests=6)
    digest.update(shared.predict_raw(random_rows(rng, 700, 4, n_categorical=1)).tobytes())
    tree, tree_scores = random_tree(rng, 63, 4, n_categorical=1), np.zeros(1000)
    tree.add_binned(rng.integers(0, 256, size=(4, 1000), dtype=np.uint8), tree_scores)
    digest.update(tree_scores.tobytes())
    return digest.hexdigest()


def test_every_instruction_set_level_gives_the_same_bits():
    code = "from tree.test_predict import *; print(everything())"
    assert len(set(printed_at_every_level(code))) == 1
