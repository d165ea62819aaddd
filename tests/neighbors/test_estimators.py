"""The estimators: scikit-learn's results and contract, weights, tables, errors."""

import inspect
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn import neighbors as sk
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from contract import parametrize_with_checks, run_check
from hedgerow import DataError, ParameterError
from hedgerow._neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from interrupts import interrupted

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
RNG = np.random.default_rng(3)
X_FREE, Q_FREE = RNG.standard_normal((400, 6)), RNG.standard_normal((70, 6))
CLASSES = np.array(["a", "b", "c"])[RNG.integers(0, 3, 400)]
NUMBERS = RNG.standard_normal(400)


ALL = (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)


class Apart:
    """Euclid's distance, as a function of two rows whose name is the same in every process."""

    def __call__(self, a, b):
        return math.dist(a, b)

    def __repr__(self):
        return "apart"


@parametrize_with_checks(
    [
        kind(**parameters)
        for kind in ALL
        for parameters in (
            {},
            {"algorithm": "kd_tree"},
            {"algorithm": "brute", "metric": "manhattan"},
            {"metric": "precomputed"},
            {"metric": Apart()},
        )
    ]
    + [
        kind(metric=metric, **parameters)
        for metric in ("cosine", "gower")  # within 1 of each other are all rows, or many
        for kind, parameters in (
            (KNeighborsClassifier, {}),
            (KNeighborsRegressor, {}),
            (NearestNeighbors, {}),
            (RadiusNeighborsClassifier, {"radius": 0.1, "outlier_label": "most_frequent"}),
            (RadiusNeighborsRegressor, {"radius": 0.1}),
        )
    ]
)
# Within a radius of 0.1 some rows of the checks have no neighbours, and that is said.
@pytest.mark.filterwarnings("default", "ignore:.* rows of X have no neighbors within radius=0.1")
def test_scikit_learn_check(estimator, check):
    run_check(estimator, check)


def squared(distances):
    return 1.0 / (1.0 + distances**2)


@pytest.mark.parametrize("weights", ["uniform", "distance", squared, None])
@pytest.mark.parametrize("metric", ["minkowski", "manhattan", "chebyshev", "cosine"])
@pytest.mark.parametrize("k", [1, 7])
def test_predictions_are_scikit_learns(weights, metric, k):
    options = {"n_neighbors": k, "weights": weights, "metric": metric}
    ours = KNeighborsClassifier(**options).fit(X_FREE, CLASSES)
    numbers = np.searchsorted(ours.classes_, CLASSES)  # strings are an error in some versions
    theirs = sk.KNeighborsClassifier(**options, algorithm="brute").fit(X_FREE, numbers)
    np.testing.assert_allclose(ours.predict_proba(Q_FREE), theirs.predict_proba(Q_FREE), atol=1e-9)
    decided = np.sort(theirs.predict_proba(Q_FREE), axis=1) @ [0, -1, 1] > 1e-9
    assert (ours.predict(Q_FREE) == ours.classes_[theirs.predict(Q_FREE)])[decided].all()
    ours = KNeighborsRegressor(**options).fit(X_FREE, NUMBERS)
    theirs = sk.KNeighborsRegressor(**options, algorithm="brute").fit(X_FREE, NUMBERS)
    np.testing.assert_allclose(ours.predict(Q_FREE), theirs.predict(Q_FREE), atol=1e-9)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_several_outputs_are_scikit_learns(weights):
    X, Y = make_multilabel_classification(n_samples=200, n_classes=3, random_state=0)
    X = X + np.linspace(0, 0.1, 200)[:, None]  # counts have ties, which the two break differently
    ours = KNeighborsClassifier(4, weights=weights).fit(X, Y)
    theirs = sk.KNeighborsClassifier(4, weights=weights).fit(X, Y)
    assert ours.predict(X).shape == Y.shape
    assert [c.tolist() for c in ours.classes_] == [[0, 1]] * 3
    others = X + 0.2  # scikit-learn loses the digits of small distances
    for mine, other in zip(ours.predict_proba(others), theirs.predict_proba(others), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-9)
    numbers = np.column_stack([NUMBERS, X_FREE[:, 0]])
    ours = KNeighborsRegressor(weights=weights).fit(X_FREE, numbers)
    theirs = sk.KNeighborsRegressor(weights=weights).fit(X_FREE, numbers)
    np.testing.assert_allclose(ours.predict(Q_FREE), theirs.predict(Q_FREE), atol=1e-9)
    assert ours.n_outputs_ == 2


def test_the_first_of_classes_with_equal_votes_is_predicted():
    model = KNeighborsClassifier(2).fit([[0.0], [1.0]], ["b", "a"])
    assert model.predict([[0.2]]) == ["a"]
    assert model.predict_proba([[0.2]]).tolist() == [[0.5, 0.5]]


def test_neighbours_at_distance_0_count_alone():
    model = KNeighborsRegressor(3, weights="distance").fit([[0.0], [0.0], [1.0]], [1.0, 3.0, 50.0])
    assert model.predict([[0.0]]) == [2.0]
    tiny = KNeighborsRegressor(2, weights="distance").fit([[0.0], [3e-320]], [0.0, 3.0])
    np.testing.assert_allclose(tiny.predict([[1e-320]]), [1.0], rtol=1e-3)  # 1/1e-320 is infinite


# Queries that are the training rows.


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_without_queries_no_row_is_its_own_neighbour(algorithm):
    X = RNG.standard_normal((60, 3))
    ours = NearestNeighbors(n_neighbors=4, radius=1.2, algorithm=algorithm).fit(X)
    theirs = sk.NearestNeighbors(n_neighbors=4, radius=1.2).fit(X)
    for mine, other in zip(ours.kneighbors(), theirs.kneighbors(), strict=True):
        np.testing.assert_allclose(mine, other)
    found = theirs.radius_neighbors(sort_results=True)
    for mine, other in zip(ours.radius_neighbors()[1], found[1], strict=True):
        assert mine.tolist() == other.tolist()


def test_a_row_with_many_equals_has_the_first_of_the_others():
    rows = NearestNeighbors(n_neighbors=2).fit([[1.0]] * 5)
    assert rows.kneighbors(return_distance=False).tolist() == [[1, 2], [0, 2], *[[0, 1]] * 3]
    _, indices = rows.radius_neighbors(radius=0)
    assert [found.tolist() for found in indices] == [
        [other for other in range(5) if other != row] for row in range(5)
    ]


def test_a_row_of_zeros_is_not_within_the_cosine_of_itself():
    rows = NearestNeighbors(metric="cosine", n_neighbors=1).fit([[0.0], [1.0], [2.0]])
    assert rows.kneighbors(return_distance=False).tolist() == [[1], [2], [1]]
    assert [i.tolist() for i in rows.radius_neighbors(radius=0.5)[1]] == [[], [2], [1]]


def test_a_classifier_judges_its_training_rows_without_themselves():
    X, y = IRIS
    left_out = [
        KNeighborsClassifier(3).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0]
        for i in range(0, 150, 10)
    ]
    assert KNeighborsClassifier(3).fit(X, y).predict(None)[::10].tolist() == left_out


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_graphs_are_scikit_learns(mode):
    ours = NearestNeighbors(n_neighbors=4, radius=2.0).fit(X_FREE)
    theirs = sk.NearestNeighbors(n_neighbors=4, radius=2.0).fit(X_FREE)
    for queries in (Q_FREE, None):
        mine, other = (m.kneighbors_graph(queries, mode=mode) for m in (ours, theirs))
        np.testing.assert_allclose(mine.toarray(), other.toarray())
        mine, other = (m.radius_neighbors_graph(queries, mode=mode) for m in (ours, theirs))
        np.testing.assert_allclose(mine.toarray(), other.toarray())
    assert ours.kneighbors_graph(Q_FREE).format == "csr"
    with pytest.raises(ParameterError, match="mode='x' is not allowed"):
        ours.kneighbors_graph(mode="x")


def test_arguments_of_a_query_go_before_parameters():
    rows = NearestNeighbors(n_neighbors=2).fit(X_FREE)
    assert rows.kneighbors(Q_FREE, 5, return_distance=False).shape == (70, 5)
    assert rows.radius_neighbors(Q_FREE, 100.0, return_distance=False)[0].shape == (400,)


# Tables.


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"]
)
def test_tables_of_any_library_are_read_by_the_names_of_their_columns(make):
    columns = {name: X_FREE[:, j] for j, name in enumerate("abcdef")}
    model = KNeighborsRegressor().fit(make(columns), NUMBERS)
    expected = KNeighborsRegressor().fit(X_FREE, NUMBERS).predict(X_FREE)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert (model.predict(make(dict(reversed(columns.items())))) == expected).all()


def test_integers_and_float32_are_taken_as_the_numbers_they_are():
    X = RNG.integers(0, 100, (200, 3))
    expected = NearestNeighbors().fit(X.astype(float)).kneighbors()
    for dtype in (np.int8, np.uint16, np.int64, np.float32):
        found = NearestNeighbors().fit(X.astype(dtype)).kneighbors()
        assert (found[0] == expected[0]).all()
        assert (found[1] == expected[1]).all()


def test_gaps_are_refused_with_advice():
    X = pd.DataFrame(X_FREE.copy(), columns=list("abcdef"))
    X.loc[7, "c"] = np.nan
    message = r"column 'c', row 7: NaN.*KNeighborsClassifier.*SimpleImputer.*gower.*forests"
    with pytest.raises(DataError, match=message):
        KNeighborsClassifier().fit(X, CLASSES)
    model = make_pipeline(SimpleImputer(), KNeighborsClassifier()).fit(X, CLASSES)
    assert model.predict(X).shape == (400,)
    sparse = scipy.sparse.csr_array(X.to_numpy())
    with pytest.raises(DataError, match="NaN"):
        KNeighborsClassifier().fit(sparse, CLASSES)


def test_strings_are_refused_with_advice():
    X = pd.DataFrame({"a": [1.0, 2.0], "town": ["Ur", "Eridu"]})
    with pytest.raises(DataError, match=r"column 'town' contains strings.*OneHotEncoder.*gower"):
        NearestNeighbors().fit(X)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "gower"])
def test_sparse_tables_are_refused_by_metrics_that_need_all_numbers(metric):
    with pytest.raises(DataError, match=f"X is sparse, but the metric '{metric}'"):
        NearestNeighbors(metric=metric).fit(scipy.sparse.eye_array(5, format="csr"))


def test_a_tree_of_a_sparse_table_is_refused():
    with pytest.raises(DataError, match="a k-d tree needs a dense table"):
        NearestNeighbors(algorithm="kd_tree").fit(scipy.sparse.eye_array(5, format="csr"))


# Errors.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0 is not allowed"),
        ({"n_neighbors": 2.5}, r"n_neighbors=2.5 is not allowed"),
        ({"weights": "near"}, "weights='near' is not allowed"),
        ({"algorithm": "ball_tree"}, "'auto', 'brute' or 'kd_tree'"),
        ({"metric": "hamming"}, "metric='hamming' is not allowed"),
        ({"p": 0}, "p=0 is not allowed"),
        (
            {"metric_params": {"w": [1]}},
            "metric_params: the metric 'minkowski' has no parameter 'w'; allowed: p",
        ),
        ({"metric_params": {"p": -1}}, "metric_params: p=-1 is not allowed"),
        ({"metric": "gower", "algorithm": "kd_tree"}, "does not support the metric 'gower'"),
        ({"metric": "gower", "metric_params": {"w": [1, 2]}}, r"w has shape \(2,\)"),
        ({"metric": "gower", "metric_params": {"w": [0] * 6}}, "not all 0"),
        ({"metric": "gower", "metric_params": {"w": "many"}}, "not a list of numbers"),
        ({"n_jobs": 0}, "n_jobs=0 is not allowed"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(parameters, message):
    model = KNeighborsClassifier(**parameters)
    with pytest.raises(ParameterError, match=message):
        model.fit(X_FREE, CLASSES)
    assert not hasattr(model, "n_features_in_")


def test_more_neighbours_than_rows_are_refused():
    rows = NearestNeighbors(n_neighbors=3).fit([[0.0], [1.0], [2.0]])
    assert rows.kneighbors([[0.0]])[1].tolist() == [[0, 1, 2]]
    with pytest.raises(DataError, match=r"n_samples_fit = 3,.* Set n_neighbors to at most 3"):
        rows.kneighbors([[0.0]], 4)
    with pytest.raises(DataError, match="not its own neighbour"):
        rows.kneighbors()
    with pytest.raises(ParameterError, match="n_neighbors=0"):
        rows.kneighbors([[0.0]], 0)
    with pytest.raises(ParameterError, match="radius=-1"):
        rows.radius_neighbors([[0.0]], -1)


def test_weights_that_make_no_sense_are_refused():
    def fitted(weights):
        return KNeighborsRegressor(2, weights=weights).fit(X_FREE, NUMBERS)

    with pytest.raises(DataError, match=r"shape \(70,\)"):
        fitted(lambda d: d[:, 0]).predict(Q_FREE)
    with pytest.raises(DataError, match="negative"):
        fitted(lambda d: -d).predict(Q_FREE)
    with pytest.raises(DataError, match="returned 0 for all neighbours of row 0"):
        fitted(lambda d: d * 0).predict(Q_FREE)


def test_queries_before_a_fit_and_a_fit_that_fails():
    with pytest.raises(NotFittedError):
        NearestNeighbors().kneighbors(X_FREE)
    model = KNeighborsRegressor().fit(X_FREE, NUMBERS)
    before = model.predict(Q_FREE)
    with pytest.raises(DataError):
        model.fit(X_FREE, NUMBERS[:-1])
    assert (model.predict(Q_FREE) == before).all()


# The rest of the contract.


def test_a_change_of_the_table_after_a_fit_changes_nothing():
    X = X_FREE.copy()
    rows = NearestNeighbors().fit(X)
    before = rows.kneighbors(Q_FREE)
    X[:] = 0.0
    assert (rows.kneighbors(Q_FREE)[0] == before[0]).all()
    assert (rows.kneighbors()[0] > 0.0).all()


def test_metrics_have_their_own_names():
    names = {
        ("minkowski", 1): "manhattan",
        ("minkowski", 2.0): "euclidean",
        ("minkowski", np.inf): "chebyshev",
        ("l2", 2): "euclidean",
        ("cityblock", 2): "manhattan",
        ("minkowski", 3): "minkowski",
    }
    for (metric, p), name in names.items():
        model = NearestNeighbors(metric=metric, p=p).fit(X_FREE)
        assert model.effective_metric_ == name
    assert model.effective_metric_params_ == {"p": 3.0}
    by_params = NearestNeighbors(metric_params={"p": 3}).fit(X_FREE).kneighbors(Q_FREE)
    assert (by_params[0] == model.kneighbors(Q_FREE)[0]).all()


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_it_can_be_searched_pickled_and_cloned(algorithm):
    X, y = IRIS
    search = GridSearchCV(KNeighborsClassifier(algorithm=algorithm), {"n_neighbors": [1, 5]}, cv=3)
    model = search.fit(X, y).best_estimator_
    assert model.score(X, y) > 0.9
    stored = pickle.dumps(model)
    assert len(stored) < 3 * X.nbytes  # the rows, and not what was made of them
    again = pickle.loads(stored)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert clone(model).get_params() == model.get_params()


def test_a_query_can_be_interrupted():
    setup = """
import numpy as np
from hedgerow._neighbors import NearestNeighbors
X = np.random.default_rng(0).standard_normal((200_000, 50))
rows = NearestNeighbors(algorithm="brute", metric="minkowski", p=2.5).fit(X)
"""
    assert interrupted(setup, "rows.kneighbors(X)") == "True"


def test_signatures_have_the_declared_defaults():
    for kind in ALL:
        signature = inspect.signature(kind.__init__).parameters
        declared = {parameter.name: parameter.default for parameter in kind._parameters}
        assert {n: p.default for n, p in signature.items() if n != "self"} == declared
        assert "metric : 'euclidean', 'manhattan'" in kind.__doc__
