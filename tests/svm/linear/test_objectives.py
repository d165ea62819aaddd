"""What the machines minimise: the objectives of scikit-learn, to the certified gap."""

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from hedgerow._svm import LinearSVC, LinearSVR


def weights_of(model):
    """Weights as they are penalised: the intercept divided by the constant feature's value."""
    constant = np.atleast_1d(model.intercept_) / model.intercept_scaling
    coef = np.atleast_2d(model.coef_)
    return np.column_stack([coef, np.broadcast_to(constant, (len(coef),))])


def penalty_of(w, penalty="l2"):
    return 0.5 * (w**2).sum() if penalty == "l2" else np.abs(w).sum()


def class_objective(model, X, y, C, weights=1.0):
    """Objective of a machine for two classes, y = ±1."""
    slack = np.maximum(0.0, 1.0 - y * model.decision_function(X))
    loss = slack if model.loss == "hinge" else slack**2
    return penalty_of(weights_of(model), model.penalty) + (C * weights * loss).sum()


def number_objective(model, X, y, C, weights=1.0):
    slack = np.maximum(0.0, np.abs(y - model.predict(X)) - model.epsilon)
    loss = slack if model.loss == "epsilon_insensitive" else slack**2
    return penalty_of(weights_of(model)) + (C * weights * loss).sum()


def peer(kind, **parameters):
    """A fitted peer, as exact as it gets."""
    exact = {"tol": 1e-10, "max_iter": 200_000, "random_state": 0}
    return kind(**(exact | parameters))


def quietly(model, *arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*arguments, **named)


@pytest.fixture(scope="module")
def classes():
    X, y = make_classification(300, 12, n_informative=6, flip_y=0.1, random_state=0)
    return StandardScaler().fit_transform(X), 2 * y - 1


@pytest.fixture(scope="module")
def wide():
    """More features than the methods that form a matrix of them are used for."""
    rng = np.random.default_rng(1)
    X = sp.random(150, 400, density=0.05, random_state=rng, format="csr")
    y = np.where(X @ rng.standard_normal(400) + 0.3 * rng.standard_normal(150) > 0, 1, -1)
    return X, y


@pytest.fixture(scope="module")
def numbers():
    X, y = make_regression(200, 10, noise=20.0, random_state=0)
    return StandardScaler().fit_transform(X), y / y.std() + 0.5


CLASSIFIERS = [
    {"loss": "squared_hinge", "dual": "auto"},
    {"loss": "squared_hinge", "dual": True},
    {"loss": "squared_hinge", "dual": False},
    {"loss": "hinge", "dual": "auto"},
    {"loss": "hinge", "dual": True},
    {"loss": "squared_hinge", "penalty": "l1", "dual": False},
]


@pytest.mark.parametrize("parameters", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("data", ["classes", "wide"])
def test_classifier_reaches_the_lowest_objective(parameters, C, data, request):
    X, y = request.getfixturevalue(data)
    own = LinearSVC(C=C, tol=1e-5, max_iter=20_000, **parameters).fit(X, y)
    found = class_objective(own, X, y, C)
    assert own.objective_[0] == pytest.approx(found, rel=1e-9)
    gap = own.duality_gap_[0] * own.objective_[0]
    assert gap >= 0
    assert own.duality_gap_[0] <= 1e-7
    other = quietly(peer(sklearn.svm.LinearSVC, C=C, max_iter=20_000, **parameters), X, y)
    theirs = class_objective(other, X, y, C)
    assert found <= theirs * (1 + 1.1e-7)
    # Nobody, and so not scikit-learn either, gets below the certified bound.
    assert theirs >= (found - gap) * (1 - 1e-12)
    # The objective is strongly convex, which bounds the distance from any point by its excess.
    if own.penalty == "l2":
        distance = np.linalg.norm(weights_of(own) - weights_of(other))
        excess = theirs - (found - gap)
        assert distance <= np.sqrt(2 * gap) + np.sqrt(2 * max(excess, 0)) + 1e-9


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("dual", ["auto", True])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("C", [0.05, 20.0])
def test_regressor_reaches_the_lowest_objective(numbers, loss, dual, epsilon, C):
    X, y = numbers
    parameters = {"C": C, "loss": loss, "epsilon": epsilon, "dual": dual}
    own = LinearSVR(tol=1e-5, max_iter=20_000, **parameters).fit(X, y)
    found = number_objective(own, X, y, C)
    assert own.objective_[0] == pytest.approx(found, rel=1e-9)
    assert own.duality_gap_[0] <= 1e-7
    other = quietly(peer(sklearn.svm.LinearSVR, max_iter=20_000, **parameters), X, y)
    theirs = number_objective(other, X, y, C)
    assert found <= theirs * (1 + 1.1e-7)
    assert theirs >= found * (1.0 - own.duality_gap_[0]) * (1 - 1e-12)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_wide_regression_by_descent_agrees_with_few_features(wide, loss):
    X, y = wide
    t = np.asarray(X.sum(axis=1)).ravel() + 0.1 * y
    wide_model = LinearSVR(loss=loss, epsilon=0.05, C=2.0, tol=1e-6, max_iter=50_000).fit(X, t)
    # The same rows in a basis of their span have few features, and the same inner products.
    left, sizes, _ = np.linalg.svd(X.toarray(), full_matrices=False)
    narrow = LinearSVR(loss=loss, epsilon=0.05, C=2.0, tol=1e-6).fit(left * sizes, t)
    assert narrow.objective_[0] == pytest.approx(wide_model.objective_[0], rel=1e-7)
    np.testing.assert_allclose(narrow.predict(left * sizes), wide_model.predict(X), atol=1e-3)


def test_squared_hinge_minimum_is_that_of_a_general_optimiser(classes):
    X, y = classes
    own = LinearSVC(C=0.7, intercept_scaling=3.0).fit(X, y)
    full = np.column_stack([X, np.full(len(X), 3.0)])

    def value(w):
        slack = np.maximum(0.0, 1.0 - y * (full @ w))
        return 0.5 * w @ w + 0.7 * slack @ slack, w - 1.4 * full.T @ (y * slack)

    found = scipy.optimize.minimize(
        value, np.zeros(13), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    np.testing.assert_allclose(weights_of(own)[0], found.x, atol=1e-6)
    assert own.objective_[0] == pytest.approx(found.fun, rel=1e-10)


def test_two_points_have_the_closed_form_of_the_widest_margin():
    # w = 2 (a − b) / ‖a − b‖² for points a and b on either side, without an intercept's penalty.
    X, y = np.array([[3.0, 4.0], [-3.0, -4.0]]), [1, 0]
    model = LinearSVC(loss="hinge", C=100.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[0.12, 0.16]], atol=1e-9)
    np.testing.assert_allclose(model.intercept_, [0.0], atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), [1.0, -1.0], atol=1e-9)


def naive_dual(K, y, C):
    """Solve min ½ αᵀ Q α − Σ α, 0 ≤ α ≤ C by SciPy's general method."""
    Q = K * np.outer(y, y)
    found = scipy.optimize.minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1.0),
        np.full(len(y), C / 2),
        jac=True,
        bounds=[(0.0, C)] * len(y),
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return found.x, -found.fun


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_hinge_form_and_kernel_dual_are_one_problem(C):
    """Seed 003, theorem 2: the hinge form's minimum is the dual's maximum, at w = Σ α y x."""
    X, y = make_classification(40, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=4)
    y = 2 * y - 1
    full = np.column_stack([X, np.ones(40)])
    alpha, value = naive_dual(full @ full.T, y, C)
    model = LinearSVC(loss="hinge", C=C).fit(X, y)
    assert model.objective_[0] == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(weights_of(model)[0], full.T @ (alpha * y), atol=2e-4)
    # Complementarity: 0 < α < C only on the edge of the margin, α = C only within it.
    margin = y * model.decision_function(X)
    assert (np.abs(margin[(alpha > 1e-3 * C) & (alpha < C * (1 - 1e-3))] - 1.0) < 1e-3).all()
    assert (margin[alpha > C * (1 - 1e-6)] < 1.0 + 1e-3).all()


def test_weights_multiply_c_as_in_scikit_learn(classes):
    X, y = classes
    weights = np.random.default_rng(0).uniform(0.0, 3.0, len(y))
    weights[::7] = 0.0
    parameters = {"C": 0.5, "class_weight": {-1: 0.5, 1: 4.0}}
    own = LinearSVC(**parameters).fit(X, y, sample_weight=weights)
    other = peer(sklearn.svm.LinearSVC, **parameters).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(own.coef_, other.coef_, rtol=1e-5)
    np.testing.assert_allclose(own.intercept_, other.intercept_, rtol=1e-5)
    by_class = np.where(y == 1, 4.0, 0.5)
    found = class_objective(own, X, y, 0.5, weights * by_class)
    assert own.objective_[0] == pytest.approx(found, rel=1e-10)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 5.0}])
def test_one_against_the_rest_gives_the_numbers_of_scikit_learn(class_weight):
    X, y = load_iris(return_X_y=True)
    X, y = X[:-20], y[:-20]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    own = LinearSVC(class_weight=class_weight).fit(X, y, sample_weight=weights)
    other = peer(sklearn.svm.LinearSVC, dual=False, class_weight=class_weight)
    other.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(own.coef_, other.coef_, atol=1e-5)
    np.testing.assert_allclose(own.intercept_, other.intercept_, atol=1e-5)
    assert own.coef_.shape == (3, 4)
    assert own.duality_gap_.shape == own.objective_.shape == (3,)
    np.testing.assert_allclose(
        own.decision_function(X), X @ own.coef_.T + own.intercept_, rtol=1e-12
    )
    np.testing.assert_array_equal(own.predict(X), other.predict(X))


def crammer_singer_objective(model, X, y, C):
    scores = model.decision_function(X)
    each = np.arange(len(y))
    losses = (scores + 1.0 - (np.arange(scores.shape[1]) == y[:, None])).max(axis=1)
    return penalty_of(weights_of(model)) + C * (losses - scores[each, y]).sum()


@pytest.mark.parametrize("C", [0.1, 2.0])
def test_crammer_singer_reaches_the_objective_of_scikit_learn(C):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    own = LinearSVC(multi_class="crammer_singer", C=C, max_iter=20_000).fit(X, y)
    # The number of its iterations is not reproducible, and sometimes larger than allowed.
    other = quietly(peer(sklearn.svm.LinearSVC, multi_class="crammer_singer", C=C), X, y)
    found, theirs = (crammer_singer_objective(m, X, y, C) for m in (own, other))
    assert own.objective_[0] == pytest.approx(found, rel=1e-9)
    assert own.duality_gap_[0] <= 1e-6
    assert found <= theirs * (1 + 1e-6)
    assert theirs >= found * (1.0 - own.duality_gap_[0])
    np.testing.assert_allclose(own.coef_, other.coef_, atol=2e-2)


def test_crammer_singer_of_two_classes_has_one_row_of_weights(classes):
    X, y = classes
    own = LinearSVC(multi_class="crammer_singer", tol=1e-6, max_iter=20_000).fit(X, y)
    other = peer(sklearn.svm.LinearSVC, multi_class="crammer_singer", max_iter=20_000)
    quietly(other, X, y)
    assert own.coef_.shape == (1, 12)
    np.testing.assert_allclose(own.coef_, other.coef_, atol=2e-3)
    np.testing.assert_array_equal(own.predict(X), other.predict(X))


def test_without_intercept_there_is_none(classes):
    X, y = classes
    model = LinearSVC(fit_intercept=False).fit(X, y)
    other = peer(sklearn.svm.LinearSVC, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-5)
    np.testing.assert_array_equal(model.intercept_, [0.0])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_float32_gives_the_model_of_the_same_numbers_as_float64(classes, loss):
    X, y = classes
    narrow = X.astype(np.float32)
    first = LinearSVC(loss=loss).fit(narrow, y)
    second = LinearSVC(loss=loss).fit(narrow.astype(np.float64), y)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(
        first.decision_function(narrow), second.decision_function(narrow.astype(np.float64))
    )


@pytest.mark.parametrize("parameters", CLASSIFIERS, ids=str)
def test_sparse_and_dense_agree(wide, parameters):
    X, y = wide
    first = LinearSVC(**parameters, max_iter=20_000).fit(X, y)
    second = LinearSVC(**parameters, max_iter=20_000).fit(X.toarray(), y)
    np.testing.assert_allclose(first.objective_, second.objective_, rtol=2e-6)
    np.testing.assert_allclose(first.decision_function(X), first.decision_function(X.toarray()))


@pytest.mark.parametrize("C", [1e3, 1e6])
def test_l1_penalty_with_large_costs_reaches_the_lowest_objective(C):
    """No weight can change alone where rows on the edge of the margin hold them."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 8)) + 3.0
    y = np.where((X - 3.0) @ rng.standard_normal(8) > 0, 1, -1)
    own = LinearSVC(penalty="l1", C=C).fit(X, y)
    assert own.duality_gap_[0] <= 1e-6
    assert own.objective_[0] == pytest.approx(class_objective(own, X, y, C), rel=1e-9)
    # With these costs it is the linear program of the smallest Σ|w| without a row in the margin.
    full = y[:, np.newaxis] * np.column_stack([X, np.ones(40)])
    best = scipy.optimize.linprog(np.ones(18), -np.hstack([full, -full]), -np.ones(40)).fun
    assert own.objective_[0] <= best * (1 + 1e-5)
    if C >= 1e6:
        assert own.objective_[0] == pytest.approx(best, rel=1e-3)


def test_l1_penalty_with_extreme_costs_is_solved_or_tells_its_gap():
    """Where the last digits of a factorisation decide, which of the two is the machine's matter."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 8)) + 3.0
    y = np.where((X - 3.0) @ rng.standard_normal(8) > 0, 1, -1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        own = LinearSVC(penalty="l1", C=1e8).fit(X, y)
    assert (own.duality_gap_[0] <= 1e-6) == (not caught)
    full = y[:, np.newaxis] * np.column_stack([X, np.ones(40)])
    best = scipy.optimize.linprog(np.ones(18), -np.hstack([full, -full]), -np.ones(40)).fun
    assert own.objective_[0] * (1 - own.duality_gap_[0]) <= best * (1 + 1e-9)
    assert own.objective_[0] == pytest.approx(best, rel=1e-3)


def test_objective_is_that_of_the_weights_though_rounding_stopped_the_solver():
    rng = np.random.default_rng(0)
    X = 1e6 * rng.standard_normal((19, 7))
    y = 0.2 * rng.standard_normal(19)
    own = quietly(LinearSVR(C=1e5, epsilon=0.02), X, y)
    assert own.objective_[0] == pytest.approx(number_objective(own, X, y, 1e5), rel=1e-6)
