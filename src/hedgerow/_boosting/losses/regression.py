"""Losses of numbers. r is the residual y − s."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal, cast

import numpy as np

from hedgerow._arithmetic import sum_of
from hedgerow._boosting.losses.base import (
    LossChoice,
    NativeLoss,
    Spread,
    log,
    log_odds,
    offered_in,
    weighted_mean,
    weighted_quantile,
)
from hedgerow._estimator import Estimator
from hedgerow._links import Link
from hedgerow._types import Floats

# The part of the residuals that a robust loss squares, if it is not told where to stop.
SQUARED_PART = 0.9
# Steps to the best constant of a loss that has no formula for it.
MOST_STEPS = 200
NO_STEP = 1e-14

RobustName = Literal["huber", "pseudo_huber", "log_cosh"]

# The values of a regressor's parameter `loss`, entered by the classes.
REGRESSION_LOSSES: dict[str, LossChoice] = {}


def as_levels(quantile: Any) -> tuple[float, ...]:
    """Return the levels of the parameter `quantile`, a number or several."""
    several = [quantile] if isinstance(quantile, Real) else list(quantile)
    return tuple(float(level) for level in several)


@offered_in(REGRESSION_LOSSES, squared_error="half the squared residual")
class SquaredError(NativeLoss):
    """½ r²; its best constant is the mean."""

    name = "squared_error"
    metric = "rmse"

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the weighted mean."""
        return np.array([weighted_mean(target, weights)])


@offered_in(REGRESSION_LOSSES, quantile="the pinball loss at the level `quantile`")
class QuantileLoss(NativeLoss):
    """The pinball loss: α r above the score, (α − 1) r below it; each level α has a score."""

    name = "quantile"
    metric = "pinball"
    has_corners = True

    def __init__(self, levels: Sequence[float]) -> None:
        self.at = self.quantiles = tuple(float(level) for level in levels)
        self.n_outputs = len(self.at)
        self.link: Link = "identity" if self.n_outputs == 1 else "sorted"

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:  # noqa: ARG003
        """Return the loss of the levels in `quantile`."""
        return cls(as_levels(estimator.quantile))

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the quantiles."""
        return np.array([weighted_quantile(target, weights, level) for level in self.at])

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return the levels."""
        return self.at

    def levels(self, output: int, target: Any, weights: Any, leaf: Any, n_leaves: int) -> Floats:  # noqa: ARG002
        """Return the output's level for every leaf."""
        return np.full(n_leaves, self.at[output])


@offered_in(REGRESSION_LOSSES, absolute_error="the absolute residual")
class AbsoluteError(QuantileLoss):
    """|r|; its best constant is the median."""

    name = "absolute_error"
    metric = "mae"

    def __init__(self) -> None:
        super().__init__((0.5,))
        self.quantiles = ()  # a parameter that it does not have

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:  # noqa: ARG003
        """Return the loss, which has no parameter."""
        return cls()

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return nothing."""
        return ()


@offered_in(
    REGRESSION_LOSSES,
    mape="the absolute error relative to ``|y|``, where ``|y|`` counts as at least 1 or, if "
    "smaller, as the mean ``|y|``",
)
class AbsolutePercentageError(AbsoluteError):
    """|r| / |y|: an absolute error with weights.

    Targets near 0 would be all that counts: none counts as smaller than 1 or, if that is less, than
    the mean |y|.
    """

    metric = "mape"

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the median under the weights of training."""
        return super().base_score(target, self.row_weights(target, weights))

    def row_weights(self, target: Floats, weights: Floats | None) -> Floats:
        """Divide the weights by the size of the target, and let them be 1 on average.

        Penalties and the least weight of a leaf then mean the same in every unit of the target.
        """
        size = np.abs(target)
        least = min(1.0, weighted_mean(size, weights)) or 1.0
        per_size = least / np.maximum(size, least)
        per_size /= weighted_mean(per_size, weights)
        return per_size if weights is None else weights * per_size


@offered_in(REGRESSION_LOSSES, expectile="the asymmetric squared error at the level `quantile`")
class ExpectileLoss(NativeLoss):
    """2α ½r² above the score, 2(1 − α) ½r² below it: what the quantile is to |r|, to r²."""

    name = "expectile"
    metric = "expectile"

    def __init__(self, level: float) -> None:
        self.level = float(level)
        self.quantiles = (self.level,)

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:  # noqa: ARG003
        """Return the loss of the level in `quantile`."""
        return cls(as_levels(estimator.quantile)[0])

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return the level."""
        return (self.level,)

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the expectile: Newton's method ends after finitely many steps."""
        return _descended(self, weighted_mean(target, weights), target, weights)


@offered_in(
    REGRESSION_LOSSES,
    huber="the squared error up to `delta` and linear beyond",
    pseudo_huber="a smooth approximation of the Huber loss",
    log_cosh="another smooth approximation, δ² log cosh(r/δ)",
)
class RobustLoss(NativeLoss):
    """Squares of small residuals, sizes of large ones, with δ between.

    "huber" is ½r² up to δ and straight beyond, "pseudo_huber" δ²(√(1 + (r/δ)²) − 1) and "log_cosh"
    δ² log cosh(r/δ). If δ is not given, it is each round's 0.9-quantile of |r|.
    """

    metric = "mae"

    def __init__(self, name: RobustName, delta: float | None) -> None:
        self.name = name
        self.delta = delta
        self.adapts = delta is None

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:
        """Return the loss of this name with δ = `delta`."""
        return cls(cast("RobustName", name), estimator.delta)

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:
        """Return δ; never 0, for then nothing would count."""
        if self.delta is not None:
            return (self.delta,)
        size = np.abs(target - scores[0])
        delta = weighted_quantile(size, weights, SQUARED_PART)
        return (delta or float(size[size > 0.0].min(initial=1.0)),)

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the best constant; the median, as Friedman does, if δ is not known yet."""
        median = weighted_quantile(target, weights, 0.5)
        return np.array([median]) if self.adapts else _descended(self, median, target, weights)


@offered_in(
    REGRESSION_LOSSES,
    poisson="the Poisson deviance, for counts; predictions are e^score, as for the next two",
    gamma="the gamma deviance, for positive amounts",
    tweedie="the Tweedie deviance, with the variance power `tweedie_power`",
)
class TweedieLoss(NativeLoss):
    """The deviance of a mean e^s whose variance grows as its power p: 1 Poisson, 2 gamma."""

    link: Link = "log"

    def __init__(self, power: float) -> None:
        self.power = float(power)
        self.name = {1.0: "poisson", 2.0: "gamma"}.get(self.power, "tweedie")
        self.metric = f"{self.name}_deviance"
        self.leaf_rates = (self.power - 1.0, 2.0 - self.power)
        self.spread = Spread(self.power, low=0.0)
        self.weights_are_exposures = self.power < 2.0

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:
        """Return the deviance of this name."""
        tweedie: float = estimator.tweedie_power
        return cls({"poisson": 1.0, "gamma": 2.0}.get(name, tweedie))

    def objection(self, target: Floats) -> str | None:
        """Object to negative numbers, of a gamma deviance to 0, and to nothing else than 0."""
        least = ">" if self.power == 2.0 else ">="
        if target.min() < 0.0 or (self.power == 2.0 and target.min() == 0.0):
            row = int(target.argmin())
            return f"y is {target[row]:g} in row {row}, but loss={self.name!r} needs y {least} 0."
        if target.any():
            return None
        return f"y is 0 in every row, but loss={self.name!r} predicts a mean above 0."

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return the power."""
        return (self.power,)

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the logarithm of the mean."""
        return np.array([log(weighted_mean(target, weights))])


@offered_in(
    REGRESSION_LOSSES, log_loss="the log loss for y in [0, 1], whose predictions are in [0, 1]"
)
class BernoulliLogLoss(NativeLoss):
    """−y log P − (1 − y) log(1 − P) of a part y of 1, with P = 1 / (1 + e^−s)."""

    name = "log_loss"
    link: Link = "sigmoid"
    metric = "log_loss"
    spread = Spread(low=0.0, high=1.0)

    def objection(self, target: Floats) -> str | None:
        """Object to what is no part of 1."""
        outside = (target < 0.0) | (target > 1.0)
        if not outside.any():
            return None
        row = int(outside.argmax())
        return f"y is {target[row]:g} in row {row}, but loss='log_loss' needs 0 <= y <= 1."

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the log-odds of the mean."""
        return np.array([log_odds(weighted_mean(target, weights))])


def _descended(loss: NativeLoss, start: float, target: Floats, weights: Floats | None) -> Floats:
    """Return the best constant by steps −G/H, none of which can make these losses worse."""
    scores = np.full((1, len(target)), start)
    for _ in range(MOST_STEPS):
        gradient, hessian = loss.gradients(target, scores, weights)
        step = -float(sum_of(gradient) / sum_of(hessian))
        scores += step
        if abs(step) <= NO_STEP * abs(scores[0, 0]):
            break
    return scores[:, 0].copy()
