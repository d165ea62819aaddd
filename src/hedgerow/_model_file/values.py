"""Values of parameters and of the fit history ↔ JSON.

JSON has no tuples, no dicts with keys other than strings, and no NaN. These are objects with one
field, a tag, such as ``{"tuple": [1, 2]}``. What cannot be stored without running code on load
(functions, random states) is stored by name only and read as `NotStored`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

from hedgerow._data.names import OtherName, name_from_json, name_to_json, plain_name
from hedgerow.exceptions import ModelFileError, ParameterError

_SPECIAL_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
MOST_DEPTH = 16  # of lists in lists; parameters and histories have a few
_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class NotStored:
    """Placeholder in a loaded model for a function or random state, which files do not store.

    The model predicts without it, except for functions that define distances or weights of nearest
    neighbours. Set the parameter before the model is fitted again.
    """

    name: str

    def __call__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Raise an error: the function was not stored."""
        raise ParameterError(
            f"{self.name} was not stored in the model file that this model was loaded from. "
            "Set the parameter again with set_params first."
        )

    def __repr__(self) -> str:
        return f"<{self.name}, not stored in the model file>"


def encode(value: Any) -> Any:
    """Return a value as JSON values."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | bool | None):
        return value
    if isinstance(value, Real):
        return _encode_number(value)
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, Mapping):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if _is_other_name(value):
        return name_to_json(plain_name(value))
    items = _as_list(value)
    return {"not_stored": _name(value)} if items is None else [encode(item) for item in items]


def decode(stored: Any, depth: int = 0) -> Any:
    """Read the output of `encode`, or raise ModelFileError."""
    if depth > MOST_DEPTH:
        raise ModelFileError(f"a value is nested more than {MOST_DEPTH} deep")
    if type(stored) is int and not -(2**63) <= stored < 2**64:
        raise ModelFileError("a number is too large")
    if isinstance(stored, _PLAIN):
        return stored
    if isinstance(stored, list):
        return [decode(item, depth + 1) for item in stored]
    if isinstance(stored, dict) and len(stored) == 1:
        ((tag, content),) = stored.items()
        if tag in _DECODERS:
            return _DECODERS[tag](content, depth + 1)
        if tag in ("date", "datetime", "other"):
            return name_from_json(stored)
    raise ModelFileError("a value has an unknown type")


def _is_other_name(value: Any) -> bool:
    """Return whether a value is a date or a pandas scalar, which column names may be."""
    return isinstance(value, dt.date | OtherName) or _is_of_pandas(value)


def _is_of_pandas(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas" and not hasattr(value, "tolist")


def _encode_number(value: Real) -> Any:
    if isinstance(value, Integral):
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else {"float": str(number)}


def _as_list(value: Any) -> list[Any] | None:
    """Return the items of a set, range or array; those of a set in a fixed order."""
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, range):
        return list(value)
    to_list = getattr(value, "tolist", None) or getattr(value, "to_list", None)
    items = to_list() if callable(to_list) else None  # arrays, series and indices of any library
    return items if isinstance(items, list) else None


def _name(value: Any) -> str:
    if isinstance(value, NotStored):
        return value.name
    if not callable(value):
        return f"a {type(value).__name__}"
    name = getattr(value, "__name__", type(value).__name__)  # NumPy's functions have but this one
    return f"the function {getattr(value, '__qualname__', name)}"


def _decode_float(content: Any, _depth: int) -> float:
    if not isinstance(content, str) or content not in _SPECIAL_FLOATS:
        raise ModelFileError("a special float is not one of nan, inf and -inf")
    return _SPECIAL_FLOATS[content]


def _decode_tuple(content: Any, depth: int) -> tuple[Any, ...]:
    if not isinstance(content, list):
        raise ModelFileError("a tuple is not a list of items")
    return tuple(decode(item, depth) for item in content)


def _decode_dict(content: Any, depth: int) -> dict[Any, Any]:
    if not isinstance(content, list) or not all(_is_item(pair) for pair in content):
        raise ModelFileError("a dict is not a list of keys and values")
    decoded = {decode(key, depth): decode(item, depth) for key, item in content}
    if len(decoded) != len(content):
        raise ModelFileError("a dict contains the same key twice")
    return decoded


def _is_item(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and _is_key(pair[0])


def _is_key(stored: Any) -> bool:
    """Return whether a stored key is a plain value, or a tagged one that is hashable."""
    if isinstance(stored, dict) and len(stored) == 1:
        ((tag, content),) = stored.items()
        items = content if isinstance(content, list) else []
        return tag in ("date", "datetime", "other") or (tag == "tuple" and all(map(_is_key, items)))
    return isinstance(stored, _PLAIN)


def _decode_not_stored(content: Any, _depth: int) -> NotStored:
    if not isinstance(content, str):
        raise ModelFileError("the name of a value that is not stored is not a string")
    return NotStored(content)


_DECODERS: dict[str, Callable[[Any, int], Any]] = {
    "float": _decode_float,
    "tuple": _decode_tuple,
    "dict": _decode_dict,
    "not_stored": _decode_not_stored,
}
