"""An LRU cache of rows of the kernel matrix, within a memory budget."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._svm.kernel.kernels import KernelTable
from hedgerow._types import RowNumbers


class RowCache:
    """Kernel values of some rows with all rows, in slots of one array."""

    def __init__(self, table: KernelTable, megabytes: float, least: int) -> None:
        """Cache as many rows as fit into `megabytes`, but at least `least`."""
        self.table = table
        self.megabytes = megabytes
        self.least = least
        self._empty()

    def _empty(self) -> None:
        n = len(self.table)
        row_bytes = n * np.dtype(self.table.dtype).itemsize
        n_slots = min(n, max(self.least, int(self.megabytes * 2**20 / row_bytes)))
        # Pages of an empty array are allocated when a row is first written.
        self.values: NDArray[Any] = np.empty((n_slots, n), self.table.dtype)
        self._slot = np.full(n, -1)  # slot of each row
        self._owner = np.full(n_slots, -1)  # row in each slot
        self._used = np.zeros(n_slots, np.int64)  # time of the last use
        self._now = 0

    def move_to_subset(self, rows: RowNumbers) -> RowCache:
        """Return a cache for a subset of the rows, with their cached values, and empty this one."""
        subset = RowCache(self.table.take(rows), self.megabytes, self.least)
        cached = np.flatnonzero(self._slot[rows] >= 0)[: len(subset.values)]
        for slot, row in enumerate(cached):
            np.take(self.values[self._slot[rows[row]]], rows, out=subset.values[slot], mode="clip")
        subset._owner[: len(cached)], subset._slot[cached] = cached, np.arange(len(cached))
        self._empty()
        return subset

    def slots(self, rows: RowNumbers, threads: int) -> RowNumbers:
        """Return the slots of these rows, computing the rows that are not cached."""
        self._now += 1
        cached = self._slot[rows] >= 0
        self._used[self._slot[rows[cached]]] = self._now
        if not cached.all():
            missing = np.unique(rows[~cached])
            free = self._least_used(len(missing))
            evicted = self._owner[free]
            self._slot[evicted[evicted >= 0]] = -1
            # If the computation fails, these slots count as empty.
            self._owner[free] = -1
            self.table.fill(missing, free, self.values, threads)
            self._owner[free], self._slot[missing] = missing, free
            self._used[free] = self._now
        return self._slot[rows]

    def _least_used(self, count: int) -> RowNumbers:
        return np.argsort(self._used, kind="stable")[:count]
