"""NVIDIA's compiler takes every kernel and every shared header, for every architecture."""

import numpy as np
import pytest

from cuda_shim import COMPILER, ShimDevice
from hedgerow import _native
from hedgerow._cuda import nvrtc, sources
from hedgerow._cuda.engine import _NODE, _ROUND, _STATE, _TEST, struct_sizes
from hedgerow._cuda.intake import rounded_down
from hedgerow._cuda.layout import NUMBERS, POINTERS, pack
from hedgerow._cuda.module import DOUBLES, FLOATS, cached_cubin, expected_arithmetic
from hedgerow._tree.growth_params import GrowthParams
from hedgerow.exceptions import DeviceError


def has_compiler():
    try:
        nvrtc.version()
    except DeviceError:
        return False
    return True


needs_nvrtc = pytest.mark.skipif(not has_compiler(), reason="nvidia-cuda-nvrtc is not installed")
needs_shim = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")


@needs_nvrtc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("architecture", "columns"), [(75, 16), (80, 32), (90, 32), (100, 32), (120, 16)]
)
def test_kernels_compile(architecture, columns):
    headers = sources.headers() | sources.standard_headers()
    defines = {"HEDGEROW_COLUMNS": columns}
    cubin = nvrtc.compile_cubin(sources.source(), headers, architecture, defines)
    assert cubin.startswith(b"\x7fELF")


@needs_nvrtc
@pytest.mark.slow
def test_totals_of_gradients_are_in_registers():
    """A struct in memory may lose its place to another: NVRTC 13.0 did that, and sums were wrong.

    It overlaid a local struct with a temporary one that was passed to its own member function.
    """
    headers = sources.headers() | sources.standard_headers()
    source, defines = '#include "gradients.cu"\n', {"HEDGEROW_COLUMNS": 32}
    text = nvrtc.compile_cubin(source, headers, 90, defines, form="PTX").decode()
    assert ".entry gradients(" in text
    assert ".local" not in text


@needs_nvrtc
@pytest.mark.parametrize("name", [n for n in sources.headers() if n.startswith("shared/")])
def test_shared_headers_compile_alone(name):
    headers = sources.headers() | sources.standard_headers()
    assert nvrtc.compile_cubin(f'#include "{name}"\n', headers, 90, {})


@needs_nvrtc
def test_mistakes_are_reported_with_the_compilers_message():
    with pytest.raises(nvrtc.CompileError, match="undefined"):
        nvrtc.compile_cubin("int x = unknown;", {}, 90, {})


@needs_nvrtc
@pytest.mark.slow
def test_compiled_kernels_are_kept_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("HEDGEROW_CACHE", str(tmp_path))
    path = cached_cubin(90, 32)
    whole = path.read_bytes()
    monkeypatch.setattr(nvrtc, "compile_cubin", lambda *_: whole)
    path.write_bytes(whole[:-1])
    assert cached_cubin(90, 32).read_bytes() == whole
    monkeypatch.setattr(nvrtc, "compile_cubin", None)
    assert cached_cubin(90, 32).read_bytes() == whole


def test_the_test_of_arithmetic_tells_roundings_apart():
    doubles, floats = expected_arithmetic()
    # Rounded once, the sum is -2^-60; subnormals are not zero.
    assert doubles[0] == 0.0
    assert floats[0] == 0.0
    assert doubles[3] > 0.0
    assert min(floats[3], floats[4]) > 0.0


@needs_shim
def test_the_test_of_arithmetic_passes_on_a_cpu():
    device = ShimDevice()
    expected = expected_arithmetic()
    results = [device.empty(len(array), array.dtype) for array in expected]
    device.launch("arithmetic", (1, 1), 1, DOUBLES, FLOATS, *results)
    for array, result in zip(expected, results, strict=True):
        assert array.tobytes() == result.tobytes()


@needs_shim
def test_structs_have_the_same_layout_on_both_sides():
    sizes = struct_sizes(ShimDevice())
    params = _native.GrowthParams(GrowthParams()).to_bytes()
    numbers = dict.fromkeys([name for name in NUMBERS if name != "unused"], 0)
    assert sizes["Fit"] == len(pack(params, {}, numbers))
    assert sizes["TreeState"] == _STATE.itemsize
    assert sizes["Node"] == _NODE.itemsize
    assert sizes["NodeTest"] == _TEST.itemsize
    assert _ROUND.itemsize == 24


def test_fields_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="nothing"):
        pack(b"", {"nothing": 0}, {})
    assert len(set(POINTERS) | set(NUMBERS)) == len(POINTERS) + len(NUMBERS)


@needs_shim
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_thresholds", [0, 1, 15, 16, 100, 254])
def test_values_are_binned_as_on_the_cpu(dtype, n_thresholds):
    rng = np.random.default_rng(n_thresholds)
    thresholds = np.unique(rng.standard_normal(n_thresholds))
    table = rng.standard_normal((500, 2)).astype(dtype)
    table[:20, 0] = np.nan
    table[20:40, 0] = [0.0, -0.0, 1e-40, -1e-40] * 5
    table[40 : 40 + len(thresholds), 0] = thresholds.astype(dtype)
    expected = np.empty((1, 500), np.uint8)
    starts = np.array([0, len(thresholds)])
    none = np.zeros(2, np.int64)
    _native.map_to_bins(
        table[:, :1], thresholds, starts, np.empty(0, np.uint8), none, expected, None, 1, 1
    )
    device = ShimDevice()
    bins, n_infinite = device.empty((1, 500), np.uint8), device.upload(np.zeros(1, np.uint32))
    device.launch(
        "bin_floats" if dtype is np.float32 else "bin_doubles", (2, 1), 64,
        table, np.int64(2), np.int64(1), np.uint64(500), np.uint64(0),
        rounded_down(thresholds, np.dtype(dtype)), starts, np.int32(1), np.uint64(500),
        bins, n_infinite,
    )  # fmt: skip
    assert bins.tobytes() == expected.tobytes()
    assert n_infinite[0] == 0
