"""Quantile regression forests (Meinshausen, 2006).

A row's distribution is that of the training targets in the leaves where it ends: every tree gives
each training row of its leaf the same part of its vote, and the votes of all trees are added up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow._types import Floats

_BLOCK = 1 << 21  # votes that are sorted at a time


@dataclass(frozen=True, eq=False)
class LeafTargets:
    """The training rows of each leaf: those of leaf l are ``rows[starts[l]:starts[l + 1]]``."""

    rows: NDArray[np.uint32]
    starts: NDArray[np.int64]
    targets: Floats
    """(n_rows, n_outputs)"""
    weights: Floats

    @classmethod
    def of(
        cls, leaves: NDArray[np.int32], n_leaves: int, y: Floats, weights: Floats | None
    ) -> LeafTargets:
        """List the rows of each leaf; `leaves` has a leaf for each row and tree."""
        weights = np.ones(len(y)) if weights is None else weights
        order = np.argsort(leaves, axis=None, kind="stable")
        rows = (order // leaves.shape[1]).astype(np.uint32)
        counts = np.bincount(leaves.reshape(-1), minlength=n_leaves)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(rows, starts, y, weights)

    def quantiles(self, leaves: NDArray[np.int32], quantiles: Floats) -> Floats:
        """Return the quantiles of rows by their leaves, (n_rows, n_quantiles, n_outputs).

        A quantile q is the least target at which the votes so far reach q of all votes.
        """
        result = np.empty((len(leaves), len(quantiles), self.targets.shape[1]))
        sizes = np.diff(self.starts)
        per_row = max(1, int(sizes[leaves].sum(axis=1).max(initial=1)))
        step = max(1, _BLOCK // per_row)
        for begin in range(0, len(leaves), step):
            block = slice(begin, begin + step)
            result[block] = self._of_block(leaves[block], sizes, quantiles)
        return result

    def _of_block(
        self, leaves: NDArray[np.int32], sizes: NDArray[np.int64], quantiles: Floats
    ) -> Floats:
        """List the votes of all rows in the order of their targets; see where they reach q."""
        leaf_of_vote = leaves.reshape(-1)
        n_votes = sizes[leaf_of_vote]
        position = np.arange(n_votes.sum()) - np.repeat(np.cumsum(n_votes) - n_votes, n_votes)
        voters = self.rows[np.repeat(self.starts[leaf_of_vote], n_votes) + position]
        weight = self.weights[voters]
        total = np.add.reduceat(weight, np.cumsum(n_votes) - n_votes)
        vote = weight / np.repeat(total, n_votes)
        query_of_vote = np.repeat(np.arange(len(leaves)), n_votes.reshape(leaves.shape).sum(axis=1))
        ends = np.cumsum(np.bincount(query_of_vote, minlength=len(leaves)))
        result = np.empty((len(leaves), len(quantiles), self.targets.shape[1]))
        for output, targets in enumerate(self.targets.T):
            order = np.lexsort((targets[voters], query_of_vote))
            sorted_targets, votes = targets[voters][order], vote[order]
            for i, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
                reached = np.cumsum(votes[begin:end])
                # Rounding must not carry a quantile past a target that reaches it exactly.
                at = np.searchsorted(reached, (quantiles - 1e-12) * reached[-1])
                result[i, :, output] = sorted_targets[begin:end][at]
        return result
