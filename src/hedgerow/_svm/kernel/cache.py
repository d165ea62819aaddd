"""An LRU cache of rows of the kernel matrix, within a memory budget."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._svm.kernel.kernels import KernelTable
from hedgerow._types import RowNumbers


class RowCache:
    """Kernel values of some rows with all rows, in slots of one array."""

    def __init__(self, table: KernelTable, megabytes: float, least: int) -> None:
        """Cache as many rows as fit into `megabytes`, but at least `least`."""
        self.table = table
        self.megabytes = megabytes
        self.least = least
        self._room: NDArray[Any] = np.empty(0, table.dtype)
        self._empty()

    def room(self, n: int) -> NDArray[Any]:
        """Return memory for kernel values of n rows with one another, the same every time."""
        if len(self._room) < _native.pair_room(n):
            self._room = np.empty(_native.pair_room(n), self.table.dtype)
        return self._room

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

    def move_to_subset(self, rows: RowNumbers, threads: int) -> RowCache:
        """Return a cache for a subset of the rows, with their cached values, and empty this one."""
        subset = RowCache(self.table.take(rows, threads), self.megabytes, self.least)
        subset._room = self._room
        cached = np.flatnonzero(self._slot[rows] >= 0)[: len(subset.values)]
        _native.take_kernels(
            self.values, self._slot[rows[cached]], rows, subset.values[: len(cached)], threads
        )
        subset._owner[: len(cached)], subset._slot[cached] = cached, np.arange(len(cached))
        self._empty()
        return subset

    def slots(self, rows: RowNumbers, threads: int) -> RowNumbers:
        """Return the slots of these rows, computing the rows that are not cached."""
        self._now += 1
        cached = self._slot[rows] >= 0
        self._used[self._slot[rows[cached]]] = self._now
        if not cached.all():
            is_missing = np.zeros(len(self._slot), bool)
            is_missing[rows[~cached]] = True
            missing = np.flatnonzero(is_missing)
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
