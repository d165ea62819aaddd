"""Survival curves: cumulative hazards and quantiles of the time, given scores.

The probability of surviving t is e^−H(t), where H is the cumulative hazard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy.special import ndtri

from hedgerow import _native
from hedgerow._types import Floats

TimeDistribution = Literal["normal", "logistic", "extreme"]


class SurvivalCurve(Protocol):
    """How the time depends on the score of a row."""

    def cumulative_hazard(self, scores: Floats, times: Floats) -> Floats:
        """Return the cumulative hazard of each row at each time, (n_rows, n_times)."""

    def quantile(self, scores: Floats, level: float) -> Floats:
        """Return a quantile of the time of each row."""


@dataclass(frozen=True, eq=False)
class ProportionalHazards:
    """H(t) = H₀(t) e^s, where H₀ has steps at the observed times of events.

    Attributes
    ----------
    times, hazard : arrays of shape (n_events,)
        Increasing times, and H₀ from each of them on.
    """

    times: Floats
    hazard: Floats

    def cumulative_hazard(self, scores: Floats, times: Floats) -> Floats:
        """Return H₀(t) e^s."""
        steps = np.append(0.0, self.hazard)
        at = steps[np.searchsorted(self.times, times, side="right")]
        with np.errstate(over="ignore", invalid="ignore"):
            hazards = np.exp(scores)[:, np.newaxis] * at
        return np.where(at == 0.0, 0.0, hazards)

    def quantile(self, scores: Floats, level: float) -> Floats:
        """Return the first time at which the level is reached; infinity if there is none."""
        with np.errstate(over="ignore"):
            needed = -np.log1p(-level) * np.exp(-scores)
        times = np.append(self.times, np.inf)
        return times[np.searchsorted(self.hazard, needed, side="left")]


@dataclass(frozen=True)
class AcceleratedTimes:
    """log T = s + σZ."""

    distribution: TimeDistribution
    scale: float

    def cumulative_hazard(self, scores: Floats, times: Floats) -> Floats:
        """Return −log P(Z > (log t − s) / σ)."""
        with np.errstate(divide="ignore"):
            z = (np.log(times) - scores[:, np.newaxis]) / self.scale
        _native.log_survival_inplace(self.distribution, z.reshape(-1))
        return np.negative(z, out=z)

    def quantile(self, scores: Floats, level: float) -> Floats:
        """Return e^(s + σz), with z the quantile of Z."""
        with np.errstate(over="ignore"):
            times: Floats = np.exp(scores + self.scale * self._standard_quantile(level))
        return times

    def _standard_quantile(self, level: float) -> float:
        if self.distribution == "normal":
            return float(ndtri(level))
        if self.distribution == "logistic":
            return float(np.log(level) - np.log1p(-level))
        return float(np.log(-np.log1p(-level)))
