"""Pictures of SHAP values: every number is where it belongs, and no two dots overlap."""

from itertools import pairwise
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_diabetes

import hedgerow as hr
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot import (
    ShapBarDisplay,
    ShapBeeswarmDisplay,
    ShapDependenceDisplay,
    ShapWaterfallDisplay,
)
from hedgerow.plot import _shap as module
from hedgerow.plot._shap_data import swarm
from oracles.pictures import assert_no_overlap, texts_of

mpl.use("Agg")
import matplotlib.pyplot as plt

DISPLAYS = [ShapBeeswarmDisplay, ShapBarDisplay, ShapWaterfallDisplay]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def fake(n_rows=200, n_outputs=None, unit="log-odds"):
    """Make values of a table with numbers, gaps, categories and a feature of no effect."""
    rng = np.random.RandomState(0)
    data = pd.DataFrame(
        {
            "income": rng.lognormal(size=n_rows),
            "age": np.where(rng.uniform(size=n_rows) < 0.2, np.nan, rng.randint(18, 90, n_rows)),
            "town": pd.Categorical(rng.choice(["Bath", "Ely", "York"], n_rows)),
            "nothing": np.zeros(n_rows),
        }
    )
    shape = (n_rows, 4) if n_outputs is None else (n_rows, 4, n_outputs)
    values = rng.normal(size=shape)
    for feature, size in enumerate([1.0, 0.5, 0.8, 0.0]):
        values[:, feature] *= size
    base = -0.5 if n_outputs is None else np.linspace(0.0, 1.0, n_outputs)
    names = None if n_outputs is None else [f"class {k}" for k in range(n_outputs)]
    return SimpleNamespace(
        values=values,
        base_values=base,
        data=data,
        feature_names=list(data.columns),
        output_names=names,
        unit=unit,
    )


# Swarms.


@given(
    arrays(np.float64, st.integers(1, 200), elements=st.floats(-5, 5)),
    st.floats(0.05, 2.0),
    st.integers(1, 20),
)
@settings(max_examples=60)
def test_dots_never_overlap_and_stay_near_their_values(values, width, most):
    rows, x, pile = swarm(values, np.zeros(len(values)), width, most)
    assert len(set(rows.tolist())) == len(rows)
    places = set(zip(np.round(x / width).astype(int).tolist(), pile.tolist(), strict=True))
    assert len(places) == len(rows)
    assert np.abs(x - values[rows]).max() <= width / 2 + 1e-9
    assert np.abs(pile).max() <= (most - 1) / 2


def test_piles_lie_as_much_above_as_below_and_are_sorted_by_level():
    level = np.array([0.9, 0.1, np.nan, 0.5])
    rows, _, pile = swarm(np.zeros(4), level, 1.0, 10)
    assert pile.sum() == 0.0
    assert rows[np.argsort(pile)].tolist() == [2, 1, 3, 0]


def test_where_piles_are_cut_all_values_are_still_seen():
    values = np.concatenate([np.zeros(1000), [5.0], np.full(50, 9.0)])
    rows, x, _ = swarm(values, np.zeros(len(values)), 0.5, 12)
    counts = {place: int((np.round(x) == place).sum()) for place in (0, 5, 9)}
    assert counts[0] == 12
    assert counts[5] == 1
    assert 1 < counts[9] < 12
    assert len(rows) == sum(counts.values())


# What is drawn.


def test_the_beeswarm_has_the_most_important_features_first():
    shap = fake()
    display = ShapBeeswarmDisplay.from_values(shap, top=3)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == ["income", "town", "age"]
    for line, dots in enumerate(display.ax_.collections):
        offsets = dots.get_offsets()
        assert np.abs(offsets[:, 1] - line).max() < 0.5
        own = shap.values[:, shap.feature_names.index(labels[line])]
        # Each dot is within half a dot of a value, and both ends are there.
        near = np.abs(offsets[:, 0][:, None] - own).min(axis=1)
        assert near.max() < 0.02 * np.ptp(own)
        np.testing.assert_allclose(
            [offsets[:, 0].min(), offsets[:, 0].max()], [own.min(), own.max()], atol=0.05
        )


def test_categories_and_missing_values_are_grey():
    shap = fake()
    display = ShapBeeswarmDisplay.from_values(shap)
    grey = mpl.colors.to_rgba(module.UNKNOWN)
    income, town, age, _ = display.ax_.collections
    assert np.allclose(town.get_facecolors(), grey)
    is_grey = np.isclose(age.get_facecolors(), grey).all(axis=1)
    assert 0 < is_grey.sum() < len(is_grey)
    assert not np.isclose(income.get_facecolors(), grey).all(axis=1).any()


def test_bars_are_mean_sizes():
    shap = fake()
    display = ShapBarDisplay.from_values(shap)
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, np.sort(np.abs(shap.values).mean(axis=0))[::-1])
    assert any(t.get_text() == "mean |SHAP value| (log-odds)" for t in texts_of(display.figure_))


def test_a_waterfall_leads_from_the_base_to_the_prediction():
    shap = fake()
    display = ShapWaterfallDisplay.from_values(shap, 7, top=2)
    texts = [text for text, _ in display.steps]
    assert texts[0] == "2 other features"
    assert shap.base_values + sum(v for _, v in display.steps) == pytest.approx(
        shap.base_values + shap.values[7].sum()
    )
    bars = display.ax_.patches
    assert bars[0].get_x() == pytest.approx(shap.base_values)
    for before, after in pairwise(bars):
        assert before.get_x() + before.get_width() == pytest.approx(after.get_x())


def test_a_waterfall_names_values_and_gaps():
    shap = fake()
    row = int(np.flatnonzero(shap.data["age"].isna())[0])
    texts = [text for text, _ in ShapWaterfallDisplay.from_values(shap, row).steps]
    assert "age = missing" in texts
    assert f"town = {shap.data['town'][row]}" in texts


def test_dependence_is_value_against_effect():
    shap = fake()
    display = ShapDependenceDisplay.from_values(shap, "income", color="age")
    offsets = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(offsets[:, 0], shap.data["income"])
    np.testing.assert_allclose(offsets[:, 1], shap.values[:, 0])


def test_missing_values_and_categories_have_places_of_their_own():
    shap = fake()
    display = ShapDependenceDisplay.from_values(shap, "age")
    x = np.asarray(display.ax_.collections[0].get_offsets()[:, 0])
    missing = shap.data["age"].isna().to_numpy()
    assert x[missing].min() > np.nanmax(shap.data["age"])
    display = ShapDependenceDisplay.from_values(shap, "town")
    x = np.asarray(display.ax_.collections[0].get_offsets()[:, 0])
    np.testing.assert_array_equal(np.round(x), shap.data["town"].cat.codes)


@pytest.mark.parametrize("output", [1, "class 1"])
def test_one_output_of_several_is_taken(output):
    shap = fake(n_outputs=3)
    display = ShapWaterfallDisplay.from_values(shap, 0, output=output)
    np.testing.assert_array_equal(display.shap.values, shap.values[:, :, 1])
    assert display.shap.base[0] == 0.5


# Drawing.


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: display.__name__)
def test_nothing_overlaps(display):
    for n_rows, unit in ((3, ""), (400, "log-odds of >50K")):
        plotted = display.from_values(fake(n_rows, unit=unit))
        assert_no_overlap(plotted.figure_)
        _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        assert display.from_values(fake(n_rows), ax=ax).ax_ is ax
        assert_no_overlap(ax.figure)


def test_the_smallest_tables_can_be_read():
    shap = SimpleNamespace(
        values=np.zeros((4, 2)), base_values=0.0, data=None, feature_names=["a", "b"]
    )
    for display in DISPLAYS:
        assert_no_overlap(display.from_values(shap).figure_)


@pytest.mark.parametrize("feature", ["income", "age", "town", "nothing"])
@pytest.mark.parametrize("color", [None, "age", "town"])
def test_dependence_can_be_read(feature, color):
    plotted = ShapDependenceDisplay.from_values(fake(), feature, color=color)
    assert_no_overlap(plotted.figure_)


def test_many_features_with_long_names_can_be_read():
    rng = np.random.RandomState(1)
    shap = SimpleNamespace(
        values=rng.normal(size=(30, 40)),
        base_values=np.zeros(30),
        data=rng.normal(size=(30, 40)),
        feature_names=[f"a very long name of the feature number {j}" for j in range(40)],
    )
    for display in DISPLAYS:
        assert_no_overlap(display.from_values(shap).figure_)


def test_a_model_is_explained_by_shap_values(monkeypatch):
    calls = []

    def shap_values(model, X):
        calls.append((model, X))
        return fake()

    monkeypatch.setattr("hedgerow.explain.shap_values", shap_values)
    ShapBeeswarmDisplay.from_estimator("model", "rows", top=2)
    ShapWaterfallDisplay.from_estimator("model", "rows", row=3)
    ShapDependenceDisplay.from_estimator("model", "rows", feature="town")
    assert calls == [("model", "rows")] * 3


# Bad input.


def test_bad_input_is_refused_by_name():
    with pytest.raises(ParameterError, match="shap is a list"):
        ShapBarDisplay.from_values([1, 2])
    with pytest.raises(ParameterError, match="output=None is not allowed"):
        ShapBarDisplay.from_values(fake(n_outputs=3))
    with pytest.raises(ParameterError, match="there is one output"):
        ShapBarDisplay.from_values(fake(), output=2)
    with pytest.raises(ParameterError, match="feature='wage'"):
        ShapDependenceDisplay.from_values(fake(), "wage")
    with pytest.raises(ParameterError, match="color=4"):
        ShapDependenceDisplay.from_values(fake(), "age", color=4)
    with pytest.raises(ParameterError, match="row=200"):
        ShapWaterfallDisplay.from_values(fake(), 200)
    with pytest.raises(ParameterError, match="top=0"):
        ShapBeeswarmDisplay.from_values(fake(), top=0)
    short = fake()
    short.data = short.data[:5]
    with pytest.raises(DataError, match="data has the shape"):
        ShapBarDisplay.from_values(short)


def test_long_names_units_and_categories_do_not_overlap():
    random = np.random.default_rng(0)
    categories = pd.Series([f"category number {k % 40}" for k in range(200)])
    X = pd.DataFrame(
        {"code": categories, "a_name_of_more_than_thirty_letters": random.normal(size=200)}
    )
    X["few"] = random.choice(["one", "two", "three"], 200)
    X.loc[:20, ["few", "a_name_of_more_than_thirty_letters"]] = None
    y = np.array(["a", "b", "a class with a long name, indeed"])[random.integers(0, 3, 200)]
    values = hr.explain.shap_values(hr.GradientBoostingClassifier(n_estimators=3).fit(X, y), X)
    for feature, color in ((0, 1), (1, 2), (2, 0)):
        display = ShapDependenceDisplay.from_values(values, feature, color=color, output="b")
        assert "log of the probability of b" in display.ax_.get_ylabel().replace("\n", " ")
        assert_no_overlap(display.figure_)
    assert_no_overlap(ShapBeeswarmDisplay.from_values(values, output=1).figure_)
    assert_no_overlap(ShapWaterfallDisplay.from_values(values, output=1).figure_)


def test_a_few_categories_have_colours_of_their_own():
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0], "kind": ["a", "b", None]})
    shap = SimpleNamespace(values=np.ones((3, 2)), base_values=0.0, data=X)
    display = ShapDependenceDisplay.from_values(shap, 0, color=1)
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["a", "b", "missing"]
    colors = display.ax_.collections[0].get_facecolor()
    assert len(np.unique(colors, axis=0)) == 3


def test_the_feature_of_a_dependence_may_be_given_by_place():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = hr.GradientBoostingRegressor(n_estimators=3).fit(X, y)
    display = hr.plot.ShapDependenceDisplay.from_estimator(model, X, "bmi", color="s5")
    assert display.ax_.get_xlabel() == "bmi"
