"""Checked access to the fields of a foreign model: no value is trusted until it is checked here.

Errors name the field, its value and what is allowed; `read_model` adds the name of the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hedgerow._model_file.container import without_duplicates
from hedgerow._params import short_repr
from hedgerow.exceptions import ModelFileError

# Limits on what a file may claim, far beyond any model, so that its claims cannot exhaust memory.
MOST_FEATURES = 1 << 20
MOST_OUTPUTS = 1 << 16
MOST_DEPTH = 4096


def refuse(field: str, value: Any, allowed: str) -> NoReturn:
    """Raise for a value that is not allowed."""
    raise ModelFileError(f"{field}={short_repr(value)} is not allowed; it must be {allowed}.")


def unsupported(what: str, instead: str = "") -> NoReturn:
    """Raise for a model of a kind that has no counterpart here."""
    raise ModelFileError(f"{what} cannot be read.{' ' + instead if instead else ''}")


class Fields:
    """The fields of an object in a file, and where it is."""

    def __init__(self, values: Any, where: str = "") -> None:
        if not isinstance(values, Mapping):
            refuse(where or "the file", values, "an object with named fields")
        self._values: Mapping[str, Any] = values
        self.where = where

    def path(self, name: str) -> str:
        """Return where a field is."""
        return f"{self.where}.{name}" if self.where else name

    def has(self, name: str) -> bool:
        """Return whether there is such a field."""
        return name in self._values

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise ModelFileError(f"the field {self.path(name)} is missing.")
        return self._values[name]

    def object(self, name: str) -> Fields:
        """Return a field that has fields itself."""
        return Fields(self[name], self.path(name))

    def objects(self, name: str) -> list[Fields]:
        """Return a list of objects."""
        return [Fields(value, f"{self.path(name)}[{i}]") for i, value in enumerate(self.list(name))]

    def list(self, name: str) -> Sequence[Any]:
        """Return a list."""
        value: Any = self[name]
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if not isinstance(value, list):
            refuse(self.path(name), value, "a list")
        return value

    def text(self, name: str) -> str:
        """Return a string."""
        value = self[name]
        if not isinstance(value, str):
            refuse(self.path(name), value, "a string")
        return value

    def integer(self, name: str, low: int, high: int) -> int:
        """Return an integer, which may be written as a string."""
        value = self[name]
        try:
            number = int(value) if isinstance(value, str | int) and len(str(value)) < 20 else None
        except ValueError:
            number = None
        if number is None or isinstance(value, bool) or not low <= number <= high:
            refuse(self.path(name), value, f"an integer from {low} to {high}")
        return number

    def number(self, name: str) -> float:
        """Return a finite number, which may be written as a string."""
        value = self[name]
        try:
            number = float(value) if isinstance(value, str | int | float) else np.nan
        except (ValueError, OverflowError):
            number = np.nan
        if isinstance(value, bool) or not np.isfinite(number):
            refuse(self.path(name), value, "a finite number")
        return number

    def integers(self, name: str, n: int | None = None) -> NDArray[np.int64]:
        """Return a list of integers, of the length n."""
        return numbers_of(self[name], self.path(name), n, np.int64)

    def floats(self, name: str, n: int | None = None) -> NDArray[np.float64]:
        """Return a list of numbers, of the length n; they may be infinite or NaN."""
        return numbers_of(self[name], self.path(name), n, np.float64)


def numbers_of(value: Any, where: str, n: int | None, dtype: type[Any]) -> NDArray[Any]:
    """Return a list, an array, or a text with spaces between numbers, as an array of the dtype."""
    kind = "integers" if dtype is np.int64 else "numbers"
    allowed = f"a list of {kind}" if n is None else f"a list of {n} {kind}"
    array = _converted(value, dtype)
    if array is None or array.ndim != 1 or (n is not None and len(array) != n):
        refuse(where, value, allowed)
    return array


def _converted(value: Any, dtype: type[Any]) -> NDArray[Any] | None:
    try:
        if isinstance(value, str):
            return np.array(value.split(), dtype=dtype)
        if not isinstance(value, list | np.ndarray):
            return None
        array = np.asarray(value) if len(value) else np.empty(0, dtype)
        if array.dtype.kind not in ("biu" if dtype is np.int64 else "biuf"):
            return None
        return array.astype(dtype)
    except (ValueError, OverflowError, TypeError, RecursionError):
        return None


def require_all(fits: NDArray[np.bool_], field: str, values: NDArray[Any], allowed: str) -> None:
    """Raise for the first value that does not fit."""
    if not fits.all():
        index = int(np.flatnonzero(~fits.reshape(-1))[0])
        refuse(f"{field}[{index}]", values.reshape(-1)[index].item(), allowed)


def require_finite(values: NDArray[np.float64], field: str) -> NDArray[np.float64]:
    """Return numbers, all of which must be finite."""
    require_all(np.isfinite(values), field, values, "a finite number")
    return values


def parse_json(text: str | bytes) -> Any:
    """Parse JSON, or raise ModelFileError."""
    try:
        return json.loads(text, parse_int=_integer, object_pairs_hook=without_duplicates)
    except RecursionError:
        raise ModelFileError("the file is nested too deeply.") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise ModelFileError(f"the file is not valid JSON: {error}.") from None


def _integer(digits: str) -> int | float:
    """Read an integer; one that no model has is a float, because large ones take long to read."""
    return int(digits) if len(digits) < 20 else float(digits)


def choice_of(name: str, value: str, choices: Mapping[str, Any]) -> Any:
    """Return what belongs to a name."""
    if value not in choices:
        refuse(name, value, f"one of {', '.join(map(repr, choices))}")
    return choices[value]
