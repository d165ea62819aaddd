"""Rows of the kernel matrix that are kept: those used last, within a budget of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._svm.kernel.kernels import Table
from hedgerow._types import RowNumbers


class RowCache:
    """Kernels of some rows of a table with all of its rows, in slots of one array."""

    def __init__(self, table: Table, megabytes: float, least: int) -> None:
        """Keep what fits into the megabytes, but at least so many rows."""
        self.table = table
        self.megabytes = megabytes
        self.least = least
        self._empty()

    def _empty(self) -> None:
        n = len(self.table)
        row_bytes = n * np.dtype(self.table.dtype).itemsize
        n_slots = min(n, max(self.least, int(self.megabytes * 2**20 / row_bytes)))
        # Pages of an empty array are taken from the system when a row is first written.
        self.values: NDArray[Any] = np.empty((n_slots, n), self.table.dtype)
        self._slot = np.full(n, -1)  # of each row
        self._owner = np.full(n_slots, -1)  # of each slot
        self._used = np.zeros(n_slots, np.int64)  # when
        self._now = 0

    def give_to_part(self, rows: RowNumbers) -> RowCache:
        """Return a cache of some of the rows, with what this one holds of them, and empty this."""
        part = RowCache(self.table.take(rows), self.megabytes, self.least)
        held = np.flatnonzero(self._slot[rows] >= 0)[: len(part.values)]
        for slot, row in enumerate(held):
            np.take(self.values[self._slot[rows[row]]], rows, out=part.values[slot], mode="clip")
        part._owner[: len(held)], part._slot[held] = held, np.arange(len(held))
        self._empty()
        return part

    def slots(self, rows: RowNumbers, threads: int) -> RowNumbers:
        """Return where the kernels of these rows are, having computed those that were not there."""
        self._now += 1
        held = self._slot[rows] >= 0
        self._used[self._slot[rows[held]]] = self._now
        if not held.all():
            missing = np.unique(rows[~held])
            free = self._least_used(len(missing))
            evicted = self._owner[free]
            self._slot[evicted[evicted >= 0]] = -1
            # If the computation fails, nobody takes what is in these slots for kernels.
            self._owner[free] = -1
            self.table.fill(missing, free, self.values, threads)
            self._owner[free], self._slot[missing] = missing, free
            self._used[free] = self._now
        return self._slot[rows]

    def _least_used(self, count: int) -> RowNumbers:
        return np.argsort(self._used, kind="stable")[:count]
