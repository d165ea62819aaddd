"""Losses of survival times. The target has two numbers a row: bounds of the time.

Equal bounds are a time that was seen; an infinite upper bound is one that was still to come. As
losses see it, the shape of the target is (2, n); elsewhere (n, 2).
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

# Scores farther below the highest count as so far below: e^−300 squared is still a number.
FARTHEST = 300.0
# Between these the scale of failure times is looked for, and its logarithm found up to EXACT; in
# rounds, whose trees move the scale, by secants that end with a step below ROUGH, so within some
# hundredths of that.
SCALES = (1e-3, 1e3)
LOG_SCALES = tuple(map(log, SCALES))
EXACT, ROUGH = 1e-9, 1e-2
# Of many rows so many, spread evenly, tell where to begin: the scale within some percent.
FEW_ROWS = 1024
# What secants from there may take; if that is not enough, the rows are not like the few.
MOST_SECANTS, LONGEST_SECANT = 8, 0.5
# How often score and scale of a constant are improved in turn, at most, and by what at least.
MOST_TURNS, NO_MOVE = 50, 1e-10


class SurvivalLoss(BaseLoss):
    """A loss that leads to survival curves."""

    def curve(self, target: Floats, scores: Floats, weights: Floats | None) -> SurvivalCurve:
        """Return how the time depends on scores, given those (n,) of the training rows."""
        raise NotImplementedError

    def mean(self, target: Floats, scores: Floats, weights: Floats | None) -> float:
        """Return the mean loss of rows, whose target is (n, 2), at scores (n,)."""
        raise NotImplementedError

    def outcome(self, target: Floats) -> Floats:
        """Return how much later, or earlier, than the best constant says each row ended."""
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
    """Who could have had an event when one happened.

    Rows are sorted from the last time to the first, and so are the distinct times of events: those
    at risk at one are the rows from the first to the last that has that time or a later one.

    Attributes
    ----------
    row : array of shape (n_rows,)
        The rows, sorted.
    weight : array of shape (n_rows,)
        Their weights.
    event : array of shape (n_events,)
        Places, among these, of rows with an event.
    group : array of shape (n_events,)
        The number of each event's time.
    share : array of shape (n_events,)
        Of events at the same time the part that comes before each: 0, 1/d, … (d − 1)/d; 0 with
        Breslow's way of breaking ties.
    each : array of shape (n_events,)
        The mean weight of the events at the same time.
    n_at_risk : array of shape (n_times,)
        Rows at risk at each time of events.
    since : array of shape (n_rows,)
        The number of the latest time of events that each row was at risk at.
    times : array of shape (n_times,)
        The times of events.
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
        """Sort rows by the time at which they were last seen."""
        row = np.argsort(-target[0], kind="stable")
        time = target[0, row]
        weight = np.ones(len(row)) if weights is None else weights[row]
        event = np.flatnonzero(target[1, row] == time)
        begins, times = _distinct(time[event])
        count = np.diff(np.append(begins, len(event)))
        group = np.repeat(np.arange(len(times)), count)
        place = np.arange(len(event)) - begins[group]
        share = place / count[group] if ties == "efron" else np.zeros(len(event))
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
        """Return, for each event, the risk of all rows that could have had it.

        Of d events at once Efron's l-th has lost l/d of the risk of all d.
        """
        at_risk = np.cumsum(risk)[self.n_at_risk - 1]
        ending = np.bincount(self.group, risk[self.event])
        left: Floats = at_risk[self.group] - self.share * ending[self.group]
        return left

    def sums(self, values: Floats) -> Floats:
        """Add up values of events, time by time."""
        return np.bincount(self.group, values, minlength=len(self.times)).astype(np.float64)

    def until(self, by_time: Floats) -> Floats:
        """Return, for each sorted row, the sum over the times that it was at risk at."""
        from_first = np.append(np.cumsum(by_time[::-1])[::-1], 0.0)
        return from_first[self.since]


class CoxLoss(SurvivalLoss):
    """The negative logarithm of Cox's partial likelihood; scores are logarithms of risks.

    Of rows at risk when an event happens, it is the probability that the one had it that did. Of
    events at the same time, Efron's way takes the mean over their orders as well as that can be
    done quickly, Breslow's takes each to be the first.
    """

    name = "cox"
    metric = "cox_nloglik"

    def __init__(self, ties: Ties) -> None:
        self.ties = ties

    def objection(self, target: Floats) -> str | None:
        """Object to times that are known to lie in an interval, and to no event at all."""
        lower, upper = target.T
        between = (upper != lower) & (upper != np.inf)
        if between.any():
            return (
                f"y is an interval in row {int(between.argmax())}, but loss='cox' needs times that "
                "are seen or right-censored. Use loss='aft'."
            )
        return None if (upper == lower).any() else "y has no event: all times are censored."

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:  # noqa: ARG002
        """Return 0: only differences of scores matter."""
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
        """Return the loss of an event."""
        sets = RiskSets.of(target.T, weights, self.ties)
        risk, top = sets.risks(scores)
        if not sum_of(sets.each) > 0.0:
            return float("nan")
        own = sum_of(sets.weight[sets.event] * scores[sets.row[sets.event]])
        others = sum_of(sets.each * (arithmetic.log(sets.remaining(risk)) + top))
        return float((others - own) / sum_of(sets.each))

    def curve(self, target: Floats, scores: Floats, weights: Floats | None) -> SurvivalCurve:
        """Return Breslow's baseline hazard, with ties broken as in the loss."""
        sets = RiskSets.of(target, weights, self.ties)
        risk, top = sets.risks(scores)
        steps = sets.sums(sets.each / sets.remaining(risk))[::-1] * arithmetic.exp(-top)
        return ProportionalHazards(sets.times[::-1].copy(), np.cumsum(steps))


def _cox_gradients(sets: RiskSets, scores: Floats) -> tuple[Floats, Floats]:
    risk, _ = sets.risks(scores[0])
    left = sets.remaining(risk)
    slope, square = sets.each / left, sets.each / left**2
    of_row, of_square = sets.until(sets.sums(slope)), sets.until(sets.sums(square))
    # What has had its event is at risk, of events at the same time, by the part that is left.
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
        Of Z; so T is log-normal, log-logistic or Weibull.
    scale : float, optional
        σ. None is that of the greatest likelihood, found anew for any rows and scores.
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
        """Return the score of greatest likelihood, of a scale to be found with that scale."""
        rows = FailureTimes.of(target, weights)
        score = self._best_constant(rows, self.scale or 1.0)
        for _ in range(MOST_TURNS if self.scale is None else 0):
            before, scale = score, self._scale_for(rows, np.full(rows.n, score))
            score = self._best_constant(rows, scale)
            if abs(score - before) <= NO_MOVE * scale:
                break
        return np.array([score])

    def differentiator(
        self, target: Floats, weights: Floats | None, n_threads: int = 1
    ) -> Differentiate:
        """Take logarithms of the times, once for all rounds."""
        rows = FailureTimes.of(target, weights)

        def differentiate(scores: Floats) -> tuple[Floats, Floats]:
            scale = self._scale_for(rows, scores[0], n_threads, ROUGH)
            g, h = self._derivatives(rows, scores[0], scale, n_threads)
            return g[np.newaxis], h[np.newaxis]

        return differentiate

    def mean(self, target: Floats, scores: Floats, weights: Floats | None) -> float:
        """Return the mean of −log likelihood."""
        rows = FailureTimes.of(target.T, weights)
        scale = self._scale_for(rows, scores)
        loss, _ = self._losses(rows, scores, scale)
        is_known = rows.lower == rows.upper
        loss[is_known] += rows.lower[is_known] + arithmetic.log(scale)
        return float(np.average(loss, weights=weights))

    def curve(self, target: Floats, scores: Floats, weights: Floats | None) -> SurvivalCurve:
        """Return the distribution with its scale."""
        scale = self._scale_for(FailureTimes.of(target, weights), scores)
        return AcceleratedTimes(self.distribution, scale)

    def _best_constant(self, rows: FailureTimes, scale: float) -> float:
        """Return the score at which the gradients add up to 0."""

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
        """Return the scale, if it is to be found that of greatest likelihood at these scores.

        It depends on nothing else, such as the last round's: a fit that was broken off finds it
        again.
        """
        if self.scale is not None:
            return self.scale
        drift = partial(self._drift, rows, np.ascontiguousarray(scores), n_threads)
        found = None
        if rows.n > 2 * FEW_ROWS:
            few = slice(None, None, rows.n // FEW_ROWS)
            drift_of_few = partial(self._drift, rows.take(few), scores[few].copy(), n_threads)
            found = _root_near_that_of(drift_of_few, drift, tol)
        return _scale_at(_log_scale(drift, EXACT) if found is None else found)

    def _drift(self, rows: FailureTimes, scores: Floats, n_threads: int, log_scale: float) -> float:
        """Return the derivative of the mean of −log likelihood by log(scale): it rises through 0.

        For −log likelihood is a convex function of 1 / scale.
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
    """Logarithms of the bounds, infinite where there is none, and weights of the rows."""

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
        """The smallest and the largest logarithm that is finite."""
        bounds = np.concatenate([self.lower, self.upper])
        finite = bounds[np.isfinite(bounds)]
        return float(finite.min()), float(finite.max())

    def take(self, rows: slice) -> FailureTimes:
        """Give some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return FailureTimes(self.lower[rows].copy(), self.upper[rows].copy(), weights)

    def mean(self, values: Floats) -> float:
        """Return the mean by the weights; 0 if all are 0."""
        is_empty = self.weights is not None and not self.weights.any()
        return 0.0 if is_empty else weighted_mean(values, self.weights)


def _scale_at(log_scale: float) -> float:
    """Return a scale by its logarithm; the ends of the range are what they are, not rounded."""
    ends = dict(zip(LOG_SCALES, SCALES, strict=True))
    return ends.get(log_scale, float(arithmetic.exp(log_scale)))


def _log_scale(drift: Callable[[float], float], tol: float) -> float:
    """Return where the drift is 0, or the end of the range nearest to that."""
    low, high = LOG_SCALES
    if drift(low) >= 0.0:
        return low
    if drift(high) <= 0.0:
        return high
    return float(brentq(drift, low, high, xtol=tol))


def _root_near_that_of(
    few: Callable[[float], float], drift: Callable[[float], float], tol: float
) -> float | None:
    """Take secants from where the drift of few rows is 0; None if they do not lead to a root."""
    low, high = LOG_SCALES
    at = _log_scale(few, ROUGH)
    slope = (few(at + ROUGH) - few(at - ROUGH)) / (2.0 * ROUGH)
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
