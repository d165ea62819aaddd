"""Many classes by problems of two: codes, decoding, and scikit-learn's estimators."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB

import hedgerow as hr
from contract import parametrize_with_checks, run_check
from hedgerow._decisions.codes import code_matrix
from hedgerow.exceptions import DataError, ParameterError

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
TREE = hr.DecisionTreeClassifier(max_depth=2)


@parametrize_with_checks(
    [
        hr.OutputCodeClassifier(hr.DecisionTreeClassifier(max_depth=3)),
        hr.OutputCodeClassifier(hr.LinearSVC(), code="one_vs_one", decoding="hard"),
    ]
)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


def test_codes_divide_the_classes():
    np.testing.assert_array_equal(code_matrix("one_vs_rest", 4, None, 0), 2 * np.eye(4) - 1)
    pairs = code_matrix("one_vs_one", 4, None, 0)
    assert pairs.shape == (4, 6)
    assert [tuple(np.flatnonzero(column)) for column in pairs.T] == list(combinations(range(4), 2))
    every = code_matrix("exhaustive", 5, None, 0)
    assert every.shape == (5, 15)
    assert len(np.unique(every, axis=1).T) == 15
    assert (every[0] == 1).all()
    # Rows of an exhaustive code differ in 2^(K − 2) columns, so (2^(K − 2) − 1) / 2 errors are
    # corrected (Dietterich and Bakiri, 1995).
    assert {int((a != b).sum()) for a, b in combinations(every, 2)} == {8}
    for code in ("one_vs_rest", "one_vs_one", "exhaustive", "random"):
        np.testing.assert_array_equal(code_matrix(code, 2, None, 0), [[-1], [1]])


def test_a_random_code_is_the_same_for_a_seed_and_tells_classes_well_apart():
    code = code_matrix("random", 8, None, 3)
    assert code.shape == (8, 30)
    np.testing.assert_array_equal(code, code_matrix("random", 8, None, 3))
    assert not np.array_equal(code, code_matrix("random", 8, None, 4))
    assert min((a != b).sum() for a, b in combinations(code, 2)) >= 10
    assert (np.abs(code) == 1).all()
    for a, b in combinations(code.T, 2):
        assert not np.array_equal(a, b)
        assert not np.array_equal(a, -b)


def test_one_against_the_rest_is_that_of_scikit_learn():
    ours = hr.OutputCodeClassifier(GaussianNB()).fit(X, NAMES)
    theirs = OneVsRestClassifier(GaussianNB()).fit(X, NAMES)
    for each, other in zip(ours.estimators_, theirs.estimators_, strict=True):
        np.testing.assert_array_equal(each.predict(X), other.predict(X))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_one_against_one_counts_the_votes_of_all_pairs():
    model = hr.OutputCodeClassifier(TREE, code="one_vs_one", decoding="hard").fit(X, NAMES)
    votes = np.zeros((len(X), 3))
    for a, b in combinations(range(3), 2):
        rows = (a == Y) | (b == Y)
        says = hr.DecisionTreeClassifier(max_depth=2).fit(X[rows], Y[rows] == b).predict(X)
        votes[:, b] += says
        votes[:, a] += ~says
    np.testing.assert_allclose(model.decision_function(X), (2 * votes - 2) / 2)
    np.testing.assert_array_equal(model.predict(X), model.classes_[votes.argmax(axis=1)])


@pytest.mark.parametrize("decoding", ["soft", "hard"])
def test_the_class_is_that_of_the_nearest_row_of_the_code(decoding):
    X, y = load_wine(return_X_y=True)
    code = np.array([[1, 1, -1, 0, 1], [-1, 1, 1, 1, -1], [1, -1, 1, -1, 0]])
    model = hr.OutputCodeClassifier(TREE, code=code, decoding=decoding).fit(X, y)
    distance = np.zeros((len(X), 3))
    for column, each in zip(code.T, model.estimators_, strict=True):
        p = each.predict_proba(X)[:, 1]
        score = 2 * p - 1 if decoding == "soft" else np.where(each.predict(X) == 1, 1, -1)
        for k in range(3):
            if column[k]:
                distance[:, k] += (1 - column[k] * score) / 2
    distance /= np.abs(code).sum(axis=1)
    np.testing.assert_allclose(model.decision_function(X), 1 - 2 * distance, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), distance.argmin(axis=1))
    np.testing.assert_array_equal(model.code_, code)


def test_codes_correct_errors_of_single_classifiers():
    rng = np.random.default_rng(0)
    code = code_matrix("exhaustive", 5, None, 0)
    truth = rng.integers(0, 5, 300)
    words = code[truth].astype(float)
    for row in words:  # three wrong columns, the most that rows at distance 8 can correct
        row[rng.choice(15, 3, replace=False)] *= -1
    agreement = words @ code.T.astype(float)
    np.testing.assert_array_equal(agreement.argmax(axis=1), truth)


def test_weights_frames_files_and_seeds(tmp_path):
    w = np.random.default_rng(0).integers(1, 4, len(Y))
    weighted = hr.OutputCodeClassifier(TREE, code="exhaustive").fit(X, Y, sample_weight=w)
    repeated = hr.OutputCodeClassifier(TREE, code="exhaustive").fit(
        np.repeat(X, w, axis=0), np.repeat(Y, w)
    )
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X))
    frame = pd.DataFrame(X, columns=list("abcd"))
    forest = hr.RandomForestClassifier(n_estimators=3)
    model = hr.OutputCodeClassifier(forest, code="random", n_columns=3, random_state=5)
    model.fit(frame, NAMES)
    np.testing.assert_array_equal(model.predict(frame[list("dcba")]), model.predict(frame))
    model.save(tmp_path / "code.hedgerow")
    read = hr.load(tmp_path / "code.hedgerow")
    np.testing.assert_array_equal(read.decision_function(frame), model.decision_function(frame))
    again = hr.OutputCodeClassifier(forest, code="random", n_columns=3, random_state=5)
    np.testing.assert_array_equal(
        again.fit(frame, NAMES).decision_function(frame), model.decision_function(frame)
    )


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"estimator": hr.DecisionTreeRegressor()}, "must be a classifier"),
        ({"code": "ecoc"}, "code='ecoc'"),
        ({"code": [[1, -1]]}, "code has 1 rows, but y has 3 classes"),
        ({"code": [[1, 2], [-1, 1], [1, 0]]}, "other than"),
        ({"code": [[1, 1], [-1, 1], [1, 0]]}, "column 1 does not have both"),
        ({"code": [[1, 1], [-1, 1], [-1, 1]]}, "column 1"),
        ({"code": [[1], [-1], [-1]]}, "equal rows"),
        ({"n_columns": 4}, "only with code='random'"),
        ({"code": "random", "n_columns": 1}, "n_columns=1 is too small"),
    ],
)
def test_what_is_no_code_is_refused(parameters, says):
    with pytest.raises(ParameterError, match=says):
        hr.OutputCodeClassifier(**{"estimator": TREE} | parameters).fit(X, Y)


def test_bad_data_is_refused():
    with pytest.raises(DataError, match="only one class"):
        hr.OutputCodeClassifier(TREE).fit(X, np.zeros(len(X)))
    many = np.arange(150) % 11
    with pytest.raises(ParameterError, match="at most 10 classes"):
        hr.OutputCodeClassifier(TREE, code="exhaustive").fit(X, many)
    with pytest.raises(ParameterError, match="does not support sample_weight"):
        hr.OutputCodeClassifier(hr.KNeighborsClassifier()).fit(X, Y, sample_weight=np.ones(150))
