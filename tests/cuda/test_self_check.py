"""Devices that grow different trees from the CPU are refused before a fit."""

import numpy as np
import pytest

from cuda_shim import COMPILER, ON_BOTH, ShimDevice
from hedgerow._cuda import nvrtc, self_check
from hedgerow._cuda.self_check import (
    open_checked_device,
    require_same_thresholds,
    require_same_trees,
)
from hedgerow.exceptions import DeviceError


class FaultyDevice(ShimDevice):
    """Changes the last bit of one gradient."""

    def upload(self, array):
        copy = super().upload(array)
        if copy.size == 700 * 8 and copy.dtype == np.uint8:
            copy[8 * 123] ^= 1
        return copy


@ON_BOTH
def test_the_kernels_pass(device):
    made = device()
    require_same_thresholds(made)
    require_same_trees(made)


def test_a_device_is_checked_once(monkeypatch):
    checked = []
    monkeypatch.setattr(self_check, "_CHECKED", set())
    monkeypatch.setattr(self_check, "open_device", lambda name: f"opened {name}")
    monkeypatch.setattr(self_check, "require_same_trees", checked.append)
    monkeypatch.setattr(self_check, "require_same_thresholds", lambda _: None)
    names = ["cuda", "cuda:1", "cuda"]
    assert [open_checked_device(name) for name in names] == [f"opened {name}" for name in names]
    assert checked == ["opened cuda", "opened cuda:1"]


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
def test_other_trees_are_an_error(monkeypatch):
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 0))
    with pytest.raises(
        DeviceError, match=r"different trees from the CPU.*NVRTC 13\.0.*device='cpu'"
    ):
        require_same_trees(FaultyDevice(), (700, 100, 100))


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
def test_other_thresholds_are_an_error(monkeypatch):
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 0))
    device = ShimDevice()
    device.sort_rows = lambda keys: keys[:, ::-1].sort(axis=1)
    with pytest.raises(DeviceError, match=r"different thresholds from the CPU.*NVRTC 13\.0"):
        require_same_thresholds(device)
