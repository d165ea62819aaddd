"""Small trees and thresholds on a device against the CPU's, before the first fit of a process.

Compilers make mistakes. NVRTC 13.0, for example, placed two structs at the same address, and the
totals of gradients were wrong. If the kernels of this machine grow different trees from the CPU, a
fit ends with an error instead of a different model.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from hedgerow import _native
from hedgerow._cuda import nvrtc
from hedgerow._cuda.device import Device, open_device
from hedgerow._cuda.engine import CudaEngine
from hedgerow._cuda.intake import copy_rows
from hedgerow._cuda.thresholds import find_thresholds
from hedgerow._data.binning import BinnedMatrix, Binner
from hedgerow._data.intake import learn_schema
from hedgerow._tree.engine import Bag, Engine, HistogramEngine
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats
from hedgerow.exceptions import DeviceError

# Rows whose gradients are stored in wide form, and packed; a growth policy for each.
N_ROWS = (700, 33_000, 900)
_LEAFWISE = GrowthParams(max_leaves=6, min_samples_leaf=5)
_LEVELWISE = GrowthParams(grow_policy="levelwise", max_depth=3, max_leaves=0)
_SYMMETRIC = GrowthParams(grow_policy="symmetric", max_leaves=8, min_samples_leaf=5)

_CHECKED: set[str] = set()


def open_checked_device(name: str) -> Device:
    """Open a device; the first time, compare its trees with the CPU's."""
    device = open_device(name)
    if name not in _CHECKED:
        require_same_thresholds(device)
        require_same_trees(device)
        _CHECKED.add(name)
    return device


def require_same_trees(device: Device, n_rows: tuple[int, ...] = N_ROWS) -> None:
    """Refuse a device that grows different trees from the CPU."""
    for n, params in zip(n_rows, (_LEAFWISE, _LEVELWISE, _SYMMETRIC), strict=True):
        rng = np.random.default_rng(0)
        binned = _table(rng, n)
        # One round with hessians that differ, and one with equal ones.
        rounds = [(rng.standard_normal((1, n)), h) for h in (rng.random((1, n)), np.ones((1, n)))]
        expected = _grow(HistogramEngine(binned, params, np.zeros(1)), rounds)
        if _grow(CudaEngine(binned, params, np.zeros(1), device), rounds) != expected:
            raise _compiler_error("grows different trees")


def require_same_thresholds(device: Device) -> None:
    """Refuse a device that finds different thresholds from the CPU."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 2)).astype(np.float32)
    X[::3, 1] = 0.5
    rows = copy_rows(X, device)
    assert rows is not None
    options = (255, 1_500, 0, 1)
    found = find_thresholds(rows, lambda j: X[:, j], *options, device)
    expected = _native.find_thresholds(X, None, *options)
    if any(own.tobytes() != its.tobytes() for own, its in zip(found, expected, strict=True)):
        raise _compiler_error("finds different thresholds")


def _compiler_error(difference: str) -> DeviceError:
    major, minor = nvrtc.version()
    return DeviceError(
        f"The GPU {difference} from the CPU, so models would be wrong. Probably the compiler of "
        f"its kernels, NVRTC {major}.{minor}, has a bug: install another version of "
        "nvidia-cuda-nvrtc, or use device='cpu'. Please report this."
    )


def _table(rng: np.random.Generator, n_rows: int) -> BinnedMatrix:
    """Return columns of numbers, of few values, and with missing values."""
    X = rng.standard_normal((n_rows, 3))
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(n_rows) < 0.1, 2] = np.nan
    _, table = learn_schema(X, None)
    return Binner().fit_transform(table)


def _grow(engine: Engine, rounds: list[tuple[Floats, Floats]]) -> list[bytes]:
    """Grow a tree for each pair of gradients and hessians; return their arrays, and the scores."""
    found = []
    for index, (gradient, hessian) in enumerate(rounds):
        engine.take(gradient, hessian, None)
        tree = engine.grow(0, Bag(None), index)
        engine.add(tree, 0, None)
        arrays = [getattr(tree, field.name) for field in fields(Tree)]
        found += [array.tobytes() for array in [*arrays, engine.scores] if array is not None]
    return found
