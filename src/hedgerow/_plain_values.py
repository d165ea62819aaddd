"""Plain values ↔ bytes, as workers send them to each other: reading them cannot run code.

The bytes are the length of a JSON document (8 bytes), the document, and the contents of arrays and
bytes, in the order in which the document mentions them. What JSON lacks is an object with one
field, a tag, such as ``{"tuple": [1, 2]}`` or ``{"array": ["<f8", [3]]}``.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LENGTH = struct.Struct("<Q")
_KINDS = "biufU"  # of dtypes that are their bytes: booleans, numbers, strings of fixed length
_DTYPE = re.compile(rf"[<>|][{_KINDS}][0-9]{{1,10}}")  # NumPy evaluates other texts as Python
_PLAIN = (str, int, float, bool, type(None))


class NotPlainError(ValueError):
    """Bytes that are no plain value."""


def pack_value(value: Any) -> bytes:
    """Return None, booleans, numbers, strings, bytes, arrays and containers of them as bytes."""
    contents: list[bytes] = []
    document = json.dumps(_written(value, contents), separators=(",", ":")).encode("ascii")
    return b"".join([_LENGTH.pack(len(document)), document, *contents])


def unpack_value(data: bytes) -> Any:
    """Read the output of `pack_value`, or raise `NotPlainError`."""
    return _ValueReader(data).value()


def _written(value: Any, contents: list[bytes]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list):
        return [_written(item, contents) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_written(item, contents) for item in value]}
    if isinstance(value, dict):
        pairs = [[_written(key, contents), _written(v, contents)] for key, v in value.items()]
        return {"dict": pairs}
    if isinstance(value, np.dtype):
        return {"dtype": _of_dtype(value)}
    if isinstance(value, bytes):
        contents.append(value)
        return {"bytes": len(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return {"objects": [_written(item, contents) for item in value.tolist()]}
    if isinstance(value, np.ndarray):
        contents.append(np.ascontiguousarray(value).tobytes())
        return {"array": [_of_dtype(value.dtype), list(value.shape)]}
    raise TypeError(f"a {type(value).__name__} is not a plain value")


def _of_dtype(dtype: np.dtype[Any]) -> str:
    if dtype.kind not in _KINDS:
        raise TypeError(f"the dtype {dtype} is not one of plain values")
    return dtype.str


class _ValueReader:
    """Reads a document, and the contents that follow it in the order in which they are needed."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = memoryview(data), 0

    def value(self) -> Any:
        """Return the value; everything must have been read then."""
        try:
            (length,) = _LENGTH.unpack(self._take(_LENGTH.size))
            value = self._read(json.loads(bytes(self._take(length))))
        except (ValueError, TypeError, RecursionError) as error:
            raise NotPlainError(str(error)) from error
        if self._at != len(self._data):
            raise NotPlainError(f"{len(self._data) - self._at} bytes too many")
        return value

    def _take(self, length: int) -> memoryview:
        if not 0 <= length <= len(self._data) - self._at:
            raise NotPlainError(f"{length} bytes are missing")
        self._at += length
        return self._data[self._at - length : self._at]

    def _read(self, document: Any) -> Any:
        if isinstance(document, _PLAIN):
            return document
        if isinstance(document, list):
            return [self._read(item) for item in document]
        ((tag, content),) = document.items()
        if tag not in _READERS:
            raise NotPlainError(f"unknown tag {tag!r}")
        return _READERS[tag](self, content)

    def read_tuple(self, content: Any) -> tuple[Any, ...]:
        return tuple(self._read(_list(content)))

    def read_dict(self, content: Any) -> dict[Any, Any]:
        return {self._read(key): self._read(value) for key, value in _list(content)}

    def read_dtype(self, content: Any) -> np.dtype[Any]:
        if not (isinstance(content, str) and _DTYPE.fullmatch(content)):
            raise NotPlainError(f"{content!r} is not a dtype of plain values")
        return np.dtype(content)

    def read_bytes(self, content: Any) -> bytes:
        return bytes(self._take(_count(content)))

    def read_objects(self, content: Any) -> NDArray[Any]:
        items = self._read(_list(content))
        array = np.empty(len(items), object)
        array[:] = items
        return array

    def read_array(self, content: Any) -> NDArray[Any]:
        text, shape = _list(content)
        dtype, sizes = self.read_dtype(text), tuple(map(_count, _list(shape)))
        part = self._take(dtype.itemsize * math.prod(sizes))
        return np.frombuffer(part, dtype, math.prod(sizes)).reshape(sizes).copy()  # aligned


_READERS: dict[str, Callable[[_ValueReader, Any], Any]] = {
    "tuple": _ValueReader.read_tuple,
    "dict": _ValueReader.read_dict,
    "dtype": _ValueReader.read_dtype,
    "bytes": _ValueReader.read_bytes,
    "objects": _ValueReader.read_objects,
    "array": _ValueReader.read_array,
}


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise NotPlainError(f"{type(content).__name__} in place of a list")
    return content


def _count(content: Any) -> int:
    if type(content) is not int or content < 0:
        raise NotPlainError(f"{content!r} is not a count")
    return content
