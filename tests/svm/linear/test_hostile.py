"""Data and parameters that are hard to solve, wrong, or interrupted."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from hedgerow import DataError, ParameterError
from hedgerow._svm import LinearSVC, LinearSVR
from interrupts import interrupted
from levels import printed_with_any_threads

MACHINES = [
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(dual=True),
    LinearSVC(penalty="l1"),
    LinearSVC(multi_class="crammer_singer"),
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive"),
]
CLASSIFIERS = [machine for machine in MACHINES if isinstance(machine, LinearSVC)]


def fitted(machine, X, y, **parameters):
    """Fit, and hold the machine to its word: it converged, or it warned."""
    machine = machine.__class__(**(machine.get_params() | parameters))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(X, y)
    assert {w.category for w in caught} <= {ConvergenceWarning}
    warned = bool(caught)
    assert warned == (machine.duality_gap_ > max(0.01 * machine.tol, 1e-13)).any()
    assert np.isfinite(machine.coef_).all()
    assert np.isfinite(machine.intercept_).all()
    assert (machine.duality_gap_ >= 0).all()
    return machine, warned


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("C", [1.0, 1e5, 1e10])
def test_duplicates_with_opposite_labels_end(machine, C):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((40, 5)), 2, axis=0)
    fitted(machine, X, np.tile([0, 1], 40), C=C, max_iter=300)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1e5, 1e10])
def test_large_c_on_separable_data_finds_the_widest_margin(loss, C):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X[:, 0] > 0
    X[:, 0] += np.where(y, 0.5, -0.5)
    machine, warned = fitted(LinearSVC(loss=loss), X, y, C=C)
    assert not warned
    margin = np.where(y, 1, -1) * machine.decision_function(X)
    assert margin.min() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_constant_columns_and_empty_rows(machine):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    X[:, 2], X[:, 4] = 3.0, 0.0
    X[::5] = 0.0
    y = rng.integers(0, 2, 50)
    for table in (X, sp.csr_array(X)):
        for intercept in (True, False):
            machine, _ = fitted(machine, table, y, fit_intercept=intercept)
            assert np.atleast_2d(machine.coef_)[0, 4] == 0.0
            if not intercept:
                assert (machine.intercept_ == 0.0).all()


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_a_table_of_zeros(machine):
    machine, _ = fitted(machine, sp.csr_array((8, 3)), [0, 1] * 4)
    assert (machine.coef_ == 0.0).all()


def test_one_class_is_refused():
    for machine in CLASSIFIERS:
        with pytest.raises(DataError, match="only one class"):
            machine.fit(np.eye(3), [1, 1, 1])
    with pytest.raises(DataError, match="two classes"):
        LinearSVC().fit(np.eye(3), [0, 1, 1], sample_weight=[0.0, 1.0, 1.0])


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_too_few_iterations_are_told(machine):
    X, y = make_classification(500, 10, flip_y=0.3, random_state=0)
    _, warned = fitted(machine, X * 50.0, y, max_iter=1, tol=1e-8)
    assert warned


@pytest.mark.parametrize("machine", MACHINES, ids=str)
@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e49])
def test_columns_of_extreme_scales_end_in_finite_weights(machine, scale):
    X, y = make_classification(60, 5, n_informative=3, random_state=0)
    X[:, 1] *= scale
    fitted(machine, X, y, max_iter=50)


def test_numbers_too_large_to_compute_with_are_refused():
    X = np.eye(4)
    X[2, 1] = 1e150
    for table in (X, sp.csr_array(X)):
        with pytest.raises(DataError, match=r"column 1 contains 1e\+150 \(row 2\).*StandardScaler"):
            LinearSVC().fit(table, [0, 1, 0, 1])
    with pytest.raises(DataError, match="y contains numbers as large as"):
        LinearSVR().fit(np.eye(2), [1e150, 0.0])


@pytest.mark.parametrize("machine", [LinearSVC(), LinearSVR()], ids=str)
def test_gaps_are_refused_with_advice(machine):
    X, y = np.eye(4), [0, 1, 0, 1]
    good = machine.fit(X, y)
    bad = X.copy()
    bad[3, 2] = np.nan
    for table in (bad, sp.csr_array(bad), pd.DataFrame(bad)):
        with pytest.raises(DataError, match=r"NaN.*row 3.*SimpleImputer.*forests or boosting"):
            machine.fit(table, y)
        with pytest.raises(DataError, match="NaN"):
            good.predict(table)
    with pytest.raises(DataError, match="'b' contains NaN"):
        machine.fit(pl.DataFrame({"a": [1.0, 2.0], "b": [None, 1.0]}), [0, 1])


def test_strings_are_refused_with_advice():
    table = pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"]})
    with pytest.raises(DataError, match=r"'colour' contains strings.*OneHotEncoder"):
        LinearSVC().fit(table, [0, 1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": "l1", "loss": "hinge"}, "needs loss='squared_hinge'"),
        ({"penalty": "l1", "dual": True}, "needs dual=False"),
        ({"loss": "hinge", "dual": False}, "needs dual=True"),
        ({"C": 0.0}, "C=0.0 is not allowed"),
        ({"C": np.inf}, "C=inf is not allowed"),
        ({"tol": 0.0}, "tol=0.0 is not allowed"),
        ({"dual": "maybe"}, "dual='maybe' is not allowed"),
        ({"intercept_scaling": -1.0}, "intercept_scaling=-1.0 is not allowed"),
        ({"multi_class": "ovo"}, "multi_class='ovo' is not allowed"),
        ({"n_jobs": 0}, "n_jobs=0 is not allowed"),
        ({"class_weight": {7: 1.0}}, "class_weight refers to"),
    ],
    ids=str,
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        LinearSVC(**parameters).fit(np.eye(2), [0, 1])


def test_regressor_refuses_a_primal_solver_for_the_plain_loss():
    with pytest.raises(ParameterError, match="dual=False is not allowed"):
        LinearSVR(dual=False).fit(np.eye(2), [0.0, 1.0])


def test_a_failed_fit_changes_nothing():
    machine = LinearSVC().fit(np.eye(4), [0, 1, 0, 1])
    before = machine.coef_.copy()
    with pytest.raises(DataError):
        machine.fit(np.full((4, 2), np.nan), [0, 1, 0, 1])
    np.testing.assert_array_equal(machine.coef_, before)
    assert machine.n_features_in_ == 4


def test_a_tampered_sparse_matrix_is_refused():
    X = sp.csr_array(np.eye(4))
    X.indices[2] = 99
    with pytest.raises(DataError, match="not a valid sparse matrix"):
        LinearSVC().fit(X, [0, 1, 0, 1])


def test_frames_keep_names_and_may_be_reordered():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    y = X[:, 0] - X[:, 2] > 0
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    machine = LinearSVC().fit(frame, y)
    np.testing.assert_array_equal(machine.feature_names_in_, ["a", "b", "c"])
    reordered = pl.DataFrame(frame[["c", "a", "b"]].to_dict("list"))
    np.testing.assert_array_equal(
        machine.decision_function(frame), machine.decision_function(reordered)
    )


def test_strings_as_classes_and_a_verbose_fit(capsys):
    X, y = make_classification(90, 6, n_informative=4, n_classes=3, random_state=0)
    names = np.array(["ash", "beech", "elm"])[y]
    machine = LinearSVC(verbose=1).fit(X, names)
    assert set(machine.predict(X)) <= {"ash", "beech", "elm"}
    assert "SVM 3/3" in capsys.readouterr().err


FIT_AND_HASH = """
import hashlib, sys, warnings
import numpy as np, scipy.sparse as sp
from hedgerow._svm import LinearSVC, LinearSVR
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 40))
y = np.digitize(X[:, :3].sum(axis=1) + rng.standard_normal(20_000), [-1, 1])
wide = sp.random_array((3_000, 2_000), density=0.03, random_state=rng, format="csr")
label = np.digitize(wide @ rng.standard_normal(2_000), [-0.5, 0.5])
shared = {"n_jobs": int(sys.argv[1]), "max_iter": 25}
for model, table, target in (
    (LinearSVC(**shared), X, y), (LinearSVC(loss="hinge", **shared), X.astype(np.float32), y),
    (LinearSVC(**shared), wide, label), (LinearSVC(loss="hinge", **shared), wide, label),
    (LinearSVC(dual=False, **shared), wide, label),
    (LinearSVC(penalty="l1", **shared), wide.astype(np.float32), label),
    (LinearSVC(multi_class="crammer_singer", **shared), wide, label),
    (LinearSVR(epsilon=0.1, **shared), X, X[:, 0] + y),
    (LinearSVR(epsilon=0.1, **shared), wide, label),
):
    model.fit(table, target)
    scores = model.predict(table)
    parts = (model.coef_, model.intercept_, model.duality_gap_, scores)
    print(hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in parts)).hexdigest())
"""


@pytest.mark.slow
def test_the_same_bytes_for_every_thread_count_and_instruction_set():
    first, *others = printed_with_any_threads(FIT_AND_HASH)
    assert len(set(first.split())) == 9
    assert all(hashes == first for hashes in others)


LONG_FITS = {
    "newton": "LinearSVC(tol=1e-30)",
    "interior": "LinearSVC(loss='hinge', tol=1e-30)",
    "descent": "LinearSVC(dual=True, C=1e8, tol=1e-30, max_iter=10**6)",
    "lasso": "LinearSVC(penalty='l1', C=1e8, tol=1e-30, max_iter=10**6)",
    "crammer": "LinearSVC(multi_class='crammer_singer', C=1e8, tol=1e-30, max_iter=10**6)",
}


@pytest.mark.parametrize("kind", LONG_FITS)
def test_ctrl_c_ends_a_fit(kind):
    setup = f"""
import numpy as np
from hedgerow._svm import LinearSVC
rng = np.random.default_rng(0)
X, y = rng.standard_normal((200_000, 60)), rng.integers(0, 2, 200_000)
machine = {LONG_FITS[kind]}
"""
    assert interrupted(setup, "while True: machine.fit(X, y)", delay=1.0) == "True"
