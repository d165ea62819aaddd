"""The stagewise estimators: scikit-learn's contract, any learner, any table, what can fail."""

import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from contract import parametrize_with_checks, run_check
from hedgerow import (
    BaggingRegressor,
    DataError,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HedgerowError,
    ParameterError,
)
from hedgerow._stagewise import StagewiseClassifier, StagewiseRegressor
from hedgerow._stagewise.losses import HuberLoss
from hedgerow._stagewise.parameters import PARAMETERS

N = 200
RNG = np.random.default_rng(1)
X = RNG.normal(size=(N, 4))
NUMBERS = 2.0 * X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=N) * 0.3
COUNTS = RNG.poisson(np.exp(0.5 * X[:, 0]))
TWO = (NUMBERS + RNG.normal(size=N) > 1).astype(int)
THREE = np.digitize(NUMBERS, [0.0, 2.0])
W = RNG.uniform(0.1, 2.0, N)
LOSSES = ["squared_error", "absolute_error", "huber", "quantile", "poisson"]

BOTH = pytest.mark.parametrize("estimator", [StagewiseClassifier, StagewiseRegressor])


def classifier(*args, **parameters):
    return StagewiseClassifier(*args, **{"n_estimators": 8} | parameters)


def regressor(*args, **parameters):
    return StagewiseRegressor(*args, **{"n_estimators": 8} | parameters)


def raw(model, table=X):
    return (model.decision_function if hasattr(model, "classes_") else model.predict)(table)


class Cosh:
    """log cosh of the residual, as a user would write it."""

    def __repr__(self):
        return "Cosh"

    def loss(self, y, F):
        return np.logaddexp(y - F, F - y)

    def gradient(self, y, F):
        return np.tanh(F - y)


class Softmax:
    """The multinomial log loss, as a user would write it."""

    def __repr__(self):
        return "Softmax"

    def loss(self, y, F):
        return np.log(np.exp(F).sum(axis=1)) - F[np.arange(len(y)), y.astype(int)]

    def gradient(self, y, F):
        p = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
        return p - np.eye(F.shape[1])[y.astype(int)]


class TakesNoWeights(RegressorMixin, BaseEstimator):
    """A mean that cannot be weighted."""

    def fit(self, X, y):  # noqa: ARG002
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Fails(TakesNoWeights):
    """A learner that is interrupted in its third fit."""

    fits = 0

    def fit(self, X, y):
        Fails.fits += 1
        if Fails.fits >= 3:
            raise KeyboardInterrupt
        return super().fit(X, y)


FEW = {"n_estimators": 8, "learning_rate": 0.5}


@parametrize_with_checks(
    [
        StagewiseClassifier(n_estimators=3),
        StagewiseRegressor(n_estimators=3, learning_rate=0.5),
        StagewiseClassifier(RidgeClassifier(), loss="exponential", n_estimators=3),
        StagewiseRegressor(loss="poisson", step="line_search", **FEW),
        StagewiseRegressor(LinearRegression(), loss="huber", n_estimators=3, learning_rate=0.5),
    ]
)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


# Learners and tables


class OnlyAnArray:
    """Rows of which nothing is known but that they can become an array."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


@pytest.mark.parametrize("parameters", [{"subsample": 0.5}, {"early_stopping": True}])
def test_what_can_only_become_an_array_is_taken_apart(parameters):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = StagewiseRegressor(**FEW, **parameters)
    expected = model.fit(X, X[:, 0]).predict(X)
    np.testing.assert_array_equal(model.fit(OnlyAnArray(X), X[:, 0]).predict(X), expected)


def test_one_row_is_told_to_be_one_sample():
    for model in (StagewiseRegressor(early_stopping=True), BaggingRegressor(max_samples=3)):
        with pytest.raises(ValueError, match="1 sample"):
            model.fit([[1.0]], [1.0])


@pytest.mark.parametrize(
    "learner",
    [
        LinearRegression(),
        KNeighborsRegressor(),
        SVR(),
        make_pipeline(StandardScaler(), Ridge()),
        DecisionTreeRegressor(max_depth=2),
        RandomForestRegressor(n_estimators=3, max_depth=2),
        GradientBoostingRegressor(n_estimators=3),
        LogisticRegression(),
        GradientBoostingClassifier(n_estimators=3),
        None,
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_any_learner_lowers_the_loss(learner):
    for model in (
        regressor(learner, loss="absolute_error", step="line_search"),
        regressor(learner),
        classifier(learner),
        classifier(learner, loss="exponential", step="line_search"),
    ):
        y = NUMBERS if isinstance(model, StagewiseRegressor) else TWO
        scores = model.fit(X, y).train_score_
        assert len(scores) == model.n_iter_ == len(model.estimators_) == len(model.steps_) == 8
        assert (np.diff(scores) <= 1e-12).all()
        assert scores[-1] < scores[0]
    three = classifier(learner).fit(X, THREE)
    assert len(three.estimators_) == 24
    assert three.score(X, THREE) > 0.5


@pytest.mark.parametrize("step", ["line_search", "per_leaf"])
@pytest.mark.parametrize("loss", [*LOSSES, Cosh()], ids=str)
@pytest.mark.parametrize("learning_rate", [0.1, 1.0])
def test_the_training_loss_of_a_regressor_never_rises(loss, step, learning_rate):
    y = COUNTS if loss == "poisson" else NUMBERS
    model = regressor(loss=loss, step=step, learning_rate=learning_rate, n_estimators=25)
    model.fit(X, y, W)
    if loss != "huber":
        assert (np.diff(model.train_score_) <= 1e-12 * np.abs(model.train_score_[:-1])).all()
        return
    before = np.full(N, model.init_[0])  # each round has a δ of its own
    for after, score in zip(model.staged_predict(X), model.train_score_, strict=True):
        of_round = HuberLoss(0.9).adapted(y, before, W)
        assert of_round.mean_loss(y, after, W) <= of_round.mean_loss(y, before, W)
        assert score == pytest.approx(of_round.mean_loss(y, after, W), rel=1e-12)
        before = after


@pytest.mark.parametrize("step", ["line_search", "per_leaf"])
@pytest.mark.parametrize("learning_rate", [0.1, 1.0])
@pytest.mark.parametrize(
    ("loss", "y"),
    [("log_loss", TWO), ("exponential", TWO), ("log_loss", THREE), (Softmax(), THREE)],
    ids=["binomial", "exponential", "multinomial", "own"],
)
def test_the_training_loss_of_a_classifier_never_rises(loss, y, step, learning_rate):
    model = classifier(loss=loss, step=step, learning_rate=learning_rate).fit(X, y, W)
    assert (np.diff(model.train_score_) <= 1e-12).all()


def test_frames_sparse_matrices_and_lists_are_handed_on():
    expected = regressor().fit(X, NUMBERS).predict(X)
    names = list("abcd")
    frame = pd.DataFrame(X, columns=names)
    for table in (frame, pl.DataFrame(X, schema=names), scipy.sparse.csr_array(X), X.tolist()):
        model = regressor().fit(table, NUMBERS)
        np.testing.assert_array_equal(model.predict(table), expected)
        assert model.n_features_in_ == 4
    assert regressor().fit(frame, NUMBERS).feature_names_in_.tolist() == names
    model = regressor().fit(frame, NUMBERS)
    np.testing.assert_array_equal(model.predict(frame[["b", "a", "c", "d"]]), expected)
    with pytest.raises(ValueError, match="X has no column 'd'"):
        model.predict(frame[["b", "a", "c"]])


def test_the_default_learner_takes_gaps_and_categories():
    table = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "high", "low")})
    table.loc[::7, "a"] = np.nan
    assert regressor(n_estimators=50).fit(table, NUMBERS).score(table, NUMBERS) > 0.7


def test_text_goes_to_a_learner_that_reads_text():
    texts = ["good", "bad", "good good", "bad bad"] * 10
    model = classifier(make_pipeline(CountVectorizer(), Ridge())).fit(texts, [1, 0, 1, 0] * 10)
    assert model.predict(["good", "bad"]).tolist() == [1, 0]


def test_one_dimension_is_explained():
    model = regressor().fit(X, NUMBERS)
    with pytest.raises(DataError, match="Reshape your data"):
        model.predict(X[0])


@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array([-1, 1])])
def test_labels_of_any_kind_give_the_same_model(labels):
    expected = classifier().fit(X, TWO)
    model = classifier().fit(X, labels[TWO])
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), labels[expected.predict(X)])


@pytest.mark.parametrize("loss", ["log_loss", "exponential", Softmax()], ids=str)
def test_probabilities_decisions_and_labels_agree(loss):
    y = THREE if isinstance(loss, Softmax) else TWO
    model = classifier(loss=loss).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 8
    np.testing.assert_array_equal(stages[-1], p)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    np.testing.assert_array_equal(
        list(model.staged_decision_function(X))[-1], model.decision_function(X)
    )


def test_a_count_is_predicted_as_a_mean():
    model = regressor(loss="poisson", n_estimators=100).fit(X, COUNTS)
    assert model.predict(X).min() > 0.0
    assert model.predict(X).mean() == pytest.approx(COUNTS.mean(), rel=0.02)
    assert next(model.staged_predict(X)).min() > 0.0


# Weights


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("step", ["line_search", "auto"])
def test_weights_are_repetitions(loss, step):
    y = COUNTS if loss == "poisson" else NUMBERS
    w = RNG.integers(0, 4, N)
    rows = np.repeat(np.arange(N), w)
    options = {"loss": loss, "step": step, "n_estimators": 5}
    learner = GradientBoostingRegressor(
        n_estimators=1, learning_rate=1.0, max_leaves=4, splitter="exact", min_samples_leaf=1
    )
    weighted = StagewiseRegressor(learner, **options).fit(X, y, w)
    repeated = StagewiseRegressor(learner, **options).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8)


def test_weights_need_a_learner_that_takes_them():
    with pytest.raises(
        ParameterError, match="estimator=KNeighborsRegressor does not support sample_weight"
    ):
        regressor(KNeighborsRegressor()).fit(X, NUMBERS, W)
    with pytest.raises(ParameterError, match="init=TakesNoWeights does not support sample_weight"):
        regressor(init=TakesNoWeights()).fit(X, NUMBERS, W)
    with pytest.raises(ParameterError, match=r"does not support sample_weight .* hessian"):
        classifier(KNeighborsRegressor(), response="newton", step="unit").fit(X, TWO)
    with pytest.raises(ParameterError, match=r"does not support sample_weight .* gradients"):
        classifier(KNeighborsClassifier(), loss="exponential").fit(X, TWO)


def test_a_pipeline_takes_weights_when_they_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        ridge = Ridge().set_fit_request(sample_weight=True)
        piped = regressor(make_pipeline(scaler, ridge)).fit(X, NUMBERS, W)
        deaf = Ridge().set_fit_request(sample_weight=False)
        with pytest.raises(ParameterError, match="does not support sample_weight"):
            regressor(make_pipeline(scaler, deaf)).fit(X, NUMBERS, W)
    by_hand = regressor(Ridge()).fit(StandardScaler().fit_transform(X), NUMBERS, W)
    np.testing.assert_allclose(piped.predict(X), by_hand.predict(StandardScaler().fit_transform(X)))


def test_sample_weight_is_routed_to_the_estimator():
    with sklearn.config_context(enable_metadata_routing=True):
        model = regressor().set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        actual = cross_validate(
            model, X, NUMBERS, cv=3, params={"sample_weight": W}, return_estimator=True
        )
    train = np.arange(N) >= 67
    expected = regressor().fit(X[train], NUMBERS[train], W[train])
    np.testing.assert_array_equal(actual["estimator"][0].predict(X), expected.predict(X))


# Starts


def test_the_scores_start_where_init_says():
    constant = regressor(DummyRegressor(), step="unit").fit(X, NUMBERS)
    np.testing.assert_allclose(constant.init_, NUMBERS.mean())
    np.testing.assert_allclose(constant.predict(X), NUMBERS.mean())
    assert regressor(init="zero").fit(X, NUMBERS).init_.tolist() == [0.0]
    assert classifier(init="zero").fit(X, THREE).init_.tolist() == [0.0] * 3
    linear = regressor(DummyRegressor(), init=LinearRegression()).fit(X, NUMBERS)
    np.testing.assert_allclose(
        linear.predict(X), LinearRegression().fit(X, NUMBERS).predict(X), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("loss", "y"), [("log_loss", TWO), ("exponential", TWO), ("log_loss", THREE)]
)
def test_a_classifier_as_a_start_gives_its_probabilities(loss, y):
    init = LogisticRegression()
    model = classifier(init=init, loss=loss, learning_rate=1e-9, n_estimators=1).fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(X), init.fit(X, y).predict_proba(X), rtol=1e-6, atol=1e-6
    )
    sure = classifier(init=DecisionTreeClassifier(), loss=loss).fit(X, y)
    assert np.isfinite(sure.predict_log_proba(X)).all()
    priors = classifier(init=DummyClassifier(), loss=loss).fit(X, y)
    np.testing.assert_allclose(
        priors.predict_proba(X), classifier(loss=loss).fit(X, y).predict_proba(X), rtol=1e-9
    )


def test_a_start_that_cannot_be_one_is_named():
    with pytest.raises(ParameterError, match="init=LinearRegression has no predict_proba"):
        classifier(init=LinearRegression()).fit(X, TWO)
    with pytest.raises(ParameterError, match=r"init=LinearRegression predicts .* not positive"):
        regressor(init=LinearRegression(), loss="poisson").fit(X, COUNTS)


def test_what_a_start_or_a_learner_keeps_is_not_written_to():
    class Remembers(TakesNoWeights):
        def predict(self, X):
            if not hasattr(self, "said_"):
                self.said_ = super().predict(X)
            return self.said_

    model = regressor(Remembers(), init=Remembers(), n_estimators=3, step="unit").fit(X, TWO)
    assert model.init_.said_.tolist() == [TWO.mean()] * N
    assert all((learner.said_ == learner.mean_).all() for learner in model.estimators_)


def test_nothing_left_to_learn_ends_the_rounds():
    model = regressor().fit(X, np.full(N, 3.0))
    assert model.n_iter_ == 0
    assert model.predict(X).tolist() == [3.0] * N
    assert list(model.staged_predict(X)) == []
    exact = regressor(DecisionTreeRegressor(), learning_rate=1.0).fit(X, NUMBERS)
    assert exact.n_iter_ < 4
    np.testing.assert_allclose(exact.predict(X), NUMBERS, rtol=1e-12)


# Randomness, more rounds, stopping


@BOTH
def test_the_same_seed_gives_the_same_model(estimator):
    options = {"subsample": 0.5, "n_estimators": 5}
    y = TWO
    learner = DecisionTreeRegressor(max_depth=2, max_features=1)
    first, again, other = (
        raw(estimator(learner, random_state=seed, **options).fit(X, y)) for seed in (4, 4, 5)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    stream = estimator(learner, random_state=np.random.RandomState(4), **options)
    assert (raw(clone(stream).fit(X, y)) != raw(clone(stream.fit(X, y)).fit(X, y))).any()
    assert (raw(estimator(learner, random_state=None, **options).fit(X, y)) != first).any()


def test_a_round_sees_its_part_of_the_rows_and_steps_by_it():
    observed = []

    class Records(DecisionTreeRegressor):
        def fit(self, X, y, sample_weight=None):
            observed.append((X, y))
            return super().fit(X, y, sample_weight)

    model = regressor(
        Records(max_depth=2), loss="absolute_error", step="per_leaf", subsample=0.25
    ).fit(X, NUMBERS)
    before = np.full(N, np.median(NUMBERS))
    rows = []
    for (Xs, response), learner, steps, after in zip(
        observed, model.estimators_, model.steps_, model.staged_predict(X), strict=True
    ):
        sampled = np.flatnonzero((X[:, None] == Xs).all(axis=2).any(axis=1))
        rows.append(tuple(sampled))
        assert len(sampled) == 50
        np.testing.assert_array_equal(response, np.sign(NUMBERS - before)[sampled])
        for leaf in np.unique(learner.apply(Xs)):
            inside = sampled[learner.apply(Xs) == leaf]
            assert steps[leaf] == pytest.approx(np.median((NUMBERS - before)[inside]))
        before = after
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("step", ["line_search", "newton"])
def test_a_warm_start_goes_on_where_it_was(step):
    for make, y in ((classifier, THREE), (regressor, NUMBERS)):
        options = {"step": step, "subsample": 0.7, "warm_start": True}
        model = make(n_estimators=3, **options).fit(X, y)
        first = model.estimators_[0]
        model.set_params(n_estimators=7).fit(X, y)
        whole = make(n_estimators=7, **options).fit(X, y)
        np.testing.assert_array_equal(raw(model), raw(whole))
        np.testing.assert_array_equal(model.train_score_, whole.train_score_)
        assert model.estimators_[0] is first
        with pytest.raises(ParameterError, match="n_estimators=6 is less than the 7 rounds"):
            model.set_params(n_estimators=6).fit(X, y)
        with pytest.raises(ValueError, match="3 features"):
            model.set_params(n_estimators=9).fit(X[:, :3], y)
    cold = regressor(n_estimators=3).fit(X, NUMBERS).set_params(n_estimators=2).fit(X, NUMBERS)
    assert cold.n_iter_ == 2


def test_a_warm_start_keeps_the_model_if_no_round_is_better():
    options = {"early_stopping": True, "n_iter_no_change": 3, "tol": 0.0, "learning_rate": 1.0}
    model = regressor(n_estimators=20, warm_start=True, **options).fit(X, NUMBERS)
    before = model.best_iteration_, model.best_score_, model.predict(X).tolist()
    model.set_params(n_estimators=40).fit(X, NUMBERS)
    assert (model.best_iteration_, model.best_score_, model.predict(X).tolist()) == before
    assert model.n_iter_ == before[0] < 20
    with pytest.warns(UserWarning, match="already has n_estimators"):
        model.set_params(n_estimators=model.n_iter_).fit(X, NUMBERS)


def test_a_warm_start_may_change_the_step_and_the_rate_but_not_what_scores_mean():
    model = classifier(step="line_search", n_estimators=2, warm_start=True).fit(X, TWO)
    before = model.decision_function(X)
    model.set_params(step="newton", n_estimators=3, learning_rate=0.5).fit(X, TWO)
    np.testing.assert_array_equal(list(model.staged_decision_function(X))[1], before)
    assert [np.ndim(step) for step in model.steps_] == [0, 0, 1]
    with pytest.raises(ParameterError, match="has a different link"):
        model.set_params(loss="exponential", n_estimators=4).fit(X, TWO)
    with pytest.raises(DataError, match="not among the classes"):
        model.set_params(loss="log_loss").fit(X, TWO + 1)


def test_parameters_changed_after_fit_do_not_change_the_model():
    model = regressor().fit(X, NUMBERS)
    before = model.predict(X)
    model.set_params(learning_rate=0.9, step="unit", loss="poisson", n_estimators=1)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_early_stopping_goes_back_to_the_best_round(loss):
    noisy = NUMBERS + RNG.normal(size=N) * 2
    model = regressor(
        loss=loss, early_stopping=True, n_iter_no_change=4, learning_rate=0.5, n_estimators=200
    ).fit(X, noisy, W)
    assert model.n_iter_ == model.best_iteration_ == len(model.train_score_) < 100
    assert len(model.validation_score_) == model.n_iter_ + 4
    assert model.best_score_ == model.validation_score_.min()
    assert model.validation_score_.argmin() + 1 == model.n_iter_
    assert len(model.estimators_) == model.n_iter_


def test_early_stopping_measures_on_rows_that_are_not_trained_on():
    model = regressor(
        DecisionTreeRegressor(), learning_rate=1.0, early_stopping=True, validation_fraction=0.3
    ).fit(X, NUMBERS)
    right = np.isclose(model.predict(X), NUMBERS)
    assert right.sum() == 140
    assert model.validation_score_[0] == pytest.approx(
        0.5 * np.mean((NUMBERS - model.predict(X))[~right] ** 2), rel=1e-6
    )


def test_progress_is_told_in_lines(capsys):
    regressor(verbose=4, early_stopping=True).fit(X, NUMBERS)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["round 4/8", "round 8/8"]
    assert "train loss" in lines[0]
    assert "validation loss" in lines[0]


# What can fail


@BOTH
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(estimator):
    model = estimator(n_estimators=5).fit(X, TWO)
    before = dict(vars(model))
    Fails.fits = 0
    model.set_params(estimator=Fails())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], TWO)
    assert vars(model) == before | {"estimator": model.estimator}
    np.testing.assert_array_equal(raw(model), raw(estimator(n_estimators=5).fit(X, TWO)))


def test_the_given_estimators_are_not_fitted():
    learner, init = DecisionTreeRegressor(max_depth=2), LinearRegression()
    model = regressor(learner, init=init).fit(X, NUMBERS)
    assert not hasattr(learner, "tree_")
    assert not hasattr(init, "coef_")
    assert model.estimator is learner


NOT_ALLOWED = [
    ("estimator", "tree"),
    ("estimator", DecisionTreeRegressor),
    ("estimator", 3),
    ("loss", "hinge"),
    ("loss", np.square),
    ("loss", Cosh),
    ("response", "hessian"),
    ("step", "wolfe"),
    ("step", None),
    ("learning_rate", 0.0),
    ("learning_rate", np.nan),
    ("n_estimators", 0),
    ("n_estimators", 2.0),
    ("subsample", 0.0),
    ("subsample", 1.5),
    ("init", "mean"),
    ("init", 0.5),
    ("early_stopping", 1),
    ("validation_fraction", 1.0),
    ("n_iter_no_change", 0),
    ("tol", -1.0),
    ("warm_start", "yes"),
    ("random_state", -1),
    ("verbose", -1),
]


class Untouchable:
    """A table that fails when it is looked at."""

    def __getattribute__(self, name):
        raise AssertionError("the table was touched")


@BOTH
@pytest.mark.parametrize(("name", "value"), NOT_ALLOWED)
def test_what_is_not_allowed_is_named_before_any_work(estimator, name, value):
    with pytest.raises(ParameterError, match=rf"^{name}=.* must be "):
        estimator(**{name: value}).fit(Untouchable(), Untouchable())


@pytest.mark.parametrize("alpha", [0.0, 1.0, "a"])
def test_alpha_is_a_part(alpha):
    with pytest.raises(ParameterError, match=r"^alpha=.* must be "):
        regressor(alpha=alpha).fit(Untouchable(), Untouchable())


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (regressor(LinearRegression(), step="per_leaf"), "LinearRegression is not a tree"),
        (regressor(RandomForestRegressor(), step="newton"), "RandomForestRegressor is not a tree"),
        (regressor(loss="absolute_error", step="newton"), "'absolute_error' does not have"),
        (regressor(loss="quantile", step="newton"), "'quantile' does not have"),
        (regressor(loss="huber", response="newton"), "'huber' does not have"),
        (regressor(loss=Cosh(), response="newton"), "'custom' does not have"),
        (regressor(LogisticRegression(), response="newton"), "is a classifier"),
    ],
)
def test_parameters_that_do_not_go_together_are_named(model, says):
    with pytest.raises(ParameterError, match=says):
        model.fit(X, NUMBERS)


@pytest.mark.parametrize(
    ("y", "w", "says"),
    [
        (NUMBERS[:-1], None, "y has 199 values"),
        (np.where(X[:, 0] > 0, np.nan, 1.0), None, "NaN"),
        (NUMBERS, W[:-1], "sample_weight has 199"),
        (NUMBERS, -W, "negative"),
        (NUMBERS, 0 * W, "zero in every row"),
        (None, None, "requires y"),
    ],
)
def test_wrong_data_are_named(y, w, says):
    with pytest.raises(DataError, match=says):
        regressor().fit(X, y, w)


def test_targets_that_a_loss_cannot_have_are_named():
    with pytest.raises(DataError, match="needs y >= 0"):
        regressor(loss="poisson").fit(X, NUMBERS)
    with pytest.raises(DataError, match="Only binary classification is supported"):
        classifier(loss="exponential").fit(X, THREE)
    with pytest.raises(DataError, match="only one class"):
        classifier().fit(X, np.zeros(N))


@pytest.mark.parametrize("table", ["train.csv", {"a": [1, 2]}, b"x"])
def test_what_is_no_table_is_called_by_its_name(table):
    with pytest.raises(TypeError, match=f"X is a {type(table).__name__}"):
        regressor().fit(table, [1.0, 2.0])
    with pytest.raises(TypeError, match=f"X is a {type(table).__name__}"):
        regressor().fit(X, NUMBERS).predict(table)


def test_too_few_rows_to_hold_out_any():
    with pytest.raises(DataError, match=r"validation_fraction=0.1 of 3 rows\. Set a larger"):
        regressor(early_stopping=True).fit(X[:3], NUMBERS[:3])


def test_a_sum_of_steps_that_goes_to_and_fro_is_an_error():
    with pytest.raises(ParameterError, match=r"learning_rate=3\.0 makes the loss diverge"):
        regressor(learning_rate=3.0, n_estimators=2000).fit(X[:20], NUMBERS[:20])


def test_scores_that_grow_beyond_all_bounds_are_an_error():
    for loss, y in (("squared_error", NUMBERS), ("poisson", COUNTS)):
        with pytest.raises(ParameterError, match="learning_rate=1e"):
            regressor(loss=loss, learning_rate=1e200, step="unit").fit(X, y)


def test_a_gradient_that_is_no_number_is_an_error():
    class Undefined(Cosh):
        def gradient(self, y, F):
            return np.where(y > 2, np.nan, F - y)

    with pytest.raises(ParameterError, match="gradient of 'custom' is NaN"):
        regressor(loss=Undefined(), init="zero").fit(X, NUMBERS)


def test_a_learner_that_predicts_no_number_is_an_error():
    class Infinite(TakesNoWeights):
        def predict(self, X):
            return np.full(len(X), np.inf)

    class Wide(TakesNoWeights):
        def predict(self, X):
            return np.zeros((len(X), 2))

    for learner in (Infinite(), Wide()):
        with pytest.raises(ParameterError, match="must predict one finite number"):
            regressor(learner).fit(X, NUMBERS)


def test_leaves_of_many_trees_are_an_error():
    class Forest(TakesNoWeights):
        def apply(self, X):
            return np.zeros((len(X), 3), dtype=int)

    with pytest.raises(ParameterError, match=r"Forest is not one tree: .* \(200, 3\)"):
        regressor(Forest(), step="per_leaf").fit(X, NUMBERS)


@BOTH
def test_before_fit_there_is_nothing_to_predict(estimator):
    for method in ("predict", "staged_predict"):
        with pytest.raises(NotFittedError):
            getattr(estimator(), method)(X)


@BOTH
def test_errors_of_a_fit_are_hedgerow_s(estimator):
    with pytest.raises(HedgerowError):
        estimator().fit(X, None)


# Contract


@BOTH
def test_every_default_is_allowed_and_is_the_signature_s(estimator):
    signature = inspect.signature(estimator).parameters
    assert [p.name for p in estimator._parameters] == list(signature)
    for parameter in estimator._parameters:
        parameter.check(parameter.default)
        assert signature[parameter.name].default == parameter.default
        assert f"\n{parameter.name} : " in estimator.__doc__
    assert "{parameters}" not in estimator.__doc__


def test_every_description_is_a_sentence():
    for parameter in PARAMETERS:
        assert parameter.description.endswith("."), parameter.name


@pytest.mark.parametrize("model", [classifier(), regressor(loss="huber", step="line_search")])
def test_a_pickle_predicts_the_same(model):
    model = clone(model).fit(X, TWO)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(raw(copy), raw(model))


def test_search_over_the_learner_in_a_pipeline():
    grid = {
        "stagewiseclassifier__estimator__max_depth": [1, 3],
        "stagewiseclassifier__step": ["line_search", "newton"],
    }
    learner = DecisionTreeRegressor()
    pipeline = make_pipeline(StandardScaler(), StagewiseClassifier(learner, n_estimators=20))
    data = load_breast_cancer(return_X_y=True)
    assert GridSearchCV(pipeline, grid, cv=2).fit(*data).best_score_ > 0.92


def test_real_data_are_learned():
    data = load_breast_cancer(return_X_y=True)
    scores = cross_val_score(StagewiseClassifier(), *data, cv=3, scoring="neg_log_loss")
    assert scores.mean() > -0.2
    data = load_diabetes(return_X_y=True)
    assert cross_val_score(StagewiseRegressor(), *data, cv=3).mean() > 0.35


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("weights", [None, W], ids=["unweighted", "weighted"])
def test_class_weights_multiply_the_weights_of_rows(y, weights):
    of_class = {0: 3.0, 1: 0.5}
    by_row = np.array([of_class.get(label, 1.0) for label in y])
    w = by_row if weights is None else by_row * weights
    options = {"n_estimators": 3}
    np.testing.assert_array_equal(
        raw(classifier(class_weight=of_class, **options).fit(X, y, weights)),
        raw(classifier(**options).fit(X, y, w)),
    )
    counts = np.bincount(y, weights)
    balanced = (counts.sum() / (len(counts) * counts))[y] * (1.0 if weights is None else weights)
    np.testing.assert_allclose(
        raw(classifier(class_weight="balanced", **options).fit(X, y, weights)),
        raw(classifier(**options).fit(X, y, balanced)),
        rtol=1e-9,
    )


def test_class_weights_need_a_learner_that_takes_them_and_classes_that_exist():
    with pytest.raises(ParameterError, match="class_weight is set"):
        classifier(TakesNoWeights(), class_weight="balanced").fit(X, TWO)
    with pytest.raises(ParameterError, match="class_weight refers to"):
        classifier(class_weight={7: 2.0}).fit(X, TWO)
