"""Every way to search finds what a float64 brute force finds, to the last bit."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import pairwise_distances

from hedgerow import _native
from hedgerow._neighbors import NearestNeighbors
from hedgerow._neighbors.metrics import SPECS
from oracles.neighbors import cosine_distances, finished, nearest, sums

ALGORITHMS = ["brute", "kd_tree"]
# Kind, p, and whether NumPy's operations are the kernels', so that no bit may differ.
METRICS = [
    ("euclidean", 2.0, True),
    ("manhattan", 1.0, True),
    ("chebyshev", 1.0, True),
    ("minkowski", 3.0, False),
    ("minkowski", 1.5, False),
    ("minkowski", 0.7, False),
    ("minkowski", 25.0, False),
]


def found(X, Q, k, **parameters):
    return NearestNeighbors(n_neighbors=k, **parameters).fit(X).kneighbors(Q)


def assert_brute_force(X, Q, k, metric="euclidean", p=2.0, exact=True, **parameters):
    expected, order = nearest(sums(X, Q, metric, p), k)
    expected = finished(expected, metric, p)
    distances, indices = found(X, Q, k, metric=metric, p=p, **parameters)
    assert (indices == order).all()
    if exact:
        assert (distances == expected).all()
    else:
        np.testing.assert_allclose(distances, expected, rtol=2e-14)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("metric", "p", "exact"), METRICS)
@pytest.mark.parametrize("d", [1, 2, 5, 6, 33])
def test_neighbours_are_those_of_a_brute_force(algorithm, metric, p, exact, d):
    rng = np.random.default_rng(d)
    X, Q = rng.standard_normal((700, d)), rng.standard_normal((41, d))
    assert_brute_force(X, Q, 9, metric, p, exact, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 63, 64, 65, 127, 129, 1000])
@pytest.mark.parametrize("n_queries", [1, 5, 6, 7, 50])
def test_any_number_of_rows_queries_and_neighbours(algorithm, n, n_queries):
    rng = np.random.default_rng(n)
    X, Q = rng.standard_normal((n, 5)), rng.standard_normal((n_queries, 5))
    for k in {1, min(n, 20), n}:
        assert_brute_force(X, Q, k, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("offset", [1e3, 1e8, 1e12, -1e15])
def test_data_far_from_the_origin(algorithm, offset):
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((3000, 12)) + offset, rng.standard_normal((60, 12)) + offset
    assert_brute_force(X, Q, 10, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_of_rows_at_the_same_distance_the_first_are_taken(algorithm, metric):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (2000, 4)).astype(float)  # 81 points, each some 25 times
    Q = np.vstack([rng.integers(0, 3, (30, 4)), rng.integers(-1, 4, (30, 4)) + 0.5])
    p = {"manhattan": 1.0}.get(metric, 2.0)
    assert_brute_force(X, Q, 40, metric, p, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rows_that_are_all_the_same(algorithm):
    X = np.full((500, 3), 0.1)
    Q = X[:4] + np.array([[0.0], [1.0], [1e9], [-1e-9]])
    assert_brute_force(X, Q, 100, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("spread", [1e-3, 1e-6, 1e-9])
def test_tight_clusters_far_apart(algorithm, spread):
    """Distances within a cluster are far below what float32 tells apart."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((3, 6)) * 100
    X = centres[rng.integers(0, 3, 1500)] + spread * rng.standard_normal((1500, 6))
    Q = centres[rng.integers(0, 3, 30)] + spread * rng.standard_normal((30, 6))
    assert_brute_force(X, Q, 10, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("size", [1e6, 1e20, 1e60, 1e140])
def test_outliers_among_rows_and_queries(algorithm, size):
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((1000, 5)), rng.standard_normal((40, 5))
    X[::100] *= size
    Q[::10] *= size
    assert_brute_force(X, Q, 15, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("metric", "p"), [("euclidean", 2), ("manhattan", 1), ("minkowski", 3)])
@pytest.mark.parametrize("size", [1e140, 1e200, 1.7e308])
def test_small_differences_survive_beside_numbers_whose_powers_overflow(algorithm, metric, p, size):
    """A column of sizes, in some rows of another order: as if the largest number meant a gap."""
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((300, 4)), rng.standard_normal((30, 4))
    X[::3, 1] = Q[::5, 1] = size
    X[1::50, 2] = -size / 3
    powers = np.abs(X.astype(np.longdouble)[None] - Q[:, None]) ** p
    expected = np.sum(powers, axis=2) ** (np.longdouble(1) / p)
    order = np.argsort(expected, axis=1, kind="stable")
    sorted_expected = np.take_along_axis(expected, order, axis=1)
    rows = NearestNeighbors(algorithm=algorithm, metric=metric, p=p).fit(X)
    distances, indices = rows.kneighbors(Q, 250)
    is_sharp = sorted_expected[:, :250] < 1e100  # others are as far as any, up to rounding
    assert (indices == order[:, :250])[is_sharp].all()
    np.testing.assert_allclose(distances, sorted_expected[:, :250].astype(float), rtol=1e-13)
    for radius in (1.5, size / 2):
        distances, indices = rows.radius_neighbors(Q, radius)
        for query, found in enumerate(indices):
            assert sorted(found) == np.flatnonzero(expected[query] <= radius).tolist()
            np.testing.assert_allclose(
                distances[query], sorted_expected[query, : len(found)].astype(float), rtol=1e-13
            )
            assert (found == order[query, : len(found)])[distances[query] < 1e100].all()


def test_small_differences_of_sparse_rows_survive_beside_large_numbers():
    X = np.where(np.random.default_rng(0).random((60, 5)) < 0.5, 0.0, 1.0) * np.arange(1, 6)
    X[::4, 3] = 1.7e308
    dense, sparse = (
        NearestNeighbors(algorithm="brute").fit(t) for t in (X, scipy.sparse.csr_array(X))
    )
    for ours, theirs in zip(
        sparse.kneighbors(scipy.sparse.csr_array(X)), dense.kneighbors(X), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "minkowski"])
@pytest.mark.parametrize("exponent", [-1040, -990, -600, -300, 300, 510, 700, 1015])
def test_a_power_of_two_scales_distances_and_nothing_else(algorithm, metric, exponent):
    """Though squares of such numbers would overflow or vanish."""
    rng = np.random.default_rng(0)
    X, Q = rng.integers(-99, 99, (300, 4)) / 4.0, rng.integers(-99, 99, (20, 4)) / 4.0
    parameters = {"algorithm": algorithm, "metric": metric, "p": 3}
    distances, indices = found(X, Q, 7, **parameters)
    scaled = found(np.ldexp(X, exponent), np.ldexp(Q, exponent), 7, **parameters)
    assert (scaled[1] == indices).all()
    np.testing.assert_allclose(scaled[0], np.ldexp(distances, exponent), rtol=1e-14, atol=5e-324)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_queries_of_another_scale_than_the_rows(algorithm):
    X = np.array([[1e-200], [3e-200], [-1e-200]])
    rows = NearestNeighbors(n_neighbors=3, algorithm=algorithm).fit(X)
    distances, indices = rows.kneighbors([[2.5e-200], [1e200]])
    assert indices.tolist() == [[1, 0, 2], [0, 1, 2]]  # from 1e200 all are as far
    np.testing.assert_allclose(distances[0], [5e-201, 1.5e-200, 3.5e-200], rtol=1e-12)
    np.testing.assert_allclose(distances[1], 1e200, rtol=1e-12)


@settings(max_examples=60)
@given(st.data())
def test_small_tables_of_any_numbers(data):
    d = data.draw(st.integers(1, 3))
    number = st.one_of(
        st.integers(-3, 3).map(float),
        # Squares of smaller ones would vanish in the oracle's sums, though not in ours.
        st.floats(-1e100, 1e100).filter(lambda x: x == 0.0 or abs(x) > 1e-100),
        st.sampled_from([1e-60, 1.0 + 2**-52, 1e8, 1e8 + 2**-20]),
    )
    table = st.lists(st.lists(number, min_size=d, max_size=d), min_size=1, max_size=80)
    X, Q = np.array(data.draw(table)), np.array(data.draw(table))
    k = data.draw(st.integers(1, len(X)))
    for algorithm in ALGORITHMS:
        assert_brute_force(X, Q, k, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("d", [3, 40])
def test_cosine_distances_lose_no_digits(algorithm, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, d))
    Q = X[:30] * rng.uniform(0.1, 10, (30, 1)) + 1e-6 * rng.standard_normal((30, d))
    distances, indices = found(X, Q, 12, metric="cosine", algorithm=algorithm)
    expected, order = nearest(np.array([cosine_distances(X, q) for q in Q]), 12)
    assert (indices == order).all()
    assert (distances >= 0).all()
    # Of the nearest only 1e-12 is left, whose digits NumPy's 1 − cosine would not have.
    np.testing.assert_allclose(distances, expected.astype(float), rtol=1e-7, atol=1e-19)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_row_of_zeros_is_at_cosine_distance_1_of_everything(algorithm):
    X = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])
    rows = NearestNeighbors(n_neighbors=5, metric="cosine", algorithm=algorithm).fit(X)
    distances, indices = rows.kneighbors([[0.0, 0.0], [5.0, 0.0]])
    assert distances.tolist() == [[1.0] * 5, [0.0, 1.0, 1.0, 1.0, 2.0]]
    assert indices.tolist() == [[0, 1, 2, 3, 4], [2, 0, 1, 3, 4]]


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_the_cosine_does_not_depend_on_the_scale(scale):
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((100, 4)), rng.standard_normal((10, 4))
    expected = found(X, Q, 5, metric="cosine")
    scaled = found(X * scale, Q / scale, 5, metric="cosine")
    assert (scaled[1] == expected[1]).all()
    np.testing.assert_allclose(scaled[0], expected[0], rtol=1e-13)


# Radius.


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("metric", "p", "exact"), METRICS)
def test_all_rows_within_a_radius_are_found(algorithm, metric, p, exact):
    rng = np.random.default_rng(0)
    X, Q = rng.integers(0, 12, (600, 3)).astype(float), rng.integers(0, 12, (30, 3)).astype(float)
    radius = 5.0 if p >= 1 else 30.0  # a distance that many rows have exactly
    rows = NearestNeighbors(radius=radius, metric=metric, p=p, algorithm=algorithm).fit(X)
    distances, indices = rows.radius_neighbors(Q)
    for query, total in enumerate(sums(X, Q, metric, p)):
        expected = finished(total, metric, p)
        near = expected <= radius * (1 if exact else 1 - 1e-12)
        order = np.argsort(total, kind="stable")
        order = order[near[order]]
        if exact:
            assert (indices[query] == order).all()
            assert (distances[query] == expected[order]).all()
        else:  # powers round differently: those on the border may or may not be in
            assert set(order) <= set(indices[query])
            assert (expected[indices[query]] <= radius * (1 + 1e-12)).all()
    assert sum(map(len, indices)) > 100


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_radius_0_finds_equal_rows(algorithm):
    X = np.array([[1e8], [1e8], [np.nextafter(1e8, 2e8)], [0.0]])
    rows = NearestNeighbors(radius=0.0, algorithm=algorithm).fit(X)
    _, indices = rows.radius_neighbors([[1e8], [0.0], [5.0]])
    assert [i.tolist() for i in indices] == [[0, 1], [3], []]


# Sparse tables.


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("density", [0.02, 0.3])
def test_a_sparse_table_has_the_neighbours_of_the_same_table_with_its_zeros(metric, density):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(500, 60, density, "csr", random_state=rng)
    Q = scipy.sparse.random(40, 60, density, "csc", random_state=rng)
    sparse = NearestNeighbors(n_neighbors=20, metric=metric, radius=0.9).fit(X)
    dense = NearestNeighbors(n_neighbors=20, metric=metric, radius=0.9).fit(X.toarray())
    for queries in (Q, Q.toarray()):
        for ours, theirs in zip(sparse.kneighbors(queries), dense.kneighbors(queries), strict=True):
            assert (ours == theirs).all()
    assert (sparse.kneighbors(Q)[0] == dense.kneighbors(Q)[0]).all()
    for ours, theirs in zip(
        sparse.radius_neighbors(Q)[1], dense.radius_neighbors(Q)[1], strict=True
    ):
        assert (ours == theirs).all()
    expected = pairwise_distances(Q.toarray(), X.toarray(), metric=metric)
    expected = np.take_along_axis(expected, dense.kneighbors(Q)[1], axis=1)
    np.testing.assert_allclose(sparse.kneighbors(Q)[0], expected, atol=1e-7)


def test_sparse_counts_with_many_ties():
    rng = np.random.default_rng(0)
    X = scipy.sparse.csr_array(rng.poisson(0.1, (400, 30)).astype(float))
    Q = scipy.sparse.csr_array(rng.poisson(0.1, (30, 30)).astype(float))
    expected, order = nearest(sums(X.toarray(), Q.toarray(), "euclidean"), 30)
    distances, indices = found(X, Q, 30)
    assert (indices == order).all()
    assert (distances == np.sqrt(expected)).all()


# What the kernels ask of their callers.


def test_kernels_refuse_arrays_that_do_not_fit():
    rows, centre = np.zeros((5, 2)), np.zeros(2)
    room = (np.zeros((3, 2)), np.zeros((3, 2), np.int64))
    with pytest.raises(ValueError, match="panels and rows must fit"):
        _native.PanelIndex(rows, np.zeros(3), 1.0, None, "euclidean", 1)
    with pytest.raises(ValueError, match="every place must have a row"):
        _native.PanelIndex(rows, centre, 1.0, np.zeros(4, np.uint32), "euclidean", 1)
    with pytest.raises(ValueError, match="no metric of products is called gower"):
        _native.PanelIndex(rows, centre, 1.0, None, "gower", 1)
    panels = _native.PanelIndex(rows, centre, 1.0, None, "euclidean", 1)
    with pytest.raises(ValueError, match="queries must have the rows' features"):
        panels.nearest(np.zeros((3, 1)), *room, 1)
    with pytest.raises(ValueError, match="every query must have room"):
        panels.nearest(np.zeros((4, 2)), *room, 1)
    with pytest.raises(ValueError, match="there is no such metric"):
        _native.BlockIndex(rows, False, "hamming", 2.0, None, None, 1)
    with pytest.raises(ValueError, match="every column must have a weight"):
        _native.BlockIndex(rows, False, "gower", 2.0, centre, None, 1)


def test_every_metric_has_a_row_in_both_tables():
    computed = {name for name, spec in SPECS.items() if not spec.is_opaque}
    assert set(_native.METRICS) == computed
