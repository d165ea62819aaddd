"""Breiman's Forest-RC: trees that split on random linear combinations of a few inputs.

For tables of few columns, where trees on random inputs are too similar. The trees of a forest share
a random pool of combinations, each of which is binned like a column. Numeric inputs are scaled by
their standard deviations; a categorical input is 1 if its category is in a random half of the
column's categories, else 0. A missing input is replaced by its mean (½ for a category); if all
inputs are missing, so is the combination.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hedgerow._arithmetic import mean_of
from hedgerow._tree.structure import Rows
from hedgerow._types import Floats

# Size of the pool: many times the number that a node tries, so that trees differ. On Breiman's
# synthetic data, a pool of 1,024 was better than one of 256, and that better than one of 64.
_MAX, _MIN = 1024, 128
_BINNED_BYTES = 1 << 28  # in total: with many rows there are fewer combinations
_BLOCK = 1 << 22  # numbers of a temporary
_MIN_SAMPLED = 10_000
_BINS = 256


@dataclass(frozen=True, eq=False)
class Combinations:
    """A pool of combinations, each with the same number of inputs: indices and coefficients."""

    inputs: NDArray[np.int32]
    coefficients: Floats
    centres: Floats
    """The value that replaces a missing one, for each feature."""
    counts_as_one: NDArray[np.bool_]
    """The category bins that count as 1, for each input of each combination."""
    is_categorical: NDArray[np.bool_]

    @classmethod
    def draw(
        cls, matrix: Rows, is_categorical: NDArray[np.bool_], n_inputs: int, seed: int
    ) -> Combinations:
        """Draw the pool for a table."""
        rng = np.random.RandomState(seed)  # its streams never change
        n_features = matrix.shape[1]
        n_inputs = min(n_inputs, n_features)
        n_combinations = int(np.clip(_BINNED_BYTES // len(matrix), _MIN, _MAX))
        permutations = [rng.permutation(n_features)[:n_inputs] for _ in range(n_combinations)]
        inputs = np.array(permutations, np.int32)
        coefficients = rng.uniform(-1.0, 1.0, inputs.shape)
        counts_as_one = np.zeros((*inputs.shape, _BINS if is_categorical.any() else 0), bool)
        counts_as_one[...] = rng.random_sample(counts_as_one.shape) < 0.5
        centres, scales = np.full(n_features, 0.5), np.ones(n_features)
        for j in np.flatnonzero(~is_categorical).tolist():
            centres[j], scales[j] = _centre_and_scale(matrix[:, j])
        return cls(inputs, coefficients / scales[inputs], centres, counts_as_one, is_categorical)

    @property
    def n_inputs(self) -> int:
        """Number of inputs of a combination."""
        return self.inputs.shape[1]

    @property
    def n_combinations(self) -> int:
        """Number of combinations."""
        return len(self.inputs)

    def of(self, matrix: Rows) -> Floats:
        """Return the combinations of each row."""
        result = np.zeros((len(matrix), self.n_combinations))
        n_missing = np.zeros(result.shape, np.int32)
        for place in range(self.inputs.shape[1]):
            inputs = self.inputs[:, place]
            terms = matrix[:, inputs].astype(np.float64)
            for c in np.flatnonzero(self.is_categorical[inputs]).tolist():
                terms[:, c] = self._indicator(terms[:, c], c, place)
            missing = np.isnan(terms)
            terms = np.where(missing, self.centres[inputs], terms)
            result += terms * self.coefficients[:, place]
            n_missing += missing
        result[n_missing == self.inputs.shape[1]] = np.nan
        return result

    def blocks(self, matrix: Rows) -> Iterator[tuple[int, Floats]]:
        """Yield (first row, combinations) of each block of rows."""
        step = max(8, _BLOCK // self.n_combinations // 8 * 8)  # so that bits of rows fill bytes
        for first in range(0, max(len(matrix), 1), step):
            yield first, self.of(matrix[first : first + step])

    def sample(self, n_rows: int, seed: int) -> NDArray[np.intp]:
        """Return the combinations of the rows from which bins are computed."""
        n_sampled = min(n_rows, max(_MIN_SAMPLED, _BLOCK // self.n_combinations))
        return np.sort(np.random.RandomState(seed).permutation(n_rows)[:n_sampled])

    def _indicator(self, bins: Floats, combination: int, place: int) -> Floats:
        missing = np.isnan(bins)
        counted = self.counts_as_one[combination, place][np.where(missing, 0, bins).astype(np.intp)]
        return np.where(missing, np.nan, counted)

    def to_inputs(self, amounts: Floats) -> Floats:
        """Distribute values of combinations, (m, n_combinations), to their inputs, (m, n_features).

        Sums run over the combinations in order; that of a matrix product depends on the library.
        """
        shares = np.abs(self.coefficients)
        shares = shares / np.add.accumulate(shares, axis=1)[:, -1:]
        result = np.zeros((len(amounts), len(self.is_categorical)))
        for inputs, share in zip(self.inputs.T, shares.T, strict=True):
            parts = (np.bincount(inputs, share * own, result.shape[1]) for own in amounts)
            result += np.reshape(list(parts), result.shape)
        return result


def _centre_and_scale(values: NDArray[np.floating]) -> tuple[float, float]:
    present = values[~np.isnan(values)].astype(np.float64)
    if not len(present):
        return 0.0, 1.0
    largest = float(np.abs(present).max()) or 1.0  # so that squares do not overflow
    present /= largest
    centre = mean_of(present)
    deviation = sqrt(mean_of(np.square(present - centre))) * largest
    return centre * largest, deviation if deviation > 0.0 else 1.0
