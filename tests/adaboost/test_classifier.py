"""AdaBoostClassifier against the papers written out, scikit-learn, and its own theory."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn import ensemble
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hedgerow as hr
from hedgerow._adaboost import AdaBoostClassifier
from hedgerow._adaboost import learners as adaboost_learners
from hedgerow._adaboost.algorithms import MAX_DRAWS
from oracles import adaboost as oracle
from oracles.adaboost import assert_theory_holds

# Few distinct values, so that bins part what exact cuts part; a seed without ties among the cuts.
RNG = np.random.default_rng(3)
X = np.round(RNG.normal(size=(400, 5)), 1)
NUMBERS = X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=400) * 0.5
TWO = (NUMBERS > 1).astype(int)
FOUR = np.digitize(NUMBERS, [0.0, 1.0, 2.0])
WEIGHTS = RNG.uniform(0.1, 2.0, 400)
ROUNDS = 8
ALGORITHMS = ["SAMME", "real", "gentle", "logit"]
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
two_or_four = pytest.mark.parametrize("y", [TWO, FOUR], ids=["two", "four"])


def classifier(estimator=None, **parameters):
    return AdaBoostClassifier(estimator, **{"n_estimators": ROUNDS} | parameters)


def regression_stump(algorithm):
    is_regression = algorithm in ("gentle", "logit")
    return (DecisionTreeRegressor if is_regression else DecisionTreeClassifier)(max_depth=1)


# Discrete AdaBoost


@two_or_four
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_discrete_adaboost_is_algorithm_1(y, learning_rate):
    n_classes = y.max() + 1
    errors, alphas, sums, scores = oracle.discrete(X, y, n_classes, ROUNDS, learning_rate)
    model = classifier(learning_rate=learning_rate).fit(X, y)
    np.testing.assert_allclose(model.estimator_errors_, errors, rtol=1e-10)
    np.testing.assert_allclose(model.estimator_weights_, alphas, rtol=1e-10)
    np.testing.assert_allclose(model.weight_sums_, sums, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))
    decision = scores / sum(alphas)
    expected = decision[:, 1] - decision[:, 0] if n_classes == 2 else decision
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)
    if n_classes == 2:
        assert_theory_holds(model, X, y)


@two_or_four
@pytest.mark.parametrize("max_depth", [1, 2])
@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
@pytest.mark.parametrize("fast", [True, False], ids=["bins", "exact trees"])
def test_scikit_learn_gives_the_same_model(y, max_depth, learning_rate, weights, fast):
    tree = DecisionTreeClassifier(max_depth=max_depth)
    shared = {"n_estimators": 12, "learning_rate": learning_rate, "random_state": 0}
    peer = ensemble.AdaBoostClassifier(tree, **shared).fit(X, y, weights)
    model = AdaBoostClassifier(None if fast else tree, max_depth=max_depth, **shared)
    model.fit(X, y, weights)
    np.testing.assert_allclose(model.estimator_errors_, peer.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(model.estimator_weights_, peer.estimator_weights_, rtol=1e-9)
    for method in ("decision_function", "predict_proba", "predict"):
        ours, theirs = getattr(model, method)(X), getattr(peer, method)(X)
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
        staged = f"staged_{method}"
        pairs = zip(getattr(model, staged)(X), getattr(peer, staged)(X), strict=True)
        for ours, theirs in pairs:
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
    np.testing.assert_allclose(
        list(model.staged_score(X, y, weights)), list(peer.staged_score(X, y, weights))
    )
    np.testing.assert_allclose(model.feature_importances_, peer.feature_importances_, atol=1e-9)
    if y is TWO:
        assert_theory_holds(model, X, y, weights)


def test_the_staged_error_is_that_of_exact_stumps_within_binning():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(3000, 8))
    y = (rows[:, 0] * rows[:, 1] + rows[:, 2] + rng.logistic(size=3000) > 0).astype(int)
    model = AdaBoostClassifier(n_estimators=100, max_bins=128).fit(rows, y)
    peer = ensemble.AdaBoostClassifier(n_estimators=100).fit(rows, y)
    ours, theirs = np.array(list(model.staged_score(rows, y))), list(peer.staged_score(rows, y))
    assert np.abs(ours - theirs).max() < 0.015
    assert np.abs((ours - theirs).mean()) < 0.003
    assert_theory_holds(model, rows, y)


@pytest.mark.parametrize("max_depth", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_theory_holds_on_noise(seed, max_depth):
    rng = np.random.default_rng(seed)
    rows, y = rng.normal(size=(150, 3)), rng.integers(0, 2, 150)
    model = AdaBoostClassifier(n_estimators=200, max_depth=max_depth).fit(rows, y)
    assert_theory_holds(model, rows, y)


@pytest.mark.parametrize("base", [GaussianNB(), LogisticRegression(C=1e4)])
def test_the_theory_holds_for_other_members(base):
    model = classifier(base).fit(X, TWO)
    assert len(model.estimators_) > 1
    assert_theory_holds(model, X, TWO)


def test_weights_over_many_decades_give_true_errors():
    weights = 10.0 ** np.random.default_rng(0).uniform(-12, 12, 400)
    model = classifier(n_estimators=60).fit(X, TWO, weights)
    assert_theory_holds(model, X, TWO, weights)
    # A few rows have nearly all the weight: many cuts are equally good, and any of them will do.
    best = oracle.best_stump(X, np.eye(2)[TWO], weights / weights.sum())
    error = np.average(best(X).argmax(axis=1) != TWO, weights=weights)
    np.testing.assert_allclose(model.estimator_errors_[0], error, rtol=1e-6)


def test_a_perfect_first_member_is_the_model():
    model = classifier().fit(X, (X[:, 0] > 0.25).astype(int))
    assert model.estimator_errors_.tolist() == [0.0]
    assert model.estimator_weights_.tolist() == [1.0]
    assert model.score(X, X[:, 0] > 0.25) == 1.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_perfect_later_member_sets_every_row_right(n_classes):
    """Its weight is 1 if the others do well without it, and otherwise no more than it takes."""
    weights = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(60, 2))
        y = (rows[:, 0] * rows[:, 1] > 0) + (n_classes == 3) * (rows[:, 0] > 1)
        model = classifier(max_depth=2 if n_classes == 2 else 3, n_estimators=50).fit(rows, y)
        if model.estimator_errors_[-1] > 0 or len(model.estimators_) == 1:
            continue
        weights.append(model.estimator_weights_[-1])
        *_, before, after = model.staged_score(rows, y)
        assert after == 1.0
        assert before == 1.0 or weights[-1] > 1.0
        assert weights[-1] <= 1.0 + model.estimator_weights_[:-1].sum()
        if n_classes == 2:
            assert_theory_holds(model, rows, y)
    assert min(weights) == 1.0
    assert max(weights) > 1.0


def test_a_member_no_better_than_chance_ends_the_rounds():
    constant = np.ones((10, 2))
    y = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    model = classifier().fit(constant, y)
    np.testing.assert_allclose(model.estimator_errors_, [0.4])
    assert model.predict(constant).tolist() == [1] * 10
    assert_theory_holds(model, constant, np.array(y))


@pytest.mark.parametrize("resample", [False, True])
def test_a_first_member_no_better_than_chance_is_kept_with_a_warning(resample):
    constant, y = np.ones((9, 2)), [0, 1, 2] * 3
    with pytest.warns(UserWarning, match="No base model is better than chance"):
        model = classifier(resample=resample).fit(constant, y)
    assert model.estimator_weights_.tolist() == [0.0]
    assert model.resets_.tolist() == [0]
    np.testing.assert_allclose(model.predict_proba(constant), 1 / 3)
    np.testing.assert_array_equal(model.feature_importances_, [0.0, 0.0])


def test_draws_that_never_beat_chance_end_the_rounds():
    class Contrary(DecisionTreeClassifier):
        def predict(self, X):
            return 1 - super().predict(X)

    with pytest.warns(UserWarning, match="No base model is better than chance"):
        model = classifier(Contrary(), resample=True).fit(X, TWO)
    assert model.estimator_weights_.tolist() == [0.0]
    assert model.resets_.tolist() == [MAX_DRAWS - 1]


def test_sums_of_weights_may_leave_the_floats():
    model = classifier(learning_rate=1e6, n_estimators=3).fit(X, TWO)
    assert np.isinf(model.weight_sums_[-1])
    assert np.isfinite(model.decision_function(X)).all()


# Resampling


def algorithm_57(base, rows, y, n_rounds, seed):
    """The lectures' Algorithm 5.7, with draws in the order in which the estimator makes them.

    A member with ε = ½ exactly has α = 0 and changes nothing, so it is not counted as a round.
    """
    random, N = np.random.RandomState(seed), len(y)
    w = np.full(N, 1 / N)
    errors, votes, resets, samples = [], np.zeros(N), [], []
    while len(errors) < n_rounds:
        resets.append(0)
        while True:
            seeded = base.set_params(random_state=random.randint(2**31 - 1))
            sample = random.choice(N, size=N, p=w)
            predicted = seeded.fit(rows[sample], y[sample]).predict(rows)
            epsilon = w[predicted != y].sum()
            if epsilon < 0.5 - 1e-12:
                break
            if epsilon > 0.5 + 1e-12:
                w = np.full(N, 1 / N)
                resets[-1] += 1
        alpha = 0.5 * np.log((1 - epsilon) / epsilon)
        w = w * np.where(predicted == y, np.exp(-alpha), np.exp(alpha))
        w /= w.sum()
        errors.append(epsilon)
        samples.append(sample)
        votes += alpha * np.where(predicted == 1, 1, -1)
    return errors, votes, resets, samples


def test_resampling_is_algorithm_57_with_its_resets():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(20, 1)), rng.integers(0, 2, 20)
    stump = DecisionTreeClassifier(max_depth=1)
    errors, votes, resets, samples = algorithm_57(stump, rows, y, 30, seed=7)
    model = classifier(stump, resample=True, n_estimators=30, random_state=7).fit(rows, y)
    np.testing.assert_allclose(model.estimator_errors_, errors, rtol=1e-9)
    assert model.resets_.tolist() == resets
    assert sum(resets) > 0
    np.testing.assert_array_equal(model.estimators_samples_, samples)
    np.testing.assert_array_equal(model.predict(rows), (votes > 0).astype(int))
    decision = 2 * votes / (model.estimator_weights_.sum() / 2)
    np.testing.assert_allclose(model.decision_function(rows), decision, atol=1e-9)


@two_or_four
@every_algorithm
@pytest.mark.parametrize("weighted", [False, True])
def test_base_models_follow_from_the_samples_that_are_kept(y, algorithm, weighted, tmp_path):
    weights = np.where(np.arange(400) % 3 == 0, 0.0, WEIGHTS) if weighted else None
    is_regression = algorithm in ("gentle", "logit")
    trees = hr.DecisionTreeRegressor if is_regression else hr.DecisionTreeClassifier
    own = classifier(trees(max_depth=1), algorithm=algorithm, resample=True).fit(X, y, weights)
    for members, samples in zip(own.estimators_, own.estimators_samples_, strict=True):
        has_several = isinstance(members, list)
        assert has_several == isinstance(samples, list) == (is_regression and y is FOUR)
        for rows in samples if has_several else [samples]:
            assert rows.shape == ((weights > 0).sum() if weighted else 400,)
            assert weights is None or weights[rows].all()
        if not is_regression:
            again = clone(members).fit(X[samples], y[samples])
            np.testing.assert_array_equal(again.predict(X), members.predict(X))
    own.save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model").estimators_samples_
    np.testing.assert_array_equal(np.array(loaded), np.array(own.estimators_samples_))
    assert not hasattr(classifier(algorithm=algorithm).fit(X, y, weights), "estimators_samples_")


def test_weights_begin_again_after_a_reset():
    rng = np.random.default_rng(3)
    rows, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    model = classifier(resample=True, n_estimators=40).fit(rows, y)
    weights = list(model.staged_weights(rows, y))
    was_reset = np.flatnonzero(model.resets_)
    assert len(was_reset)
    z = 1.0
    for m, (w, member) in enumerate(zip(weights, model.estimators_, strict=False)):
        if m in was_reset:
            np.testing.assert_array_equal(w, np.full(40, 1 / 40))
            z = 1.0
        error = w[member.predict(rows) != y].sum()
        np.testing.assert_allclose(error, model.estimator_errors_[m], rtol=1e-9)
        z *= 2 * (1 - error)
        np.testing.assert_allclose(model.weight_sums_[m], z, rtol=1e-9)


def test_the_theory_holds_without_resets_when_rows_are_drawn():
    model = classifier(resample=True).fit(X, TWO)
    assert not model.resets_.any()
    assert_theory_holds(model, X, TWO)


@two_or_four
@every_algorithm
def test_every_algorithm_learns_from_drawn_rows(algorithm, y):
    fast = classifier(algorithm=algorithm, resample=True, n_estimators=25).fit(X, y)
    slow = classifier(
        regression_stump(algorithm), algorithm=algorithm, resample=True, n_estimators=25
    ).fit(X, y)
    still = classifier(algorithm=algorithm, n_estimators=25).fit(X, y)
    assert fast.score(X, y) > still.score(X, y) - 0.08
    assert slow.score(X, y) > still.score(X, y) - 0.08


def test_resampling_takes_an_estimator_without_weights():
    model = classifier(KNeighborsClassifier(3), resample=True, n_estimators=5).fit(X, TWO)
    assert model.score(X, TWO) > 0.85


def test_a_sample_of_one_class_makes_a_constant_member():
    rows, y = np.arange(6.0)[:, None], np.array(["b", "a", "a", "a", "a", "a"])
    sample = [[1, 2, 3, 4, 5, 5]]
    for base in (LogisticRegression(), None):
        model = AdaBoostClassifier(base, n_estimators=1, resample=True)
        model.fit(rows, y, samples=sample)
        assert model.predict(rows).tolist() == ["a"] * 6
        np.testing.assert_allclose(model.estimator_errors_, [1 / 6])


def test_a_class_that_was_not_drawn_has_the_smallest_share():
    rows, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2])
    model = AdaBoostClassifier(GaussianNB(), algorithm="real", n_estimators=1, resample=True)
    model.fit(rows, y, samples=[[0, 1, 2, 3, 2, 1]])
    p = model.estimators_[0].predict_proba(rows)
    assert p.shape == (6, 2)
    p = np.maximum(np.column_stack([p, np.zeros(6)]), 1e-4)
    np.testing.assert_allclose(model.predict_proba(rows), p / p.sum(axis=1, keepdims=True))


# The ten points of the lectures


TEN_X = np.arange(1, 11)[:, None] / 10
TEN_Y = np.array([1, 1, 1, -1, -1, -1, -1, 1, 1, 1])
TEN_SAMPLES = [
    [0.1, 0.4, 0.5, 0.6, 0.6, 0.7, 0.7, 0.7, 0.8, 1],
    [0.1, 0.1, 0.2, 0.2, 0.2, 0.2, 0.3, 0.3, 0.3, 0.3],
    [0.2, 0.2, 0.4, 0.4, 0.4, 0.4, 0.5, 0.6, 0.6, 0.7],
]
TEN_ROWS = [np.round(10 * np.array(sample)).astype(int) - 1 for sample in TEN_SAMPLES]


def equation_569(w, alpha, is_right):
    raw = w * np.where(is_right, np.exp(-alpha), np.exp(alpha))
    return raw / raw.sum()


@pytest.mark.parametrize("base", [None, DecisionTreeClassifier(max_depth=1)])
def test_the_textbook_table_follows_from_its_samples(base):
    model = AdaBoostClassifier(base, n_estimators=3, resample=True, error_divisor="rows")
    model.fit(TEN_X, TEN_Y, samples=TEN_ROWS)
    np.testing.assert_array_equal(model.estimators_samples_, TEN_ROWS)
    weights = list(model.staged_weights(TEN_X, TEN_Y))
    np.testing.assert_allclose(weights[0], 0.1)
    np.testing.assert_array_equal(weights[1].round(3)[:3], 0.311)
    np.testing.assert_array_equal(weights[1].round(2)[3:], 0.01)
    # The stumps of rounds 1 and 2 are x ≤ 0.75 → −1, and 1 everywhere.
    first, second = np.where(TEN_X[:, 0] > 0.75, 1, -1), np.ones(10)
    for m, predicted in enumerate((first, second)):
        np.testing.assert_array_equal(model.estimators_[m].predict(TEN_X), predicted)
        epsilon = weights[m][predicted != TEN_Y].sum() / 10
        alpha = 0.5 * np.log((1 - epsilon) / epsilon)
        np.testing.assert_allclose(model.estimator_errors_[m], epsilon)
        np.testing.assert_allclose(model.estimator_weights_[m], 2 * alpha)
        expected = equation_569(weights[m], alpha, predicted == TEN_Y)
        np.testing.assert_allclose(weights[m + 1], expected)
    # In fractions; the table's own third row is cut off.
    np.testing.assert_allclose(weights[1], np.array([97] * 3 + [3] * 7) / 312)
    np.testing.assert_allclose(weights[2], np.array([97] * 3 + [777] * 4 + [3] * 3) / 3408)


def test_three_stumps_get_all_ten_points_right():
    whole = np.arange(1.0, 11.0)[:, None]  # the third cut is at 3, on a point
    model = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=1), n_estimators=3, resample=True, error_divisor="rows"
    ).fit(whole, TEN_Y, samples=TEN_ROWS)
    epsilons = np.array([3 / 100, 1 / 260, 9 / 34080])
    np.testing.assert_allclose(model.estimator_errors_, epsilons)
    np.testing.assert_allclose(model.estimator_weights_, np.log((1 - epsilons) / epsilons))
    np.testing.assert_array_equal(model.predict(whole), TEN_Y)


# Real, Gentle, LogitBoost


@two_or_four
@pytest.mark.parametrize("learning_rate", [1.0, 0.4])
@pytest.mark.parametrize("fast", [True, False], ids=["bins", "exact trees"])
def test_real_adaboost_adds_the_log_odds(y, learning_rate, fast):
    n_classes = y.max() + 1
    scores, z = oracle.real(X, y, n_classes, ROUNDS, learning_rate)
    base = None if fast else DecisionTreeClassifier(max_depth=1)
    model = classifier(base, algorithm="real", learning_rate=learning_rate).fit(X, y)
    expected = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(model.weight_sums_[-1], z, rtol=1e-9)
    exponentials = np.exp(scores / (n_classes - 1))
    p = exponentials / exponentials.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), p, atol=1e-9)


def test_samme_r_is_another_name_of_real():
    real, samme_r = (classifier(algorithm=a).fit(X, FOUR) for a in ("real", "SAMME.R"))
    np.testing.assert_array_equal(real.predict_proba(X), samme_r.predict_proba(X))


@two_or_four
@pytest.mark.parametrize("learning_rate", [1.0, 0.4])
@pytest.mark.parametrize("fast", [True, False], ids=["bins", "exact trees"])
def test_gentle_adaboost_fits_each_class_against_the_others(y, learning_rate, fast):
    base = None if fast else DecisionTreeRegressor(max_depth=1)
    model = classifier(base, algorithm="gentle", learning_rate=learning_rate).fit(X, y)
    classes = [1] if y is TWO else range(4)
    targets = [np.where(y == k, 1.0, -1.0) for k in classes]
    F = np.stack([oracle.gentle(X, target, ROUNDS, learning_rate) for target in targets], axis=1)
    p = 1 / (1 + np.exp(-2 * F))
    p = np.hstack([1 - p, p]) if y is TWO else p / p.sum(axis=1, keepdims=True)
    decision = 2 * (F[:, 0] if y is TWO else F)
    np.testing.assert_allclose(model.decision_function(X), decision, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), p, atol=1e-9)
    losses = [np.exp(-t * f).mean() for t, f in zip(targets, F.T, strict=True)]
    np.testing.assert_allclose(model.weight_sums_[-1], np.mean(losses), rtol=1e-9)


@two_or_four
@pytest.mark.parametrize("learning_rate", [1.0, 0.4])
@pytest.mark.parametrize("fast", [True, False], ids=["bins", "exact trees"])
def test_logitboost_takes_newton_steps(y, learning_rate, fast):
    base = None if fast else DecisionTreeRegressor(max_depth=1)
    model = classifier(base, algorithm="logit", learning_rate=learning_rate).fit(X, y)
    if y is TWO:
        decision = 2 * oracle.logit_of_two(X, y, ROUNDS, learning_rate)
        scores = np.stack([np.zeros(400), decision], axis=1)
    else:
        decision = scores = oracle.logit_of_more(X, y, 4, ROUNDS, learning_rate)
    np.testing.assert_allclose(model.decision_function(X), decision, rtol=1e-7, atol=1e-8)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), p, atol=1e-8)


@pytest.mark.parametrize("algorithm", ["real", "gentle"])
@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
def test_the_sum_of_weights_bounds_the_training_error(algorithm, learning_rate):
    model = classifier(algorithm=algorithm, learning_rate=learning_rate, n_estimators=50)
    model.fit(X, TWO, WEIGHTS)
    errors = 1 - np.array(list(model.staged_score(X, TWO, WEIGHTS)))
    assert (errors <= model.weight_sums_ * (1 + 1e-9)).all()
    margins = np.where(TWO == 1, 1, -1) * model.decision_function(X) / 2
    loss = np.average(np.exp(-margins), weights=WEIGHTS)
    np.testing.assert_allclose(model.weight_sums_[-1], loss, rtol=1e-9)


@two_or_four
@every_algorithm
def test_errors_are_those_of_the_members_under_the_weights_of_their_round(algorithm, y):
    model = classifier(algorithm=algorithm).fit(X, y, WEIGHTS)
    n_scores = 1 if y is TWO else 4
    for m, w in enumerate(list(model.staged_weights(X, y, WEIGHTS))[:-1]):
        np.testing.assert_allclose(w.sum(), 1.0)
        members = model.estimators_[m]
        if algorithm in ("SAMME", "real"):
            wrong = members.predict(X) != y
        else:
            members = [members] if n_scores == 1 else members
            f = np.stack([member.predict(X) for member in members], axis=1)
            wrong = (f > 0) != (y[:, None] == ([1] if n_scores == 1 else range(4)))
        error = w.reshape(wrong.shape)[wrong].sum()
        np.testing.assert_allclose(error, model.estimator_errors_[m], rtol=1e-8)


@two_or_four
@every_algorithm
def test_stages_end_in_the_model(algorithm, y):
    model = classifier(algorithm=algorithm).fit(X, y)
    for method in ("decision_function", "predict_proba", "predict"):
        *_, last = getattr(model, f"staged_{method}")(X)
        np.testing.assert_array_equal(last, getattr(model, method)(X))
    assert len(list(model.staged_predict(X))) == len(model.estimators_) == ROUNDS
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))


@two_or_four
@every_algorithm
def test_trees_on_bins_are_trees_on_values_that_are_few(algorithm, y):
    """Deeper trees and limits on leaves, too; what differs is where a cut falls in a gap."""
    fast = classifier(algorithm=algorithm, max_depth=2, min_samples_leaf=5).fit(X, y)
    tree = regression_stump(algorithm).set_params(max_depth=2, min_samples_leaf=5)
    slow = classifier(tree, algorithm=algorithm).fit(X, y)
    np.testing.assert_allclose(fast.estimator_errors_, slow.estimator_errors_, rtol=1e-6)
    np.testing.assert_allclose(fast.decision_function(X), slow.decision_function(X), atol=1e-6)


def test_leaves_are_limited():
    model = classifier(max_depth=None, max_leaves=3).fit(X, TWO)
    assert {view.tree.n_leaves for view in model.estimators_} == {3}
    assert_theory_holds(model, X, TWO)


# Weights of rows


@two_or_four
@every_algorithm
def test_a_weight_is_a_number_of_rows(algorithm, y):
    counts = np.random.default_rng(1).integers(1, 4, 400)
    weighted = classifier(algorithm=algorithm).fit(X, y, counts)
    repeated = classifier(algorithm=algorithm).fit(X.repeat(counts, axis=0), y.repeat(counts))
    p = weighted.predict_proba(X)
    np.testing.assert_allclose(repeated.predict_proba(X), p, rtol=1e-6)


@every_algorithm
def test_rows_of_no_weight_do_not_count(algorithm):
    weights = (np.arange(400) < 300).astype(float)
    spoiled = np.where(weights > 0, TWO, 1 - TWO)
    expected = classifier(algorithm=algorithm, max_bins=255).fit(X[:300], TWO[:300])
    model = classifier(algorithm=algorithm).fit(X, spoiled, weights)
    np.testing.assert_allclose(model.estimator_errors_, expected.estimator_errors_, rtol=1e-6)


@every_algorithm
def test_the_scale_of_the_weights_does_not_matter(algorithm):
    one = classifier(algorithm=algorithm).fit(X, FOUR, WEIGHTS)
    other = classifier(algorithm=algorithm).fit(X, FOUR, WEIGHTS * 1e30)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-9)


# Tables of every kind


@every_algorithm
def test_missing_values_tell_classes_apart(algorithm):
    rows = X.copy()
    rows[TWO == 1, 2] = np.nan
    model = classifier(algorithm=algorithm).fit(rows, TWO)
    assert model.score(rows, TWO) == 1.0
    assert model.feature_importances_.argmax() == 2


@pytest.mark.parametrize("to_frame", [pd.DataFrame, pl.DataFrame])
@every_algorithm
def test_frames_with_strings_and_gaps_are_taken_as_they_are(algorithm, to_frame):
    city = np.array(["Ulm", "Bonn", "Rom", None], dtype=object)[FOUR]
    frame = to_frame({"number": X[:, 0], "city": city})
    names = np.array(["no", "yes"])
    y = names[np.isin(FOUR, [1, 3]).astype(int)]
    model = classifier(algorithm=algorithm).fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == ["number", "city"]
    np.testing.assert_array_equal(model.predict(frame[["city", "number"]]), y)
    assert_array_of_names = model.predict(frame)
    assert set(assert_array_of_names) == {"no", "yes"}


def test_a_frame_stays_a_frame_for_an_estimator():
    class FirstColumn(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):  # noqa: ARG002
            self.classes_ = np.unique(y)
            self.first_ = X["number"]
            return self

        def predict(self, X):
            return self.classes_[(X["number"] > 1).to_numpy().astype(int)]

    frame = pd.DataFrame({"number": NUMBERS, "city": "Ulm"})
    model = classifier(FirstColumn()).fit(frame, TWO)
    assert model.score(frame, TWO) == 1.0
    assert model.feature_names_in_.tolist() == ["number", "city"]
    on_frame = classifier(FirstColumn(), resample=True).fit(frame, TWO)
    assert on_frame.score(frame, TWO) == 1.0


def test_a_sparse_table_is_the_dense_one():
    rows = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = classifier().fit(rows, TWO)
    sparse = classifier().fit(scipy.sparse.csr_matrix(rows), TWO)
    np.testing.assert_array_equal(
        dense.decision_function(rows), sparse.decision_function(scipy.sparse.csc_array(rows))
    )
    base = DecisionTreeClassifier(max_depth=1)
    for resample in (False, True):
        slow = classifier(base, resample=resample).fit(scipy.sparse.csr_matrix(rows), TWO)
        again = classifier(base, resample=resample).fit(rows, TWO)
        np.testing.assert_allclose(
            slow.decision_function(scipy.sparse.csr_matrix(rows)), again.decision_function(rows)
        )


@pytest.mark.parametrize(
    "labels",
    [np.array(["no", "yes"]), np.array([-1, 1]), np.array([False, True]), np.array([3.0, 7.0])],
)
@pytest.mark.parametrize("base", [None, GaussianNB()])
def test_labels_of_any_kind_give_the_same_model(labels, base):
    expected = classifier(base).fit(X, TWO)
    model = classifier(base).fit(X, labels[TWO])
    np.testing.assert_array_equal(model.classes_, labels)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), labels[expected.predict(X)])


# Members


def test_views_of_trees_predict_what_the_trees_vote():
    model = classifier().fit(X, FOUR)
    votes = np.zeros((400, 4))
    for alpha, view in zip(model.estimator_weights_, model.estimators_, strict=True):
        predicted = view.predict(X)
        votes += alpha * np.where(predicted[:, None] == range(4), 1, -1 / 3)
    np.testing.assert_allclose(
        votes / model.estimator_weights_.sum(), model.decision_function(X), atol=1e-12
    )


def test_importances_are_the_mean_of_the_trees():
    model = classifier(max_depth=2).fit(X, FOUR)
    expected = np.zeros(5)
    for alpha, view in zip(model.estimator_weights_, model.estimators_, strict=True):
        gain = np.zeros(5)
        for feature, gained in zip(view.tree.feature, view.tree.gain, strict=True):
            if feature >= 0:
                gain[feature] += gained
        expected += alpha * gain / gain.sum()
    np.testing.assert_allclose(
        model.feature_importances_, expected / model.estimator_weights_.sum()
    )


def test_members_without_importances_give_none():
    model = classifier(GaussianNB()).fit(X, TWO)
    assert not hasattr(model, "feature_importances_")


def test_clones_are_seeded_like_scikit_learn():
    base = DecisionTreeClassifier(max_depth=2, max_features=1)
    shared = {"n_estimators": 10, "random_state": 4}
    model = AdaBoostClassifier(base, **shared).fit(X, TWO)
    peer = ensemble.AdaBoostClassifier(base, **shared).fit(X, TWO)
    seeds = [member.random_state for member in model.estimators_]
    assert seeds == [member.random_state for member in peer.estimators_]
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X))


# The same model every time, or none


@pytest.mark.parametrize("resample", [False, True])
@every_algorithm
def test_the_model_is_the_same_on_any_number_of_threads(algorithm, resample):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 6))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    y = np.digitize(np.nan_to_num(rows[:, 0] * rows[:, 1]) + rng.normal(size=20_000), [-1, 1])
    options = {"algorithm": algorithm, "resample": resample, "max_depth": 2, "n_estimators": 3}
    models = [classifier(**options, n_jobs=n).fit(rows, y) for n in (1, 2, 3, 8)]
    first = models[0]
    for other in models[1:]:
        assert other._model.ensemble == first._model.ensemble
        for name in ("estimator_weights_", "estimator_errors_", "weight_sums_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(first, name))
        np.testing.assert_array_equal(other.predict_proba(rows), first.predict_proba(rows))


def test_draws_depend_on_the_seed_alone():
    one, again, other = (
        classifier(resample=True, random_state=seed).fit(X, TWO).decision_function(X)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_an_interrupted_fit_leaves_the_model_as_it_was(monkeypatch):
    model = classifier().fit(X, TWO)
    before = dict(vars(model))
    grow, calls = adaboost_learners.grow_trees, []

    def interrupted(*args, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return grow(*args, **options)

    monkeypatch.setattr(adaboost_learners, "grow_trees", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, FOUR)
    assert len(calls) == 4
    assert vars(model) == before


def test_an_estimator_that_fails_leaves_the_model_as_it_was():
    class Fails(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):  # noqa: ARG002
            raise RuntimeError("no such thing")

        predict = fit

    model = classifier(GaussianNB()).fit(X, TWO)
    model.estimator = Fails()
    before = dict(vars(model))
    with pytest.raises(RuntimeError, match="no such thing"):
        model.fit(X[:, :3], FOUR)
    assert vars(model) == before


def test_a_fit_forgets_the_one_before():
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = classifier().fit(frame, TWO)
    model.set_params(estimator=GaussianNB(), algorithm="real").fit(X[:, :3], FOUR)
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")
    model.set_params(estimator=None, algorithm="logit").fit(frame, FOUR)
    assert model.n_features_in_ == 5
    assert np.shape(model.estimators_) == (ROUNDS, 4)


def test_changing_a_parameter_does_not_change_a_fitted_model():
    model = classifier(algorithm="logit").fit(X, TWO)
    before = model.predict_proba(X)
    model.set_params(algorithm="SAMME", estimator=DummyClassifier(), learning_rate=0.1)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@every_algorithm
@pytest.mark.parametrize("fast", [True, False])
def test_a_pickle_predicts_the_same(algorithm, fast):
    base = None if fast else regression_stump(algorithm)
    model = classifier(base, algorithm=algorithm).fit(X, FOUR)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_real_data_is_learned():
    for load, accuracy in ((load_breast_cancer, 0.95), (load_iris, 0.9)):
        rows, y = load(return_X_y=True)
        for algorithm in ALGORITHMS:
            model = AdaBoostClassifier(algorithm=algorithm)
            assert cross_val_score(model, rows, y, cv=3).mean() > accuracy


def test_numbers_that_are_not_finite_are_refused():
    class Wild(Ridge):
        def predict(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="Wild predicts numbers that are not finite"):
        classifier(Wild(), algorithm="gentle").fit(X, TWO)
