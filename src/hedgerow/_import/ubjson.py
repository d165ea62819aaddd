"""Universal Binary JSON, as XGBoost writes it: bytes → dicts, lists, arrays, strings and numbers.

A value is a type letter and its bytes, big-endian. Strings and containers have a length, itself a
value. A container may state the type of all its elements (``$``) and their number (``#``); an array
of numbers of one type becomes a NumPy array.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from hedgerow._model_file.container import without_duplicates
from hedgerow.exceptions import ModelFileError

_MOST_DEPTH = 64
_NUMBERS: dict[bytes, tuple[str, np.dtype[Any]]] = {
    b"i": ("b", np.dtype(np.int8)),
    b"U": ("B", np.dtype(np.uint8)),
    b"I": (">h", np.dtype(">i2")),
    b"u": (">H", np.dtype(">u2")),
    b"l": (">i", np.dtype(">i4")),
    b"m": (">I", np.dtype(">u4")),
    b"L": (">q", np.dtype(">i8")),
    b"M": (">Q", np.dtype(">u8")),
    b"d": (">f", np.dtype(">f4")),
    b"D": (">d", np.dtype(">f8")),
}
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}


def parse_ubjson(data: bytes) -> Any:
    """Parse a document, or raise ModelFileError."""
    reader = _Reader(data)
    value = reader.value(reader.letter(), 0)
    if reader.at != len(data):
        raise ModelFileError(f"there are bytes after the end of the document, from {reader.at} on.")
    return value


class _Reader:
    """A position in the bytes of a document."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        """Return the next bytes."""
        if not 0 <= n <= len(self.data) - self.at:
            raise ModelFileError(
                f"the file ends too early: at byte {self.at} it has {len(self.data) - self.at} of "
                f"{n} bytes."
            )
        self.at += n
        return self.data[self.at - n : self.at]

    def letter(self) -> bytes:
        """Return the next letter that is not a filler."""
        letter = self.take(1)
        while letter == b"N":
            letter = self.take(1)
        return letter

    def value(self, letter: bytes, depth: int) -> Any:
        """Return the value of a type."""
        if depth > _MOST_DEPTH:
            raise ModelFileError(f"the file is nested more than {_MOST_DEPTH} deep.")
        if letter == b"{":
            return self.object(depth)
        if letter == b"[":
            return self.array(depth)
        if letter == b"S":
            return self.text()
        if letter == b"C":
            return self.take(1).decode("latin-1")
        if letter in _CONSTANTS:
            return _CONSTANTS[letter]
        return self.number(letter)

    def number(self, letter: bytes) -> Any:
        """Return a number."""
        if letter not in _NUMBERS:
            raise ModelFileError(f"byte {self.at - 1} is {letter!r}, which is not a UBJSON type.")
        code, dtype = _NUMBERS[letter]
        return struct.unpack(code, self.take(dtype.itemsize))[0]

    def length(self) -> int:
        """Return a length."""
        number = self.number(self.take(1))
        if not isinstance(number, int) or number < 0:
            raise ModelFileError(f"the length at byte {self.at} is {number!r}.")
        return number

    def text(self) -> str:
        """Return a string."""
        try:
            return self.take(self.length()).decode()
        except UnicodeDecodeError as error:
            raise ModelFileError(f"a string before byte {self.at} is not UTF-8: {error}.") from None

    def shape(self) -> tuple[bytes | None, int | None]:
        """Return the type and the number of a container's elements, if they are stated."""
        kind, count = None, None
        if self.data[self.at : self.at + 1] == b"$":
            self.take(1)
            kind = self.take(1)
        if self.data[self.at : self.at + 1] == b"#":
            self.take(1)
            count = self.length()
        if kind is not None and (count is None or kind in _CONSTANTS):
            raise ModelFileError(f"the container at byte {self.at} has a type, but no count.")
        if count is not None and count > len(self.data) - self.at:
            raise ModelFileError(
                f"the container at byte {self.at} has fewer than {count} elements."
            )
        return kind, count

    def array(self, depth: int) -> Any:
        """Return an array of numbers, or a list."""
        kind, count = self.shape()
        if kind in _NUMBERS:
            dtype = _NUMBERS[kind][1]
            numbers = np.frombuffer(self.take((count or 0) * dtype.itemsize), dtype)
            return numbers.astype(dtype.newbyteorder("="))
        if count is not None:
            return [self.value(kind or self.letter(), depth + 1) for _ in range(count)]
        elements = []
        while (letter := self.letter()) != b"]":
            elements.append(self.value(letter, depth + 1))
        return elements

    def object(self, depth: int) -> dict[str, Any]:
        """Return an object."""
        kind, count = self.shape()
        if count is not None:
            return without_duplicates([self.field(kind, depth) for _ in range(count)])
        fields = []
        while self.data[self.at : self.at + 1] != b"}":
            fields.append(self.field(None, depth))
        self.take(1)
        return without_duplicates(fields)

    def field(self, kind: bytes | None, depth: int) -> tuple[str, Any]:
        """Return the name and the value of a field, of a type if it is stated."""
        name = self.text()
        return name, self.value(kind or self.letter(), depth + 1)
