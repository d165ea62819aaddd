"""Predictions that keep their word, by rows that were not trained on.

Of classes: scores become probabilities anew, so that of the rows which are given 80 % about 80 %
are of that class. Of numbers: intervals get the width that covers the part asked for (split
conformal prediction, which needs nothing of the model but that these rows are like new ones).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._links import fit_sigmoid
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError

Method = Literal["sigmoid", "isotonic", "temperature"]

# The logarithm of the temperature is looked for between ± this, by halving so often.
COLDEST, HALVINGS = 8.0, 60
# Rows that a block of an isotonic regression has beside its own, half of each of two classes.
PRIOR_ROWS = 2.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """How raw scores (n, K) become probabilities.

    Attributes
    ----------
    method : {"sigmoid", "isotonic", "temperature"}
        A sigmoid for each class (Platt), a rising function for each, or all scores divided by one
        number.
    slope, offset : arrays of shape (K,)
        Of sigmoids and temperature: what a score is multiplied by, and what is added.
    x, y : arrays
        Of rising functions: scores and their probabilities, those of all classes one after another.
    start : array of shape (K + 1,)
        Where those of each class begin.
    """

    method: Method
    slope: Floats
    offset: Floats
    x: Floats
    y: Floats
    start: NDArray[np.int64]

    def probabilities(self, scores: Floats) -> Floats:
        """Return P(class 1) of one score a row, else the probability of every class."""
        if self.method == "isotonic":
            raw = np.column_stack([self._risen(k, column) for k, column in enumerate(scores.T)])
        else:
            raw = scores * self.slope + self.offset
            if self.method == "temperature" and raw.shape[1] > 1:
                _native.softmax_inplace(raw)
            else:
                _native.sigmoid_inplace(raw)
        return raw[:, 0].copy() if raw.shape[1] == 1 else _normalised(raw)

    def _risen(self, k: int, scores: Floats) -> Floats:
        own = slice(self.start[k], self.start[k + 1])
        return np.interp(scores, self.x[own], self.y[own])


def calibrate(
    method: Method, scores: Floats, classes: NDArray[np.intp], weights: Floats | None
) -> Calibration:
    """Find the calibration that suits rows of these scores (n, K) and class numbers."""
    n_outputs = scores.shape[1]
    counts = np.bincount(classes, weights, minlength=max(2, n_outputs))
    if np.count_nonzero(counts) < 2:
        raise DataError("calibration needs rows of two classes at least, but y has one.")
    w = np.ones(len(scores)) if weights is None else weights
    slope, offset = np.ones(n_outputs), np.zeros(n_outputs)
    x: list[Floats] = []
    y: list[Floats] = []
    if method == "temperature":
        slope[:] = _inverse_temperature(scores, classes, w)
    for k in range(n_outputs if method != "temperature" else 0):
        is_class = classes == (1 if n_outputs == 1 else k)
        if method == "sigmoid":
            A, B = fit_sigmoid(scores[:, k], np.where(is_class, 1.0, -1.0), w)
            slope[k], offset[k] = -A, -B
        else:
            centres, risen = _rising(scores[:, k], is_class, w, 1.0 / max(2, n_outputs))
            x.append(centres)
            y.append(risen)
    start = np.append(0, np.cumsum([len(part) for part in x])).astype(np.int64)
    empty = np.empty(0)
    return Calibration(
        method, slope, offset, np.concatenate([empty, *x]), np.concatenate([empty, *y]), start
    )


def _rising(
    scores: Floats, is_class: NDArray[np.bool_], w: Floats, prior: float
) -> tuple[Floats, Floats]:
    """Return scores and rising probabilities to interpolate between.

    Isotonic regression pools neighbours into blocks. At the ends they are often of one class, and
    their frequencies 0 and 1: too sure of a few rows, and infinitely bad if wrong. So a block's
    probability is Laplace's estimate, as if two more rows were there that know nothing; and it
    stands at the mean score of its rows, for the ends of a block are where they are by chance.
    """
    counts = w > 0.0
    scores, hits, w = scores[counts], is_class[counts].astype(np.float64), w[counts]
    pooled = IsotonicRegression().fit(scores, hits, w).predict(scores)
    block = np.unique(pooled, return_inverse=True)[1]
    weight = np.bincount(block, w)
    centre = np.bincount(block, w * scores) / weight
    estimate = (np.bincount(block, w * hits) + PRIOR_ROWS * prior) / (weight + PRIOR_ROWS)
    # Small blocks move further than large ones, perhaps past their neighbours.
    risen = IsotonicRegression().fit(centre, estimate, weight + PRIOR_ROWS).predict(centre)
    return centre, np.asarray(risen, np.float64)


def _inverse_temperature(scores: Floats, classes: NDArray[np.intp], w: Floats) -> float:
    """Return the β that makes the classes most likely under scores β s: a convex problem."""
    both = np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores
    own = both[np.arange(len(both)), classes]

    def slope(beta: float) -> float:
        p = beta * both
        _native.softmax_inplace(p)
        return sum_of(w * ((p * both).sum(axis=1) - own))

    low, high = -COLDEST, COLDEST
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(math.exp(middle)) < 0.0 else (low, middle)
    return math.exp(0.5 * (low + high))


def _normalised(raw: Floats) -> Floats:
    total = raw.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, raw / np.where(total > 0.0, total, 1.0), 1.0 / raw.shape[1])


def interval(
    prediction: Floats,
    residuals: Floats,
    levels: tuple[float, ...] | None,
    coverage: float,
    scale: Floats | float = 1.0,
) -> Floats:
    """Return lower and upper ends, (n, 2), that cover this part of new rows.

    Parameters
    ----------
    prediction : array of shape (n,) or (n, K)
        A number a row, or quantiles.
    residuals : array of shape (m, 1) or (m, K)
        y less the predictions, divided by their scale, of rows that were not trained on.
    levels : tuple of K floats, or None
        Which quantiles are predicted: the pair that covers about as much as is asked for is made
        wider or narrower. None if the prediction is one number.
    coverage : float
        The part to be covered.
    scale : float or array of shape (n,)
        What widths are in proportion to.
    """
    if levels is None or len(levels) == 1:
        low = high = prediction if prediction.ndim == 1 else prediction[:, 0]
        missed = np.abs(residuals[:, 0])
    else:
        i, j = _nearest_pair(levels, coverage)
        low, high = prediction[:, i], prediction[:, j]
        missed = np.maximum(-residuals[:, i], residuals[:, j])
    margin = _margin(missed, coverage) * scale
    ends = np.column_stack([low - margin, high + margin])
    # A negative margin may make ends of a narrow interval pass each other: they meet half-way.
    middle = ends.mean(axis=1)
    crossed = ends[:, 0] > ends[:, 1]
    ends[crossed] = middle[crossed, np.newaxis]
    return ends


def _nearest_pair(levels: tuple[float, ...], coverage: float) -> tuple[int, int]:
    """Return the two levels whose distance is nearest to the coverage, and nearest to symmetric."""
    pairs = combinations(range(len(levels)), 2)
    return min(
        pairs,
        key=lambda ij: (
            round(abs(levels[ij[1]] - levels[ij[0]] - coverage), 9),
            abs(levels[ij[0]] + levels[ij[1]] - 1.0),
        ),
    )


def _margin(missed: Floats, coverage: float) -> float:
    """Return the ⌈(m + 1) coverage⌉-th smallest of m: a new row's is as likely at any rank."""
    m = len(missed)
    rank = math.ceil((m + 1) * coverage - 1e-9)
    if rank > m:
        fewest = math.ceil(coverage / (1.0 - coverage) - 1e-9)
        raise ParameterError(
            f"coverage={coverage!r} needs at least {fewest} rows for calibration; there were {m}."
        )
    return float(np.partition(missed, rank - 1)[rank - 1])
