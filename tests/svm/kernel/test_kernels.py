"""Tables of kernels against the formulas; and that nothing but the rows decides their bits."""

import numpy as np
import pytest
import scipy.sparse

from hedgerow import _native
from hedgerow._svm.kernel.cache import RowCache
from hedgerow._svm.kernel.kernels import Kernel, gamma_of, matrix_of, smallest_eigenvalue
from hedgerow.exceptions import ParameterError
from levels import printed_at_every_level
from tests.oracles.kernel_svms import kernel as formula

NAMES = ("linear", "poly", "rbf", "sigmoid", "laplacian")


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def of(name, **constants):
    return Kernel(name, **({"gamma": 0.3, "coef0": 0.5, "degree": 3} | constants))


def filled(table, indices, threads=1):
    values = np.full((len(indices), len(table)), np.nan, table.dtype)
    table.fill(np.asarray(indices), np.arange(len(indices)), values, threads)
    return values


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 3), (64, 5), (65, 17), (200, 40)])
def test_kernels_are_those_of_the_formula(name, n, d):
    X = rows(n, d)
    indices = np.arange(0, n, 3)
    expected = formula(name, X[indices], X, 0.3, 0.5, 3)
    np.testing.assert_allclose(filled(of(name).table(X), indices), expected, rtol=1e-12, atol=1e-13)
    single = filled(of(name).table(X, single=True), indices)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=2e-5, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("single", [True, False])
def test_kernels_are_symmetric_and_depend_on_their_rows_alone(name, single):
    X = rows(150, 9)
    table = of(name).table(X, single=single)
    K = filled(table, np.arange(150))
    assert (K == K.T).all()
    np.testing.assert_allclose(table.diagonal(), np.diag(K), rtol=1e-6 if single else 0)
    for indices in ([3], [149, 3], np.arange(100, 150)):
        assert (filled(table, indices, threads=3) == K[indices]).all()


@pytest.mark.parametrize("name", NAMES)
def test_sums_are_those_of_the_kernels(name):
    X, Q = rows(130, 6), rows(77, 6, seed=1)
    coefficients = rows(3, 130, seed=2)
    table = of(name).table(X)
    sums = table.sums(Q, coefficients, 2)
    expected = formula(name, Q, X, 0.3, 0.5, 3) @ coefficients.T
    np.testing.assert_allclose(sums, expected, rtol=1e-11, atol=1e-11)
    assert (table.sums(Q[5:6], coefficients, 1) == sums[5]).all()
    at = np.array([4, 99])
    own = table.own_sums(coefficients[0], at, 1)
    np.testing.assert_allclose(own, (formula(name, X, X, 0.3, 0.5, 3) @ coefficients[0])[at])


@pytest.mark.parametrize("name", NAMES)
def test_sparse_rows_have_the_kernels_of_dense_ones(name):
    X = scipy.sparse.random(90, 30, 0.2, format="csr", random_state=0)
    dense, sparse = of(name).table(X.toarray()), of(name).table(scipy.sparse.csr_array(X))
    indices = np.array([0, 5, 89])
    np.testing.assert_allclose(
        filled(sparse, indices), filled(dense, indices), rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(sparse.diagonal(), dense.diagonal(), rtol=1e-12, atol=1e-13)
    coefficients = rows(2, 90)
    np.testing.assert_allclose(
        sparse.sums(X[:7], coefficients, 1), dense.sums(X[:7].toarray(), coefficients, 1)
    )


def test_far_from_the_origin_distances_are_exact():
    X = rows(100, 5)
    far = X + 1e6
    K = filled(of("rbf").table(far), np.arange(100))
    np.testing.assert_allclose(K, formula("rbf", far, far, 0.3), rtol=1e-9)
    single = filled(of("rbf").table(far, single=True), np.arange(100))
    np.testing.assert_allclose(single, formula("rbf", far, far, 0.3), rtol=1e-4, atol=1e-6)


def test_scale_and_auto_are_as_in_scikit_learn():
    X = rows(50, 4) * 3
    assert gamma_of("scale", X) == pytest.approx(1 / (4 * X.var()), rel=1e-14)
    assert gamma_of("scale", scipy.sparse.csr_array(X)) == pytest.approx(1 / (4 * X.var()))
    assert gamma_of("auto", X) == 0.25
    assert gamma_of("scale", np.ones((3, 2))) == 1.0
    assert gamma_of(0.7, X) == 0.7


def test_a_function_of_blocks_is_a_kernel():
    X = rows(40, 3)
    table = Kernel("callable", function=lambda A, B: A @ B.T).table(X)
    np.testing.assert_allclose(filled(table, [3, 7]), X[[3, 7]] @ X.T)
    np.testing.assert_allclose(table.take(np.array([1, 2])).diagonal(), (X[1:3] ** 2).sum(axis=1))


@pytest.mark.parametrize(
    ("function", "pattern"),
    [
        (lambda _A, _B: np.ones(3), r"shape \(3,\)"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "NaN"),
        (lambda _A, _B: "no", "other than a matrix of numbers"),
    ],
)
def test_what_a_function_must_return_is_said(function, pattern):
    table = Kernel("callable", function=function).table(rows(5, 2))
    with pytest.raises(ParameterError, match=pattern):
        filled(table, [0])


def test_the_cache_keeps_what_was_used_last_within_its_budget():
    table = of("rbf").table(rows(100, 3))
    cache = RowCache(table, megabytes=10 * 100 * 8 / 2**20, least=4)
    assert cache.values.shape == (10, 100)
    K = filled(table, np.arange(100))
    computed = []
    fill = table.fill
    table.fill = lambda rows, *others: (computed.extend(rows.tolist()), fill(rows, *others))
    random = np.random.default_rng(0)
    recent = []
    for _ in range(200):
        indices = random.choice(30, 4, replace=False)
        computed.clear()
        slots = cache.slots(indices, 1)
        assert (cache.values[slots] == K[indices]).all()
        assert set(computed) == set(indices.tolist()) - set(recent[-10:])
        recent = [row for row in recent if row not in set(indices.tolist())]
        recent += sorted(indices.tolist(), key=lambda row: slots[indices == row][0])
    part = cache.move_to_subset(np.arange(0, 100, 2), 2)
    even = np.array([0, 2, 4])
    assert (part.values[part.slots(even // 2, 1)] == K[even][:, ::2]).all()


def test_indefinite_kernels_are_noticed():
    X = rows(60, 3)
    assert smallest_eigenvalue(matrix_of(of("rbf").table(X))) > -1e-12
    assert smallest_eigenvalue(matrix_of(of("sigmoid", gamma=1.0).table(X))) < -1e-3


def test_most_violating_are_the_first_of_each_side():
    random = np.random.default_rng(3)
    for trial in range(50):
        n = int(random.integers(1, 60) if trial % 2 else random.integers(3_000, 9_000))
        most = int(random.integers(1, 20))
        pull = random.integers(0, 6, n).astype(float)
        low, high = np.zeros(n), np.ones(n)
        beta = random.choice([0.0, 0.5, 1.0], n)
        found = _native.most_violating(pull, beta, low, high, most, threads=3)
        up = sorted(np.flatnonzero(beta < 1), key=lambda i: (-pull[i], i))[:most]
        down = sorted(np.flatnonzero(beta > 0), key=lambda i: (pull[i], i))[:most]
        assert found.tolist() == sorted({*up, *down})


def test_the_range_of_pulls_is_that_of_variables_that_may_move():
    random = np.random.default_rng(4)
    for n in (0, 1, 7, 100):
        pull, beta = random.normal(size=n), random.choice([0.0, 0.5, 1.0], n)
        top, bottom = _native.pull_range(pull, beta, np.zeros(n), np.ones(n))
        assert top == max(pull[beta < 1], default=-np.inf)
        assert bottom == min(pull[beta > 0], default=np.inf)
    pull, beta = np.array([1.0, np.nan, 2.0]), np.full(3, 0.5)
    assert _native.pull_range(pull, beta, beta, beta) == (-np.inf, np.inf)  # none may move
    assert np.isnan(_native.pull_range(pull, beta, np.zeros(3), np.ones(3))).all()


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("threads", [1, 4])
def test_a_selection_of_rows_has_the_kernels_of_a_copy(single, threads):
    X = rows(900, 70)
    some = np.random.default_rng(5).permutation(900)[:500]
    table = of("rbf", gamma=0.02).table(X, single=single, threads=threads)
    part = table.take(some, threads).take(np.arange(0, 500, 2), threads)
    everything = filled(table, np.arange(900), threads)
    chosen = some[::2]
    assert (filled(part, np.arange(250), threads) == everything[np.ix_(chosen, chosen)]).all()
    coefficients = np.random.default_rng(6).normal(size=250)
    at = np.array([3, 0, 77])
    expected = everything[np.ix_(chosen[at], chosen)].astype(float) @ coefficients
    np.testing.assert_allclose(part.own_sums(coefficients, at, threads), expected, rtol=1e-10)


KERNELS_OF_ALL_SIZES = """
import hashlib
import numpy as np
from hedgerow._svm.kernel.kernels import Kernel
random, everything = np.random.default_rng(0), np.arange(300)
digest = hashlib.sha256()
for scale in (1.0, 1e-3, 1e3, 1e-18, 1e15):
    X = random.normal(size=(300, 41)) * scale * 10.0 ** random.integers(-3, 3, size=(300, 41))
    for kernel in (Kernel("linear"), Kernel("rbf"), Kernel("rbf", 1 / scale**2), Kernel("sigmoid")):
        for single in (True, False):
            table = kernel.table(X, single=single)
            values = np.empty((300, 300), table.dtype)
            table.fill(everything, everything, values, 1)
            digest.update(values.tobytes())
print(digest.hexdigest())
"""


def test_sums_with_one_rounding_are_the_same_on_every_instruction_set():
    """Also where the processor has no instruction for them, and sums overflow or vanish."""
    assert len(set(printed_at_every_level(KERNELS_OF_ALL_SIZES))) == 1
