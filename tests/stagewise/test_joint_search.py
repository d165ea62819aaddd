"""The joint search over (β, G) against exhaustive loops, and learners rescaled to Σ h² = C."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import hedgerow as hr
from hedgerow.exceptions import DataError, ParameterError

RNG = np.random.default_rng(8)
X = RNG.integers(0, 6, size=(24, 2)).astype(float)
NUMBERS = X[:, 0] * (X[:, 1] > 2) + RNG.standard_t(2, size=24)
SIGNS = np.where(X[:, 0] + X[:, 1] + RNG.normal(0, 1.5, 24) > 5, 1, -1)
W = RNG.integers(1, 4, 24).astype(float)
LOSSES = {
    "squared_error": lambda y, F: (y - F) ** 2 / 2,
    "absolute_error": lambda y, F: np.abs(y - F),
    "quantile": lambda y, F: np.maximum(0.9 * (y - F), -0.1 * (y - F)),
}
STUMP = hr.DecisionTreeClassifier(max_depth=1)


def sides(X, rows):
    """All divisions of rows by a threshold of a column."""
    for column in X.T:
        for cut in np.unique(column[rows])[1:]:
            yield rows & (column < cut), rows & (column >= cut)


def least(value):
    """The minimum of a convex function of one number."""
    return minimize_scalar(value, bounds=(-50, 50), method="bounded", options={"xatol": 1e-10}).fun


def least_of_signs(loss, y, F, w):
    """The least loss of β G over all β and all stumps G with outputs ±1, the constant included."""
    every = [np.ones(len(y))] + [
        np.where(left, 1.0, -1.0) for left, _ in sides(X, np.ones(len(y), bool))
    ]
    return min(least(lambda b, G=G: (w * loss(y, F + b * G)).sum()) for G in every)


def least_of_leaves(loss, y, F, w, rows):
    return least(lambda c: (w * loss(y, F + c))[rows].sum())


@pytest.mark.parametrize("weights", [None, W], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_joint_search_finds_the_least_loss_of_all_stumps_and_steps(loss, weights):
    options = {"loss": loss, "search": "joint", "learning_rate": 1.0, "init": "zero"}
    w = np.ones(24) if weights is None else weights
    F = np.zeros(24)
    model = hr.StagewiseRegressor(STUMP, n_estimators=3, **options).fit(X, NUMBERS, weights)
    for stage in model.staged_predict(X):
        expected = least_of_signs(LOSSES[loss], NUMBERS, F, w)
        assert (w * LOSSES[loss](NUMBERS, stage)).sum() == pytest.approx(expected, abs=1e-6)
        F = stage


@pytest.mark.parametrize("loss", LOSSES)
def test_a_regression_tree_has_the_best_value_in_every_leaf_of_the_best_partition(loss):
    of = LOSSES[loss]
    y, everything, w = NUMBERS, np.ones(24, bool), np.ones(24)
    zero = np.zeros(24)
    cost = {}

    def leaf(rows):
        if rows.tobytes() not in cost:
            cost[rows.tobytes()] = least_of_leaves(of, y, zero, w, rows)
        return cost[rows.tobytes()]

    def best(rows, depth, leaves):
        found = leaf(rows)
        if depth == 0 or leaves == 1:
            return found
        for left, right in sides(X, rows):
            for n in range(1, leaves):
                pair = best(left, depth - 1, n) + best(right, depth - 1, leaves - n)
                found = min(found, pair)
        return found

    for limits in ({"max_depth": 1}, {"max_leaves": 3}, {"max_depth": 2}):
        tree = hr.DecisionTreeRegressor(**limits)
        model = hr.StagewiseRegressor(
            tree, loss=loss, search="joint", learning_rate=1.0, init="zero", n_estimators=1
        ).fit(X, y)
        expected = best(everything, limits.get("max_depth", 2), limits.get("max_leaves", 4))
        assert of(y, model.predict(X)).sum() == pytest.approx(expected, abs=1e-6)
        assert model.estimators_[0].get_n_leaves() <= limits.get("max_leaves", 4)


def test_trees_of_signs_are_all_tried():
    few = np.array([0, 1, 2, 3, 4, 5, 7, 9])
    x, y = X[few, :1], NUMBERS[few]
    values = np.unique(x)
    # With max_leaves=3 a column of numbers is cut at most twice: all such patterns of signs.
    patterns = [
        [s[0] if v < a else s[1] if v < b else s[2] for v in x[:, 0]]
        for a, b in itertools.combinations_with_replacement(values, 2)
        for s in itertools.product((-1.0, 1.0), repeat=3)
    ]
    expected = min(least(lambda b, G=G: np.abs(y - b * np.array(G)).sum()) for G in patterns)
    model = hr.StagewiseRegressor(
        hr.DecisionTreeClassifier(max_leaves=3),
        loss="absolute_error",
        search="joint",
        learning_rate=1.0,
        init="zero",
        n_estimators=1,
    ).fit(x, y)
    assert np.abs(y - model.predict(x)).sum() == pytest.approx(expected, abs=1e-6)


def test_with_the_exponential_loss_it_is_adaboost_by_the_least_weighted_error():
    model = hr.StagewiseClassifier(
        STUMP, loss="exponential", search="joint", learning_rate=1.0, init="zero", n_estimators=4
    ).fit(X, SIGNS)
    w = np.full(24, 1 / 24)
    every = [np.where(left, 1, -1) for left, _ in sides(X, np.ones(24, bool))] + [np.ones(24)]
    every += [-G for G in every]
    f = np.zeros(24)
    for step, learner in zip(model.steps_, model.estimators_, strict=True):
        least_error = min((w * (G != SIGNS)).sum() for G in every)
        G = np.sign(step) * learner.predict(X)
        assert (w * (G != SIGNS)).sum() == pytest.approx(least_error, rel=1e-9)
        assert abs(step) == pytest.approx(np.log((1 - least_error) / least_error) / 2, rel=1e-9)
        f += step * learner.predict(X)
        w = np.exp(-SIGNS * f)
        w /= w.sum()
    np.testing.assert_allclose(model.decision_function(X), f, rtol=1e-9)


def test_following_the_gradient_may_end_above_the_joint_minimum_but_never_below():
    r = np.random.default_rng(2)
    table = r.normal(size=(300, 3))
    y = table[:, 0] + table[:, 1] ** 2 + 0.5 * r.normal(size=300)
    options = {"loss": "absolute_error", "learning_rate": 1.0, "n_estimators": 1}
    gradient, joint = (
        np.abs(y - hr.StagewiseRegressor(STUMP, search=s, **options).fit(table, y).predict(table))
        for s in ("gradient", "joint")
    )
    assert joint.sum() < gradient.sum() - 1.0


def test_joint_models_are_saved_explained_and_resumed(tmp_path):
    model = hr.StagewiseRegressor(
        loss="huber", search="joint", n_estimators=3, subsample=0.8, early_stopping=False
    ).fit(X, NUMBERS)
    model.save(tmp_path / "joint.hedgerow")
    read = hr.load(tmp_path / "joint.hedgerow")
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    sums = hr.explain.shap_values(model, X)
    np.testing.assert_allclose(
        sums.values.sum(axis=1) + sums.base_values, model.predict(X), rtol=1e-9, atol=1e-9
    )
    more = hr.StagewiseRegressor(loss="huber", search="joint", n_estimators=2, warm_start=True)
    more.fit(X, NUMBERS).set_params(n_estimators=4).fit(X, NUMBERS)
    at_once = hr.StagewiseRegressor(loss="huber", search="joint", n_estimators=4).fit(X, NUMBERS)
    np.testing.assert_array_equal(more.predict(X), at_once.predict(X))


def test_min_samples_leaf_limits_the_search():
    tree = hr.DecisionTreeRegressor(max_depth=1, min_samples_leaf=0.4)
    model = hr.StagewiseRegressor(tree, search="joint", n_estimators=1).fit(X, NUMBERS)
    assert model.estimators_[0].tree_.count[1:].min() >= 10


@pytest.mark.parametrize(
    ("estimator", "options", "says"),
    [
        (hr.KNeighborsRegressor(), {}, "estimator=KNeighborsRegressor is not allowed"),
        (hr.DecisionTreeRegressor(), {}, "has no limit"),
        (STUMP, {"step": "line_search"}, "step='line_search' is not allowed with search='joint'"),
        (None, {"response": "newton"}, "response='newton' is not allowed"),
        (None, {"normalise": 2.0}, "normalise=2.0 is not allowed"),
        (hr.DecisionTreeRegressor(max_depth=40), {}, "more than 200,000"),
    ],
)
def test_what_a_joint_search_cannot_do_is_named(estimator, options, says):
    with pytest.raises(ParameterError, match=says):
        hr.StagewiseRegressor(estimator, search="joint", **options).fit(X, NUMBERS)


def test_a_joint_search_needs_numbers_and_one_score():
    with pytest.raises(DataError, match="only numbers"):
        hr.StagewiseRegressor(search="joint").fit(np.where(X == 3, np.nan, X), NUMBERS)
    with pytest.raises(ParameterError, match="y has 3 classes"):
        hr.StagewiseClassifier(search="joint").fit(X, np.arange(24) % 3)


@pytest.mark.parametrize("weights", [None, W], ids=["unweighted", "weighted"])
def test_learners_are_rescaled_to_a_constant_sum_of_squares(weights):
    w = np.ones(24) if weights is None else weights
    tree = hr.DecisionTreeRegressor(max_leaves=3)
    model = hr.StagewiseRegressor(
        tree, step="unit", normalise=6.0, learning_rate=0.5, n_estimators=4
    ).fit(X, NUMBERS, weights)
    F = np.full(24, np.average(NUMBERS, weights=w))
    for factor, learner in zip(model.steps_, model.estimators_, strict=True):
        again = hr.DecisionTreeRegressor(max_leaves=3).fit(X, NUMBERS - F, weights)
        h = again.predict(X)
        np.testing.assert_allclose(learner.predict(X), h)
        assert factor == pytest.approx(np.sqrt(6.0 / (w * h**2).sum()), rel=1e-9)
        assert (w * (factor * h) ** 2).sum() == pytest.approx(6.0, rel=1e-9)
        F = F + 0.5 * factor * h
    np.testing.assert_allclose(model.predict(X), F)


def test_rescaling_changes_nothing_if_the_step_is_searched():
    plain, scaled = (
        hr.StagewiseRegressor(
            step="line_search", loss="absolute_error", normalise=C, n_estimators=3
        )
        for C in (None, 5.0)
    )
    np.testing.assert_allclose(
        plain.fit(X, NUMBERS).predict(X), scaled.fit(X, NUMBERS).predict(X), rtol=1e-9
    )


def test_a_step_per_leaf_cannot_be_rescaled():
    with pytest.raises(ParameterError, match="one per leaf"):
        hr.StagewiseRegressor(normalise=1.0).fit(X, NUMBERS)
