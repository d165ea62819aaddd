"""The interface of a device for the engine, and CUDA devices through CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

# An array on the device.
DeviceArray = Any


class Device(Protocol):
    """Memory and kernels of a device. Calls are queued; `read` waits for all of them."""

    @property
    def n_processors(self) -> int:
        """Multiprocessors."""

    @property
    def histogram_threads(self) -> int:
        """Threads of a block that adds up histograms."""

    @property
    def histogram_columns(self) -> int:
        """Columns that fit into the shared memory of such a block: 16 or 32."""

    @property
    def free_bytes(self) -> int:
        """Memory that could be reserved now."""

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
        """Reserve an array."""

    def upload(self, array: NDArray[Any]) -> DeviceArray:
        """Return a copy on the device."""

    def write(self, to: DeviceArray, array: NDArray[Any]) -> None:
        """Copy to an array of the device, of the same size and type."""

    def read(self, array: DeviceArray) -> NDArray[Any]:
        """Return a copy on the host."""

    def pointer(self, array: DeviceArray) -> int:
        """Return the address of an array."""

    def launch(
        self, kernel: str, grid: tuple[int, int], threads: int, *args: Any, shared_bytes: int = 0
    ) -> None:
        """Queue a kernel; arguments are arrays and NumPy scalars."""

    def recorded(self, queue: Callable[[], None]) -> Callable[[], None]:
        """Return a function that queues what `queue` launches, which is always the same."""


def bytes_to_device(device: Device, data: bytes) -> DeviceArray:
    """Return a copy of some bytes on the device."""
    return device.upload(np.frombuffer(data, np.uint8))
