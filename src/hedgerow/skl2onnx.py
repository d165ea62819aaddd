"""Pipelines of scikit-learn that end with an estimator of this library, as one ONNX graph.

After `register()`, `skl2onnx.to_onnx` converts them: its own converters write the preprocessing,
and the last step is the graph that `export("model.onnx")` writes, which reads the columns of the
matrix before it. Needs ``pip install skl2onnx``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from typing import Any

import onnx
from skl2onnx import update_registered_converter
from skl2onnx.common import _topology
from skl2onnx.common.data_types import (
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
    guess_tensor_type,
)
from sklearn.base import ClassifierMixin

from hedgerow._export import exported
from hedgerow._export.onnx_graph import ML, OPSETS
from hedgerow._model_file.contents import estimator_kinds
from hedgerow.exceptions import ExportError

__all__ = ["register"]


def register() -> None:
    """Tell skl2onnx how to convert the estimators of this library."""
    for kind in estimator_kinds():
        is_classifier = issubclass(kind, ClassifierMixin)
        options = {"zipmap": [True, False, "columns"]} if is_classifier else None
        update_registered_converter(
            kind, f"Hedgerow{kind.__name__}", _declare_outputs, _convert, options=options
        )

    _allow_version_of_operators()


def _allow_version_of_operators() -> None:
    """Let graphs have the operators of ai.onnx.ml that trees need.

    skl2onnx's own converters use version 3 at most, and it refuses graphs with a later one. Later
    versions contain the same operators, so its own steps remain valid.
    """
    newest = _topology.get_default_opset_for_domain
    if not hasattr(newest, "__wrapped__"):

        @wraps(newest)
        def with_trees(domain: str) -> int | None:
            version: int | None = newest(domain)
            return max(version or 0, OPSETS[ML]) if domain == ML else version

        _topology.get_default_opset_for_domain = with_trees


def _declare_outputs(operator: Any) -> None:
    """Set the types of the outputs: those of labels, and double or float as the input."""
    number = guess_tensor_type(operator.inputs[0].type)
    for output, source in zip(operator.outputs, _sources(operator), strict=True):
        if source.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE:
            width = source.type.tensor_type.shape.dim[1].dim_value
            output.set_type(type(number)([None, width or None]))
        elif source.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            output.set_type(StringTensorType([None]))
        else:
            output.set_type(Int64TensorType([None]))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the nodes of the model, with names of this scope, between inputs and outputs."""
    own = _own_model(operator)
    versions = {each.domain: each.version for each in own.opset_import}
    names: dict[str, str] = {}
    columns = _columns(scope, operator, container, versions[""])
    for column in own.graph.input:
        name, is_text = next(columns, ("", False))
        _require_column(column, is_text=is_text, is_there=bool(name))
        names[column.name] = name if is_text else _cast(scope, container, name, versions[""])
    for tensor in own.graph.initializer:
        names[tensor.name] = _stored(scope, container, tensor)
    for node in own.graph.node:
        for result in node.output:
            names[result] = scope.get_unique_variable_name(result)
        container.add_node(
            node.op_type,
            [names[each] for each in node.input],
            [names[each] for each in node.output],
            op_domain=node.domain,
            op_version=versions[node.domain],
            name=scope.get_unique_operator_name(node.op_type),
            **{each.name: onnx.helper.get_attribute_value(each) for each in node.attribute},
        )
    for output, source in zip(operator.outputs, _sources(operator), strict=True):
        _connect(container, names[source.name], output, versions[""])


def _own_model(operator: Any) -> Any:
    """Return the ONNX model of the estimator alone."""
    if not hasattr(operator, "hedgerow_model"):
        operator.hedgerow_model = onnx.load_from_string(exported(operator.raw_operator, "onnx"))
    return operator.hedgerow_model


def _sources(operator: Any) -> list[Any]:
    """Return the outputs of that model which are the outputs of the step: the label comes first."""
    model = operator.raw_operator
    # "_" distinguishes an output from a column of the same name.
    found = {each.name.rstrip("_"): each for each in _own_model(operator).graph.output}
    if "probabilities" in found:
        found.pop("scores", None)
    if isinstance(model, ClassifierMixin) and "label" not in found:
        raise ExportError(
            f"this {type(model).__name__} cannot be a step of an ONNX pipeline, because its graph "
            "has no label: it has several outputs, or scores alone. Export it by itself, with "
            "export('model.onnx')."
        )
    return list(found.values())[: len(operator.outputs)]


def _columns(scope: Any, operator: Any, container: Any, version: int) -> Iterator[tuple[str, bool]]:
    """Yield the name of each column, of shape (n, 1), and whether it consists of strings."""
    for variable in operator.inputs:
        is_text = isinstance(variable.type, StringTensorType)
        for j in range(_width(operator, variable)):
            name = scope.get_unique_variable_name(f"column_{j}")
            index = onnx.helper.make_tensor("", onnx.TensorProto.INT64, [1], [j])
            at = _stored(scope, container, index)
            container.add_node(
                "Gather",
                [variable.full_name, at],
                [name],
                op_version=version,
                name=scope.get_unique_operator_name("Gather"),
                axis=1,
            )
            yield name, is_text


def _width(operator: Any, variable: Any) -> int:
    """Return the number of columns of an input; that of the model if its step has one input."""
    shape = variable.type.shape
    if len(shape) > 1 and shape[1] is not None:
        return int(shape[1])
    return int(operator.raw_operator.n_features_in_) if len(operator.inputs) == 1 else 1


def _require_column(column: Any, *, is_text: bool, is_there: bool) -> None:
    expected = column.type.tensor_type.elem_type == onnx.TensorProto.STRING
    if not is_there:
        raise ExportError(
            f"the column {column.name!r} of the model is not among the inputs of its step. Pass "
            "initial types of the full width, as in FloatTensorType([None, 10])."
        )
    if expected != is_text:
        kinds = ("strings", "numbers") if expected else ("numbers", "strings")
        raise ExportError(
            f"the model expects {kinds[0]} in the column {column.name!r}, but the initial types "
            f"declare {kinds[1]}."
        )


def _stored(scope: Any, container: Any, tensor: Any) -> str:
    """Store a constant, and return its name."""
    name: str = scope.get_unique_variable_name("constant")
    values = onnx.numpy_helper.to_array(tensor)
    if tensor.data_type == onnx.TensorProto.STRING:  # which skl2onnx reads from lists only
        texts = [text.encode() if isinstance(text, str) else text for text in values.ravel()]
        container.add_initializer(name, tensor.data_type, list(values.shape), texts)
    else:
        container.add_initializer(name, None, None, onnx.numpy_helper.from_array(values))
    return name


def _cast(scope: Any, container: Any, name: str, version: int) -> str:
    result: str = scope.get_unique_variable_name("number")
    container.add_node(
        "Cast",
        [name],
        [result],
        op_version=version,
        name=scope.get_unique_operator_name("Cast"),
        to=onnx.TensorProto.DOUBLE,
    )
    return result


def _connect(container: Any, result: str, output: Any, version: int) -> None:
    """Give a result the name and the type of an output."""
    is_float = isinstance(output.type, FloatTensorType)
    options = {"to": onnx.TensorProto.FLOAT} if is_float else {}
    container.add_node(
        "Cast" if is_float else "Identity",
        [result],
        [output.full_name],
        op_version=version,
        name=f"{output.full_name}_of_model",
        **options,
    )
