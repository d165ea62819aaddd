"""What `fit` learns about a table's columns, and a model file stores: names and categories.

Plain values throughout, so that a schema is the same after a trip through JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.columns import Label, LabelKind
from hedgerow.exceptions import DataError, ParameterError
from hedgerow.spelling import did_you_mean

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
        """From a category to its code. Numbers meet by value: 1, 1.0 and True are one category."""
        return {value: i for i, value in enumerate(self.values)}


@dataclass(frozen=True)
class TableSchema:
    """Columns of the table of `fit`; `categories` has an entry for each categorical one."""

    n_features: int
    feature_names: tuple[str, ...] | None
    categories: Mapping[int, Categories]

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Mark the categorical columns."""
        return np.isin(np.arange(self.n_features), list(self.categories))

    def to_dict(self) -> dict[str, Any]:
        """Give the schema as JSON types."""
        return {
            "n_features": self.n_features,
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "categories": [
                {"feature": j, "kind": c.kind, "values": list(c.values)}
                for j, c in sorted(self.categories.items())
            ],
        }

    @classmethod
    def from_dict(cls, stored: Any) -> TableSchema:
        """Read what `to_dict` gave, trusting nothing: anything out of place raises DataError."""
        _require_keys(stored, {"n_features", "feature_names", "categories"}, "schema")
        n_features = stored["n_features"]
        if type(n_features) is not int or n_features < 1:
            raise DataError("schema: n_features is not a positive integer.")
        names = _read_names(stored["feature_names"], n_features)
        if not isinstance(stored["categories"], list):
            raise DataError("schema: categories is not a list.")
        categories: dict[int, Categories] = {}
        for entry in stored["categories"]:
            _require_keys(entry, {"feature", "kind", "values"}, "schema: categories")
            j = entry["feature"]
            if type(j) is not int or not 0 <= j < n_features or j in categories:
                raise DataError(f"schema: categories name the column {j!r} in error.")
            categories[j] = _read_categories(entry["kind"], entry["values"])
        return cls(n_features, names, categories)


def chosen_columns(
    categorical_features: Any, names: Sequence[str] | None, n_features: int
) -> NDArray[np.bool_] | None:
    """Mark the columns `categorical_features` asks for; None is "auto", by each column's dtype."""
    if isinstance(categorical_features, str):
        if categorical_features == "auto":
            return None
        raise ParameterError(
            f"categorical_features={categorical_features!r} is not allowed: give 'auto', None, or "
            "a list of column names, of column indices, or of True and False for every column."
        )
    mask = np.zeros(n_features, bool)
    if categorical_features is None:
        return mask
    wanted = list(categorical_features)
    if wanted and all(isinstance(w, bool | np.bool_) for w in wanted):
        if len(wanted) != n_features:
            raise ParameterError(
                f"categorical_features is a mask of {len(wanted)} values, but X has {n_features} "
                "columns."
            )
        return np.array(wanted, bool)
    for w in wanted:
        mask[column_index(w, names, n_features, "categorical_features", "or a mask")] = True
    return mask


def column_index(
    wanted: Any, names: Sequence[str] | None, n_features: int, parameter: str, otherwise: str = ""
) -> int:
    """Find the column that a parameter names, or gives the index of."""
    if isinstance(wanted, str):
        if names is None:
            raise ParameterError(
                f"{parameter} names the column {wanted!r}, but the columns of X have no "
                "names: give indices, or a data frame."
            )
        if wanted not in names:
            meant = did_you_mean(wanted, names)
            raise ParameterError(
                f"{parameter} names the column {wanted!r}, which X does not have; {meant}"
                f"{'Its' if meant else 'its'} columns are {listed(names)}."
            )
        return names.index(wanted)
    if isinstance(wanted, int | np.integer) and not isinstance(wanted, bool):
        if not 0 <= wanted < n_features:
            raise ParameterError(
                f"{parameter} has the index {wanted}, but the columns of X are 0 to "
                f"{n_features - 1}."
            )
        return int(wanted)
    kinds = f"column names, column indices, {otherwise}" if otherwise else "column names or indices"
    raise ParameterError(f"{parameter} holds {wanted!r}: it takes {kinds}.")


def listed(names: Sequence[str], at_most: int = 10) -> str:
    """Write names in a sentence, a long list cut short."""
    shown = ", ".join(repr(name) for name in names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"


def _require_keys(stored: Any, keys: set[str], what: str) -> None:
    if not isinstance(stored, dict) or set(stored) != keys:
        raise DataError(f"{what}: expected exactly the fields {', '.join(sorted(keys))}.")


def _read_names(stored: Any, n_features: int) -> tuple[str, ...] | None:
    if stored is None:
        return None
    if not isinstance(stored, list) or not all(type(name) is str for name in stored):
        raise DataError("schema: feature_names is neither null nor a list of strings.")
    if len(stored) != n_features or len(set(stored)) != n_features:
        raise DataError("schema: feature_names are not one distinct name for each column.")
    return tuple(stored)


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
