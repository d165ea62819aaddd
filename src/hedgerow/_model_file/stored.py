"""The parts of a stored model: fields and arrays that are taken one by one, until none is left."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.binning import Binner
from hedgerow._data.schema import TableSchema
from hedgerow._model_file.container import Arrays, Document
from hedgerow.exceptions import ModelFileError

# A bag of boosted bags is as deep as anyone goes; a file may claim any depth.
MOST_DEPTH = 8

_CLASS_DTYPES: dict[str, type] = {"bool": bool, "str": str, "object": str}
_CLASS_DTYPES |= dict.fromkeys(("float16", "float32", "float64"), float)
_CLASS_DTYPES |= dict.fromkeys(
    (f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)), int
)


def require(condition: bool | np.bool_, reason: str) -> None:
    """Raise ModelFileError unless the condition holds."""
    if not condition:
        raise ModelFileError(reason)


class Stored:
    """A model, or a part of one, as a file has it.

    Every field and array must be taken exactly once: `finish` raises if something is left over.
    `depth` counts the models that it is a part of.
    """

    def __init__(self, fields: Any, arrays: Mapping[str, NDArray[Any]], depth: int = 0) -> None:
        require(depth <= MOST_DEPTH, f"models are nested more than {MOST_DEPTH} deep")
        self._depth = depth
        require(isinstance(fields, dict), "the header's fields are not a table of names and values")
        self._fields: Document = dict(fields)
        self._arrays: Arrays = dict(arrays)

    def field(self, name: str) -> Any:
        """Take a field."""
        require(name in self._fields, f"the header's fields are not those of a model: no {name!r}")
        return self._fields.pop(name)

    def has(self, name: str) -> bool:
        """Return whether there is a field of this name."""
        return name in self._fields

    def flag(self, name: str) -> bool:
        """Take a field that is true or false."""
        value = self.field(name)
        require(isinstance(value, bool), f"{name} is not true or false")
        return bool(value)

    def score(self, name: str) -> float | None:
        """Take a field that is a number or nothing."""
        value: float | None = self.field(name)
        require(value is None or is_number(value), f"{name} is not a number")
        return value

    def arrays(self, prefix: str, names: Iterable[str]) -> Arrays:
        """Take the arrays of these names, which have a prefix in the file."""
        missing = sorted(name for name in names if prefix + name not in self._arrays)
        require(not missing, f"the arrays {', '.join(missing)} of {prefix[:-1]} are missing")
        return {name: self._arrays.pop(prefix + name) for name in names}

    def has_arrays(self, prefix: str) -> bool:
        """Return whether there are arrays whose names begin so."""
        return any(name.startswith(prefix) for name in self._arrays)

    def part(self, name: str) -> Stored:
        """Take a part: a field that is a table, and the arrays whose names begin with its name."""
        prefix = f"{name}."
        names = [key for key in self._arrays if key.startswith(prefix)]
        arrays = {key.removeprefix(prefix): self._arrays.pop(key) for key in names}
        return Stored(self.field(name), arrays, self._depth + 1)

    def parts(self, name: str) -> list[Stored]:
        """Take a list of parts: those of a field that is a list, with the arrays of each."""
        listed = self.field(name)
        require(isinstance(listed, list), f"{name} is not a list")
        by_part: list[Arrays] = [{} for _ in listed]
        prefix = f"{name}."
        for key in [key for key in self._arrays if key.startswith(prefix)]:
            number, _, rest = key.removeprefix(prefix).partition(".")
            require(number.isdecimal() and int(number) < len(listed), f"no {name} has {key!r}")
            require(str(int(number)) == number, f"no {name} has {key!r}")
            by_part[int(number)][rest] = self._arrays.pop(key)
        return [
            Stored(fields, of_part, self._depth + 1)
            for fields, of_part in zip(listed, by_part, strict=True)
        ]

    def schema(self) -> TableSchema:
        """Take the columns."""
        return TableSchema.from_dict(self.field("schema"))

    def binner(self, prefix: str = "binner.") -> Binner:
        """Take bins."""
        return Binner.from_dict(self.arrays(prefix, Binner.STATE))

    def finish(self) -> None:
        """Raise if there is more than a model has."""
        unknown = ", ".join(sorted(self._fields))
        require(not unknown, f"the header's fields are not those of a model: {unknown}")
        require(not self._arrays, "there are arrays that belong to no model")


def joined(name: str, parts: Sequence[tuple[Document, Arrays]]) -> tuple[Document, Arrays]:
    """Return a list of parts, which `Stored.parts` takes."""
    arrays: Arrays = {}
    for number, (_, of_part) in enumerate(parts):
        arrays |= with_prefix(f"{name}.{number}.", of_part)
    return {name: [document for document, _ in parts]}, arrays


def with_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Put a prefix before the names of arrays."""
    return {prefix + name: array for name, array in arrays.items()}


def write_classes(classes: NDArray[Any]) -> Document:
    """Return classes as JSON types."""
    dtype = "str" if classes.dtype.kind == "U" else classes.dtype.name
    return {"dtype": dtype, "values": classes.tolist()}


def read_classes(stored: Any) -> NDArray[Any]:
    """Read what `write_classes` gave."""
    require(isinstance(stored, dict) and set(stored) == {"dtype", "values"}, "no classes")
    dtype, values = stored["dtype"], stored["values"]
    require(
        isinstance(dtype, str) and dtype in _CLASS_DTYPES, f"the classes are of dtype {dtype!r}"
    )
    require(
        isinstance(values, list) and all(type(value) is _CLASS_DTYPES[dtype] for value in values),
        f"the classes are not a list of {dtype}",
    )
    ascending = all(a < b for a, b in pairwise(values))
    require(ascending, "the classes are not distinct and sorted")
    try:
        classes = np.array(values, dtype)
    except OverflowError:
        raise ModelFileError(f"a class does not fit into {dtype}") from None
    require(classes.tolist() == values, f"a class does not fit into {dtype}")
    return classes


def read_some_classes(stored: Any, *, is_classifier: bool) -> NDArray[Any] | None:
    """Read the classes of a classifier, None for other estimators."""
    require(is_classifier == (stored is not None), "the classes do not suit the estimator")
    if stored is None:
        return None
    classes = read_classes(stored)
    require(len(classes) >= 2, "there are fewer than two classes")
    return classes


def check_array(
    array: NDArray[Any], shape: tuple[int, ...], name: str, dtype: type[Any] = np.float64
) -> None:
    """Check that an array has the type and shape that it must have."""
    fits = array.dtype == dtype and array.shape == shape
    require(fits, f"{name} is not {np.dtype(dtype).name} of shape {shape}")


def is_number(value: Any) -> bool:
    """Return whether a value is a float, or an int that a float can hold."""
    return isinstance(value, float) or (type(value) is int and abs(value) <= sys.float_info.max)


def finite_or_none(score: float | None) -> float | None:
    """Return a score as a file can hold it."""
    return float(score) if score is not None and math.isfinite(score) else None


def is_table(value: Any) -> bool:
    """Return whether a value is a dict whose keys are strings."""
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def check_columns(schema: TableSchema, binner: Binner) -> None:
    """Check that schema and bins are of the same columns and categories."""
    # First of all, because what follows allocates an entry for each feature.
    require(
        schema.n_features == len(binner.is_categorical),
        "the bins are of another number of features than the schema",
    )
    require(
        np.array_equal(schema.is_categorical, binner.is_categorical),
        "schema and bins differ in which features are categorical",
    )
    require(
        not np.diff(binner.threshold_starts)[schema.is_categorical].any(),
        "a categorical feature has thresholds",
    )
    n_categories = np.zeros(schema.n_features + 1, np.int64)
    for feature, categories in schema.categories.items():
        n_categories[feature + 1] = len(categories.values)
    require(
        np.array_equal(binner.category_starts, np.cumsum(n_categories)),
        "there is not one bin for each category",
    )
