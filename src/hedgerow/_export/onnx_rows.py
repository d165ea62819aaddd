"""Models that are no trees, SVMs and neighbours, as ONNX."""

from __future__ import annotations

from collections.abc import Callable

from hedgerow._contract import internals
from hedgerow._estimator import Estimator
from hedgerow._export.onnx_neighbors import neighbors_onnx
from hedgerow._export.onnx_svm import kernel_svm_onnx, linear_svm_onnx
from hedgerow._neighbors.search import NeighborsModel
from hedgerow._svm.kernel.model import KernelModel
from hedgerow._svm.linear.estimators import LinearModel

_WRITERS: dict[type, Callable[[Estimator], bytes]] = {
    KernelModel: kernel_svm_onnx,
    LinearModel: linear_svm_onnx,
    NeighborsModel: neighbors_onnx,
}


def has_no_trees(estimator: Estimator) -> bool:
    """Return whether a fitted estimator is one of these."""
    return type(internals(estimator).model()) in _WRITERS


def rows_onnx(estimator: Estimator) -> bytes:
    """Return the bytes of an ONNX model."""
    return _WRITERS[type(internals(estimator).model())](estimator)
