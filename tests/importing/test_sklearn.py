"""Models of scikit-learn: the same scores, bit for bit."""

import numpy as np
import pytest
from sklearn import ensemble, tree
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from importing.rows import (
    N_HARD,
    NUMERIC,
    as_categories,
    hard_rows,
    near_thresholds,
    raw_scores,
    table,
    target,
    three_classes,
    trees_of,
    with_odd_labels,
)

HIST = {"max_iter": 12, "min_samples_leaf": 5}


def hist(kind):
    frame = table()
    y = target(frame)
    if kind == "classes":
        return ensemble.HistGradientBoostingClassifier(**HIST).fit(frame, three_classes(frame))
    if kind == "two_classes":
        labels = np.where(y > 0, "yes", "no")
        return ensemble.HistGradientBoostingClassifier(**HIST).fit(frame, labels)
    loss = {"poisson": "poisson", "absolute": "absolute_error"}.get(kind, "squared_error")
    y = np.exp(y / 4) if kind == "poisson" else y
    return ensemble.HistGradientBoostingRegressor(loss=loss, **HIST).fit(frame, y)


@pytest.mark.parametrize("kind", ["squared", "absolute", "poisson", "two_classes", "classes"])
def test_scores_of_hist_gradient_boosting(kind):
    fitted = hist(kind)
    model = hr.from_sklearn(fitted)
    frame = with_odd_labels(hard_rows(model))
    expected = fitted._raw_predict(as_categories(frame))
    np.testing.assert_array_equal(raw_scores(model, frame), expected)
    found, expected = model.predict(frame), fitted.predict(as_categories(frame))
    if kind == "poisson":  # whose exponential function is NumPy's there
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    else:
        np.testing.assert_array_equal(found, expected)


def test_categories_that_are_numbers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=2_000), rng.integers(0, 30, 2_000) * 3.0])
    X[::9, 1] = np.nan
    y = X[:, 0] + np.isin(X[:, 1], [3, 9, 27, 60])
    fitted = ensemble.HistGradientBoostingRegressor(categorical_features=[1], **HIST).fit(X, y)
    new = np.column_stack([np.zeros(100), np.arange(100.0)])
    new[::7, 1] = np.nan
    np.testing.assert_array_equal(hr.from_sklearn(fitted).predict(new), fitted.predict(new))


def numeric_rows(model, seed=1):
    """Return rows of numbers that float32 does not hold, and thresholds."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(N_HARD, 3))
    e = trees_of(model)
    for j in range(3):
        near = near_thresholds(e.threshold[e.feature == j])
        near = near[~np.isnan(near)]
        rows[: N_HARD // 2, j] = rng.choice(near, N_HARD // 2)
    return rows


def data(y_of=target):
    frame = table()
    return frame[NUMERIC].fillna(0.3).to_numpy().copy(), y_of(frame)


BOOSTING = {
    "squared": (ensemble.GradientBoostingRegressor, {}, target),
    "quantile": (ensemble.GradientBoostingRegressor, {"loss": "quantile"}, target),
    "zero": (ensemble.GradientBoostingRegressor, {"init": "zero"}, target),
    "two_classes": (ensemble.GradientBoostingClassifier, {}, lambda X: target(X) > 0),
    "exponential": (
        ensemble.GradientBoostingClassifier,
        {"loss": "exponential"},
        lambda X: target(X) > 0,
    ),
    "classes": (ensemble.GradientBoostingClassifier, {}, three_classes),
}


@pytest.mark.parametrize("kind", BOOSTING)
def test_scores_of_gradient_boosting(kind):
    estimator, parameters, y_of = BOOSTING[kind]
    X, y = data(y_of)
    fitted = estimator(n_estimators=12, **parameters).fit(X, y)
    model = hr.from_sklearn(fitted)
    rows = numeric_rows(model)
    expected = fitted._raw_predict(rows.astype(np.float32))  # as its public methods call it
    np.testing.assert_array_equal(raw_scores(model, rows), expected)
    few = rows[:300]
    np.testing.assert_array_equal(model.predict(few), fitted.predict(few))
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(few), fitted.predict_proba(few), rtol=1e-12)


FORESTS = {
    "forest": (ensemble.RandomForestRegressor, target),
    "forest_of_two_classes": (ensemble.RandomForestClassifier, lambda X: target(X) > 0),
    "forest_of_classes": (ensemble.RandomForestClassifier, three_classes),
    "extra_trees": (ensemble.ExtraTreesRegressor, target),
    "extra_trees_of_classes": (ensemble.ExtraTreesClassifier, three_classes),
    "two_targets": (
        ensemble.RandomForestRegressor,
        lambda X: np.column_stack([target(X), -target(X)]),
    ),
}


@pytest.mark.parametrize("kind", FORESTS)
def test_predictions_of_forests(kind, tmp_path):
    estimator, y_of = FORESTS[kind]
    X, y = data(y_of)
    X[::11, 0] = np.nan
    fitted = estimator(n_estimators=15, random_state=0, n_jobs=1).fit(X, y)
    model = hr.from_sklearn(fitted)
    rows = numeric_rows(model)
    rows[::13, 0] = np.nan
    if hasattr(fitted, "predict_proba"):
        expected, found = fitted.predict_proba(rows), model.predict_proba(rows)
        # The first of two classes has 1 minus the probability of the second here.
        first = 1 if expected.shape[1] == 2 else 0
        np.testing.assert_array_equal(found[:, first:], expected[:, first:])
        np.testing.assert_allclose(found, expected, atol=3e-16)
    else:
        np.testing.assert_array_equal(model.predict(rows), fitted.predict(rows))
    np.testing.assert_array_equal(model.predict(rows[:500]), fitted.predict(rows[:500]))
    leaves = model.apply(rows[:500])
    assert leaves.shape == (500, 15)
    model.save(tmp_path / "forest.hedgerow")
    loaded = hr.load(tmp_path / "forest.hedgerow")
    np.testing.assert_array_equal(loaded.predict(rows[:500]), model.predict(rows[:500]))
    assert loaded.origin_ == model.origin_
    assert np.isfinite(hr.explain.shap_values(model, rows[:20]).values).all()
    np.testing.assert_allclose(
        model.feature_importances_, fitted.feature_importances_, rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize(
    "fitted",
    [
        tree.DecisionTreeRegressor(max_depth=6),
        tree.DecisionTreeClassifier(max_depth=6),
        tree.ExtraTreeClassifier(max_depth=6, random_state=0),
    ],
)
def test_predictions_of_trees(fitted):
    X, y = data(three_classes)
    fitted.fit(X, y)
    model = hr.from_sklearn(fitted)
    rows = numeric_rows(model)
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(rows), fitted.predict_proba(rows))
    np.testing.assert_array_equal(model.predict(rows), fitted.predict(rows))
    np.testing.assert_allclose(model.feature_importances_, fitted.feature_importances_, atol=1e-12)


@pytest.mark.parametrize("y_of", [three_classes, lambda X: target(X) > 0])
def test_adaboost_of_classes(y_of, tmp_path):
    X, y = data(y_of)
    fitted = ensemble.AdaBoostClassifier(
        tree.DecisionTreeClassifier(max_depth=2), n_estimators=12, random_state=0
    ).fit(X, y)
    model = hr.from_sklearn(fitted)
    rows = numeric_rows(model)
    decision = fitted.decision_function(rows)
    np.testing.assert_allclose(model.decision_function(rows), decision, atol=1e-14)
    clear = np.abs(decision) > 1e-12 if decision.ndim == 1 else np.ptp(decision, axis=1) > 1e-12
    np.testing.assert_array_equal(model.predict(rows)[clear], fitted.predict(rows)[clear])
    model.save(tmp_path / "model.hedgerow")
    loaded = hr.load(tmp_path / "model.hedgerow")
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))


def test_adaboost_of_numbers():
    X, y = data()
    fitted = ensemble.AdaBoostRegressor(
        tree.DecisionTreeRegressor(max_depth=4), n_estimators=12, random_state=0
    ).fit(X, y)
    model = hr.from_sklearn(fitted)
    rows = numeric_rows(model)
    np.testing.assert_array_equal(model.predict(rows), fitted.predict(rows))


def test_names_of_columns_are_kept():
    frame = table()[NUMERIC].fillna(0.0)
    fitted = ensemble.GradientBoostingRegressor(n_estimators=3).fit(frame, target(table()))
    model = hr.from_sklearn(fitted)
    assert model.feature_names_in_.tolist() == NUMERIC
    np.testing.assert_array_equal(model.predict(frame[NUMERIC[::-1]]), fitted.predict(frame))


def test_what_cannot_be_read():
    X, y = data()
    boosted = ensemble.GradientBoostingRegressor(init=LinearRegression(), n_estimators=2).fit(X, y)
    with pytest.raises(hr.ModelFileError, match="init=LinearRegression cannot be read"):
        hr.from_sklearn(boosted)
    committee = ensemble.AdaBoostClassifier(LogisticRegression(), n_estimators=2).fit(X, y > 0)
    with pytest.raises(hr.ModelFileError, match="AdaBoost of LogisticRegression cannot be read"):
        hr.from_sklearn(committee)
    with pytest.raises(hr.ParameterError, match="HistGradientBoosting"):
        hr.from_sklearn(LinearRegression())
    with pytest.raises(Exception, match="not fitted"):
        hr.from_sklearn(tree.DecisionTreeRegressor())


def test_a_pipeline_is_refused_with_a_hint():
    pipeline = make_pipeline(StandardScaler(), tree.DecisionTreeRegressor())
    pipeline.fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(hr.ParameterError, match=r"pass its last step, pipeline\[-1\]"):
        hr.from_sklearn(pipeline)


def test_rows_of_training_are_not_known():
    X, y = data()
    model = hr.from_sklearn(ensemble.RandomForestRegressor(n_estimators=3).fit(X, y))
    with pytest.raises(hr.ParameterError, match="forest imported from scikit-learn are not known"):
        model.permutation_importances(X, y)
    with pytest.raises(hr.ParameterError, match="another library"):
        model.set_params(warm_start=True, n_estimators=5).fit(X, y)
