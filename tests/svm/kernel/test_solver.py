"""Solutions of the duals against a general solver, definitions, and one another."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from hedgerow import _native
from hedgerow._svm.kernel import dual as duals
from hedgerow._svm.kernel import solver
from hedgerow._svm.kernel.active_set import active_set_steps
from hedgerow._svm.kernel.cache import RowCache
from hedgerow._svm.kernel.certificate import dual_objective, levels_and_gap, violation
from hedgerow._svm.kernel.kernels import Kernel
from hedgerow._svm.kernel.solver import SolverOptions, solve
from tests.oracles.kernel_svms import hinge_objective, maximise, tube_objective
from tests.oracles.kernel_svms import kernel as formula


def problem(kind, n=14, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.8 * random.normal(size=n) > 0, 1.0, -1.0)
    t = X[:, 0] - X[:, 1] ** 2 + 0.3 * random.normal(size=n)
    C = random.uniform(0.5, 3.0, n)
    dual = {
        "classes": lambda: duals.of_classes(y, C),
        "numbers": lambda: duals.of_numbers(t, C, 0.2),
        "one class": lambda: duals.of_one_class(C, 0.4),
        "nu classes": lambda: duals.of_nu_classes(y, np.ones(n), 0.4),
        "nu numbers": lambda: duals.of_nu_numbers(t, C, 0.6),
    }[kind]()
    return X, y, t, C, dual


KINDS = ("classes", "numbers", "one class", "nu classes", "nu numbers")


def solved(X, dual, *, tol=1e-8, gamma=0.5, shrinking=True, megabytes=10.0, threads=1):
    cache = RowCache(Kernel("rbf", gamma).table(X), megabytes, min(len(X), 1024))
    return solve(dual, cache, SolverOptions(tol, shrinking=shrinking), threads)


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_is_that_of_a_general_solver(kind):
    X, *_, dual = problem(kind)
    solution = solved(X, dual)
    assert solution.converged
    K = formula("rbf", X, X, 0.5)[np.ix_(dual.row, dual.row)]
    groups = [range(len(dual.row))[group] for group in dual.groups]
    best = maximise(K, dual.linear, dual.low, dual.high, groups, dual.start)
    own = dual_objective(dual, solution.beta, solution.scores)
    assert own >= best - 1e-8 * abs(best)
    assert own == pytest.approx(best, rel=1e-4)  # the general one is not as exact


@pytest.mark.parametrize("kind", KINDS)
def test_solutions_keep_bounds_and_sums_and_satisfy_the_conditions(kind):
    X, *_, dual = problem(kind, n=300)
    solution = solved(X, dual)
    beta = solution.beta
    assert (dual.low <= beta).all()
    assert (beta <= dual.high).all()
    K = formula("rbf", X, X, 0.5)
    np.testing.assert_allclose(solution.scores, K @ solution.coefficients, atol=1e-10)
    for group, level in zip(dual.groups, solution.levels, strict=True):
        assert beta[group].sum() == pytest.approx(dual.start[group].sum(), abs=1e-10)
        pull = dual.linear[group] - solution.scores[dual.row[group]]
        assert (pull[beta[group] < dual.high[group]] <= level + 1e-7).all()
        assert (pull[beta[group] > dual.low[group]] >= level - 1e-7).all()


@pytest.mark.parametrize("steps", [0, 1, 20, 10_000])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_gap_is_that_between_primal_and_dual(kind, steps):
    """Anywhere on the way, not only at the end."""
    X, y, t, C, dual = problem(kind, n=200)
    K = formula("rbf", X, X, 0.5)
    solution = solve(
        dual, RowCache(Kernel("rbf", 0.5).table(X), 10.0, 200), SolverOptions(1e-9, steps), 1
    )
    coefficients, intercept = solution.coefficients, solution.levels[0]
    if kind == "classes":
        primal = hinge_objective(K, coefficients, intercept, y, C)
    else:
        primal = tube_objective(K, coefficients, intercept, t, C, 0.2)
    own = dual_objective(dual, solution.beta, K @ coefficients)
    assert primal - own == pytest.approx(solution.gap, rel=1e-6, abs=1e-9 * abs(primal))
    assert solution.objective == pytest.approx(primal, rel=1e-9)


def test_levels_make_the_gap_smallest():
    random = np.random.default_rng(5)
    for _ in range(100):
        n = int(random.integers(2, 40))
        C = random.uniform(0.1, 2.0, n)
        y = np.where(random.random(n) < 0.5, 1.0, -1.0)
        dual = duals.of_classes(y, C)
        beta = y * C * random.choice([0.0, 0.3, 1.0], n)
        pull = random.integers(-3, 4, n) + random.choice([0.0, 0.1], n)
        (level,), gap = levels_and_gap(dual, beta, y - pull, pull)

        def at(level, dual=dual, beta=beta, pull=pull):
            apart = pull - level
            above, below = dual.high - beta, beta - dual.low
            return (np.maximum(apart, 0) * above + np.maximum(-apart, 0) * below).sum()

        assert gap == pytest.approx(at(level))
        assert gap <= min(at(other) for other in np.concatenate([pull, pull + 0.03])) + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_shrinking_small_caches_and_threads_do_not_change_the_answer(kind, monkeypatch):
    monkeypatch.setattr(solver, "SHRINKING_EVERY", 1)
    monkeypatch.setattr(solver, "SHRUNK", 1.0)
    monkeypatch.setattr(solver, "LARGEST_SET", 128)
    monkeypatch.setattr(solver, "SMALLEST_SET", 128)
    parts = []
    part = solver.State.part
    monkeypatch.setattr(solver.State, "part", lambda *args: parts.append(args) or part(*args))
    X, *_, dual = problem(kind, n=700)
    plain = solved(X, dual, tol=1e-6, shrinking=False)
    assert not parts
    shrunk = solved(X, dual, tol=1e-6, megabytes=0.01)
    assert parts
    assert plain.converged
    assert shrunk.converged
    assert shrunk.objective == pytest.approx(plain.objective, rel=1e-6)
    np.testing.assert_allclose(shrunk.scores, plain.scores, atol=1e-4)
    again = solved(X, dual, tol=1e-6, megabytes=0.01, threads=4)
    assert (again.beta == shrunk.beta).all()
    assert (again.scores == shrunk.scores).all()


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_linear_kernel_starts_near_the_solution(kind):
    X, *_, dual = problem(kind, n=1000)
    X = X * [0.1, 1.0, 10.0]
    table = Kernel("linear").table(X)
    started = solve(dual, RowCache(table, 10.0, 1000), SolverOptions(1e-5), 1)
    blind = Kernel("callable", function=lambda A, B: A @ B.T).table(X)
    plain = solve(dual, RowCache(blind, 10.0, 1000), SolverOptions(1e-5), 1)
    assert started.converged
    assert started.n_iter < 100
    assert started.n_iter < plain.n_iter
    assert started.objective <= plain.objective * (1.0 + 1e-5)
    for group in dual.groups:
        assert abs(started.beta[group].sum()) <= 1e-12 * np.abs(started.beta).sum()
    assert (dual.low <= started.beta).all()
    assert (started.beta <= dual.high).all()


def test_pair_steps_keep_sums_and_never_make_it_worse():
    X, *_, dual = problem("nu numbers", n=60)
    K = formula("rbf", X, X, 0.5)
    beta = dual.start.copy()
    last = -np.inf
    for _ in range(60):
        pull = dual.linear - (K @ np.bincount(dual.row, beta, minlength=60))[dual.row]
        before = violation(dual, beta, pull)
        made = _native.pair_steps(
            K,
            dual.row,
            dual.row,
            dual.second,
            dual.low,
            dual.high,
            beta,
            pull,
            1e-9,
            1,
            np.empty(_native.pair_room(len(dual.row))),
            2,
        )
        assert made == (before > 1e-9)
        scores = K @ np.bincount(dual.row, beta, minlength=60)
        np.testing.assert_allclose(pull, dual.linear - scores[dual.row], atol=1e-12)
        objective = dual_objective(dual, beta, scores)
        assert objective >= last - 1e-14 * abs(last)
        last = objective
        for group in dual.groups:
            assert beta[group].sum() == pytest.approx(dual.start[group].sum(), abs=1e-12)


def test_a_step_on_a_face_reaches_its_top_or_a_bound():
    random = np.random.default_rng(1)
    for trial in range(30):
        n = 12
        A = random.normal(size=(n, n))
        K = A @ A.T / n
        second = 0 if trial % 3 == 0 else n // 2
        low, high = -np.ones(n), np.full(n, 1.0 if trial % 2 else 100.0)
        beta = np.zeros(n)
        b = random.normal(size=n)
        pull = b - K @ beta
        steps = active_set_steps(K, second, low, high, beta, pull, most=50)
        assert steps >= 1
        np.testing.assert_allclose(pull, b - K @ beta, atol=1e-10)
        assert (low <= beta).all()
        assert (beta <= high).all()
        for group in (slice(0, second), slice(second, n)):
            free = (beta[group] > low[group]) & (beta[group] < high[group])
            assert beta[group].sum() == pytest.approx(0.0, abs=1e-10)
            if free.sum() > 1:
                assert np.ptp(pull[group][free]) < 1e-8


def test_what_pair_steps_zigzag_on_is_solved_by_faces(monkeypatch):
    """Thirty columns, many of them nearly multiples of one another, and hardly any slack."""
    X, y = load_breast_cancer(return_X_y=True)
    # As a function, so that nothing is made of its being linear.
    kernel = Kernel("callable", function=lambda A, B: A @ B.T)
    table = kernel.table(StandardScaler().fit_transform(X))
    dual = duals.of_classes(np.where(y == 1, 1.0, -1.0), np.full(len(y), 1e6))
    with_faces = solve(dual, RowCache(table, 10.0, len(y)), SolverOptions(1e-6, 200_000), 1)
    monkeypatch.setattr(solver, "FACES", 0)
    without = solve(dual, RowCache(table, 10.0, len(y)), SolverOptions(1e-6, 200_000), 1)
    assert with_faces.converged
    assert with_faces.relative_gap < 1e-6
    assert not without.converged
    assert without.relative_gap > 1e-3


@pytest.mark.parametrize("C", [100.0, 1e4])
def test_faces_of_singular_kernels_keep_the_sums(C):
    """With more rows than columns a linear kernel is singular, and w·φ alone does not show β."""
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(40, 2)), random.normal((2.0, 1.6), size=(40, 2))])
    y = np.repeat([-1.0, 1.0], 40)
    cache = RowCache(Kernel("linear").table(X), 10.0, 80)
    solution = solve(duals.of_classes(y, np.full(80, C)), cache, SolverOptions(1e-6), 1)
    assert abs(solution.beta.sum()) <= 1e-12 * np.abs(solution.beta).sum()
    primal = hinge_objective(X @ X.T, solution.coefficients, solution.levels[0], y, C)
    assert primal == pytest.approx(solution.objective, rel=1e-10)
    assert primal >= solution.objective - solution.gap - 1e-10 * primal
