"""Dots of a swarm, piled up to both sides of a line where their values are close."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow._types import Floats


def swarm(
    values: Floats, level: Floats, width: float, most: int
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Return the rows to draw, where along the line, and how many dots above it each is.

    Values that fall into one bin of a dot's width are a pile at its centre, which lies as much
    above the line as below it. In a pile, dots are sorted by `level`, that of unknown level at the
    bottom. If a pile has more than `most` dots, piles of n dots are cut to most · √(n / largest),
    so that higher ones stay higher; dots are left out evenly.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Where dots are along the line.
    level : array of shape (n_rows,)
        What they are sorted by within a pile; NaN where unknown.
    width : float
        A dot's diameter, in the unit of the values.
    most : int
        Dots of the highest pile.
    """
    bins = np.floor(values / width + 0.5).astype(np.int64)
    order = np.lexsort((np.nan_to_num(level, nan=-1.0), bins))
    _, starts, sizes = np.unique(bins[order], return_index=True, return_counts=True)
    heights = sizes
    if sizes.max() > most:
        cut = np.ceil(most * np.sqrt(sizes / sizes.max())).astype(np.int64)
        heights = np.minimum(sizes, np.minimum(cut, most))
    rows, offsets = [], []
    for start, size, height in zip(starts, sizes, heights, strict=True):
        kept = ((np.arange(height) + 0.5) * size / height).astype(np.intp)
        rows.append(order[start + kept])
        offsets.append(np.arange(height) - (height - 1) / 2.0)
    drawn = np.concatenate(rows)
    return drawn, bins[drawn] * width, np.concatenate(offsets)
