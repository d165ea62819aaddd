"""Data and parameters that are hard to solve, wrong, or interrupted."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn import svm as peers
from sklearn.exceptions import ConvergenceWarning

from hedgerow import DataError, ParameterError
from hedgerow._svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from interrupts import interrupted
from levels import printed_with_any_threads

CLASSIFIERS = [SVC(), SVC(multi_class="ovr"), NuSVC(nu=0.2)]
MACHINES = [*CLASSIFIERS, SVR(), NuSVR(), OneClassSVM()]


def table(n=80, d=4, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, (X[:, 0] + random.normal(size=n) > 0).astype(int)


def fitted(machine, X, y):
    """Fit, and hold the machine to its word: it converged, or it warned and said the gap."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(X, y)
    assert {w.category for w in caught} <= {ConvergenceWarning}
    messages = [str(w.message) for w in caught]
    within = machine.duality_gap_.max() <= machine.tol
    assert machine.fit_status_ in (0, 1)
    assert within or machine.fit_status_ == 1
    assert (machine.fit_status_ == 1) == any("ended after" in text for text in messages)
    assert np.isfinite(machine.dual_coef_).all()
    assert np.isfinite(machine.intercept_).all()
    return machine, messages


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [1.0, 1e5, 1e12])
def test_duplicates_with_opposite_labels_end(kernel, C):
    X = np.repeat(table(60)[0], 2, axis=0)
    machine, _ = fitted(SVC(kernel=kernel, C=C), X, np.tile([0, 1], 60))
    # Every row's twin is on the other side: nothing is better than a w of 0, and 1 each.
    assert machine.objective_[0] == pytest.approx(C * 120, rel=2e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_huge_costs_are_solved(kernel):
    X, y = table(300, 4)
    machine, messages = fitted(SVC(kernel=kernel, C=1e5), X, y)
    assert not messages
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = peers.SVC(kernel=kernel, C=1e5, max_iter=300_000).fit(X, y)
    f = theirs.decision_function(X) - theirs.intercept_
    coefficients = theirs.dual_coef_[0]
    dual = np.abs(coefficients).sum() - 0.5 * coefficients @ f[theirs.support_]
    assert machine.objective_[0] >= dual * (1.0 - 1e-9)
    assert machine.objective_[0] * (1.0 - machine.duality_gap_[0]) >= dual * (1.0 - 1e-4)


@pytest.mark.parametrize("machine", [SVC(), SVR(), NuSVC(nu=0.8)], ids=str)
@pytest.mark.parametrize("C", [1.0, 1e5])
def test_an_indefinite_kernel_ends_with_a_warning(machine, C):
    X, y = table(300, 4)
    extra = {"kernel": "sigmoid", "gamma": 1.0, "coef0": -1.0}
    if "C" in machine.get_params():
        extra["C"] = C
    machine, messages = fitted(type(machine)(**machine.get_params() | extra), X, y)
    assert any("not positive semidefinite" in text for text in messages)
    assert any("duality_gap_" in text for text in messages)


def test_an_indefinite_matrix_or_function_is_noticed_too():
    X, y = table()
    K = -((X[:, np.newaxis] - X) ** 4).sum(axis=2)
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        SVC(kernel="precomputed").fit(K, y)
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        SVC(kernel=lambda A, B: np.sin(3 * A @ B.T)).fit(X, y)


@pytest.mark.parametrize("kind", [SVC, SVR, OneClassSVM])
def test_warnings_are_of_the_line_that_called_fit(kind):
    X, y = table(500)
    with pytest.warns(ConvergenceWarning) as caught:
        kind(kernel="sigmoid", max_iter=2).fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}


def test_max_iter_ends_with_a_warning_and_the_gap():
    X, y = table(500)
    with pytest.warns(ConvergenceWarning, match=r"after \d+ steps \(max_iter=20\).* gap of"):
        machine = SVC(C=10.0, max_iter=20).fit(X, y)
    assert machine.fit_status_ == 1
    assert machine.n_iter_[0] <= 20
    assert machine.duality_gap_[0] > machine.tol


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian"])
def test_rows_are_predicted_the_same_alone_and_together(kernel):
    X, y = table(300)
    machine = SVC(kernel=kernel, tol=1e-2).fit(X, y)
    together = machine.decision_function(X)
    assert [machine.decision_function(X[i : i + 1])[0] for i in range(40)] == together[:40].tolist()


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_gaps_strings_and_infinities_are_refused_by_name(machine):
    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    for bad, text in ((np.nan, "NaN"), (np.inf, "infinity"), (1e60, "Scale the column")):
        broken = frame.copy()
        broken.loc[7, "c"] = bad
        with pytest.raises(DataError, match=rf"(?s)'c'.*{text}|{text}"):
            machine.fit(broken, y)
    with pytest.raises(DataError, match="forests or boosting, which support missing values"):
        machine.fit(frame.mask(frame > 2.0), y)
    with pytest.raises(DataError, match="OneHotEncoder"):
        machine.fit(frame.assign(c="x"), y)


@pytest.mark.parametrize(
    ("parameters", "pattern"),
    [
        ({"C": 0.0}, "C=0.0"),
        ({"C": -1.0}, "C=-1.0"),
        ({"C": np.nan}, "C=nan"),
        ({"kernel": "gauss"}, "kernel='gauss'"),
        ({"gamma": -1.0}, "gamma=-1.0"),
        ({"gamma": "many"}, "gamma='many'"),
        ({"degree": 2.5}, "degree=2.5"),
        ({"tol": 0.0}, "tol=0.0"),
        ({"cache_size": 0}, "cache_size=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"multi_class": "all"}, "multi_class='all'"),
        ({"class_weight": {"no": 1.0}}, "class_weight refers to"),
    ],
)
def test_parameters_that_are_not_allowed_are_named(parameters, pattern):
    with pytest.raises(ParameterError, match=pattern):
        SVC(**parameters).fit(*table())


def test_infinite_costs_belong_to_classes_alone():
    with pytest.raises(ParameterError, match="C=inf"):
        SVR(C=np.inf).fit(*table())


def test_an_infeasible_nu_is_said_with_the_largest_that_is_not():
    X, y = table()
    y = np.arange(80) < 8
    with pytest.raises(ParameterError, match=r"nu=0.5 is infeasible.*at most 0.2\b"):
        NuSVC().fit(X, y)
    NuSVC(nu=0.2).fit(X, y)


def test_a_nu_that_leaves_no_margin_is_refused():
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(40, 2)), random.normal((2.0, 1.6), size=(40, 2))])
    y = np.repeat([0, 1], 40)
    for nu in (0.05, 0.3):
        with pytest.raises(ParameterError, match=rf"nu={nu} leaves no margin.*Increase nu"):
            NuSVC(nu=nu, kernel="linear").fit(X, y)
    assert NuSVC(nu=0.35, kernel="linear").fit(X, y).score(X, y) > 0.8
    far = np.vstack([X, random.normal((9.0, 9.0), size=(40, 2))])
    names = np.repeat(["ash", "beech", "oak"], 40)
    with pytest.raises(ParameterError, match=r"'ash' and 'beech': nu=0\.05 leaves no margin"):
        NuSVC(nu=0.05, kernel="linear").fit(far, names)


def test_matrices_that_are_no_kernels_are_refused():
    X, y = table()
    with pytest.raises(DataError, match="square"):
        SVC(kernel="precomputed").fit(X, y)
    lopsided = X @ X.T
    lopsided[3, 5] += 1.0
    with pytest.raises(DataError, match="not symmetric"):
        SVC(kernel="precomputed").fit(lopsided, y)
    with pytest.raises(DataError, match="sparse"):
        SVC(kernel="precomputed").fit(scipy.sparse.csr_array(X @ X.T), y)


def test_kernels_that_overflow_are_refused_before_any_work():
    X, y = table()
    with pytest.raises(DataError, match=r"kernel exceed 1e\+100"):
        SVC(kernel="poly", degree=60, gamma=1.0).fit(X * 1e45, y)
    machine = SVC(kernel="poly", degree=9, gamma=1.0).fit(X, y)
    with pytest.raises(DataError, match="overflows"):
        machine.predict(X * 1e45)


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1e20])
@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_tables_of_any_scale_are_learned_from(machine, scale):
    X, y = table()
    fitted(type(machine)(**machine.get_params()), X * scale, y)


@pytest.mark.parametrize("machine", [SVC(gamma=1e30), SVC(gamma=0.0), SVC(kernel="laplacian")])
def test_extreme_widths_of_kernels_are_computed_with(machine):
    X, y = table()
    fitted(machine, X, y)
    assert np.isfinite(machine.decision_function(X * 1e20)).all()


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_constant_and_single_columns_and_few_rows(machine):
    if isinstance(machine, NuSVC):
        with pytest.raises(ParameterError, match="leaves no margin"):
            machine.fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])
    else:
        fitted(machine, np.ones((6, 2)), [0, 1, 0, 1, 0, 1])
    fitted(machine, np.arange(4.0)[:, np.newaxis], [0, 0, 1, 1])
    fitted(machine, [[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("scale", "C"), [(1.0, 1.0), (1e4, 1.0), (1e8, 1.0), (1e49, 1.0), (1.0, 1e6), (1e6, 1e6)]
)
def test_the_bound_is_true_whatever_rounding_does(scale, C):
    """X times a number and C are the same problem as X and C times its square."""
    X, y = table(60, 3)
    y = np.where(y == 1, 1.0, -1.0)
    # The least objective is that of the scaled weights, by the solver for X, at its best.
    best = SVC(kernel="linear", C=min(C * scale**2, 1e8), tol=1e-4).fit(X, y)
    w, b = best.coef_[0] / scale, best.intercept_[0]
    reached = 0.5 * w @ w + C * np.maximum(0.0, 1.0 - y * (scale * X @ w + b)).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # What rounding hides is not found in any number of steps; the bound is that of each.
        most = {} if C * scale**2 <= 1e10 else {"max_iter": 20_000}
        machine = SVC(kernel="linear", C=C, **most).fit(X * scale, y)
    assert machine.objective_[0] * (1.0 - machine.duality_gap_[0]) <= reached * (1.0 + 1e-9)
    if C * scale**2 <= 1e10:
        assert machine.fit_status_ == 0
        own = machine.coef_[0]
        f = scale * X @ own + machine.intercept_[0]
        primal = 0.5 * own @ own + C * np.maximum(0.0, 1.0 - y * f).sum()
        assert primal <= reached * (1.0 + 2.0 * machine.tol)


def test_negative_objectives_have_their_bound_too():
    X, _ = table(60, 3)
    rough, exact = OneClassSVM(tol=0.3).fit(X), OneClassSVM(tol=1e-9).fit(X)
    assert exact.objective_[0] < 0.0
    square = float(rough.dual_coef_[0] @ rough.score_samples(rough.support_vectors_))
    size = max(abs(rough.objective_[0]), 0.5 * square)
    lowest = rough.objective_[0] - rough.duality_gap_[0] * size
    assert lowest <= exact.objective_[0] <= rough.objective_[0]


@pytest.mark.parametrize("machine", [SVC(), SVR(), NuSVR(), OneClassSVM()], ids=str)
def test_columns_whose_variance_vanishes_are_refused(machine):
    X, y = table()
    with pytest.raises(DataError, match="so small"):
        machine.fit(X * 1e-155, y)


@pytest.mark.parametrize(
    ("machine", "scale"),
    [
        (SVC(kernel="linear", C=1e20), 1.0),
        (SVC(kernel="linear"), 1e49),
        (NuSVR(), 1.0),
        (SVR(tol=1e-300), 1.0),
    ],
)
def test_what_rounding_hides_ends_soon(machine, scale):
    X, y = table(60, 3)
    with pytest.warns(ConvergenceWarning, match="ended after"):
        machine.fit(X * scale, X[:, 0] * 1e-30 if isinstance(machine, NuSVR) else y)
    assert np.max(machine.n_iter_) < 5_000_000


def test_kernels_of_functions_must_be_symmetric_and_real():
    X, y = table()
    lopsided = np.triu(np.ones((4, 4)))
    with pytest.raises(ParameterError, match="not symmetric"):
        SVC(kernel=lambda A, B: A @ lopsided @ B.T).fit(X, y)
    with pytest.raises(ParameterError, match="complex"):
        SVC(kernel=lambda A, B: A @ B.T + 0j).fit(X, y)


def test_rows_far_from_all_others_have_the_intercept_as_their_score():
    X, y = table(700)
    machine = SVC().fit(X, y)
    assert machine._model.single
    np.testing.assert_allclose(machine.decision_function(np.full((1, 4), 1e45)), machine.intercept_)


def test_targets_that_need_no_vectors():
    machine = SVR(epsilon=1.0).fit(table()[0], np.full(80, 7.5))
    assert len(machine.support_) == 0
    np.testing.assert_allclose(machine.predict(table()[0]), 7.5, atol=1.0)


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_a_fit_that_fails_leaves_the_machine_as_it_was(machine):
    X, y = table()
    machine = type(machine)(**machine.get_params()).fit(X, y)
    before = pickle.dumps(machine)
    with pytest.raises(DataError):
        machine.fit(np.full((5, 2), np.nan), np.arange(5))
    assert pickle.dumps(machine) == before
    again = pickle.loads(before)
    assert (again.predict(X) == machine.predict(X)).all()


A_LONG_FIT = """
import numpy as np
from hedgerow._svm import SVC
random = np.random.default_rng(0)
X = random.normal(size=(30_000, 60))
y = random.integers(0, 2, 30_000)
machine = SVC(C=1e4, cache_size=500)
"""


def test_ctrl_c_ends_a_long_fit():
    shown = "hasattr(machine, 'support_')"
    assert interrupted(A_LONG_FIT, "machine.fit(X, y)", shown, delay=1.0) == "False"


FIT_AND_HASH = """
import hashlib, sys, warnings
import numpy as np
import scipy.sparse
from hedgerow._svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
warnings.simplefilter("ignore")
random = np.random.default_rng(0)
X = random.normal(size=(3000, 7))
y = np.digitize(X[:, 0] + random.normal(size=3000), [-0.5, 0.5])
sparse = scipy.sparse.random(300, 50, 0.1, format="csr", random_state=0)
machines = [
    (SVC(), X, y > 0), (SVC(probability=True), X[:900], y[:900]), (SVC(kernel="sigmoid"), X, y > 0),
    (SVC(kernel="laplacian", multi_class="ovr"), X, y), (SVC(kernel="poly"), X[:900], y[:900]),
    (NuSVC(nu=0.2), X[:900], y[:900]), (SVR(), X, X[:, 1]), (NuSVR(), X[:900], X[:900, 1]),
    (OneClassSVM(), X, None), (SVC(), sparse, np.arange(300) % 2),
    (SVC(kernel="linear", C=1e4, max_iter=30_000), X[:900], y[:900] > 0),
]
for machine, table, target in machines:
    machine.set_params(n_jobs=int(sys.argv[1])).fit(table, target)
    digest = hashlib.sha256()
    for name in ("support_", "dual_coef_", "intercept_", "objective_", "duality_gap_"):
        digest.update(np.ascontiguousarray(getattr(machine, name)).tobytes())
    told = "predict_proba" if getattr(machine, "probability", False) else "predict"
    digest.update(np.ascontiguousarray(getattr(machine, told)(table)).tobytes())
    print(digest.hexdigest())
"""


def test_the_same_bytes_on_any_threads_and_instruction_sets():
    first, *others = printed_with_any_threads(FIT_AND_HASH)
    assert len(set(first.split())) == 11
    assert all(hashes == first for hashes in others)
