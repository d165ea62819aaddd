"""Labels in an order in which those whose rows are alike follow each other (Apley and Zhu)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import LabelColumn, NumericColumn
from hedgerow._types import Floats

# The number of quantiles at which two distributions are compared.
_QUANTILES = 100
# Places on the line that differ by less, as parts of its length, are the same: rounding.
_ROUNDING = 1e-9


def order_by_similarity(
    codes: NDArray[Any],
    levels: Sequence[int],
    labels: Sequence[Any],
    others: Sequence[NumericColumn | LabelColumn],
) -> list[int]:
    """Return the order of some levels of a column.

    Two levels are as far apart as the distributions of the other columns among their rows: for
    numbers the largest difference of the two distribution functions, for labels half the sum of the
    differences of their frequencies. Levels are laid out on a line by these distances (classical
    scaling); where it begins is decided by the labels, and so are ties.

    Parameters
    ----------
    codes : array of shape (n_rows,)
        The level of each row.
    levels : sequence of int
        Codes to bring into order.
    labels : sequence
        A label for each of them.
    others : sequence of columns
        The other columns of the table.
    """
    rows = [codes == level for level in levels]
    distance = np.zeros((len(levels), len(levels)))
    for column in others:
        distance += _distances(_distributions(column, rows), isinstance(column, LabelColumn))
    place = _on_a_line(distance)
    by_label = sorted(range(len(levels)), key=lambda k: labels[k])
    for k in by_label:  # the first label that is off the middle lies to the left
        if abs(place[k]) > _ROUNDING:
            place = place if place[k] < 0.0 else -place
            break
    rank = {k: position for position, k in enumerate(by_label)}
    rounded = np.rint(place / _ROUNDING)
    return sorted(range(len(levels)), key=lambda k: (rounded[k], rank[k]))


def _distributions(
    column: NumericColumn | LabelColumn, rows: Sequence[NDArray[np.bool_]]
) -> Floats:
    """Return for each level the distribution function at quantiles, or the labels' frequencies."""
    if isinstance(column, LabelColumn):
        n_labels = len(column.labels) + 1  # missing counts as a label
        counts = [np.bincount(column.codes[of] + 1, minlength=n_labels) for of in rows]
        return np.array([count / max(count.sum(), 1) for count in counts])
    missing, numbers = column.is_missing(), column.values.astype(np.float64)
    if missing.all():
        return np.zeros((len(rows), 1))
    at = quantiles(numbers[~missing], _QUANTILES)
    return np.array([_distribution_function(numbers[of & ~missing], at) for of in rows])


def quantiles(numbers: Floats, count: int) -> Floats:
    """Return up to this number of quantiles, from the smallest number to the largest."""
    if not len(numbers):
        return np.empty(0)
    shares = np.linspace(0.0, 1.0, count)
    return np.unique(np.quantile(numbers, shares, method="inverted_cdf"))


def _distribution_function(numbers: Floats, at: Floats) -> Floats:
    below = np.searchsorted(np.sort(numbers), at, side="right")
    return below / max(len(numbers), 1)


def _distances(distributions: Floats, are_frequencies: bool) -> Floats:
    apart = np.abs(distributions[:, np.newaxis] - distributions[np.newaxis])
    return apart.sum(axis=2) / 2.0 if are_frequencies else apart.max(axis=2)


def _on_a_line(distance: Floats) -> Floats:
    """Return places on a line, from −1 to 1, whose distances are near to the given ones."""
    squared = distance**2
    by_row = squared.mean(axis=1, keepdims=True)
    products = -0.5 * (squared - by_row - by_row.T + squared.mean())
    _, vectors = np.linalg.eigh(products)
    place: Floats = vectors[:, -1]
    longest = np.abs(place).max()
    return place / longest if distance.any() else np.zeros(len(place))
