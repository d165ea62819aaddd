"""Losses of classes: targets are class numbers, or probabilities of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._arithmetic import sum_of
from hedgerow._boosting.losses.base import (
    LossChoice,
    NativeLoss,
    log,
    log_odds,
    offered_in,
    prior,
    weighted_mean,
)
from hedgerow._estimator import Estimator
from hedgerow._links import Link
from hedgerow._types import Floats

# Log-odds between which the best constant of the focal loss is looked for, and how often halved.
FARTHEST, HALVINGS = 64.0, 80

# The values of a classifier's parameter `loss` for two classes alone, entered by the classes.
TWO_CLASS_LOSSES: dict[str, LossChoice] = {}


class BinaryLogLoss(NativeLoss):
    """−log P(y) with P(1) = 1 / (1 + e^−s); its best constant is the log-odds."""

    name = "log_loss"
    link: Link = "sigmoid"
    metric = "log_loss"

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the log-odds of class 1."""
        return np.array([log_odds(weighted_mean(target, weights))])


class SoftBinaryLogLoss(BinaryLogLoss):
    """−y log P(1) − (1 − y) log P(0) of a probability y."""

    metric = "cross_entropy"
    is_soft = True


@offered_in(TWO_CLASS_LOSSES, exponential="the loss of AdaBoost")
class ExponentialLoss(NativeLoss):
    """e^−s of class 1, e^s of class 0: AdaBoost's loss, whose scores are half the log-odds."""

    name = "exponential"
    link: Link = "half_sigmoid"
    metric = "log_loss"
    leaf_rates = (1.0, 1.0)

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return half the log-odds of class 1."""
        return np.array([0.5 * log_odds(weighted_mean(target, weights))])


@offered_in(TWO_CLASS_LOSSES, hinge="the hinge loss of SVMs, without probabilities")
class HingeLoss(NativeLoss):
    """max(0, 1 − s) of class 1, max(0, 1 + s) of class 0: a margin, no probability."""

    name = "hinge"
    link: Link = "margin"
    metric = "error"
    has_corners = True

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the side of the majority: ±1."""
        return np.array([np.sign(weighted_mean(target, weights) - 0.5)])

    def corners(self, target: Floats, scores: Floats) -> Floats:
        """Return the steps to the margin."""
        return (2.0 * target - 1.0) - scores

    def levels(
        self,
        output: int,  # noqa: ARG002
        target: Floats,
        weights: Floats | None,
        leaf: NDArray[np.uint16],
        n_leaves: int,
    ) -> Floats:
        """Return the part of class 1: so much of the slope lies above the best step."""
        total = np.bincount(leaf, weights, minlength=n_leaves)
        of_class_1 = np.bincount(
            leaf, target if weights is None else target * weights, minlength=n_leaves
        )
        return of_class_1 / np.maximum(total, np.finfo(float).tiny)


@offered_in(
    TWO_CLASS_LOSSES,
    focal="the focal loss, a log loss that gives well-classified rows less weight",
)
class FocalLoss(NativeLoss):
    """−(1 − P)^γ log P of the row's class: rows that are told apart already count less."""

    name = "focal"
    link: Link = "sigmoid"
    metric = "focal"

    def __init__(self, gamma: float) -> None:
        self.gamma = float(gamma)

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:  # noqa: ARG003
        """Return the loss of γ = `focal_gamma`."""
        return cls(estimator.focal_gamma)

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return γ."""
        return (self.gamma,)

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the best constant, by halving the interval that holds it."""
        p = prior(weighted_mean(target, weights))
        both, parts = np.array([0.0, 1.0]), np.array([1.0 - p, p])
        low, high = -FARTHEST, FARTHEST
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            gradient, _ = self.gradients(both, np.full((1, 2), middle), parts)
            low, high = (middle, high) if sum_of(gradient) < 0.0 else (low, middle)
        return np.array([0.5 * (low + high)])


class MultinomialLogLoss(NativeLoss):
    """−log P(y) with P = softmax(s); its best constants are the log priors."""

    name = "multinomial"
    link: Link = "softmax"
    metric = "log_loss"

    def __init__(self, n_classes: int) -> None:
        self.n_outputs = n_classes

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the logarithm of each class's part of the weight."""
        counts = np.bincount(target.astype(np.intp), weights, minlength=self.n_outputs)
        return _log_priors(counts / sum_of(counts))


class CrossEntropy(MultinomialLogLoss):
    """−Σ y_k log P_k of probabilities y, given as (K, n)."""

    name = "cross_entropy"
    metric = "cross_entropy"
    is_soft = True

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the logarithm of each class's mean probability."""
        return _log_priors(np.array([weighted_mean(row, weights) for row in target]))


def _log_priors(parts: NDArray[Any]) -> Floats:
    return np.array([log(prior(part)) for part in parts.tolist()])
