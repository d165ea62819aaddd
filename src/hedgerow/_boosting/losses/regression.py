"""Regression losses; r is the residual y − s."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal, cast

import numpy as np

from hedgerow._arithmetic import exp
from hedgerow._boosting.losses.base import (
    LossChoice,
    NativeLoss,
    Spread,
    log,
    log_odds,
    register,
    weighted_mean,
    weighted_quantile,
)
from hedgerow._collective import workers
from hedgerow._estimator import Estimator
from hedgerow._links import Link
from hedgerow._types import Floats

# The quantile of |r| that is δ of a robust loss by default: residuals below it have squared loss.
SQUARED_FRACTION = 0.9
# Newton steps to the best constant of a loss without a closed form, and the tolerance.
MOST_STEPS = 200
TOLERANCE = 1e-14

RobustName = Literal["huber", "pseudo_huber", "log_cosh"]

# Values of a regressor's parameter `loss`; `register` adds them.
REGRESSION_LOSSES: dict[str, LossChoice] = {}


def as_levels(quantile: Any) -> tuple[float, ...]:
    """Return the levels of the parameter `quantile`, a number or a list."""
    several = [quantile] if isinstance(quantile, Real) else list(quantile)
    return tuple(float(level) for level in several)


@register(REGRESSION_LOSSES, squared_error="half the squared residual")
class SquaredError(NativeLoss):
    """½ r²; its best constant is the mean."""

    name = "squared_error"
    metric = "rmse"

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the weighted mean."""
        return np.array([weighted_mean(target, weights)])

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the weighted mean of the residuals."""
        return self.base_score(target - offset[0], weights)


@register(REGRESSION_LOSSES, quantile="the pinball loss at the level `quantile`")
class QuantileLoss(NativeLoss):
    """The pinball loss: α r if r > 0, (α − 1) r otherwise; each level α has a score."""

    name = "quantile"
    metric = "pinball"
    is_piecewise_linear = True

    def __init__(self, levels: Sequence[float]) -> None:
        self.at = self.quantiles = tuple(float(level) for level in levels)
        self.n_outputs = len(self.at)
        self.link: Link = "identity" if self.n_outputs == 1 else "sorted"

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:  # noqa: ARG003
        """Return the loss with the levels in `quantile`."""
        return cls(as_levels(estimator.quantile))

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the quantiles."""
        return np.array([weighted_quantile(target, weights, level) for level in self.at])

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the quantiles of the residuals."""
        levels = zip(self.at, offset, strict=True)
        return np.array([weighted_quantile(target - of, weights, level) for level, of in levels])

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return the levels."""
        return self.at

    def leaf_levels(
        self,
        output: int,
        target: Any,  # noqa: ARG002
        weights: Any,  # noqa: ARG002
        leaf: Any,  # noqa: ARG002
        n_leaves: int,
    ) -> Floats:
        """Return the output's level for every leaf."""
        return np.full(n_leaves, self.at[output])


@register(REGRESSION_LOSSES, absolute_error="the absolute residual")
class AbsoluteError(QuantileLoss):
    """|r|; its best constant is the median."""

    name = "absolute_error"
    metric = "mae"

    def __init__(self) -> None:
        super().__init__((0.5,))
        self.quantiles = ()  # of the parameter `quantile`, which it does not use

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:  # noqa: ARG003
        """Return the loss."""
        return cls()

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return nothing."""
        return ()


@register(
    REGRESSION_LOSSES,
    mape="the absolute error relative to ``|y|``, where ``|y|`` counts as at least 1 or, if "
    "smaller, as the mean ``|y|``",
)
class AbsolutePercentageError(AbsoluteError):
    """|r| / |y|: an absolute error with weights.

    Targets near 0 would dominate, so |y| counts as at least 1 or, if smaller, as the mean |y|.
    """

    metric = "mape"

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the median with the weights of training."""
        return super().base_score(target, self.row_weights(target, weights))

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the median of the residuals with the weights of training."""
        return super().base_score_given(offset, target, self.row_weights(target, weights))

    def row_weights(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the weights divided by |y|, scaled to a mean of 1.

        Penalties and `min_child_weight` then do not depend on the unit of the target.
        """
        size = np.abs(target)
        least = min(1.0, weighted_mean(size, weights)) or 1.0
        relative = least / np.maximum(size, least)
        relative /= weighted_mean(relative, weights)
        return relative if weights is None else weights * relative


@register(REGRESSION_LOSSES, expectile="the asymmetric squared error at the level `quantile`")
class ExpectileLoss(NativeLoss):
    """The asymmetric squared error: α r² if r > 0, (1 − α) r² otherwise."""

    name = "expectile"
    metric = "expectile"

    def __init__(self, level: float) -> None:
        self.level = float(level)
        self.quantiles = (self.level,)

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:  # noqa: ARG003
        """Return the loss with the level in `quantile`."""
        return cls(as_levels(estimator.quantile)[0])

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return the level."""
        return (self.level,)

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the expectile; Newton's method needs finitely many steps."""
        return _newton_constant(self, weighted_mean(target, weights), target, weights)


@register(
    REGRESSION_LOSSES,
    huber="the squared error up to `delta` and linear beyond",
    pseudo_huber="a smooth approximation of the Huber loss",
    log_cosh="another smooth approximation, δ² log cosh(r/δ)",
)
class RobustLoss(NativeLoss):
    """Quadratic for residuals below δ, linear beyond.

    "huber" is ½r² up to δ and linear beyond, "pseudo_huber" is δ²(√(1 + (r/δ)²) − 1) and "log_cosh"
    is δ² log cosh(r/δ). If δ is None, it is the 0.9-quantile of |r| in each round.
    """

    metric = "mae"

    def __init__(self, name: RobustName, delta: float | None) -> None:
        self.name = name
        self.delta = delta
        self.is_adaptive = delta is None

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:
        """Return the loss with this name and δ = `delta`."""
        return cls(cast("RobustName", name), estimator.delta)

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:
        """Return δ, which is never 0: all gradients would be 0."""
        if self.delta is not None:
            return (self.delta,)
        size = np.abs(target - scores[0])
        delta = weighted_quantile(size, weights, SQUARED_FRACTION)
        return (delta or workers().smallest(size[size > 0.0].min(initial=1.0)),)

    def derivatives(self, residual: Floats, delta: float) -> tuple[Floats, Floats]:
        """Return the first and the true second derivative at residuals score − target."""
        z = residual / delta
        if self.name == "huber":
            return delta * np.clip(z, -1.0, 1.0), (np.abs(z) <= 1.0).astype(np.float64)
        if self.name == "pseudo_huber":
            root = np.sqrt(1.0 + z * z)
            return residual / root, 1.0 / (root * root * root)
        decay = exp(-2.0 * np.abs(z))
        tanh = np.sign(z) * (1.0 - decay) / (1.0 + decay)
        return delta * tanh, 1.0 - tanh * tanh

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the best constant; the median, as in Friedman's paper, if δ is adaptive."""
        median = weighted_quantile(target, weights, 0.5)
        if self.is_adaptive:
            return np.array([median])
        return _newton_constant(self, median, target, weights)

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the best constant; the median of the residuals if δ is adaptive."""
        if not self.is_adaptive:
            return super().base_score_given(offset, target, weights)
        return self.base_score(target - offset[0], weights)


@register(
    REGRESSION_LOSSES,
    poisson="the Poisson deviance, for counts (predictions are e^score, as for the next two)",
    gamma="the gamma deviance, for positive amounts",
    tweedie="the Tweedie deviance, with the variance power `tweedie_power`",
)
class TweedieLoss(NativeLoss):
    """The deviance of a mean e^s with variance ∝ mean^p: p = 1 is Poisson, p = 2 is gamma."""

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
        """Return the deviance with this name."""
        tweedie: float = estimator.tweedie_power
        return cls({"poisson": 1.0, "gamma": 2.0}.get(name, tweedie))

    def objection(self, target: Floats) -> str | None:
        """Object to negative targets, to 0 for the gamma deviance, and to all zeros."""
        least = ">" if self.power == 2.0 else ">="
        if target.min() < 0.0 or (self.power == 2.0 and target.min() == 0.0):
            row = int(target.argmin())
            zeros = " For amounts that may be 0, use loss='tweedie'." if target[row] == 0.0 else ""
            found = f"y is {target[row]:g} in row {row}"
            return f"{found}, but loss={self.name!r} needs y {least} 0.{zeros}"
        if target.any():
            return None
        return f"y is 0 in every row, but loss={self.name!r} predicts a mean above 0."

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return the power."""
        return (self.power,)

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the logarithm of the mean."""
        return np.array([log(weighted_mean(target, weights))])

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the c at which Σ w y e^((1−p)(c + offset)) is Σ w e^((2−p)(c + offset))."""
        top = workers().largest(float(offset[0].max(initial=-np.inf)))
        relative = offset[0] - top
        observed = weighted_mean(target * exp((1.0 - self.power) * relative), weights)
        expected = weighted_mean(exp((2.0 - self.power) * relative), weights)
        return np.array([log(observed) - log(expected) - top])


@register(
    REGRESSION_LOSSES, log_loss="the log loss for y in [0, 1], whose predictions are in [0, 1]"
)
class BernoulliLogLoss(NativeLoss):
    """−y log P − (1 − y) log(1 − P) for y in [0, 1], with P = 1 / (1 + e^−s)."""

    name = "log_loss"
    link: Link = "sigmoid"
    metric = "log_loss"
    spread = Spread(low=0.0, high=1.0)

    def objection(self, target: Floats) -> str | None:
        """Object to targets outside [0, 1]."""
        outside = (target < 0.0) | (target > 1.0)
        if not outside.any():
            return None
        row = int(outside.argmax())
        return f"y is {target[row]:g} in row {row}, but loss='log_loss' needs 0 <= y <= 1."

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the log-odds of the mean."""
        return np.array([log_odds(weighted_mean(target, weights))])


def _newton_constant(
    loss: NativeLoss, start: float, target: Floats, weights: Floats | None
) -> Floats:
    """Return the best constant by steps −G/H, none of which increases these losses."""
    score, together = start, workers()
    for _ in range(MOST_STEPS):
        gradient, hessian = loss.gradients(target, np.full((1, len(target)), score), weights)
        step = -together.exact_sum(gradient[0]) / together.exact_sum(hessian[0])
        score += step
        if abs(step) <= TOLERANCE * abs(score):
            break
    return np.array([score])
