"""Arrays in the memory of a GPU, of CuPy, PyTorch and others: copied to the host when read."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hedgerow.exceptions import DataError, DeviceError

_CUDA, _CUDA_MANAGED = 2, 13  # device types of DLPack


def is_on_gpu(values: Any) -> bool:
    """Return whether an array is in the memory of a CUDA device, by DLPack or CUDA's interface."""
    device = getattr(values, "__dlpack_device__", None)
    if device is not None:
        return bool(device()[0] in (_CUDA, _CUDA_MANAGED))
    return hasattr(type(values), "__cuda_array_interface__")


def copy_to_host(values: Any, name: str) -> NDArray[Any]:
    """Return a copy of an array of a GPU, after all that was queued to write it."""
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            f"{name} is on a GPU. Reading it needs CuPy, which is not installed: "
            f"pip install 'hedgerow[cuda13]', or pass a copy of {name} in the host's memory."
        ) from error
    read = cupy.from_dlpack if hasattr(values, "__dlpack__") else cupy.asarray
    try:
        copy: NDArray[Any] = read(values).get()
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(f"{name} is on a GPU and cannot be read: {error}") from error
    return copy
