"""Checks of a user-defined loss before the first round.

The loss of a row must depend on its own scores only and be the same in every call, and its
derivatives must agree with finite differences. Otherwise a fit would minimise something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hedgerow._types import Bools, Floats
from hedgerow.exceptions import ParameterError

Value = Callable[[Floats], Floats]

# Step of the differences, relative to the score or 1: the relative error is 1e-7 for smooth losses
# and rounding adds 1e-13 of the loss to slopes, 1e-10 to curvatures.
STEP = 1e-3
# Differences of a step and of half of it agree to this relative error, unless a kink is near.
AGREES = 0.01
# A relative error of a derivative that neither rounding nor curvature explains.
WRONG = 0.05
# A bound on the rounding errors of a loss, in units of its value.
ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
# Fraction of rows away from kinks that is needed for a verdict, and of these that may be wrong.
ENOUGH, TOO_MANY = 0.5, 0.01
# Maximum number of scores of a row that are checked; each costs four calls of the loss.
MOST_OUTPUTS = 8


class Differences(NamedTuple):
    """Slope or curvature from differences, whether they are reliable, and their rounding error."""

    estimate: Floats
    is_smooth: Bools
    rounding: Floats


def check_rows(value: Value, scores: Floats) -> None:
    """Raise `ParameterError` unless a loss is deterministic and separate for each row.

    Parameters
    ----------
    value : function of scores
        The loss of every row, shape (n,).
    scores : array of shape (n,) or (n, K)
        The scores at which to check.
    """
    at_scores = value(scores)
    _check_that_it_repeats(value, scores, at_scores)
    _check_that_rows_are_separate(value, scores, at_scores)


def check_derivatives(value: Value, scores: Floats, first: Floats, second: Floats) -> None:
    """Raise `ParameterError` if derivatives, both of shape (K, n), are not those of the loss."""
    at_scores = value(scores)
    outputs = np.unique(np.linspace(0, len(first) - 1, MOST_OUTPUTS).astype(np.intp))
    for output in outputs.tolist():
        slope, curvature = _differences(value, scores, output, at_scores)
        where = "" if scores.ndim == 1 else f"[:, {output}]"
        _compare("gradient", first[output], slope, slope.is_smooth & curvature.is_smooth, where)
        _compare("hessian", second[output], curvature, slope.is_smooth & curvature.is_smooth, where)


def _check_that_it_repeats(value: Value, scores: Floats, at_scores: Floats) -> None:
    if not np.array_equal(value(scores), at_scores, equal_nan=True):
        raise ParameterError(
            "loss: the function returned different values when it was called again with the same "
            "y and f. It must not use random numbers or state from earlier calls."
        )


def _check_that_rows_are_separate(value: Value, scores: Floats, at_scores: Floats) -> None:
    """Change every second row's scores: the loss of the other rows must not change."""
    moved = scores.copy()
    moved[::2] += STEP * np.maximum(1.0, np.abs(moved[::2]))
    before, after = at_scores[1::2], value(moved)[1::2]
    changed = (after != before) & ~np.isnan(before)
    if changed.any():
        row = 2 * int(changed.argmax()) + 1
        raise ParameterError(
            f"loss: the loss of row {row} changes with the scores of other rows. The loss of a row "
            "must depend on its own scores only, without means, sums or sorting over rows."
        )


def _differences(
    value: Value, scores: Floats, output: int, at_scores: Floats
) -> tuple[Differences, Differences]:
    """Return slope and curvature along one score, from central differences of two widths."""
    column = (...,) if scores.ndim == 1 else (slice(None), output)
    step = STEP * np.maximum(1.0, np.abs(scores[column]))

    def moved(by: float) -> Floats:
        there = scores.copy()
        there[column] += by * step
        return value(there)

    with np.errstate(all="ignore"):
        far_down, down, up, far_up = (moved(by) for by in (-1.0, -0.5, 0.5, 1.0))
        largest = np.max(np.abs([far_down, at_scores, far_up]), axis=0)
        slopes = 0.5 * (far_up - far_down) / step, (up - down) / step
        curvatures = (
            (far_up - 2.0 * at_scores + far_down) / step**2,
            4.0 * (up - 2.0 * at_scores + down) / step**2,
        )
        return (
            _extrapolated(*slopes, ROUNDING * largest / step),
            _extrapolated(*curvatures, ROUNDING * largest / step**2),
        )


def _extrapolated(wide: Floats, narrow: Floats, rounding: Floats) -> Differences:
    """Return Richardson's extrapolation of differences of two widths."""
    apart = np.abs(wide - narrow)
    is_smooth = apart <= AGREES * np.abs(narrow) + rounding
    return Differences(narrow + (narrow - wide) / 3.0, is_smooth, rounding + 10.0 * apart)


def _compare(
    what: str, derivative: Floats, differences: Differences, is_smooth: Bools, where: str
) -> None:
    if not is_smooth.mean() >= ENOUGH:
        return
    error = np.abs(derivative - differences.estimate)
    size = np.maximum(np.abs(derivative), np.abs(differences.estimate))
    is_wrong = is_smooth & (error > WRONG * size + differences.rounding)
    if is_wrong.sum() <= TOO_MANY * is_smooth.sum():
        return
    row = int(is_wrong.argmax())
    raise ParameterError(
        f"loss: the {what} with respect to f{where} is {derivative[row]:.6g} in row {row}, but "
        f"finite differences of the loss give {differences.estimate[row]:.6g}; they disagree in "
        f"{is_wrong.sum()} of {len(is_wrong)} rows. Something in the function drops derivatives."
    )
