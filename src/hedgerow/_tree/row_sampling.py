"""Which rows a round grows its trees on: a hash of the seed, the round and the row decides."""

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
    """The rows of a round, in increasing order, and how often each counts; None: all, once."""

    rows: NDArray[np.uint32] | None
    factor: Floats | None = None

    def weights(self, weights: Floats | None, n_rows: int) -> Floats | None:
        """Return the weights of all rows, times how often those that are drawn count."""
        if self.factor is None or self.rows is None:
            return weights
        counted = np.ones(n_rows) if weights is None else weights.copy()
        counted[self.rows] *= self.factor
        return counted


@dataclass(frozen=True)
class RowSampler:
    """How the rows of each round are drawn.

    Attributes
    ----------
    n_rows : int
        Rows to draw from.
    fraction : float
        Part of them that a round has, on average.
    seed : int
        Key of the draws.
    sampling : {"uniform", "balanced", "group", "gradient", "minimal_variance"}
        "balanced" draws as many of each kind of rows as of the rarest, or `fraction` of that many;
        "group" draws whole units; the last two draw by gradients, and what is drawn by chance
        counts for those that are not.
    kind : int32 array (n_rows,), optional
        The class of each row, for "balanced".
    unit : int32 array (n_rows,), optional
        The group of each row, for "group".
    reg_lambda : float
        λ, which minimal variance weighs hessians by.
    """

    n_rows: int
    fraction: float = 1.0
    seed: int = 0
    sampling: Sampling = "uniform"
    kind: NDArray[np.int32] | None = None
    unit: NDArray[np.int32] | None = None
    reg_lambda: float = 1.0

    def by_gradient(self, round_index: int) -> _native.Draw | None:
        """Return the draw that gradients decide, if they do."""
        if self.sampling not in BY_GRADIENT or self.fraction >= 1.0:
            return None
        return _native.Draw(self.sampling, self.fraction, self.reg_lambda, self.seed, round_index)

    def bag(
        self, round_index: int, gradient_sample: tuple[NDArray[np.uint32], Floats] | None
    ) -> Bag:
        """Return the rows of a round; `drawn` are those that gradients decided on."""
        if gradient_sample is not None:
            rows, factor = gradient_sample
            return Bag(rows, factor) if len(rows) else Bag(self._one_row(round_index))
        if self.fraction >= 1.0 and self.sampling != "balanced":
            return Bag(None)
        kind = self.kind if self.sampling == "balanced" else None
        unit = self.unit if self.sampling == "group" else None
        fractions = np.array([self.fraction]) if kind is None else self._balance(kind)
        rows = _native.sample_rows(self.seed, round_index, self.n_rows, fractions, kind, unit)
        return Bag(rows if len(rows) else self._one_row(round_index))

    def _balance(self, kind: NDArray[np.int32]) -> Floats:
        counts = np.bincount(kind)
        rarest = counts[counts > 0].min()
        return self.fraction * rarest / np.maximum(counts, 1)

    def _one_row(self, round_index: int) -> NDArray[np.uint32]:
        """Return some row: a round must have one."""
        return np.array([round_index % self.n_rows], np.uint32)
