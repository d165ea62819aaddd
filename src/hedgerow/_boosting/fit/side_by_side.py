"""Several chains of work on several threads: trials, or the models whose mean is taken.

A chain is an iterator whose steps depend on each other, such as the rounds of a model. A thread
takes a step of the chain that has come least far, then of the next. So four chains keep three
threads busy until all of them end, at about the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from heapq import heapify, heappop, heappush
from threading import Lock
from typing import Any

Chain = Iterator[Any]


class SideBySide:
    """Threads that run chains to their ends."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self._pool = ThreadPoolExecutor(n_workers) if n_workers > 1 else None

    def run(self, chains: Sequence[Chain]) -> None:
        """Take all steps of all chains. If one of them raises, the others stop after their step."""
        if self._pool is None:
            for chain in chains:
                for _ in chain:
                    pass
            return
        waiting = _Waiting(chains)
        n_workers = min(self._n_workers, len(chains))
        running = [self._pool.submit(waiting.take_steps) for _ in range(n_workers)]
        try:
            for each in running:
                each.result()
        except BaseException:  # an interrupt of this thread included
            waiting.clear()
            raise

    def close(self) -> None:
        """End the threads, once they have nothing left to do."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)


class _Waiting:
    """The chains that no thread works on, by the number of their steps so far."""

    def __init__(self, chains: Sequence[Chain]) -> None:
        self._chains, self._lock = chains, Lock()
        self._heap = [(0, number) for number in range(len(chains))]
        self._is_cleared = False
        heapify(self._heap)

    def take_steps(self) -> None:
        """Advance chains for as long as one is waiting.

        Where none is, those that are left have a thread each.
        """
        try:
            while (taken := self._take()) is not None:
                n_steps, number = taken
                if next(self._chains[number], _END) is not _END:
                    self._put_back(n_steps + 1, number)
        except BaseException:
            self.clear()
            raise

    def clear(self) -> None:
        """Let no further step begin."""
        with self._lock:
            self._heap, self._is_cleared = [], True

    def _take(self) -> tuple[int, int] | None:
        with self._lock:
            return heappop(self._heap) if self._heap else None

    def _put_back(self, n_steps: int, number: int) -> None:
        with self._lock:
            if not self._is_cleared:
                heappush(self._heap, (n_steps, number))


_END = object()
