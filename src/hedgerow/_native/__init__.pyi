"""Hedgerow's native kernels."""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class Predictor:
    """An ensemble made ready for prediction."""

    def __init__(self, feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], category_set: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], category_bits: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], tree_offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], tree_output: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], base_score: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_features: int) -> None: ...

    @overload
    def predict(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], stages: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), device='cpu')], first_tree: int, stage_trees: int, start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)] | None, n_threads: int) -> None: ...

    @overload
    def predict(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], stages: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), device='cpu')], first_tree: int, stage_trees: int, start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)] | None, n_threads: int) -> None:
        """
        Fill stages (stages, rows, outputs): the base score, or start, plus trees.
        """

    @overload
    def apply(self, rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device='cpu', writable=False)], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], n_threads: int) -> None: ...

    @overload
    def apply(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), device='cpu')], n_threads: int) -> None:
        """Fill leaves (rows, trees) with the node in which each row ends."""

def add_tree_binned(feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], split_bin: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_left: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], category_set: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], category_bits: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], by_column: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], scores: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], rows: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_threads: int) -> None:
    """
    Add a tree's values to the scores of all rows, or of those listed in increasing order.
    """

def sigmoid_inplace(scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], n_threads: int = 1) -> None:
    """Replace every score by 1 / (1 + exp(-score))."""

def softmax_inplace(scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu')], n_threads: int = 1) -> None:
    """
    Replace every row of scores (rows, outputs) by its softmax. Any strides.
    """

def exp_inplace(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def log_inplace(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def log1p_inplace(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...
