"""The named algorithms: each is written out naively here, or taken from a peer, and compared."""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.ensemble import GradientBoostingClassifier as SklearnBoostingClassifier
from sklearn.ensemble import GradientBoostingRegressor as SklearnBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow._stagewise import StagewiseClassifier, StagewiseRegressor

N = 240
RNG = np.random.default_rng(3)
# The trees of scikit-learn see X as float32, so it holds nothing finer; linear models keep float64.
X = RNG.normal(size=(N, 4)).astype(np.float32).astype(np.float64)
SIGNAL = 3.0 * X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2.0 * X[:, 3])
NUMBERS = SIGNAL + RNG.standard_t(2, size=N)
TWO = (SIGNAL + RNG.normal(size=N) > 0.5).astype(int)
THREE = np.digitize(SIGNAL + RNG.normal(size=N), [-1.0, 1.5])
W = RNG.uniform(0.2, 2.0, N)
STUMP = DecisionTreeClassifier(max_depth=1)
# Leaves of several rows: in one of two rows every feature splits alike, and rounding would choose.
TREE = DecisionTreeRegressor(max_leaf_nodes=6, min_samples_leaf=5)
ROUNDS = 12
# Since version 1.9 scikit-learn's boosting has no criterion but the squared error.
HAS_CRITERION = getattr(SklearnBoostingRegressor(), "criterion", "deprecated") != "deprecated"
CRITERION = {"criterion": "squared_error"} if HAS_CRITERION else {}
ADABOOST = {"loss": "exponential", "learning_rate": 1.0, "init": "zero"}


def staged(model, method="staged_predict"):
    return np.array(list(getattr(model, method)(X)))


@pytest.fixture(scope="module", params=[None, W], ids=["unweighted", "weighted"])
def adaboost(request):
    weights = request.param
    model = StagewiseClassifier(STUMP, n_estimators=ROUNDS, **ADABOOST)
    return model.fit(X, TWO, weights), np.ones(N) if weights is None else weights


def run_naively(weights):
    """Algorithm 1 of the first lecture: errors, α, Σw before and after, the classifiers' G."""
    w, y = weights / weights.sum(), 2 * TWO - 1
    errs, alphas, totals, votes = [], [], [w.sum()], []
    for _ in range(ROUNDS):
        G = DecisionTreeClassifier(max_depth=1).fit(X, y, w).predict(X)
        wrong = y != G
        errs.append(w[wrong].sum() / w.sum())
        alphas.append(np.log(1 - errs[-1]) - np.log(errs[-1]))
        w = w * np.exp(alphas[-1] * wrong)
        totals.append(w.sum())
        votes.append(G)
    return (np.array(values) for values in (errs, alphas, totals, votes))


def test_steps_are_half_of_alpha_and_scores_half_of_the_votes(adaboost):
    model, weights = adaboost
    _, alphas, _, votes = run_naively(weights)
    np.testing.assert_allclose(model.steps_, alphas / 2, rtol=1e-9)
    np.testing.assert_allclose(
        staged(model, "staged_decision_function"),
        np.cumsum(alphas[:, None] * votes, axis=0) / 2,
        rtol=1e-9,
        atol=1e-12,
    )


def test_claim_1_and_theorem_2(adaboost):
    model, weights = adaboost
    errs, _, totals, _ = run_naively(weights)
    np.testing.assert_allclose(totals[1:], 2 * (1 - errs) * totals[:-1], rtol=1e-12)
    # The exponential loss is the bound, and the training error stays below it.
    bound = np.cumprod(2 * np.sqrt(errs * (1 - errs)))
    np.testing.assert_allclose(model.train_score_, bound, rtol=1e-9)
    error = [np.average(stage != TWO, weights=weights) for stage in staged(model)]
    assert (np.array(error) <= bound).all()


def test_err_is_that_of_the_weights_e_to_the_minus_y_times_score(adaboost):
    model, weights = adaboost
    errs, *_ = run_naively(weights)
    y = 2 * TWO - 1
    before = np.vstack([np.zeros(N), staged(model, "staged_decision_function")[:-1]])
    for F, learner, err in zip(before, model.estimators_, errs, strict=True):
        w = weights * np.exp(-y * F)
        assert w[learner.predict(X) != y].sum() / w.sum() == pytest.approx(err, rel=1e-9)


def test_scikit_learn_has_the_same_rounds(adaboost):
    model, weights = adaboost
    peer = AdaBoostClassifier(STUMP, n_estimators=ROUNDS, random_state=0)
    peer.fit(X, TWO, weights)
    np.testing.assert_allclose(peer.estimator_weights_, 2 * model.steps_, rtol=1e-9)
    np.testing.assert_allclose(
        peer.estimator_errors_, 1 / (1 + np.exp(2 * model.steps_)), rtol=1e-9
    )
    np.testing.assert_array_equal(staged(peer), staged(model))


def test_shrinkage_is_scikit_learn_s_learning_rate():
    model = StagewiseClassifier(
        STUMP, n_estimators=ROUNDS, **ADABOOST | {"learning_rate": 0.3}
    ).fit(X, TWO)
    peer = AdaBoostClassifier(STUMP, n_estimators=ROUNDS, learning_rate=0.3).fit(X, TWO)
    np.testing.assert_allclose(peer.estimator_weights_, 2 * 0.3 * model.steps_, rtol=1e-9)
    np.testing.assert_array_equal(staged(peer), staged(model))


def test_probabilities_are_those_of_half_log_odds(adaboost):
    model, _ = adaboost
    F = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * F)))


def test_a_learner_without_an_error_ends_adaboost_soon():
    model = StagewiseClassifier(DecisionTreeClassifier(), **ADABOOST).fit(X, TWO)
    assert model.n_iter_ < 10
    assert model.score(X, TWO) == 1.0
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize("learner", [TREE, Ridge(alpha=50.0)], ids=["tree", "ridge"])
@pytest.mark.parametrize("learning_rate", [1.0, 0.2])
def test_ls_boost_fits_residuals(learner, learning_rate):
    model = StagewiseRegressor(
        learner, step="line_search", learning_rate=learning_rate, n_estimators=ROUNDS
    ).fit(X, NUMBERS, W)
    F = np.full(N, np.average(NUMBERS, weights=W))
    for m, after in enumerate(staged(model)):
        r = NUMBERS - F
        h = type(learner)(**learner.get_params()).fit(X, r, W).predict(X)
        rho = (W * r * h).sum() / (W * h * h).sum()
        F = F + learning_rate * rho * h
        if m < 3:  # later there is hardly anything left that a ridge could fit
            assert model.steps_[m] == pytest.approx(rho, rel=1e-9)
        np.testing.assert_allclose(after, F, rtol=1e-9, atol=1e-9)
    if learner is TREE:  # a least-squares fit is as long as it should be
        np.testing.assert_allclose(model.steps_, 1.0, rtol=1e-12)


def test_one_round_of_least_squares_is_the_learner_itself():
    model = StagewiseRegressor(LinearRegression(), learning_rate=1.0, n_estimators=1)
    np.testing.assert_allclose(
        model.fit(X, NUMBERS).predict(X), LinearRegression().fit(X, NUMBERS).predict(X), rtol=1e-5
    )


def test_lad_treeboost_takes_medians_in_leaves():
    model = StagewiseRegressor(
        TREE, loss="absolute_error", step="per_leaf", learning_rate=0.5, n_estimators=ROUNDS
    ).fit(X, NUMBERS)
    F = np.full(N, np.median(NUMBERS))
    for learner, after in zip(model.estimators_, staged(model), strict=True):
        r = NUMBERS - F
        np.testing.assert_allclose(
            learner.predict(X),
            DecisionTreeRegressor(**TREE.get_params()).fit(X, np.sign(r)).predict(X),
        )
        leaf = learner.apply(X)
        F = F + 0.5 * np.array([np.median(r[leaf == number]) for number in leaf])
        np.testing.assert_allclose(after, F, rtol=1e-9, atol=1e-12)


def test_m_treeboost_is_friedman_s_algorithm_4():
    model = StagewiseRegressor(
        TREE, loss="huber", step="newton", alpha=0.8, learning_rate=1.0, n_estimators=ROUNDS
    ).fit(X, NUMBERS)
    F = np.full(N, np.median(NUMBERS))
    for learner, after in zip(model.estimators_, staged(model), strict=True):
        r = NUMBERS - F
        delta = np.quantile(np.abs(r), 0.8, method="averaged_inverted_cdf")
        pseudo = np.where(np.abs(r) <= delta, r, delta * np.sign(r))
        expected = DecisionTreeRegressor(**TREE.get_params()).fit(X, pseudo).predict(X)
        np.testing.assert_allclose(learner.predict(X), expected, rtol=1e-9, atol=1e-12)
        leaf, step = learner.apply(X), np.empty(N)
        for number in np.unique(leaf):
            inside = r[leaf == number]
            median = np.median(inside)
            rest = np.sign(inside - median) * np.minimum(delta, np.abs(inside - median))
            step[leaf == number] = median + rest.mean()
        F = F + step
        np.testing.assert_allclose(after, F, rtol=1e-9, atol=1e-12)


def test_l2_treeboost_is_friedman_s_algorithm_5_with_twice_the_scores():
    model = StagewiseClassifier(TREE, step="newton", n_estimators=ROUNDS).fit(X, TWO)
    y = 2.0 * TWO - 1.0
    F = np.full(N, 0.5 * np.log((1 + y.mean()) / (1 - y.mean())))
    for after in staged(model, "staged_decision_function"):
        response = 2 * y / (1 + np.exp(2 * y * F))
        leaf = DecisionTreeRegressor(**TREE.get_params()).fit(X, response).apply(X)
        for number in np.unique(leaf):
            inside = response[leaf == number]
            step = inside.sum() / (np.abs(inside) * (2 - np.abs(inside))).sum()
            F[leaf == number] += 0.1 * step
        np.testing.assert_allclose(after, 2 * F, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("learner", [TREE, LinearRegression()], ids=["tree", "linear"])
def test_logitboost_fits_the_working_response(learner):
    model = StagewiseClassifier(
        learner, response="newton", step="unit", learning_rate=1.0, init="zero", n_estimators=4
    ).fit(X, TWO)
    F = np.zeros(N)  # half the log-odds, as the paper has it
    for after in staged(model, "staged_decision_function"):
        p = 1 / (1 + np.exp(-2 * F))
        w = p * (1 - p)
        f = type(learner)(**learner.get_params()).fit(X, (TWO - p) / w, w).predict(X)
        F = F + 0.5 * f
        np.testing.assert_allclose(after, 2 * F, rtol=1e-7, atol=1e-9)


def test_a_classifier_under_any_loss_is_fitted_to_signs_and_sizes():
    model = StagewiseRegressor(STUMP, learning_rate=1.0, n_estimators=5).fit(X, NUMBERS)
    F = np.full(N, NUMBERS.mean())
    for rho, after in zip(model.steps_, staged(model), strict=True):
        r = NUMBERS - F
        G = DecisionTreeClassifier(max_depth=1).fit(X, np.sign(r), np.abs(r)).predict(X)
        assert rho == pytest.approx((r * G).mean(), rel=1e-9)
        F = F + rho * G
        np.testing.assert_allclose(after, F, rtol=1e-9, atol=1e-9)


FAST = {
    "splitter": "exact",
    "reg_lambda": 0.0,
    "max_leaves": 6,
    "min_samples_leaf": 5,
    "min_child_weight": 0.0,
    "n_estimators": 30,
    "learning_rate": 0.2,
}
SLOW = {"n_estimators": 30, "learning_rate": 0.2}


@pytest.mark.parametrize("weights", [None, W], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("step", ["line_search", "per_leaf", "newton", "unit"])
def test_fast_boosting_of_the_squared_error_is_the_same(weights, step):
    fast = GradientBoostingRegressor(**FAST).fit(X, NUMBERS, weights)
    slow = StagewiseRegressor(TREE, step=step, **SLOW).fit(X, NUMBERS, weights)
    np.testing.assert_allclose(staged(slow), staged(fast), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weights", [None, W], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(
    ("y", "step"),
    # Friedman's step for K > 2 classes is (K − 1)/K of Newton's, so "newton" is left out there.
    [(TWO, "unit"), (TWO, "newton"), (THREE, "unit")],
    ids=["two-unit", "two-newton", "three-unit"],
)
def test_fast_boosting_of_the_log_loss_has_newton_s_response(weights, y, step):
    fast = GradientBoostingClassifier(**FAST).fit(X, y, weights)
    slow = StagewiseClassifier(TREE, response="newton", step=step, **SLOW)
    slow.fit(X, y, weights)
    method = "staged_decision_function"
    np.testing.assert_allclose(staged(slow, method), staged(fast, method), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(slow.predict_proba(X), fast.predict_proba(X), rtol=1e-9)


def test_fast_boosting_has_the_gradient_s_first_round_where_the_hessian_is_constant():
    fast = GradientBoostingClassifier(**FAST | {"n_estimators": 1}).fit(X, TWO)
    slow = StagewiseClassifier(TREE, **SLOW | {"n_estimators": 1}).fit(X, TWO)
    np.testing.assert_allclose(
        slow.decision_function(X), fast.decision_function(X), rtol=1e-9, atol=1e-12
    )


def test_the_fast_booster_as_base_learner_is_boosting_of_boosting():
    fast = GradientBoostingRegressor(**FAST).fit(X, NUMBERS)
    inner = GradientBoostingRegressor(**FAST | {"n_estimators": 10, "learning_rate": 0.2})
    outer = StagewiseRegressor(inner, step="unit", n_estimators=3, learning_rate=1.0)
    np.testing.assert_allclose(
        outer.fit(X, NUMBERS).predict(X), fast.predict(X), rtol=1e-9, atol=1e-9
    )


PEER = CRITERION | {
    "max_depth": None,
    "max_leaf_nodes": 6,
    "min_samples_leaf": 5,
    "n_estimators": 25,
    "init": "zero",
}


def compare_with_peer(peer, model, y, method="staged_predict"):
    """Compare with random weights: a quantile is then a number, not an interval to choose from."""
    peer.fit(X, y, W)
    model.fit(X, y, W)
    expected = staged(peer, method)
    expected = expected[..., 0] if expected.shape[-1] == 1 else expected
    np.testing.assert_allclose(staged(model, method), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("loss", "step"),
    [
        ("squared_error", "unit"),
        ("absolute_error", "per_leaf"),
        ("quantile", "per_leaf"),
        ("huber", "newton"),
    ],
)
def test_scikit_learn_boosts_a_regression_alike(loss, step):
    peer = SklearnBoostingRegressor(loss=loss, **PEER)
    model = StagewiseRegressor(TREE, loss=loss, step=step, n_estimators=25, init="zero")
    compare_with_peer(peer, model, NUMBERS)


@pytest.mark.parametrize(
    ("loss", "y"), [("log_loss", TWO), ("log_loss", THREE), ("exponential", TWO)]
)
def test_scikit_learn_boosts_a_classification_alike(loss, y):
    peer = SklearnBoostingClassifier(loss=loss, **PEER)
    model = StagewiseClassifier(TREE, loss=loss, step="newton", n_estimators=25, init="zero")
    compare_with_peer(peer, model, y, "staged_decision_function")


def test_scikit_learn_starts_from_the_mean_and_from_the_priors_too():
    peer = PEER | {"init": None}
    model = {"step": "newton", "n_estimators": 25}
    compare_with_peer(SklearnBoostingRegressor(**peer), StagewiseRegressor(TREE, **model), NUMBERS)
    for y in (TWO, THREE):  # probabilities: scikit-learn's scores of K classes differ by a constant
        compare_with_peer(
            SklearnBoostingClassifier(**peer),
            StagewiseClassifier(TREE, **model),
            y,
            "staged_predict_proba",
        )


def test_a_row_on_the_median_has_no_sign_here_and_a_positive_one_there():
    y, x = np.array([0.0, 1.0, 2.0, 3.0, 10.0]), np.arange(5.0)[:, None]
    options = {"loss": "absolute_error", "n_estimators": 1}
    peer = SklearnBoostingRegressor(**CRITERION | options).fit(x, y)
    model = StagewiseRegressor(DecisionTreeRegressor(), **options).fit(x, y)
    assert model.init_ == np.median(y) == peer.init_.constant_
    # The impurity of a root is the variance of what its tree was fitted to.
    (here,), ((there,),) = model.estimators_, peer.estimators_
    assert here.tree_.impurity[0] == pytest.approx(np.var([-1, -1, 0, 1, 1]))
    assert there.tree_.impurity[0] == pytest.approx(np.var([-1, -1, 1, 1, 1]))


def test_of_many_medians_this_one_is_in_the_middle_and_that_one_the_lowest():
    y, x = np.array([0.0, 1.0, 2.0, 10.0]), np.zeros((4, 1))
    options = {
        "loss": "absolute_error",
        "n_estimators": 1,
        "init": "zero",
        "learning_rate": 1.0,
    }
    assert StagewiseRegressor(TREE, **options).fit(x, y).predict(x[:1]) == 1.5
    assert SklearnBoostingRegressor(**options).fit(x, y).predict(x[:1]) == 1.0
