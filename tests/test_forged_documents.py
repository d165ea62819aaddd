"""Forged headers that mutated files and fuzz targets found: refused when read, not when used."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow._model_file.contents import read_estimator, write_estimator
from hedgerow.exceptions import ModelFileError

X = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]]
CLASSES, NUMBERS = [0, 0, 1, 1], [0.5, 1.0, 2.0, 3.5]


def forged(model, **fields):
    document, arrays = write_estimator(model)
    return document | fields, arrays


@pytest.mark.parametrize("histories", [[{}], [[]], ["elsewhere"]])
def test_histories_are_known_names(histories):
    model = hr.StagewiseRegressor(n_estimators=2).fit(X, NUMBERS)
    with pytest.raises(ModelFileError):
        read_estimator(*forged(model, histories=histories))


@pytest.mark.parametrize(
    "kind",
    [
        hr.AdaBoostClassifier(hr.LinearSVC(), n_estimators=2),
        hr.BaggingClassifier(hr.LinearSVC(), n_estimators=2),
        hr.DecisionClassifier(hr.DecisionTreeClassifier()),
        hr.EnsembleClassifier([("tree", hr.DecisionTreeClassifier())], cv=2),
        hr.OutputCodeClassifier(hr.DecisionTreeClassifier()),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_a_model_with_members_knows_its_columns(kind):
    model = kind.fit(X * 10, CLASSES * 10)
    with pytest.raises(ModelFileError, match="number of columns"):
        read_estimator(*forged(model, n_features=None))


@pytest.mark.parametrize("mean", [10**30, 10**400])
def test_units_of_a_member_may_be_integers_that_a_float_holds(mean):
    model = hr.EnsembleRegressor([("tree", hr.DecisionTreeRegressor())], cv=2).fit(
        X * 10, NUMBERS * 10
    )
    document, arrays = write_estimator(model)
    (member,) = document["members"]
    losses = document["candidates"] | {"loss": [10**30]}
    data = document | {"members": [member | {"mean": mean}], "candidates": losses}, arrays
    if mean == 10**30:
        assert read_estimator(*data).members_.loss.dtype == np.float64
    else:
        with pytest.raises(ModelFileError, match="units"):
            read_estimator(*data)


def test_the_column_of_queries_is_no_feature():
    frame = pd.DataFrame(X * 10, columns=["a", "b"])
    few = {"n_estimators": 1, "min_samples_leaf": 1}
    model = hr.GradientBoostingRanker(**few).fit(frame, CLASSES * 10, group=[4] * 10)
    document, arrays = write_estimator(model)
    with pytest.raises(ModelFileError, match="qid_column is also a feature"):
        read_estimator(
            document | {"parameters": document["parameters"] | {"qid_column": "b"}}, arrays
        )


def test_a_fitted_bag_decides_as_its_members_do():
    bag = hr.BaggingClassifier(n_estimators=2).fit(X, CLASSES)
    assert not hasattr(bag.set_params(estimator=hr.SVC()), "decision_function")
    bag = hr.BaggingClassifier(hr.SVC(), n_estimators=2).fit(X, CLASSES)
    assert bag.set_params(estimator=hr.DecisionTreeClassifier()).decision_function(X).shape == (4,)


@pytest.mark.parametrize("rows", [[0, 2, 1], [0, 1, 4], [-1, 1, 2], [0, 1, 1]])
def test_rows_that_samples_are_drawn_from_are_in_the_table_and_in_order(rows):
    forest = hr.RandomForestRegressor(n_estimators=2).fit(X, NUMBERS, [1, 1, 0, 1])
    document, arrays = write_estimator(forest)
    with pytest.raises(ModelFileError, match="out of range or order"):
        read_estimator(document, arrays | {"draws.rows": np.array(rows)})
