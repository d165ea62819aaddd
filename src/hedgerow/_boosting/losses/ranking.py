"""Ranking losses, which compare the rows of a query.

The target has two numbers per row: its relevance and the number of its query. In losses it has
shape (2, n), elsewhere (n, 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._boosting.losses.base import BaseLoss, Differentiate
from hedgerow._types import Floats

RankingName = Literal["ndcg", "map", "pairwise", "listwise"]
Gain = Literal["exponential", "linear"] | Sequence[float]

# Beyond this, 2^relevance − 1 would dominate all smaller gains.
MOST_RELEVANCE = 30


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows sorted by query, stably: query q has the rows start[q] … start[q + 1] − 1."""

    row: NDArray[np.uint32]
    start: NDArray[np.int64]

    @classmethod
    def of(cls, number: Floats) -> Queries:
        """Sort rows by the number of their query; numbers without rows are skipped."""
        row = np.argsort(number, kind="stable").astype(np.uint32)
        begins = np.flatnonzero(np.diff(number[row], prepend=-1.0))
        return cls(row, np.append(begins, len(row)).astype(np.int64))

    @cached_property
    def query(self) -> NDArray[np.int64]:
        """The query of each sorted row."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def sum(self, values: Floats) -> Floats:
        """Return the sum of values, sorted by query, over each query."""
        return np.bincount(self.query, values).astype(np.float64, copy=False)

    def of_first(self, values: Floats) -> Floats:
        """Return the value of the first row of each query."""
        return values[self.row[self.start[:-1]]]

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """The rank of each sorted row in its query, from 0."""
        return np.arange(len(self.row)) - self.start[self.query]

    def by(self, values: Floats) -> NDArray[np.intp]:
        """Return the rows sorted by query and, within a query, by decreasing value."""
        return np.lexsort((-values[self.row], self.query))

    @cached_property
    def discount(self) -> Floats:
        """The discount of each sorted row's rank."""
        of_rank: Floats = _native.rank_discounts(int(np.diff(self.start).max(initial=0)))
        return of_rank[self.rank]


class RankingLoss(BaseLoss):
    """A loss of the order of scores within each query.

    With P_ij = 1 / (1 + e^(σ (s_i − s_j))), the probability that i, the more relevant of two rows,
    is ranked after j, "pairwise" is Σ −log(1 − P_ij). "ndcg" and "map" are defined by their
    gradients: those of "pairwise", with each pair weighted by the change of the metric if it were
    swapped (LambdaMART). "listwise" is the cross-entropy between the normalised gains and the
    softmax of the scores (ListNet).
    """

    def __init__(
        self, name: RankingName, gain: Gain, sigma: float, truncation: int | None, normalize: bool
    ) -> None:
        self.name = name
        self.metric = "map" if name == "map" else "ndcg"
        self.gain = gain
        self.sigma = float(sigma)
        self.truncation = np.iinfo(np.int64).max if truncation is None else int(truncation)
        self.normalize = bool(normalize)

    objects_to_rows = True

    def base_score(self, target: Floats, weights: Floats | None) -> Floats:  # noqa: ARG002
        """Return 0: only differences of scores matter."""
        return np.zeros(1)

    def base_score_given(self, offset: Floats, target: Floats, weights: Floats | None) -> Floats:  # noqa: ARG002
        """Return 0."""
        return np.zeros(1)

    def objection(self, target: Floats) -> str | None:
        """Object to relevances that have no gain."""
        relevance = target[:, 0]
        allowed, rule = self._allowed(relevance)
        if allowed.all():
            return None
        row = int(allowed.argmin())
        return f"y is {relevance[row]:g} in row {row}, but {rule}."

    def _allowed(self, relevance: Floats) -> tuple[NDArray[np.bool_], str]:
        """Return which relevances are allowed, and the rule as text."""
        is_whole = relevance == np.floor(relevance)
        if self.name == "map":
            return (relevance == 0.0) | (relevance == 1.0), "loss='map' needs 0 or 1"
        if not isinstance(self.gain, str):
            rule = f"gain has {len(self.gain)} numbers, for relevances 0 to {len(self.gain) - 1}"
            return is_whole & (relevance < len(self.gain)), rule
        if self.gain == "linear":
            return np.ones(len(relevance), bool), ""
        rule = f"gain='exponential' needs ints up to {MOST_RELEVANCE}; 'linear' takes any number"
        return is_whole & (relevance <= MOST_RELEVANCE), rule

    def outcome(self, target: Floats) -> Floats:
        """Return the relevance."""
        return target[:, 0]

    def gain_of(self, relevance: Floats) -> Floats:
        """Return the gains of relevances."""
        if self.name == "map" or (isinstance(self.gain, str) and self.gain == "linear"):
            return relevance
        if isinstance(self.gain, str):
            return np.ldexp(1.0, relevance.astype(np.intc)) - 1.0
        return np.asarray(self.gain, np.float64)[relevance.astype(np.intp)]

    def gradients(
        self, target: Floats, scores: Floats, weights: Floats | None
    ) -> tuple[Floats, Floats]:
        """Return gradient and hessian at scores (1, n), both (1, n), weights multiplied in."""
        return self.differentiator(target, weights)(scores)

    def differentiator(
        self, target: Floats, weights: Floats | None, n_threads: int = 1
    ) -> Differentiate:
        """Sort the rows by query, once for all rounds."""
        relevance, query = target
        queries = Queries.of(query)
        gain, scale = self._scaled(queries, self.gain_of(relevance[queries.row]))
        weight = np.ones_like(scale) if weights is None else queries.of_first(weights)

        def differentiate(scores: Floats) -> tuple[Floats, Floats]:
            g, h = np.empty_like(scores), np.empty_like(scores)
            _native.rank_gradients(
                self.name,
                self.sigma,
                self.truncation,
                self.normalize,
                queries.row,
                queries.start,
                gain,
                scale,
                weight,
                scores[0],
                g[0],
                h[0],
                n_threads,
            )
            return g, h

        return differentiate

    def _scaled(self, queries: Queries, gain: Floats) -> tuple[Floats, Floats]:
        """Return the gains, sorted by query, and the scale of each query, as kernels take them.

        Queries whose rows all have the same gain are skipped: their scale is 0.
        """
        begins = queries.start[:-1]
        differ = np.minimum.reduceat(gain, begins) < np.maximum.reduceat(gain, begins)
        total = queries.sum(gain)
        if self.name == "listwise":
            shares = gain / np.where(differ, total, 1.0)[queries.query]
            return shares, differ.astype(np.float64)
        if self.name == "ndcg":
            total = self._ideal(queries, gain)
        return gain, differ / np.where(differ & (self.name != "pairwise"), total, 1.0)

    def _ideal(self, queries: Queries, gain: Floats) -> Floats:
        """Return the ideal DCG of each query, up to the truncation level."""
        best = gain[np.lexsort((-gain, queries.query))]
        return queries.sum(np.where(queries.rank < self.truncation, best * queries.discount, 0.0))
