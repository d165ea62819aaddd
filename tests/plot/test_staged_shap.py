"""How rounds build a prediction: each stage is exact, and labels keep apart."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import hedgerow as hr
from hedgerow.exceptions import ParameterError
from hedgerow.plot import StagedShapDisplay
from hedgerow.plot._staged_shap import MOST_POINTS, spread
from oracles.pictures import assert_no_overlap

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.assign(garden=pd.Categorical(np.arange(150) % 3))
    return X, y


@pytest.fixture(scope="module")
def model(flowers):
    X, y = flowers
    return hr.GradientBoostingRegressor(n_estimators=80).fit(X, y)


def test_every_stage_is_the_model_of_its_first_rounds(model, flowers):
    X, _ = flowers
    display = StagedShapDisplay.from_estimator(model, X, row=60)
    assert display.rounds[0] == 0
    assert display.rounds[-1] == 80
    assert len(display.rounds) == MOST_POINTS + 1
    for k, values in zip(display.rounds[1:], display.contributions[1:], strict=True):
        expected = hr.explain.shap_values(model[: int(k)], X[60:61])
        np.testing.assert_array_equal(values, expected.values[0])
        total = values.sum() + expected.base_values[0]
        assert total == pytest.approx(model[: int(k)].predict(X[60:61])[0], abs=1e-9)
    assert display.score == pytest.approx(model.predict(X[60:61])[0], abs=1e-9)


def test_a_few_features_have_lines_and_the_rest_share_one(model, flowers):
    X, _ = flowers
    display = StagedShapDisplay.from_estimator(model, X, top=2)
    assert len(display.lines) == 3
    assert display.lines[-1][0] == "3 other features"
    total = sum(values for _, values in display.lines)
    np.testing.assert_allclose(total, display.contributions.sum(axis=1))


def test_an_output_is_chosen_by_its_class(flowers):
    X, y = flowers
    model = hr.GradientBoostingClassifier(n_estimators=5).fit(X, y)
    display = StagedShapDisplay.from_estimator(model, X, output=2)
    expected = hr.explain.shap_values(model, X[:1]).values[0, :, 2]
    np.testing.assert_array_equal(display.contributions[-1], expected)


def test_labels_do_not_overlap(model, flowers):
    display = StagedShapDisplay.from_estimator(model, flowers[0])
    assert_no_overlap(display.figure_)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"row": 150}, "row=150 .* in .0, 149"), ({"top": 0}, "top=0"), ({"output": 1}, "output=1")],
)
def test_impossible_arguments_are_named(model, flowers, options, message):
    with pytest.raises(ParameterError, match=message):
        StagedShapDisplay.from_estimator(model, flowers[0], **options)


def test_models_without_rounds_are_refused(flowers):
    tree = hr.DecisionTreeRegressor(max_depth=2).fit(*flowers)
    with pytest.raises(ParameterError, match="must be a gradient boosting estimator"):
        StagedShapDisplay.from_estimator(tree, flowers[0])


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=8), st.floats(0.01, 3))
def test_spread_keeps_order_distance_and_mean(places, apart):
    places = sorted(places)
    moved = spread(places, apart)
    assert np.all(np.diff(moved) >= apart * (1 - 1e-9))
    assert np.mean(moved) == pytest.approx(np.mean(places), abs=1e-9)
    if np.all(np.diff(places) >= apart):
        assert moved == pytest.approx(places)
