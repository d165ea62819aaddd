"""Warnings point at the line that called the library."""

import warnings
from inspect import currentframe

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

import hedgerow as hr

X = np.random.RandomState(0).random_sample((60, 2))
Y = X[:, 0]
FRAME = pd.DataFrame(X, columns=["a", "b"])


def line():
    return currentframe().f_back.f_lineno


@pytest.mark.parametrize(
    "model",
    [
        hr.GradientBoostingRegressor(n_estimators=2),
        hr.RandomForestRegressor(n_estimators=2),
        hr.GradientBoostingRegressor(n_estimators=2, early_stopping=True),
    ],
)
def test_a_column_vector_is_warned_of_where_it_was_given(model):
    with pytest.warns(DataConversionWarning) as caught:
        here, _ = line(), model.fit(X, Y[:, None])
    assert {(one.filename, one.lineno) for one in caught} == {(__file__, here)}


def test_names_of_columns_are_warned_of_where_they_were_left_out():
    model = hr.GradientBoostingRegressor(n_estimators=2).fit(FRAME, Y)
    for ask in (model.predict, model.apply, lambda X: list(model.staged_predict(X))):
        with pytest.warns(UserWarning, match="feature names") as caught:
            ask(X)
        assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="feature names") as caught:
        here, _ = line(), model.score(FRAME.to_numpy(), Y)
    assert (caught[0].filename, caught[0].lineno) == (__file__, here)


SUSPECT = pd.DataFrame({"a": [f"{x:.3f}" for x in X[:, 0]], "b": X[:, 1]})
SUSPECT.loc[::12, "a"] = "?"
CLASSES = X[:, 1] > 0.5
SEVERAL_FITS = {
    "cross_validate": lambda: hr.cross_validate(
        hr.GradientBoostingClassifier(n_estimators=2, n_jobs=1), SUSPECT, CLASSES
    ),
    "cross_validate, own bins": lambda: hr.cross_validate(
        hr.GradientBoostingClassifier(n_estimators=2, n_jobs=1),
        SUSPECT,
        CLASSES,
        share_bins=False,
    ),
    "stagewise": lambda: hr.StagewiseClassifier(n_estimators=5).fit(SUSPECT, CLASSES),
    "AdaBoost": lambda: hr.AdaBoostClassifier(
        hr.DecisionTreeClassifier(max_depth=2), n_estimators=5
    ).fit(SUSPECT, np.arange(60) % 5 < 2),
    "bagging": lambda: hr.BaggingClassifier(
        hr.RandomForestClassifier(n_estimators=2, n_jobs=1), n_estimators=4, n_jobs=1
    ).fit(SUSPECT, CLASSES),
}


@pytest.mark.parametrize("call", SEVERAL_FITS)
def test_a_column_is_warned_of_once_though_several_models_are_fitted(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SEVERAL_FITS[call]()
    of_data = [one for one in caught if one.category is hr.DataWarning]
    assert len(of_data) == 1
    assert "'a'" in str(of_data[0].message)


def test_every_call_warns_again():
    for _ in range(2):
        with pytest.warns(hr.DataWarning, match="'a'"):
            hr.StagewiseClassifier(n_estimators=2).fit(SUSPECT, CLASSES)


def test_folds_without_a_split_are_warned_of_once():
    model = hr.GradientBoostingClassifier(n_estimators=2, n_jobs=1, min_samples_leaf=40)
    with pytest.warns(hr.NoSplitWarning) as caught:
        hr.cross_validate(model, X, CLASSES)
    assert len(caught) == 1


@pytest.mark.parametrize(
    "base",
    [
        hr.GradientBoostingClassifier(n_estimators=2, n_jobs=1, min_samples_leaf=40),
        hr.DecisionTreeClassifier(min_samples_leaf=40, splitter="exact"),
    ],
    ids=lambda base: type(base).__name__,
)
def test_bagged_models_without_a_split_are_warned_of_once(base):
    with pytest.warns(hr.NoSplitWarning) as caught:
        hr.BaggingClassifier(base, n_estimators=4, n_jobs=1).fit(X, CLASSES)
    assert len(caught) == 1
