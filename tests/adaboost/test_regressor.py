"""AdaBoostRegressor against R2 written out and scikit-learn's."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import ensemble
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeRegressor

from hedgerow._adaboost import AdaBoostClassifier, AdaBoostRegressor
from hedgerow._adaboost import learners as adaboost_learners
from hedgerow._adaboost.algorithms import weighted_median
from oracles import adaboost as oracle

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(300, 4)), 1)
Y = X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=300) * 0.5
WEIGHTS = RNG.uniform(0.1, 2.0, 300)
every_loss = pytest.mark.parametrize("loss", ["linear", "square", "exponential"])


def regressor(estimator=None, **parameters):
    return AdaBoostRegressor(estimator, **{"n_estimators": 12} | parameters)


@every_loss
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
@pytest.mark.parametrize("base", [DecisionTreeRegressor(max_depth=3), LinearRegression()])
def test_scikit_learn_draws_and_fits_the_same(base, weights, learning_rate, loss):
    shared = {
        "n_estimators": 10, "loss": loss, "learning_rate": learning_rate, "random_state": 3
    }  # fmt: skip
    peer = ensemble.AdaBoostRegressor(base, **shared).fit(X, Y, weights)
    model = AdaBoostRegressor(base, **shared).fit(X, Y, weights)
    n_rounds = len(model.estimators_)
    assert n_rounds == len(peer.estimators_)
    np.testing.assert_allclose(model.estimator_weights_, peer.estimator_weights_[:n_rounds])
    np.testing.assert_allclose(model.estimator_errors_, peer.estimator_errors_[:n_rounds])
    for ours, theirs in zip(model.staged_predict(X), peer.staged_predict(X), strict=True):
        np.testing.assert_allclose(ours, theirs)
    np.testing.assert_allclose(
        list(model.staged_score(X, Y, weights)), list(peer.staged_score(X, Y, weights))
    )
    np.testing.assert_allclose(model.predict(X), peer.predict(X))


@every_loss
@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
def test_trees_on_bins_boost_like_r2_on_paper(loss, learning_rate):
    model = regressor(
        resample=False, loss=loss, learning_rate=learning_rate, max_depth=2, n_estimators=8
    ).fit(X, Y)

    def fit(w):
        return DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, Y, w).predict

    predictions, weights = oracle.r2(fit, X, Y, 8, loss, learning_rate)
    np.testing.assert_allclose(model.estimator_weights_, weights, rtol=1e-9)
    expected = [oracle.weighted_median(row, weights) for row in predictions.T]
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9)


def test_each_tree_is_grown_on_the_rows_drawn_by_the_weights():
    model = regressor(max_depth=1, n_estimators=6, random_state=5).fit(X, Y)
    random, w = np.random.RandomState(5), np.full(300, 1 / 300)
    for m, view in enumerate(model.estimators_):
        counts = np.bincount(random.choice(300, size=300, p=w), minlength=300).astype(float)
        stump = oracle.best_stump(X[counts > 0], Y[counts > 0, None], counts[counts > 0])
        in_sample = X[counts > 0]
        np.testing.assert_allclose(view.predict(in_sample), stump(in_sample)[:, 0], rtol=1e-9)
        errors = np.abs(view.predict(X) - Y)
        losses = errors / errors.max()
        mean = (w * losses).sum()
        np.testing.assert_allclose(model.estimator_errors_[m], mean, rtol=1e-9)
        w *= (mean / (1 - mean)) ** (1 - losses)
        w /= w.sum()


def test_the_median_is_where_half_the_weight_is_reached():
    rng = np.random.default_rng(2)
    predictions = np.round(rng.normal(size=(200, 7)), 1)
    for weights in (rng.uniform(size=7), np.ones(7), np.eye(7)[3], np.zeros(7)):
        expected = [oracle.weighted_median(row, weights) for row in predictions]
        np.testing.assert_array_equal(weighted_median(predictions, weights), expected)


def test_many_rows_are_sorted_block_by_block():
    rows = np.tile(X, (60, 1))
    model = regressor().fit(X, Y)
    np.testing.assert_array_equal(model.predict(rows), np.tile(model.predict(X), 60))


@pytest.mark.parametrize("base", [None, DecisionTreeRegressor()])
def test_a_perfect_member_ends_the_rounds(base):
    y = np.where(X[:, 0] > 0.25, 3.0, -1.0)
    model = regressor(base, resample=False).fit(X, y)
    assert model.estimator_weights_.tolist() == [1.0]
    assert model.estimator_errors_.tolist() == [0.0]
    np.testing.assert_allclose(model.predict(X), y)


def test_a_perfect_later_member_outweighs_the_others():
    n_found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows, y = rng.normal(size=(12, 3)), rng.integers(0, 2, 12).astype(float)
        model = AdaBoostRegressor(max_depth=2, n_estimators=100, random_state=1).fit(rows, y)
        *others, last = model.estimator_weights_
        if model.estimator_errors_[-1] > 0.0 or not others:
            continue
        n_found += 1
        assert last > sum(others)
        np.testing.assert_allclose(model.predict(rows), y)
    assert n_found > 0


def test_a_first_member_with_a_large_loss_is_the_model():
    constant, y = np.ones((4, 1)), np.array([0.0, 0.0, 1.0, 1.0])
    model = regressor(resample=False).fit(constant, y)
    assert model.estimator_weights_.tolist() == [0.0]
    np.testing.assert_allclose(model.predict(constant), 0.5)
    np.testing.assert_array_equal(model.feature_importances_, [0.0])


def test_one_row_and_one_value_make_constant_models():
    np.testing.assert_array_equal(regressor().fit(X[:1], [5.0]).predict(X), np.full(300, 5.0))
    np.testing.assert_array_equal(regressor().fit(X, np.full(300, 2.0)).predict(X), 2.0)


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_targets_of_any_size_are_learned(scale):
    assert regressor().fit(X, Y * scale).score(X, Y * scale) > 0.7


@pytest.mark.parametrize("to_frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_strings_and_gaps_are_taken_as_they_are(to_frame):
    kind = np.digitize(Y, [0.0, 2.0])
    city = np.array(["Ulm", "Bonn", None], dtype=object)[kind]
    number = np.where(np.arange(300) % 9 == 0, np.nan, X[:, 0])
    frame = to_frame({"number": number, "city": city})
    model = regressor().fit(frame, Y)
    assert model.score(frame, Y) > 0.6
    reordered = frame[["city", "number"]]
    np.testing.assert_array_equal(model.predict(reordered), model.predict(frame))


def test_a_weight_is_a_number_of_rows_when_rows_are_weighed():
    counts = np.random.default_rng(1).integers(1, 4, 300)
    weighted = regressor(resample=False, max_depth=2).fit(X, Y, counts)
    repeated = regressor(resample=False, max_depth=2)
    repeated.fit(X.repeat(counts, axis=0), Y.repeat(counts))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


@pytest.mark.parametrize("resample", [False, True])
def test_rows_of_no_weight_do_not_count(resample):
    weights = (np.arange(300) < 200).astype(float)
    spoiled = np.where(weights > 0, Y, 1e6)
    model = regressor(resample=resample).fit(X, spoiled, weights)
    assert np.abs(model.predict(X[:200])).max() < 20


@pytest.mark.parametrize("resample", [False, True])
def test_the_model_is_the_same_on_any_number_of_threads(resample):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 5))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    y = np.nan_to_num(rows[:, 0] * rows[:, 1]) + rng.normal(size=20_000)
    models = [regressor(resample=resample, n_jobs=n).fit(rows, y) for n in (1, 2, 3, 8)]
    for other in models[1:]:
        assert other._model.ensemble == models[0]._model.ensemble
        np.testing.assert_array_equal(other.predict(rows), models[0].predict(rows))


def test_an_interrupted_fit_leaves_the_model_as_it_was(monkeypatch):
    model = regressor().fit(X, Y)
    before = dict(vars(model))
    grow, calls = adaboost_learners.grow_trees, []

    def interrupted(*args, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return grow(*args, **options)

    monkeypatch.setattr(adaboost_learners, "grow_trees", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], -Y)
    assert len(calls) == 4
    assert vars(model) == before


def test_real_data_is_learned():
    rows, y = load_diabetes(return_X_y=True)
    ours = cross_val_score(AdaBoostRegressor(), rows, y, cv=3).mean()
    theirs = cross_val_score(ensemble.AdaBoostRegressor(random_state=0), rows, y, cv=3).mean()
    assert ours > theirs - 0.03


def test_samples_that_are_not_kept_are_explained():
    model = AdaBoostRegressor(n_estimators=2).fit(X, Y)
    with pytest.raises(AttributeError, match="AdaBoostRegressor does not keep the rows"):
        model.estimators_samples_  # noqa: B018
    with pytest.raises(AttributeError, match="only after a fit with resample=True"):
        AdaBoostClassifier(n_estimators=2).fit(X, Y > 0).estimators_samples_  # noqa: B018
