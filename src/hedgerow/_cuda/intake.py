"""Copying the numbers of a table to the device, and binning them there as on the CPU.

An array on the host is copied in pieces through pinned memory, by several threads, since one
thread reads memory more slowly than the device takes it. Where the device has no room for all
numbers, a piece is binned while the next ones are copied, and not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._cuda.device import Device, DeviceArray
from hedgerow._cuda.memory import GROUP_COLUMNS, ROW_THREADS
from hedgerow._data.binning import UnbinnedMatrix, report_infinity

PIECE_BYTES = 8 << 20
N_COPIERS = 8
# What a fit needs besides the numbers, roughly: for a value, and for a row.
_BIN_BYTES, _ROW_BYTES = 3, 200


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """A table of float32 or float64 numbers on a device.

    Attributes
    ----------
    array : device array
        The numbers, from the first on.
    shape : (int, int)
        Rows and columns.
    strides : (int, int)
        Numbers from a row to the next, and from a column to the next.
    dtype : dtype
    """

    array: DeviceArray
    shape: tuple[int, int]
    strides: tuple[int, int]
    dtype: np.dtype[Any]


def rows_of_array(array: DeviceArray) -> DeviceRows:
    """Return a matrix of the device as a table."""
    row_stride, column_stride = (stride // array.itemsize for stride in array.strides)
    return DeviceRows(array, array.shape, (row_stride, column_stride), array.dtype)


def copy_rows(numbers: NDArray[Any], device: Device) -> DeviceRows | None:
    """Return a copy of a table on the device; None if that is too small for it and its bins."""
    n_rows, n_features = numbers.shape
    needed = numbers.nbytes + n_rows * (_BIN_BYTES * n_features + _ROW_BYTES)
    if needed > device.free_bytes:
        return None
    array = device.empty(numbers.size, numbers.dtype)
    is_by_column = numbers.flags.f_contiguous and not numbers.flags.c_contiguous
    lines = numbers.T if is_by_column else numbers

    def copied(buffer: _Buffer, own: range) -> None:
        width = lines.shape[1]
        buffer.send(array[own.start * width : own.stop * width])

    _copy_pieces(lines, device, copied)
    strides = (1, n_rows) if is_by_column else (n_features, 1)
    return DeviceRows(array, numbers.shape, strides, numbers.dtype)


def bin_on_device(matrix: UnbinnedMatrix, device: Device, by_column: DeviceArray) -> None:
    """Write the bins of a table, (n_features, n_rows); a copy of it on the device is dropped."""
    rows: DeviceRows | None = matrix.on_device.pop() if matrix.on_device else None
    if matrix.table.on_gpu is not None:
        rows = rows_of_array(matrix.table.on_gpu)
    dtype = matrix.numbers.dtype if rows is None else rows.dtype
    n_infinite = device.upload(np.zeros(1, np.uint32))
    thresholds = device.upload(rounded_down(matrix.threshold_values, dtype))
    starts = device.upload(matrix.threshold_starts)
    kernel = "bin_floats" if dtype == np.float32 else "bin_doubles"
    n_rows, n_features = matrix.n_rows, matrix.n_features

    def bin_piece(piece: DeviceArray, strides: tuple[int, int], own: range) -> None:
        blocks = min(-(-len(own) // ROW_THREADS), 8 * device.n_processors)
        grid = (blocks, -(-n_features // GROUP_COLUMNS))
        device.launch(
            kernel, grid, ROW_THREADS, piece, *(np.int64(stride) for stride in strides),
            np.uint64(len(own)), np.uint64(own.start), thresholds, starts, np.int32(n_features),
            np.uint64(n_rows), by_column, n_infinite,
        )  # fmt: skip

    def binned(buffer: _Buffer, own: range) -> None:
        buffer.send(buffer.on_device)
        bin_piece(buffer.on_device, (n_features, 1), own)

    if rows is None:
        _copy_pieces(matrix.numbers, device, binned)
    else:
        bin_piece(rows.array, rows.strides, range(n_rows))
    if int(device.read(n_infinite)[0]):
        report_infinity(matrix.table)


def _copy_pieces(
    lines: NDArray[Any], device: Device, consume: Callable[[_Buffer, range], None]
) -> None:
    """Copy some lines of a matrix at a time to pinned memory, from which they are sent."""
    n_lines, width = lines.shape
    of_piece = max(1, PIECE_BYTES // max(1, width * lines.itemsize))
    pieces = [range(n_lines)[first : first + of_piece] for first in range(0, n_lines, of_piece)]
    size = min(of_piece, n_lines) * width
    buffers = [_Buffer(device, size, lines.dtype) for _ in range(min(2 * N_COPIERS, len(pieces)))]
    queue_lock = Lock()

    def copy_every(start: int) -> None:
        """Copy every so many pieces, through a buffer of their own."""
        buffer = buffers[start]
        for own in pieces[start :: len(buffers)]:
            buffer.fill(lines[own.start : own.stop])
            with queue_lock:
                consume(buffer, own)
                buffer.mark()

    with ThreadPoolExecutor(N_COPIERS) as pool:
        list(pool.map(copy_every, range(len(buffers))))
    for buffer in buffers:  # pinned memory may have another owner soon
        buffer.wait()


class _Buffer:
    """A piece of a table on its way: pinned memory, and its place on the device."""

    def __init__(self, device: Device, size: int, dtype: np.dtype[Any]) -> None:
        self._device = device
        self._on_host = device.host_buffer(size * dtype.itemsize).view(dtype)
        self._size, self._dtype = size, dtype
        self.wait = device.marker()
        self._n = 0

    def fill(self, numbers: NDArray[Any]) -> None:
        """Copy numbers into pinned memory, once it has been read."""
        self.wait()
        self._n = numbers.size
        self._on_host[: self._n].reshape(numbers.shape)[...] = numbers

    @cached_property
    def on_device(self) -> DeviceArray:
        """A place on the device, for numbers that are not kept there."""
        return self._device.empty(self._size, self._dtype)

    def send(self, to: DeviceArray) -> None:
        """Queue the copy to the beginning of an array of the device."""
        self._device.copy_from_host(self._on_host[: self._n], to)

    def mark(self) -> None:
        """Remember what has to be done before the next piece is copied here."""
        self.wait = self._device.marker()


def rounded_down(thresholds: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return thresholds in the type of a column, so that no x ≤ threshold changes."""
    with np.errstate(over="ignore"):  # infinity, which becomes the largest number
        rounded = thresholds.astype(dtype)
    too_large = rounded.astype(np.float64) > thresholds
    rounded[too_large] = np.nextafter(rounded[too_large], dtype.type(-np.inf))
    return rounded
