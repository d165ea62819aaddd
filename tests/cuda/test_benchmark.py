"""The checkpoints of `benchmarks/gpu.py` that compare bytes, with kernels on the CPU."""

from types import SimpleNamespace

import pytest

from benchmarks import gpu
from cuda_shim import COMPILER, ShimDevice
from hedgerow._cuda import self_check

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
ARGUMENTS = SimpleNamespace(rows=3_000, first=0, tables=2, threads=1)


@pytest.fixture(autouse=True)
def shim(monkeypatch):
    monkeypatch.setattr(gpu, "CudaDevice", ShimDevice)
    monkeypatch.setattr(self_check, "open_checked_device", lambda _: ShimDevice())
    monkeypatch.setattr(gpu, "FAILURES", [])


@pytest.mark.parametrize("name", ["losses", "binning", "models"])
def test_checkpoints_find_the_same_bytes(name, monkeypatch):
    random_problem = gpu.random_problem
    monkeypatch.setattr(gpu, "random_problem", lambda rng: smaller(*random_problem(rng)))
    gpu.CHECKPOINTS[name](ARGUMENTS)
    assert gpu.FAILURES == []


def smaller(model, X, y, weights):
    """Give a part of a problem that takes a moment."""
    model.set_params(n_estimators=1, max_leaves=4)
    return model, X[:400, :5], y[:400], None if weights is None else weights[:400]


def test_different_bytes_are_reported(capsys):
    gpu.require_equal("models", 3, "some", "others")
    assert gpu.FAILURES == ["models: 3"]
    assert '"equal": false' in capsys.readouterr().out
