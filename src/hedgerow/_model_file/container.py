"""The bytes of a model file: a JSON document and named arrays, in a safetensors file.

Every file of every version begins with the length of the header (8 bytes) and then `_START`, the
checksum in hexadecimal, and the rest of the header. The checksum covers every other byte of the
file and is compared before anything is parsed, so that damage is found wherever it is.

Safetensors files are written here, not by the library, whose order of metadata and of tensors may
change between its versions: the same model must give the same bytes. They are read here too, so
that a model can be loaded wherever NumPy runs, free-threaded Pythons included.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from hedgerow.exceptions import ModelFileError

FORMAT = "hedgerow"
FORMAT_VERSION = 1

Document = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

_START = b'{"__metadata__":{"checksum":"'
_DIGEST_AT = 8 + len(_START)
_REST_AT = _DIGEST_AT + 64
BEGINNING = _REST_AT  # bytes that `check_beginning` needs
_MOST_HEADER_BYTES = 100_000_000  # the limit of the safetensors library
_MOST_AXES = 64  # of NumPy
_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "F32": np.dtype("<f4"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "I16": np.dtype("<i2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
_CONVERTED = "if it was written by hedgerow convert, convert it back to .hedgerow"
_SAVED = "load the file that model.save(path) wrote"
_READ = "which hedgerow.read_model reads"
_OF_XGBOOST = f"an XGBoost model, {_READ}"
_OLD_XGBOOST = (
    "an XGBoost model in its old format: save it as JSON, which hedgerow.read_model reads"
)
_PICKLE = "a pickle: use pickle.load or joblib.load, if you trust its source"
# First bytes of other kinds of files.
_OTHER_FILES = {
    **{bytes([0x80, protocol]): _PICKLE for protocol in (2, 3, 4, 5)},
    b"binf": _OLD_XGBOOST,
    b"bs64": _OLD_XGBOOST,
    b"tree\n": f"a LightGBM model, {_READ}",
    b"CBM1": f"a CatBoost model, {_READ}",
    b"PK\x03\x04": f"a zip archive: {_SAVED}",
    b"\x1f\x8b": f"a gzip file: {_SAVED}",
}
_DTYPE_NAMES = {dtype.newbyteorder("="): name for name, dtype in _DTYPES.items()}


def pack(document: Document, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a file."""
    versioned = document | {"format": FORMAT, "format_version": FORMAT_VERSION}
    # Widest first: with a header of a multiple of 8 bytes, every array is aligned in the file.
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header = _header(_dumps(versioned), names, arrays)
    body = [header[_DIGEST_AT - 8 + 64 :]]
    body += [_little_endian(arrays[name]).tobytes() for name in names]
    beginning = len(header).to_bytes(8, "little") + _START
    return b"".join([beginning, _digest([beginning, *body]), *body])


def check_beginning(beginning: bytes, size: int) -> None:
    """Check the first bytes of a file before the rest is read; raise if it is not a model file."""
    if size == 0:
        raise ModelFileError("the file is empty")
    if not beginning[8:].startswith(_START[: max(1, len(beginning) - 8)]):
        _refuse_foreign(beginning)
    header_length = int.from_bytes(beginning[:8], "little")
    if header_length > _MOST_HEADER_BYTES:
        raise ModelFileError(f"damaged: the header claims a length of {header_length} bytes")
    if len(beginning) < BEGINNING or 8 + header_length > size:
        raise ModelFileError("truncated: the file ends within its header")


def unpack(data: bytes) -> tuple[Document, Arrays]:
    """Read the output of `pack`, or raise ModelFileError."""
    check_beginning(data[:BEGINNING], len(data))
    if _digest([data[:_DIGEST_AT], memoryview(data)[_REST_AT:]]) != data[_DIGEST_AT:_REST_AT]:
        raise ModelFileError("damaged: the checksum differs, so the file was truncated or changed")
    begin = 8 + int.from_bytes(data[:8], "little")
    header = _loads(data[8:begin])
    return _read_document(header), _read_arrays(header, memoryview(data)[begin:])


def without_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of an object; of two with one name, programs differ in which they read."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ModelFileError(f"the field {twice!r} occurs twice")
    return fields


def _header(document: str, names: Sequence[str], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    table: dict[str, Any] = {"__metadata__": {"checksum": "0" * 64, FORMAT: document}}
    end = 0
    for name in names:
        array = arrays[name]
        begin, end = end, end + array.nbytes
        dtype = _DTYPE_NAMES[array.dtype.newbyteorder("=")]
        table[name] = {"data_offsets": [begin, end], "dtype": dtype, "shape": list(array.shape)}
    header = _dumps(table).encode("ascii")
    return header + b" " * (-len(header) % 8)


def _dumps(value: Any) -> str:
    """Write JSON that depends on the value alone; '_' sorts before the names of arrays."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _little_endian(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def _digest(chunks: Sequence[bytes | memoryview]) -> bytes:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest().encode("ascii")


def _refuse_foreign(beginning: bytes) -> NoReturn:
    if beginning[8:10] == b'{"' and not beginning.startswith(b"{"):
        raise ModelFileError("a safetensors file, but not one that Hedgerow saved")
    raise ModelFileError(f"not a Hedgerow model file{_other_kind(beginning)}")


def _other_kind(beginning: bytes) -> str:
    """Return what a file is instead, if its first bytes identify it."""
    for start, what in _OTHER_FILES.items():
        if beginning.startswith(start):
            return f", but {what}"
    if beginning.startswith(b"{") and b"learner" in beginning[:32]:
        return f", but {_OF_XGBOOST}"
    return f", but JSON: {_CONVERTED}" if beginning.startswith((b'{"', b"{\n")) else ""


def _read_document(header: Any) -> Document:
    metadata = header.pop("__metadata__", None) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or set(metadata) != {"checksum", FORMAT}:
        raise ModelFileError("the metadata in the header are not those of a model")
    document = _loads(metadata[FORMAT])
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        raise ModelFileError("the header does not describe a model")
    _check_version(document.pop("format_version", None))
    return document


def _check_version(version: Any) -> None:
    if type(version) is not int or version < 1:
        raise ModelFileError(f"the format version is {version!r}")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"written by a newer Hedgerow (format {version}; this one reads up to {FORMAT_VERSION})"
        )


def _loads(text: Any) -> Any:
    try:
        return json.loads(
            text,
            object_pairs_hook=without_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"the header cannot be read: {error}") from error
    except RecursionError:
        raise ModelFileError("the header is nested too deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large")
    return number


def _read_arrays(table: Mapping[str, Any], stored: memoryview) -> Arrays:
    """Read arrays that follow each other without a gap, up to the end of the file."""
    entries = {name: _read_entry(name, fields) for name, fields in table.items()}
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != end:
            raise ModelFileError(f"the array {name!r} does not begin where the one before it ends")
        end = entry.end
    if end != len(stored):
        raise ModelFileError(f"the arrays have {end} bytes, but the file has {len(stored)}")
    return {
        name: _read_array(name, entry, stored[entry.begin : entry.end])
        for name, entry in entries.items()
    }


class _Entry(NamedTuple):
    """What the header says of an array."""

    dtype: np.dtype[Any]
    shape: list[int]
    begin: int
    end: int


def _read_entry(name: str, fields: Any) -> _Entry:
    """Read the entry of an array, whose shape and place must agree."""
    if not isinstance(fields, dict) or set(fields) != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"the entry of the array {name!r} is not one of a safetensors file")
    shape, place = fields["shape"], fields["data_offsets"]
    if not _are_counts(shape) or not _are_counts(place) or len(place) != 2:
        raise ModelFileError(f"the array {name!r} has an impossible shape or place")
    dtype = _DTYPES.get(fields["dtype"]) if isinstance(fields["dtype"], str) else None
    if dtype is None:
        raise ModelFileError(f"the array {name!r} has the unknown type {fields['dtype']}")
    if math.prod(shape) * dtype.itemsize != place[1] - place[0]:
        raise ModelFileError(f"the array {name!r} has another size than its shape")
    return _Entry(dtype, shape, *place)


def _are_counts(numbers: Any) -> bool:
    """Return whether this is a list of few numbers that are not negative."""
    return (
        isinstance(numbers, list)
        and len(numbers) <= _MOST_AXES
        and all(type(number) is int and number >= 0 for number in numbers)
    )


def _read_array(name: str, entry: _Entry, stored: memoryview) -> NDArray[Any]:
    """Return an array with its own memory, aligned and in native byte order."""
    if entry.dtype.kind == "b" and np.frombuffer(stored, np.uint8).max(initial=0) > 1:
        raise ModelFileError(f"the array {name!r} contains something other than true and false")
    try:
        flat = np.frombuffer(stored, entry.dtype)
        return flat.astype(entry.dtype.newbyteorder("=")).reshape(entry.shape)
    except (ValueError, OverflowError) as error:
        raise ModelFileError(f"the array {name!r} has an impossible shape: {error}") from error
