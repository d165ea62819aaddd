"""Models that are no trees, SVMs and neighbours, as ONNX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hedgerow._contract import internals
from hedgerow._estimator import Estimator
from hedgerow._export.onnx_neighbors import neighbors_onnx, require_expressible_neighbors
from hedgerow._export.onnx_svm import (
    kernel_svm_onnx,
    linear_svm_onnx,
    require_expressible_kernel,
)
from hedgerow._neighbors.search import NeighborsModel
from hedgerow._svm.kernel.model import KernelModel
from hedgerow._svm.linear.estimators import LinearModel


@dataclass(frozen=True)
class _Writer:
    """What writes a kind of model, and what refuses those that cannot be written."""

    write: Callable[[Estimator], bytes]
    require_expressible: Callable[[Estimator], None] = lambda _: None


_WRITERS: dict[type, _Writer] = {
    KernelModel: _Writer(kernel_svm_onnx, require_expressible_kernel),
    LinearModel: _Writer(linear_svm_onnx),
    NeighborsModel: _Writer(neighbors_onnx, require_expressible_neighbors),
}


def has_no_trees(estimator: Estimator) -> bool:
    """Return whether a fitted estimator is one of these."""
    return type(internals(estimator).model()) in _WRITERS


def require_expressible(estimator: Estimator) -> None:
    """Raise ExportError if the model cannot be written."""
    _WRITERS[type(internals(estimator).model())].require_expressible(estimator)


def rows_onnx(estimator: Estimator) -> bytes:
    """Return the bytes of an ONNX model."""
    return _WRITERS[type(internals(estimator).model())].write(estimator)
