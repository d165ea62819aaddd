"""Distances of the user's own: a matrix of them, or a function of two rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist, correlation, minkowski
from sklearn import neighbors as sk
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from hedgerow import DataError, ParameterError, load
from hedgerow._neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from oracles.neighbors import nearest

RNG = np.random.default_rng(7)
X, Q = RNG.standard_normal((90, 4)), RNG.standard_normal((17, 4))
NUMBERS, CLASSES = X[:, 0] - X[:, 1], np.array(["a", "b"])[(X[:, 0] > 0).astype(int)]
X_X, Q_X = cdist(X, X), cdist(Q, X)


def crooked(a, b):
    """Not symmetric, and no metric at all."""
    return abs(a[0] - 2 * b[0]) + abs(a[1] * b[2])


def assert_same_neighbours(ours, theirs, queries):
    for mine, other in zip(ours.kneighbors(queries), theirs.kneighbors(queries), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-12)
    found = theirs.radius_neighbors(queries, sort_results=True)
    for mine, other in zip(ours.radius_neighbors(queries), found, strict=True):
        for one, another in zip(mine, other, strict=True):
            np.testing.assert_allclose(one, another, atol=1e-12)


@pytest.mark.parametrize("radius", [0.0, 1.3, 100.0])
@pytest.mark.parametrize("queries", [Q_X, None], ids=["queries", "training rows"])
def test_a_matrix_of_distances_gives_scikit_learns_neighbours(radius, queries):
    options = {"metric": "precomputed", "radius": radius, "n_neighbors": 6}
    ours, theirs = NearestNeighbors(**options).fit(X_X), sk.NearestNeighbors(**options).fit(X_X)
    assert_same_neighbours(ours, theirs, queries)
    assert ours.effective_metric_ == "precomputed"


def test_a_matrix_of_distances_gives_the_neighbours_of_the_rows():
    by_rows = KNeighborsClassifier(weights="distance").fit(X, CLASSES)
    by_matrix = KNeighborsClassifier(weights="distance", metric="precomputed").fit(X_X, CLASSES)
    np.testing.assert_allclose(by_matrix.predict_proba(Q_X), by_rows.predict_proba(Q))
    assert (by_matrix.predict(None) == by_rows.predict(None)).all()
    by_rows, by_matrix = (
        RadiusNeighborsClassifier(metric=metric, outlier_label="a").fit(table, CLASSES)
        for metric, table in (("euclidean", X), ("precomputed", X_X))
    )
    np.testing.assert_allclose(by_matrix.predict_proba(Q_X), by_rows.predict_proba(Q))


def test_of_equal_distances_in_a_matrix_the_first_are_taken():
    distances = RNG.integers(0, 4, (30, 30)).astype(float)
    model = NearestNeighbors(metric="precomputed").fit(distances)
    for k in (1, 7, 30):
        found = model.kneighbors(distances, k)
        for mine, expected in zip(found, nearest(distances, k), strict=True):
            np.testing.assert_array_equal(mine, expected)
    for row, indices in enumerate(model.radius_neighbors(distances, 1.0)[1]):
        assert (distances[row, indices] == np.sort(distances[row, distances[row] <= 1])).all()


def test_cross_validation_takes_rows_and_columns_of_a_matrix():
    model = KNeighborsClassifier(metric="precomputed")
    by_rows = cross_val_score(KNeighborsClassifier(), X, CLASSES)
    np.testing.assert_array_equal(cross_val_score(model, X_X, CLASSES), by_rows)


def test_a_frame_of_distances_is_read_by_the_names_of_its_columns():
    names = [f"row {i}" for i in range(len(X))]
    model = KNeighborsRegressor(metric="precomputed").fit(pd.DataFrame(X_X, columns=names), NUMBERS)
    queries = pd.DataFrame(Q_X, columns=names)
    expected = KNeighborsRegressor().fit(X, NUMBERS).predict(Q)
    np.testing.assert_allclose(model.predict(queries[names[::-1]]), expected)


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        (Q_X, r"shape \(17, 90\).*square"),
        (X_X - 1, r"Negative values in data passed to X: -1.0 in row 0, column 0"),
        (np.where(X_X == 0, np.nan, X_X), "row 0: NaN.*metric='precomputed'"),
        (scipy.sparse.csr_array(X_X - 1), r"Negative values.*-1.0 in row 0, column 0"),
        (scipy.sparse.csr_array(Q_X), r"shape \(17, 90\).*square"),
    ],
)
def test_a_matrix_that_is_none_of_distances_is_refused(distances, message):
    with pytest.raises(DataError, match=message):
        NearestNeighbors(metric="precomputed").fit(distances)


def test_queries_that_are_not_their_distances_to_all_rows_are_refused():
    model = NearestNeighbors(metric="precomputed").fit(X_X)
    with pytest.raises(DataError, match="90"):
        model.kneighbors(Q)
    with pytest.raises(DataError, match="Negative values"):
        model.kneighbors(-Q_X)


def graph_of(distances, n_neighbors):
    """Return the nearest of each row as a graph whose entries are in no order."""
    nearest_rows = np.argsort(distances, axis=1)[:, :n_neighbors]
    shuffled = RNG.permuted(nearest_rows, axis=1)
    values = np.take_along_axis(distances, shuffled, axis=1)
    starts = np.arange(0, values.size + 1, n_neighbors)
    return scipy.sparse.csr_matrix((values.ravel(), shuffled.ravel(), starts), distances.shape)


@pytest.mark.filterwarnings("ignore:Precomputed sparse input was not sorted")
@pytest.mark.parametrize("radius", [0.0, 1.3, 100.0])
@pytest.mark.parametrize("queries", [graph_of(Q_X, 9), None], ids=["queries", "training rows"])
def test_a_sparse_graph_of_distances_gives_scikit_learns_neighbours(radius, queries):
    options = {"metric": "precomputed", "radius": radius, "n_neighbors": 6}
    graph = graph_of(X_X, 9)
    ours, theirs = (kind(**options).fit(graph) for kind in (NearestNeighbors, sk.NearestNeighbors))
    assert_same_neighbours(ours, theirs, queries)
    for mode in ("connectivity", "distance"):
        mine, other = (one.kneighbors_graph(queries, mode=mode) for one in (ours, theirs))
        np.testing.assert_allclose(mine.toarray(), other.toarray(), atol=1e-12)
        mine, other = (one.radius_neighbors_graph(queries, mode=mode) for one in (ours, theirs))
        np.testing.assert_allclose(mine.toarray(), other.toarray(), atol=1e-12)


def test_a_sparse_graph_with_zeros_and_ties_gives_the_neighbours_of_the_matrix():
    distances = RNG.integers(0, 4, (30, 30)).astype(float)
    np.fill_diagonal(distances, 0.0)
    stored = distances <= 2.0
    starts = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    graph = scipy.sparse.csr_array((distances[stored], np.nonzero(stored)[1], starts), (30, 30))
    by_graph, by_matrix = (
        NearestNeighbors(metric="precomputed", radius=2.0).fit(X) for X in (graph, distances)
    )
    fewest = int(stored.sum(axis=1).min())
    for queries in ((graph, distances), (None, None)):
        k = fewest - (queries[0] is None)
        mine, expected = by_graph.kneighbors(queries[0], k), by_matrix.kneighbors(queries[1], k)
        np.testing.assert_array_equal(mine, expected)
        within = zip(
            by_graph.radius_neighbors(queries[0])[1],
            by_matrix.radius_neighbors(queries[1])[1],
            strict=True,
        )
        assert all((one == another).all() for one, another in within)


def test_a_row_without_an_entry_for_itself_loses_none_of_its_neighbours():
    by_rows = NearestNeighbors(n_neighbors=4).fit(X)
    graph = by_rows.kneighbors_graph(mode="distance")
    by_graph = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(graph)
    for mine, expected in zip(by_graph.kneighbors(), by_rows.kneighbors(), strict=True):
        np.testing.assert_array_equal(mine, expected)


@pytest.mark.parametrize(
    ("ours", "theirs", "target"),
    [
        (KNeighborsClassifier, sk.KNeighborsClassifier, CLASSES),
        (KNeighborsRegressor, sk.KNeighborsRegressor, NUMBERS),
        (RadiusNeighborsClassifier, sk.RadiusNeighborsClassifier, CLASSES),
        (RadiusNeighborsRegressor, sk.RadiusNeighborsRegressor, NUMBERS),
    ],
)
def test_scikit_learns_transformers_pass_their_graphs_to_our_estimators(ours, theirs, target):
    graphs = (
        sk.KNeighborsTransformer(n_neighbors=7, mode="distance")
        if ours in (KNeighborsClassifier, KNeighborsRegressor)
        else sk.RadiusNeighborsTransformer(radius=5.0, mode="distance")
    )
    options = {"weights": "distance", "metric": "precomputed"}
    if ours in (RadiusNeighborsClassifier, RadiusNeighborsRegressor):
        options |= {"radius": 4.0}
    mine, other = (make_pipeline(graphs, kind(**options)).fit(X, target) for kind in (ours, theirs))
    method = "predict" if target is NUMBERS else "predict_proba"
    np.testing.assert_allclose(getattr(mine, method)(Q), getattr(other, method)(Q))


def test_a_row_of_a_graph_with_too_few_neighbours_is_named():
    graph = graph_of(X_X, 6).tolil()
    graph[3, np.flatnonzero(graph[3].toarray()[0])[0]] = 0  # LIL drops zeros
    model = NearestNeighbors(n_neighbors=6, metric="precomputed").fit(graph)
    with pytest.raises(DataError, match=r"6 neighbors are required.*row \d+ .*Decrease n_neigh"):
        model.kneighbors(graph)
    with pytest.raises(DataError, match="90"):
        model.kneighbors(graph_of(Q_X, 6)[:, :40])
    with pytest.raises(DataError, match="Negative values"):
        model.kneighbors(-graph_of(Q_X, 6))
    assert model.kneighbors(graph[:0], 2)[0].shape == (0, 2)


def test_a_graph_is_saved_and_loaded(tmp_path):
    model = NearestNeighbors(metric="precomputed").fit(graph_of(X_X, 9))
    model.save(tmp_path / "model.hedgerow")
    for one, another in zip(
        load(tmp_path / "model.hedgerow").kneighbors(), model.kneighbors(), strict=True
    ):
        np.testing.assert_array_equal(one, another)


# scikit-learn takes functions to be symmetric where the queries are the training rows.
@pytest.mark.parametrize(
    ("function", "queries"), [(crooked, Q), (correlation, Q), (correlation, None)]
)
def test_a_function_gives_scikit_learns_neighbours(function, queries):
    options = {"metric": function, "radius": 0.7, "n_neighbors": 4, "algorithm": "brute"}
    ours, theirs = NearestNeighbors(**options).fit(X), sk.NearestNeighbors(**options).fit(X)
    assert_same_neighbours(ours, theirs, queries)
    assert ours.effective_metric_ is function


def test_a_function_is_called_with_the_query_first():
    model = NearestNeighbors(n_neighbors=90, metric=crooked).fit(X)
    expected = nearest(np.array([[crooked(a, b) for b in X] for a in X]), 90)
    for mine, other in zip(model.kneighbors(X), expected, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_function_gets_the_parameters_of_the_metric():
    params = {"p": 3, "w": np.array([1.0, 2.0, 0.5, 0.0])}
    ours = KNeighborsRegressor(metric=minkowski, metric_params=params).fit(X, NUMBERS)
    other = {"metric": minkowski, "metric_params": params, "p": None, "algorithm": "brute"}
    theirs = sk.KNeighborsRegressor(**other).fit(X, NUMBERS)
    np.testing.assert_allclose(ours.predict(Q), theirs.predict(Q))
    assert ours.effective_metric_params_ == params


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda _a, _b: -1.0, "metric returned -1.0 for query 0 and training row 0"),
        (lambda _a, b: np.nan if b[0] == X[3, 0] else 1.0, "nan for query 0 and training row 3"),
        (lambda a, b: a - b, r"arrays of shape \(4,\)"),
        (lambda _a, _b: "far", "other than a number"),
    ],
)
def test_a_function_that_returns_no_distances_is_refused(function, message):
    with pytest.raises(DataError, match=message):
        NearestNeighbors(metric=function).fit(X).kneighbors(Q)


def test_errors_of_a_function_are_its_own():
    def failing(_a, _b):
        raise ZeroDivisionError("of my own")

    with pytest.raises(ZeroDivisionError, match="of my own"):
        NearestNeighbors(metric=failing).fit(X).kneighbors(Q)


@pytest.mark.parametrize("metric", ["precomputed", crooked], ids=["matrix", "function"])
def test_there_is_no_tree_of_given_distances(metric):
    with pytest.raises(ParameterError, match="algorithm='kd_tree' does not support the metric"):
        NearestNeighbors(metric=metric, algorithm="kd_tree").fit(X_X)
