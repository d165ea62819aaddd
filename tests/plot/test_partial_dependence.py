"""Partial dependence and accumulated effects: panels of curves, categories and maps."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import hedgerow as hr
from hedgerow.plot import PartialDependenceDisplay
from oracles.pictures import assert_no_overlap

mpl.use("Agg")
import matplotlib.pyplot as plt

draw = PartialDependenceDisplay.from_values
draw_of = PartialDependenceDisplay.from_estimator

TOWNS = ["Bath", "Ely", "Kingston upon Hull", "Newcastle upon Tyne", "St Albans", "York"]
LONG = "average_of_the_last_twelve_months_of_use"


def table(n_rows=200):
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "income": random.lognormal(11.0, 1.0, n_rows),
            LONG: random.normal(size=n_rows),
            "town": random.choice(TOWNS, n_rows),
            "code": [f"category number {k}" for k in random.integers(0, 30, n_rows)],
        }
    )
    X.loc[random.random(n_rows) < 0.2, "income"] = np.nan
    X.loc[random.random(n_rows) < 0.2, "town"] = None
    return X


X = table()
NUMBER = np.log(X["income"].fillna(3e4)) + X[LONG] + (X["town"] == "Ely")
FIVE = np.array(["a", "b", "c", "d", "the fifth class, with a long name"], object)[
    pd.qcut(NUMBER, 5).cat.codes
]
REGRESSOR = hr.GradientBoostingRegressor(n_estimators=10).fit(X, NUMBER)
CLASSIFIER = hr.GradientBoostingClassifier(n_estimators=5).fit(X, FIVE)
PANELS = ["income", LONG, "town", "code", ("income", LONG), ("town", "income"), (LONG, "code")]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_a_curve_is_the_average_and_short_lines_are_the_deciles():
    result = hr.explain.partial_dependence(REGRESSOR, X, LONG)
    display = draw(result)
    line = display.ax_.lines[0]
    np.testing.assert_array_equal(line.get_xdata(), result.grid[0])
    np.testing.assert_array_equal(line.get_ydata(), result.average[:, 0])
    marks = [path.vertices[0, 0] for path in display.ax_.collections[0].get_paths()]
    np.testing.assert_allclose(marks, result.deciles[0])
    assert display.ax_.get_ylabel() == "mean prediction of the target"


def test_a_gap_is_a_point_on_the_right():
    result = hr.explain.partial_dependence(REGRESSOR, X, "income")
    ax = draw(result).ax_
    curve, point = ax.lines[:2]
    assert np.isfinite(curve.get_xdata()).all()
    assert point.get_ydata() == result.average[-1, 0]
    assert point.get_xdata() > curve.get_xdata().max()
    assert labels(ax.xaxis)[-1] == "missing"


def test_single_rows_are_thin_lines_and_not_too_many():
    display = draw_of(REGRESSOR, X, LONG, kind="both")
    thin = [line for line in display.ax_.lines if line.get_linewidth() < 1.0]
    assert 40 <= len(thin) <= 60
    alone = draw_of(REGRESSOR, X, LONG, kind="individual")
    assert alone.ax_.get_ylabel() == "the target"
    thick = [
        line for line in alone.ax_.lines if line.get_linewidth() > 1.0 and len(line.get_xdata())
    ]
    assert thick == []


def test_categories_have_points_and_the_middle_of_the_rows():
    result = hr.explain.partial_dependence(REGRESSOR, X, "town", kind="both")
    ax = draw(result).ax_
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), result.average[:, 0])
    assert labels(ax.yaxis) == [*(str(town) for town in result.grid[0][:-1]), "missing"]
    low = [path.vertices[0, 0] for path in ax.collections[0].get_paths()]
    np.testing.assert_allclose(low, np.quantile(result.individual[..., 0], 0.1, axis=0))
    assert "the middle 80% of rows" in ax.get_xlabel()


def test_every_class_has_its_line_and_one_legend_names_them():
    display = draw_of(CLASSIFIER, X, ["income", LONG, "town"])
    legends = [ax.get_legend() for ax in display.axes_ if ax.get_legend() is not None]
    assert len(legends) == 1
    assert len(legends[0].get_texts()) == 5
    assert display.ax_.get_ylabel() == "mean probability"
    assert_no_overlap(display.figure_)


def test_one_class_can_be_asked_for():
    display = draw_of(CLASSIFIER, X, [LONG, ("town", LONG)], output="c")
    result = hr.explain.partial_dependence(CLASSIFIER, X, LONG)
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), result.average[:, 2])
    assert display.ax_.get_ylabel() == "mean probability of c"
    assert draw(result, output=2).ax_.get_ylabel() == "mean probability of c"


def test_what_changes_little_looks_so():
    display = draw_of(REGRESSOR, X, ["income", LONG, "town"])
    limits = display.axes_[0].get_ylim()
    assert limits == display.axes_[1].get_ylim() == display.axes_[2].get_xlim()


def test_two_features_have_a_map_the_right_way_round():
    result = hr.explain.partial_dependence(REGRESSOR, X, ("town", LONG), grid_resolution=5)
    ax = draw(result).ax_
    mesh = ax.collections[0]
    np.testing.assert_allclose(mesh.get_array().reshape(5, 7), result.average[..., 0].T)
    assert ax.get_xlabel() == "town"
    assert labels(ax.xaxis)[-1] == "missing"


def test_joint_effects_are_white_where_they_are_nothing():
    result = hr.explain.accumulated_effects(REGRESSOR, X, ("income", LONG), grid_resolution=6)
    display = draw(result)
    mesh = display.ax_.collections[0]
    assert mesh.norm.vmin == -mesh.norm.vmax
    assert any(ax.get_ylabel() == "joint effect on the target" for ax in display.figure_.axes)


@pytest.mark.parametrize("kind", ["average", "both", "accumulated"])
def test_nothing_overlaps(kind):
    display = draw_of(REGRESSOR, X, PANELS, kind=kind, grid_resolution=6)
    assert len(display.axes_) == len(PANELS)
    assert_no_overlap(display.figure_)


@pytest.mark.parametrize("feature", PANELS)
@pytest.mark.parametrize("model", [REGRESSOR, CLASSIFIER])
def test_results_draw_themselves_without_overlaps(model, feature):
    ax = hr.explain.partial_dependence(model, X, feature, grid_resolution=8).plot()
    assert_no_overlap(ax.figure)


def test_panels_fit_into_axes_that_are_given():
    _, axes = plt.subplots(1, 2, figsize=(18, 8), layout="constrained")
    plt.sca(axes[1])
    display = draw_of(REGRESSOR, X, [LONG, "town", (LONG, "town")], ax=axes[0])
    assert display.ax_ is axes[0]
    assert plt.gca() is axes[1]
    assert_no_overlap(display.figure_)


def test_models_of_others_and_arrays_are_drawn():
    matrix = X[[LONG]].to_numpy().repeat(2, axis=1) ** [1, 2]
    model = LinearRegression().fit(matrix, NUMBER)
    display = draw_of(model, matrix, [0, (0, 1)])
    assert display.ax_.get_xlabel() == "x0"
    assert_no_overlap(display.figure_)


def test_a_constant_prediction_is_drawn():
    constant = hr.DecisionTreeRegressor(max_depth=1).fit(X[[LONG]].assign(z=0.0), np.ones(len(X)))
    pair = hr.explain.partial_dependence(
        constant, X[[LONG]].assign(z=0.0), (LONG, "z"), grid={"z": [0.0, 1.0]}
    )
    assert_no_overlap(draw(pair).figure_)


def test_a_column_of_gaps_alone_can_be_looked_at():
    result = hr.explain.partial_dependence(REGRESSOR, X, "income", grid=[np.nan])
    assert labels(draw(result).ax_.xaxis) == ["missing"]


def test_what_cannot_be_drawn_is_refused():
    result = hr.explain.partial_dependence(REGRESSOR, X, LONG)
    with pytest.raises(hr.ParameterError, match="values: dict is not allowed"):
        draw({})
    with pytest.raises(hr.ParameterError, match="values is empty"):
        draw([])
    with pytest.raises(hr.ParameterError, match="output='b' is not allowed"):
        draw(result, output="b")
    with pytest.raises(hr.ParameterError, match="kind='ice'"):
        draw_of(REGRESSOR, X, LONG, kind="ice")
    with pytest.raises(hr.DataError, match="nothing to draw"):
        draw(dataclasses.replace(result, average=None))
    with pytest.raises(
        hr.DataError, match=r"shape \(3, 1\), but its grid and outputs have \(50, 1\)"
    ):
        draw(dataclasses.replace(result, average=np.zeros((3, 1))))
    free = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(hr.ParameterError, match="cannot be divided"):
        draw([result, result], ax=free)
    with pytest.raises(hr.ParameterError, match="ax has the type list"):
        draw(result, ax=[])
