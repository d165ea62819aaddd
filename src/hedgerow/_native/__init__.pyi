"""Hedgerow's native kernels."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def find_thresholds(table: object, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, max_bins: int, sample_size: int, seed: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

def find_sparse_thresholds(values: object, rows: object, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_rows: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, max_bins: int, sample_size: int, seed: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

def map_to_bins(table: object, thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], category_bins: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], category_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], by_row: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu')] | None, width: int, threads: int) -> bool:
    """Whether every value was finite or missing."""

def map_sparse_to_bins(values: object, rows: object, starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], by_row: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu')] | None, width: int, threads: int) -> bool:
    """Whether every value was finite or missing."""

def interleave(by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], by_row: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu')], width: int, threads: int) -> None:
    """Fills by_row from by_column."""
