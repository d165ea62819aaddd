"""Numbers of a table to bins on the device, with the bins of the CPU.

An array on the host is copied in pieces through pinned memory, by several threads, since one
thread reads memory more slowly than the device takes it; a piece is binned while the next ones are
copied. The numbers themselves are not kept on the device.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._cuda.device import Device, DeviceArray
from hedgerow._cuda.memory import GROUP_COLUMNS, ROW_THREADS
from hedgerow._data.binning import UnbinnedMatrix, report_infinity

PIECE_BYTES = 8 << 20
N_COPIERS = 8


def bin_on_device(matrix: UnbinnedMatrix, device: Device, by_column: DeviceArray) -> None:
    """Write the bins of a table, (n_features, n_rows)."""
    numbers = matrix.numbers
    n_infinite = device.upload(np.zeros(1, np.uint32))
    thresholds = device.upload(rounded_down(matrix.threshold_values, numbers.dtype))
    starts = device.upload(matrix.threshold_starts)
    kernel = "bin_floats" if numbers.dtype == np.float32 else "bin_doubles"
    n_rows, n_features = numbers.shape

    def bin_piece(piece: DeviceArray, strides: tuple[int, int], rows: range) -> None:
        blocks = min(-(-len(rows) // ROW_THREADS), 8 * device.n_processors)
        grid = (blocks, -(-n_features // GROUP_COLUMNS))
        device.launch(
            kernel, grid, ROW_THREADS, piece, *(np.int64(stride) for stride in strides),
            np.uint64(len(rows)), np.uint64(rows.start), thresholds, starts, np.int32(n_features),
            np.uint64(n_rows), by_column, n_infinite,
        )  # fmt: skip

    of_piece = max(1, PIECE_BYTES // max(1, n_features * numbers.itemsize))
    pieces = [range(n_rows)[first : first + of_piece] for first in range(0, n_rows, of_piece)]
    is_by_column = numbers.flags.f_contiguous and not numbers.flags.c_contiguous
    size = min(of_piece, n_rows) * n_features
    buffers = [_Buffer(device, size, numbers.dtype) for _ in range(min(2 * N_COPIERS, len(pieces)))]
    queue_lock = Lock()

    def copy_every(start: int) -> None:
        """Copy every so many pieces, through a buffer of their own."""
        buffer = buffers[start]
        for rows in pieces[start :: len(buffers)]:
            piece = numbers[rows.start : rows.stop]
            buffer.fill(piece.T if is_by_column else piece)
            with queue_lock:
                buffer.send()
                bin_piece(
                    buffer.on_device, (1, len(rows)) if is_by_column else (n_features, 1), rows
                )
                buffer.mark()

    with ThreadPoolExecutor(N_COPIERS) as pool:
        list(pool.map(copy_every, range(len(buffers))))
    if int(device.read(n_infinite)[0]):
        report_infinity(matrix.table)


class _Buffer:
    """A piece of a table on its way: pinned memory, and its place on the device."""

    def __init__(self, device: Device, size: int, dtype: np.dtype[Any]) -> None:
        self._device = device
        self._on_host = device.host_buffer(size * dtype.itemsize).view(dtype)
        self.on_device = device.empty(size, dtype)
        self._wait = device.marker()
        self._n = 0

    def fill(self, numbers: NDArray[Any]) -> None:
        """Copy numbers into pinned memory, once it has been read."""
        self._wait()
        self._n = numbers.size
        self._on_host[: self._n].reshape(numbers.shape)[...] = numbers

    def send(self) -> None:
        """Queue the copy to the device."""
        self._device.copy_from_host(self._on_host[: self._n], self.on_device)

    def mark(self) -> None:
        """Remember what has to be done before the next piece is copied here."""
        self._wait = self._device.marker()


def rounded_down(thresholds: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return thresholds in the type of a column, so that no x ≤ threshold changes."""
    with np.errstate(over="ignore"):  # infinity, which becomes the largest number
        rounded = thresholds.astype(dtype)
    too_large = rounded.astype(np.float64) > thresholds
    rounded[too_large] = np.nextafter(rounded[too_large], dtype.type(-np.inf))
    return rounded
