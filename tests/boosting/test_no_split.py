"""Models whose trees have no split say why, and the scale of weights is not a reason."""

import warnings

import numpy as np
import pytest

from hedgerow import (
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    NoSplitWarning,
    RandomForestClassifier,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
LABELS = (X[:, 0] + X[:, 1] > 1.0).astype(int)
NUMBERS = X[:, 0] + X[:, 1] ** 2
WEIGHTS = RNG.uniform(0.1, 3.0, 600)
EACH = pytest.mark.parametrize(
    ("kind", "y"), [(GradientBoostingClassifier, LABELS), (GradientBoostingRegressor, NUMBERS)]
)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"min_samples_leaf": 301}, r"a split needs 602 rows \(min_samples_leaf=301\), but"),
        ({"min_samples_leaf": 20, "subsample": 0.05}, "subsample=0.05 samples 28 of 600 rows"),
        ({"min_child_weight": 1e4}, "min_child_weight=10000 on both sides; the hessians .* to 600"),
        ({"min_split_gain": 1e6}, "no split has a gain of at least min_split_gain=1e"),
        ({"reg_alpha": 1e6}, "with reg_alpha=1000000.0 no split has a gain"),
        (
            {"min_samples_leaf": 301, "min_split_gain": 1e6},
            "min_samples_leaf=301 and min_child_weight=0.001 and min_split_gain=1000000.0 together",
        ),
    ],
)
@pytest.mark.parametrize("splitter", ["hist", "exact"])
def test_the_limit_that_stopped_every_split_is_named(parameters, words, splitter):
    model = GradientBoostingRegressor(n_estimators=2, splitter=splitter, **parameters)
    with pytest.warns(NoSplitWarning, match=words):
        model.fit(X, NUMBERS)


def test_few_rows_of_default_parameters_are_warned_of():
    with pytest.warns(
        NoSplitWarning, match=r"a split needs 40 rows \(min_samples_leaf=20\), but .* uses only 30"
    ):
        GradientBoostingClassifier(n_estimators=5).fit(X[:30], LABELS[:30])


def test_a_small_balanced_sample_is_warned_of():
    model = GradientBoostingClassifier(n_estimators=5, sampling="balanced", subsample=0.1)
    with pytest.warns(NoSplitWarning, match=r"sampling='balanced' samples \d+ of 600 rows"):
        model.fit(X, LABELS)


@pytest.mark.parametrize(
    ("table", "y", "words"),
    [
        (X, np.ones(600), "the target is the same in every row"),
        (np.ones((600, 2)), NUMBERS, "every feature is constant"),
        (np.full((600, 2), np.nan), NUMBERS, "every feature is constant"),
        (
            np.tile([[0.0], [1.0]], (300, 1)),
            np.repeat([0.0, 1.0], 300),
            "no feature separates the targets",
        ),
    ],
)
def test_data_without_a_split_are_named(table, y, words):
    with pytest.warns(NoSplitWarning, match=words):
        GradientBoostingRegressor(n_estimators=2).fit(table, y)


def test_constraints_that_forbid_every_split_are_named():
    model = GradientBoostingRegressor(
        n_estimators=2, monotonic_constraints=[-1], min_samples_leaf=200
    )
    with pytest.warns(NoSplitWarning, match="monotonic_constraints forbids every split"):
        model.fit(X[:, :1], X[:, 0])


def test_a_ranker_says_so_too():
    ranker = GradientBoostingRanker(n_estimators=2, min_samples_leaf=400)
    with pytest.warns(NoSplitWarning, match="GradientBoostingRanker: no tree has a split"):
        ranker.fit(X, LABELS, qid=np.repeat(np.arange(60), 10))


def test_limits_of_trees_and_forests_are_named():
    with pytest.warns(NoSplitWarning, match="30 rows is allowed by min_samples_leaf=20, so"):
        DecisionTreeRegressor(min_samples_leaf=20).fit(X[:30], NUMBERS[:30])
    with pytest.warns(NoSplitWarning, match="100 rows is allowed by min_samples_split=0.9"):
        RandomForestClassifier(min_samples_split=0.9, n_estimators=3).fit(X[:100], LABELS[:100])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DecisionTreeRegressor().fit(X[:30], np.ones(30))


def test_a_model_with_splits_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GradientBoostingRegressor(n_estimators=2).fit(X, NUMBERS)


@EACH
@pytest.mark.parametrize("rounds", [{"n_estimators": 10}, {"budget": "quick"}])
def test_small_weights_give_the_model_of_the_same_weights_times_a_power_of_2(kind, y, rounds):
    small, tiny = (kind(**rounds).fit(X, y, WEIGHTS * scale) for scale in (2.0**-3, 2.0**-20))
    assert small._model.ensemble.n_nodes > small._model.ensemble.n_trees
    np.testing.assert_array_equal(small._scores(X), tiny._scores(X))


@EACH
@pytest.mark.parametrize("weight", [1e-6, 0.3])
def test_equal_weights_below_1_are_none(kind, y, weight):
    weighted, plain = (
        kind(n_estimators=10).fit(X, y, weights) for weights in (np.full(600, weight), None)
    )
    np.testing.assert_array_equal(weighted._scores(X), plain._scores(X))


@EACH
@pytest.mark.parametrize("weight", [1e-6, 7.0, 1e6])
def test_chosen_parameters_do_not_depend_on_the_scale_of_weights(kind, y, weight):
    weighted, plain = (
        kind(budget="quick").fit(X[:200], y[:200], weights)
        for weights in (np.full(200, weight), None)
    )
    np.testing.assert_array_equal(weighted._scores(X), plain._scores(X))


@EACH
def test_a_weight_of_2_is_two_rows(kind, y):
    weights = RNG.integers(0, 4, 600)
    rows = np.repeat(np.arange(600), weights)
    common = {"n_estimators": 10, "min_samples_leaf": 1}
    table = X.round(1)
    weighted = kind(**common).fit(table, y, weights)
    repeated = kind(**common).fit(table[rows], y[rows])
    np.testing.assert_allclose(weighted._scores(X), repeated._scores(X), rtol=1e-9)


def test_rows_of_no_weight_do_not_change_the_unit():
    few = np.arange(600) < 300
    model = GradientBoostingRegressor(n_estimators=10, min_samples_leaf=1)
    with_zeros = model.fit(X, NUMBERS, np.where(few, 1e-3, 0.0)).predict(X)
    without = model.fit(X[few], NUMBERS[few]).predict(X)
    np.testing.assert_allclose(with_zeros, without, rtol=1e-9)


def test_exposures_keep_their_unit():
    exposure = RNG.uniform(100.0, 1000.0, 600)
    counts = RNG.poisson(exposure * np.exp(X[:, 0]) / 1000.0)
    model = GradientBoostingRegressor(loss="poisson", budget="quick", subsample=1.0)
    by_day = model.fit(X, counts / exposure, exposure)
    cover = by_day._model.ensemble.cover[0]
    assert cover == pytest.approx(counts.sum(), rel=0.05)
