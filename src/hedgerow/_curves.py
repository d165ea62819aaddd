"""The data of diagnostic plots of predictions: ROC, calibration, residuals, survival.

Both `hedgerow.plot` and the report show what is computed here, so that their numbers agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from hedgerow._types import Bools, Floats

CONFIDENCE = 0.95
# Rows in a window of a running median: this fraction of all rows, with this minimum.
WINDOW, FEWEST_ROWS = 0.1, 15
MEDIAN_POINTS = 100


@dataclass(frozen=True, eq=False)
class ThresholdCounts:
    """Weights of the rows predicted positive at each threshold, from the highest to the lowest.

    The first threshold is infinite: no row is predicted positive.
    """

    thresholds: Floats
    false_positive: Floats
    true_positive: Floats

    @classmethod
    def of(cls, is_positive: Bools, score: Floats, weight: Floats | None = None) -> ThresholdCounts:
        """Count at each distinct score."""
        order = np.argsort(-score, kind="stable")
        score = score[order]
        weight = np.ones(len(score)) if weight is None else weight[order]
        positive = np.where(is_positive[order], weight, 0.0)
        # The last row of each score: rows with the same score are predicted positive together.
        last = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
        return cls(
            thresholds=np.concatenate([[np.inf], score[last]]),
            false_positive=np.concatenate([[0.0], np.cumsum(weight - positive)[last]]),
            true_positive=np.concatenate([[0.0], np.cumsum(positive)[last]]),
        )

    @property
    def positive(self) -> float:
        """The weight of all positive rows."""
        return float(self.true_positive[-1])

    @property
    def negative(self) -> float:
        """The weight of all negative rows."""
        return float(self.false_positive[-1])

    @property
    def fpr(self) -> Floats:
        """The false positive rate at each threshold."""
        return self.false_positive / self.negative

    @property
    def tpr(self) -> Floats:
        """The true positive rate, or recall, at each threshold."""
        return self.true_positive / self.positive

    @property
    def precision(self) -> Floats:
        """The precision at each threshold; 1 where no row is predicted positive."""
        predicted = self.true_positive + self.false_positive
        ones = np.ones_like(predicted)
        return np.divide(self.true_positive, predicted, out=ones, where=predicted > 0.0)

    @property
    def roc_auc(self) -> float:
        """The area under the ROC curve."""
        fpr, tpr = self.fpr, self.tpr
        return float(np.diff(fpr) @ (tpr[1:] + tpr[:-1]) / 2.0)

    @property
    def average_precision(self) -> float:
        """The mean of the precisions, weighted by the increase in recall at each threshold."""
        return float(np.sum(np.diff(self.tpr) * self.precision[1:]))

    def cost(self, false_positive: float, false_negative: float) -> Floats:
        """Return the expected cost per row at each threshold."""
        missed = self.positive - self.true_positive
        total = false_positive * self.false_positive + false_negative * missed
        return np.asarray(total / (self.positive + self.negative))


def area_and_contributions(is_positive: Bools, score: Floats) -> tuple[float, Floats]:
    """Return the area under the ROC curve, and what each row contributes to it.

    The area is the share of pairs of a positive and a negative row in which the positive one has
    the higher score; ties count ½. A positive row's share of the negative ones is V, and the
    variance of the area by DeLong is the variance of V over the m positive rows, divided by m, plus
    the same of negative rows. Contributions are (V − area) / √(m (m − 1)): the covariance of two
    areas on the same rows is the sum of the products of their contributions.
    """
    n_positive = int(np.count_nonzero(is_positive))
    counts = np.where(is_positive, n_positive, len(score) - n_positive)
    others = len(score) - counts
    above = rankdata(score) - _ranks_within(score, is_positive)  # rows of the other kind below it
    share = np.where(is_positive, above, others - above) / others
    area = float(share[is_positive].mean())
    return area, (share - area) / np.sqrt(counts * np.maximum(counts - 1.0, 1.0))


def _ranks_within(score: Floats, is_positive: Bools) -> Floats:
    """Return the rank of each row among those of its own kind; equal scores share their mean."""
    ranks = np.empty(len(score))
    for kind in (is_positive, ~is_positive):
        ranks[kind] = rankdata(score[kind])
    return ranks


def mean_curve(curves: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Return the mean of ROC curves (fpr, tpr) over the true positive rate, at each fpr.

    Where curves rise vertically, so does their mean: its area is the mean of their areas.
    """
    grid = np.unique(np.concatenate([fpr for fpr, _ in curves]))
    ends = [_ends_at(grid, fpr, tpr) for fpr, tpr in curves]
    low, high = (np.mean([pair[i] for pair in ends], axis=0) for i in (0, 1))
    return np.repeat(grid, 2), np.column_stack([low, high]).ravel()


def _ends_at(grid: Floats, fpr: Floats, tpr: Floats) -> tuple[Floats, Floats]:
    """Return the lowest and the highest point of a curve at each fpr of a grid."""
    at, first = np.unique(fpr, return_index=True)
    low, high = tpr[first], tpr[np.append(first[1:], len(fpr)) - 1]
    place = np.searchsorted(at, grid, side="right") - 1
    after = np.minimum(place + 1, len(at) - 1)
    width = np.where(after > place, at[after] - at[place], 1.0)
    between = high[place] + (low[after] - high[place]) * (grid - at[place]) / width
    is_at = at[place] == grid
    return np.where(is_at, low[place], between), np.where(is_at, high[place], between)


@dataclass(frozen=True, eq=False)
class CalibrationBins:
    """Mean probability and frequency of the positive class in bins of the probability.

    `low` and `high` are the ends of Wilson's intervals for the frequency, `weight` is the weight of
    the rows of each bin and `n_rows` their number. Bins without rows are left out.
    """

    probability: Floats
    frequency: Floats
    low: Floats
    high: Floats
    weight: Floats
    n_rows: NDArray[np.int64]

    @property
    def expected_error(self) -> float:
        """The expected calibration error: mean |frequency − probability|, weighted by rows."""
        return float(np.average(np.abs(self.frequency - self.probability), weights=self.weight))


def calibration_bins(
    is_positive: Bools,
    probability: Floats,
    weight: Floats | None = None,
    *,
    n_bins: int = 10,
    strategy: str = "quantile",
) -> CalibrationBins:
    """Return the points of a reliability diagram.

    Bins have the same width ("uniform") or about the same number of rows ("quantile").
    """
    weight = np.ones(len(probability)) if weight is None else weight
    shares = np.linspace(0.0, 1.0, n_bins + 1)
    edges = shares if strategy == "uniform" else np.quantile(probability, shares)
    place = np.searchsorted(edges[1:-1], probability)  # on an edge: in the bin below
    total = np.bincount(place, weight, minlength=n_bins).astype(np.float64)
    used = total > 0.0

    def mean(values: Floats) -> Floats:
        means: Floats = np.bincount(place, weight * values, minlength=n_bins)[used] / total[used]
        return means

    frequency = mean(is_positive.astype(np.float64))
    # Weighted rows carry as much information as this number of rows of equal weight.
    effective = total[used] ** 2 / np.bincount(place, weight * weight, minlength=n_bins)[used]
    low, high = wilson_interval(frequency, effective)
    n_rows = np.bincount(place, minlength=n_bins)[used]
    return CalibrationBins(mean(probability), frequency, low, high, total[used], n_rows)


def wilson_interval(frequency: Any, n: Any) -> tuple[Any, Any]:
    """Return Wilson's 95 % interval (1927) for a probability, from its frequency in n rows."""
    z = ndtri(0.5 + CONFIDENCE / 2.0)
    centre = (frequency + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z * np.sqrt(frequency * (1.0 - frequency) / n + z * z / (4.0 * n * n))
    half = half / (1.0 + z * z / n)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def running_median(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the medians of y over the rows with nearby x, along x."""
    order = np.argsort(x, kind="stable")
    n_rows = len(order)
    half = min(max(int(WINDOW * n_rows), FEWEST_ROWS), n_rows) // 2
    middle = np.unique(np.linspace(half, n_rows - 1 - half, MEDIAN_POINTS).round().astype(np.intp))
    windows = [order[max(m - half, 0) : m + half + 1] for m in middle]
    line_x = np.array([np.median(x[rows]) for rows in windows])
    return line_x, np.array([np.median(y[rows]) for rows in windows])


def kaplan_meier(times: Floats, is_event: Bools) -> tuple[Floats, Floats]:
    """Return Kaplan and Meier's survival curve: times in order, and the share alive after each."""
    at, place = np.unique(times, return_inverse=True)
    events, ended = np.bincount(place, is_event), np.bincount(place)
    at_risk = len(times) - np.append(0, np.cumsum(ended)[:-1])
    return at, np.cumprod(1.0 - events / at_risk)


def histogram(values: Floats, most_bars: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return the edges and counts of bars; values beyond the middle 99.8 % are in the outer bars.

    If the values are integers in a small range, each integer has its own bar.
    """
    # Halves, because the difference of two large numbers may overflow.
    halves = 0.5 * values[np.isfinite(values)]
    if len(halves) == 0:
        return np.empty(0), np.empty(0, np.int64)
    low, high = np.quantile(halves, [0.001, 0.999])
    edges = _histogram_edges(halves, low, high, most_bars)
    counts, _ = np.histogram(np.clip(halves, low, high), edges)
    return 2.0 * edges, counts


def _histogram_edges(halves: Floats, low: float, high: float, most_bars: int) -> Floats:
    whole = 2.0 * halves
    if high - low < 0.5 * most_bars and (whole == np.round(whole)).all():
        return 0.5 * (np.arange(np.floor(2.0 * low), np.ceil(2.0 * high) + 2.0) - 0.5)
    edges = np.linspace(low, high, min(most_bars, len(np.unique(halves))) + 1)
    if (np.diff(edges) > 0.0).all():
        return edges
    return low + max(abs(low), 1.0) * np.array([-0.25, 0.25])


def some_rows(n_rows: int, most: int, seed: int = 0) -> NDArray[np.intp]:
    """Return all rows or, of more than `most`, a random sample in their order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.RandomState(seed).permutation(n_rows)[:most])


def thinned(n: int, most: int) -> NDArray[np.intp]:
    """Return the indices of at most `most` of n points, including the first and the last."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))
