"""Predictions, probabilities and Shapley values of collections are those of the whole table."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import hedgerow as hr
import hedgerow.dask as hd
from hedgerow.dask import _predicting

rng = np.random.RandomState(0)
FRAME = pd.DataFrame(rng.randn(200, 3), columns=["a", "b", "c"], index=np.arange(200) + 7)
FRAME["town"] = rng.choice(["Ulm", "Bonn", "Kiel"], 200)
TWO = np.where(FRAME["a"] > 0, "yes", "no")
THREE = rng.randint(3, size=200)
T = FRAME["a"] * 2 + rng.randn(200)


def fitted(y, kind=hr.GradientBoostingClassifier, X=FRAME):
    return kind(n_estimators=3).fit(X, y)


@pytest.fixture(params=[1, 3, 6])
def frame(request):
    return dd.from_pandas(FRAME, npartitions=request.param)


def test_predictions_of_a_frame_have_its_index(frame):
    for y, kind in ((TWO, hr.GradientBoostingClassifier), (T, hr.RandomForestRegressor)):
        model = fitted(y, kind)
        predicted = hd.predict(model, frame)
        assert predicted.npartitions == frame.npartitions
        expected = pd.Series(model.predict(FRAME), index=FRAME.index, name="prediction")
        pd.testing.assert_series_equal(
            predicted.compute().astype(expected.dtype), expected, check_index_type=False
        )


def test_probabilities_of_a_frame_are_named_by_class(frame):
    model = fitted(TWO)
    found = hd.predict_proba(model, frame).compute()
    assert list(found.columns) == ["no", "yes"]
    assert list(found.index) == list(FRAME.index)
    np.testing.assert_array_equal(found.to_numpy(), model.predict_proba(FRAME))


@pytest.mark.parametrize("y", [TWO, THREE, T], ids=["two", "three", "numbers"])
def test_shapley_values_of_a_frame(frame, y):
    model = fitted(y, hr.GradientBoostingRegressor if y is T else hr.GradientBoostingClassifier)
    found = hd.shap_values(model, frame).compute()
    expected = hr.explain.shap_values(model, FRAME).values
    if expected.ndim == 2:
        assert list(found.columns) == list(FRAME.columns)
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("chunks", [(200, 3), (70, 3), (64, 2)])
def test_arrays_give_arrays(chunks):
    X = FRAME[["a", "b", "c"]].to_numpy()
    collection = da.from_array(X, chunks=chunks)
    for y in (TWO, THREE):
        model = fitted(y, X=X)
        for method, expected in (
            ("predict", model.predict(X)),
            ("predict_proba", model.predict_proba(X)),
            ("shap_values", hr.explain.shap_values(model, X).values),
        ):
            found = getattr(hd, method)(model, collection)
            assert found.shape == expected.shape
            assert found.chunks[0] == collection.chunks[0]
            np.testing.assert_array_equal(found.compute(), expected)


def test_several_outputs_are_columns(frame):
    model = hr.GradientBoostingRegressor(n_estimators=2).fit(FRAME, np.column_stack([T, -T]))
    found = hd.predict(model, frame).compute()
    np.testing.assert_array_equal(found.to_numpy(), model.predict(FRAME))


def test_a_list_of_arrays_is_refused(frame):
    model = hr.RandomForestClassifier(n_estimators=2).fit(FRAME, np.column_stack([THREE, THREE]))
    with pytest.raises(hr.ParameterError, match="an array for each column of y"):
        hd.predict_proba(model, frame)


def test_unknown_categories_are_missing_or_an_error(frame):
    other = frame.assign(town="Rom")
    model = fitted(T, hr.GradientBoostingRegressor)
    expected = model.predict(FRAME.assign(town="Rom"))
    np.testing.assert_array_equal(hd.predict(model, other).compute(), expected)
    strict = hr.GradientBoostingRegressor(n_estimators=2, unknown_category="error").fit(FRAME, T)
    with pytest.raises(hr.DataError, match="'Rom'"):
        hd.predict(strict, other).compute()


def test_columns_that_are_missing_are_an_error_at_once(frame):
    with pytest.raises(ValueError, match="X has no column 'a'"):
        hd.predict(fitted(T, hr.GradientBoostingRegressor), frame[["b", "c", "town"]])


def test_what_cannot_be_predicted_is_refused(frame):
    model = fitted(T, hr.GradientBoostingRegressor)
    with pytest.raises(hr.DataError, match="X is a DataFrame; it must be a Dask DataFrame"):
        hd.predict(model, FRAME)
    with pytest.raises(hr.ParameterError, match="has no predict_proba"):
        hd.predict_proba(model, frame)
    with pytest.raises(hr.ParameterError, match="model is a str"):
        hd.predict("model", frame)
    with pytest.raises(NotFittedError):
        hd.predict(hr.GradientBoostingRegressor(), frame)


def test_a_worker_keeps_few_models(frame):
    models = [
        hr.GradientBoostingRegressor(n_estimators=1, random_state=seed).fit(FRAME, T)
        for seed in range(_predicting._MOST_MODELS + 2)
    ]
    for model in models:
        hd.predict(model, frame).compute(scheduler="synchronous")
    assert len(_predicting._MODELS) == _predicting._MOST_MODELS


def test_predictions_run_on_the_cluster(processes, frame):
    model = fitted(T, hr.GradientBoostingRegressor)
    np.testing.assert_array_equal(hd.predict(model, frame).compute(), model.predict(FRAME))


def test_predictions_add_the_offset_of_each_partition(frame):
    offset = pd.Series(np.linspace(-2, 2, 200), index=FRAME.index)
    model = fitted(TWO)
    parts = dd.from_pandas(offset, npartitions=frame.npartitions)
    found = hd.predict_proba(model, frame, offset=parts).compute()
    expected = model.predict_proba(FRAME, offset=offset)
    assert list(found.index) == list(FRAME.index)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    found = hd.predict(model, frame, offset=parts).compute()
    assert found.tolist() == model.predict(FRAME, offset=offset).tolist()


def test_predictions_of_arrays_add_an_offset_with_other_chunks():
    table, offset = FRAME[["a", "b", "c"]].to_numpy(), rng.randn(200, 3)
    model = fitted(THREE, X=table)
    X, added = da.from_array(table, chunks=(70, 3)), da.from_array(offset, chunks=(50, 2))
    found = hd.predict_proba(model, X, offset=added)
    assert found.shape == (200, 3)
    np.testing.assert_array_equal(found.compute(), model.predict_proba(table, offset=offset))


def test_an_offset_with_other_partitions_is_refused(frame):
    model = fitted(T, hr.GradientBoostingRegressor)
    offset = dd.from_pandas(T, npartitions=9)
    with pytest.raises(hr.DataError, match="offset has 9 partitions"):
        hd.predict(model, frame, offset=offset)
