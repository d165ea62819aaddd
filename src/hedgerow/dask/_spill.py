"""A file for partitions that cannot be binned yet, because thresholds depend on all rows.

The file has no name, so the system removes it when the worker closes it or is killed. Arrays are
memory-mapped: they take memory only where they have been read, and `release` frees it.
"""

from __future__ import annotations

import mmap
import pickle
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64  # bytes: kernels read vectors
_COPIED = 1 << 20  # bytes of an array with gaps between its rows that are copied at a time
_NUMBERS = "biuf"


@dataclass(frozen=True)
class StoredNumbers:
    """Where an array of numbers is in a file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int

    def read(self, view: memoryview) -> NDArray[Any]:
        """Return the array, which cannot be written to."""
        return np.ndarray(self.shape, self.dtype, view, self.begin)


@dataclass(frozen=True)
class StoredValues:
    """Where any other array is in a file: its pickle, and the buffers that this refers to."""

    spans: list[tuple[int, int]]

    def read(self, view: memoryview) -> Any:
        """Return the array, which cannot be written to."""
        pickled, *buffers = (view[begin:end] for begin, end in self.spans)
        return pickle.loads(pickled, buffers=buffers)


Stored = StoredNumbers | StoredValues


class SpillFile:
    """Arrays in a file, in a folder of the worker: all are written before the first is read."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115  closed in the next line
        weakref.finalize(self, self._file.close)  # when nobody refers to it
        self._lock = threading.Lock()
        self._map: mmap.mmap | None = None

    def write(self, arrays: Iterable[Any]) -> list[Stored]:
        """Append arrays of NumPy or pandas; return where they are."""
        with self._lock:
            try:
                stored = [self._write(array) for array in arrays]
                self._file.flush()
            except OSError as error:
                reason = f"{error.strerror}, for a partition that waits in {self._folder}"
                raise OSError(error.errno, reason) from error
        return stored

    def _write(self, array: Any) -> Stored:
        if isinstance(array, np.ndarray) and array.dtype.kind in _NUMBERS:
            begin, _ = self._append(_blocks(array))
            return StoredNumbers(array.dtype, array.shape, begin)
        buffers: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(array, 5, buffer_callback=buffers.append)
        return StoredValues([self._append([pickled]), *(self._append([b.raw()]) for b in buffers)])

    def _append(self, blocks: Iterable[Any]) -> tuple[int, int]:
        begin = -(-self._file.tell() // _ALIGNMENT) * _ALIGNMENT
        self._file.seek(begin)
        for block in blocks:
            self._file.write(block)
        return begin, self._file.tell()

    def read(self, stored: Sequence[Stored]) -> list[Any]:
        """Return arrays, which cannot be written to."""
        with self._lock:
            if self._map is None:
                self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return [array.read(memoryview(self._map)) for array in stored]

    def release(self) -> None:
        """Give back the memory of what was read; who looks at it again reads it again."""
        if self._map is not None and hasattr(self._map, "madvise"):  # not on Windows
            self._map.madvise(mmap.MADV_DONTNEED)


def _blocks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the rows of an array in order, some at a time if they have to be copied."""
    if array.flags.c_contiguous:
        yield array
        return
    row_bytes = max(array[:1].nbytes, 1)
    step = max(_COPIED // row_bytes, 1)
    for start in range(0, len(array), step):
        yield np.ascontiguousarray(array[start : start + step])
