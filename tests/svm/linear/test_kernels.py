"""The native products and descents against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

from hedgerow import _native
from hedgerow._svm.linear.design_matrix import DesignMatrix

BIAS = 0.7


def matrix(n_rows, n_features, dtype, *, sparse, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)).astype(dtype)
    if not sparse:
        return X
    X[rng.random(X.shape) < 0.8] = 0.0
    return sp.csr_array(X)


def with_bias(X):
    dense = X.toarray() if sp.issparse(X) else X
    return np.column_stack([dense.astype(np.float64), np.full(len(dense), BIAS)])


@pytest.fixture(params=[(1, 1), (7, 3), (33, 16), (257, 37), (40, 301)], ids=str)
def shape(request):
    return request.param


@pytest.fixture(params=[np.float32, np.float64])
def dtype(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def sparse(request):
    return request.param


def test_products_are_those_of_numpy(shape, dtype, sparse):
    X = matrix(*shape, dtype, sparse=sparse)
    rows, full = DesignMatrix(X, BIAS, 2), with_bias(X)
    rng = np.random.default_rng(1)
    W, u = rng.standard_normal((3, shape[1] + 1)), rng.standard_normal(shape[0])
    theta = np.where(rng.random(shape[0]) < 0.3, 0.0, rng.uniform(0.1, 2.0, shape[0]))
    assert (rows.n_rows, rows.width) == (shape[0], shape[1] + 1)
    exact = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(rows.times(W[0]), full @ W[0], **exact)
    np.testing.assert_allclose(rows.times_each(W), full @ W.T, **exact)
    np.testing.assert_allclose(rows.combine(u), full.T @ u, **exact)
    np.testing.assert_allclose(rows.curve(theta, W[0]), full.T @ (theta * (full @ W[0])), **exact)
    np.testing.assert_allclose(rows.normal_matrix(theta), full.T * theta @ full, **exact)
    np.testing.assert_allclose(rows.squares(), (full**2).sum(axis=1), **exact)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_products_of_many_pieces_do_not_depend_on_threads(sparse):
    X = matrix(40_000, 30, np.float64, sparse=sparse)
    u = np.random.default_rng(1).standard_normal(40_000)
    results = [
        (rows.combine(u), rows.normal_matrix(u), rows.curve(u, np.ones(31)), rows.squares())
        for rows in (DesignMatrix(X, BIAS, threads) for threads in (1, 2, 3, 8))
    ]
    np.testing.assert_allclose(results[0][0], with_bias(X).T @ u, rtol=1e-9, atol=1e-9)
    for other in results[1:]:
        for mine, theirs in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("size", [1, 2, 9, 60])
def test_cholesky_solves(size):
    rng = np.random.default_rng(size)
    half = rng.standard_normal((size, size + 3))
    A, b = half @ half.T, rng.standard_normal(size)
    factored, x = A.copy(), b.copy()
    assert _native.cholesky(factored) == 0
    _native.cholesky_solve(factored, x)
    np.testing.assert_allclose(A @ x, b, rtol=1e-6, atol=1e-8)


def test_cholesky_leaves_alone_what_a_singular_matrix_does_not_determine():
    A = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    x = np.array([4.0, 4.0, 6.0])
    factored = A.copy()
    assert _native.cholesky(factored) == 1
    _native.cholesky_solve(factored, x)
    np.testing.assert_allclose(x, [2.0, 0.0, 2.0], atol=1e-12)


def dual_by_scipy(full, target, lower, upper, ridge, epsilon):
    """Minimise the dual in rises and falls of β, which makes |β| smooth."""
    gram, n = full @ full.T + np.diag(ridge), len(target)

    def value(x):
        beta = x[:n] - x[n:]
        g = gram @ beta - target
        gradient = np.concatenate([g + epsilon, epsilon - g])
        return 0.5 * beta @ gram @ beta - target @ beta + epsilon * x.sum(), gradient

    bounds = [(0, up) for up in upper] + [(0, -low) for low in lower]
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 50_000, "maxfun": 100_000}
    found = scipy.optimize.minimize(
        value, np.zeros(2 * n), jac=True, bounds=bounds, method="L-BFGS-B", options=options
    )
    return found.fun


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_dual_descent_reaches_the_minimum_of_scipy(dtype, sparse, epsilon, ridge):
    n = 40
    X = matrix(n, 12, dtype, sparse=sparse)
    rows, rng = DesignMatrix(X, BIAS, 1), np.random.default_rng(2)
    target, C = rng.standard_normal(n), rng.uniform(0.1, 2.0, n)
    ridges = np.full(n, ridge)
    beta, w = np.zeros(n), np.zeros(rows.width)
    terms = (target, -C, C, ridges, epsilon)
    descent = _native.dual_descent(rows.native, *terms, rows.squares(), beta, w, 3)
    (epochs,) = _native.descend([descent], 100_000, [1e-9], 1)
    assert descent.converged
    assert descent.violation <= 1e-9
    assert 0 < epochs < 100_000
    full = with_bias(X)
    np.testing.assert_allclose(w, full.T @ beta, atol=1e-9)
    assert (np.abs(beta) <= C).all()
    value = 0.5 * w @ w + 0.5 * ridge * beta @ beta - target @ beta + epsilon * np.abs(beta).sum()
    assert value == pytest.approx(dual_by_scipy(full, *terms), abs=1e-7)


def test_arrays_of_a_wrong_size_are_refused():
    rows = DesignMatrix(np.ones((4, 2)), 1.0, 1)
    with pytest.raises(ValueError, match="wrong size"):
        rows.times(np.ones(2))
    with pytest.raises(ValueError, match="wrong size"):
        rows.combine(np.ones(3))
    with pytest.raises(ValueError, match="wrong size"):
        rows.normal_matrix(np.ones(5))
