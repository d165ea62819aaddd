"""What `fit` learns about a table's columns, and a model file stores: names and categories.

Plain values throughout, so that a schema is the same after a trip through JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import Label, LabelKind
from hedgerow._data.names import Names, are_positions, column_index, names_from_json, names_to_json
from hedgerow._data.names import listed as listed  # re-exported
from hedgerow.exceptions import DataError, ParameterError

_LABEL_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
}


@dataclass(frozen=True)
class Categories:
    """The categories of one column, sorted; a code is a position in `values`."""

    kind: LabelKind
    values: tuple[Label, ...]

    @cached_property
    def code(self) -> dict[Label, int]:
        """Code of each category. Numbers compare by value: 1, 1.0 and True are one category."""
        return {value: i for i, value in enumerate(self.values)}


@dataclass(frozen=True)
class TableSchema:
    """Columns of the table of `fit`; `categories` has an entry for each categorical one."""

    n_features: int
    feature_names: Names | None
    categories: Mapping[int, Categories]

    @cached_property
    def has_no_names(self) -> bool:
        """Return whether columns are identified by position, which may be their name as well."""
        return self.feature_names is None or are_positions(self.feature_names)

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Mark the categorical columns."""
        return np.isin(np.arange(self.n_features), list(self.categories))

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as JSON values."""
        return {
            "n_features": self.n_features,
            "feature_names": names_to_json(self.feature_names),
            "categories": [
                {"feature": j, "kind": c.kind, "values": list(c.values)}
                for j, c in sorted(self.categories.items())
            ],
        }

    @classmethod
    def from_dict(cls, stored: Any) -> TableSchema:
        """Read the output of `to_dict`; anything unexpected raises DataError."""
        _require_keys(stored, {"n_features", "feature_names", "categories"}, "schema")
        n_features = stored["n_features"]
        if type(n_features) is not int or n_features < 1:
            raise DataError("schema: n_features is not a positive integer.")
        names = names_from_json(stored["feature_names"], n_features)
        if not isinstance(stored["categories"], list):
            raise DataError("schema: categories is not a list.")
        categories: dict[int, Categories] = {}
        for entry in stored["categories"]:
            _require_keys(entry, {"feature", "kind", "values"}, "schema: categories")
            j = entry["feature"]
            if type(j) is not int or not 0 <= j < n_features or j in categories:
                raise DataError(f"schema: categories refer to an invalid column {j!r}.")
            categories[j] = _read_categories(entry["kind"], entry["values"])
        return cls(n_features, names, categories)


def chosen_columns(
    categorical_features: Any, names: Names | None, n_features: int
) -> tuple[NDArray[np.bool_], bool]:
    """Mark the columns in `categorical_features`; also return whether dtypes may add others."""
    mask = np.zeros(n_features, bool)
    if categorical_features is None:
        return mask, False
    if isinstance(categorical_features, str):
        if categorical_features == "auto":
            return mask, True
        raise ParameterError(
            f"categorical_features={categorical_features!r} is not allowed: use 'auto', None, "
            "or a list of column names, of column indices, or of a boolean for every column."
        )
    selection = list(categorical_features)
    if selection and all(isinstance(w, bool | np.bool_) for w in selection):
        if len(selection) != n_features:
            raise ParameterError(
                f"categorical_features is a mask of {len(selection)} values, but X has "
                f"{n_features} columns."
            )
        return np.array(selection, bool), True
    for w in selection:
        mask[column_index(w, names, n_features, "categorical_features", "or a mask")] = True
    return mask, True


def _require_keys(stored: Any, keys: set[str], what: str) -> None:
    if not isinstance(stored, dict) or set(stored) != keys:
        raise DataError(f"{what}: expected exactly the fields {', '.join(sorted(keys))}.")


def _read_categories(kind: Any, values: Any) -> Categories:
    if kind not in get_args(LabelKind) or not isinstance(values, list):
        raise DataError("schema: categories have an unknown kind, or are not a list.")
    if not all(type(v) in _LABEL_TYPES[kind] for v in values):
        raise DataError(f"schema: a category is not a {kind}.")
    if any(isinstance(v, float) and not math.isfinite(v) for v in values):
        raise DataError("schema: a category is not finite.")
    if any(not a < b for a, b in pairwise(values)):
        raise DataError("schema: categories are not distinct and sorted.")
    return Categories(kind, tuple(values))
