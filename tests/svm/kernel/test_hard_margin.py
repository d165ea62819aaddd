"""C=inf: margins that are known in closed form, and classes that cannot be separated."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

from hedgerow._svm import SVC
from hedgerow.exceptions import DataError, ParameterError


def require_conditions(machine, X, y, exact=1e-6):
    """Karush, Kuhn and Tucker's: α ≥ 0, y f ≥ 1, α (y f − 1) = 0, Σ y α = 0, w = Σ y α x."""
    sign = np.where(y == machine.classes_[1], 1.0, -1.0)
    alpha = np.zeros(len(y))
    alpha[machine.support_] = machine.dual_coef_[0] * sign[machine.support_]
    margins = sign * machine.decision_function(X)
    assert (alpha >= 0.0).all()
    assert margins.min() >= 1.0 - exact
    assert np.abs(alpha * (margins - 1.0)).max() <= exact * max(1.0, alpha.max())
    assert abs((alpha * sign).sum()) <= exact * max(1.0, alpha.max())


def test_two_points():
    X, y = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([0, 1])
    machine = SVC(kernel="linear", C=np.inf).fit(X, y)
    np.testing.assert_allclose(machine.coef_, [[2 * 3 / 25, 2 * 4 / 25]])  # 2 (b − a) / ‖b − a‖²
    assert 1.0 / np.linalg.norm(machine.coef_) == pytest.approx(2.5)  # half of their distance
    assert machine.intercept_[0] == pytest.approx(-1.0)


def test_three_points():
    X, y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1, 1, -1])
    machine = SVC(kernel="linear", C=np.inf).fit(X, y)
    np.testing.assert_allclose(machine.coef_, [[0.5, 0.5]])
    np.testing.assert_allclose(machine.intercept_, [-2.0])
    assert machine.support_.tolist() == [2, 0]
    np.testing.assert_allclose(machine.dual_coef_, [[-0.25, 0.25]])
    assert 1.0 / np.linalg.norm(machine.coef_) == pytest.approx(np.sqrt(2.0))


def test_parallel_walls():
    random = np.random.default_rng(0)
    along = random.uniform(-5, 5, 200)
    X = np.column_stack([np.where(np.arange(200) < 100, -0.7, 0.7), along])
    X[::3, 0] *= 3.0
    y = np.arange(200) >= 100
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    machine = SVC(kernel="linear", C=np.inf).fit(X @ turn, y)
    np.testing.assert_allclose(machine.coef_[0], turn[0] / 0.7, atol=1e-6)
    assert 1.0 / np.linalg.norm(machine.coef_) == pytest.approx(0.7, abs=1e-7)
    require_conditions(machine, X @ turn, y)


def test_exclusive_or_by_the_square_kernel():
    X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    y = np.array([1, 1, -1, -1])
    machine = SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0, C=np.inf).fit(X, y)
    np.testing.assert_allclose(np.abs(machine.dual_coef_), 0.125)  # φ = (… √2 x₁x₂ …): f = x₁x₂
    np.testing.assert_allclose(machine.decision_function([[0.5, 2.0], [3.0, -1.0]]), [1.0, -3.0])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_conditions_hold_on_real_tables(kernel, far):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X) + (far if kernel in ("rbf", "laplacian") else 0.0)
    machine = SVC(kernel=kernel, C=np.inf).fit(X, y)
    require_conditions(machine, X, y)
    assert machine.duality_gap_[0] <= 1e-6


def test_a_large_finite_cost_is_the_same_machine():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    hard = SVC(kernel="linear", C=np.inf).fit(X, y)
    soft = SVC(kernel="linear", C=1e7, tol=1e-7).fit(X, y)
    np.testing.assert_allclose(hard.coef_, soft.coef_, rtol=1e-5)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0.0], [2.0], [1.0]], [1, 1, 0]),
        ([[0.0], [0.0]], [0, 1]),
        ([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [1, 1, 0, 0]),
    ],
)
def test_what_cannot_be_separated_is_said_with_the_gap(X, y):
    with pytest.raises(DataError, match=r"cannot be separated.*convex hulls.* gap is infinite"):
        SVC(kernel="linear", C=np.inf).fit(X, y)


def test_real_classes_that_overlap_are_refused_before_long():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(DataError, match="cannot be separated"):
        SVC(kernel="linear", C=np.inf).fit(X[50:], y[50:])


def test_probabilities_of_a_hard_margin_are_refused():
    with pytest.raises(ParameterError, match="C=inf"):
        SVC(C=np.inf, probability=True).fit([[0.0], [1.0]], [0, 1])
