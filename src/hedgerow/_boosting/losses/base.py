"""The interface of losses, and the sums and registries that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from math import inf
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._arithmetic import mean_of, sum_of
from hedgerow._boosting.losses.best_constant import Total, stationary_constants
from hedgerow._collective import workers
from hedgerow._estimator import Estimator
from hedgerow._links import Link
from hedgerow._types import Floats

# Scores (K, n) → gradient and hessian, both (K, n).
Differentiate = Callable[[Floats], tuple[Floats, Floats]]

# A class of weight 0 would have infinite log-odds.
SMALLEST_PRIOR = 1e-15

# Targets divided by e to this power are finite.
LEAST_EXPONENT = -300.0
# Beyond e to this power, variances might overflow.
MOST_EXPONENT = 600.0
# Bounds of the bisection for the excess variance, and its number of steps.
LEAST_EXCESS, MOST_EXCESS, EXCESS_HALVINGS = 1e-12, 1e12, 50


@dataclass(frozen=True)
class Spread:
    """The variance function of a loss: how the spread of y depends on its prediction.

    Attributes
    ----------
    power : float
        The variance is proportional to this power of the mean e^score; 0 if it is constant.
    low, high : float
        Bounds of y.
    excess : float
        Factor of the squared mean that is added to the variance: errors of large predictions are
        proportional to the mean, which outgrows a variance with a smaller power.
    """

    power: float = 0.0
    low: float = -inf
    high: float = inf
    excess: float = 0.0

    def scale(self, scores: Floats) -> Floats:
        """Return the standard deviation at each score, up to a constant factor."""
        scale = _exp(0.5 * self.power * scores)
        return scale if self.excess == 0.0 else scale * np.sqrt(1.0 + self._relative_excess(scores))

    def learned_from(self, scores: Floats, residuals: Floats) -> Spread:
        """Return the spread with the excess that removes the trend of the scaled residuals."""
        if not 0.0 < self.power < 2.0:
            return self
        scale = self.scale(scores)
        centred = scale - mean_of(scale)

        def trend(excess: float) -> float:
            scaled = replace(self, excess=excess)
            return sum_of(np.abs(residuals) / scaled.scale(scores) * centred)

        if not trend(0.0) > 0.0:
            return self
        low, high = LEAST_EXCESS, MOST_EXCESS
        for _ in range(EXCESS_HALVINGS):
            middle = (low * high) ** 0.5
            low, high = (middle, high) if trend(middle) > 0.0 else (low, middle)
        return replace(self, excess=high)

    def _relative_excess(self, scores: Floats) -> Floats:
        """Return the excess variance relative to the variance of the loss."""
        return self.excess * _exp(np.minimum((2.0 - self.power) * scores, MOST_EXPONENT))


def _exp(exponent: Floats) -> Floats:
    powers = np.ascontiguousarray(np.maximum(exponent, LEAST_EXPONENT))
    _native.exp_inplace(powers.reshape(-1))
    return powers


CONSTANT_SPREAD = Spread()


class BaseLoss:
    """A loss as a function of raw scores.

    Attributes
    ----------
    name : str
        Its name in the kernels.
    link : str
        The function from raw scores to predictions. "margin" is for scores whose sign is the class,
        without probabilities; "sorted" is for several quantiles, which are sorted.
    n_outputs : int
        Scores per row.
    n_targets : int
        Columns of y that have their own score.
    metric : str
        The default metric on evaluation sets.
    is_soft : bool
        Whether the targets of a classifier are probabilities.
    spread : Spread
        The variance function.
    weights_are_exposures : bool
        Whether weight times target is an absolute amount, such as a count of events.
    quantiles : tuple of float
        The quantiles or expectiles that the scores predict.
    objects_to_rows : bool
        Whether `objection` judges each row by itself. Other losses object to the smallest or the
        largest number of all rows.
    """

    name: str
    link: Link = "identity"
    n_outputs: int = 1
    n_targets: int = 1
    metric: str
    is_soft: bool = False
    spread: Spread = CONSTANT_SPREAD
    weights_are_exposures: bool = False
    quantiles: tuple[float, ...] = ()
    objects_to_rows: bool = False

    @property
    def single_output(self) -> BaseLoss:
        """The loss of one column of y."""
        return self

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the constant score, one for each output, that minimises the loss."""
        raise NotImplementedError

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the constants that minimise the loss if they are added to an offset (K, n)."""
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
        """Return the function from scores to gradients; work that rounds share is done here."""
        return lambda scores: self.gradients(target, scores, weights)

    def outcome(self, target: Floats) -> Floats:
        """Return a number for each row, from which target statistics are computed."""
        return target

    def objection(self, target: Floats) -> str | None:  # noqa: ARG002
        """Return why the loss is not defined for this target; None if it is."""
        return None

    def row_weights(self, target: Floats, weights: Floats | None) -> Floats | None:  # noqa: ARG002
        """Return the weights of the rows in training."""
        return weights


class NativeLoss(BaseLoss):
    """A loss with native gradients.

    Its `name` is a row of the tables in ``native/shared/loss_formulas.hpp``, which has the formula.

    Attributes
    ----------
    leaf_rates : (float, float)
        Decay rate a and growth rate b of a loss that consists of e^(−a s) and e^(b s): its leaf
        values are exact minimisers. (0, 0) for other losses, whose leaf values are Newton steps.
    is_piecewise_linear : bool
        Whether the loss of a row is linear on both sides of a kink: leaf values are then weighted
        quantiles.
    is_adaptive : bool
        Whether its parameter depends on the scores.
    """

    leaf_rates: tuple[float, float] = (0.0, 0.0)
    is_piecewise_linear: bool = False
    is_adaptive: bool = False

    @classmethod
    def from_estimator(cls, name: str, estimator: Estimator) -> NativeLoss:  # noqa: ARG003
        """Return the loss with an estimator's parameters; `name` is the value of `loss`."""
        return cls()

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the best constants, by descent from those of the mean offset."""
        mean_offset = np.array([weighted_mean(of_output, weights) for of_output in offset])

        def total(constants: Floats) -> Total:
            scores = offset + constants[:, np.newaxis]
            return total_slope(*self.gradients(target, scores, weights))

        return stationary_constants(total, self.base_score(target, weights) - mean_offset)

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:  # noqa: ARG002
        """Return the loss's parameter for each output; empty if it has none."""
        return ()

    def steps_to_kink(self, target: Floats, scores: Floats) -> Floats:
        """Return the step from each row's score to its kink, for one output."""
        return target - scores

    def leaf_levels(
        self,
        output: int,
        target: Floats,
        weights: Floats | None,
        leaf: NDArray[np.uint16],
        n_leaves: int,
    ) -> Floats:
        """Return the quantile level of each leaf, for one output."""
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


class MultiOutputLoss(NativeLoss):
    """The sum of one loss over the columns of y; each column has a score."""

    def __init__(self, loss: NativeLoss, n_targets: int) -> None:
        self.loss = loss
        self.name, self.link, self.metric = loss.name, loss.link, loss.metric
        self.leaf_rates, self.is_piecewise_linear = loss.leaf_rates, loss.is_piecewise_linear
        self.is_adaptive = loss.is_adaptive
        self.n_outputs = self.n_targets = n_targets

    @property
    def single_output(self) -> NativeLoss:
        """The loss of one column."""
        return self.loss

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the best constant of each column."""
        return np.concatenate([self.loss.base_score(column, weights) for column in target])

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the best constant of each column."""
        columns = zip(offset, target, strict=True)
        best = self.loss.base_score_given
        return np.concatenate([best(of[np.newaxis], y, weights) for of, y in columns])

    def objection(self, target: Floats) -> str | None:
        """Return the objection to the first column that is not allowed."""
        for number, column in enumerate(target.T):
            if objection := self.loss.objection(column):
                return f"Column {number} of y: {objection}"
        return None

    def parameters(self, target: Floats, scores: Floats, weights: Floats | None) -> Sequence[float]:
        """Return the loss's parameter for each column."""
        columns = zip(target, scores, strict=True)
        by_column = [self.loss.parameters(y, score[None], weights) for y, score in columns]
        return [number for parameters in by_column for number in parameters]

    def steps_to_kink(self, target: Floats, scores: Floats) -> Floats:
        """Return the step from each row's score to its kink, in one column."""
        return self.loss.steps_to_kink(target, scores)

    def leaf_levels(
        self,
        output: int,  # noqa: ARG002
        target: Any,
        weights: Any,
        leaf: Any,
        n_leaves: int,
    ) -> Floats:
        """Return the quantile level of each leaf, in one column."""
        return self.loss.leaf_levels(0, target, weights, leaf, n_leaves)


@dataclass(frozen=True)
class LossChoice:
    """A value of the parameter `loss`: its class, and its summary in the documentation."""

    loss: type[NativeLoss]
    summary: str


LossClass = TypeVar("LossClass", bound=type[NativeLoss])


def register(choices: dict[str, LossChoice], **summaries: str) -> Callable[[LossClass], LossClass]:
    """Add a class to the choices of a parameter, under each name with its summary."""

    def add(loss: LossClass) -> LossClass:
        choices.update({name: LossChoice(loss, text) for name, text in summaries.items()})
        return loss

    return add


def describe(choices: dict[str, LossChoice]) -> str:
    """Return a sentence that lists the choices with their summaries."""
    return "; ".join(f"'{name}' is {choice.summary}" for name, choice in choices.items()) + "."


def read_only(array: Any) -> Any:
    """Return a view that user code cannot write to: the array may be the caller's own."""
    if array is None:
        return None
    view = array.view()
    view.flags.writeable = False
    return view


def total_slope(gradient: Floats, hessian: Floats) -> Total:
    """Return the sums of gradients and hessians (K, n) over the rows of all workers."""
    sums = (
        np.array([workers().exact_sum(of_output) for of_output in numbers])
        for numbers in (gradient, hessian, np.abs(gradient))
    )
    return Total(0.0, *sums)


def weighted_mean(target: Floats, weights: Floats | None) -> float:
    """Return the weighted mean of the rows of all workers; NaN if there are none."""
    together = workers()
    if weights is None:
        return together.exact_sum(target) / (together.count(len(target)) or np.nan)
    # Weights are divided by the largest, so that no sum overflows or underflows.
    relative = weights / together.largest(weights.max(initial=0.0))
    return together.exact_sum(relative * target) / together.exact_sum(relative)


def weighted_quantile(values: Floats, weights: Floats | None, level: float) -> float:
    """Return a quantile: a minimiser of the pinball loss, the middle one if there are many."""
    leaf = np.zeros(len(values), np.uint16)
    quantiles = _native.leaf_quantiles(
        values, weights, leaf, None, np.array([level]), 1, workers().reduction
    )
    return float(quantiles[0])


def prior(probability: float) -> float:
    """Return the probability, clipped so that its log-odds are finite."""
    return min(max(probability, SMALLEST_PRIOR), 1.0 - SMALLEST_PRIOR)


def log(x: float) -> float:
    """Return the logarithm, correctly rounded: the same bits with every C library."""
    return float(Context(prec=30).ln(Decimal(x)))


def log_odds(probability: float) -> float:
    """Return log(p / (1 − p)) of a prior."""
    p = prior(probability)
    return log(p) - log(1.0 - p)
