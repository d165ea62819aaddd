"""Warnings point at the line that called the library."""

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
