"""The rows and columns that each base model is fitted on.

They are determined by a seed and the round, so that samples need not be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._estimator import Estimator
from hedgerow._forest.class_samples import draws_from_same_rows, have_same_classes
from hedgerow._tree.cart import BootstrapSamples
from hedgerow._types import Floats, Indices
from hedgerow.exceptions import DataError, ParameterError

# Above all seeds of a `random_state`, so that rows and columns are drawn independently.
_OTHER_SEEDS = 2**32


@dataclass(frozen=True, eq=False)
class BaggingSamples:
    """How rows and columns are sampled in each round.

    Rows are drawn uniformly, in proportion to `weights`, or are the user's `fixed` samples.
    """

    n_rows: int
    n_features: int
    rows: BootstrapSamples
    columns: BootstrapSamples
    weights: Floats | None = None
    fixed: tuple[Indices, ...] | None = None

    def samples(self, index: int) -> Indices:
        """Return the rows of a round; repeated rows are listed repeatedly."""
        if self.fixed is not None:
            return self.fixed[index]
        return np.repeat(np.arange(self.n_rows), self.counts(index))

    def counts(self, index: int) -> NDArray[np.integer[Any]]:
        """Return how often each row is in the sample of a round."""
        if self.fixed is not None:
            return np.bincount(self.fixed[index], minlength=self.n_rows)
        if self.weights is not None:
            return np.bincount(self._weighted(index, self.weights), minlength=self.n_rows)
        return self.rows.counts(index, self.n_rows)

    def features(self, index: int) -> Indices:
        """Return the columns of a round."""
        counts = self.columns.counts(index, self.n_features)
        return np.repeat(np.arange(self.n_features), counts)

    @property
    def takes_all_columns(self) -> bool:
        """Whether every round has all columns, once each."""
        return not self.columns.bootstrap and self.columns.n_draws == self.n_features

    def random_state(self, index: int) -> np.random.RandomState:
        """Return the random state that seeds the estimator of a round."""
        return np.random.RandomState([self.rows.seed, index])

    def _weighted(self, index: int, weights: Floats) -> Indices:
        stream = np.random.RandomState([self.rows.seed, index, 1])
        up_to = np.cumsum(weights)
        return np.searchsorted(
            up_to / up_to[-1], stream.random_sample(self.rows.n_draws), side="right"
        )

    def continues(self, last: BaggingSamples, n_rounds: int) -> bool:
        """Return whether the first rounds have the same samples as another."""
        mine, theirs = (
            (sampling.n_rows, sampling.n_features, sampling.rows, sampling.columns)
            for sampling in (self, last)
        )
        if mine != theirs or (self.fixed is None) != (last.fixed is None):
            return False
        if not draws_from_same_rows(self.rows, last.rows):
            return False
        if not have_same_classes(self.rows, last.rows):
            return False
        if self.fixed is not None and last.fixed is not None:
            pairs = zip(self.fixed[:n_rounds], last.fixed, strict=True)
            return all(np.array_equal(a, b) for a, b in pairs)
        if self.weights is None or last.weights is None:
            return self.weights is last.weights
        return np.array_equal(self.weights, last.weights)


def column_samples(estimator: Estimator, n_features: int, seed: int) -> BootstrapSamples:
    """Return how columns are drawn, by `max_features` and `bootstrap_features`."""
    max_features = estimator.max_features
    n_draws = (
        int(max_features)
        if isinstance(max_features, Integral)
        else max(1, int(max_features * n_features))
    )
    if n_draws > n_features:
        raise ParameterError(
            f"max_features={max_features} is more than the {n_features} columns of X."
        )
    return BootstrapSamples(
        n_draws, bootstrap=bool(estimator.bootstrap_features), seed=seed + _OTHER_SEEDS
    )


def read_samples(samples: Any, n_rounds: int, n_rows: int) -> tuple[Indices, ...]:
    """Check the samples that the user provides for each round."""
    if not isinstance(samples, Sequence | np.ndarray) or len(samples) != n_rounds:
        raise DataError(
            f"samples must be a list of n_estimators={n_rounds} arrays of row numbers, got "
            f"{len(samples) if hasattr(samples, '__len__') else type(samples).__name__}."
        )
    return tuple(_read_sample(sample, place, n_rows) for place, sample in enumerate(samples))


def _read_sample(sample: Any, place: int, n_rows: int) -> Indices:
    rows = np.asarray(sample)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(rows) == 0:
        raise DataError(f"samples[{place}] must be a list of one or more row numbers.")
    outside = (rows < 0) | (rows >= n_rows)
    if outside.any():
        raise DataError(
            f"samples[{place}] contains row {rows[outside][0]}, but X has rows 0 … {n_rows - 1}."
        )
    return rows.astype(np.intp)
