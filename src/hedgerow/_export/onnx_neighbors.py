"""Nearest neighbours as ONNX: all training rows, their distances, and votes or means.

    columns ─▶ distances to all rows ─▶ weights of the neighbours ─▶ label, probabilities or means

Distances are sums over the columns, in their order, and `TopK` takes the first of equal distances,
so the neighbours are those of this library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow._contract import internals
from hedgerow._data.outputs import ClassOutputs
from hedgerow._estimator import Estimator
from hedgerow._export.onnx_graph import OnnxGraph, label_values, sum_of_powers
from hedgerow._neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
)
from hedgerow._neighbors.estimators import class_factors
from hedgerow._neighbors.metrics import unit_rows
from hedgerow._neighbors.search import NeighborsModel
from hedgerow._tree.additive import column_names
from hedgerow._types import Floats
from hedgerow.exceptions import ExportError

_NO_VALUES = np.empty(0)
_POWERS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf, "cosine": 2.0}


def neighbors_onnx(estimator: Estimator) -> bytes:
    """Return the bytes of an ONNX model of a classifier or regressor by neighbours."""
    model: NeighborsModel = internals(estimator).model()
    graph = OnnxGraph(column_names(model.schema))
    columns = [graph.input(name) for name in column_names(model.schema)]
    distances = _distances(graph, model, columns)
    if isinstance(estimator, KNeighborsClassifier | KNeighborsRegressor):
        sums, weight, no_one = *_nearest(graph, estimator, model, distances), ""
    else:
        sums, weight, no_one = _within(graph, estimator, model, distances)
    if isinstance(model.outputs, ClassOutputs):
        _classified(graph, estimator, model.outputs, sums, no_one)
    else:
        width = model.outputs.n_outputs if model.outputs is not None else None
        graph.output(graph.apply("Div", sums, weight), "prediction", _NO_VALUES, width)
    return graph.serialised(type(estimator).__name__)


def require_expressible_neighbors(estimator: Any) -> None:
    """Raise ExportError if neighbours cannot be written."""
    model: NeighborsModel = internals(estimator).model()
    if isinstance(estimator, NearestNeighbors):
        raise ExportError(
            "NearestNeighbors cannot be exported: it has no predictions. Export a classifier or "
            "regressor."
        )
    if model.metric.name not in (*_POWERS, "minkowski"):
        raise ExportError(
            f"neighbours by {model.metric.description} cannot be exported. Use "
            "'euclidean', 'manhattan', 'chebyshev', 'minkowski' or 'cosine'."
        )
    if callable(estimator.weights):
        raise ExportError(
            "weights as a function cannot be exported. Use weights='uniform' or 'distance'."
        )
    if isinstance(estimator, RadiusNeighborsClassifier):
        outputs = model.outputs
        assert isinstance(outputs, ClassOutputs)
        if estimator.outlier_label_ is None or not outputs.is_single:
            raise ExportError(
                "a RadiusNeighborsClassifier can only be exported with one output and an "
                "outlier_label, because predictions from a graph cannot raise an error. Set "
                "outlier_label, as in outlier_label='most_frequent'."
            )


def _distances(graph: OnnxGraph, model: NeighborsModel, columns: list[str]) -> str:
    """Return the distances of queries to all training rows, (n_queries, n_rows)."""
    is_sparse = scipy.sparse.issparse(model.rows)
    rows = np.asarray(model.rows.toarray() if is_sparse else model.rows, np.float64)
    if model.metric.name == "cosine":
        return _cosine_distances(graph, columns, rows)
    p = _POWERS.get(model.metric.name, model.metric.p)
    sums = sum_of_powers(graph, columns, rows, p)
    if p in (1.0, np.inf):
        return sums
    if p == 2.0:
        return graph.apply("Sqrt", sums)
    return graph.apply("Pow", sums, graph.constant(np.float64(1.0 / p)))


def _cosine_distances(graph: OnnxGraph, columns: list[str], rows: Floats) -> str:
    """Return half the squared distances of rows of norm 1, and 1 for rows that are all 0."""
    zero, one = graph.constant(np.float64(0.0)), graph.constant(np.float64(1.0))
    norm = graph.apply("Sqrt", sum_of_powers(graph, columns, np.zeros((1, len(columns))), 2.0))
    is_zero = graph.apply("Equal", norm, zero)
    divisor = graph.apply("Where", is_zero, one, norm)
    scaled = [graph.apply("Div", column, divisor) for column in columns]
    squares = sum_of_powers(graph, scaled, unit_rows(rows, 1), 2.0)
    halves = graph.apply("Mul", squares, graph.constant(np.float64(0.5)))
    either = graph.apply("Or", is_zero, graph.constant(~rows.any(axis=1, keepdims=True).T))
    return graph.apply("Where", either, one, halves)


def _targets(model: NeighborsModel) -> Floats:
    """Return what the neighbours add up: numbers, or marks of the classes of each output."""
    assert model.target is not None
    if not isinstance(model.outputs, ClassOutputs):
        return np.asarray(model.target, np.float64)
    marks = [np.eye(len(classes)) for classes in model.outputs.classes]
    return np.hstack([mark[model.target[:, j]] for j, mark in enumerate(marks)])


def _nearest(
    graph: OnnxGraph, estimator: Any, model: NeighborsModel, distances: str
) -> tuple[str, str]:
    """Return the weighted sums of the nearest neighbours' targets, and their weights' sum."""
    k = graph.constant(np.array([estimator.n_neighbors], np.int64))
    near, indices = graph.apply_all("TopK", distances, k, n_results=2, axis=1, largest=0)
    last = graph.constant(np.array([2], np.int64))
    targets = graph.apply("Gather", graph.constant(_targets(model)), indices)
    weights = graph.apply("Unsqueeze", _weights(graph, estimator, near), last)
    ranks = graph.constant(np.array([1], np.int64))
    weighted = graph.apply("Mul", targets, weights)
    sums = graph.apply("ReduceSum", weighted, ranks, keepdims=0)
    return sums, graph.apply("ReduceSum", weights, ranks, keepdims=0)


def _within(
    graph: OnnxGraph, estimator: Any, model: NeighborsModel, distances: str
) -> tuple[str, str, str]:
    """Return the same for all rows within the radius, and whether there are none."""
    zero, one = graph.constant(np.float64(0.0)), graph.constant(np.float64(1.0))
    near = graph.apply("LessOrEqual", distances, graph.constant(np.float64(estimator.radius)))
    weights = graph.apply("Where", near, _weights(graph, estimator, distances), zero)
    axis = graph.constant(np.array([1], np.int64))
    counts = graph.apply("ReduceSum", graph.apply("Where", near, one, zero), axis, keepdims=1)
    sums = graph.apply("MatMul", weights, graph.constant(_targets(model)))
    weight = graph.apply("ReduceSum", weights, axis, keepdims=1)
    return sums, weight, graph.apply("Equal", counts, zero)


def _weights(graph: OnnxGraph, estimator: Any, distances: str) -> str:
    """Return the weight of each distance; inverse ones are relative to the nearest row."""
    zero, one = graph.constant(np.float64(0.0)), graph.constant(np.float64(1.0))
    if estimator.weights != "distance":
        return graph.apply("Add", graph.apply("Mul", distances, zero), one)
    axis = graph.constant(np.array([1], np.int64))
    nearest = graph.apply("ReduceMin", distances, axis, keepdims=1)
    is_zero = graph.apply("Equal", distances, zero)
    share = graph.apply("Div", nearest, graph.apply("Where", is_zero, one, distances))
    exact = graph.apply("Where", is_zero, one, zero)
    return graph.apply("Where", graph.apply("Equal", nearest, zero), exact, share)


def _classified(
    graph: OnnxGraph, estimator: Any, outputs: ClassOutputs, sums: str, no_one: str
) -> None:
    """Declare the label, if there is one output, and the probabilities of each."""
    model: NeighborsModel = internals(estimator).model()
    factors = class_factors(estimator.class_weight, model)
    votes = graph.apply("Mul", sums, graph.constant(np.hstack(factors)[np.newaxis]))
    widths = [len(classes) for classes in outputs.classes]
    ends = np.cumsum(widths)
    parts = [
        graph.apply("Slice", votes, *_range(graph, end - width, end))
        for width, end in zip(widths, ends.tolist(), strict=True)
    ]
    if no_one:
        own = np.array([label == estimator.outlier_label_[0] for label in outputs.classes[0]])
        mark = graph.constant(own.astype(np.float64)[np.newaxis])
        parts = [graph.apply("Where", no_one, mark, parts[0])]
    if outputs.is_single:
        _label(graph, estimator, outputs.classes[0], parts[0], no_one)
    shares = graph.apply("Concat", *[_shares(graph, part) for part in parts], axis=1)
    graph.output(shares, "probabilities", _NO_VALUES, int(ends[-1]))


def _range(graph: OnnxGraph, start: int, end: int) -> list[str]:
    return [graph.constant(np.array([at], np.int64)) for at in (start, end, 1)]


def _shares(graph: OnnxGraph, votes: str) -> str:
    zero, one = graph.constant(np.float64(0.0)), graph.constant(np.float64(1.0))
    axis = graph.constant(np.array([1], np.int64))
    total = graph.apply("ReduceSum", votes, axis, keepdims=1)
    is_zero = graph.apply("Equal", total, zero)
    return graph.apply("Div", votes, graph.apply("Where", is_zero, one, total))


def _label(
    graph: OnnxGraph, estimator: Any, classes: NDArray[Any], votes: str, no_one: str
) -> None:
    labels = label_values(classes)
    best = graph.apply("ArgMax", votes, axis=1, keepdims=0)
    label = graph.apply("Gather", graph.constant(labels), best)
    if no_one:
        outlier = label_values(np.array([estimator.outlier_label_[0]]))
        flat = graph.apply("Reshape", no_one, graph.constant(np.array([-1], np.int64)))
        label = graph.apply("Where", flat, graph.constant(outlier), label)
    graph.output(label, "label", labels, None)
