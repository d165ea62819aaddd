"""From raw scores to predictions and back: link functions, and Platt scaling."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from hedgerow import _native
from hedgerow._arithmetic import log, sum_of
from hedgerow._types import Floats

Link = Literal["identity", "log", "sigmoid", "half_sigmoid", "margin", "softmax", "sorted"]
# Links whose prediction is the sigmoid of the score times a factor.
SIGMOIDS: dict[str, float] = {"sigmoid": 1.0, "half_sigmoid": 2.0}
# Predictions that become scores are at least this by default: 0 has no finite logarithm.
LEAST = 1e-7
# Rows whose numbers stay in a cache.
_BLOCK_ROWS = 8192
STEPS = 100
SMALLEST_STEP = 1e-10


def prediction_of(scores: Floats, link: Link, n_threads: int = 1) -> Floats:
    """Return the predictions for raw scores (n, K): (n,) if K is 1, else (n, K)."""
    prediction = scores[:, 0].copy() if scores.shape[1] == 1 else scores.copy()
    if link == "softmax":
        _native.softmax_inplace(prediction, n_threads)
    elif link in SIGMOIDS:
        prediction *= SIGMOIDS[link]
        _native.sigmoid_inplace(prediction, n_threads)
    elif link == "log":
        _native.exp_inplace(prediction.reshape(-1))
    elif link == "margin":  # ±1 become 1 and 0, so that ½ lies between the classes
        prediction = 0.5 * (prediction + 1.0)
    elif link == "sorted":
        prediction.sort(axis=1)
    return prediction


def class_probabilities(scores: Floats, link: Link, n_threads: int = 1) -> Floats:
    """Return the probability of each class, (n, K), from scores (n, 1) or (n, K).

    For multilabel y it is P(class 1) of each label.
    """
    if scores.shape[1] == 1 and link in SIGMOIDS:
        both = np.empty((len(scores), 2))
        _native.two_classes(scores, SIGMOIDS[link], both, n_threads)
        return both
    return both_classes(prediction_of(scores, link, n_threads))


def both_classes(p: Floats) -> Floats:
    """Return (n, 2) for the probabilities (n,) of the second of two classes; (n, K) unchanged."""
    if p.ndim == 2:
        return p
    both = np.empty((len(p), 2))
    both[:, 1] = p
    np.subtract(1.0, p, out=both[:, 0])
    return both


def log_likelihoods(target: Floats, p: Floats) -> Floats:
    """Return log P(y) of two classes, from P(class 1), with P at least one rounding error.

    A few rows at a time: large temporary arrays would take most of the time.
    """
    logs = np.empty(len(target))
    for first in range(0, len(target), _BLOCK_ROWS):
        own = slice(first, first + _BLOCK_ROWS)
        part = logs[own]
        # |1 − p| for the first class, |0 − p| for the second.
        np.subtract((target[own] != 1.0).astype(np.float64), p[own], out=part)
        np.maximum(np.abs(part, out=part), np.finfo(np.float64).eps, out=part)
        _native.log_inplace(part)
    return logs


def scores_of_numbers(prediction: Floats, link: Link, least: float = LEAST) -> Floats:
    """Return the scores of predicted numbers, in their shape; never the same array."""
    if link == "log":
        return log(np.maximum(prediction, least))
    if link in SIGMOIDS:
        p = np.clip(prediction, least, 1.0 - least)
        return (log(p) - log(1.0 - p)) / SIGMOIDS[link]
    return prediction.copy()


def scores_of_probabilities(p: Floats, link: Link, least: float = LEAST) -> Floats:
    """Return the scores of class probabilities (n, K): (n,) if K is 2 and the link a sigmoid."""
    log_p = log(np.clip(p, least, 1.0 - least))
    if link == "softmax":
        return log_p
    odds: Floats = log_p[:, 1] - log_p[:, 0]
    return odds / SIGMOIDS[link]


def fit_sigmoid(scores: Floats, y: Floats, weights: Floats) -> tuple[float, float]:
    """Return the maximum-likelihood A and B of P(y = 1) = 1 / (1 + exp(A score + B)).

    The targets are Platt's (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2), so that probabilities do not become 0
    and 1. Newton's method with step halving.
    """
    positive = y > 0.0
    n_positive, n_negative = sum_of(weights[positive]), sum_of(weights[~positive])
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    A, B = 0.0, math.log((n_negative + 1) / (n_positive + 1))
    loss = _log_loss(A * scores + B, target, weights)
    for _ in range(STEPS):
        p = probability(A * scores + B)
        residual, curvature = weights * (target - p), weights * p * (1 - p)
        gradient = np.array([sum_of(residual * scores), sum_of(residual)])
        if np.abs(gradient).max() < 1e-10 * sum_of(weights):
            break
        step = _newton_step(gradient, curvature, scores)
        A, B, loss, moved = _search(A, B, step, loss, scores, target, weights)
        if not moved:
            break
    return A, B


def _newton_step(gradient: Floats, curvature: Floats, scores: Floats) -> Floats:
    """Solve the two equations of a step, regularised so that they are not singular."""
    aa = sum_of(curvature * scores * scores) + 1e-12
    ab = sum_of(curvature * scores)
    bb = sum_of(curvature) + 1e-12
    determinant = aa * bb - ab * ab
    a, b = gradient
    return np.array([bb * a - ab * b, aa * b - ab * a]) / -determinant


def _search(
    A: float, B: float, step: Floats, loss: float, scores: Floats, target: Floats, weights: Floats
) -> tuple[float, float, float, bool]:
    """Halve the step until the loss decreases."""
    size = 1.0
    while size >= SMALLEST_STEP:
        next_A, next_B = A + size * float(step[0]), B + size * float(step[1])
        next_loss = _log_loss(next_A * scores + next_B, target, weights)
        if next_loss < loss:
            return next_A, next_B, next_loss, True
        size *= 0.5
    return A, B, loss, False


def probability(exponent: Floats) -> Floats:
    """Return 1 / (1 + e^exponent)."""
    p = -exponent
    _native.sigmoid_inplace(p)
    return p


def _log_loss(exponent: Floats, target: Floats, weights: Floats) -> float:
    # −t log p − (1 − t) log(1 − p) = log(1 + e^z) − (1 − t) z
    soft = -np.abs(exponent)
    _native.exp_inplace(soft)
    _native.log1p_inplace(soft)
    losses = soft + np.maximum(exponent, 0.0) - (1.0 - target) * exponent
    return sum_of(weights * losses)
