"""A fitted estimator ↔ JSON text, for programs and people that do not read binary files.

    {"format": "hedgerow-json", "format_version": 1,
     "model": {…}, "arrays": {name: {"dtype": …, "shape": […], "values": […]}}}

`model` and `arrays` have the contents of a model file. Values are in C order, floats with all of
their digits; those that JSON cannot represent are the strings "nan", "inf" and "-inf". The text is
equivalent to the file, and is checked in the same way when it is read.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._estimator import Estimator
from hedgerow._model_file.container import Arrays, pack, unpack, without_duplicates
from hedgerow._model_file.contents import read_estimator, write_estimator
from hedgerow._model_file.stored import require
from hedgerow.exceptions import ModelFileError

FORMAT = "hedgerow-json"
FORMAT_VERSION = 1

_FLOATS = ("float64", "float32")
_INTS = ("int64", "int32", "int16", "uint32", "uint8")
_NO_NUMBERS = ("nan", "inf", "-inf")


def to_json(estimator: Estimator) -> str:
    """Return a fitted estimator as JSON."""
    document, arrays = write_estimator(estimator)
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "model": document,
        "arrays": {name: _write_array(array) for name, array in sorted(arrays.items())},
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str | bytes, name: str = "the text") -> Any:
    """Return the estimator in the output of `to_json`, or raise ModelFileError."""
    try:
        content = json.loads(text, object_pairs_hook=without_duplicates)
        require(
            isinstance(content, dict) and content.get("format") == FORMAT,
            "the format is not 'hedgerow-json'",
        )
        version = content.get("format_version")
        require(
            version == FORMAT_VERSION,
            f"the format version is {version!r}, and this Hedgerow reads {FORMAT_VERSION}",
        )
        return _read_estimator(content.get("model"), content.get("arrays"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name!r} is not a model in Hedgerow's JSON: {error}") from error


def _read_estimator(document: Any, stored: Any) -> Any:
    require(isinstance(document, dict), "there is no model")
    require(isinstance(stored, dict), "there are no arrays")
    arrays: Arrays = {name: _read_array(name, array) for name, array in stored.items()}
    return read_estimator(*unpack(pack(document, arrays)))  # which check everything


def _write_array(array: NDArray[Any]) -> dict[str, Any]:
    values = array.ravel().tolist()
    if array.dtype.kind == "f":
        values = [value if math.isfinite(value) else str(value) for value in values]
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": values}


def _read_array(name: str, stored: Any) -> NDArray[Any]:
    is_whole = isinstance(stored, dict) and set(stored) == {"dtype", "shape", "values"}
    require(is_whole, f"the array {name!r} does not have the fields dtype, shape and values")
    dtype, shape, values = stored["dtype"], stored["shape"], stored["values"]
    require(isinstance(values, list), f"the values of {name!r} are not a list")
    require(_are_of(values, dtype), f"the values of {name!r} are not all of dtype {dtype!r}")
    is_shape = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    require(is_shape and math.prod(shape) == len(values), f"the shape of {name!r} is {shape!r}")
    try:
        return np.array([float(v) for v in values] if dtype in _FLOATS else values, dtype).reshape(
            shape
        )
    except OverflowError as error:
        raise ModelFileError(f"a value of {name!r} is too large: {error}") from error


def _are_of(values: list[Any], dtype: Any) -> bool:
    if dtype in _FLOATS:
        return all(type(v) in (float, int) or v in _NO_NUMBERS for v in values)
    kind = {"bool": bool} | dict.fromkeys(_INTS, int)
    is_known = isinstance(dtype, str) and dtype in kind
    return is_known and all(type(v) is kind[dtype] for v in values)
