"""The constant scores that minimise the sum of a loss over the rows, if there is no formula.

A single constant is a root of the slope, found by Newton's method with a bracket; so a loss may
have kinks, as absolute values have, and may have no minimum, as the log loss of a single class.
Several constants are found by BFGS, and then one by one where kinks stop it early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from hedgerow._types import Floats

EPS = float(np.finfo(np.float64).eps)
MOST_STEPS = 200
# A slope below this fraction of the sum of the rows' absolute slopes is rounding.
ROUNDING = 64.0 * EPS
# A slope below this fraction of the first counts as 0: some losses decrease for ever.
NEGLIGIBLE = 1e-10
# A slope above this fraction of the sum of the rows' absolute slopes is worth following.
STEEP = 1e-6
# Relative width at which a bracket around a kink is narrow enough.
NARROW = 1e-12
# The constants of the Armijo and Wolfe conditions.
ARMIJO, WOLFE = 1e-4, 0.9
MOST_HALVINGS = 60


class Total(NamedTuple):
    """A loss at constant scores, summed over the rows; `size` is the sum of |slope| over rows."""

    value: float
    slope: Floats
    curvature: Floats
    size: Floats

    @property
    def is_stationary(self) -> bool:
        """Whether the slope is 0 up to rounding."""
        return bool((np.abs(self.slope) <= ROUNDING * self.size).all())


Sum = Callable[[Floats], Total]


def best_constant(total: Sum, candidates: Sequence[Floats]) -> Floats | None:
    """Return the constants that minimise a sum, by descent from the best candidate.

    None if the sum is not finite at any candidate.
    """
    values = [total(candidate).value for candidate in candidates]
    finite = [value if isfinite(value) else inf for value in values]
    best = int(np.argmin(finite))
    if finite[best] == inf:
        return None
    start = candidates[best]
    if len(start) == 1:
        return _one_constant(total, start)
    return _one_by_one(total, _several_constants(total, start))


def stationary_constants(total: Sum, start: Floats) -> Floats:
    """Return constants at which the slope vanishes, by descent; values are not used."""
    if len(start) == 1:
        return _one_constant(total, start)
    at, here, size = start, total(start), 1.0
    for _ in range(MOST_HALVINGS):
        if here.is_stationary:
            break
        flat = EPS * (1.0 + here.size)
        moved = at - size * here.slope / np.maximum(np.abs(here.curvature), flat)
        there = total(moved)
        # Simultaneous steps may overshoot, because each assumes that the others stay the same.
        if isfinite(there.value) and np.abs(there.slope).sum() < np.abs(here.slope).sum():
            at, here = moved, there
        else:
            size *= 0.5
    return at


class _Bracket:
    """Where the slope is known to be negative, and where it is positive or not finite."""

    def __init__(self) -> None:
        self.low, self.high = -inf, inf

    def narrow(self, at: float, slope: float) -> None:
        if slope < 0.0:
            self.low = at
        else:
            self.high = at

    @property
    def is_narrow(self) -> bool:
        width = self.high - self.low
        return width <= max(NARROW * min(abs(self.low), abs(self.high)), EPS * EPS)

    def middle(self, at: float, stride: float) -> float:
        """Return the middle or, while one end is infinite, a stride ahead."""
        if isfinite(self.low) and isfinite(self.high):
            return 0.5 * (self.low + self.high)
        return at + stride if self.high == inf else at - stride


def _one_constant(total: Sum, start: Floats) -> Floats:
    at, here = float(start[0]), total(start)
    first_slope, stride = abs(float(here.slope[0])), 1.0
    bracket = _Bracket()
    for _ in range(MOST_STEPS):
        slope = float(here.slope[0])
        if here.is_stationary or abs(slope) <= NEGLIGIBLE * first_slope * (at != start[0]):
            break
        bracket.narrow(at, slope)
        if bracket.is_narrow:
            break
        proposed = at - slope / max(abs(float(here.curvature[0])), EPS * EPS)
        if abs(proposed - at) <= 4.0 * EPS * abs(at):
            break
        if not bracket.low < proposed < bracket.high or abs(proposed - at) > stride:
            proposed = bracket.middle(at, stride)
            stride *= 2.0
        at, here = _within_reach(total, at, proposed, bracket)
    return np.array([at])


def _within_reach(total: Sum, at: float, proposed: float, bracket: _Bracket) -> tuple[float, Total]:
    """Return the proposed constant, or a nearer one if the loss is not finite there."""
    for _ in range(MOST_HALVINGS):
        there = total(np.array([proposed]))
        if isfinite(there.value) and np.isfinite(there.slope).all():
            break
        if proposed > at:
            bracket.high = proposed
        else:
            bracket.low = proposed
        proposed = 0.5 * (at + proposed)
    return proposed, there


def _several_constants(total: Sum, start: Floats) -> Floats:
    at, here = start, total(start)
    inverse = np.diag(1.0 / np.maximum(np.abs(here.curvature), EPS * (1.0 + here.size)))
    for _ in range(MOST_STEPS):
        if here.is_stationary:
            break
        direction = -_dot(inverse, here.slope)
        step = _step(total, at, here, direction)
        if step is None:
            break
        moved, there = step
        inverse = _updated(inverse, moved - at, there.slope - here.slope)
        unmoved = np.abs(moved - at) <= 4.0 * EPS * np.abs(moved)
        at, here = moved, there
        if unmoved.all():
            break
    return at


def _one_by_one(total: Sum, at: Floats) -> Floats:
    """Improve each constant by itself, where the slope is still steep."""
    for output in range(len(at)):
        here = total(at)
        if abs(here.slope[output]) > STEEP * here.size[output]:
            moved = _one_constant(_along(total, at, output), at[output : output + 1])
            at = _replaced(at, output, moved)
    return at


def _along(total: Sum, at: Floats, output: int) -> Sum:
    """Return the sum as a function of one of the constants."""

    def alone(moved: Floats) -> Total:
        value, *arrays = total(_replaced(at, output, moved))
        return Total(value, *(array[output : output + 1] for array in arrays))

    return alone


def _replaced(at: Floats, output: int, moved: Floats) -> Floats:
    at = at.copy()
    at[output] = moved[0]
    return at


def _step(total: Sum, at: Floats, here: Total, direction: Floats) -> tuple[Floats, Total] | None:
    """Return a lower point along a direction, by halving and doubling; None if there is none."""
    slope = float((here.slope * direction).sum())
    low, high, size = 0.0, inf, 1.0
    best = None
    for _ in range(MOST_HALVINGS):
        moved = at + size * direction
        there = total(moved)
        if not there.value <= here.value + ARMIJO * size * slope:
            high = size
        else:
            best = moved, there
            if float((there.slope * direction).sum()) >= WOLFE * slope:
                break
            low = size
        size = 2.0 * low if high == inf else 0.5 * (low + high)
    return best


def _updated(inverse: Floats, step: Floats, change: Floats) -> Floats:
    """Return the BFGS update of the inverse Hessian."""
    scale = float((step * change).sum())
    if scale <= 0.0:
        return inverse
    turned = _dot(inverse, change)
    spread = (1.0 + float((change * turned).sum()) / scale) / scale
    both = step[:, None] * turned
    return inverse + spread * step[:, None] * step - (both + both.T) / scale


def _dot(matrix: Floats, vector: Floats) -> Floats:
    # No matrix product: its order of summation depends on the linear algebra library.
    return (matrix * vector).sum(axis=1)
