"""One-dimensional minimisation along a direction.

The search finds a root of the slope: near a minimum values hardly differ, so a search by value is
accurate to half of the digits, a search by slope to nearly all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, isfinite

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from hedgerow._warning import warn_user

Function = Callable[[float], float]

# A slope smaller than the initial one by this factor counts as 0 if it does not change sign soon.
# So a loss without a minimum, such as the log loss of rows of one class, has a finite step.
NEGLIGIBLE = 1e-10
# Doublings or halvings of the first guess: steps from 1e-150 to 1e150.
MAX_DOUBLINGS = 500
# Maximum number of halvings of an ascending step; a smaller step would not change the loss.
MAX_HALVINGS = 50


def line_search(slope: Function) -> float:
    """Return the step from 0 in the direction of descent that minimises a function.

    Parameters
    ----------
    slope : function of a step
        The derivative. It may jump, as for an absolute value, and may overflow for large steps.

    Returns
    -------
    step : float
        Where the slope changes sign; negative if that is the direction of descent. If the function
        decreases without bound, 1 or −1 and a `ConvergenceWarning`.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        at_zero = slope(0.0)
        if at_zero == 0.0:
            return 0.0
        down = -copysign(1.0, at_zero)

        def climb(step: float) -> float:
            value = down * slope(down * step)
            return value if isfinite(value) else abs(at_zero)  # overflow: too far

        step = _next_root(climb, NEGLIGIBLE * abs(at_zero))
    if step is None:
        _warn("decreases without bound, or its gradient is wrong; a step of 1 is used")
        return down
    return down * step


def _next_root(climb: Function, level: float) -> float | None:
    """Return where a function that is negative near 0 changes sign, or reaches −level."""
    bracket = _bracket(lambda step: climb(step) + level)
    if bracket is None:
        return None
    step = _root(lambda step: climb(step) + level, *bracket)
    is_short = climb(step) < 0.0 < climb(2.0 * step)
    return _root(climb, step, 2.0 * step) if is_short else step


def _root(function: Function, low: float, high: float) -> float:
    precision = float(np.finfo(float).eps)
    return float(brentq(function, low, high, xtol=precision * low, rtol=4 * precision, maxiter=500))


def _bracket(climb: Function) -> tuple[float, float] | None:
    """Return steps, one twice the other, between which a function becomes positive.

    None if there are no such steps of a reasonable size.
    """
    edge = 1.0
    factor = 2.0 if climb(edge) < 0.0 else 0.5
    for _ in range(MAX_DOUBLINGS):
        if (climb(edge * factor) < 0.0) != (factor > 1.0):
            return min(edge, edge * factor), max(edge, edge * factor)
        edge *= factor
    return None


def shortened(step: float, value: Function, rounding: float) -> float:
    """Return the step if the function is not higher there than at 0, else halve it until it is not.

    For functions that are not convex: the next root of the slope may lie behind a maximum. Values
    that differ by no more than `rounding` count as equal.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        start = value(0.0)
        if value(step) <= start + rounding:
            return step
        for _ in range(MAX_HALVINGS):
            step *= 0.5
            if value(step) < start:
                return step
    _warn("does not decrease along its negative gradient; a step of 0 is used")
    return 0.0


def _warn(what: str) -> None:
    warn_user(f"Line search: the loss {what}.", ConvergenceWarning)
