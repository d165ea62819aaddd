"""An ONNX graph that is written node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import __version__
from hedgerow._result import imported
from hedgerow._types import Floats

ML = "ai.onnx.ml"
OPSETS = {"": 21, ML: 5}  # onnxruntime 1.20
_IR_VERSION = 10


class OnnxGraph:
    """A graph that grows node by node; a result of an operation is known by its name.

    Inputs have the names of `columns`, and all else has other names: if a column has the name of an
    output, such as "label", that is followed by "_".
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = frozenset(columns)
        self._onnx = imported("onnx", "export() to ONNX")
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, is_text: bool = False) -> str:
        """Declare a column of the table, and return its name."""
        types = self._onnx.TensorProto
        kind = types.STRING if is_text else types.DOUBLE
        self._inputs.append(self._onnx.helper.make_tensor_value_info(name, kind, [None, 1]))
        return name

    def output(self, result: str, name: str, values: NDArray[Any], width: int | None) -> None:
        """Declare an output; `values` are of its type."""
        name = self._own(name)
        self._nodes.append(self._onnx.helper.make_node("Identity", [result], [name]))
        shape = [None] if width is None else [None, width]
        info = self._onnx.helper.make_tensor_value_info(name, self._tensor(values).data_type, shape)
        self._outputs.append(info)

    def constant(self, values: Any) -> str:
        """Store an array, and return its name."""
        name = self._own(f"constant_{len(self._constants)}")
        tensor = self._tensor(np.asarray(values))
        tensor.name = name
        self._constants.append(tensor)
        return name

    def apply(
        self, operation: str, *inputs: str, domain: str = "", n_results: int = 1, **attributes: Any
    ) -> str:
        """Add a node, and return the name of its first result. Arrays become tensors."""
        return self.apply_all(operation, *inputs, domain=domain, n_results=n_results, **attributes)[
            0
        ]

    def apply_all(
        self, operation: str, *inputs: str, domain: str = "", n_results: int, **attributes: Any
    ) -> list[str]:
        """Add a node, and return the names of all its results."""
        result = f"{operation.lower()}_{len(self._nodes)}"
        results = [*map(self._own, [result, *(f"{result}_{i}" for i in range(1, n_results))])]
        tensors = {
            name: self._tensor(value) if isinstance(value, np.ndarray) else value
            for name, value in attributes.items()
        }
        node = self._onnx.helper.make_node(operation, inputs, results, domain=domain, **tensors)
        self._nodes.append(node)
        return results

    def serialised(self, kind: str) -> bytes:
        """Return the bytes of the model, for an estimator of some kind."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, kind, self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        made = helper.make_model(
            graph, opset_imports=opsets, producer_name=f"Hedgerow {__version__}"
        )
        made.ir_version = _IR_VERSION
        data: bytes = made.SerializeToString(deterministic=True)
        return data

    def _own(self, name: str) -> str:
        while name in self._columns:
            name += "_"
        return name

    def _tensor(self, values: NDArray[Any]) -> Any:
        if values.dtype.kind in "OU":
            texts = [str(value).encode() for value in values.reshape(-1)]
            kind = self._onnx.TensorProto.STRING
            return self._onnx.helper.make_tensor("", kind, values.shape, texts)
        return self._onnx.numpy_helper.from_array(values)


def label_values(classes: NDArray[Any]) -> NDArray[Any]:
    """Return classes as ONNX has them: integers or strings."""
    return classes.astype(np.int64) if classes.dtype.kind in "iub" else classes.astype(object)


def sum_of_powers(graph: OnnxGraph, columns: Sequence[str], rows: Floats, p: float) -> str:
    """Return the sum over the columns of |x − row|^p, (n_queries, n_rows); for p = ∞ the maximum.

    The columns are added in their order, as in this library.
    """
    power = graph.constant(np.float64(p))
    total = ""
    for column, numbers in zip(columns, rows.T, strict=True):
        row = graph.constant(np.ascontiguousarray(numbers)[np.newaxis])
        difference = graph.apply("Sub", column, row)
        if p == 2.0:
            term = graph.apply("Mul", difference, difference)
        else:
            term = graph.apply("Abs", difference)
            term = term if p in (1.0, np.inf) else graph.apply("Pow", term, power)
        add = "Max" if p == np.inf else "Add"
        total = graph.apply(add, total, term) if total else term
    return total
