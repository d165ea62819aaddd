"""The estimators, beside scikit-learn's on the same problems."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn import svm as peers
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hedgerow import ParameterError
from hedgerow._svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

EXACT = 1e-7


def two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:300], np.array(["benign", "malignant"])[y[:300]]


def three_classes():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["a", "b", "c"])[y]


def numbers():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X)[:200], y[:200] / 50.0


KERNELS = [
    {"kernel": "linear", "C": 0.1},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto", "C": 30.0},
    {"kernel": "poly", "coef0": 1.0, "degree": 2},
]


@pytest.mark.parametrize("parameters", KERNELS)
@pytest.mark.parametrize("task", [two_classes, three_classes])
@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_predicted_classes_are_those_of_scikit_learn(parameters, task, shape):
    X, y = task()
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(y))
    both = [
        kind(tol=EXACT, decision_function_shape=shape, class_weight={y[0]: 2.0}, **parameters).fit(
            X, y, sample_weight=weights
        )
        for kind in (SVC, peers.SVC)
    ]
    ours, theirs = both
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-4, atol=2e-5
    )
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.support_.tolist() == theirs.support_.tolist()
    assert ours.n_support_.tolist() == theirs.n_support_.tolist()
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    np.testing.assert_allclose(ours.support_vectors_, theirs.support_vectors_)
    assert ours.duality_gap_.max() <= EXACT
    if parameters["kernel"] == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


@pytest.mark.parametrize("nu", [0.1, 0.5])
@pytest.mark.parametrize("task", [two_classes, three_classes])
def test_nu_machines_of_classes_are_scikit_learn_s(nu, task):
    X, y = task()
    ours, theirs = (kind(nu=nu, tol=EXACT).fit(X, y) for kind in (NuSVC, peers.NuSVC))
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-4, atol=1e-4
    )
    if task is two_classes:
        margins = np.where(y == "malignant", 1, -1) * ours.decision_function(X)
        assert (margins < 1 - 1e-3).mean() <= nu + 1e-9
        assert len(ours.support_) / len(y) >= nu


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("SVR", {"C": 3.0}),
        ("SVR", {"kernel": "linear", "epsilon": 0.5}),
        ("SVR", {"kernel": "poly", "coef0": 1.0, "degree": 2, "epsilon": 0.0}),
        ("NuSVR", {"C": 3.0}),
        ("NuSVR", {"nu": 0.9, "gamma": 0.05}),
    ],
)
def test_numbers_are_predicted_as_scikit_learn_does(kind, parameters):
    X, y = numbers()
    weights = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    if kind == "NuSVR":  # whose peer leaves the weights out of its sums
        weights = np.ones(len(y))
    ours = {"SVR": SVR, "NuSVR": NuSVR}[kind](tol=EXACT, **parameters).fit(X, y, weights)
    theirs = getattr(peers, kind)(tol=EXACT, **parameters).fit(X, y, weights)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert ours.duality_gap_.max() <= EXACT
    if kind == "NuSVR":
        errors = np.abs(y - ours.predict(X))
        assert (errors > ours.epsilon_ + 1e-5).mean() <= ours.nu
        again = SVR(tol=EXACT, C=ours.C, gamma=ours.gamma, epsilon=ours.epsilon_).fit(X, y)
        np.testing.assert_allclose(again.predict(X), ours.predict(X), atol=1e-4)


@pytest.mark.parametrize("parameters", [{}, {"nu": 0.1, "gamma": 0.05}])
def test_one_class_is_scikit_learn_s(parameters):
    X, _ = two_classes()
    ours, theirs = (k(tol=EXACT, **parameters).fit(X) for k in (OneClassSVM, peers.OneClassSVM))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-4)
    assert ours.offset_ == pytest.approx(float(theirs.offset_[0]), abs=1e-4)
    assert (ours.decision_function(X) < -1e-3).mean() <= ours.nu


def test_large_tables_of_single_kernels_are_as_good():
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 6))
    y = X[:, 0] * X[:, 1] + 0.5 * random.normal(size=4000) > 0
    ours, theirs = SVC().fit(X, y), peers.SVC().fit(X, y)
    assert ours._model.single
    a, b = np.where(y, 1.0, -1.0), theirs.dual_coef_[0]
    f = theirs.decision_function(X) - theirs.intercept_
    dual = np.abs(b).sum() - 0.5 * float(b @ f[theirs.support_])
    lower = float(ours.objective_[0] * (1.0 - ours.duality_gap_[0]))
    assert lower >= dual * (1.0 - 1e-4)
    assert ours.duality_gap_[0] <= 1e-3
    losses = np.maximum(0.0, 1.0 - a * ours.decision_function(X)).sum()
    g = ours.decision_function(X) - ours.intercept_
    norm = 0.5 * float(ours.dual_coef_[0] @ g[ours.support_])
    assert norm + losses == pytest.approx(float(ours.objective_[0]), rel=1e-5)


def test_one_against_the_rest():
    X, y = three_classes()
    machine = SVC(multi_class="ovr", tol=EXACT).fit(X, y)
    assert machine.dual_coef_.shape == (3, len(machine.support_))
    decisions = machine.decision_function(X)
    for k, name in enumerate("abc"):
        alone = SVC(tol=EXACT).fit(X, y == name)
        np.testing.assert_allclose(decisions[:, k], alone.decision_function(X), atol=1e-5)
    assert (machine.predict(X) == machine.classes_[decisions.argmax(axis=1)]).all()


def test_ties_are_broken_on_request():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 2)), np.arange(60) % 3
    grid = random.normal(size=(3000, 2)) * 3
    ours = SVC(break_ties=True, tol=EXACT).fit(X, y)
    theirs = peers.SVC(break_ties=True, tol=EXACT).fit(X, y)
    assert (ours.predict(grid) == theirs.predict(grid)).mean() > 0.999
    plain = clone(ours).set_params(break_ties=False).fit(X, y)
    assert (plain.predict(grid) != ours.predict(grid)).any()
    assert (ours.predict(grid) == ours.decision_function(grid).argmax(axis=1)).all()


def test_ties_of_pairs_are_refused_by_fit():
    X, y = load_wine(return_X_y=True)
    model = SVC(break_ties=True, decision_function_shape="ovo")
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ParameterError, match="break_ties=True needs"):
        model.fit(X, y)


def test_hinge_form_and_kernel_dual_are_the_same_machine():
    """Theorem 2 of the lecture: ½‖w‖² + C Σ hinge is what the dual solves."""
    X, y = two_classes()
    kernel = SVC(kernel="linear", C=0.5, tol=1e-9).fit(X, y)
    primal = LinearSVC(loss="hinge", C=0.5, intercept_scaling=1e4, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(primal.coef_, kernel.coef_, atol=1e-5)
    np.testing.assert_allclose(primal.intercept_, kernel.intercept_, atol=1e-5)
    a = np.where(y == "malignant", 1.0, -1.0)
    for machine in (kernel, primal):
        f = X @ machine.coef_[0] + machine.intercept_
        value = 0.5 * (machine.coef_**2).sum() + 0.5 * np.maximum(0.0, 1.0 - a * f).sum()
        assert value == pytest.approx(float(kernel.objective_[0]), rel=1e-7)
        assert value >= float(kernel.objective_[0] * (1.0 - kernel.duality_gap_[0])) - 1e-9


@pytest.mark.parametrize("kind", [SVC, SVR, OneClassSVM])
def test_precomputed_kernels_and_functions_are_as_the_named_ones(kind):
    X, y = numbers()
    y = y if kind is SVR else (y > y.mean()).astype(int)
    named = kind(kernel="linear", tol=EXACT).fit(X[:150], y[:150])
    precomputed = kind(kernel="precomputed", tol=EXACT).fit(X[:150] @ X[:150].T, y[:150])
    function = kind(kernel=lambda A, B: A @ B.T, tol=EXACT).fit(X[:150], y[:150])
    say = "predict" if kind is SVR else "decision_function"
    expected = getattr(named, say)(X)
    np.testing.assert_allclose(getattr(precomputed, say)(X @ X[:150].T), expected, atol=1e-5)
    np.testing.assert_allclose(getattr(function, say)(X), expected, atol=1e-5)
    assert precomputed.support_vectors_.size == 0


def test_laplacian_is_a_kernel_by_name():
    X, y = two_classes()
    gamma = 1.0 / (X.shape[1] * X.var())
    ours = SVC(kernel="laplacian", tol=EXACT).fit(X, y)

    def laplacian(A, B):
        return np.exp(-gamma * np.abs(A[:, np.newaxis] - B).sum(axis=2))

    theirs = peers.SVC(kernel=laplacian, tol=EXACT).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
def test_sparse_tables_give_the_machine_of_dense_ones(kernel):
    X = scipy.sparse.random(150, 40, 0.15, format="csr", random_state=0)
    y = np.asarray(X.sum(axis=1)).ravel() > 3.0
    sparse = SVC(kernel=kernel, tol=EXACT).fit(X, y)
    dense = SVC(kernel=kernel, tol=EXACT).fit(X.toarray(), y)
    for table in (X, X.toarray(), X.tocsc()):
        np.testing.assert_allclose(
            sparse.decision_function(table), dense.decision_function(X.toarray()), atol=1e-6
        )
    np.testing.assert_allclose(dense.decision_function(X), dense.decision_function(X.toarray()))
    assert scipy.sparse.issparse(sparse.support_vectors_)


def test_frames_of_any_kind_in_pipelines_and_searches():
    X, y = numbers()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    expected = SVR().fit(X, y).predict(X)
    for table in (frame, pl.from_pandas(frame), frame[frame.columns[::-1]]):
        machine = SVR().fit(table, y)
        np.testing.assert_allclose(machine.predict(frame), expected, rtol=1e-9)
    assert machine.feature_names_in_.tolist() == frame.columns[::-1].tolist()
    search = GridSearchCV(make_pipeline(StandardScaler(), SVR()), {"svr__C": [0.1, 1.0]}, cv=3)
    assert search.fit(frame, y).best_score_ > 0.2


def test_rows_without_weight_are_as_if_they_were_not_there():
    X, y = three_classes()
    weights = np.ones(len(y))
    weights[::3] = 0.0
    kept = weights > 0
    weighted = SVC(gamma=0.1, tol=EXACT).fit(X, y, weights)
    alone = SVC(gamma=0.1, tol=EXACT).fit(X[kept], y[kept])
    np.testing.assert_allclose(weighted.decision_function(X), alone.decision_function(X), atol=1e-5)
    assert not set(weighted.support_.tolist()) & set(np.flatnonzero(~kept).tolist())
    only_two = np.where(y == "c", 0.0, 1.0)
    machine = SVC(gamma=0.1).fit(X, y, only_two)
    assert set(machine.predict(X)) == {"a", "b"}
    assert machine.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(("C", "size"), [(1e6, 1.0), (1.0, 1e-7), (10.0, 1e-8)])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_nu_regression_with_costs_far_above_the_targets_chooses_no_tube(C, size, kernel):
    """What ν allows is more than all numbers need: ε = 0, and coefficients do not depend on ν."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 3))
    t = size * (X @ [1.0, -2.0, 0.5] + 0.3 * rng.standard_normal(40) * (kernel == "rbf"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        one = NuSVR(C=C, nu=0.5, kernel=kernel, tol=1e-4).fit(X, t)
        other = SVR(C=C, epsilon=0.0, kernel=kernel, tol=1e-4).fit(X, t)
    assert one.duality_gap_[0] <= 1e-4
    assert one.epsilon_ == 0.0
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert np.abs(one.dual_coef_.sum()) <= 1e-9 * np.abs(one.dual_coef_).sum()
