"""What trees learned ↔ JSON types: the classes of each output, or how many numbers."""

from __future__ import annotations

from typing import Any

from hedgerow._model_file.container import Document
from hedgerow._model_file.stored import Stored, read_classes, require, write_classes
from hedgerow._tree.outputs import ClassOutputs, NumberOutputs, Outputs

_MOST_CLASSES = 1 << 16


def write_outputs(outputs: Outputs) -> Document:
    """Return outputs as JSON types."""
    if isinstance(outputs, ClassOutputs):
        return {"classes": [write_classes(classes) for classes in outputs.classes]}
    return {"n_numbers": outputs.n_outputs, "is_single": outputs.is_single}


def read_outputs(kind: type[Outputs], stored: Any) -> Outputs:
    """Read outputs of the kind that the estimator has."""
    fields = Stored(stored, {})
    if issubclass(kind, ClassOutputs):
        listed = fields.field("classes")
        require(isinstance(listed, list) and len(listed) > 0, "there are no outputs")
        classes = tuple(map(read_classes, listed))
        require(all(1 <= len(of) <= _MOST_CLASSES for of in classes), "an output has no classes")
        fields.finish()
        return ClassOutputs(classes)
    n_numbers, is_single = fields.field("n_numbers"), fields.flag("is_single")
    fields.finish()
    require(type(n_numbers) is int and 1 <= n_numbers < 2**31, "there are no outputs")
    require(n_numbers == 1 or not is_single, "a single output has several numbers")
    return NumberOutputs(n_numbers, is_single)
