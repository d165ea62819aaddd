"""Predictions for rows that are on a GPU: computed there, and returned there.

What only the CPU computes (linear leaves, target statistics, calibrated probabilities, …) takes the
rows or the scores to the host, and the result back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.model import BoostedModel
from hedgerow._cuda.device import Device, DeviceArray, device_of
from hedgerow._cuda.predictions import GpuScores
from hedgerow._data.gpu_arrays import cupy_view, in_library_of
from hedgerow._data.names import column_order
from hedgerow._data.target import read_offset
from hedgerow._types import Floats
from hedgerow.exceptions import DeviceError

Finish = Callable[[Floats], NDArray[Any]]
GpuFinish = Callable[[GpuScores], DeviceArray | None]

# Devices whose scores have been compared with the CPU's in this process, and the rows of it.
_CHECKED: set[int] = set()
_CHECKED_ROWS = 64


def predict_on_gpu(
    model: BoostedModel,
    X: Any,
    offset: Any,
    finish: Finish,
    finish_on_gpu: GpuFinish,
    score_on_host: Callable[..., Floats],
    *,
    accepts_unknown: bool,
    estimator_name: str,
) -> Any:
    """Return what follows from the scores of rows, in the library that X belongs to.

    Parameters
    ----------
    model : BoostedModel
    X : array of a GPU
    offset : array, optional
    finish, finish_on_gpu : functions of scores
        The last step, on either side; that of the GPU may return None.
    score_on_host : function of a table and an offset
        Scores by the CPU, for models and tables that a GPU does not read, and to compare.
    accepts_unknown : bool
        Whether categories that did not occur in `fit` count as missing.
    estimator_name : str
    """
    rows = cupy_view(X, "X")
    device, index = device_of(rows)
    added = read_offset(offset, len(rows), model.ensemble.n_outputs)
    start = None if added is None else model.ensemble.base_score + added
    scores = model.on_gpus.scores(rows, start, device, index, accepts_unknown=accepts_unknown)
    if scores is None:
        return _returned(X, finish(score_on_host(rows, offset)), device)
    names, n_features = model.schema.feature_names, model.schema.n_features
    column_order(names, None, n_features, n_features, estimator_name)  # which may warn
    if index not in _CHECKED:
        first = slice(0, _CHECKED_ROWS)
        expected = score_on_host(rows[first], None if added is None else added[first])
        _require_same(device.read(scores.array[first]), expected)
        _CHECKED.add(index)
    result = finish_on_gpu(scores)
    if result is None:
        return _returned(X, finish(device.read(scores.array)), device)
    device.marker()()
    return in_library_of(X, result)


def _returned(X: Any, result: NDArray[Any], device: Device) -> Any:
    """Return a result of the host where X is; strings stay, since a GPU cannot hold them."""
    if result.dtype.kind not in "biuf":
        return result
    uploaded = device.upload(result)
    device.marker()()
    return in_library_of(X, uploaded)


def _require_same(scores: Floats, expected: Floats) -> None:
    """Refuse a device whose scores are not the CPU's."""
    if not np.array_equal(scores, expected):
        raise DeviceError(
            "The GPU computes different scores from the CPU, probably because of a compiler bug. "
            "Pass a copy of X in host memory, and please report this."
        )
