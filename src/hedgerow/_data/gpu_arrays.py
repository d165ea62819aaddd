"""Arrays in the memory of a GPU, of CuPy, PyTorch and others: read in place, or copied to the host.

CuPy reads all of them, by DLPack or CUDA's array interface, after what was queued to write them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from numpy.typing import NDArray

from hedgerow.exceptions import DataError, DeviceError

_CUDA, _CUDA_MANAGED = 2, 13  # device types of DLPack


def is_on_gpu(values: Any) -> bool:
    """Return whether an array is in the memory of a CUDA device, by DLPack or CUDA's interface."""
    device = getattr(values, "__dlpack_device__", None)
    if device is not None:
        try:
            return bool(device()[0] in (_CUDA, _CUDA_MANAGED))
        except TypeError:  # Arrow's strings in host memory, which DLPack cannot describe
            return False
    return hasattr(type(values), "__cuda_array_interface__")


def cupy_view(values: Any, name: str) -> Any:
    """Return an array of a GPU as CuPy's, without a copy."""
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            f"{name} is on a GPU. Reading it needs CuPy, which is not installed: "
            f"pip install cupy-cuda13x, or pass a copy of {name} in host memory."
        ) from error
    if isinstance(values, cupy.ndarray):
        return values
    read = cupy.from_dlpack if hasattr(values, "__dlpack__") else cupy.asarray
    try:
        return read(values)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(f"{name} is on a GPU and cannot be read: {error}") from error


def copy_to_host(values: Any, name: str) -> NDArray[Any]:
    """Return a copy of an array of a GPU."""
    view = cupy_view(values, name)
    try:
        copy: NDArray[Any] = view.get()
    except (RuntimeError, ValueError) as error:
        raise DataError(f"{name} is on a GPU and cannot be read: {error}") from error
    return copy


def on_host(X: Any) -> Any:
    """Return X, or a copy of it if it is on a GPU, for code that computes on the CPU."""
    return copy_to_host(X, "X") if is_on_gpu(X) else X


def in_library_of(values: Any, array: Any) -> Any:
    """Return an array of CuPy as one of the library that other values belong to."""
    if type(values).__module__.partition(".")[0] != "torch":
        return array
    return import_module("torch").from_dlpack(array)
