"""A table of numbers that is on a GPU: copied to the host only if something there needs it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import NumericColumn, RowSelection
from hedgerow._data.gpu_arrays import cupy_view, is_on_gpu
from hedgerow._data.table import Table

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class GpuTable(Table):
    """A table of float32 or float64 numbers, as an array of CuPy."""

    __slots__ = ("_numbers", "_on_host")

    def __init__(self, on_gpu: Any) -> None:
        self._numbers = on_gpu
        self.names, self.sparse, self._columns = None, None, ()
        self.n_rows, self.n_features = on_gpu.shape
        self._on_host: NDArray[Any] | None = None

    @property
    def on_gpu(self) -> Any:
        """The numbers. Whatever was queued to write them is finished."""
        return self._numbers

    @property
    def dense(self) -> NDArray[Any] | None:  # type: ignore[override]
        """A copy of the numbers on the host, which is made once."""
        if self._on_host is None:
            self._on_host = self.on_gpu.get()
        return self._on_host

    def column(self, j: int) -> NumericColumn:
        """Return a copy of a column on the host."""
        if self._on_host is not None:
            return NumericColumn(self._on_host[:, j])
        return NumericColumn(self.on_gpu[:, j].get())

    def take(self, rows: RowSelection) -> Table:
        """Return a table of some rows, on the GPU as well."""
        chosen = rows if isinstance(rows, slice) else self._index(rows)
        return GpuTable(_finished(self.on_gpu[chosen]))

    def _index(self, rows: NDArray[Any]) -> Any:
        import cupy

        with self.on_gpu.device:
            return cupy.asarray(rows)


def as_gpu_table(X: Any, device: int) -> GpuTable | None:
    """Return X as a table, if it is an array of floats on this GPU; None for anything else."""
    if not is_on_gpu(X):
        return None
    view = cupy_view(X, "X")
    if view.ndim != 2 or 0 in view.shape or view.dtype not in _FLOATS or view.device.id != device:
        return None
    return GpuTable(_finished(view))


def _finished(array: Any) -> Any:
    """Wait for what was queued to write an array: fits have a stream of their own."""
    import cupy

    with array.device:
        cupy.cuda.get_current_stream().synchronize()
    return array
