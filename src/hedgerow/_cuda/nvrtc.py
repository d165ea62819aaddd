"""NVIDIA's run-time compiler: CUDA C++ in, machine code of one architecture out.

It is called directly, not through CuPy, which appends `-ftz=true` to every compilation that it
caches: float32 subnormals would become zero, and models would differ from the CPU's. It needs no
GPU, so that tests compile every kernel for every architecture.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from hedgerow.exceptions import DeviceError

# IEEE arithmetic as on the CPU, said aloud: nothing is contracted, flushed or approximated.
FLAGS = (
    "--std=c++20",
    "--device-as-default-execution-space",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
)


class CompileError(RuntimeError):
    """A kernel that does not compile: an error of this library."""


def version() -> tuple[int, int]:
    """Return the version of the compiler."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(_library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


def compile_cubin(
    source: str,
    headers: Mapping[str, str],
    architecture: int,
    defines: Mapping[str, int],
    form: str = "CUBIN",
) -> bytes:
    """Compile a source, which may include headers by name, for an architecture such as 90.

    The `form` "PTX" is the code before registers are assigned, as text, which tests read.
    """
    options = [
        *FLAGS,
        f"--gpu-architecture=sm_{architecture}",
        *(f"-D{name}={value}" for name, value in defines.items()),
    ]
    library, program = _library(), ctypes.c_void_p()
    names, texts = list(headers), list(headers.values())
    _check(
        library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"hedgerow.cu",
            len(names), _strings(texts), _strings(names),
        )
    )  # fmt: skip
    try:
        if library.nvrtcCompileProgram(program, len(options), _strings(options)):
            raise CompileError(_text(program, "ProgramLog"))
        return _bytes(program, form)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _strings(texts: list[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def _bytes(program: ctypes.c_void_p, what: str) -> bytes:
    library, size = _library(), ctypes.c_size_t()
    _check(library[f"nvrtcGet{what}Size"](program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(library[f"nvrtcGet{what}"](program, buffer))
    return buffer.raw


def _text(program: ctypes.c_void_p, what: str) -> str:
    return _bytes(program, what).rstrip(b"\0").decode(errors="replace")


def _check(status: int) -> None:
    if status:
        describe = _library().nvrtcGetErrorString
        describe.restype = ctypes.c_char_p
        raise CompileError(f"NVRTC: {describe(status).decode()}")


@cache
def _library() -> ctypes.CDLL:
    for path in _paths():
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise DeviceError(
        "device='cuda' needs NVIDIA's run-time compiler (libnvrtc), which was not found: "
        "pip install nvidia-cuda-nvrtc, or nvidia-cuda-nvrtc-cu12 for a driver before 580, or "
        "install a CUDA toolkit."
    )


def _paths() -> Iterator[str]:
    """Yield where the library may be: NVIDIA's packages, then the system's folders."""
    spec = importlib.util.find_spec("nvidia")
    for folder in [] if spec is None else spec.submodule_search_locations or []:
        found = Path(folder).glob("*/lib/libnvrtc.so.*")
        yield from sorted((str(path) for path in found if "alt" not in path.name), reverse=True)
    yield from (f"libnvrtc.so.{major}" for major in ("13", "12"))
    yield "libnvrtc.so"
