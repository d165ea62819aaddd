"""Sparse tables: fits and predictions visit stored values, and give the bits of dense tables."""

import tracemalloc
from functools import cache

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hedgerow as hr
from hedgerow import _native
from hedgerow._data.binning import Binner
from hedgerow._data.intake import learn_schema
from hedgerow._data.sparse_bins import bin_stored, stays_sparse
from hedgerow._tree.engine import HistogramEngine
from hedgerow._tree.growth_params import GrowthParams

N_COLUMNS = 300


@cache
def words(n_rows, seed=0, n_columns=N_COLUMNS, per_row=4):
    """Make a table of words: some columns have more values than others, some values are odd.

    Tests share it, and do not write to it.
    """
    rng = np.random.default_rng(seed)
    column = (n_columns * rng.random((n_rows, per_row)) ** 3).astype(int)
    row = np.repeat(np.arange(n_rows), per_row)
    values = np.round(rng.normal(1.0, 2.0, n_rows * per_row), 1)
    values[::31] = np.nan
    values[::37] = 0.0
    X = scipy.sparse.coo_matrix((values, (row, column.ravel())), (n_rows, n_columns)).tocsr()
    known = np.nan_to_num(X[:, :20].toarray())
    n_missing = np.bincount(
        np.repeat(np.arange(n_rows), np.diff(X.indptr))[np.isnan(X.data)], minlength=n_rows
    )
    y = known @ rng.normal(size=20) + n_missing + rng.normal(size=n_rows)
    for array in (X.data, X.indices, X.indptr, y):
        array.flags.writeable = False
    return X, y


MODELS = {
    "boosting": hr.GradientBoostingRegressor(n_estimators=20),
    "linear leaves": hr.GradientBoostingRegressor(n_estimators=5, linear_leaves=True),
    "large trees": hr.GradientBoostingRegressor(
        n_estimators=2, max_leaves=400, min_samples_leaf=1, min_child_weight=0
    ),
    "forest": hr.RandomForestRegressor(n_estimators=30, oob_score=True),
    "extra trees": hr.ExtraTreesRegressor(n_estimators=5),
    "combinations": hr.RandomForestRegressor(n_estimators=5, feature_combinations=3),
    "tree": hr.DecisionTreeRegressor(),
    "bagging": hr.BaggingRegressor(n_estimators=30, oob_score=True),
    "AdaBoost": hr.AdaBoostRegressor(n_estimators=5),
}


@cache
def fitted_to_words(name):
    return MODELS[name].fit(*words(600))


@pytest.mark.parametrize("n_rows", [1, 7, 300])
@pytest.mark.parametrize("name", MODELS)
def test_sparse_rows_have_the_predictions_of_dense_rows(name, n_rows):
    model = fitted_to_words(name)
    rows = words(n_rows, seed=1)[0]
    np.testing.assert_array_equal(model.predict(rows), model.predict(rows.toarray()))
    np.testing.assert_array_equal(model.predict(rows.tocsc()), model.predict(rows.toarray()))


@pytest.mark.parametrize(
    "model",
    [
        hr.GradientBoostingClassifier(n_estimators=8),
        hr.RandomForestClassifier(n_estimators=8),
        hr.AdaBoostClassifier(n_estimators=8),
        hr.BaggingClassifier(n_estimators=8),
    ],
    ids=lambda model: type(model).__name__,
)
def test_probabilities_stages_and_leaves_are_those_of_dense_rows(model):
    X, y = words(600)
    model.fit(X, np.digitize(y, [-1, 1]))
    dense = X.toarray()
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(dense))
    if hasattr(model, "apply"):
        np.testing.assert_array_equal(model.apply(X), model.apply(dense))
    if hasattr(model, "staged_predict_proba"):
        stages = zip(model.staged_predict_proba(X), model.staged_predict_proba(dense), strict=True)
        for of_sparse, of_dense in stages:
            np.testing.assert_array_equal(of_sparse, of_dense)


@st.composite
def layouts(draw):
    """Draw a sparse matrix in any layout, and the same matrix as an array."""
    n_rows = draw(st.integers(1, 20))
    n_stored = draw(st.integers(0, 60))
    row = draw(hnp.arrays(np.int64, n_stored, elements=st.integers(0, n_rows - 1)))
    column = draw(hnp.arrays(np.int64, n_stored, elements=st.integers(0, N_COLUMNS - 1)))
    dtype = np.dtype(draw(st.sampled_from(["f4", "f8", "i2", "i8", "u2", "?"])))
    numbers = {"b": [False, True], "u": [0, 1, 2, 3]}.get(dtype.kind, [-3, -1, 0, 1, 2])
    if dtype.kind == "f":
        numbers = [*numbers, -0.0, 0.25, -0.5, np.nan]  # which are added without rounding
    values = draw(hnp.arrays(dtype, n_stored, elements=st.sampled_from(numbers)))
    coo = scipy.sparse.coo_array((values, (row, column)), (n_rows, N_COLUMNS))
    layout = draw(st.sampled_from(["csr", "csc", "coo", "unsorted", "duplicates", "wide"]))
    return _in_layout(coo, layout), coo.toarray()


def _in_layout(coo, layout):
    if layout == "duplicates":  # by row, not summed
        order = np.argsort(coo.row, kind="stable")
        starts = np.searchsorted(coo.row[order], np.arange(coo.shape[0] + 1))
        return scipy.sparse.csr_array((coo.data[order], coo.col[order], starts), coo.shape)
    if layout in ("csr", "csc", "coo"):
        return coo.asformat(layout)
    csr = coo.tocsr()
    if layout == "wide":
        csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
        return csr
    for i in range(csr.shape[0]):
        own = slice(csr.indptr[i], csr.indptr[i + 1])
        csr.indices[own], csr.data[own] = csr.indices[own][::-1].copy(), csr.data[own][::-1].copy()
    csr.has_sorted_indices = False
    return csr


@settings(max_examples=60)
@given(layouts())
def test_every_layout_has_the_predictions_of_its_dense_table(drawn):
    sparse, dense = drawn
    for model in map(fitted_to_words, ("boosting", "forest", "linear leaves")):
        np.testing.assert_array_equal(model.predict(sparse), model.predict(dense))


PARAMETERS = [
    {},
    {"n_jobs": 3},
    {"subsample": 0.5},
    {"sampling": "gradient", "subsample": 0.5},
    {"colsample_bytree": 0.5, "colsample_bynode": 0.5},
    {"min_samples_leaf": 1, "min_child_weight": 0, "max_leaves": 80},
    {"grow_policy": "levelwise", "max_depth": 4},
    {"grow_policy": "symmetric", "min_samples_leaf": 2, "n_jobs": 2},
    {"monotonic_constraints": {0: 1, 3: -1}},
    {"max_delta_step": 0.5},
    {"reg_alpha": 1.0},
    {"loss": "absolute_error"},
    {"boosting": "dart"},
    {"linear_leaves": True},
    {"max_bins": 4},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
@pytest.mark.parametrize("n_rows", [400, _native.packed_from_rows + 1000])
def test_a_sparse_fit_is_the_dense_fit(parameters, n_rows):
    X, y = words(n_rows)
    assert stays_sparse(learn_schema(X)[1])
    model = hr.GradientBoostingRegressor(n_estimators=6, **parameters)
    assert _trees(model.fit(X, y)) == _trees(model.fit(X.toarray(), y))


def _trees(model):
    return model._model.ensemble


def test_classes_weights_and_evaluation_sets_are_those_of_the_dense_fit():
    X, y = words(1500)
    y, weights = np.digitize(y, [-1, 1]), np.random.default_rng(3).random(1500)
    fits = []
    for table in (X, X.tocsc(), X.toarray()):
        model = hr.GradientBoostingClassifier(n_estimators=30, early_stopping=True)
        model.fit(table[:1000], y[:1000], weights[:1000], eval_set=[(table[1000:], y[1000:])])
        fits.append(model)
    for model in fits[:2]:
        assert _trees(model) == _trees(fits[2])
        assert model.evals_result_ == fits[2].evals_result_


def test_a_warm_start_from_a_sparse_table_continues_the_dense_fit():
    X, y = words(800)
    models = []
    for table in (X, X.toarray()):
        model = hr.GradientBoostingRegressor(n_estimators=4, warm_start=True).fit(table, y)
        models.append(_trees(model.set_params(n_estimators=8).fit(table, y)))
    assert models[0] == models[1]


def test_cross_validation_of_a_sparse_table_has_the_scores_of_the_dense_one():
    X, y = words(600)
    model = hr.GradientBoostingRegressor(n_estimators=5)
    scores = [hr.cross_validate(model, table, y, cv=3)["test_score"] for table in (X, X.toarray())]
    np.testing.assert_array_equal(scores[0], scores[1])


@pytest.mark.parametrize("n_threads", [1, 40])
def test_a_small_budget_for_histograms_changes_no_tree(n_threads):
    X, y = words(3000)
    table = learn_schema(X)[1]
    binned = bin_stored(Binner().fit(table), table, 1)
    store = _native.GradientStore(3000, 1, 1)
    store.take(-y[np.newaxis], np.ones((1, 3000)))

    def grow_within(histogram_bytes):
        params = GrowthParams(max_leaves=60, min_samples_leaf=2, min_child_weight=0)
        grower = _native.SparseGrower(
            binned.starts, binned.rows, binned.bins, binned.n_bins, binned.zero_bins, 3000,
            binned.threshold_values, binned.threshold_starts,
            _native.GrowthParams(params), _native.Constraints(params), n_threads, histogram_bytes,
        )  # fmt: skip
        leaf_of_row, leaf_value = np.zeros((1, 3000), np.uint16), np.zeros((1, 60))
        return *grower.grow(store, 0, None, 0, leaf_of_row, leaf_value), leaf_of_row, leaf_value

    roomy, tight = grow_within(1 << 30), grow_within(1)
    assert (roomy[0] < 0).sum() == 60
    assert all(np.array_equal(a, b) for a, b in zip(roomy, tight, strict=True))


def test_entries_are_the_bins_that_differ_from_that_of_zero():
    X, _ = words(500)
    table = learn_schema(X)[1]
    binner = Binner(max_bins=8).fit(table)
    entries = bin_stored(binner, table, 2)
    by_column = binner.transform(table, columns_only=True).by_column
    for f in range(N_COLUMNS):
        own = slice(entries.starts[f], entries.starts[f + 1])
        rows = np.flatnonzero(by_column[f] != entries.zero_bins[f])
        np.testing.assert_array_equal(entries.rows[own], rows)
        np.testing.assert_array_equal(entries.bins[own], by_column[f, rows])


def test_an_infinity_in_a_sparse_table_is_named():
    X, y = words(400)
    X = X.tolil()
    X[5, 7] = np.inf
    with pytest.raises(
        hr.exceptions.DataError, match=r"column 7 contains infinity .first in row 5"
    ):
        hr.GradientBoostingRegressor().fit(X, y)


def test_full_tables_and_vector_leaves_use_a_matrix_of_bins():
    X, y = words(400, n_columns=30)
    assert not stays_sparse(learn_schema(X)[1])
    X, y = words(400)
    table = learn_schema(X)[1]
    binned = bin_stored(Binner().fit(table), table, 1)
    with pytest.raises(ValueError, match="by row"):
        HistogramEngine(binned, GrowthParams(), np.zeros(2), vector=True)
    two = np.column_stack([y, -y])
    model = hr.GradientBoostingRegressor(n_estimators=3, multi_strategy="vector")
    assert _trees(model.fit(X, two)) == _trees(model.fit(X.toarray(), two))


def test_fits_and_predictions_need_no_memory_for_zeros():
    X, y = words(2000, n_columns=100_000)  # 200 MB of bins, 1.6 GB of numbers
    model = hr.GradientBoostingRegressor(n_estimators=3)
    tracemalloc.start()
    try:
        model.fit(X, y).predict(X)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("options", [{}, {"background": 20}, {"interactions": True}], ids=str)
@pytest.mark.parametrize(
    "model",
    [
        hr.GradientBoostingClassifier(n_estimators=5),
        hr.RandomForestRegressor(n_estimators=3, max_depth=4),
        hr.DecisionTreeRegressor(max_depth=4),
        hr.AdaBoostClassifier(n_estimators=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_shap_values_of_sparse_rows_are_those_of_dense_rows(model, options):
    X, y = words(300, n_columns=70)
    model.fit(X, np.digitize(y, [-1, 1]))
    of_sparse = hr.explain.shap_values(model, X[:40], **options)
    of_dense = hr.explain.shap_values(model, X[:40].toarray(), **options)
    np.testing.assert_array_equal(of_sparse.values, of_dense.values)
    np.testing.assert_array_equal(of_sparse.base_values, of_dense.base_values)
    np.testing.assert_array_equal(of_sparse.data, of_dense.data)


def test_shap_values_of_a_model_without_splits_are_zero():
    X, _ = words(100)
    with pytest.warns(hr.NoSplitWarning):
        model = hr.GradientBoostingRegressor(n_estimators=2).fit(X, np.zeros(100))
    assert not hr.explain.shap_values(model, X).values.any()
