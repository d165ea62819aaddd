"""Thresholds of a table on a device: those of the CPU, from a sample that is sorted there.

Features with few values are left to the CPU, which looks for rare values in all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._cuda.device import Device, DeviceArray
from hedgerow._cuda.intake import DeviceRows
from hedgerow._cuda.memory import BINS, GROUP_COLUMNS, ROW_THREADS
from hedgerow._types import Floats

_LARGEST_RANK = 2**64 - 1
_DEAL_THREADS = 256


def find_thresholds(
    rows: DeviceRows,
    host_column: Callable[[int], NDArray[Any]],
    max_bins: int,
    sample_size: int,
    seed: int,
    threads: int,
    device: Device,
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the thresholds of all features, one after another, and where each feature's begin.

    Parameters
    ----------
    rows : DeviceRows
        The table, on the device.
    host_column : function of a column's index
        Returns its numbers on the host.
    max_bins, sample_size, seed, threads : int
        As for `_native.find_thresholds`.
    device : Device
    """
    n_features = rows.shape[1]
    found, counts = _deal(_sorted_keys(rows, sample_size, seed, device), max_bins, device)
    thresholds: list[Floats] = [found[j, : max(counts[j], 0)] for j in range(n_features)]
    few = np.flatnonzero(counts < 0).tolist()
    if few:
        columns = [(host_column(j), None) for j in few]
        values, starts = _native.find_thresholds(
            columns, None, max_bins, sample_size, seed, threads
        )
        for i, j in enumerate(few):
            thresholds[j] = values[starts[i] : starts[i + 1]]
    ends = np.cumsum([len(of_feature) for of_feature in thresholds])
    return np.concatenate(thresholds), np.concatenate([[0], ends]).astype(np.int64)


def _sorted_keys(rows: DeviceRows, sample_size: int, seed: int, device: Device) -> DeviceArray:
    """Return the sampled values of each column as keys in increasing order."""
    n_rows, n_features = rows.shape
    sampled = _sampled_rows(n_rows, sample_size, seed, device)
    n_sampled = min(n_rows, sample_size)
    is_single = rows.dtype == np.float32
    keys = device.empty((n_features, n_sampled), np.uint32 if is_single else np.uint64)
    blocks = min(-(-n_sampled // ROW_THREADS), 8 * device.n_processors)
    device.launch(
        "float_keys" if is_single else "double_keys",
        (blocks, -(-n_features // GROUP_COLUMNS)), ROW_THREADS, rows.array,
        *(np.int64(stride) for stride in rows.strides),
        np.uint64(0) if sampled is None else sampled, np.uint64(n_sampled), np.int32(n_features),
        keys,
    )  # fmt: skip
    device.sort_rows(keys)
    return keys


def _sampled_rows(n_rows: int, size: int, seed: int, device: Device) -> DeviceArray | None:
    """Return the rows of smallest rank; None if they are all rows."""
    if n_rows <= size:
        return None
    ranks = device.empty(n_rows, np.uint64)
    blocks = min(-(-n_rows // ROW_THREADS), 8 * device.n_processors)
    device.launch("rank_rows", (blocks, 1), ROW_THREADS, np.uint64(seed), np.uint64(n_rows), ranks)
    # Six standard deviations more than needed; if these do not suffice, all rows.
    share = (size + 6.0 * math.sqrt(size + 1.0)) / n_rows
    for bound in (int(min(share, 1.0) * _LARGEST_RANK), _LARGEST_RANK):
        sampled = device.smallest(ranks, size, bound)
        if sampled is not None:
            return sampled
    raise AssertionError("every row has a rank")


def _deal(keys: DeviceArray, max_bins: int, device: Device) -> tuple[Floats, NDArray[np.int32]]:
    """Return thresholds, (n_features, 256), and their numbers; −1 for a feature of few values."""
    n_features, n_sampled = keys.shape
    thresholds = device.empty((n_features, BINS), np.float64)
    counts = device.empty(n_features, np.int32)
    device.launch(
        "deal_floats" if keys.dtype == np.uint32 else "deal_doubles", (n_features, 1),
        _DEAL_THREADS, keys, np.uint64(n_sampled), np.int32(max_bins), thresholds, counts,
    )  # fmt: skip
    return device.read(thresholds), device.read(counts)
