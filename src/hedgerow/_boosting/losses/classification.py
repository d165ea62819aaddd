"""Classification losses; targets are class numbers or class probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._arithmetic import sum_of, sums_by_class
from hedgerow._boosting.losses.base import (
    LossChoice,
    NativeLoss,
    log,
    log_odds,
    prior,
    register,
    weighted_mean,
    weighted_quantile,
)
from hedgerow._estimator import Estimator
from hedgerow._links import Link
from hedgerow._types import Floats

# Bounds of the bisection for the base score of the focal loss, in log-odds, and its steps.
FARTHEST, HALVINGS = 64.0, 80

# Values of a classifier's parameter `loss` for two classes only; `register` adds them.
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
    """−y log P(1) − (1 − y) log P(0), where y is a probability."""

    metric = "cross_entropy"
    is_soft = True


@register(TWO_CLASS_LOSSES, exponential="the loss of AdaBoost")
class ExponentialLoss(NativeLoss):
    """The loss of AdaBoost: e^−s for class 1, e^s for class 0; scores are half the log-odds."""

    name = "exponential"
    link: Link = "half_sigmoid"
    metric = "log_loss"
    leaf_rates = (1.0, 1.0)

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return half the log-odds of class 1."""
        return np.array([0.5 * log_odds(weighted_mean(target, weights))])


@register(TWO_CLASS_LOSSES, hinge="the hinge loss of SVMs, without probabilities")
class HingeLoss(NativeLoss):
    """max(0, 1 − s) for class 1, max(0, 1 + s) for class 0; scores are margins."""

    name = "hinge"
    link: Link = "margin"
    metric = "error"
    is_piecewise_linear = True

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return 1 or −1, for the majority class."""
        return np.array([np.sign(weighted_mean(target, weights) - 0.5)])

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the quantile of the steps to the kinks, at the level of the share of class 1."""
        steps, level = self.steps_to_kink(target, offset[0]), weighted_mean(target, weights)
        return np.array([weighted_quantile(steps, weights, level)])

    def steps_to_kink(self, target: Floats, scores: Floats) -> Floats:
        """Return the steps to ±1."""
        return (2.0 * target - 1.0) - scores

    def leaf_levels(
        self,
        output: int,  # noqa: ARG002
        target: Floats,
        weights: Floats | None,
        leaf: NDArray[np.uint16],
        n_leaves: int,
    ) -> Floats:
        """Return the share of class 1 in each leaf."""
        total = sums_by_class(leaf, weights, n_leaves)
        positive = sums_by_class(leaf, target if weights is None else target * weights, n_leaves)
        return positive / np.maximum(total, np.finfo(float).tiny)


@register(
    TWO_CLASS_LOSSES,
    focal="the focal loss, a log loss that gives well-classified rows less weight",
)
class FocalLoss(NativeLoss):
    """−(1 − P)^γ log P, where P is the probability of the row's class."""

    name = "focal"
    link: Link = "sigmoid"
    metric = "focal"

    def __init__(self, gamma: float) -> None:
        self.gamma = float(gamma)

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:  # noqa: ARG003
        """Return the loss with γ = `focal_gamma`."""
        return cls(estimator.focal_gamma)

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return γ."""
        return (self.gamma,)

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the best constant, by bisection."""
        p = prior(weighted_mean(target, weights))
        classes, shares = np.array([0.0, 1.0]), np.array([1.0 - p, p])
        low, high = -FARTHEST, FARTHEST
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            gradient, _ = self.gradients(classes, np.full((1, 2), middle), shares)
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
        """Return the logarithm of each class's share of the weight."""
        counts = sums_by_class(target.astype(np.intp), weights, self.n_outputs)
        return _log_priors(counts / sum_of(counts))


class CrossEntropy(MultinomialLogLoss):
    """−Σ y_k log P_k, where y are probabilities of shape (K, n)."""

    name = "cross_entropy"
    metric = "cross_entropy"
    is_soft = True

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the logarithm of each class's mean probability."""
        return _log_priors(np.array([weighted_mean(row, weights) for row in target]))


def _log_priors(shares: NDArray[Any]) -> Floats:
    return np.array([log(prior(share)) for share in shares.tolist()])
