"""Fields and arrays of a stored model, and the formats that several families share.

`Stored` hands out each field and array once, so that a file with more or less than a model is
refused. Functions come in pairs: `write_…` returns JSON values or arrays, `read_…` checks them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from hedgerow._data.binning import Binner
from hedgerow._data.names import fitted_names, name_attributes, names_from_json, names_to_json
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, Outputs
from hedgerow._data.table import TableSchema
from hedgerow._estimator import Estimator
from hedgerow._model_file.container import Arrays, Document
from hedgerow.exceptions import ModelFileError

# A bag of boosted bags is as deep as anyone goes; a file may claim any depth.
MOST_DEPTH = 8

_CLASS_DTYPES: dict[str, type] = {"bool": bool, "str": str, "object": str}
_CLASS_DTYPES |= dict.fromkeys(("float16", "float32", "float64"), float)
_CLASS_DTYPES |= dict.fromkeys(
    (f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)), int
)

CSR = {"data": np.float64, "indices": np.int32, "indptr": np.int64}
_MOST_CLASSES = 1 << 16


def require(condition: bool | np.bool_, reason: str) -> None:
    """Raise ModelFileError unless the condition holds."""
    if not condition:
        raise ModelFileError(reason)


class Stored:
    """The fields and arrays of a model, or of a model within another.

    Every field and array must be taken exactly once: `finish` raises if something is left over.
    `depth` is the number of models that contain this one.
    """

    def __init__(self, fields: Any, arrays: Mapping[str, NDArray[Any]], depth: int = 0) -> None:
        require(depth <= MOST_DEPTH, f"models are nested more than {MOST_DEPTH} deep")
        self._depth = depth
        require(isinstance(fields, dict), "the header is not a JSON object")
        self._fields: Document = dict(fields)
        self._arrays: Arrays = dict(arrays)

    def field(self, name: str) -> Any:
        """Take a field."""
        require(name in self._fields, f"the header has no field {name!r}")
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
        """Take a field that is a number or None."""
        value: float | None = self.field(name)
        require(value is None or is_number(value), f"{name} is not a number")
        return value

    def arrays(self, prefix: str, names: Iterable[str]) -> Arrays:
        """Take the arrays with these names, which have a prefix in the file."""
        missing = sorted(name for name in names if prefix + name not in self._arrays)
        of = f" of {prefix[:-1]}" if prefix else ""
        require(not missing, f"the arrays {', '.join(missing)}{of} are missing")
        return {name: self._arrays.pop(prefix + name) for name in names}

    def array(
        self, name: str, shape: tuple[int | None, ...], dtype: type[Any] = np.float64
    ) -> NDArray[Any]:
        """Take an array of this dtype and shape."""
        (array,) = self.arrays("", [name]).values()
        check_array(array, shape, name, dtype)
        return array

    def has_arrays(self, prefix: str) -> bool:
        """Return whether there are arrays whose names start with a prefix."""
        return any(name.startswith(prefix) for name in self._arrays)

    def nested(self, name: str) -> Stored:
        """Take a nested model: a field, and the arrays whose names start with its name."""
        prefix = f"{name}."
        names = [key for key in self._arrays if key.startswith(prefix)]
        arrays = {key.removeprefix(prefix): self._arrays.pop(key) for key in names}
        return Stored(self.field(name), arrays, self._depth + 1)

    def nested_list(self, name: str) -> list[Stored]:
        """Take a list of nested models, with the arrays of each."""
        listed = self.field(name)
        require(isinstance(listed, list), f"{name} is not a list")
        arrays: list[Arrays] = [{} for _ in listed]
        prefix = f"{name}."
        for key in [key for key in self._arrays if key.startswith(prefix)]:
            number, _, rest = key.removeprefix(prefix).partition(".")
            require(number.isdecimal() and int(number) < len(listed), f"no {name} has {key!r}")
            require(str(int(number)) == number, f"no {name} has {key!r}")
            arrays[int(number)][rest] = self._arrays.pop(key)
        return [Stored(*nested, self._depth + 1) for nested in zip(listed, arrays, strict=True)]

    def schema(self) -> TableSchema:
        """Take the schema."""
        return TableSchema.from_dict(self.field("schema"))

    def binner(self, prefix: str = "binner.") -> Binner:
        """Take a binner."""
        return Binner.from_dict(self.arrays(prefix, Binner.STATE))

    def finish(self) -> None:
        """Raise if something was not taken."""
        unknown = ", ".join(sorted(self._fields))
        require(not unknown, f"the header has unknown fields: {unknown}")
        require(not self._arrays, "there are unknown arrays")


def write_list(name: str, models: Sequence[tuple[Document, Arrays]]) -> tuple[Document, Arrays]:
    """Return a list of models as `Stored.nested_list` takes it."""
    arrays: Arrays = {}
    for number, (_, own) in enumerate(models):
        arrays |= with_prefix(f"{name}.{number}.", own)
    return {name: [document for document, _ in models]}, arrays


def with_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Put a prefix before the names of arrays."""
    return {prefix + name: array for name, array in arrays.items()}


def write_classes(classes: NDArray[Any]) -> Document:
    """Return classes as JSON values."""
    dtype = "str" if classes.dtype.kind == "U" else classes.dtype.name
    return {"dtype": dtype, "values": classes.tolist()}


def read_classes(stored: Any) -> NDArray[Any]:
    """Read the output of `write_classes`."""
    require(
        isinstance(stored, dict) and set(stored) == {"dtype", "values"},
        "the classes do not have exactly the fields dtype and values",
    )
    dtype, values = stored["dtype"], stored["values"]
    require(isinstance(dtype, str) and dtype in _CLASS_DTYPES, f"classes have dtype {dtype!r}")
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


def read_some_classes(stored: Any, kind: type[Any]) -> NDArray[Any] | None:
    """Read the classes of a classifier, None for other estimators."""
    fits = issubclass(kind, ClassifierMixin) == (stored is not None)
    require(fits, f"the classes do not match {kind.__name__}")
    if stored is None:
        return None
    classes = read_classes(stored)
    require(len(classes) >= 2, "there are fewer than two classes")
    return classes


def check_array(
    array: NDArray[Any], shape: tuple[int | None, ...], name: str, dtype: type[Any] = np.float64
) -> None:
    """Check the dtype and shape of an array; None is any length."""
    fits = array.dtype == dtype and array.ndim == len(shape)
    fits = fits and all(n in (None, own) for n, own in zip(shape, array.shape, strict=True))
    require(fits, f"{name} is not {np.dtype(dtype).name} of shape {shape}")


def is_number(value: Any) -> bool:
    """Return whether a value is a float, or an int that a float can hold."""
    return isinstance(value, float) or (type(value) is int and abs(value) <= sys.float_info.max)


def finite_or_none(score: float | None) -> float | None:
    """Return a score that JSON can represent."""
    return float(score) if score is not None and math.isfinite(score) else None


def is_table(value: Any) -> bool:
    """Return whether a value is a dict whose keys are strings."""
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def check_columns(schema: TableSchema, binner: Binner) -> None:
    """Check that schema and bins have the same columns and categories."""
    # This comes first, because the following allocates an entry for each feature.
    require(
        schema.n_features == len(binner.is_categorical),
        "bins and schema have different numbers of features",
    )
    require(
        np.array_equal(schema.is_categorical, binner.is_categorical),
        "bins and schema have different categorical features",
    )
    require(
        not np.diff(binner.threshold_starts)[schema.is_categorical].any(),
        "a categorical feature has thresholds",
    )
    n_categories = np.zeros(schema.n_features, np.int64)
    for feature, categories in schema.categories.items():
        n_categories[feature] = len(categories.values)
    # Models of other libraries may have one more, for unknown categories.
    n_more = np.diff(binner.category_starts) - n_categories
    require(
        ((n_more == 0) | (schema.is_categorical & (n_more == 1))).all(),
        "the number of bins is not that of the categories",
    )


def write_csr(rows: Any) -> Arrays:
    """Return the arrays of sparse rows."""
    return {name: getattr(rows, name).astype(dtype) for name, dtype in CSR.items()}


def read_csr(arrays: Arrays, n_features: int, fewest_rows: int = 1) -> Any:
    """Read the output of `write_csr`; kernels use the indices without checking them."""
    for name, dtype in CSR.items():
        fits = arrays[name].dtype == dtype and arrays[name].ndim == 1
        require(fits, f"the array {name} of the sparse rows has the wrong type or shape")
    data, indices, indptr = (arrays[name] for name in CSR)
    require(n_features < 2**31 and len(indptr) > fewest_rows, "there are no rows")
    starts_fit = indptr[0] == 0 and indptr[-1] == len(data) == len(indices)
    require(
        starts_fit and (indptr[1:] >= indptr[:-1]).all(),
        "indptr does not increase from 0 to the number of values",
    )
    in_range = ((indices >= 0) & (indices < n_features)).all()
    require(in_range, "a column index is out of range")
    is_first = np.zeros(len(indices) + 1, bool)
    is_first[indptr] = True
    ascending = (indices[1:] > indices[:-1]) | is_first[1:-1]
    require(ascending.all(), "the column indices of a row are not sorted")
    return scipy.sparse.csr_array((data, indices, indptr), (len(indptr) - 1, n_features))


def write_initial_rounds(fitted: Mapping[str, Any]) -> Document:
    """Return how many rounds the last fit of a boosted model continued, if any."""
    n_initial = fitted.get("n_initial_rounds_")  # pickles of old versions have none
    return {"n_initial_rounds": n_initial} if n_initial else {}


def read_initial_rounds(stored: Stored, n_rounds: int) -> int:
    """Read the output of `write_initial_rounds`."""
    n_initial = stored.field("n_initial_rounds") if stored.has("n_initial_rounds") else 0
    is_number_of_rounds = type(n_initial) is int and 0 <= n_initial <= n_rounds
    require(is_number_of_rounds, "n_initial_rounds is not a number of rounds of the model")
    return int(n_initial)


def write_columns(estimator: Estimator) -> Document:
    """Return scikit-learn's attributes for the columns of a fitted table."""
    return {
        "n_features": vars(estimator).get("n_features_in_"),
        "feature_names": names_to_json(fitted_names(estimator)),
    }


def read_columns(stored: Stored, *, may_have_none: bool = False) -> dict[str, Any]:
    """Read the output of `write_columns`; fits to anything but a table know no columns."""
    attributes: dict[str, Any] = {}
    n_features, names = stored.field("n_features"), stored.field("feature_names")
    require(may_have_none or n_features is not None, "the number of columns is missing")
    if n_features is not None:
        require(type(n_features) is int and n_features >= 1, "n_features is not a positive integer")
        attributes["n_features_in_"] = n_features
    if names is not None:
        require(n_features is not None, "there are feature names, but no number of features")
        attributes |= name_attributes(names_from_json(names, n_features))
    return attributes


def write_outputs(outputs: Outputs) -> Document:
    """Return outputs as JSON values."""
    if isinstance(outputs, ClassOutputs):
        return {"classes": [write_classes(classes) for classes in outputs.classes]}
    return {"n_numbers": outputs.n_outputs, "is_single": outputs.is_single}


def outputs_kind(estimator_kind: Any) -> Any:
    """Return the class of an estimator's outputs, None if it has none."""
    return estimator_kind._outputs  # noqa: SLF001


def read_outputs(kind: type[Outputs], stored: Any) -> Outputs:
    """Read outputs of the class that the estimator has."""
    fields = Stored(stored, {})
    if issubclass(kind, ClassOutputs):
        listed = fields.field("classes")
        require(isinstance(listed, list) and len(listed) > 0, "there are no outputs")
        classes = tuple(map(read_classes, listed))
        require(
            all(1 <= len(of) <= _MOST_CLASSES for of in classes),
            "the number of classes is not allowed",
        )
        fields.finish()
        return ClassOutputs(classes)
    n_numbers, is_single = fields.field("n_numbers"), fields.flag("is_single")
    fields.finish()
    require(type(n_numbers) is int and 1 <= n_numbers < 2**31, "there are no outputs")
    require(n_numbers == 1 or not is_single, "a single output has several columns")
    return NumberOutputs(n_numbers, is_single)
