"""Survival curves: cumulative hazards and quantiles of the time, given scores.

The probability of surviving t is e^−H(t), where H is the cumulative hazard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hedgerow import _native
from hedgerow._data.target import read_numbers_with_missing
from hedgerow._types import Floats
from hedgerow.exceptions import DataError

TimeDistribution = Literal["normal", "logistic", "extreme"]
_PERCENTILES = np.arange(1, 100) / 100


class SurvivalCurve(Protocol):
    """How the time depends on the score of a row."""

    def cumulative_hazard(self, scores: Floats, times: Floats) -> Floats:
        """Return the cumulative hazard of each row at each time, (n_rows, n_times)."""

    def quantile(self, scores: Floats, level: float) -> Floats:
        """Return a quantile of the time of each row."""

    def outline(self, score: float) -> Floats:
        """Return times at which the curve of a row is drawn, in ascending order."""


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

    def outline(self, score: float) -> Floats:  # noqa: ARG002
        """Return the times of events: the curve has a step at each, and no others."""
        return self.times.copy()


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

    def outline(self, score: float) -> Floats:
        """Return the percentiles of the time."""
        return np.ravel([self.quantile(np.array([score]), level) for level in _PERCENTILES])

    def _standard_quantile(self, level: float) -> float:
        if self.distribution == "normal":
            return float(ndtri(level))
        if self.distribution == "logistic":
            return float(np.log(level) - np.log1p(-level))
        return float(np.log(-np.log1p(-level)))


@dataclass(frozen=True, eq=False)
class FunctionOfTime:
    """The survival probability or the cumulative hazard of a row: `function(times)`.

    Attributes
    ----------
    x, y : arrays
        Times, and the values there. With loss='cox', all times at which the function has a step;
        with loss='aft', the percentiles of the time.
    """

    curve: SurvivalCurve
    score: float
    is_survival: bool

    def __call__(self, times: Any) -> Any:
        """Return the value at each time, or at a single one."""
        at = read_times(np.atleast_1d(times))
        hazard = self.curve.cumulative_hazard(np.array([self.score]), at)[0]
        values = np.exp(-hazard) if self.is_survival else hazard
        return values if np.ndim(times) else float(values[0])

    @property
    def x(self) -> Floats:
        return self.curve.outline(self.score)

    @property
    def y(self) -> Floats:
        values: Floats = self(self.x)
        return values

    def __repr__(self) -> str:
        what = "survival probability" if self.is_survival else "cumulative hazard"
        return f"<{what} of a row; call it with times>"


def functions_of_time(curve: SurvivalCurve, scores: Floats, *, survival: bool) -> NDArray[Any]:
    """Return the function of each row."""
    functions = np.empty(len(scores), object)
    functions[:] = [FunctionOfTime(curve, float(score), survival) for score in scores]
    return functions


def read_times(times: Any) -> Floats:
    """Check times at which a curve is evaluated."""
    read = read_numbers_with_missing(times, "times")
    if not (read >= 0.0).all():
        bad = read[~(read >= 0.0)][0]
        raise DataError(f"times contains {bad}; times must be numbers >= 0.")
    return read
