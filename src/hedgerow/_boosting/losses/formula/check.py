"""Is a written loss what it is taken for? Its derivatives are compared with differences.

A loss is one number for each row, made from that row's own scores, the same whenever it is asked
for. If it is not, or if a derivative is not the limit of differences of the loss itself, a fit
would minimise something else; so this is looked at before the first round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hedgerow._types import Bools, Floats
from hedgerow.exceptions import ParameterError

Value = Callable[[Floats], Floats]

# Steps of the differences beside scores of this size or 1: their errors are 1e-7 of the derivatives
# for smooth losses, and rounding adds 1e-13 of the loss to slopes, 1e-10 to curvatures.
STEP = 1e-3
# Differences of a step and of half of it agree better than this, unless a corner is near.
AGREES = 0.01
# What is this far off is wrong: no rounding and no bend of the loss explains it.
WRONG = 0.05
# Rounding of a loss may be so many times that of its last operation.
ROUNDING = 64.0 * float(np.finfo(np.float64).eps)
# Parts of the rows: how many must be away from corners to tell, and how many of those be wrong.
ENOUGH, TOO_MANY = 0.5, 0.01
# Scores of a row that are looked at, at most; each costs four calls of the loss.
MOST_OUTPUTS = 8


class Differences(NamedTuple):
    """Slope or curvature from differences, whether they can be trusted, and what rounding adds."""

    estimate: Floats
    is_smooth: Bools
    rounding: Floats


def check_rows(value: Value, scores: Floats) -> None:
    """Raise `ParameterError` unless a loss repeats, and is one of each row by itself.

    Parameters
    ----------
    value : function of scores
        The loss of every row, shape (n,).
    scores : array of shape (n,) or (n, K)
        Where.
    """
    at_scores = value(scores)
    _check_that_it_repeats(value, scores, at_scores)
    _check_that_rows_are_separate(value, scores, at_scores)


def check_derivatives(value: Value, scores: Floats, first: Floats, second: Floats) -> None:
    """Raise `ParameterError` unless derivatives, both of shape (K, n), are those of the loss."""
    at_scores = value(scores)
    looked_at = np.unique(np.linspace(0, len(first) - 1, MOST_OUTPUTS).astype(np.intp))
    for output in looked_at.tolist():
        slope, curvature = _differences(value, scores, output, at_scores)
        where = "" if scores.ndim == 1 else f"[:, {output}]"
        _compare("gradient", first[output], slope, slope.is_smooth & curvature.is_smooth, where)
        _compare("hessian", second[output], curvature, slope.is_smooth & curvature.is_smooth, where)


def _check_that_it_repeats(value: Value, scores: Floats, at_scores: Floats) -> None:
    if not np.array_equal(value(scores), at_scores, equal_nan=True):
        raise ParameterError(
            "loss: the function returned other numbers when it was called again with the same y "
            "and f. It must not draw random numbers, nor keep anything from call to call."
        )


def _check_that_rows_are_separate(value: Value, scores: Floats, at_scores: Floats) -> None:
    """Move every second row's scores: the loss of the others must stay what it is."""
    moved = scores.copy()
    moved[::2] += STEP * np.maximum(1.0, np.abs(moved[::2]))
    before, after = at_scores[1::2], value(moved)[1::2]
    changed = (after != before) & ~np.isnan(before)
    if changed.any():
        row = 2 * int(changed.argmax()) + 1
        raise ParameterError(
            f"loss: the loss of row {row} changes with the scores of other rows. Each row's must "
            "be made from its own, without means or sums over the rows, or sorting of them."
        )


def _differences(
    value: Value, scores: Floats, output: int, at_scores: Floats
) -> tuple[Differences, Differences]:
    """Return slope and curvature by one score, from central differences of two widths."""
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
    """Take from differences of two widths what is common to them and to ever narrower ones."""
    apart = np.abs(wide - narrow)
    is_smooth = apart <= AGREES * np.abs(narrow) + rounding
    return Differences(narrow + (narrow - wide) / 3.0, is_smooth, rounding + 10.0 * apart)


def _compare(
    what: str, derivative: Floats, found: Differences, is_smooth: Bools, where: str
) -> None:
    if not is_smooth.mean() >= ENOUGH:
        return
    off = np.abs(derivative - found.estimate)
    size = np.maximum(np.abs(derivative), np.abs(found.estimate))
    is_wrong = is_smooth & (off > WRONG * size + found.rounding)
    if is_wrong.sum() <= TOO_MANY * is_smooth.sum():
        return
    row = int(is_wrong.argmax())
    raise ParameterError(
        f"loss: the {what} by f{where} is {derivative[row]:.6g} in row {row}, but differences of "
        f"the loss itself give {found.estimate[row]:.6g}; so it is in {is_wrong.sum()} of "
        f"{len(is_wrong)} rows. Something in the function loses derivatives."
    )
