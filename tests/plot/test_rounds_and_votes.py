"""Learning curves, importances, residuals, margins and strength are what models and theory say."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error
from sklearn.tree import DecisionTreeRegressor as SklearnTree

import hedgerow as hr
from hedgerow._curves import running_median
from hedgerow._reporting.training import _learning_curves as learning_curves
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.plot import (
    ImportanceDisplay,
    LearningCurveDisplay,
    MarginDisplay,
    ResidualDisplay,
    StrengthCorrelationDisplay,
)
from oracles.pictures import assert_no_overlap, texts_of

mpl.use("Agg")
import matplotlib.pyplot as plt

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
Z, T = load_diabetes(return_X_y=True, as_frame=True, scaled=False)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def words_of(display):
    return [text.get_text() for text in texts_of(display.figure_)]


# Learning curves.


def test_the_rounds_of_a_continued_fit_follow_those_before(tmp_path):
    options = {"early_stopping": True, "n_iter_no_change": 3}
    evaluated = {"eval_set": [(X[300:], Y[300:])]}
    first = hr.GradientBoostingClassifier(n_estimators=4).fit(X[:300], Y[:300])
    model = hr.GradientBoostingClassifier(n_estimators=200, **options)
    model.fit(X[:300], Y[:300], init_model=first, **evaluated)
    stages = hr.StagewiseClassifier(n_estimators=4, warm_start=True, **options).fit(X, Y)
    stages.set_params(n_estimators=12).fit(X, Y)
    for continued in (model, stages):
        continued.save(tmp_path / "model")
        for each in (continued, hr.load(tmp_path / "model")):
            assert each.n_initial_rounds_ == 4
            display = LearningCurveDisplay.from_estimator(each)
            curve = list(display.curves.values())[-1]
            assert curve.rounds[0] == 5
            assert curve.values[display.chosen - 5] == each.best_score_
            assert any(w.startswith(f"best: round {display.chosen},") for w in words_of(display))
    curve = model.evals_result_["eval_0"]["log_loss"]
    assert model[:6].evals_result_["eval_0"]["log_loss"] == curve[:2]
    assert model[:6].n_initial_rounds_ == 4
    assert not model[:4].evals_result_
    shown = learning_curves(model)[0]["points"]
    assert [point["round"] for point in shown] == list(range(5, 5 + len(curve)))


def test_rounds_are_those_that_were_measured_and_the_best_is_marked():
    model = hr.GradientBoostingClassifier(n_estimators=40, eval_metric=["log_loss", "auc"])
    model.fit(X[:300], Y[:300], eval_set=[(X[:300], Y[:300]), (X[300:], Y[300:])])
    display = LearningCurveDisplay.from_estimator(model)
    assert list(display.curves) == ["eval_0", "eval_1"]
    measured = model.evals_result_["eval_1"]["log_loss"]
    np.testing.assert_array_equal(display.curves["eval_1"].values, measured)
    np.testing.assert_array_equal(display.curves["eval_1"].rounds, np.arange(1, 41))
    assert display.chosen == model.best_iteration_ == 1 + int(np.argmin(measured))
    assert any(w.startswith(f"best: round {display.chosen},") for w in words_of(display))
    assert_no_overlap(display.figure_)
    other = LearningCurveDisplay.from_estimator(model, metric="auc")
    assert other.ylabel == "auc"
    assert other.chosen is None
    with pytest.raises(ParameterError, match=r"metric='rmse' is not allowed.*log_loss, auc"):
        LearningCurveDisplay.from_estimator(model, metric="rmse")


def test_what_the_automatic_choice_tried_is_drawn():
    model = hr.GradientBoostingRegressor(n_estimators="auto").fit(Z, T)
    display = LearningCurveDisplay.from_estimator(model)
    assert len(display.ax_.lines) >= len(model.auto_.tried)
    assert_no_overlap(display.figure_)
    model.fit(Z, T, eval_set=[(Z, T)])
    display = LearningCurveDisplay.from_estimator(model)
    assert len(display.trials) == len(model.auto_.tried)
    for trial, tried in zip(display.trials, model.auto_.tried, strict=True):
        np.testing.assert_array_equal(trial.values, tried.curve)
        assert trial.rounds[0] == 5
    assert_no_overlap(display.figure_)


def test_the_out_of_bag_error_of_all_trees_is_that_of_the_forest():
    forest = hr.RandomForestClassifier(n_estimators=30, oob_score=True).fit(X, Y)
    display = LearningCurveDisplay.from_estimator(forest, X, Y)
    curve = display.curves["out of bag"]
    assert curve.values[-1] == pytest.approx(1.0 - forest.oob_score_)
    assert len(curve.values) == 30
    # One tree is judged by the rows that it did not draw.
    out = np.setdiff1d(np.arange(len(X)), forest.estimators_samples_[0])
    expected = np.mean(forest[0].predict(X)[out] != Y[out])
    assert curve.values[0] == pytest.approx(expected)
    assert_no_overlap(display.figure_)


def test_the_out_of_bag_error_of_numbers_is_the_root_mean_square():
    forest = hr.RandomForestRegressor(n_estimators=25, oob_score=True).fit(Z, T)
    display = LearningCurveDisplay.from_estimator(forest, Z, T)
    expected = mean_squared_error(T, forest.oob_prediction_) ** 0.5
    assert display.curves["out of bag"].values[-1] == pytest.approx(expected)


def test_adaboost_has_its_bound():
    model = hr.AdaBoostClassifier(n_estimators=15).fit(X, Y)
    display = LearningCurveDisplay.from_estimator(model, X, Y)
    expected = hr.theory.adaboost_bound(model, X, Y)
    np.testing.assert_array_equal(display.bound.bound, expected.bound)
    assert (display.bound.training_error <= display.bound.bound + 1e-12).all()
    assert_no_overlap(display.figure_)


def test_boosting_without_a_bound_has_its_error_alone():
    model = hr.AdaBoostClassifier(n_estimators=8, algorithm="gentle").fit(X, Y)
    display = LearningCurveDisplay.from_estimator(model, X, Y)
    errors = [np.mean(predicted != Y) for predicted in model.staged_predict(X)]
    np.testing.assert_allclose(display.curves["X and y"].values, errors)
    with pytest.raises(ParameterError, match="X and y are needed"):
        LearningCurveDisplay.from_estimator(model)
    regressor = hr.AdaBoostRegressor(n_estimators=5).fit(Z, T)
    display = LearningCurveDisplay.from_estimator(regressor, Z, T)
    assert display.curves["X and y"].values[-1] == pytest.approx(regressor.score(Z, T))


def test_stagewise_models_show_the_loss_of_training_rows():
    model = hr.StagewiseRegressor(SklearnTree(max_depth=2), n_estimators=6).fit(Z, T)
    display = LearningCurveDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.curves["training set"].values, model.train_score_)


def test_models_without_a_curve_are_refused():
    draw = LearningCurveDisplay.from_estimator
    with pytest.raises(ParameterError, match="has no metrics from its fit"):
        draw(hr.GradientBoostingRegressor(n_estimators=2).fit(Z, T))
    with pytest.raises(NotFittedError):
        draw(hr.GradientBoostingRegressor())
    with pytest.raises(ParameterError, match="SVC is not allowed"):
        draw(hr.SVC().fit(X, Y))
    forest = hr.RandomForestClassifier(n_estimators=2, bootstrap=False).fit(X, Y)
    with pytest.raises(ParameterError, match="no out-of-bag rows"):
        draw(forest, X, Y)
    forest = hr.RandomForestClassifier(n_estimators=2).fit(X, Y)
    with pytest.raises(ParameterError, match="X and y are needed"):
        draw(forest)
    with pytest.raises(DataError, match="9 rows"):
        draw(forest, X[:9], Y[:9])
    with pytest.raises(DataError, match="different classes"):
        draw(forest, X, Y + 1)


# Importances.


@pytest.mark.parametrize("kind", ["gain", "split", "cover"])
def test_bars_are_the_importances_sorted(kind):
    model = hr.GradientBoostingClassifier(n_estimators=5).fit(X, Y)
    display = ImportanceDisplay.from_estimator(model, kind=kind, top=6)
    values = model.importances(kind)
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, np.sort(values)[::-1][:6])
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names[0] == X.columns[values.argmax()]
    assert any("first 6 of 30 features" in w for w in words_of(display))
    assert_no_overlap(display.figure_)


def test_error_bars_and_negative_values_are_drawn():
    names, values = ["a", "b" * 90, "c$d$"], [0.5, -0.2, 0.1]
    display = ImportanceDisplay.from_values(names, values, [0.1, 0.05, 0.0], label="rise of error")
    assert display.order.tolist() == [0, 2, 1]
    assert_no_overlap(display.figure_)


def test_other_libraries_models_have_importances_too():
    model = SklearnForest(5, random_state=0).fit(X, Y)
    display = ImportanceDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.values, model.feature_importances_)
    with pytest.raises(ParameterError, match="has no such importances"):
        ImportanceDisplay.from_estimator(model, kind="split")


def test_bad_importances_are_refused():
    with pytest.raises(DataError, match="values has 2 numbers, but there are 1 names"):
        ImportanceDisplay.from_values(["a"], [1.0, 2.0])
    with pytest.raises(DataError, match="not finite"):
        ImportanceDisplay.from_values(["a"], [np.nan])
    with pytest.raises(DataError, match="negative"):
        ImportanceDisplay.from_values(["a"], [1.0], [-1.0])
    with pytest.raises(ParameterError, match="top=0"):
        ImportanceDisplay.from_values(["a"], [1.0], top=0)
    with pytest.raises(ParameterError, match="kind='weight'"):
        ImportanceDisplay.from_estimator(hr.DecisionTreeRegressor().fit(Z, T), kind="weight")
    with pytest.raises(NotFittedError):
        ImportanceDisplay.from_estimator(hr.DecisionTreeRegressor())


# Residuals.


def test_residuals_are_targets_less_predictions():
    model = LinearRegression().fit(Z, T)
    display = ResidualDisplay.from_estimator(model, Z, T)
    np.testing.assert_allclose(display.residuals, T - model.predict(Z))
    same = ResidualDisplay.from_predictions(T, model.predict(Z), panel="histogram")
    np.testing.assert_array_equal(same.residuals, display.residuals)
    for each in (display, same):
        assert_no_overlap(each.figure_)
    counted = sum(patch.get_height() for patch in same.panel_ax_.patches)
    assert counted == len(T)


def test_the_median_line_follows_a_step():
    x = np.linspace(0.0, 1.0, 500)
    noise = np.random.RandomState(0).normal(scale=0.1, size=500)
    line_x, line = running_median(x, (x > 0.5) + noise)
    far = np.abs(line_x - 0.5) > 0.06
    np.testing.assert_allclose(line[far], line_x[far] > 0.5, atol=0.06)
    assert len(line) == 100


def test_quantiles_of_normal_residuals_lie_on_the_line():
    y = np.random.RandomState(0).normal(size=5000)
    display = ResidualDisplay.from_predictions(y, np.zeros(5000) + 0.0)
    line, points = display.panel_ax_.lines
    x, ordered = points.get_data()
    expected = np.interp(x, *line.get_data())
    inner = np.abs(x) < 2.0
    np.testing.assert_allclose(ordered[inner], expected[inner], atol=0.1)


def test_bad_residuals_are_refused():
    with pytest.raises(ParameterError, match="panel='violin'"):
        ResidualDisplay.from_predictions(T, T, panel="violin")
    with pytest.raises(DataError, match="y has 2 values"):
        ResidualDisplay.from_predictions([1.0, 2.0], [1.0])
    with pytest.raises(ParameterError, match="is not a regressor"):
        ResidualDisplay.from_estimator(hr.DecisionTreeClassifier().fit(X, Y), X, Y)
    several = hr.DecisionTreeRegressor().fit(Z, np.column_stack([T, T]))
    with pytest.raises(ParameterError, match="several outputs"):
        ResidualDisplay.from_estimator(several, Z, T)


# Margins and strength: theory's own numbers and pictures.


def test_margins_and_the_bound_are_those_of_theory():
    model = hr.AdaBoostClassifier(n_estimators=12).fit(X, Y)
    display = MarginDisplay.from_estimator(model, X, Y, rounds=[1, 12])
    expected = hr.theory.margins(model, X, Y, rounds=[1, 12])
    np.testing.assert_array_equal(display.margins.margins, expected.margins)
    assert display.bound_ax_ is not None
    assert_no_overlap(display.figure_)
    forest = hr.RandomForestClassifier(n_estimators=9).fit(X, Y)
    display = MarginDisplay.from_estimator(forest, X, Y)
    assert display.bound is None
    assert_no_overlap(display.figure_)


def test_strength_and_correlation_are_those_of_theory():
    forest = hr.RandomForestClassifier(n_estimators=20).fit(X, Y)
    _, ax = plt.subplots(layout="constrained")
    display = StrengthCorrelationDisplay.from_estimator(forest, X, Y, ax=ax)
    assert display.ax_ is ax
    assert display.bound.strength == hr.theory.forest_bound(forest, X, Y).strength
    assert_no_overlap(display.figure_)
    with pytest.raises(ParameterError, match="depend on each other"):
        StrengthCorrelationDisplay.from_estimator(
            hr.AdaBoostClassifier(n_estimators=2).fit(X, Y), X, Y
        )


def test_numbers_of_negative_bars_keep_off_the_names():
    names = [f"a_feature_with_a_rather_long_name_{j}" for j in range(3)]
    values, errors = [0.2, -0.000268, -0.15], [0.01, 0.00001, 0.02]
    display = ImportanceDisplay.from_values(names, values, errors)
    assert_no_overlap(display.figure_)


def test_importances_that_draw_themselves_have_readable_names():
    random = np.random.default_rng(0)
    names = [f"average_of_the_last_twelve_months_{j}" for j in range(25)]
    X = pd.DataFrame(random.normal(size=(80, 25)), columns=names)
    y = X.iloc[:, 0] * X.iloc[:, 1] + X.iloc[:, 2]
    model = hr.GradientBoostingRegressor(n_estimators=5).fit(X, y)
    forest = hr.RandomForestRegressor(n_estimators=5).fit(X, y)
    pairs = hr.explain.interaction_strength(model, X, n_rows=10).plot()
    assert all(label.get_text().count(" × ") == 1 for label in pairs.get_yticklabels())
    for ax in (
        pairs,
        hr.explain.importance(model).plot(),
        hr.explain.permutation_importance(model, X, y, n_repeats=2).plot(),
        forest.permutation_importances(X, y).plot(),
    ):
        assert_no_overlap(ax.figure)


def test_columns_without_names_are_called_the_same_everywhere():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = hr.GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 1])
    forest = hr.RandomForestRegressor(n_estimators=3).fit(X, X[:, 1])
    explained = hr.explain.shap_values(model, X)
    for ax in (
        ImportanceDisplay.from_estimator(model).ax_,
        hr.plot.ShapBarDisplay.from_values(explained).ax_,
        hr.explain.importance(model).plot(),
        forest.permutation_importances(X, X[:, 1]).plot(),
    ):
        assert {label.get_text() for label in ax.get_yticklabels()} == {"x0", "x1"}
    assert any("x1 ≤" in word for word in words_of(hr.plot.TreeDisplay.from_estimator(model)))


def test_residuals_are_of_the_target_by_its_name():
    y = pd.Series([0.0, 1.0, 2.0, 3.0], name="price")
    display = ResidualDisplay.from_predictions(y, [0.5, 0.5, 2.0, 2.0])
    assert display.ax_.get_ylabel() == "residual: price − prediction"
    assert display.ax_.get_legend() is None  # so few rows have no line of medians
