"""DART (Rashmi and Gilad-Bachrach, 2015): rounds are fitted with some earlier rounds dropped.

The new trees are grown without the dropped rounds, and both are then scaled down, because they
explain the same residuals. With k dropped rounds and learning rate η, new trees are scaled by
1 / (k + η) and dropped ones by k / (k + η). So the first trees do not dominate those after them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow._tree.structure import Tree
from hedgerow._tree.trainer import BoostsRounds
from hedgerow._types import Floats


@dataclass(frozen=True)
class Drops:
    """Which rounds are dropped: each with probability `rate`, none with probability `skip`.

    At most `most` rounds are dropped at once.
    """

    rate: float
    skip: float
    most: int
    seed: int

    def of_round(self, index: int) -> list[int]:
        """Return the earlier rounds that a round drops, which depend on the seed and its index."""
        random = np.random.RandomState([self.seed % 2**32, index])
        if random.random_sample() < self.skip:
            return []
        dropped = np.flatnonzero(random.random_sample(index) < self.rate)
        if len(dropped) > self.most:
            dropped = np.sort(random.permutation(dropped)[: self.most])
        return [int(round_) for round_ in dropped]


class DartRounds:
    """A `RoundGrower` with dropout; `trees` have their current scale.

    After a drop, scores are recomputed in the order of the trees, so that they equal those of the
    model read from a file, bit for bit.
    """

    revises_trees = True

    def __init__(
        self,
        trainer: BoostsRounds,
        grow_rounds: Callable[[range], Sequence[Tree]],
        drops: Drops,
        learning_rate: float,
        score: Callable[[Sequence[Tree]], Floats],
        trees: Sequence[Tree],
    ) -> None:
        self._trainer, self._grow_rounds, self._score = trainer, grow_rounds, score
        self._drops, self._learning_rate = drops, learning_rate
        self.trees = list(trees)
        self.has_revised = False

    def grow(self, rounds: range) -> Sequence[Tree]:
        """Grow some rounds; return their trees, scaled."""
        return [tree for index in rounds for tree in self._grow_round(index)]

    def _grow_round(self, index: int) -> Sequence[Tree]:
        dropped = self._drops.of_round(index)
        self.has_revised = bool(dropped)
        if not dropped:
            grown = self._grow_rounds(range(index, index + 1))
            self.trees += grown
            return grown
        per_round = len(self.trees) // index
        is_dropped = [t // per_round in dropped for t in range(len(self.trees))]
        kept = [tree for tree, out in zip(self.trees, is_dropped, strict=True) if not out]
        self._trainer.scores[...] = self._score(kept)
        grown = self._grow_rounds(range(index, index + 1))
        k, rate = len(dropped), self._learning_rate
        for t in np.flatnonzero(is_dropped):
            self.trees[t] = self.trees[t].scaled(k / (k + rate))
        grown = [tree.scaled(1.0 / (k + rate)) for tree in grown]
        self.trees += grown
        self._trainer.scores[...] = self._score(self.trees)
        return grown

    def close(self) -> None:
        """Do nothing: there are no threads to end."""
