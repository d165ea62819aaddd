"""DART (Rashmi and Gilad-Bachrach, 2015): a round is fitted to what some of the others miss.

A few rounds are dropped, the new trees are grown without them, and then the new and the dropped
share the ground that both cover: of k dropped rounds, new trees are scaled by 1 / (k + η) and the
dropped ones by k / (k + η), where η is the learning rate. No tree is then so much more important
than those after it as the first ones are without dropping.
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

    `most` is how many may be dropped at once.
    """

    rate: float
    skip: float
    most: int
    seed: int

    def of_round(self, index: int) -> list[int]:
        """Return the earlier rounds that a round drops; the seed and its number decide."""
        draws = np.random.RandomState([self.seed % 2**32, index])
        if draws.random_sample() < self.skip:
            return []
        dropped = np.flatnonzero(draws.random_sample(index) < self.rate)
        if len(dropped) > self.most:
            dropped = np.sort(draws.permutation(dropped)[: self.most])
        return [int(round_) for round_ in dropped]


class DartRounds:
    """Grows rounds with drops; `trees` are those of all rounds, scaled as they are by now.

    After a drop, scores are added up anew, in the order of the trees: they are those of a model
    that was read from a file, to the last bit.
    """

    def __init__(
        self,
        trainer: BoostsRounds,
        grow_round: Callable[[int], Sequence[Tree]],
        drops: Drops,
        learning_rate: float,
        score: Callable[[Sequence[Tree]], Floats],
        trees: Sequence[Tree],
    ) -> None:
        self._trainer, self._grow_round, self._score = trainer, grow_round, score
        self._drops, self._learning_rate = drops, learning_rate
        self.trees = list(trees)
        self.has_dropped = False

    def __call__(self, index: int) -> Sequence[Tree]:
        """Grow a round; return its trees, scaled."""
        dropped = self._drops.of_round(index)
        self.has_dropped = bool(dropped)
        if not dropped:
            grown = self._grow_round(index)
            self.trees += grown
            return grown
        per_round = len(self.trees) // index
        is_dropped = [t // per_round in dropped for t in range(len(self.trees))]
        kept = [tree for tree, out in zip(self.trees, is_dropped, strict=True) if not out]
        self._trainer.scores[...] = self._score(kept)
        grown = self._grow_round(index)
        k, rate = len(dropped), self._learning_rate
        for t in np.flatnonzero(is_dropped):
            self.trees[t] = self.trees[t].scaled(k / (k + rate))
        grown = [tree.scaled(1.0 / (k + rate)) for tree in grown]
        self.trees += grown
        self._trainer.scores[...] = self._score(self.trees)
        return grown
