"""Kernel machines the slow way: kernels by their formulas, duals by a general solver."""

import numpy as np
from scipy.optimize import LinearConstraint, minimize


def kernel(name, A, B, gamma=1.0, coef0=0.0, degree=3):
    """Kernels of all rows of A with all of B, one by one."""
    A, B = np.asarray(A, np.float64), np.asarray(B, np.float64)
    values = np.empty((len(A), len(B)))
    for i, x in enumerate(A):
        for j, z in enumerate(B):
            values[i, j] = {
                "linear": lambda x=x, z=z: x @ z,
                "poly": lambda x=x, z=z: (gamma * (x @ z) + coef0) ** degree,
                "rbf": lambda x=x, z=z: np.exp(-gamma * ((x - z) ** 2).sum()),
                "sigmoid": lambda x=x, z=z: np.tanh(gamma * (x @ z) + coef0),
                "laplacian": lambda x=x, z=z: np.exp(-gamma * np.abs(x - z).sum()),
            }[name]()
    return values


def maximise(K, linear, low, high, groups, start):
    """Maximise linear·β − ½βᵀKβ within bounds, with the sum of each group as at the start."""
    A = np.array([[float(v in group) for v in range(len(linear))] for group in groups])
    sums = A @ start
    solved = minimize(
        lambda b: 0.5 * b @ K @ b - linear @ b,
        start,
        jac=lambda b: K @ b - linear,
        hess=lambda _: K,
        bounds=list(zip(low, high, strict=True)),
        constraints=[LinearConstraint(A, sums, sums)],
        method="trust-constr",
        options={"gtol": 1e-10, "xtol": 1e-12, "maxiter": 600},
    )
    return -float(solved.fun)


def hinge_objective(K, coefficients, intercept, y, C):
    """½‖w‖² + Σ C max(0, 1 − y f), from the definition."""
    f = K @ coefficients + intercept
    losses = np.maximum(0.0, 1.0 - y * f)
    return 0.5 * coefficients @ K @ coefficients + float((C * losses).sum())


def tube_objective(K, coefficients, intercept, t, C, epsilon):
    """½‖w‖² + Σ C max(0, |t − f| − ε), from the definition."""
    f = K @ coefficients + intercept
    losses = np.maximum(0.0, np.abs(t - f) - epsilon)
    return 0.5 * coefficients @ K @ coefficients + float((C * losses).sum())
