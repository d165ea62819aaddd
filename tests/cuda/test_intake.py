"""Numbers that are binned on the device, against the CPU's bins."""

import numpy as np
import pytest

from cuda_shim import ON_BOTH
from hedgerow._cuda import intake
from hedgerow._data.binning import Binner, is_array_of_floats
from hedgerow._data.intake import learn_schema
from hedgerow.exceptions import DataError


def numbers(dtype=np.float32, n_rows=300, n_features=5):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features)).astype(dtype)
    X[:, 1] = rng.integers(0, 3, n_rows)
    X[:, 2] *= 1e-40
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed": lambda X: X[::-1, ::-1],
}


@pytest.mark.parametrize("piece_bytes", [1, 1000, 1 << 20])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@ON_BOTH
def test_bins_are_those_of_the_cpu(device, dtype, layout, piece_bytes, monkeypatch):
    if piece_bytes == 1 and layout != "rows":
        pytest.skip("one row at a time is slow")
    monkeypatch.setattr(intake, "PIECE_BYTES", piece_bytes)
    device = device()
    _, table = learn_schema(LAYOUTS[layout](numbers(dtype)), None)
    assert is_array_of_floats(table)
    binner = Binner().fit(table)
    by_column = device.empty((5, 300), np.uint8)
    intake.bin_on_device(binner.leave_unbinned(table), device, by_column)
    expected = binner.transform(table, columns_only=True).by_column
    assert device.read(by_column).tobytes() == expected.tobytes()


@ON_BOTH
def test_infinities_are_refused_by_row_and_column(device):
    X = numbers()
    _, table = learn_schema(X, None)
    binner = Binner().fit(table)
    X[17, 3] = -np.inf
    device = device()
    with pytest.raises(DataError, match=r"column 3 contains infinity \(first in row 17\)"):
        intake.bin_on_device(binner.leave_unbinned(table), device, device.empty((5, 300), np.uint8))


def test_integers_are_left_to_the_cpu():
    _, table = learn_schema(np.arange(12).reshape(6, 2), None)
    assert not is_array_of_floats(table)
