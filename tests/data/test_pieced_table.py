"""Tables in pieces: the bins of the table in one piece, and nothing is held longer than needed."""

import gc
import weakref
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow import cluster
from hedgerow._data.binning import Binner
from hedgerow._data.intake import learn_schema, read_table
from hedgerow._data.pieced_table import PiecedTable, RowPieces
from hedgerow.exceptions import DataError

rng = np.random.default_rng(0)
N = 1000
FRAME = pd.DataFrame(
    {
        "x": rng.normal(size=N).astype(np.float32),
        "few": rng.integers(0, 4, N),
        "gaps": pd.array(np.where(rng.random(N) < 0.2, None, rng.integers(0, 9, N)), "Int64"),
        "town": rng.choice(["Bern", "Chur", "Genf"], N),
        "kind": pd.Categorical(rng.choice(list("abc"), N)),
    }
)
CUTS = [0, 1, 300, 300, 999, N]


def pieces_of(table):
    return RowPieces([table[a:b] for a, b in pairwise(CUTS) if b > a])


def bins_of(table, schema, **options):
    counts = {j: len(categories.values) for j, categories in schema.categories.items()}
    return Binner().fit_transform(table, n_categories=counts, **options)


def assert_equal_bins(one, other):
    np.testing.assert_array_equal(one.by_column, other.by_column)
    np.testing.assert_array_equal(one.by_row, other.by_row)


@pytest.mark.parametrize("categorical_features", ["auto", ["few"]], ids=str)
@pytest.mark.parametrize("X", [FRAME, FRAME[["x", "few"]].to_numpy(np.float32)], ids=type)
def test_the_bins_are_those_of_the_whole_table(X, categorical_features):
    if isinstance(X, np.ndarray) and categorical_features != "auto":
        categorical_features = [1]
    schema, whole = learn_schema(X, categorical_features)
    schema_of_pieces, pieced = learn_schema(pieces_of(X), categorical_features, streams=True)
    assert schema_of_pieces == schema
    assert (pieced.n_rows, pieced.n_features) == (N, X.shape[1])
    expected = bins_of(whole, schema)
    assert_equal_bins(bins_of(pieced, schema), expected)
    read = read_table(pieces_of(X), schema)
    assert_equal_bins(bins_of(read, schema, drops=True), expected)


@pytest.mark.parametrize("fraction", [0.2, 0.8])
def test_some_rows_of_pieces(fraction):
    schema, whole = learn_schema(FRAME)
    _, pieced = learn_schema(pieces_of(FRAME), streams=True)
    rows = np.flatnonzero(rng.random(N) < fraction)
    again = np.flatnonzero(rng.random(len(rows)) < 0.7)
    expected = bins_of(whole.take(rows).take(again), schema)
    assert_equal_bins(bins_of(pieced.take(rows).take(again), schema), expected)
    assert_equal_bins(bins_of(pieced, schema), bins_of(whole, schema))  # which is as it was


def test_pieces_are_dropped_one_by_one():
    arrays = [rng.normal(size=(100, 3)) for _ in range(4)]
    living = [weakref.ref(array) for array in arrays]
    rows = RowPieces(arrays)
    del arrays
    _, table = learn_schema(rows, streams=True)
    n_alive = []
    for _, piece in table.pieces(drops=True):
        n_alive.append(sum(array() is not None for array in living))
        del piece
    gc.collect()
    assert n_alive == [4, 3, 2, 1]
    assert all(array() is None for array in living)


def test_a_small_part_does_not_hold_the_rest():
    array = rng.normal(size=(100, 3))
    living = weakref.ref(array)
    _, table = learn_schema(RowPieces([array]), streams=True)
    holdout = table.take(np.arange(10))
    del array, table
    gc.collect()
    assert living() is None
    assert holdout.n_rows == 10


def test_infinities_are_refused():
    with pytest.raises(DataError, match="contains infinity"):
        learn_schema(RowPieces([np.ones((2, 2)), np.array([[1.0, np.inf]])]), streams=True)


def test_pieces_may_have_different_types():
    pieces = [np.ones((2, 1), np.int8), np.full((2, 1), 0.5), np.zeros((1, 1), np.float32)]
    _, table = learn_schema(RowPieces(pieces), streams=True)
    assert table.column(0).values.tolist() == [1.0, 1.0, 0.5, 0.5, 0.0]
    assert isinstance(table, PiecedTable)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"early_stopping": True, "n_estimators": 20},
        {"n_estimators": "auto", "budget": "quick"},
        {"subsample_for_bin": 100, "max_bins": 20, "subsample": 0.5},
    ],
    ids=str,
)
def test_a_fit_to_pieces_is_that_to_the_table(tmp_path, parameters):
    # With these numbers, work that is counted in the rows of one worker ends trials too early.
    noise = np.random.default_rng(21).normal(size=N)
    y = FRAME["x"] + (FRAME["town"] == "Bern") + noise
    settings = {"n_estimators": 5, "random_state": 0} | parameters

    def work(communicator):
        begin, end = [0, 430, N][communicator.rank : communicator.rank + 2]
        own = FRAME[begin:end]
        model = hr.GradientBoostingRegressor(**settings)
        X = RowPieces([own[:100], own[100:]])
        return cluster.fit(model, X, y[begin:end], communicator=communicator)

    hr.GradientBoostingRegressor(**settings).fit(FRAME, y).save(tmp_path / "local")
    for model in cluster.run_threads(work, 2):
        model.save(tmp_path / "model")
        assert (tmp_path / "model").read_bytes() == (tmp_path / "local").read_bytes()


@pytest.mark.parametrize("is_constant", [True, False])
def test_a_fit_to_pieces_that_never_splits_says_why(is_constant):
    X = np.ones((40, 2)) if is_constant else np.arange(80.0).reshape(40, 2)

    def work(communicator):
        own = X[:10] if communicator.rank == 0 else X[10:]
        y = np.arange(len(own)) if is_constant else np.ones(len(own))
        model = hr.GradientBoostingRegressor(n_estimators=2, min_samples_leaf=1)
        return cluster.fit(model, RowPieces([own]), y, communicator=communicator)

    why = "every feature is constant" if is_constant else "target"
    with pytest.warns(UserWarning, match=why):
        cluster.run_threads(work, 2)
