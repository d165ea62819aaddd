"""A device without a GPU: the kernels' own text, compiled by a C++ compiler and run on the CPU."""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from hedgerow._cuda import sources
from hedgerow._cuda.device import open_device
from hedgerow.exceptions import DeviceError

fcntl = pytest.importorskip("fcntl", reason="no locks of files, nor a compiler")
HERE = Path(__file__).parent
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
FLAGS = [
    *os.environ.get("CXXFLAGS", "").split(),  # `make sanitize` has some
    *("-std=c++20", "-O1", "-shared", "-fPIC", "-U_FORTIFY_SOURCE", "-ffp-contract=off"),
    *("-fno-strict-aliasing", "-w", "-DHEDGEROW_COLUMNS=32"),
]
# A lane that reads what another has not written yet is a mistake of a kernel; so is shared memory
# that is used before it is set, which holds garbage here.
_LOCK = threading.Lock()  # there is one set of fibres
_KERNEL = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\(')
_DYNAMIC = re.compile(r"extern __shared__ (\w+) (\w+)\[\];")


class ShimDevice:
    """Runs kernels on the CPU; arrays on the device are NumPy's."""

    n_processors = 1
    histogram_threads = 64
    histogram_columns = 32
    free_bytes = 1 << 34
    shared_bytes = 64 << 10

    def __init__(self, n_processors=1):
        self.n_processors = n_processors
        self._library = library()

    def empty(self, shape, dtype):
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8).fill(0xCD)  # memory of a GPU holds anything
        return array

    def upload(self, array):
        return np.array(array, copy=True, order="C")

    def write(self, to, array):
        to[...] = array

    def read(self, array):
        return array.copy()

    def pointer(self, array):
        return array.ctypes.data

    def host_buffer(self, n_bytes):
        return np.empty(n_bytes, np.uint8)

    def copy_to_host(self, array, buffer):
        buffer[...] = array

    def copy_from_host(self, buffer, array):
        array[: buffer.size] = buffer

    def marker(self):
        return lambda: None

    def recorded(self, queue):
        return queue

    def sort_rows(self, array):
        array.sort(axis=1)

    def smallest(self, numbers, n, bound):
        places = np.flatnonzero(numbers <= np.uint64(bound))
        if len(places) < n:
            return None
        return places[numbers[places] <= np.sort(numbers[places])[n - 1]]

    def launch(self, kernel, grid, threads, *args, shared_bytes=0):
        values = [
            np.array(arg.ctypes.data, np.uint64)
            if isinstance(arg, np.ndarray) and arg.ndim
            else np.array(arg)
            for arg in args
        ]
        pointers = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
        run = self._library[f"run_{kernel}"]
        run.argtypes = [
            ctypes.c_uint,
            ctypes.c_uint,
            ctypes.c_uint,
            ctypes.c_size_t,
            type(pointers),
        ]
        with _LOCK:
            run(*grid, threads, shared_bytes, pointers)


def cuda_device():
    """Give the first GPU, or skip the test with a reason."""
    pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        return open_device("cuda")
    except DeviceError as error:
        pytest.skip(str(error))


# Where a test runs: on the CPU, and on a GPU if there is one.
ON_BOTH = pytest.mark.parametrize(
    "device",
    [
        pytest.param(
            ShimDevice,
            marks=pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
            id="shim",
        ),
        pytest.param(cuda_device, marks=pytest.mark.gpu, id="gpu"),
    ],
)


@cache
def library():
    """Compile the kernels, or take what an earlier run has compiled."""
    texts = sources.headers() | {"shim.hpp": (HERE / "cuda_shim.hpp").read_text(encoding="utf-8")}
    texts = {name: _for_cpu(text) for name, text in texts.items() if name != "std.hpp"}
    main = _main(sources.source(), texts)
    digest = hashlib.sha256(repr((texts, main, FLAGS, COMPILER)).encode()).hexdigest()[:20]
    path = Path(tempfile.gettempdir()) / f"hedgerow-shim-{digest}.so"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of the suite may be compiling them
        if not path.exists():
            _compile(main, texts, path)
    return ctypes.CDLL(str(path))


def _for_cpu(text):
    return _DYNAMIC.sub(r"auto* \2 = static_cast<\1*>(shim::dynamic_shared);", text)


def _main(source, texts):
    """Give the translation unit: all kernels, and a function for each that runs a grid of it."""
    kernels = [name for file in sources.FILES for name in _KERNEL.findall(texts[file])]
    runners = "".join(
        f"""
extern "C" void run_{name}(unsigned x, unsigned y, unsigned threads, std::size_t bytes,
                           void** given) {{
  shim::body = [](void** args) {{ shim::call(hedgerow::cuda::{name}, args); }};
  shim::arguments = given;
  shim::run({{x, y, 1}}, threads, bytes);
}}
"""
        for name in kernels
    )
    return f'#include "shim.hpp"\n{source}{runners}'


def _compile(main, texts, path):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (texts | {"main.cpp": main}).items():
            file = Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        built = Path(folder, "kernels.so")
        command = [COMPILER, *FLAGS, "-I", folder, str(Path(folder, "main.cpp")), "-o", str(built)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
        finished = path.with_suffix(".part")
        shutil.copy(built, finished)
        finished.replace(path)
