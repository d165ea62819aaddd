"""Survival losses. The target has two numbers per row: the bounds of the event time.

Equal bounds are an observed event; an infinite upper bound is a right-censored time. In losses the
target has shape (2, n), elsewhere (n, 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from hedgerow import _arithmetic as arithmetic
from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._boosting.losses.base import BaseLoss, Differentiate, log, weighted_mean
from hedgerow._boosting.survival_curves import (
    AcceleratedTimes,
    ProportionalHazards,
    SurvivalCurve,
    TimeDistribution,
)
from hedgerow._links import Link
from hedgerow._types import Floats

Ties = Literal["efron", "breslow"]

# Scores are clipped at this distance below the highest: the square of e^−300 does not underflow.
FARTHEST = 300.0
# Bounds of the scale of failure times. Its logarithm is found to a tolerance of EXACT; in rounds,
# whose trees change the scale anyway, by secants that end with a step below ROUGH, which gives an
# error of some hundredths of ROUGH.
SCALES = (1e-3, 1e3)
LOG_SCALES = tuple(map(log, SCALES))
EXACT, ROUGH = 1e-9, 1e-2
# With many rows, a sample of this size, evenly spaced, gives the initial scale, to a few percent.
SAMPLE_SIZE = 1024
# Limits of the secant method from there; beyond them the sample was not representative.
MOST_SECANTS, LONGEST_SECANT = 8, 0.5
# Alternating optimisation of base score and scale: maximum number of iterations, and tolerance.
MOST_ALTERNATIONS, TOLERANCE = 50, 1e-10


class SurvivalLoss(BaseLoss):
    """A loss with survival curves."""

    def curve(self, target: Floats, scores: Floats, weights: Floats | None) -> SurvivalCurve:
        """Return the survival curve as a function of scores, from the training scores (n,)."""
        raise NotImplementedError

    def mean(self, target: Floats, scores: Floats, weights: Floats | None) -> float:
        """Return the mean loss of targets (n, 2) at scores (n,)."""
        raise NotImplementedError

    def outcome(self, target: Floats) -> Floats:
        """Return the negative gradient at the best constant: large for long survival."""
        bounds = np.ascontiguousarray(target.T)
        constant = np.full((1, len(target)), self.base_score(bounds, None)[0])
        gradient, _ = self.gradients(bounds, constant, None)
        return -gradient[0]

    def gradients(
        self, target: Floats, scores: Floats, weights: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return gradient and hessian at scores (1, n), both (1, n), weights multiplied in."""
        return self.differentiator(target, weights)(scores)


@dataclass(frozen=True, eq=False)
class RiskSets:
    """The rows at risk at each event time.

    Rows and distinct event times are sorted in decreasing order, so that the rows at risk at a time
    are the first `n_at_risk` of the sorted rows.

    Attributes
    ----------
    row : array of shape (n_rows,)
        The rows in decreasing order of time.
    weight : array of shape (n_rows,)
        The weights of the sorted rows.
    event : array of shape (n_events,)
        Positions of the events among the sorted rows.
    group : array of shape (n_events,)
        The index of each event's time.
    share : array of shape (n_events,)
        The share of the events at the same time that comes before each: 0, 1/d, … (d − 1)/d; 0 with
        Breslow's treatment of ties.
    each : array of shape (n_events,)
        The mean weight of the events at the same time.
    n_at_risk : array of shape (n_times,)
        The number of rows at risk at each event time.
    since : array of shape (n_rows,)
        The index of the latest event time at which each row was at risk.
    times : array of shape (n_times,)
        The event times.
    """

    row: NDArray[np.intp]
    weight: Floats
    event: NDArray[np.intp]
    group: NDArray[np.intp]
    share: Floats
    each: Floats
    n_at_risk: NDArray[np.intp]
    since: NDArray[np.intp]
    times: Floats

    @classmethod
    def of(cls, target: Floats, weights: Floats | None, ties: Ties) -> RiskSets:
        """Sort rows by their time, of event or censoring."""
        row = np.argsort(-target[0], kind="stable")
        time = target[0, row]
        weight = np.ones(len(row)) if weights is None else weights[row]
        event = np.flatnonzero(target[1, row] == time)
        begins, times = _distinct(time[event])
        count = np.diff(np.append(begins, len(event)))
        group = np.repeat(np.arange(len(times)), count)
        position = np.arange(len(event)) - begins[group]
        share = position / count[group] if ties == "efron" else np.zeros(len(event))
        each = (np.bincount(group, weight[event]) / count)[group]
        n_at_risk = np.searchsorted(-time, -times, side="right")
        since = np.searchsorted(-times, -time, side="left")
        return cls(row, weight, event, group, share, each, n_at_risk, since, times)

    def risks(self, scores: Floats) -> tuple[Floats, float]:
        """Return w e^s of the sorted rows, divided by e^(the largest score), and that score."""
        sorted_ = scores[self.row]
        top = float(sorted_.max())
        risk = np.maximum(sorted_ - top, -FARTHEST)
        _native.exp_inplace(risk)
        return self.weight * risk, top

    def remaining(self, risk: Floats) -> Floats:
        """Return, for each event, the total risk of the rows at risk.

        In Efron's treatment of d tied events, the l-th excludes l/d of their total risk.
        """
        at_risk = np.cumsum(risk)[self.n_at_risk - 1]
        ending = np.bincount(self.group, risk[self.event])
        left: Floats = at_risk[self.group] - self.share * ending[self.group]
        return left

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values of events at each time."""
        return np.bincount(self.group, values, minlength=len(self.times)).astype(np.float64)

    def until(self, by_time: Floats) -> Floats:
        """Return, for each sorted row, the sum over the times at which it was at risk."""
        from_first = np.append(np.cumsum(by_time[::-1])[::-1], 0.0)
        return from_first[self.since]


class CoxLoss(SurvivalLoss):
    """The negative logarithm of Cox's partial likelihood; scores are log hazard ratios.

    The partial likelihood is the probability that, of the rows at risk, the observed one had the
    event. For tied events, Efron's method approximates the mean over their orders; Breslow's method
    treats each as if it came first.
    """

    name = "cox"
    metric = "cox_nloglik"

    def __init__(self, ties: Ties) -> None:
        self.ties = ties

    def objection(self, target: Floats) -> str | None:
        """Object to interval-censored times, and to targets without events."""
        lower, upper = target.T
        between = (upper != lower) & (upper != np.inf)
        if between.any():
            return (
                f"y is an interval in row {int(between.argmax())}, but loss='cox' needs event "
                "times or right-censored times. Use loss='aft'."
            )
        return None if (upper == lower).any() else "y has no event: all times are censored."

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:  # noqa: ARG002
        """Return 0: only differences of scores matter."""
        return np.zeros(1)

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:  # noqa: ARG002
        """Return 0."""
        return np.zeros(1)

    def differentiator(
        self,
        target: Floats,
        weights: Floats | None,
        n_threads: int = 1,  # noqa: ARG002
    ) -> Differentiate:
        """Sort the rows by time, once for all rounds."""
        return partial(_cox_gradients, RiskSets.of(target, weights, self.ties))

    def mean(self, target: Floats, scores: Floats, weights: Floats | None) -> float:
        """Return the mean loss over events."""
        sets = RiskSets.of(target.T, weights, self.ties)
        risk, top = sets.risks(scores)
        if not sum_of(sets.each) > 0.0:
            return float("nan")
        own = sum_of(sets.weight[sets.event] * scores[sets.row[sets.event]])
        others = sum_of(sets.each * (arithmetic.log(sets.remaining(risk)) + top))
        return float((others - own) / sum_of(sets.each))

    def curve(self, target: Floats, scores: Floats, weights: Floats | None) -> SurvivalCurve:
        """Return Breslow's baseline hazard, with ties treated as in the loss."""
        sets = RiskSets.of(target, weights, self.ties)
        risk, top = sets.risks(scores)
        steps = sets.sums(sets.each / sets.remaining(risk))[::-1] * arithmetic.exp(-top)
        return ProportionalHazards(sets.times[::-1].copy(), np.cumsum(steps))


def _cox_gradients(sets: RiskSets, scores: Floats) -> tuple[Floats, Floats]:
    risk, _ = sets.risks(scores[0])
    left = sets.remaining(risk)
    slope, square = sets.each / left, sets.each / left**2
    of_row, of_square = sets.until(sets.sums(slope)), sets.until(sets.sums(square))
    # A row with an event is at risk, in tied events, with the share that is left.
    kept = 1.0 - sets.share
    of_row[sets.event] -= sets.sums(sets.share * slope)[sets.group]
    of_square[sets.event] -= sets.sums((1.0 - kept**2) * square)[sets.group]
    g, h = risk * of_row, np.maximum(0.0, risk * of_row - risk**2 * of_square)
    g[sets.event] -= sets.weight[sets.event]
    gradient, hessian = np.empty_like(scores), np.empty_like(scores)
    gradient[0, sets.row], hessian[0, sets.row] = g, h
    return gradient, hessian


def _distinct(values: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return where runs of equal values begin, and the values."""
    begins = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return begins, values[begins]


class FailureTimeLoss(SurvivalLoss):
    """The negative log likelihood of log T = s + σZ.

    Parameters
    ----------
    distribution : {"normal", "logistic", "extreme"}
        The distribution of Z; T is log-normal, log-logistic or Weibull.
    scale : float, optional
        σ. None is the maximum likelihood estimate for the rows and scores at hand.
    """

    name = "aft"
    metric = "aft_nloglik"
    link: Link = "log"

    def __init__(self, distribution: TimeDistribution, scale: float | None) -> None:
        self.distribution = distribution
        self.scale = scale

    def objection(self, target: Floats) -> str | None:
        """Object to an event at 0, whose logarithm is infinite, and to bounds on one side only."""
        lower, upper = target.T
        if (upper == 0.0).any():
            return f"y is 0 in row {int((upper == 0.0).argmax())}, but loss='aft' needs times > 0."
        if (upper == np.inf).all():
            return "y has no event: all times are right-censored."
        return "y has no lower bound: all times are left-censored." if not lower.any() else None

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:
        """Return the score of maximum likelihood, jointly with the scale if that is unknown."""
        return self._base_score(FailureTimes.of(target, weights))

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:
        """Return the score of maximum likelihood for times divided by e^offset."""
        rows = FailureTimes.of(target, weights)
        return self._base_score(
            FailureTimes(rows.lower - offset[0], rows.upper - offset[0], weights)
        )

    def _base_score(self, rows: FailureTimes) -> Floats:
        score = self._best_constant(rows, self.scale or 1.0)
        for _ in range(MOST_ALTERNATIONS if self.scale is None else 0):
            before, scale = score, self._scale_for(rows, np.full(rows.n, score))
            score = self._best_constant(rows, scale)
            if abs(score - before) <= TOLERANCE * scale:
                break
        return np.array([score])

    def differentiator(
        self, target: Floats, weights: Floats | None, n_threads: int = 1
    ) -> Differentiate:
        """Take the logarithms of the times, once for all rounds."""
        rows = FailureTimes.of(target, weights)

        def differentiate(scores: Floats) -> tuple[Floats, Floats]:
            scale = self._scale_for(rows, scores[0], n_threads, ROUGH)
            g, h = self._derivatives(rows, scores[0], scale, n_threads)
            return g[np.newaxis], h[np.newaxis]

        return differentiate

    def mean(self, target: Floats, scores: Floats, weights: Floats | None) -> float:
        """Return the mean negative log likelihood."""
        rows = FailureTimes.of(target.T, weights)
        scale = self._scale_for(rows, scores)
        loss, _ = self._losses(rows, scores, scale)
        is_known = rows.lower == rows.upper
        loss[is_known] += rows.lower[is_known] + arithmetic.log(scale)
        return weighted_mean(loss, weights)

    def curve(self, target: Floats, scores: Floats, weights: Floats | None) -> SurvivalCurve:
        """Return the distribution with its scale."""
        scale = self._scale_for(FailureTimes.of(target, weights), scores)
        return AcceleratedTimes(self.distribution, scale)

    def _best_constant(self, rows: FailureTimes, scale: float) -> float:
        """Return the score at which the gradients sum to 0."""

        def gradient(score: float) -> float:
            return sum_of(self._derivatives(rows, np.full(rows.n, score), scale)[0])

        low, high = rows.range
        while gradient(low) > 0.0:
            low -= scale
        while gradient(high) < 0.0:
            high += scale
        return low if low == high else float(brentq(gradient, low, high, xtol=1e-12))

    def _scale_for(
        self, rows: FailureTimes, scores: Floats, n_threads: int = 1, tol: float = EXACT
    ) -> float:
        """Return the scale; if it is not fixed, that of maximum likelihood at these scores.

        It does not depend on the scale of the previous round, so that a resumed fit finds the same.
        """
        if self.scale is not None:
            return self.scale
        drift = partial(self._drift, rows, np.ascontiguousarray(scores), n_threads)
        log_scale = None
        if rows.n > 2 * SAMPLE_SIZE:
            sample = slice(None, None, rows.n // SAMPLE_SIZE)
            sample_drift = partial(self._drift, rows.take(sample), scores[sample].copy(), n_threads)
            log_scale = _secant_root(sample_drift, drift, tol)
        return _scale_at(_log_scale(drift, EXACT) if log_scale is None else log_scale)

    def _drift(self, rows: FailureTimes, scores: Floats, n_threads: int, log_scale: float) -> float:
        """Return the derivative of the mean negative log likelihood with respect to log(scale).

        It changes sign once, from − to +, because the function is convex in 1 / scale.
        """
        return rows.mean(self._losses(rows, scores, _scale_at(log_scale), n_threads)[1])

    def _derivatives(
        self, rows: FailureTimes, scores: Floats, scale: float, n_threads: int = 1
    ) -> tuple[Floats, Floats]:
        g, h = np.empty(rows.n), np.empty(rows.n)
        times = rows.lower, rows.upper, np.ascontiguousarray(scores), rows.weights
        _native.failure_gradients(self.distribution, scale, *times, g, h, n_threads)
        return g, h

    def _losses(
        self, rows: FailureTimes, scores: Floats, scale: float, n_threads: int = 1
    ) -> tuple[Floats, Floats]:
        loss, drift = np.empty(rows.n), np.empty(rows.n)
        times = rows.lower, rows.upper, np.ascontiguousarray(scores)
        _native.failure_losses(self.distribution, scale, *times, loss, drift, n_threads)
        return loss, drift


@dataclass(frozen=True, eq=False)
class FailureTimes:
    """The logarithms of the bounds, infinite where there is none, and the weights of the rows."""

    lower: Floats
    upper: Floats
    weights: Floats | None

    @classmethod
    def of(cls, target: Floats, weights: Floats | None) -> FailureTimes:
        """Take logarithms."""
        lower, upper = target.copy()
        _native.log_inplace(lower)
        _native.log_inplace(upper)
        return cls(lower, upper, weights)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.lower)

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest finite logarithm."""
        bounds = np.concatenate([self.lower, self.upper])
        finite = bounds[np.isfinite(bounds)]
        return float(finite.min()), float(finite.max())

    def take(self, rows: slice) -> FailureTimes:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return FailureTimes(self.lower[rows].copy(), self.upper[rows].copy(), weights)

    def mean(self, values: Floats) -> float:
        """Return the weighted mean; 0 if all weights are 0."""
        is_empty = self.weights is not None and not self.weights.any()
        return 0.0 if is_empty else weighted_mean(values, self.weights)


def _scale_at(log_scale: float) -> float:
    """Return a scale from its logarithm; the bounds are exact, not rounded."""
    ends = dict(zip(LOG_SCALES, SCALES, strict=True))
    return ends.get(log_scale, float(arithmetic.exp(log_scale)))


def _log_scale(drift: Callable[[float], float], tol: float) -> float:
    """Return where the drift is 0, or the nearest bound."""
    low, high = LOG_SCALES
    if drift(low) >= 0.0:
        return low
    if drift(high) <= 0.0:
        return high
    return float(brentq(drift, low, high, xtol=tol))


def _secant_root(
    sample_drift: Callable[[float], float], drift: Callable[[float], float], tol: float
) -> float | None:
    """Return the root by the secant method from that of a sample; None if it does not converge."""
    low, high = LOG_SCALES
    at = _log_scale(sample_drift, ROUGH)
    slope = (sample_drift(at + ROUGH) - sample_drift(at - ROUGH)) / (2.0 * ROUGH)
    value = drift(at)
    for _ in range(MOST_SECANTS):
        step = -value / slope if slope > 0.0 else np.inf
        if not (abs(step) <= LONGEST_SECANT and low <= at + step <= high):
            return None
        at += step
        if abs(step) <= tol:
            return at
        before, value = value, drift(at)
        slope = (value - before) / step
    return None
