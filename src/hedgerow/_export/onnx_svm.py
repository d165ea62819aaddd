"""Support vector machines as ONNX: scores by plain operations in double precision.

    columns ─▶ kernel values with the support vectors ─▶ scores ─▶ label, scores, probabilities

The operators that ONNX has for SVMs compute in single precision, so they are not used. Squared
distances are sums over the columns, in their order, as in this library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow._contract import internals
from hedgerow._estimator import Estimator
from hedgerow._export.onnx_graph import OnnxGraph, label_values, sum_of_powers
from hedgerow._svm.kernel.kernels import Kernel
from hedgerow._svm.kernel.model import KernelModel
from hedgerow._svm.kernel.multiclass import pairs
from hedgerow._svm.kernel.one_class import OneClassSVM
from hedgerow._svm.linear.estimators import LinearModel
from hedgerow._tree.additive import column_names
from hedgerow._types import Floats
from hedgerow.exceptions import ExportError

_NO_VALUES = np.empty(0)


def linear_svm_onnx(estimator: Estimator) -> bytes:
    """Return the bytes of an ONNX model of a linear SVM."""
    model: LinearModel = internals(estimator).model()
    graph = OnnxGraph(column_names(model.schema))
    columns = [graph.input(name) for name in column_names(model.schema)]
    scores = _affine(graph, graph.apply("Concat", *columns, axis=1), model.coef, model.intercept)
    if model.classes is None:
        graph.output(scores, "prediction", _NO_VALUES, 1)
    else:
        _label(graph, model.classes, _largest(graph, scores, len(model.coef)))
        graph.output(scores, "scores", _NO_VALUES, len(model.coef))
    return graph.serialised(type(estimator).__name__)


def kernel_svm_onnx(estimator: Estimator) -> bytes:
    """Return the bytes of an ONNX model of a kernel SVM."""
    model: KernelModel = internals(estimator).model()
    graph = OnnxGraph(column_names(model.schema))
    columns = [graph.input(name) for name in column_names(model.schema)]
    scores = _kernel_scores(graph, model, columns)
    n_scores = len(model.intercepts)
    if model.classes is not None:
        _classified(graph, estimator, model, scores)
    elif isinstance(estimator, OneClassSVM):
        _inliers(graph, scores)
    else:
        graph.output(scores, "prediction", _NO_VALUES, n_scores)
    return graph.serialised(type(estimator).__name__)


def require_expressible_kernel(estimator: Estimator) -> None:
    """Raise ExportError if a kernel SVM cannot be written."""
    model: KernelModel = internals(estimator).model()
    if model.kernel.name in ("precomputed", "callable"):
        raise ExportError(
            f"an SVM with a {model.kernel.name} kernel cannot be exported: the kernel itself is "
            "not part of the model. Use one of the kernels with a formula, such as 'rbf'."
        )
    if model.sigmoids is not None and model.has_pairs:
        raise ExportError(
            "the probabilities of one-vs-one SVMs for more than two classes cannot be exported: "
            "they solve a system of equations for each row. Use multi_class='ovr', or "
            "probability=False."
        )


def _kernel_scores(graph: OnnxGraph, model: KernelModel, columns: list[str]) -> str:
    if model.kernel.name == "linear":
        rows = graph.apply("Concat", *columns, axis=1)
        return _affine(graph, rows, model.weights, model.intercepts)
    is_sparse = scipy.sparse.issparse(model.vectors)
    vectors = model.vectors.toarray() if is_sparse else model.vectors
    values = _kernel_values(graph, model.kernel, columns, np.asarray(vectors, np.float64))
    return _affine(graph, values, model.svm_coefficients(), model.intercepts)


def _kernel_values(graph: OnnxGraph, kernel: Kernel, columns: list[str], vectors: Floats) -> str:
    """Return k(x, v) of each row with each vector, (n_rows, n_vectors)."""
    gamma = np.float64(kernel.gamma)
    if kernel.is_of_distances:
        p = 1.0 if kernel.name == "laplacian" else 2.0
        powers = sum_of_powers(graph, columns, vectors, p)
        return graph.apply("Exp", graph.apply("Mul", powers, graph.constant(-gamma)))
    rows = graph.apply("Concat", *columns, axis=1)
    # A factor after the product would be fused into it by onnxruntime, in single precision.
    weights = graph.constant(np.ascontiguousarray(gamma * vectors.T))
    products = graph.apply("MatMul", rows, weights)
    shifted = graph.apply("Add", products, graph.constant(np.float64(kernel.coef0)))
    if kernel.name == "sigmoid":
        return graph.apply("Tanh", shifted)
    return graph.apply("Pow", shifted, graph.constant(np.float64(kernel.degree)))


def _affine(graph: OnnxGraph, rows: str, weights: Floats, intercepts: Floats) -> str:
    """Return x·w + b for each row of weights."""
    products = graph.apply("MatMul", rows, graph.constant(np.ascontiguousarray(weights.T)))
    return graph.apply("Add", products, graph.constant(intercepts[np.newaxis]))


def _largest(graph: OnnxGraph, scores: str, n_scores: int) -> str:
    """Return the index of the class: that of the largest score, or the second if it is positive."""
    if n_scores > 1:
        return graph.apply("ArgMax", scores, axis=1, keepdims=0)
    positive = graph.apply("Greater", scores, graph.constant(np.float64(0.0)))
    flat = graph.apply("Reshape", positive, graph.constant(np.array([-1], np.int64)))
    return graph.apply("Cast", flat, to=7)  # int64


def _label(graph: OnnxGraph, classes: NDArray[Any], best: str) -> None:
    labels = label_values(classes)
    graph.output(graph.apply("Gather", graph.constant(labels), best), "label", labels, None)


def _inliers(graph: OnnxGraph, scores: str) -> None:
    inlier = graph.apply("GreaterOrEqual", scores, graph.constant(np.float64(0.0)))
    flat = graph.apply("Reshape", inlier, graph.constant(np.array([-1], np.int64)))
    one = (graph.constant(np.int64(1)), graph.constant(np.int64(-1)))
    graph.output(graph.apply("Where", flat, *one), "label", np.empty(0, np.int64), None)
    graph.output(scores, "scores", _NO_VALUES, 1)


def _classified(graph: OnnxGraph, estimator: Any, model: KernelModel, scores: str) -> None:
    """Declare label, scores as `decision_function` returns them, and probabilities."""
    assert model.classes is not None
    n_scores = n_decisions = len(model.intercepts)
    decisions, best = scores, _largest(graph, scores, n_scores)
    if model.has_pairs:
        votes, decisive = _votes(graph, scores, len(model.classes))
        best = graph.apply(
            "ArgMax", decisive if estimator.break_ties else votes, axis=1, keepdims=0
        )
        if estimator.decision_function_shape == "ovr":
            decisions, n_decisions = decisive, len(model.classes)
    if model.sigmoids is not None:
        probabilities = _probabilities(graph, model.sigmoids, scores)
        best = graph.apply("ArgMax", probabilities, axis=1, keepdims=0)
    _label(graph, model.classes, best)
    graph.output(decisions, "scores", _NO_VALUES, n_decisions)
    if model.sigmoids is not None:
        graph.output(probabilities, "probabilities", _NO_VALUES, len(model.classes))


def _votes(graph: OnnxGraph, scores: str, n_classes: int) -> tuple[str, str]:
    """Return the pairs that each class wins, and the same with ties broken by the scores."""
    first, second = np.zeros((2, n_classes * (n_classes - 1) // 2, n_classes))
    for k, (i, j) in enumerate(pairs(n_classes)):
        first[k, i] = second[k, j] = 1.0
    zero, one = graph.constant(np.float64(0.0)), graph.constant(np.float64(1.0))
    won = graph.apply("Cast", graph.apply("Greater", scores, zero), to=11)  # double
    lost = graph.apply("Sub", one, won)
    votes = graph.apply(
        "Add",
        graph.apply("MatMul", won, graph.constant(first)),
        graph.apply("MatMul", lost, graph.constant(second)),
    )
    confidence = graph.apply("MatMul", scores, graph.constant(first - second))
    larger = graph.apply("Add", graph.apply("Abs", confidence), one)
    width = graph.apply("Mul", graph.constant(np.float64(3.0)), larger)
    return votes, graph.apply("Add", votes, graph.apply("Div", confidence, width))


def _probabilities(graph: OnnxGraph, sigmoids: Floats, scores: str) -> str:
    """Return the probability of each class by Platt's sigmoids 1 / (1 + e^(A s + B))."""
    slope, offset = graph.constant(-sigmoids[:, 0]), graph.constant(-sigmoids[:, 1])
    raw = graph.apply("Add", graph.apply("Mul", scores, slope), offset)
    positive = graph.apply("Sigmoid", raw)
    one = graph.constant(np.float64(1.0))
    if len(sigmoids) == 1:
        return graph.apply("Concat", graph.apply("Sub", one, positive), positive, axis=1)
    total = graph.apply("ReduceSum", positive, graph.constant(np.array([1], np.int64)), keepdims=1)
    has_any = graph.apply("Greater", total, graph.constant(np.float64(0.0)))
    share = graph.apply("Div", positive, graph.apply("Where", has_any, total, one))
    return graph.apply("Where", has_any, share, graph.constant(np.float64(1.0 / len(sigmoids))))
