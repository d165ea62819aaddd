"""Scores of rows that are on a GPU, and predictions from them: computed there, the CPU's bits.

Kernels are queued on the caller's stream, and are finished when a result is returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._cuda.device import Device, DeviceArray
from hedgerow._cuda.forest import CategoryNumbers, DeviceForest, can_be_packed
from hedgerow._cuda.intake import DeviceRows, rows_of_array
from hedgerow._data.table import TableSchema, float_for
from hedgerow._links import SIGMOIDS, Link
from hedgerow._tree.structure import Ensemble
from hedgerow._types import Floats

_THREADS = 256
# Whole numbers up to here are numbers of float64.
_MOST_EXACT = 2**53
# Classes that an array of a GPU can hold.
_NUMBERS = "biuf"


@dataclass(frozen=True, eq=False)
class GpuScores:
    """Scores of rows on a device, (n_rows, n_outputs), and what follows from them."""

    array: DeviceArray
    device: Device

    def decision(self) -> DeviceArray:
        """Return the scores: (n_rows,) if there is one output."""
        return self.array[:, 0] if self.array.shape[1] == 1 else self.array

    def prediction(self, link: Link) -> DeviceArray | None:
        """Return what `prediction_of` computes; None for links that only the CPU has."""
        n_rows, n_outputs = self.array.shape
        result: DeviceArray | None = None
        if link == "identity":
            result = self.array
        elif link == "log":
            result = self._computed("exponentials")
        elif link in SIGMOIDS:
            result = self._computed("sigmoids", np.float64(SIGMOIDS[link]))
        elif link == "softmax":
            result = self._softmax()
        return result if result is None or n_outputs > 1 else result.reshape(n_rows)

    def probabilities(self, link: Link) -> DeviceArray | None:
        """Return what `class_probabilities` computes; None for links that only the CPU has."""
        n_rows, n_outputs = self.array.shape
        if n_outputs > 1:
            return self.prediction(link)
        if link not in SIGMOIDS:
            return None
        both = self.device.empty((n_rows, 2), np.float64)
        factor = np.float64(SIGMOIDS[link])
        self._launch("two_class_probabilities", n_rows, self.array, np.uint64(n_rows), factor, both)
        return both

    def labels(self, classes: Any) -> DeviceArray | None:
        """Return the class of each row; None if classes are not numbers, or of several labels."""
        if not isinstance(classes, np.ndarray) or classes.dtype.kind not in _NUMBERS:
            return None
        n_rows, n_outputs = self.array.shape
        index = self.device.empty(n_rows, np.int64)
        self._launch(
            "classes_of_rows", n_rows, self.array, np.uint64(n_rows), np.int32(n_outputs), index
        )
        return self.device.upload(classes)[index]

    def _softmax(self) -> DeviceArray:
        n_rows, n_outputs = self.array.shape
        result = self.device.empty((n_rows, n_outputs), np.float64)
        self._launch(
            "softmax_rows", n_rows, self.array, np.uint64(n_rows), np.int32(n_outputs), result
        )
        return result

    def _computed(self, kernel: str, *arguments: Any) -> DeviceArray:
        n_rows, n_outputs = self.array.shape
        result = self.device.empty((n_rows, n_outputs), np.float64)
        n = n_rows * n_outputs
        self._launch(kernel, n, self.array, np.uint64(n), *arguments, result)
        return result

    def _launch(self, kernel: str, n: int, *arguments: Any) -> None:
        blocks = min(-(-n // _THREADS), 8 * self.device.n_processors)
        self.device.launch(kernel, (blocks, 1), _THREADS, *arguments)


def category_numbers(
    schema: TableSchema, category_bins: list[NDArray[np.uint8] | None]
) -> CategoryNumbers | None:
    """Return the categories of each column as numbers, and their bins; None if one is no number."""
    found = {}
    for j, categories in schema.categories.items():
        bins = category_bins[j]
        assert bins is not None
        if categories.kind == "string":
            return None
        values = np.array([float(value) for value in categories.values])
        if (np.abs(values) >= _MOST_EXACT).any():
            return None
        found[j] = values, bins
    return found


class GpuModel:
    """The trees of a model on GPUs, as far as they have been needed there."""

    def __init__(self, ensemble: Ensemble, categories: CategoryNumbers | None) -> None:
        self._ensemble, self._categories = ensemble, categories
        self._is_supported = categories is not None and can_be_packed(ensemble)
        self._forests: dict[tuple[int, str], DeviceForest] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_forests": {}}

    def scores(
        self,
        X: DeviceArray,
        start: Floats | None,
        device: Device,
        index: int,
        *,
        accepts_unknown: bool = True,
    ) -> GpuScores | None:
        """Return the scores of the rows of a table on a device.

        The result is None for models and tables that only the CPU reads; among the latter are those
        that it refuses: X with infinities or, unless `accepts_unknown`, unknown categories.
        """
        is_table = X.ndim == 2 and X.shape[0] > 0 and X.shape[1] == self._ensemble.n_features
        if not self._is_supported or not is_table or X.dtype.kind not in _NUMBERS:
            return None
        rows = _rows(X)
        forest = self._forest(rows.dtype, device, index)
        n_infinite, n_unknown = forest.count_irregular(device, rows)
        if n_infinite or (n_unknown and not accepts_unknown):
            return None
        scores = device.empty((rows.shape[0], self._ensemble.n_outputs), np.float64)
        forest.scores(device, rows, start, scores)
        return GpuScores(scores, device)

    def _forest(self, dtype: np.dtype[Any], device: Device, index: int) -> DeviceForest:
        key = index, dtype.str
        if key not in self._forests:
            assert self._categories is not None
            self._forests[key] = DeviceForest(self._ensemble, dtype, self._categories, device)
            device.marker()()  # other streams may use it
        return self._forests[key]


def _rows(X: DeviceArray) -> DeviceRows:
    """Return the rows of an array, converted to floats as on the CPU."""
    dtype = float_for(X)
    return rows_of_array(X if X.dtype == dtype else X.astype(dtype))
