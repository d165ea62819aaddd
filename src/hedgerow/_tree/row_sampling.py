"""Row sampling: the rows of each round, by hashes of the seed, the round and the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._types import Floats

Sampling = Literal["uniform", "balanced", "group", "gradient", "minimal_variance"]
BY_GRADIENT = ("gradient", "minimal_variance")


@dataclass(frozen=True)
class Bag:
    """The rows of a round, in increasing order, and the factors of their weights; None is all."""

    rows: NDArray[np.uint32] | None
    factor: Floats | None = None

    def weights(self, weights: Floats | None, n_rows: int) -> Floats | None:
        """Return the weights of all rows, with those of the sampled rows multiplied by `factor`."""
        if self.factor is None or self.rows is None:
            return weights
        product = np.ones(n_rows) if weights is None else weights.copy()
        product[self.rows] *= self.factor
        return product


@dataclass(frozen=True)
class RowSampler:
    """Samples the rows of each round.

    Attributes
    ----------
    n_rows : int
        Rows of the training set.
    fraction : float
        Expected fraction of the rows in a round.
    seed : int
        Random seed.
    sampling : {"uniform", "balanced", "group", "gradient", "minimal_variance"}
        "balanced" samples as many rows of each class as of the rarest, times `fraction`; "group"
        samples whole groups; the last two sample by gradients, with larger weights for rows that
        are sampled with a smaller probability.
    row_class : int32 array (n_rows,), optional
        The class of each row, for "balanced".
    row_group : int32 array (n_rows,), optional
        The group of each row, for "group".
    reg_lambda : float
        λ, used by "minimal_variance".
    """

    n_rows: int
    fraction: float = 1.0
    seed: int = 0
    sampling: Sampling = "uniform"
    row_class: NDArray[np.int32] | None = None
    row_group: NDArray[np.int32] | None = None
    reg_lambda: float = 1.0

    def by_gradient(self, round_index: int) -> _native.Draw | None:
        """Return the sampling by gradients; None if it is not by gradients."""
        if self.sampling not in BY_GRADIENT or self.fraction >= 1.0:
            return None
        return _native.Draw(self.sampling, self.fraction, self.reg_lambda, self.seed, round_index)

    def bag(
        self, round_index: int, gradient_sample: tuple[NDArray[np.uint32], Floats] | None
    ) -> Bag:
        """Return the rows of a round; `gradient_sample` is the result of sampling by gradients."""
        if gradient_sample is not None:
            rows, factor = gradient_sample
            return Bag(rows, factor) if len(rows) else Bag(self._one_row(round_index))
        if self.fraction >= 1.0 and self.sampling != "balanced":
            return Bag(None)
        classes = self.row_class if self.sampling == "balanced" else None
        groups = self.row_group if self.sampling == "group" else None
        fractions = np.array([self.fraction]) if classes is None else self._balance(classes)
        rows = _native.sample_rows(self.seed, round_index, self.n_rows, fractions, classes, groups)
        return Bag(rows if len(rows) else self._one_row(round_index))

    def _balance(self, classes: NDArray[np.int32]) -> Floats:
        """Return the fraction of each class."""
        counts = np.bincount(classes)
        rarest = counts[counts > 0].min()
        return self.fraction * rarest / np.maximum(counts, 1)

    def _one_row(self, round_index: int) -> NDArray[np.uint32]:
        """Return one row: a round must not be empty."""
        return np.array([round_index % self.n_rows], np.uint32)
