"""`init_estimator`: trees that add to the scores of any other estimator."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import hedgerow as hr
from hedgerow._contract import internals

RNG = np.random.default_rng(4)
N = 700
X = RNG.normal(size=(N, 4))
SIGNAL = X[:, 0] - 0.5 * X[:, 1] + np.sin(3.0 * X[:, 2])
NUMBERS = 3.0 + SIGNAL + RNG.normal(0, 0.3, N)
COUNTS = RNG.poisson(np.exp(0.5 * SIGNAL)).astype(float)
CLASSES = np.where(RNG.random(N) < expit(2 * SIGNAL), "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(SIGNAL, [-0.8, 0.9])]
WEIGHTS = RNG.uniform(0.5, 2.0, N)
FEW = {"n_estimators": 8, "random_state": 0}


def log_odds(p):
    return np.log(p[:, 1]) - np.log(p[:, 0])


# An estimator, its initial estimator, y, and the scores that the initial estimator stands for.
CASES = {
    "numbers": (
        hr.GradientBoostingRegressor(**FEW),
        *(Ridge(), NUMBERS, lambda first: first.predict(X)),
    ),
    "trees": (
        hr.GradientBoostingRegressor(**FEW),
        *(hr.DecisionTreeRegressor(max_depth=2), NUMBERS, lambda first: first.predict(X)),
    ),
    "counts": (
        hr.GradientBoostingRegressor(loss="poisson", **FEW),
        *(PoissonRegressor(), COUNTS, lambda first: np.log(first.predict(X))),
    ),
    "fractions": (
        hr.GradientBoostingRegressor(loss="log_loss", **FEW),
        KNeighborsRegressor(),
        expit(NUMBERS - 3),
        lambda first: np.log(first.predict(X)) - np.log1p(-first.predict(X)),
    ),
    "quantiles": (
        hr.GradientBoostingRegressor(loss="quantile", quantile=[0.2, 0.8], **FEW),
        *(Ridge(), NUMBERS, lambda first: np.column_stack([first.predict(X)] * 2)),
    ),
    "several outputs": (
        hr.GradientBoostingRegressor(**FEW),
        *(LinearRegression(), np.column_stack([NUMBERS, COUNTS]), lambda first: first.predict(X)),
    ),
    "two classes": (
        hr.GradientBoostingClassifier(**FEW),
        *(LogisticRegression(), CLASSES, lambda first: log_odds(first.predict_proba(X))),
    ),
    "exponential": (
        hr.GradientBoostingClassifier(loss="exponential", **FEW),
        *(LogisticRegression(), CLASSES, lambda first: log_odds(first.predict_proba(X)) / 2),
    ),
    "hinge": (
        hr.GradientBoostingClassifier(loss="hinge", **FEW),
        *(LinearSVC(), CLASSES, lambda first: first.decision_function(X)),
    ),
    "three classes": (
        hr.GradientBoostingClassifier(**FEW),
        *(LogisticRegression(), THREE, lambda first: np.log(first.predict_proba(X))),
    ),
    "pipeline": (
        hr.GradientBoostingRegressor(**FEW),
        make_pipeline(StandardScaler(), Ridge(alpha=3.0)),
        *(NUMBERS, lambda first: first.predict(X)),
    ),
}


def scores_of(model, rows=X, offset=None):
    return internals(model).scores(rows, offset=offset)


@pytest.mark.parametrize("name", CASES)
def test_it_is_an_offset_of_what_it_predicts(name):
    model, first, y, to_scores = CASES[name]
    fitted = clone(model).set_params(init_estimator=first).fit(X, y)
    by_hand = clone(first).fit(X, y)
    offset = to_scores(by_hand)
    beside = clone(model).fit(X, y, offset=offset)
    np.testing.assert_allclose(
        scores_of(fitted), scores_of(beside, offset=offset), rtol=1e-9, atol=1e-9
    )
    *_, last = fitted.staged_predict(X)
    np.testing.assert_array_equal(last, fitted.predict(X))
    assert not hasattr(first, "n_features_in_")  # a clone was fitted


def test_trees_improve_on_it_and_it_on_trees():
    train, test = slice(0, 500), slice(500, N)
    far = X[test] * [3, 3, 1, 1]  # beyond the training set, where trees are constant
    y = 3.0 + far[:, 0] - 0.5 * far[:, 1] + np.sin(3.0 * far[:, 2])
    both = hr.GradientBoostingRegressor(n_estimators=100, init_estimator=Ridge())
    both.fit(X[train], NUMBERS[train])
    trees = hr.GradientBoostingRegressor(n_estimators=100).fit(X[train], NUMBERS[train])
    line = Ridge().fit(X[train], NUMBERS[train])
    assert both.score(far, y) > 0.9
    assert both.score(far, y) > max(trees.score(far, y), line.score(far, y)) + 0.03


def test_a_frozen_estimator_is_not_fitted_again():
    line = Ridge().fit(X[:50], NUMBERS[:50])
    model = hr.GradientBoostingRegressor(**FEW, init_estimator=FrozenEstimator(line))
    model.fit(X, NUMBERS)
    beside = hr.GradientBoostingRegressor(**FEW).fit(X, NUMBERS, offset=line.predict(X))
    np.testing.assert_array_equal(model.predict(X), beside.predict(X, offset=line.predict(X)))
    assert model.init_estimator_.estimator is line


class Recorder(BaseEstimator):
    """Records what it is fitted to, and predicts the mean."""

    rows = None

    def fit(self, X, y, sample_weight=None):
        Recorder.rows = X, y, sample_weight
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.mean_)


def test_it_sees_neither_holdout():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = hr.GradientBoostingRegressor(
        **FEW, init_estimator=Recorder(), early_stopping=True, calibration="conformal"
    )
    model.fit(frame, NUMBERS, WEIGHTS)
    rows, y, weights = Recorder.rows
    assert isinstance(rows, pd.DataFrame)
    assert 0.7 * N < len(rows) < 0.9 * N
    np.testing.assert_array_equal(y, NUMBERS[rows.index])
    np.testing.assert_array_equal(weights, WEIGHTS[rows.index])


def test_evaluation_sets_and_offsets_are_added():
    train, test = slice(0, 500), slice(500, N)
    offset = RNG.normal(size=N)
    model = hr.GradientBoostingRegressor(**FEW, init_estimator=Ridge())
    entry = (X[test], NUMBERS[test], None, offset[test])
    model.fit(X[train], NUMBERS[train], offset=offset[train], eval_set=[entry])
    error = np.mean((NUMBERS[test] - model.predict(X[test], offset=offset[test])) ** 2) ** 0.5
    assert model.evals_result_["eval_0"]["rmse"][-1] == pytest.approx(error)


@pytest.mark.parametrize("kind", ["frame", "sparse", "list"])
def test_tables_of_any_kind_are_passed_on(kind):
    table = {
        "frame": pd.DataFrame(X, columns=list("abcd")),
        "sparse": scipy.sparse.csr_matrix(X),
        "list": X.tolist(),
    }[kind]
    model = hr.GradientBoostingRegressor(**FEW, init_estimator=Ridge(), early_stopping=True)
    predicted = clone(model).fit(table, NUMBERS).predict(table)
    np.testing.assert_allclose(predicted, clone(model).fit(X, NUMBERS).predict(X), atol=1e-6)


def test_the_automatic_search_and_cross_validation_use_it():
    model = hr.GradientBoostingRegressor(init_estimator=Ridge(), random_state=0, budget="quick")
    assert model.fit(X, NUMBERS).auto_.n_folds > 0
    few = hr.GradientBoostingRegressor(**FEW, init_estimator=Ridge())
    result = hr.cross_validate(few, X, NUMBERS)
    fold = result.folds[0]
    by_hand = clone(few).fit(X[fold.train], NUMBERS[fold.train])
    np.testing.assert_array_equal(result.oof_prediction[fold.test], by_hand.predict(X[fold.test]))


def test_refitting_calibration_and_slices_keep_it():
    model = hr.GradientBoostingClassifier(**FEW, init_estimator=LogisticRegression())
    model.fit(X, CLASSES)
    first = model.init_estimator_
    before = model.predict_proba(X)
    model.refit(X, CLASSES)
    assert model.init_estimator_ is first
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-6)
    model.calibrate(X, CLASSES)
    assert model.init_estimator_ is first
    nothing = model[:0].decision_function(X)
    odds = log_odds(first.predict_proba(X))
    np.testing.assert_allclose(nothing - odds, (nothing - odds)[0], atol=1e-9)


@pytest.mark.parametrize("name", ["trees", "forest of classes"])
def test_files_hold_estimators_of_this_library(name, tmp_path):
    model, first, y = {
        "trees": (
            hr.GradientBoostingRegressor(**FEW),
            hr.DecisionTreeRegressor(max_depth=2),
            NUMBERS,
        ),
        "forest of classes": (
            hr.GradientBoostingClassifier(**FEW),
            *(hr.RandomForestClassifier(n_estimators=5, max_depth=3), THREE),
        ),
    }[name]
    model.set_params(init_estimator=first).fit(X, y).save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model")
    np.testing.assert_array_equal(scores_of(loaded), scores_of(model))
    assert loaded.get_params()["init_estimator__max_depth"] == first.max_depth
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    model._model = replace(model._model, init_estimator=clone(first).fit(X[:, :2], y))
    with pytest.raises(hr.ModelFileError, match="2 columns, not 4"):
        model.save(tmp_path / "bad")


def test_other_estimators_are_pickled_not_saved(tmp_path):
    model = hr.GradientBoostingRegressor(**FEW, init_estimator=Ridge()).fit(X, NUMBERS)
    with pytest.raises(TypeError, match=r"init_estimator=Ridge cannot be saved.*joblib or skops"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_an_interrupted_fit_resumes_from_the_same_start(tmp_path):
    class Stop(Exception):  # noqa: N818
        pass

    def stop(info):
        if info.round == 5:
            raise Stop

    first = hr.DecisionTreeRegressor(max_depth=2)
    model = hr.GradientBoostingRegressor(**FEW, init_estimator=first)
    options = {"checkpoint": tmp_path / "rounds", "checkpoint_every": 1}
    with pytest.raises(Stop):
        clone(model).fit(X, NUMBERS, callbacks=[stop], **options)
    resumed, at_once = clone(model).fit(X, NUMBERS, **options), clone(model).fit(X, NUMBERS)
    np.testing.assert_array_equal(resumed.predict(X), at_once.predict(X))
    deeper = hr.DecisionTreeRegressor(max_depth=3)
    with pytest.raises(hr.ParameterError, match="init_estimator"):
        clone(model).set_params(init_estimator=deeper).fit(X, NUMBERS, **options)
    elsewhere = {"checkpoint": tmp_path / "others"}
    with pytest.raises(hr.ParameterError, match="init_estimator=Ridge cannot be stored"):
        clone(model).set_params(init_estimator=Ridge()).fit(X, NUMBERS, **elsewhere)


def test_a_warm_start_keeps_it():
    model = hr.GradientBoostingRegressor(
        n_estimators=3, warm_start=True, init_estimator=Ridge(), random_state=0
    ).fit(X, NUMBERS)
    first = model.init_estimator_
    model.set_params(n_estimators=8).fit(X, NUMBERS)
    assert model.init_estimator_ is first
    at_once = hr.GradientBoostingRegressor(**FEW, init_estimator=Ridge()).fit(X, NUMBERS)
    np.testing.assert_array_equal(model.predict(X), at_once.predict(X))
    plain = hr.GradientBoostingRegressor(n_estimators=3).fit(X, NUMBERS)
    with pytest.raises(hr.ParameterError, match="fitted without one"):
        clone(at_once).fit(X, NUMBERS, init_model=plain)


class Constant(BaseEstimator):
    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, y):  # noqa: ARG002
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


REFUSED = {
    "no estimator": (hr.GradientBoostingRegressor, "mean", NUMBERS, {}, "init_estimator='mean'"),
    "a class": (hr.GradientBoostingRegressor, Ridge, NUMBERS, {}, "init_estimator="),
    "no probabilities": (
        *(hr.GradientBoostingClassifier, Ridge(), CLASSES, {}),
        "Ridge has no predict_proba",
    ),
    "labels": (
        hr.GradientBoostingClassifier,
        *(LogisticRegression(), RNG.integers(0, 2, (N, 2)), {}, "is multilabel"),
    ),
    "no weights": (
        *(hr.GradientBoostingRegressor, Constant(), NUMBERS, {"sample_weight": WEIGHTS}),
        "does not accept sample_weight",
    ),
    "not finite": (
        *(hr.GradientBoostingRegressor, Constant(np.nan), NUMBERS, {}),
        "not finite",
    ),
    "one output of two": (
        hr.GradientBoostingRegressor,
        *(Constant(), np.column_stack([NUMBERS, COUNTS]), {}, r"\(700, 2\)"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused_by_name(name):
    kind, first, y, options, message = REFUSED[name]
    with pytest.raises(hr.ParameterError, match=message):
        kind(n_estimators=3, init_estimator=first).fit(X, y, **options)


def test_means_that_are_not_positive_have_no_logarithm():
    model = hr.GradientBoostingRegressor(loss="poisson", n_estimators=3, init_estimator=Ridge())
    with pytest.raises(hr.ParameterError, match=r"not positive.*PoissonRegressor"):
        model.fit(X, COUNTS)


def test_errors_of_the_initial_estimator_say_so():
    frame = pd.DataFrame({"town": ["Ulm", "Bonn"] * 50})
    model = hr.GradientBoostingRegressor(n_estimators=3, init_estimator=Ridge())
    with pytest.raises(ValueError, match="could not convert") as caught:
        model.fit(frame, NUMBERS[:100])
    assert caught.value.__notes__ == ["This was init_estimator=Ridge."]


def test_explanations_and_exports_are_refused_with_the_reason(tmp_path):
    model = hr.GradientBoostingRegressor(**FEW, init_estimator=Ridge()).fit(X, NUMBERS)
    with pytest.raises(hr.ParameterError, match=r"init_estimator.*offset"):
        hr.explain.shap_values(model, X)
    with pytest.raises(hr.ExportError, match="init_estimator=Ridge"):
        model.export(tmp_path / "model.txt")
    curve = hr.explain.partial_dependence(model, X[:200], [0])
    assert curve is not None
    plain = hr.GradientBoostingRegressor(**FEW).fit(X, NUMBERS)
    with pytest.raises(AttributeError, match="if init_estimator was set"):
        plain.init_estimator_  # noqa: B018


def test_parquet_files_are_refused(tmp_path):
    pd.DataFrame(X, columns=list("abcd")).assign(y=NUMBERS).to_parquet(tmp_path / "rows.parquet")
    table = hr.ParquetTable(tmp_path / "rows.parquet", target="y")
    model = hr.GradientBoostingRegressor(n_estimators=3, init_estimator=Ridge())
    with pytest.raises(hr.ParameterError, match="needs the table in memory"):
        model.fit(table)
