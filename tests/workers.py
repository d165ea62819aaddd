"""Several workers in one process: threads that wait for each other to reduce numbers."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from patience import LONG


class ThreadReduction:
    """Sums and maxima over the threads of one group."""

    def __init__(self, rank, barrier, numbers):
        self._rank, self._barrier, self._numbers = rank, barrier, numbers

    def _all(self, numbers):
        self._numbers[self._rank] = numbers.copy()
        self._barrier.wait(timeout=LONG)
        everyone = np.stack(self._numbers)
        self._barrier.wait(timeout=LONG)
        return everyone

    def sum(self, numbers):
        return self._all(numbers).sum(axis=0, dtype=np.uint64)

    def max(self, numbers):
        return self._all(numbers).max(axis=0)


def on_workers(n_workers, task):
    """Run task(rank, reduction) on each worker; return the results in the order of ranks."""
    barrier, numbers = Barrier(n_workers), [None] * n_workers

    def run(rank):
        try:
            return task(rank, ThreadReduction(rank, barrier, numbers))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(n_workers) as pool:
        return list(pool.map(run, range(n_workers)))


def first_rows(rng, n_rows, n_workers):
    """Return where each worker's rows begin, and the end; some workers may have no rows."""
    inner = np.sort(rng.integers(0, n_rows + 1, n_workers - 1)).tolist()
    return [0, *inner, n_rows]
