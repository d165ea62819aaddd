"""Bagging: naive loops over the same samples, scikit-learn's own, and what users may give it."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn import ensemble as sk
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier as SklearnTree
from sklearn.tree import ExtraTreeClassifier

from contract import SINCE_1_8
from hedgerow import DataError, ParameterError
from hedgerow._bagging import BaggingClassifier, BaggingRegressor
from hedgerow._bagging.sampling import BaggingSamples
from hedgerow._data.intake import learn_schema
from hedgerow._tree.cart import BootstrapSamples, CartParams, grow_trees
from hedgerow._tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow.theory import forest_bound
from interrupts import interrupted

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
HIST = {"splitter": "hist"}


def state_of(bag):
    """Everything that a fit leaves, apart from parameters, to be compared."""
    return {name: value for name, value in vars(bag).items() if name not in bag.get_params()}


def is_grown_together(bag):
    return not hasattr(bag._model, "estimators")


# Naive loops over the same samples.


def naive_members(bag, X, y):
    """Fit clones on the rows and columns that the bag drew, rows repeated as often as drawn."""
    members = []
    for sample, columns in zip(bag.estimators_samples_, bag.estimators_features_, strict=True):
        members.append(clone(bag.estimator).fit(X[sample][:, columns], y[sample]))
    return members


@pytest.mark.parametrize("max_features", [1.0, 0.5, 2])
@pytest.mark.parametrize("bootstrap_features", [False, True])
@pytest.mark.parametrize(("bootstrap", "max_samples"), [(True, None), (True, 0.5), (False, 60)])
def test_a_bag_is_a_naive_loop_over_its_samples(
    max_features, bootstrap_features, bootstrap, max_samples
):
    X, y = IRIS
    bag = BaggingClassifier(
        KNeighborsClassifier(),
        6,
        max_features=max_features,
        bootstrap_features=bootstrap_features,
        bootstrap=bootstrap,
        max_samples=max_samples,
    ).fit(X, y)
    members = naive_members(bag, X, y)
    mean = np.mean(
        [
            member.predict_proba(X[:, columns])
            for member, columns in zip(members, bag.estimators_features_, strict=True)
        ],
        axis=0,
    )
    np.testing.assert_allclose(bag.predict_proba(X), mean, atol=1e-14)
    np.testing.assert_array_equal(bag.predict(X), mean.argmax(axis=1))


def test_a_regressor_is_the_mean_of_a_naive_loop():
    X, y = DIABETES
    bag = BaggingRegressor(KNeighborsRegressor(), 7, max_features=3).fit(X, y)
    by_member = [
        member.predict(X[:, columns])
        for member, columns in zip(naive_members(bag, X, y), bag.estimators_features_, strict=True)
    ]
    np.testing.assert_array_equal(bag.predict_trees(X), by_member)
    np.testing.assert_allclose(bag.predict(X), np.mean(by_member, axis=0))


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_out_of_bag_predictions_are_those_of_a_naive_loop(voting):
    X, y = IRIS
    bag = BaggingClassifier(
        KNeighborsClassifier(), 25, max_features=2, oob_score=True, voting=voting
    ).fit(X, y)
    sums, n = np.zeros((len(y), 3)), np.zeros(len(y))
    for member, sample, columns in zip(
        naive_members(bag, X, y), bag.estimators_samples_, bag.estimators_features_, strict=True
    ):
        out = np.setdiff1d(np.arange(len(y)), sample)
        X_out = X[out][:, columns]
        sums[out] += (
            member.predict_proba(X_out) if voting == "soft" else np.eye(3)[member.predict(X_out)]
        )
        n[out] += 1
    assert n.min() > 0
    np.testing.assert_allclose(bag.oob_decision_function_, sums / n[:, None], atol=1e-14)
    assert bag.oob_score_ == np.mean((sums / n[:, None]).argmax(axis=1) == y)


def test_out_of_bag_predictions_of_a_regressor_are_those_of_a_naive_loop():
    X, y = DIABETES
    bag = BaggingRegressor(Ridge(alpha=0.1), 15, bootstrap=False, max_samples=0.6, oob_score=True)
    bag.fit(X, y)
    sums, n = np.zeros(len(y)), np.zeros(len(y))
    for member, sample in zip(naive_members(bag, X, y), bag.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(y)), sample)
        sums[out] += member.predict(X[out])
        n[out] += 1
    assert n.min() > 0
    np.testing.assert_allclose(bag.oob_prediction_, sums / n)
    assert bag.oob_score_ == pytest.approx(r2_score(y, sums / n))


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), KNeighborsClassifier(), RidgeClassifier()]
)
def test_on_scikit_learns_samples_a_bag_is_scikit_learns(estimator):
    X, y = StandardScaler().fit_transform(IRIS[0]), IRIS[1]
    theirs = sk.BaggingClassifier(estimator, 5, random_state=0).fit(X, y)
    ours = BaggingClassifier(estimator, 5).fit(X, y, samples=theirs.estimators_samples_)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    if hasattr(estimator, "decision_function"):
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), atol=1e-3
        )


def test_on_scikit_learns_samples_a_regressor_is_scikit_learns():
    X, y = DIABETES
    theirs = sk.BaggingRegressor(LinearRegression(), 5, random_state=0).fit(X, y)
    ours = BaggingRegressor(LinearRegression(), 5).fit(X, y, samples=theirs.estimators_samples_)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


# Trees that are grown together.


def few_values(n_rows=500):
    """Columns of few values, which all samples have, and leaves too large for cuts to tie."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, size=(n_rows, 4)).astype(float)
    numbers = X[:, 0] * X[:, 1] + 5.0 * X[:, 2] + rng.normal(size=n_rows)
    return X, numbers, np.digitize(numbers, np.quantile(numbers, [0.2, 0.5]))


@pytest.mark.parametrize(
    "bag",
    [
        BaggingClassifier(DecisionTreeClassifier(**HIST, min_samples_leaf=20), 5),
        BaggingClassifier(DecisionTreeClassifier(**HIST, criterion="entropy", max_depth=3), 5),
        BaggingClassifier(DecisionTreeClassifier(**HIST, class_weight="balanced", max_leaves=6), 5),
        BaggingClassifier(DecisionTreeClassifier(**HIST, min_weight_fraction_leaf=0.1), 5),
        BaggingClassifier(DecisionTreeClassifier(**HIST, class_weight={0: 9}, max_leaves=5), 5),
        BaggingClassifier(
            DecisionTreeClassifier(**HIST, min_samples_leaf=30),
            5,
            bootstrap=False,
            max_samples=300,
        ),
        BaggingRegressor(DecisionTreeRegressor(**HIST, max_leaves=7), 5, max_samples=0.8),
        BaggingRegressor(DecisionTreeRegressor(**HIST, max_depth=3), 5),
        BaggingClassifier(DecisionTreeClassifier(**HIST, ccp_alpha=0.01), 5),
        BaggingRegressor(DecisionTreeRegressor(**HIST, ccp_alpha=2.0), 5),
        BaggingClassifier(None, 5),
        BaggingRegressor(None, 5),
    ],
)
def test_trees_grown_together_are_trees_fitted_one_by_one(bag):
    X, numbers, classes = few_values()
    y = classes if isinstance(bag, BaggingClassifier) else numbers
    bag = clone(bag).fit(X, y)
    assert is_grown_together(bag)
    for tree, sample in zip(bag.estimators_, bag.estimators_samples_, strict=True):
        counts = np.bincount(sample, minlength=len(y))
        alone = clone(tree).fit(X, y, sample_weight=counts)
        assert alone.get_n_leaves() == tree.get_n_leaves() > 3
        ask = "predict_proba" if isinstance(bag, BaggingClassifier) else "predict"
        np.testing.assert_allclose(getattr(tree, ask)(X), getattr(alone, ask)(X), rtol=1e-9)
        np.testing.assert_allclose(  # gains are packed as float32
            tree.feature_importances_, alone.feature_importances_, rtol=1e-6
        )
        assert tree.tree_.gain[0] == pytest.approx(alone.tree_.gain[0], rel=1e-6)


def test_trees_grown_together_are_what_the_kernel_grows_on_their_samples():
    X, y = CANCER
    bag = BaggingClassifier(DecisionTreeClassifier(**HIST, min_samples_leaf=2), 4).fit(X, y)
    model = bag._model
    _, table = learn_schema(X)
    binned = model.binner.transform(table, columns_only=True, threads=1)
    params = CartParams.of(bag.estimator_, len(y), X.shape[1], float(len(y)), 0)
    target = model.outputs.target(y[:, np.newaxis])
    for index, sample in enumerate(bag.estimators_samples_):
        weights = np.bincount(sample, minlength=len(y)).astype(float)
        (tree,) = grow_trees(
            binned, target, params, BootstrapSamples.all(len(y)), weights=weights, first_tree=index
        )
        grown = model.forest.tree(index)
        expected = replace(tree, value=model.outputs.stored(tree.value))
        np.testing.assert_array_equal(grown.feature, expected.feature)
        np.testing.assert_array_equal(grown.threshold, expected.threshold)
        leaf = grown.feature < 0
        np.testing.assert_array_equal(grown.value[leaf], expected.value[leaf])


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_trees_grown_together_vote_as_a_naive_loop(voting):
    X, y = WINE
    bag = BaggingClassifier(n_estimators=12, oob_score=True, voting=voting)
    bag.set_params(estimator=DecisionTreeClassifier(**HIST, max_depth=2)).fit(X, y)
    assert is_grown_together(bag)
    sums, judged, n = np.zeros((len(y), 3)), np.zeros((len(y), 3)), np.zeros(len(y))
    for tree, sample in zip(bag.estimators_, bag.estimators_samples_, strict=True):
        say = tree.predict_proba(X) if voting == "soft" else np.eye(3)[tree.predict(X)]
        out = np.setdiff1d(np.arange(len(y)), sample)
        sums += say
        judged[out] += say[out]
        n[out] += 1
    np.testing.assert_allclose(bag.predict_proba(X), sums / 12, atol=1e-12)
    np.testing.assert_array_equal(bag.predict(X), (sums / 12).argmax(axis=1))
    assert n.min() > 0
    np.testing.assert_allclose(bag.oob_decision_function_, judged / n[:, None], atol=1e-12)
    assert bag.oob_score_ == np.mean(bag.oob_decision_function_.argmax(axis=1) == y)


def test_the_trees_of_a_bag_are_estimators_by_themselves():
    X, y = DIABETES
    bag = BaggingRegressor(n_estimators=4).fit(X, y)
    trees = bag.estimators_
    assert all(isinstance(tree, DecisionTreeRegressor) for tree in trees)
    np.testing.assert_array_equal([tree.predict(X) for tree in trees], bag.predict_trees(X))
    np.testing.assert_allclose(bag.predict_trees(X).mean(axis=0), bag.predict(X))
    assert trees[0].export_text()


@pytest.mark.parametrize(
    "bag",
    [
        BaggingClassifier(DecisionTreeClassifier(), 3),
        BaggingClassifier(None, 3, max_features=0.5),
        BaggingClassifier(None, 3, bootstrap_features=True),
        BaggingRegressor(DecisionTreeRegressor(**HIST, criterion="absolute_error"), 3),
    ],
)
def test_other_bags_of_our_trees_are_naive_loops_too(bag):
    X, y = WINE
    bag = clone(bag).fit(X, y)
    assert not is_grown_together(bag)
    for tree, sample, columns in zip(
        bag.estimators_, bag.estimators_samples_, bag.estimators_features_, strict=True
    ):
        counts = np.bincount(sample, minlength=len(y))
        alone = clone(tree).fit(X[:, columns], y, sample_weight=counts)
        np.testing.assert_array_equal(alone.predict(X[:, columns]), tree.predict(X[:, columns]))


def test_the_bound_of_a_forest_holds_for_bags():
    X, y = CANCER
    for estimator in (DecisionTreeClassifier(**HIST, max_depth=2), GaussianNB()):
        bag = BaggingClassifier(estimator, 30).fit(X, y)
        bound = forest_bound(bag, X, y)
        assert 0.0 < bound.strength < 1.0
        assert bound.error <= bound.bound


def test_both_ways_draw_the_same_rows():
    X, y = IRIS
    trees = BaggingClassifier(n_estimators=3, max_samples=0.7, random_state=7).fit(X, y)
    others = BaggingClassifier(GaussianNB(), 3, max_samples=0.7, random_state=7).fit(X, y)
    for a, b in zip(trees.estimators_samples_, others.estimators_samples_, strict=True):
        np.testing.assert_array_equal(a, b)


# As good as scikit-learn's.


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_a_classifier_is_as_good_as_scikit_learns(voting):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 8))
    y = (X[:, 0] * X[:, 1] + X[:, 2] ** 2 - 1 + rng.normal(size=4000) > 0).astype(int)
    theirs = sk.BaggingClassifier(SklearnTree(), 50, random_state=0).fit(X[:2000], y[:2000])
    ours = BaggingClassifier(n_estimators=50, voting=voting).fit(X[:2000], y[:2000])
    assert is_grown_together(ours)
    scores = [roc_auc_score(y[2000:], m.predict_proba(X[2000:])[:, 1]) for m in (ours, theirs)]
    assert scores[0] > scores[1] - 0.01


def test_the_error_on_a_real_set_is_scikit_learns():
    X, y = CANCER
    ours = BaggingClassifier(n_estimators=60, oob_score=True).fit(X, y)
    theirs = sk.BaggingClassifier(n_estimators=60, oob_score=True, random_state=0).fit(X, y)
    assert ours.oob_score_ == pytest.approx(theirs.oob_score_, abs=0.015)


def test_a_regressor_is_as_good_as_scikit_learns():
    X, y = DIABETES
    ours = BaggingRegressor(n_estimators=100, oob_score=True).fit(X, y)
    theirs = sk.BaggingRegressor(n_estimators=100, oob_score=True, random_state=0).fit(X, y)
    assert ours.oob_score_ > theirs.oob_score_ - 0.03


# Draws.


def draws_of(n_rows=50, *, weights=None, **options):
    rows = BootstrapSamples(
        options.get("n_draws", n_rows), bootstrap=True, seed=options.get("seed", 0)
    )
    return BaggingSamples(n_rows, 4, rows, BootstrapSamples(4, bootstrap=False), weights)


def test_rows_are_drawn_in_proportion_to_their_weights():
    weights = np.array([0.0, 1.0, 2.0, 3.0, 0.0, 4.0])
    counts = sum(draws_of(6, weights=weights, n_draws=10_000).counts(i) for i in range(4))
    assert counts[0] == counts[4] == 0
    expected = 4 * 10_000 * weights / 10.0
    # Of a binomial count, five standard deviations: less than one failure in a million.
    deviation = np.sqrt(expected * (1 - weights / 10.0))
    assert (np.abs(counts - expected) <= 5 * deviation).all()


def test_a_bootstrap_sample_has_63_percent_of_the_rows():
    shares = [np.mean(draws_of(2000).counts(i) > 0) for i in range(20)]
    assert np.mean(shares) == pytest.approx(1 - (1 - 1 / 2000) ** 2000, abs=0.005)


def test_rounds_and_seeds_draw_differently_and_columns_do_not_follow_rows():
    assert not np.array_equal(draws_of().samples(0), draws_of().samples(1))
    assert not np.array_equal(draws_of().samples(0), draws_of(seed=1).samples(0))
    X, y = np.random.default_rng(0).normal(size=(30, 30)), np.arange(30) % 2
    bag = BaggingClassifier(GaussianNB(), 5, bootstrap_features=True).fit(X, y)
    for rows, columns in zip(bag.estimators_samples_, bag.estimators_features_, strict=True):
        assert len(columns) == 30
        assert not np.array_equal(rows, columns)


def test_weights_with_bootstrap_decide_what_is_drawn():
    X, y = IRIS
    weights = np.where(y == 1, 0.0, 1.0)
    for estimator in (None, KNeighborsClassifier(), GaussianNB()):
        bag = BaggingClassifier(estimator, 5).fit(X, y, sample_weight=weights)
        assert all((weights[sample] == 1.0).all() for sample in bag.estimators_samples_)
        assert set(bag.predict(X)) == {0, 2}


def test_weights_without_bootstrap_are_passed_on():
    X, y = DIABETES
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    alone = Ridge().fit(X, y, sample_weight=weights)
    bag = BaggingRegressor(Ridge(), 3, bootstrap=False).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(bag.predict(X), alone.predict(X))
    some = BaggingRegressor(Ridge(), 3, bootstrap=False, max_samples=100)
    some.fit(X, y, sample_weight=weights)
    for member, sample in zip(some.estimators_, some.estimators_samples_, strict=True):
        alone = Ridge().fit(X[sample], y[sample], sample_weight=weights[sample])
        np.testing.assert_allclose(member.predict(X), alone.predict(X))
    trees = BaggingRegressor(n_estimators=1, bootstrap=False).fit(X, y, sample_weight=weights)
    assert is_grown_together(trees)
    alone = DecisionTreeRegressor(**HIST).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(trees.predict(X), alone.predict(X))


def test_the_scale_of_weights_does_not_matter():
    X, y = IRIS
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    a, b = (
        BaggingClassifier(GaussianNB(), 4, max_samples=0.5).fit(X, y, sample_weight=w)
        for w in (weights, weights / 1024)
    )
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    assert len(a.estimators_samples_[0]) == 75


def test_estimators_have_seeds_of_their_own():
    X, y = IRIS
    bag = BaggingClassifier(make_pipeline(StandardScaler(), ExtraTreeClassifier()), 3).fit(X, y)
    seeds = [member[-1].random_state for member in bag.estimators_]
    assert len(set(seeds)) == 3
    again = clone(bag).fit(X, y)
    assert [member[-1].random_state for member in again.estimators_] == seeds


@pytest.mark.parametrize("estimator", [None, KNeighborsClassifier()])
def test_random_state_is_a_seed_a_stream_or_nothing(estimator):
    X, y = IRIS

    def first_sample(random_state):
        bag = BaggingClassifier(estimator, 2, random_state=random_state).fit(X, y)
        return bag.estimators_samples_[0].tolist()

    assert first_sample(3) == first_sample(3) != first_sample(4)
    stream = np.random.RandomState(0)
    assert first_sample(stream) != first_sample(stream)
    assert first_sample(np.random.RandomState(0)) == first_sample(np.random.RandomState(0))
    assert first_sample(None) != first_sample(None)


# The same at any number of jobs.


@pytest.mark.parametrize(
    "estimator",
    [None, DecisionTreeClassifier(), ExtraTreeClassifier(), KNeighborsClassifier()],
)
def test_a_bag_does_not_depend_on_the_number_of_jobs(estimator):
    X, y = WINE
    bags = [
        BaggingClassifier(estimator, 25, oob_score=True, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (None, 1, 2)
    ]
    for bag in bags[1:]:
        np.testing.assert_array_equal(bag.predict_proba(X), bags[0].predict_proba(X))
        np.testing.assert_array_equal(bag.oob_decision_function_, bags[0].oob_decision_function_)
        np.testing.assert_array_equal(bag.predict_trees(X), bags[0].predict_trees(X))


# Votes.


def test_hard_voting_counts_votes_and_the_first_of_equals_wins():
    X, y = IRIS
    bag = BaggingClassifier(KNeighborsClassifier(1), 4, voting="hard", max_samples=8).fit(X, y)
    votes = bag.predict_trees(X)
    shares = np.stack([np.bincount(column, minlength=3) for column in votes.T]) / 4
    np.testing.assert_array_equal(bag.predict_proba(X), shares)
    np.testing.assert_array_equal(bag.predict(X), shares.argmax(axis=1))
    assert (np.sort(shares, axis=1)[:, -2:] == 0.5).all(axis=1).any()  # there are ties


def test_voting_may_change_after_fit():
    X, y = IRIS
    for estimator in (None, KNeighborsClassifier()):
        bag = BaggingClassifier(estimator, 5).fit(X, y)
        hard = BaggingClassifier(estimator, 5, voting="hard").fit(X, y)
        np.testing.assert_array_equal(
            bag.set_params(voting="hard").predict_proba(X), hard.predict_proba(X)
        )


def test_estimators_without_probabilities_vote():
    X, y = IRIS
    soft, hard = (
        BaggingClassifier(RidgeClassifier(), 25, voting=voting, oob_score=True).fit(X, y)
        for voting in ("soft", "hard")
    )
    np.testing.assert_array_equal(soft.predict_proba(X), hard.predict_proba(X))
    np.testing.assert_array_equal(soft.oob_decision_function_, hard.oob_decision_function_)


def test_members_need_not_have_seen_every_class():
    X = np.concatenate([IRIS[0][:99], IRIS[0][-1:]])
    y = np.array(["a"] * 50 + ["b"] * 49 + ["c"])
    samples = [*([np.arange(0, 99, 2)] * 7), np.arange(100)]
    for estimator in (KNeighborsClassifier(1), SklearnTree(), DecisionTreeClassifier()):
        bag = BaggingClassifier(estimator, 8).fit(X, y, samples=samples)
        p = bag.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert p[-1, 2] == 1 / 8
        assert bag.predict_trees(X)[:7].max() == 1
        assert bag.predict_trees(X)[7].max() == 2
        assert set(bag.predict(X)) == {"a", "b"}


def test_a_decision_function_needs_members_that_saw_every_class():
    X, y = IRIS
    samples = [np.arange(150), np.arange(100)]
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    bag = BaggingClassifier(pipeline, 2).fit(X, y, samples=samples)
    with pytest.raises(DataError, match=r"estimators_\[1\] saw 2 of the 3 classes"):
        bag.decision_function(X)


def test_a_decision_function_is_the_mean():
    X, y = StandardScaler().fit_transform(CANCER[0]), CANCER[1]
    bag = BaggingClassifier(LogisticRegression(), 4, max_features=5).fit(X, y)
    decisions = [
        member.decision_function(X[:, columns])
        for member, columns in zip(bag.estimators_, bag.estimators_features_, strict=True)
    ]
    np.testing.assert_allclose(bag.decision_function(X), np.mean(decisions, axis=0))


def test_logarithms_are_of_the_probabilities():
    X, y = IRIS
    for estimator in (None, GaussianNB()):
        bag = BaggingClassifier(estimator, 3, voting="hard").fit(X, y)
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(bag.predict_log_proba(X), np.log(bag.predict_proba(X)))


class Liar(ClassifierMixin, BaseEstimator):
    """Predicts a class that nobody knows."""

    def fit(self, _, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), 17)


def test_a_prediction_of_an_unknown_class_is_refused():
    bag = BaggingClassifier(Liar(), 2).fit(*IRIS)
    with pytest.raises(DataError, match="17"):
        bag.predict(IRIS[0])


# Several outputs.


@pytest.mark.parametrize(
    "estimator", [None, DecisionTreeClassifier(), KNeighborsClassifier(), RidgeClassifier()]
)
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_classes_of_several_outputs(estimator, voting):
    X, y = IRIS
    Y = np.column_stack([y > 0, y > 1]).astype(int)
    bag = BaggingClassifier(estimator, 15, voting=voting, oob_score=True).fit(X, Y)
    votes = bag.predict_trees(X)
    assert votes.shape == (15, 150, 2)
    p = bag.predict_proba(X)
    assert [of_output.shape for of_output in p] == [(150, 2), (150, 2)]
    if voting == "hard":
        np.testing.assert_allclose(p[1][:, 1], votes[:, :, 1].mean(axis=0))
    assert np.mean(bag.predict(X) == Y) > 0.8
    assert bag.oob_score_ > 0.75
    assert len(bag.classes_) == 2


def test_probabilities_of_labels_alone_are_taken_as_votes():
    X, y = IRIS
    Y = np.column_stack([y > 0, y > 1]).astype(int)
    network = MLPClassifier((), solver="lbfgs", max_iter=100)
    bag = BaggingClassifier(network, 2, max_samples=0.5).fit(X, Y)
    votes = bag.predict_trees(X)
    np.testing.assert_allclose(bag.predict_proba(X)[0][:, 1], votes[:, :, 0].mean(axis=0))


@pytest.mark.parametrize("estimator", [None, Ridge()])
def test_numbers_of_several_outputs(estimator):
    X, y = DIABETES
    Y = np.column_stack([y, -y])
    bag = BaggingRegressor(estimator, 20, oob_score=True).fit(X, Y)
    np.testing.assert_allclose(bag.predict(X)[:, 0], -bag.predict(X)[:, 1])
    assert bag.predict_trees(X).shape == (20, len(y), 2)
    assert bag.oob_prediction_.shape == Y.shape


# Tables.


def mixed_table(n=400):
    rng = np.random.default_rng(0)
    number, colour = rng.normal(size=n), rng.choice(["red", "green", "blue"], n)
    number[::7] = np.nan
    y = np.where((np.nan_to_num(number) > 0) == (colour == "red"), "yes", "no")
    return {"number": number, "colour": colour, "noise": rng.normal(size=n)}, y


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("options", [{}, {"max_features": 2}, {"bootstrap_features": True}])
def test_trees_take_tables_with_gaps_and_categories(library, options):
    columns, y = mixed_table()
    bag = BaggingClassifier(n_estimators=15, **options)
    bag.fit(library(columns), y)
    assert bag.score(library(columns), y) > (0.9 if not options else 0.75)
    assert bag.feature_names_in_.tolist() == list(columns)
    assert bag.classes_.tolist() == ["no", "yes"]


# A ColumnTransformer before 1.8 cannot join a sparse matrix with columns of Polars.
@pytest.mark.parametrize("library", [pd.DataFrame, *([pl.DataFrame] if SINCE_1_8 else [])])
def test_frames_stay_frames_for_other_estimators(library):
    columns, y = mixed_table()
    columns["number"] = np.nan_to_num(columns["number"])
    by_name = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough"
    )
    bag = BaggingClassifier(make_pipeline(by_name, SklearnTree()), 25, oob_score=True)
    table = library(columns)
    bag.fit(table, y)
    assert bag.estimators_[0].feature_names_in_.tolist() == list(columns)
    assert bag.score(table, y) > 0.95
    assert bag.oob_score_ > 0.8


def test_a_sparse_table_is_taken_apart_as_it_is():
    X, y = np.round(IRIS[0]), IRIS[1]
    for estimator in (None, SklearnTree(max_depth=3)):
        for kind in (scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array):
            bag = BaggingClassifier(estimator, 4, max_features=3).fit(kind(X), y)
            dense = BaggingClassifier(estimator, 4, max_features=3).fit(X, y)
            np.testing.assert_array_equal(bag.predict_proba(kind(X)), dense.predict_proba(X))


def test_labels_are_what_the_estimators_are_given():
    X, y = IRIS[0], np.array(["setosa", "versicolor", "virginica"])[IRIS[1]]
    weights = {"setosa": 1.0, "versicolor": 50.0, "virginica": 1.0}
    for tree in (SklearnTree, DecisionTreeClassifier):
        bag = BaggingClassifier(tree(max_depth=1, class_weight=weights), 5).fit(X, y)
        assert bag.estimators_[0].classes_.tolist() == bag.classes_.tolist()
        assert set(bag.predict(X)) <= {"setosa", "versicolor"}


# Warm starts.


@pytest.mark.parametrize(
    "bag",
    [
        BaggingClassifier(),
        BaggingClassifier(KNeighborsClassifier(), max_features=2),
        BaggingClassifier(DecisionTreeClassifier(), max_samples=0.5),
        BaggingRegressor(),
        BaggingRegressor(Ridge()),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_warm_start_adds_estimators(bag, weighted):
    X, y = IRIS
    takes = not isinstance(bag.estimator, KNeighborsClassifier)
    weights = np.random.default_rng(0).uniform(0.1, 1.0, len(y)) if weighted and takes else None
    at_once = clone(bag).set_params(n_estimators=25, oob_score=True)
    at_once.fit(X, y, sample_weight=weights)
    warm = clone(bag).set_params(n_estimators=3, warm_start=True).fit(X, y, sample_weight=weights)
    before = warm.predict_trees(X)
    warm.set_params(n_estimators=25, oob_score=True).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(warm.predict_trees(X)[:3], before)
    np.testing.assert_array_equal(warm.predict_trees(X), at_once.predict_trees(X))
    assert warm.oob_score_ == at_once.oob_score_
    for a, b in zip(warm.estimators_samples_, at_once.estimators_samples_, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.warns(UserWarning, match="already has n_estimators=25 (trees|base models)"):
        warm.fit(X, y, sample_weight=weights)
    assert len(warm.estimators_) == 25


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_estimators": 2}, "n_estimators=2 is less"),
        ({"max_samples": 0.5}, "max_samples|sampled"),
        ({"bootstrap": False}, "bootstrap|sampled"),
        ({"max_features": 2}, "columns"),
        ({"estimator": KNeighborsClassifier()}, "kind of estimator"),
    ],
)
def test_a_warm_start_goes_on_as_it_began(estimator, changed, message):
    X, y = IRIS
    bag = BaggingClassifier(estimator, 3, warm_start=True).fit(X, y)
    before = state_of(bag)
    bag.set_params(n_estimators=6)
    if estimator is not None and "estimator" in changed:
        bag.set_params(**changed).fit(X, y)  # any estimators may be in a bag together
        assert isinstance(bag.estimators_[-1], KNeighborsClassifier)
        return
    with pytest.raises(ParameterError, match=message):
        bag.set_params(**changed).fit(X, y)
    assert state_of(bag) == before


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_a_warm_start_needs_the_same_rows_classes_and_weights(estimator):
    X, y = IRIS
    bag = BaggingClassifier(estimator, 3, warm_start=True).fit(X, y)
    bag.set_params(n_estimators=6)
    with pytest.raises(DataError, match="classes"):
        bag.fit(X, y > 0)
    with pytest.raises((DataError, ParameterError), match="rows"):
        bag.fit(X[:149], y[:149])
    with pytest.raises(DataError, match="features"):
        bag.fit(X[:, :3], y)
    with pytest.raises(ParameterError, match=r"weights|sampled"):
        bag.fit(X, y, sample_weight=np.arange(150.0))


# Samples that are given.


def test_samples_are_fitted_as_they_are_given():
    X, y = IRIS
    samples = [[0, 0, 60, 120], [149, 1, 70]]
    bag = BaggingClassifier(KNeighborsClassifier(1), 2).fit(X, y, samples=samples)
    assert [sample.tolist() for sample in bag.estimators_samples_] == samples
    np.testing.assert_array_equal(bag.estimators_[1]._fit_X, X[[149, 1, 70]])


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([[0, 1]], "n_estimators=2"),
        (3, "n_estimators=2"),
        ([[0, 1], []], r"samples\[1\]"),
        ([[0, 1], [0.5]], r"samples\[1\]"),
        ([[0, 1], [[0]]], r"samples\[1\]"),
        ([[0, 1], [0, 150]], r"samples\[1\] contains row 150"),
        ([[0, -1], [0]], r"samples\[0\] contains row -1"),
    ],
)
def test_samples_that_are_none_are_refused(samples, message):
    with pytest.raises(DataError, match=message):
        BaggingClassifier(GaussianNB(), 2).fit(*IRIS, samples=samples)


def test_samples_and_weights_exclude_each_other():
    with pytest.raises(DataError, match="samples and sample_weight"):
        BaggingClassifier(None, 1).fit(*IRIS, sample_weight=np.ones(150), samples=[[0]])


# Bad input.


@pytest.mark.parametrize("kind", [BaggingClassifier, BaggingRegressor])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("estimator", "tree"),
        ("estimator", GaussianNB),
        ("estimator", 3),
        ("n_estimators", 0),
        ("n_estimators", 2.5),
        ("n_estimators", True),
        ("max_samples", 0),
        ("max_samples", 1.5),
        ("max_samples", 151),
        ("max_features", 0),
        ("max_features", 1.1),
        ("max_features", None),
        ("max_features", 5),
        ("max_features", "sqrt"),
        ("bootstrap", 1),
        ("bootstrap_features", "yes"),
        ("oob_score", "accuracy"),
        ("warm_start", None),
        ("random_state", -1),
        ("n_jobs", 0),
        ("verbose", -1),
    ],
)
def test_a_bad_parameter_is_named_before_any_work(kind, name, value):
    good = kind(n_estimators=2).fit(*IRIS)
    before = state_of(good)
    with pytest.raises(ParameterError, match=name):
        good.set_params(**{name: value}).fit(*IRIS)
    assert state_of(good) == before


def test_voting_is_soft_or_hard():
    with pytest.raises(ParameterError, match="voting='loud'"):
        BaggingClassifier(voting="loud").fit(*IRIS)


def test_classifiers_are_for_classes_and_regressors_for_numbers():
    with pytest.raises(ParameterError, match="needs a classifier"):
        BaggingClassifier(Ridge()).fit(*IRIS)
    with pytest.raises(ParameterError, match="needs a regressor"):
        BaggingRegressor(GaussianNB()).fit(*IRIS)


def test_the_trees_own_parameters_are_checked_first():
    with pytest.raises(ParameterError, match="max_depth"):
        BaggingClassifier(DecisionTreeClassifier(max_depth=-1)).fit(None, None)


@pytest.mark.parametrize("estimator", [None, KNeighborsClassifier()])
def test_out_of_bag_needs_rows_that_are_not_drawn(estimator):
    with pytest.raises(ParameterError, match="oob_score"):
        BaggingClassifier(estimator, bootstrap=False, oob_score=True).fit(*IRIS)


@pytest.mark.parametrize("estimator", [None, KNeighborsClassifier()])
def test_rows_that_everyone_drew_have_no_out_of_bag_prediction(estimator):
    with pytest.warns(UserWarning, match="in the sample of every estimator") as warned:
        bag = BaggingClassifier(estimator, 2, oob_score=True).fit(*IRIS)
    assert warned[0].filename == __file__
    counts = [np.bincount(sample, minlength=150) for sample in bag.estimators_samples_]
    in_every_sample = (np.array(counts) > 0).all(axis=0)
    np.testing.assert_array_equal(np.isnan(bag.oob_decision_function_).all(axis=1), in_every_sample)


def test_out_of_bag_is_judged_by_the_function_given():
    X, y = DIABETES
    for estimator in (None, Ridge()):
        bag = BaggingRegressor(estimator, 25, oob_score=lambda y, p: float(np.abs(y - p).max()))
        bag.fit(X, y)
        assert bag.oob_score_ == np.abs(y - bag.oob_prediction_).max()


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": IRIS[0][:, 0]}, "2D|two dimensions|1-d|dimension"),
        ({"X": IRIS[0][:0]}, "0 sample"),
        ({"X": pd.DataFrame()}, "shape|0 sample"),
        ({"y": IRIS[1][:10]}, "y has 10 values, but X has 150 rows"),
        ({"y": IRIS[1] + 0.5}, "continuous"),
        ({"y": None}, "y"),
        ({"sample_weight": np.ones(3)}, "sample_weight has 3 values"),
        ({"sample_weight": -np.ones(150)}, "sample_weight is negative"),
        ({"sample_weight": np.zeros(150)}, "sample_weight is zero"),
        ({"sample_weight": np.full(150, np.nan)}, "sample_weight contains NaN"),
    ],
)
def test_bad_data_is_refused_and_changes_nothing(estimator, change, message):
    bag = BaggingClassifier(estimator, 2).fit(*IRIS)
    before = state_of(bag)
    with pytest.raises(DataError, match=message):
        bag.fit(**({"X": IRIS[0], "y": IRIS[1]} | change))
    assert state_of(bag) == before


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_a_prediction_needs_the_columns_of_the_fit(estimator):
    bag = BaggingClassifier(estimator, 2).fit(*IRIS)
    with pytest.raises(DataError, match="3 features"):
        bag.predict(IRIS[0][:, :3])


def test_weights_without_bootstrap_need_an_estimator_that_takes_them():
    with pytest.raises(
        ParameterError, match="With bootstrap=False, sample_weight is passed to the estimator, but"
    ):
        BaggingClassifier(KNeighborsClassifier(), bootstrap=False).fit(
            *IRIS, sample_weight=np.ones(150)
        )


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(), GaussianNB()])
def test_samples_are_drawn_from_the_rows_with_weight(estimator):
    bag = BaggingClassifier(estimator, 10, bootstrap=False, max_samples=0.1)
    bag.fit(*IRIS, sample_weight=(np.arange(150) % 3 == 1).astype(float))
    for sample in bag.estimators_samples_:
        assert len(sample) == 5
        assert (sample % 3 == 1).all()


def test_a_given_sample_without_any_weight_is_refused():
    bag = BaggingClassifier(None, 2, bootstrap=False, class_weight={0: 0.0, 1: 1.0, 2: 1.0})
    with pytest.raises(DataError, match=r"no row with a positive weight in samples\[1\]"):
        bag.fit(*IRIS, samples=[[0, 60], [1, 2]])


@pytest.mark.parametrize("splitter", ["exact", "hist"])
def test_a_fraction_of_the_rows_is_one_of_the_sample(splitter):
    tree = DecisionTreeRegressor(splitter=splitter, min_samples_leaf=0.4)
    bag = BaggingRegressor(tree, 3, bootstrap=False, max_samples=100).fit(*DIABETES)
    assert {each.tree_.count.min() >= 40 for each in bag.estimators_} == {True}
    assert {each.tree_.count[0] for each in bag.estimators_} == {100}
    assert max(each.get_n_leaves() for each in bag.estimators_) == 2


# Failures on the way.


class Breaks(ClassifierMixin, BaseEstimator):
    """Raises in one of a few fits."""

    def __init__(self, error, random_state=None):
        self.error = error
        self.random_state = random_state

    def fit(self, _, y):
        if self.random_state % 3 == 0:
            raise self.error
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize(
    ("error", "n_jobs"),
    [(KeyboardInterrupt(), 1), (RuntimeError("no luck"), 1), (RuntimeError("no luck"), 2)],
)
def test_an_estimator_that_fails_leaves_the_bag_as_it_was(error, n_jobs):
    X, y = IRIS
    bag = BaggingClassifier(GaussianNB(), 3).fit(X, y)
    before, predicted = state_of(bag), bag.predict_proba(X)
    bag.set_params(estimator=Breaks(error), n_estimators=20, n_jobs=n_jobs)
    with pytest.raises(type(error)):
        bag.fit(X, y)
    assert state_of(bag) == before
    np.testing.assert_array_equal(bag.set_params(n_jobs=None).predict_proba(X), predicted)


A_LONG_FIT = """
import numpy as np
from hedgerow._bagging import BaggingRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(200_000, 10)).astype(np.float32)
y = X[:, 0] + rng.normal(size=200_000)
bag = BaggingRegressor(n_estimators=1).fit(X[:100], y[:100])
bag.set_params(n_estimators=100_000)
before = dict(vars(bag))
"""


def test_ctrl_c_ends_a_fit_and_leaves_the_bag_as_it_was():
    assert interrupted(A_LONG_FIT, "bag.fit(X, y)", "vars(bag) == before", delay=0.5) == "True"


def test_a_bag_predicts_by_what_it_was_fitted_with():
    X, y = IRIS
    for estimator in (None, KNeighborsClassifier()):
        bag = BaggingClassifier(estimator, 3).fit(X, y)
        before = bag.predict_proba(X)
        bag.set_params(estimator=LogisticRegression())
        np.testing.assert_array_equal(bag.predict_proba(X), before)


@pytest.mark.parametrize("estimator", [None, GaussianNB(), DecisionTreeClassifier()])
def test_progress_is_shown(estimator, capsys):
    BaggingClassifier(estimator, 4, verbose=2).fit(*IRIS)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].split()[1] == "4/4"


def test_a_bag_of_trees_is_smaller_than_its_trees_alone():
    X, y = np.random.default_rng(0).normal(size=(3000, 5)), np.arange(3000) % 2
    bag = BaggingClassifier().fit(X, y)
    assert len(pickle.dumps(bag)) < 0.5 * len(pickle.dumps(bag.estimators_))


@pytest.mark.parametrize("base", [None, GaussianNB()])
def test_bags_are_sequences_of_their_estimators(base):
    X, y = IRIS
    bag = BaggingClassifier(base, n_estimators=4).fit(X, y)
    assert len(bag) == len(bag[1:]) + 1 == 4
    np.testing.assert_array_equal(bag[-1].predict(X), bag.estimators_[3].predict(X))
