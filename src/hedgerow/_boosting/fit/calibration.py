"""Calibration of a fitted model on a holdout.

Classification: new probabilities for the scores, such that about 80 % of the rows with probability
80 % belong to the class. Regression: the width of prediction intervals that have the requested
coverage (split conformal prediction, which only assumes that the holdout is like new rows).
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from hedgerow import _native
from hedgerow._arithmetic import sum_of
from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.losses import BaseLoss, FormulaLoss
from hedgerow._boosting.model import BoostedModel, Calibration, CalibrationMethod
from hedgerow._estimator import Estimator
from hedgerow._links import fit_sigmoid, prediction_of
from hedgerow._types import Floats
from hedgerow.exceptions import DataError, ParameterError

# The logarithm of the temperature is found by bisection between ± the first number.
MAX_LOG_TEMPERATURE, BISECTIONS = 8.0, 60
# Rows added to every block of an isotonic regression, half of each of two classes.
PRIOR_ROWS = 2.0


def require_calibratable(loss: BaseLoss, classes: Any, estimator: Estimator) -> None:
    """Raise if models with this loss cannot be calibrated."""
    if loss.n_targets > 1:
        raise ParameterError("calibration needs a y with one column; fit one model per column.")
    if isinstance(loss, FormulaLoss) and not loss.predicts_targets:
        raise ParameterError(
            f"loss={estimator.loss!r} cannot be calibrated: its {loss.n_outputs} "
            "scores are not predictions of y."
        )
    if classes is not None and (loss.is_soft or loss.link == "margin"):
        raise ParameterError(
            f"loss={estimator.loss!r} cannot be calibrated: it has no classes or no probabilities."
        )


def calibrate_model(
    model: BoostedModel, loss: BaseLoss, holdout: Dataset, method: Any, n_threads: int
) -> BoostedModel:
    """Return the model, calibrated on rows that it was not trained on."""
    rows = model.rows(holdout.table, n_threads)
    scores = model.ensemble.predict_raw(rows, offset=holdout.offset, n_threads=n_threads)
    if model.classes is None:
        prediction = prediction_of(scores, model.link).reshape(len(scores), -1)
        errors = holdout.target[:, np.newaxis] - prediction
        spread = loss.spread.learned_from(scores, errors)
        return replace(model, residuals=errors / spread.scale(scores), spread=spread)
    index = holdout.target.astype(np.intp)
    return replace(model, calibration=fit_calibration(method, scores, index, holdout.weights))


def fit_calibration(
    method: CalibrationMethod, scores: Floats, classes: NDArray[np.intp], weights: Floats | None
) -> Calibration:
    """Fit a calibration to the scores (n, K) and class indices of a holdout."""
    n_outputs = scores.shape[1]
    counts = np.bincount(classes, weights, minlength=max(2, n_outputs))
    if np.count_nonzero(counts) < 2:
        raise DataError("calibration needs rows of at least two classes, but y has one.")
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
            centres, p = _isotonic(scores[:, k], is_class, w, 1.0 / max(2, n_outputs))
            x.append(centres)
            y.append(p)
    start = np.append(0, np.cumsum([len(of_class) for of_class in x])).astype(np.int64)
    empty = np.empty(0)
    return Calibration(
        method, slope, offset, np.concatenate([empty, *x]), np.concatenate([empty, *y]), start
    )


def _isotonic(
    scores: Floats, is_class: NDArray[np.bool_], w: Floats, prior: float
) -> tuple[Floats, Floats]:
    """Return scores and increasing probabilities, to interpolate between.

    Isotonic regression pools neighbours into blocks. The first and last often have a single class,
    so that their frequencies are 0 and 1: too certain for a few rows, and infinitely bad if wrong.
    A block's probability is therefore Laplace's estimate, as if two uninformative rows were added.
    It is placed at the mean score of the block, because the ends of a block are random.
    """
    counts = w > 0.0
    scores, hits, w = scores[counts], is_class[counts].astype(np.float64), w[counts]
    pooled = IsotonicRegression().fit(scores, hits, w).predict(scores)
    block = np.unique(pooled, return_inverse=True)[1]
    weight = np.bincount(block, w)
    centre = np.bincount(block, w * scores) / weight
    estimate = (np.bincount(block, w * hits) + PRIOR_ROWS * prior) / (weight + PRIOR_ROWS)
    # Small blocks move further than large ones, perhaps past their neighbours.
    p = IsotonicRegression().fit(centre, estimate, weight + PRIOR_ROWS).predict(centre)
    return centre, np.asarray(p, np.float64)


def _inverse_temperature(scores: Floats, classes: NDArray[np.intp], w: Floats) -> float:
    """Return the β with the largest likelihood of the classes for scores β s: a convex problem."""
    both = np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores
    own = both[np.arange(len(both)), classes]

    def slope(beta: float) -> float:
        p = beta * both
        _native.softmax_inplace(p)
        return sum_of(w * ((p * both).sum(axis=1) - own))

    low, high = -MAX_LOG_TEMPERATURE, MAX_LOG_TEMPERATURE
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(math.exp(middle)) < 0.0 else (low, middle)
    return math.exp(0.5 * (low + high))


def interval(
    prediction: Floats,
    residuals: Floats,
    levels: tuple[float, ...] | None,
    coverage: float,
    scale: Floats | float = 1.0,
) -> Floats:
    """Return lower and upper bounds, (n, 2), that cover a fraction of new rows.

    Parameters
    ----------
    prediction : array of shape (n,) or (n, K)
        One number per row, or quantiles.
    residuals : array of shape (m, 1) or (m, K)
        y minus the predictions for the calibration set, divided by their scale.
    levels : tuple of K floats, or None
        The levels of predicted quantiles: the pair with the nearest coverage is widened or
        narrowed. None if there is one prediction per row.
    coverage : float
        The fraction to be covered.
    scale : float or array of shape (n,)
        What widths are proportional to.
    """
    if levels is None or len(levels) == 1:
        low = high = prediction if prediction.ndim == 1 else prediction[:, 0]
        errors = np.abs(residuals[:, 0])
    else:
        i, j = _nearest_pair(levels, coverage)
        low, high = prediction[:, i], prediction[:, j]
        errors = np.maximum(-residuals[:, i], residuals[:, j])
    margin = _margin(errors, coverage) * scale
    bounds = np.column_stack([low - margin, high + margin])
    # A negative margin may make the bounds of a narrow interval cross: they meet half-way.
    middle = bounds.mean(axis=1)
    crossed = bounds[:, 0] > bounds[:, 1]
    bounds[crossed] = middle[crossed, np.newaxis]
    return bounds


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


def _margin(errors: Floats, coverage: float) -> float:
    """Return the ⌈(m + 1) coverage⌉-th smallest of m: a new row's has any rank equally likely."""
    m = len(errors)
    rank = math.ceil((m + 1) * coverage - 1e-9)
    if rank > m:
        fewest = math.ceil(coverage / (1.0 - coverage) - 1e-9)
        raise ParameterError(
            f"coverage={coverage!r} needs at least {fewest} rows for calibration; there were {m}."
        )
    return float(np.partition(errors, rank - 1)[rank - 1])
