"""Thresholds that are found on a device, against the CPU's; tables that stay on the device."""

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import hedgerow as hr
from cuda_shim import COMPILER, ON_BOTH, ShimDevice
from hedgerow import _native
from hedgerow._cuda import intake, self_check
from hedgerow._cuda.intake import copy_rows
from hedgerow._cuda.thresholds import find_thresholds
from hedgerow.exceptions import DataError


def column(rng, n_rows):
    """Give values of any kind: all different, repeated, few heavy ones, huge, with gaps."""
    values = rng.standard_normal(n_rows)
    kind = rng.integers(6)
    if kind == 1:
        values = np.round(values * rng.choice([1.0, 10.0, 100.0]))
    if kind == 2:
        is_heavy = rng.random(n_rows) < rng.choice([0.3, 0.9, 0.99])
        values = np.where(is_heavy, rng.integers(0, 3, n_rows), values)
    if kind == 3:
        values = values * np.exp(rng.uniform(-80, 80, n_rows))
    if kind == 4:
        values = np.floor(rng.pareto(0.5, n_rows)).clip(0, 1e30)
    if kind == 5:
        values = rng.integers(0, int(rng.choice([2, 50, 400])), n_rows)
    return np.where(
        rng.random(n_rows) < rng.choice([0.0, 0.2, 1.0], p=[0.5, 0.4, 0.1]), np.nan, values
    )


@pytest.mark.parametrize("seed", range(25))
@ON_BOTH
def test_thresholds_are_those_of_the_cpu(device, seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice([1, 5, 300, 2_000, 5_000]))
    X = np.column_stack([column(rng, n_rows) for _ in range(6)])
    X = X.astype(rng.choice([np.float32, np.float64]), order=str(rng.choice(["C", "F"])))
    max_bins, size = int(rng.choice([2, 3, 16, 100, 255])), int(rng.choice([50, 1_000, 10**6]))
    options, device = (max_bins, size, seed, 1), device()
    found = find_thresholds(copy_rows(X, device), lambda j: X[:, j], *options, device)
    expected = _native.find_thresholds(X, None, *options)
    for own, its in zip(found, expected, strict=True):
        assert (own.dtype, own.tobytes()) == (its.dtype, its.tobytes())


@pytest.mark.parametrize("piece_bytes", [1, 100, 1 << 20])
@ON_BOTH
def test_copies_of_any_layout_are_complete(device, piece_bytes, monkeypatch):
    monkeypatch.setattr(intake, "PIECE_BYTES", piece_bytes)
    made, X = device(), np.arange(60.0).reshape(20, 3)
    for table in (X, np.asfortranarray(X), X[::-1], X[:, ::-1], X[::2]):
        rows = copy_rows(table, made)
        flat = made.read(rows.array)
        row_places, column_places = (
            stride * np.arange(n) for n, stride in zip(rows.shape, rows.strides, strict=True)
        )
        assert flat[np.add.outer(row_places, column_places)].tolist() == table.tolist()


def test_a_table_that_is_too_large_is_not_copied():
    device = SimpleNamespace(free_bytes=1 << 20)
    assert copy_rows(np.zeros((100_000, 3)), device) is None


# ---- Fits ----------------------------------------------------------------------------------------


class CudaArray(np.ndarray):
    """An array that says that it is on a GPU, and is never copied from there as a whole."""

    device = nullcontext()
    device.id = 0

    def __dlpack_device__(self):
        return 2, 0

    def get(self):
        assert self.ndim == 1, "a whole table was copied to the host"
        return np.array(self)


RNG = np.random.default_rng(0)
X = RNG.standard_normal((600, 4)).astype(np.float32)
X[:, 2] = np.round(X[:, 2])
X[RNG.random(X.shape) < 0.05] = np.nan
Y = np.nan_to_num(X[:, 0]) ** 2 + np.nan_to_num(X[:, 2])
SMALL = {"n_estimators": 3, "max_leaves": 6}


@pytest.fixture
def on_gpu(monkeypatch):
    """Have device='cuda' mean kernels on the CPU; return a function that makes arrays of it."""
    if COMPILER is None:
        pytest.skip("there is no C++ compiler")
    device = ShimDevice()
    stream = SimpleNamespace(synchronize=lambda: None)
    cuda = SimpleNamespace(get_current_stream=lambda: stream)
    fake = SimpleNamespace(ndarray=CudaArray, asarray=np.asarray, cuda=cuda)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(self_check, "open_checked_device", lambda _: device)
    return lambda array: array.view(CudaArray)


def file_of(model, tmp_path, *data, **options):
    path = tmp_path / "model.hedgerow"
    model.fit(*data, **options).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_table_on_the_device_stays_there(on_gpu, tmp_path, dtype, layout):
    table = layout(X.astype(dtype))
    expected = file_of(hr.GradientBoostingRegressor(**SMALL), tmp_path, table, Y)
    model = hr.GradientBoostingRegressor(**SMALL, device="cuda")
    assert file_of(model, tmp_path, on_gpu(table), Y) == expected
    assert file_of(model, tmp_path, table, Y) == expected


def test_holdouts_of_a_table_on_the_device_are_taken_there(on_gpu, tmp_path, monkeypatch):
    options = SMALL | {"early_stopping": True, "n_iter_no_change": 2}
    expected = file_of(hr.GradientBoostingRegressor(**options), tmp_path, X, Y)
    monkeypatch.setattr(
        CudaArray, "get", lambda array: np.array(array)
    )  # the holdout is evaluated on the CPU
    model = hr.GradientBoostingRegressor(**options, device="cuda")
    assert file_of(model, tmp_path, on_gpu(X), Y) == expected


def test_rows_of_weight_0_of_a_table_on_the_device_are_left_out(on_gpu, tmp_path, monkeypatch):
    monkeypatch.setattr(CudaArray, "get", lambda array: np.array(array))
    weights = np.linspace(0.5, 2.0, 600) * (np.arange(600) % 3 > 0)
    rows = weights > 0.0
    expected = file_of(
        hr.GradientBoostingRegressor(**SMALL), tmp_path, X[rows], Y[rows], weights[rows]
    )
    model = hr.GradientBoostingRegressor(**SMALL, device="cuda")
    absurd = np.where(rows, Y, 1e9)
    assert file_of(model, tmp_path, on_gpu(X), absurd, weights) == expected


@pytest.mark.parametrize(
    ("options", "fit_options"),
    [
        ({"boosting": "dart", "drop_rate": 0.5}, {}),
        ({"loss": "absolute_error", "subsample": 0.5}, {}),
        ({"categorical_features": [2]}, {}),
        ({}, {"sample_weight": np.linspace(0.5, 2.0, 600)}),
        ({}, {"eval_set": [(X[:50], Y[:50])]}),
    ],
)
def test_tables_on_the_device_that_the_cpu_needs_as_well(
    on_gpu, tmp_path, monkeypatch, options, fit_options
):
    monkeypatch.setattr(CudaArray, "get", lambda array: np.array(array))
    options = SMALL | options
    expected = file_of(hr.GradientBoostingRegressor(**options), tmp_path, X, Y, **fit_options)
    model = hr.GradientBoostingRegressor(**options, device="cuda")
    assert file_of(model, tmp_path, on_gpu(X), Y, **fit_options) == expected


def test_infinities_of_a_table_on_the_device_are_refused(on_gpu, monkeypatch):
    monkeypatch.setattr(CudaArray, "get", lambda array: np.array(array))
    wrong = X.copy()
    wrong[17, 3] = np.inf
    with pytest.raises(DataError, match=r"column 3 contains infinity \(first in row 17\)"):
        hr.GradientBoostingRegressor(**SMALL, device="cuda").fit(on_gpu(wrong), Y)
