"""What a loss is to the rounds, the trainer and the predictions; and sums that losses need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import mean_of, sum_of
from hedgerow._estimator import Estimator
from hedgerow._links import Link
from hedgerow._types import Floats

# Scores (K, n) → gradient and hessian, both (K, n).
Differentiate = Callable[[Floats], tuple[Floats, Floats]]
# What leads from raw scores to a prediction. "margin" is that of scores which tell classes apart at
# 0 and mean no probability, "sorted" that of several quantiles, which are put in order.

# A class of no weight has probability 0, and its log-odds would be infinite.
SMALLEST_PRIOR = 1e-15


# No number of the target divided by e to this power is infinite.
LEAST_EXPONENT = -300.0
# Beyond e to this power, variances might overflow.
MOST_EXPONENT = 600.0
# Between which the excess of a spread is looked for, and how often their ratio is halved.
LEAST_EXCESS, MOST_EXCESS, EXCESS_HALVINGS = 1e-12, 1e12, 50


@dataclass(frozen=True)
class Spread:
    """How y scatters about its prediction, as a loss has it.

    Attributes
    ----------
    power : float
        The power of the mean e^score that the variance grows by; 0 if it is the same everywhere.
    low, high : float
        Between which y lies.
    excess : float
        What the square of the mean adds to the variance: predictions of large means are off by a
        part of the mean, which outgrows a variance of a lower power.
    """

    power: float = 0.0
    low: float = -inf
    high: float = inf
    excess: float = 0.0

    def scale(self, scores: Floats) -> Floats:
        """Return what the standard deviation is in proportion to, at each score."""
        scale = _exp(0.5 * self.power * scores)
        return scale if self.excess == 0.0 else scale * np.sqrt(1.0 + self._excess_beside(scores))

    def learned_from(self, scores: Floats, missed: Floats) -> Spread:
        """Return the spread whose excess makes misses, by their scale, alike at all scores."""
        if not 0.0 < self.power < 2.0:
            return self
        scale = self.scale(scores)
        centred = scale - scale.mean()

        def trend(excess: float) -> float:
            scaled = replace(self, excess=excess)
            return float((np.abs(missed) / scaled.scale(scores) * centred).sum())

        if not trend(0.0) > 0.0:
            return self
        low, high = LEAST_EXCESS, MOST_EXCESS
        for _ in range(EXCESS_HALVINGS):
            middle = (low * high) ** 0.5
            low, high = (middle, high) if trend(middle) > 0.0 else (low, middle)
        return replace(self, excess=high)

    def _excess_beside(self, scores: Floats) -> Floats:
        """Return the excess as a part of the variance that the loss has."""
        return self.excess * _exp(np.minimum((2.0 - self.power) * scores, MOST_EXPONENT))


def _exp(exponent: Floats) -> Floats:
    powers = np.ascontiguousarray(np.maximum(exponent, LEAST_EXPONENT))
    _native.exp_inplace(powers.reshape(-1))
    return powers


EVEN = Spread()


class Loss:
    """A loss of raw scores; `link` leads from a score to a prediction.

    Attributes
    ----------
    name : str
        What kernels call it.
    n_outputs : int
        Scores of a row.
    n_targets : int
        Columns of y that have a score of their own.
    metric : str
        What is measured on evaluation sets when nothing else is asked for.
    is_soft : bool
        Whether the targets of a classifier are probabilities.
    spread : Spread
        How numbers scatter about their predictions.
    weights_are_exposures : bool
        Whether weight times target is an amount with a scale of its own, such as a count of events.
    quantiles : tuple of float
        Which quantiles, or expectiles, the scores are.
    """

    name: str
    link: Link = "identity"
    n_outputs: int = 1
    n_targets: int = 1
    metric: str
    is_soft: bool = False
    spread: Spread = EVEN
    weights_are_exposures: bool = False
    quantiles: tuple[float, ...] = ()

    @property
    def of_one(self) -> Loss:
        """The loss of a single column of y."""
        return self

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the constant score, one for each output, that minimises the loss."""
        raise NotImplementedError

    def gradients(
        self, target: Floats, scores: Floats, weights: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return gradient and hessian at scores (K, n), both (K, n), weights multiplied in."""
        raise NotImplementedError

    def differentiator(
        self,
        target: Floats,
        weights: Floats | None,
        n_threads: int = 1,  # noqa: ARG002
    ) -> Differentiate:
        """Return what takes the gradients at scores, all that rounds share being done here."""
        return lambda scores: self.gradients(target, scores, weights)

    def outcome(self, target: Floats) -> Floats:
        """Return what rows have come to, for means over the rows of a category."""
        return target

    def objection(self, target: Floats) -> str | None:  # noqa: ARG002
        """Say why the loss is not defined for this target, if it is not."""
        return None

    def row_weights(self, target: Floats, weights: Floats | None) -> Floats | None:  # noqa: ARG002
        """Return the weights of the rows in training."""
        return weights


class NativeLoss(Loss):
    """A loss whose gradients are native: what the trainer asks of it.

    Its `name` is a row of the tables in ``native/shared/loss_formulas.hpp``, which has the formula.

    Attributes
    ----------
    leaf_rates : (float, float)
        Rates a, b of a loss of two exponentials e^(−a s) and e^(b s): its leaves take the best
        step. (0, 0) is any other loss.
    has_corners : bool
        Whether the loss is straight but for a corner: leaves then hold weighted quantiles.
    adapts : bool
        Whether its parameter depends on the scores.
    """

    leaf_rates: tuple[float, float] = (0.0, 0.0)
    has_corners: bool = False
    adapts: bool = False

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:  # noqa: ARG003
        """Return the loss that an estimator's parameters describe; `name` is that of the choice."""
        return cls()

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return the loss's parameter for each output; empty if it has none."""
        return ()

    def corners(self, target: Floats, scores: Floats) -> Floats:
        """Return the step of each row to its corner, for one output."""
        return target - scores

    def levels(
        self,
        output: int,
        target: Floats,
        weights: Floats | None,
        leaf: NDArray[np.uint16],
        n_leaves: int,
    ) -> Floats:
        """Return which quantile of its rows' corners each leaf is worth, for one output."""
        raise NotImplementedError

    def gradients(
        self, target: Floats, scores: Floats, weights: Floats | None, n_threads: int = 1
    ) -> tuple[Floats, Floats]:
        """Return gradient and hessian at scores (K, n), both (K, n), weights multiplied in."""
        by_output = np.atleast_2d(target)
        one = by_output[0] if len(by_output) == 1 else by_output
        parameters = self.parameters(one, scores, weights)
        both: tuple[Floats, Floats] = _native.loss_gradients(
            self.name, parameters, scores, by_output, weights, n_threads
        )
        return both


@dataclass(frozen=True)
class LossChoice:
    """A value of the parameter `loss`: its class, and what the parameter's description says."""

    loss: type[NativeLoss]
    summary: str


LossClass = TypeVar("LossClass", bound=type[NativeLoss])


def offered_in(
    choices: dict[str, LossChoice], **summaries: str
) -> Callable[[LossClass], LossClass]:
    """Enter a class among the choices of a parameter, under each name with its summary."""

    def enter(loss: LossClass) -> LossClass:
        choices.update({name: LossChoice(loss, text) for name, text in summaries.items()})
        return loss

    return enter


def describe(choices: dict[str, LossChoice]) -> str:
    """Return a sentence that lists the choices with their summaries."""
    return "; ".join(f"'{name}' is {choice.summary}" for name, choice in choices.items()) + "."


def weighted_mean(target: Floats, weights: Floats | None) -> float:
    """Return the mean."""
    # Weights are divided by their largest, so that neither sum can overflow or vanish. No dot
    # product: its order of addition is the linear algebra library's, and differs between machines.
    if weights is None:
        return mean_of(target)
    relative = weights / weights.max()
    return float(sum_of(relative * target) / sum_of(relative))


def weighted_quantile(values: Floats, weights: Floats | None, level: float) -> float:
    """Return a quantile: a minimiser of the pinball loss, the middle one if there are many."""
    leaf = np.zeros(len(values), np.uint16)
    of_leaf = _native.leaf_quantiles(values, weights, leaf, None, np.array([level]), 1)
    return float(of_leaf[0])


def prior(probability: float) -> float:
    """Return a probability that has finite log-odds."""
    return min(max(probability, SMALLEST_PRIOR), 1.0 - SMALLEST_PRIOR)


def log(x: float) -> float:
    """Return the logarithm, correctly rounded: the same bits whatever the C library."""
    return float(Context(prec=30).ln(Decimal(x)))


def log_odds(probability: float) -> float:
    """Return log(p / (1 − p)) of a prior."""
    p = prior(probability)
    return log(p) - log(1.0 - p)
