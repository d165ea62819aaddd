"""Ensembles of different models: their mean, their weights, their options, and bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

import hedgerow as hr
from hedgerow._ensemble import candidates, cross_fitting

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
IRIS = load_iris(return_X_y=True)

CLASSIFIERS = [
    ("forest", hr.RandomForestClassifier(n_estimators=10)),
    ("svm", hr.SVC()),
    ("knn", hr.KNeighborsClassifier()),
]
REGRESSORS = [
    ("trees", hr.ExtraTreesRegressor(n_estimators=10)),
    ("linear", hr.LinearSVR(C=100.0)),
]


def mixed_table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "word": rng.choice(["x", "y", "z"], n),
            "incomplete": np.where(rng.random(n) < 0.2, np.nan, rng.exponential(size=n)),
        }
    )


def test_probabilities_are_the_weighted_mean_of_the_models():
    X, y = IRIS
    model = hr.EnsembleClassifier([CLASSIFIERS[0], CLASSIFIERS[2]]).fit(X, y)
    expected = sum(
        weight * each.predict_proba(X)
        for weight, each in zip(model.estimator_weights_, model.estimators_, strict=True)
    )
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-14)
    assert model.estimator_weights_.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))


def test_numbers_are_the_weighted_mean_of_the_models():
    X, y = DIABETES
    model = hr.EnsembleRegressor(REGRESSORS).fit(X, y)
    pairs = zip(model.estimator_weights_, model.estimators_, strict=True)
    np.testing.assert_allclose(
        model.predict(X), sum(weight * each.predict(X) for weight, each in pairs), rtol=1e-12
    )


def test_out_of_fold_predictions_are_those_of_models_that_do_not_know_the_row():
    X, y = DIABETES
    model = hr.EnsembleRegressor(REGRESSORS, cv=4, refit=False).fit(X, y)
    expected = np.zeros(len(y))
    known = np.zeros((len(model.estimators_), len(y)), bool)
    for i, rows in enumerate(model.estimators_samples_):
        known[i, rows] = True
        share = model.estimator_weights_[i] * 4
        expected[~known[i]] += share * model.estimators_[i].predict(X[~known[i]])
    np.testing.assert_allclose(model.oof_prediction_, expected, rtol=1e-12)
    assert ((~known).sum(axis=0) == len(model.estimators_) / 4).all()
    loss = np.sqrt(np.mean((expected - y) ** 2))
    assert model.members_.ensemble_loss == pytest.approx(loss)
    assert loss <= np.nanmin(model.members_.loss)


def test_probabilities_of_decision_functions_are_calibrated_out_of_fold():
    X, y = CANCER
    model = hr.EnsembleClassifier([("svm", hr.SVC(C=10.0))]).fit(X, y)
    p = model.oof_decision_function_
    assert model.members_.loss[0] == pytest.approx(log_loss(y, p))
    assert model.members_.loss[0] < 0.3
    assert abs(p[:, 1].mean() - y.mean()) < 0.02
    three = hr.EnsembleClassifier([("svm", hr.LinearSVC())]).fit(*IRIS)
    np.testing.assert_allclose(three.predict_proba(IRIS[0]).sum(axis=1), 1.0)
    assert three.score(*IRIS) > 0.9


def test_default_candidates_read_mixed_tables():
    X = mixed_table()
    y = np.where(X.number + (X.word == "x") > 0.3, "yes", "no")
    model = hr.EnsembleClassifier(cv=2).fit(X, y)
    assert set(model.members_.name) == {
        *("boosting", "extra_trees", "random_forest", "svm_rbf", "svm_rbf_c10"),
        *("svm_rbf_c100", "svm_linear"),
        *("neighbors_5", "neighbors_25"),
    }
    assert model.score(X, y) > 0.9
    reordered = X[["incomplete", "word", "number"]]
    np.testing.assert_array_equal(model.predict_proba(reordered), model.predict_proba(X))
    regression = hr.EnsembleRegressor(cv=2).fit(X, 1e6 + 1e3 * X.number)
    assert regression.score(X, 1e6 + 1e3 * X.number) > 0.95


def test_the_next_step_is_tried_only_after_one_that_was_a_gain():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, (300, 1))
    noisy = hr.EnsembleClassifier(cv=2).fit(x, x[:, 0] + rng.logistic(size=300) > 0).members_
    loss = dict(zip(noisy.name, noisy.loss, strict=True))
    assert loss["svm_rbf"] < loss["svm_rbf_c10"]  # the boundary is one point
    assert np.isnan(loss["svm_rbf_c100"])
    wavy = hr.EnsembleClassifier(cv=2).fit(x, np.sin(5.0 * x[:, 0]) > 0).members_
    loss = dict(zip(wavy.name, wavy.loss, strict=True))
    assert loss["svm_rbf_c10"] < loss["svm_rbf"]
    assert np.isfinite(loss["svm_rbf_c100"])


def test_refit_may_be_a_boolean_of_numpy():
    models = [
        hr.EnsembleRegressor(REGRESSORS, refit=refit).fit(*DIABETES)
        for refit in (True, np.True_, False, np.False_)
    ]
    alone, also_alone, folds, also_folds = (model.predict(DIABETES[0]) for model in models)
    np.testing.assert_array_equal(alone, also_alone)
    np.testing.assert_array_equal(folds, also_folds)


def test_models_with_a_refit_know_all_rows():
    refit, folds, both = (
        hr.EnsembleRegressor(REGRESSORS, refit=refit).fit(*DIABETES)
        for refit in (True, False, "both")
    )
    assert len(refit.estimators_) * 8 == len(folds.estimators_)
    np.testing.assert_array_equal(refit.members_.weight, folds.members_.weight)
    assert all(len(rows) == len(DIABETES[1]) for rows in refit.estimators_samples_)
    assert len(both.estimators_) == len(refit.estimators_) + len(folds.estimators_)
    assert sum(len(rows) == len(DIABETES[1]) for rows in both.estimators_samples_) == len(
        refit.estimators_
    )
    X = DIABETES[0]
    half = 0.5 * (refit.predict(X) + folds.predict(X))
    np.testing.assert_allclose(both.predict(X), half, rtol=1e-12)
    assert both.estimator_weights_.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(both.oof_prediction_, folds.oof_prediction_)


def test_boosting_is_the_baseline_of_the_default_candidates():
    """Neighbours are a little better here by chance, and boosting keeps most of the weight."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = rng.normal(size=120)  # nothing to learn
    members = hr.EnsembleRegressor(cv=3, random_state=0).fit(X, y).members_
    weight = dict(zip(members.name, members.weight, strict=True))
    loss = dict(zip(members.name, members.loss, strict=True))
    assert np.nanmin(members.loss) < loss["boosting"]
    assert weight["boosting"] == 1.0


@pytest.mark.parametrize("refit", [False, True, "both"])
def test_files_hold_the_ensemble_and_are_equal_for_any_number_of_threads(refit, tmp_path):
    X = mixed_table(120)
    y = np.where(X.number + (X.word == "x") > 0.3, "yes", "no")
    own = [CLASSIFIERS[0], ("tree", hr.DecisionTreeClassifier())]
    candidates = own if refit else None  # the default ones are of every kind
    contents = []
    for n_jobs in (1, 2):
        model = hr.EnsembleClassifier(candidates, cv=2, refit=refit, n_jobs=n_jobs).fit(X, y)
        model.save(tmp_path / "model.hedgerow")
        contents.append((tmp_path / "model.hedgerow").read_bytes())
    assert contents[0] == contents[1]
    copy = hr.load(tmp_path / "model.hedgerow")
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(copy.members_.weight, model.members_.weight)
    assert "seconds" not in repr(copy.members_)
    assert "seconds" in repr(model.members_)
    copy.save(tmp_path / "again.hedgerow")
    assert (tmp_path / "again.hedgerow").read_bytes() == contents[0]


def test_an_ensemble_of_other_libraries_estimators_cannot_be_saved(tmp_path):
    model = hr.EnsembleRegressor([("ridge", Ridge())]).fit(*DIABETES)
    assert model.score(*DIABETES) > 0.3
    with pytest.raises(TypeError, match="Ridge cannot be saved"):
        model.save(tmp_path / "model.hedgerow")


def test_groups_stay_together():
    X, y = DIABETES
    groups = np.arange(len(y)) // 10
    model = hr.EnsembleRegressor(REGRESSORS).fit(X, y, groups=groups)
    for rows in model.estimators_samples_:
        assert not set(groups[rows]) & set(np.delete(groups, rows))


def test_weights_count():
    X, y = DIABETES
    weight = np.where(y > np.median(y), 1.0, 0.0)
    model = hr.EnsembleRegressor(REGRESSORS[:1]).fit(X, y, sample_weight=weight)
    assert model.predict(X).min() >= np.median(y)
    with pytest.raises(hr.ParameterError, match="'knn', a KNeighborsRegressor, does not support"):
        hr.EnsembleRegressor([("knn", hr.KNeighborsRegressor())]).fit(X, y, sample_weight=weight)


def test_the_time_budget_leaves_candidates_out(monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(cross_fitting, "monotonic", lambda: next(clock) + 1e9)
    model = hr.EnsembleRegressor(REGRESSORS, time_budget=1.0).fit(*DIABETES)
    assert model.members_.weight.tolist() == [1.0, 0.0]
    assert model.members_.note.tolist() == ["", "the time budget was spent"]
    assert np.isnan(model.members_.loss[1])


class Broken(hr.DecisionTreeRegressor):
    def fit(self, X, y):  # noqa: ARG002
        raise hr.DataError("no such luck")


def test_a_default_candidate_that_cannot_be_fitted_is_left_out(monkeypatch):
    own = [("tree", hr.DecisionTreeRegressor(max_depth=3)), ("broken", Broken())]
    monkeypatch.setattr(candidates, "_tree_regressors", lambda: own)
    monkeypatch.setattr(candidates, "_other_regressors", lambda data: [])  # noqa: ARG005
    with pytest.warns(hr.DataWarning, match=r"left out: broken \(no such luck\)"):
        model = hr.EnsembleRegressor().fit(*DIABETES)
    assert model.members_.note.tolist() == ["", "no such luck"]
    monkeypatch.setattr(candidates, "_tree_regressors", lambda: own[1:])
    with pytest.raises(hr.DataError, match="fitted; the first, 'broken', failed: no such luck"):
        hr.EnsembleRegressor().fit(*DIABETES)
    with pytest.raises(hr.DataError, match="no such luck"):
        hr.EnsembleRegressor(own).fit(*DIABETES)


def test_the_members_error_is_the_mean_error_minus_the_ambiguity():
    for model, (X, y) in (
        (hr.EnsembleClassifier(CLASSIFIERS, cv=3), IRIS),
        (hr.EnsembleRegressor(REGRESSORS, cv=3), DIABETES),
    ):
        found = hr.theory.diversity(model.fit(X, y), X, y)
        assert found.mean_error - found.mean_ambiguity == pytest.approx(found.ensemble_error)
        assert found.correlation.shape == (len(found.name), len(found.name))
        np.testing.assert_allclose(np.diag(found.correlation), 1.0)
    expected = np.mean((model.oof_prediction_ - y) ** 2)
    assert found.ensemble_error == pytest.approx(expected)
    other = hr.theory.diversity(model, X[:50], y[:50], out_of_fold=False)
    assert other.ensemble_error == pytest.approx(np.mean((model.predict(X[:50]) - y[:50]) ** 2))
    with pytest.raises(hr.DataError, match="X has 50 rows, but the model was trained on 442"):
        hr.theory.diversity(model, X[:50], y[:50])
    with pytest.raises(hr.ParameterError, match="it must be a fitted EnsembleClassifier"):
        hr.theory.diversity(hr.SVC().fit(*IRIS), *IRIS)
    with pytest.raises(hr.ParameterError, match="out_of_fold='a' is not allowed"):
        hr.theory.diversity(model, X, y, out_of_fold="a")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimators": []}, r"estimators=\[\] is not allowed; it must be None, or a list of"),
        ({"estimators": [("a", Ridge()), ("a", Ridge())]}, "with unique names"),
        ({"estimators": [("a", Ridge)]}, "estimators="),
        ({"estimators": [("a", LogisticRegression())]}, "'a' is a LogisticRegression; .*regressor"),
        ({"cv": 1}, "cv=1 is not allowed"),
        ({"cv": ShuffleSplit(2)}, "every row in exactly one holdout"),
        ({"n_selections": 0}, "n_selections=0"),
        ({"time_budget": 0}, "time_budget=0"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(hr.ParameterError, match=message):
        hr.EnsembleRegressor(**({"estimators": REGRESSORS[1:]} | parameters)).fit(*DIABETES)


def test_bad_data_are_named():
    X, y = DIABETES
    model = hr.EnsembleRegressor(REGRESSORS[1:], cv=KFold(3, shuffle=True, random_state=1))
    model.fit(X, y)
    before = model.predict(X)
    with pytest.raises(hr.DataError, match="y has several columns"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.raises(hr.DataError, match="y has one class"):
        hr.EnsembleClassifier(CLASSIFIERS).fit(X, np.zeros(len(X), int))
    with pytest.raises(hr.DataError, match="at least 2 rows"):
        hr.EnsembleRegressor(REGRESSORS[1:]).fit(X[:1], y[:1])
    np.testing.assert_array_equal(model.predict(X), before)  # nothing is lost


def test_parameters_of_candidates_are_the_ensembles():
    model = hr.EnsembleRegressor([("trees", hr.ExtraTreesRegressor()), ("svm", hr.SVR())])
    model.set_params(trees__max_depth=3, cv=4, svm=hr.LinearSVR(C=7.0))
    params = model.get_params()
    assert (params["trees__max_depth"], params["cv"], params["svm__C"]) == (3, 4, 7.0)
    copy = clone(model)
    assert copy.get_params()["trees"] is not params["trees"]
    assert copy.get_params()["trees__max_depth"] == 3
    search = GridSearchCV(clone(model), {"svm__C": [1.0, 100.0], "refit": [True]}, cv=2)
    assert search.fit(*DIABETES).best_params_["svm__C"] in (1.0, 100.0)
    found = {each.get_params()["svm__C"] for each in (search.best_estimator_, model)}
    assert found == {search.best_params_["svm__C"], 7.0}
    with pytest.raises(hr.ParameterError, match="has no parameter 'tree'"):
        model.set_params(tree__max_depth=3)
    with pytest.raises(hr.ParameterError, match="has no parameter 'depth'"):
        model.set_params(trees__depth=3)


class Wrong(RegressorMixin, BaseEstimator):
    """Predicts the same for every table."""

    def __init__(self, output=0.0):
        self.output = output

    def fit(self, *_):
        return self

    def predict(self, _):
        return self.output


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ([1.0], r"predict of Wrong returned an array of shape \(1,\), not \(55, 1\)"),
        (np.zeros((55, 2)), r"shape \(55, 2\), not \(55, 1\)"),
        (["a"] * 55, "predict of Wrong must return numbers"),
        (np.full(55, np.nan), "predictions are not finite"),
    ],
    ids=["length", "columns", "strings", "nan"],
)
def test_candidates_whose_predictions_are_no_column_of_numbers_are_named(output, message):
    X, y = DIABETES
    model = hr.EnsembleRegressor([("wrong", Wrong(output))])
    with pytest.raises(hr.DataError, match=message) as caught:
        model.fit(X[:440], y[:440])
    assert caught.value.__notes__ == ["The candidate is 'wrong' of estimators."]


class FailsOnAllRows(RegressorMixin, BaseEstimator):
    """Fits the rows of folds, but not all of them."""

    def fit(self, X, y):
        if len(X) == 440:
            raise ValueError("too many rows")
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_candidate_that_fails_when_it_is_fitted_to_all_rows_is_named():
    X, y = DIABETES
    with pytest.raises(ValueError, match="too many rows") as caught:
        hr.EnsembleRegressor([("limited", FailsOnAllRows())]).fit(X[:440], y[:440])
    assert caught.value.__notes__ == ["The candidate is 'limited' of estimators."]


@pytest.mark.parametrize("name", ["cv", "estimators", "n_jobs"])
def test_candidates_do_not_have_the_names_of_parameters(name):
    X, y = DIABETES
    model = hr.EnsembleRegressor([(name, hr.DecisionTreeRegressor())], cv=3)
    assert model.get_params()["cv"] == 3
    with pytest.raises(hr.ParameterError, match="not names of the ensemble's parameters"):
        model.fit(X, y)
