"""Devices: their interface for the engine, and CUDA devices through CuPy."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hedgerow._cuda.module import KernelModule, load_module
from hedgerow.exceptions import DeviceError

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
    def shared_bytes(self) -> int:
        """Shared memory that a block can have."""

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

    def host_buffer(self, n_bytes: int) -> NDArray[np.uint8]:
        """Reserve memory of the host that `copy_to_host` can write."""

    def copy_to_host(self, array: DeviceArray, buffer: NDArray[np.uint8]) -> None:
        """Queue a copy of an array's bytes to a buffer of the host."""

    def copy_from_host(self, buffer: NDArray[Any], array: DeviceArray) -> None:
        """Queue a copy of a buffer of the host to the beginning of an array."""

    def marker(self) -> Callable[[], None]:
        """Return a function that waits for what has been queued so far."""

    def launch(
        self, kernel: str, grid: tuple[int, int], threads: int, *args: Any, shared_bytes: int = 0
    ) -> None:
        """Queue a kernel; arguments are arrays of the device, NumPy scalars and structs."""

    def recorded(self, queue: Callable[[], None]) -> Callable[[], None]:
        """Return a function that queues what `queue` launches, which is always the same."""

    def sort_rows(self, array: DeviceArray) -> None:
        """Sort each row of a matrix of integers, in place."""

    def smallest(self, numbers: DeviceArray, n: int, bound: int) -> DeviceArray | None:
        """Return where the n smallest of different numbers are, which must not exceed a bound.

        The result is None if there are fewer of these.
        """


class CudaDevice:
    """A CUDA device. Everything is queued on a stream of its own, or on the caller's."""

    histogram_threads = 512

    def __init__(self, index: int = 0, *, shares_stream: bool = False) -> None:
        self._cupy = _cupy()
        self._process = os.getpid()
        self._device = _device(index)
        self.n_processors = int(self._device.attributes["MultiProcessorCount"])
        with self._device:
            cuda = self._cupy.cuda
            self._stream = (
                cuda.get_current_stream() if shares_stream else cuda.Stream(non_blocking=True)
            )
            self.shared_bytes = int(self._device.attributes["MaxSharedMemoryPerBlockOptin"])
            self._module: KernelModule = load_module(
                int(self._device.compute_capability), self.shared_bytes, index
            )
        self.histogram_columns = self._module.histogram_columns

    def _active(self) -> ExitStack:
        """Make the device and the stream current."""
        if os.getpid() != self._process:
            raise DeviceError(
                "A GPU cannot be used in a process that was forked after its first use. Start "
                "processes with 'spawn' or 'forkserver'."
            )
        stack = ExitStack()
        stack.enter_context(self._device)
        stack.enter_context(self._stream)
        return stack

    @property
    def free_bytes(self) -> int:
        """Memory that could be reserved now."""
        with self._active():
            pool = self._cupy.get_default_memory_pool()
            return int(self._device.mem_info[0]) + int(pool.free_bytes())

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
        """Reserve an array."""
        with self._active():
            return self._cupy.empty(shape, dtype)

    def upload(self, array: NDArray[Any]) -> DeviceArray:
        """Return a copy on the device."""
        with self._active():
            return self._cupy.asarray(np.ascontiguousarray(array))

    def write(self, to: DeviceArray, array: NDArray[Any]) -> None:
        """Copy to an array of the device, of the same size and type."""
        with self._active():
            to.set(np.ascontiguousarray(array))

    def read(self, array: DeviceArray) -> NDArray[Any]:
        """Return a copy on the host, after all that was queued."""
        with self._active():
            read: NDArray[Any] = array.get()
            return read

    def pointer(self, array: DeviceArray) -> int:
        """Return the address of an array."""
        return int(array.data.ptr)

    def host_buffer(self, n_bytes: int) -> NDArray[np.uint8]:
        """Reserve memory that the device can write: pinned."""
        with self._active():
            memory = self._cupy.cuda.alloc_pinned_memory(n_bytes)
        return np.frombuffer(memory, np.uint8, n_bytes)

    def copy_to_host(self, array: DeviceArray, buffer: NDArray[np.uint8]) -> None:
        """Queue a copy of an array's bytes to a buffer of the host."""
        with self._active():
            array.data.copy_to_host_async(buffer.ctypes.data, buffer.nbytes, self._stream)

    def copy_from_host(self, buffer: NDArray[Any], array: DeviceArray) -> None:
        """Queue a copy of a buffer of the host to the beginning of an array."""
        with self._active():
            array.data.copy_from_host_async(buffer.ctypes.data, buffer.nbytes, self._stream)

    def marker(self) -> Callable[[], None]:
        """Return a function that waits for what has been queued so far."""
        with self._active():
            event = self._cupy.cuda.Event(disable_timing=True)
            event.record(self._stream)
        wait: Callable[[], None] = event.synchronize
        return wait

    def launch(
        self, kernel: str, grid: tuple[int, int], threads: int, *args: Any, shared_bytes: int = 0
    ) -> None:
        """Queue a kernel; arguments are arrays of the device, NumPy scalars and structs."""
        with self._active():
            function = self._module.kernel(kernel, shared_bytes)
            function(grid, (threads,), args, shared_mem=shared_bytes)

    def recorded(self, queue: Callable[[], None]) -> Callable[[], None]:
        """Return a function that queues what `queue` launches: directly, then as a CUDA graph.

        The first call loads kernels, which cannot be recorded.
        """
        graphs: list[Any] = []
        calls = 0

        def run() -> None:
            nonlocal calls
            calls += 1
            if calls == 1:
                queue()
                return
            with self._active():
                if not graphs:
                    self._stream.begin_capture()
                    try:
                        queue()
                    finally:
                        graphs.append(self._stream.end_capture())
                graphs[0].launch(self._stream)

        return run

    def sort_rows(self, array: DeviceArray) -> None:
        """Sort each row of a matrix of integers, in place."""
        with self._active():
            for (
                row
            ) in array:  # one by one: they are sorted by their bits, all at once by comparison
                row.sort()

    def smallest(self, numbers: DeviceArray, n: int, bound: int) -> DeviceArray | None:
        """Return where the n smallest of different numbers are, if the bound leaves so many."""
        with self._active():
            places = (numbers <= np.uint64(bound)).nonzero()[0]
            if len(places) < n:
                return None
            candidates = numbers[places]
            return places[candidates <= self._cupy.sort(candidates)[n - 1]]


# Devices that a thread has opened: another fit uses the same stream, and its memory again.
_OPENED = threading.local()


def device_index(name: str) -> int:
    """Return the index of the device that a name stands for: "cuda" or "cuda:N"."""
    return int(name.partition(":")[2] or 0)


def open_device(name: str) -> Device:
    """Return the device that a name stands for."""
    index = device_index(name)
    opened: dict[int, Device] = _OPENED.__dict__.setdefault("devices", {})
    if index not in opened:
        opened[index] = CudaDevice(index)
    return opened[index]


def device_of(array: DeviceArray) -> tuple[Device, int]:
    """Return the device of CuPy's array, with the caller's stream, and its index."""
    index = int(array.device.id)
    return CudaDevice(index, shares_stream=True), index


@cache
def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            "device='cuda' needs an NVIDIA GPU and CuPy, which is not installed: "
            "pip install cupy-cuda13x nvidia-cuda-nvrtc, or for a driver before 580 "
            "pip install cupy-cuda12x nvidia-cuda-nvrtc-cu12."
        ) from error
    return cupy


def _device(index: int) -> Any:
    cupy = _cupy()
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(f"device='cuda' needs an NVIDIA GPU with a driver: {error}") from error
    if index >= n_devices:
        raise DeviceError(
            f"device='cuda:{index}' does not exist: the number of GPUs in this "
            f"machine is {n_devices}."
        )
    return cupy.cuda.Device(index)
