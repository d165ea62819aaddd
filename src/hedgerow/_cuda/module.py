"""Kernels, compiled when they are needed first, kept in a cache, and tested when they are loaded.

The test checks the arithmetic: if a compiler or a library changes how numbers are rounded, a fit
ends with an error instead of a different model.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._cuda import nvrtc, sources
from hedgerow.exceptions import DeviceError

_WORD_BYTES = 4 * 256 * 4  # of a column in the histogram kernel: four words for each bin


class KernelModule:
    """The kernels of a device."""

    def __init__(self, cubin: Path, histogram_columns: int) -> None:
        import cupy

        self._module = cupy.RawModule(path=str(cubin))
        self._kernels: dict[str, Any] = {}
        self._permitted: dict[str, int] = {}  # bytes of shared memory
        self.histogram_columns = histogram_columns

    def kernel(self, name: str, shared_bytes: int = 0) -> Any:
        """Return a kernel that may use so much dynamic shared memory."""
        if name not in self._kernels:
            self._kernels[name] = self._module.get_function(name)
        if shared_bytes > self._permitted.get(name, 48 << 10):
            self._kernels[name].max_dynamic_shared_size_bytes = shared_bytes
            self._permitted[name] = shared_bytes
        return self._kernels[name]


@cache
def load_module(architecture: int, shared_bytes: int, index: int) -> KernelModule:  # noqa: ARG001
    """Return the kernels for a device; its index distinguishes devices of the same kind."""
    columns = 32 if shared_bytes >= 32 * _WORD_BYTES else 16
    module = KernelModule(cached_cubin(architecture, columns), columns)
    _test_arithmetic(module)
    return module


def cached_cubin(architecture: int, histogram_columns: int) -> Path:
    """Return the file with the machine code, compiled if it is not in the cache."""
    headers = sources.headers() | sources.standard_headers()
    defines = {"HEDGEROW_COLUMNS": histogram_columns}
    what = (headers, sources.source(), defines, nvrtc.FLAGS, nvrtc.version(), architecture)
    key = hashlib.sha256(repr(what).encode()).hexdigest()[:32]
    folder = _cache_folder()
    for path in folder.glob(f"{key}-*.cubin"):
        if path.name == _file_name(key, path.read_bytes()):
            return path
    cubin = nvrtc.compile_cubin(sources.source(), headers, architecture, defines)
    path = folder / _file_name(key, cubin)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(cubin)
    Path(file.name).replace(path)  # another process may be reading
    return path


def _file_name(key: str, cubin: bytes) -> str:
    """Return the name of a file of the cache, by which its contents are checked."""
    return f"{key}-{hashlib.sha256(cubin).hexdigest()[:32]}.cubin"


def _cache_folder() -> Path:
    """Return the folder of compiled kernels, or a temporary one if it cannot be written."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("HEDGEROW_CACHE") or Path(home) / "hedgerow")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return _temporary_folder()
    return folder if os.access(folder, os.W_OK) else _temporary_folder()


@cache
def _temporary_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="hedgerow-"))


# Numbers whose product and sum are different if they are rounded once; a product that is
# subnormal; and the rest of a division and a root.
DOUBLES = np.array(
    [1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0, 1.0, 3.0, 2.0, 2.0**-600, 2.0**-440, 1e-40]
)
FLOATS = np.array(
    [1.0 + 2.0**-13, 1.0 - 2.0**-13, -1.0, 1.0, 3.0, 2.0, 2.0**-80, 2.0**-60], np.float32
)


def expected_arithmetic() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return what the test kernel must compute, with the CPU's arithmetic."""
    x, f = DOUBLES, FLOATS
    doubles = np.array([x[0] * x[1] + x[2], x[3] / x[4], np.sqrt(x[5]), x[6] * x[7]])
    floats = np.array(
        [f[0] * f[1] + f[2], f[3] / f[4], np.sqrt(f[5]), f[6] * f[7], np.float32(x[8])], np.float32
    )
    return doubles, floats


def _test_arithmetic(module: KernelModule) -> None:
    import cupy

    expected = expected_arithmetic()
    results = [cupy.empty(len(array), array.dtype) for array in expected]
    arguments = (cupy.asarray(DOUBLES), cupy.asarray(FLOATS), *results)
    module.kernel("arithmetic")((1,), (1,), arguments)
    for array, result in zip(expected, results, strict=True):
        if array.tobytes() != result.get().tobytes():
            raise DeviceError(
                "The GPU's arithmetic differs from the CPU's, so models would differ as well: "
                f"{result.get().tolist()} instead of {array.tolist()}. Please report this, with "
                "the versions of CuPy and of the driver."
            )
