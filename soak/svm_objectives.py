"""Primal and dual objectives of fitted SVMs, by their definitions.

The dual point of a kernel SVM is given by its coefficients. Linear SVMs publish none; for them, the
feasible point closest to w that the margins allow is computed here. Every feasible point gives a
lower bound on the objective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linprog, lsq_linear, nnls

# Rows this near to an edge of the margin, by the largest score, may have any coefficient.
# The fraction of ½‖w‖² below which the one-class SVM treats an objective as 0.
NOTHING = 1e-6
NEAR = (1e-10, 1e-8, 1e-6, 1e-4)


@dataclass(frozen=True)
class Bounds:
    """The primal objective of an SVM, and a lower bound on the optimum."""

    primal: float
    dual: float
    half_square: float  # ½‖w‖², or what counts as nothing beside it
    terms: float  # the sizes of what was added up: rounding is a part of that


def _kernel(model: Any, X: np.ndarray) -> np.ndarray:
    if model.kernel == "linear":
        return X @ X.T
    variance = float(X.var())
    gamma = 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0
    return np.exp(-gamma * ((X[:, np.newaxis] - X) ** 2).sum(axis=2))


def _coefficients(model: Any, n: int) -> np.ndarray:
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


def _bounds(
    primal: float, dual: float, beta: np.ndarray, K: np.ndarray, costs: np.ndarray, others: float
) -> Bounds:
    scores = np.abs(K) @ np.abs(beta)
    terms = float((np.abs(beta) + costs) @ scores) + others
    return Bounds(primal, dual, 0.5 * float(beta @ K @ beta), terms)


def _require(beta: np.ndarray, most: np.ndarray, total: float | None = 0.0) -> None:
    if (np.abs(beta) > most * (1.0 + 1e-9)).any():
        raise AssertionError("a coefficient is beyond its bound")
    if total is not None and abs(beta.sum() - total) > 1e-8 * np.abs(beta).sum():
        raise AssertionError("coefficients do not add up to what they must")


def svc(model: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Bounds:
    """½‖w‖² + Σ C max(0, 1 − y f)."""
    K, beta, C = _kernel(model, X), _coefficients(model, len(X)), model.C * weights
    s = np.where(y == model.classes_[1], 1.0, -1.0)
    _require(beta, C)
    f = K @ beta + model.intercept_[0]
    half = 0.5 * float(beta @ K @ beta)
    losses = float(C @ np.maximum(0.0, 1.0 - s * f))
    return _bounds(half + losses, float(s @ beta) - half, beta, K, C, losses)


def nu_svc(model: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Bounds:
    """½‖w‖² − ν ρ Σw + Σ w max(0, ρ − y f), where f is ρ times that of the SVM."""
    K, beta = _kernel(model, X), _coefficients(model, len(X))
    s = np.where(y == model.classes_[1], 1.0, -1.0)
    total = model.nu * weights.sum()
    rho = total / np.abs(beta).sum()
    beta = rho * beta
    _require(beta, weights)
    f = K @ beta + rho * model.intercept_[0]
    half = 0.5 * float(beta @ K @ beta)
    losses = float(weights @ np.maximum(0.0, rho - s * f))
    return _bounds(half - rho * total + losses, -half, beta, K, weights, rho * total + losses)


def one_class(model: Any, X: np.ndarray, _: Any, weights: np.ndarray) -> Bounds:
    """½‖w‖² − ν ρ Σw + Σ w max(0, ρ − f)."""
    K, beta = _kernel(model, X), _coefficients(model, len(X))
    total, rho = model.nu * weights.sum(), -model.intercept_[0]
    _require(beta, weights, total)
    half = 0.5 * float(beta @ K @ beta)
    losses = float(weights @ np.maximum(0.0, rho - K @ beta))
    others = abs(rho) * total + losses
    solution = _bounds(half - rho * total + losses, -half, beta, K, weights, others)
    # A plane through the origin has w = 0: gaps are then a part of what w is for any weights.
    first = np.clip(total - np.append(0.0, np.cumsum(weights)[:-1]), 0.0, weights)
    return replace(solution, half_square=max(half, NOTHING * 0.5 * float(first @ K @ first)))


def svr(model: Any, X: np.ndarray, t: np.ndarray, weights: np.ndarray) -> Bounds:
    """½‖w‖² + Σ C max(0, |t − f| − ε)."""
    K, beta, C = _kernel(model, X), _coefficients(model, len(X)), model.C * weights
    _require(beta, C)
    f = K @ beta + model.intercept_[0]
    half = 0.5 * float(beta @ K @ beta)
    losses = float(C @ np.maximum(0.0, np.abs(t - f) - model.epsilon))
    dual = float(t @ beta) - model.epsilon * float(np.abs(beta).sum()) - half
    return _bounds(half + losses, dual, beta, K, C, losses + float(np.abs(t) @ np.abs(beta)))


def nu_svr(model: Any, X: np.ndarray, t: np.ndarray, weights: np.ndarray) -> Bounds:
    """½‖w‖² + ν ε ΣC + Σ C max(0, |t − f| − ε)."""
    K, beta, C = _kernel(model, X), _coefficients(model, len(X)), model.C * weights
    _require(beta, C)
    if np.abs(beta).sum() > model.nu * C.sum() * (1.0 + 1e-9):
        raise AssertionError("coefficients add up to more than ν allows")
    f = K @ beta + model.intercept_[0]
    half = 0.5 * float(beta @ K @ beta)
    epsilon = model.epsilon_
    losses = float(C @ np.maximum(0.0, np.abs(t - f) - epsilon)) + model.nu * epsilon * C.sum()
    dual = float(t @ beta) - half
    return _bounds(half + losses, dual, beta, K, C, losses + float(np.abs(t) @ np.abs(beta)))


def _with_constant(model: Any, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaling = model.intercept_scaling
    W = np.column_stack([np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_) / scaling])
    return np.column_stack([X, np.full(len(X), scaling)]), W


def _linear_bounds(primal: float, dual: float, half: float, scores: float) -> Bounds:
    return Bounds(primal, dual, half, primal + float(scores))


def linear_svc(model: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Bounds:
    """½‖w‖² or ‖w‖₁, + Σ C max(0, 1 − y z)^p."""
    full, (w,) = _with_constant(model, X)
    s, C = np.where(y == model.classes_[1], 1.0, -1.0), model.C * weights
    slack = np.maximum(0.0, 1.0 - s * (full @ w))
    half = 0.5 * float(w @ w)
    if model.penalty == "l1":
        return _lasso(full, w, s, C, slack)
    if model.loss == "squared_hinge":
        losses = float(C @ slack**2)
        dual = _squared_dual(full, C, 2.0 * C * s * slack, s, lambda beta: float(s @ beta))
        return _linear_bounds(half + losses, dual, half, C @ (np.abs(full) @ np.abs(w)))
    losses = float(C @ slack)
    dual = _best_dual(full, w, s * C, 1.0 - s * (full @ w), lambda beta: float(s @ beta))
    return _linear_bounds(half + losses, dual, half, C @ (np.abs(full) @ np.abs(w)))


def _square(v: np.ndarray) -> float:
    return float(v @ v)


def _squared_dual(
    full: Any, C: Any, beta: np.ndarray, linear: np.ndarray, linear_term: Any
) -> float:
    """Return the dual of β, or of what is best with its signs: 1 − y z may have lost its digits."""

    def value(beta: np.ndarray) -> float:
        return linear_term(beta) - 0.5 * _square(full.T @ beta) - 0.25 * float(beta @ (beta / C))

    used = np.flatnonzero(beta)
    if not len(used):
        return value(beta)
    some = full[used]
    matrix = some @ some.T + np.diag(0.5 / C[used])
    best = beta.copy()
    best[used] = np.linalg.lstsq(matrix, linear[used], rcond=None)[0]
    best = np.where(best * beta > 0.0, best, 0.0)
    return max(value(beta), value(best))


def _lasso(full: np.ndarray, w: np.ndarray, s: Any, C: Any, slack: Any) -> Bounds:
    primal = float(np.abs(w).sum() + C @ slack**2)
    signed = full * s[:, np.newaxis]

    def value(pull: np.ndarray) -> float:
        most = float(np.abs(signed.T @ pull).max())
        linear, quadratic = float(pull.sum()), float(0.25 * pull @ (pull / C))
        if not linear > 0.0:
            return 0.0
        part = min(linear / (2.0 * quadratic), 1.0 / most if most > 0.0 else np.inf)
        return part * (linear - part * quadratic)

    pull = 2.0 * C * slack
    best = value(pull)
    size = 1.0 / np.maximum(np.abs(signed).max(axis=1), 1e-300)
    columns = (signed * size[:, np.newaxis]).T  # in units of the rows, for the sake of the program
    for slope in (np.ones(len(s)), 1.0 - slack):
        bounds = (0.0, None)
        solution = linprog(
            -slope * size, np.vstack([columns, -columns]), np.ones(2 * len(w)), bounds=bounds
        )
        if solution.x is not None:
            best = max(
                best, *(value((1 - k) * solution.x * size + k * pull) for k in (0.0, 0.5, 0.9))
            )
    return _linear_bounds(primal, best, primal, 0.0)


def _best_dual(
    full: np.ndarray, w: np.ndarray, ends: np.ndarray, beyond: np.ndarray, linear_term: Any
) -> float:
    """Return the best dual of coefficients that are 0 without a slack, at their end with one."""
    best = -np.inf
    scale = 1.0 + np.abs(beyond).max()
    for near in NEAR:
        beta = np.where(beyond > 0.0, ends, 0.0)
        free = np.flatnonzero(np.abs(beyond) <= near * scale)
        if len(free):
            beta[free] = 0.0
            low, high = np.minimum(0.0, ends[free]), np.maximum(0.0, ends[free])
            residual = w - full.T @ beta
            solution = lsq_linear(
                full[free].T * ends[free], residual, (0.0, 1.0), method="bvls", tol=1e-15
            )
            beta[free] = np.clip(solution.x * ends[free], low, high)
            best = max(best, linear_term(beta) - 0.5 * _square(full.T @ beta))
            # What is left of w by the rows at the edge, without bounds: exact where none binds.
            change = np.linalg.lstsq(full[free].T, w - full.T @ beta, rcond=None)[0]
            beta[free] = np.clip(beta[free] + change, low, high)
        best = max(best, linear_term(beta) - 0.5 * _square(full.T @ beta))
    return best


def linear_svr(model: Any, X: np.ndarray, t: np.ndarray, weights: np.ndarray) -> Bounds:
    """½‖w‖² + Σ C max(0, |t − z| − ε)^p."""
    full, (w,) = _with_constant(model, X)
    C, epsilon = model.C * weights, model.epsilon
    residual = t - full @ w
    beyond = np.abs(residual) - epsilon
    slack = np.maximum(0.0, beyond)
    half = 0.5 * float(w @ w)

    def linear_term(beta: np.ndarray) -> float:
        return float(t @ beta) - epsilon * float(np.abs(beta).sum())

    if model.loss == "squared_epsilon_insensitive":
        beta = 2.0 * C * np.sign(residual) * slack
        dual = _squared_dual(full, C, beta, t - epsilon * np.sign(residual), linear_term)
        losses = float(C @ slack**2)
        return _linear_bounds(half + losses, dual, half, C @ (np.abs(full) @ np.abs(w)))
    losses = float(C @ slack)
    if epsilon == 0.0:  # both ends are possible at the edge
        dual = _two_sided_dual(full, w, t, C, residual)
    else:
        ends = np.where(residual > 0.0, C, -C)
        dual = _best_dual(full, w, ends, beyond / np.abs(t).max(), linear_term)
    return _linear_bounds(half + losses, dual, half, C @ (np.abs(full) @ np.abs(w)))


def _two_sided_dual(
    full: np.ndarray, w: np.ndarray, t: np.ndarray, C: np.ndarray, residual: np.ndarray
) -> float:
    best = -np.inf
    for near in NEAR:
        beta = np.sign(residual) * C
        free = np.flatnonzero(np.abs(residual) <= near * np.abs(t).max())
        if len(free):
            beta[free] = 0.0
            remainder = w - full.T @ beta
            solution = lsq_linear(
                full[free].T * C[free], remainder, (-1.0, 1.0), method="bvls", tol=1e-15
            )
            beta[free] = np.clip(solution.x, -1.0, 1.0) * C[free]
        best = max(best, float(t @ beta) - 0.5 * _square(full.T @ beta))
    return best


def crammer_singer(model: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Bounds:
    """½ Σ‖W_m‖² + Σ C max_m ([m ≠ y] + (W_m − W_y)·x)."""
    full, W = _with_constant(model, X)
    n, C = len(X), model.C * weights
    if len(W) == 1:  # two classes: W of the second less that of the first
        W = np.vstack([-0.5 * W, 0.5 * W])
    label = np.searchsorted(model.classes_, y)
    scores = full @ W.T + 1.0
    scores[np.arange(n), label] -= 1.0
    losses = scores.max(axis=1) - scores[np.arange(n), label]
    half, lost = 0.5 * float((W * W).sum()), float(C @ losses)
    dual = max(_simplex_dual(full, W, label, C, scores, near) for near in NEAR)
    return Bounds(half + lost, dual, half, half + lost)


def _simplex_dual(
    full: np.ndarray,
    W: np.ndarray,
    label: np.ndarray,
    C: np.ndarray,
    scores: np.ndarray,
    near: float,
) -> float:
    """Share each row's cost out among the classes that may be its worst, to come nearest to W."""
    n, k = scores.shape
    ties = scores >= scores.max(axis=1)[:, np.newaxis] - near * (1.0 + np.abs(scores).max())
    shares = ties / ties.sum(axis=1)[:, np.newaxis]
    tied = np.flatnonzero(ties.sum(axis=1) > 1)
    if len(tied):
        shares[tied] = 0.0
        linear_term = np.eye(k)[label]
        residual = W - (C[:, np.newaxis] * (linear_term - shares)).T @ full
        places = [(i, m) for i in tied for m in np.flatnonzero(ties[i])]
        columns = np.zeros((W.size + len(tied), len(places)))
        heavy = 1e3 * float(np.abs(C[tied, np.newaxis] * full[tied]).max() or 1.0)
        for j, (i, m) in enumerate(places):
            block = np.zeros_like(W)
            block[m] = -C[i] * full[i]
            columns[: W.size, j] = block.reshape(-1)
            columns[W.size + int(np.searchsorted(tied, i)), j] = heavy
        target = np.concatenate([residual.reshape(-1), np.full(len(tied), heavy)])
        solution, _ = nnls(columns, target, maxiter=30 * len(places))
        for (i, m), value in zip(places, solution, strict=True):
            shares[i, m] = value
        shares /= shares.sum(axis=1)[:, np.newaxis]
    alpha = C[:, np.newaxis] * (np.eye(k)[label] - shares)
    # Σ_m [m ≠ y] of the shares is what a loss has beside its scores.
    linear = float((C * (1.0 - shares[np.arange(n), label])).sum())
    return linear - 0.5 * float(((alpha.T @ full) ** 2).sum())
