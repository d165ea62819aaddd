"""Reads bins back from `by_row`: the specification of places in docs/architecture.md."""

import numpy as np


def decoded(matrix):
    """Return `by_column`, read from `by_row` through the places."""
    columns = np.concatenate([block[:, : matrix.width].T for block in matrix.by_row])
    features = zip(matrix.places, matrix.n_bins, strict=True)
    return np.array([_bins(columns, place, n_bins) for place, n_bins in features])


def _bins(columns, place, n_bins):
    column, first, zero_bin, stride, radix = place
    codes = columns[column].astype(int)
    if radix:
        codes = codes // stride % radix
    if zero_bin >= 0:
        is_own = (codes >= first) & (codes < first + n_bins - 1)
        bins = codes - first + (codes - first >= zero_bin)
        return np.where(is_own, bins, zero_bin)
    return np.where(codes == n_bins, 255, codes) if radix else codes
