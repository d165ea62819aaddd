"""Hedgerow's native kernels."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def exact_presort(columns: Sequence[Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)]], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C')], ranks: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C')], threads: int) -> None:
    """Sort each column once: rows by value, and the ranks of their values."""

class ExactGrower:
    """Grows trees by exact greedy search, one at a time."""

    def __init__(self, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C')], ranks: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C')], is_categorical: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def grow(self, g: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], h: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], bag: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], params: object, threads: int) -> dict:
        """Grow one tree and return its arrays."""
