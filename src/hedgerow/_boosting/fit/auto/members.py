"""The mean of several boosted models that differ by their seed, grown side by side.

A round of each model in turn: tree after tree they stand in one ensemble, their leaves divided by
the number of models, so that the sum of the first rounds is the mean of what the models were then.
That number is a power of 2: dividing by it rounds nothing, and a fit that was broken off finds the
scores of each model again.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from hedgerow._boosting.fit.round_grower import GrowRound, rounds_of_one
from hedgerow._boosting.fit.settings import Settings
from hedgerow._boosting.fit.training_set import Prepared
from hedgerow._boosting.model import BoostedModel
from hedgerow._tree.structure import Ensemble, Tree


def rounds_of_several(
    prepared: Prepared, settings: Settings, start: BoostedModel | None, n_members: int
) -> Members:
    """Return what grows rounds of several models, after those of `start` if it has any."""
    n_threads = max(1, settings.n_threads // n_members)
    members = []
    for number, seed in enumerate(member_seeds(settings.seed, n_members)):
        own = replace(settings, seed=seed, n_threads=n_threads)
        before = start
        if start is not None:
            before = replace(start, ensemble=member_of(start.ensemble, number, n_members))
        members.append(rounds_of_one(prepared, own, before))
    # A user's function may not expect to be called from several threads.
    return Members(members, settings.n_threads if prepared.problem.is_native else 1)


def member_seeds(seed: int, n_members: int) -> list[int]:
    """Return a seed for each model; that of the first is the fit's own."""
    others = np.random.RandomState(seed % 2**32).randint(2**31, size=n_members - 1)
    return [seed, *map(int, others)]


def member_of(ensemble: Ensemble, number: int, n_members: int) -> Ensemble:
    """Return one of the models in an ensemble of them."""
    return ensemble.of_rounds(range(number, ensemble.n_rounds, n_members)).scaled(n_members)


class Members:
    """Grows rounds of the models in turn; those of the same number at once, in threads."""

    def __init__(self, members: Sequence[GrowRound], n_workers: int) -> None:
        self._members = members
        self._grown: dict[int, Sequence[Tree]] = {}
        n_workers = min(n_workers, len(members))
        self._pool = ThreadPoolExecutor(n_workers) if n_workers > 1 else None

    def __call__(self, index: int) -> Sequence[Tree]:
        """Return the trees of a round; the rounds must be asked for in their order."""
        if index not in self._grown:
            self._grow_from(index)
        return self._grown.pop(index)

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)

    def _grow_from(self, index: int) -> None:
        """Grow this round, and the same round of the models that come after in turn."""
        round_, first = divmod(index, len(self._members))
        run = map if self._pool is None else self._pool.map
        grown = run(lambda member: member(round_), self._members[first:])
        self._grown = {index + i: self._divided(trees) for i, trees in enumerate(grown)}

    def _divided(self, trees: Sequence[Tree]) -> list[Tree]:
        return [tree.scaled(1.0 / len(self._members)) for tree in trees]
