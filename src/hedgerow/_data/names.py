"""Names of columns: strings, integers, tuples of a MultiIndex, dates, or anything else with a text.

A name matches only a name. A number is a position, counted from 0, only where no column has a
number as its name. A data frame that was created without names has the positions as names.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow._spelling import did_you_mean
from hedgerow._warning import warn_user
from hedgerow.exceptions import DataError, ParameterError

Name = Hashable
Names = tuple[Name, ...]

# The attribute for names that are not strings, for which scikit-learn has none.
COLUMN_NAMES = "_column_names"

_HOW_TO_NAME = "in pandas: X.columns = [...]"


@dataclass(frozen=True)
class OtherName:
    """A name of a type that model files do not support, such as a period or an interval."""

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{self.kind}({self.text!r})"


class Labels(tuple[str, ...]):
    """Column names for results and plots; `names` are the original names in the table."""

    names: Names | None

    def __new__(cls, labels: Sequence[str], names: Names | None = None) -> Self:
        """Create labels; each belongs to the name at the same position."""
        result = super().__new__(cls, labels)
        result.names = names
        return result

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self), self.names

    def find(self, column: Any, parameter: str) -> int:
        """Find a column by its name, label or position."""
        if isinstance(column, str) and column in self:
            return self.index(column)
        names = tuple(self) if self.names is None else self.names
        return column_index(column, names, len(self), parameter)


def labels_of(names: Names | None, n_columns: int) -> Labels:
    """Return the labels of columns: their names as text, or "x0", "x1", … if they have none."""
    if names is None or are_permuted_positions(names, n_columns):
        return Labels([f"x{position}" for position in names or _positions(n_columns)], names)
    labels = [str(name) for name in names]
    if len(set(labels)) < len(labels):  # 1 beside "1"
        labels = [repr(name) for name in names]
    return Labels(labels, names)


def read_names(columns: Sequence[Any]) -> Names:
    """Check the column names of a data frame and return them as plain values."""
    names = tuple(columns)
    if set(map(type, names)) != {str}:
        names = tuple(plain_name(name) for name in names)
        nameless = [j for j, name in enumerate(names) if _is_missing(name)]
        if nameless:
            raise DataError(
                f"X has columns without a name ({columns[nameless[0]]!r} for the column at "
                f"position {_some(nameless)}, counted from 0). Name each column; {_HOW_TO_NAME}."
            )
    if len(set(names)) < len(names):
        twice = [name for name, times in Counter(names).items() if times > 1]
        raise DataError(
            f"X has several columns with the same name: {listed(twice)}. Give each column a unique "
            f"name, or drop the duplicates; {_HOW_TO_NAME}."
        )
    return names


def plain_name(name: Any) -> Name:
    """Return a name as a plain value that equals it, or as its type and text."""
    if isinstance(name, str):
        return str.__str__(name)
    if isinstance(name, np.integer | np.floating | np.bool_):
        name = name.item()
    if type(name).__name__ in ("NAType", "NaTType"):
        return None
    if name is None or isinstance(name, bool | int | float | OtherName):
        return name
    if isinstance(name, tuple):
        return tuple(plain_name(part) for part in name)
    if isinstance(name, dt.datetime):
        return _plain_time(name)
    if type(name) is dt.date:
        return name
    return OtherName(type(name).__name__, str(name))


def are_positions(names: Names) -> bool:
    """Return whether columns are named 0, 1, … in this order, as in a frame without names."""
    return type(names[0]) is int and names == _positions(len(names))


def are_strings(names: Names | None) -> bool:
    """Return whether there are names and all are strings, as scikit-learn requires."""
    return names is not None and all(isinstance(name, str) for name in names)


def column_label(names: Names | None, j: int) -> str:
    """Return the name of a column for an error message."""
    return f"X, column {j}" if names is None else f"X, column {names[j]!r}"


def listed(names: Sequence[Any], at_most: int = 10) -> str:
    """Join names for a sentence; a long list is truncated."""
    text = ", ".join(repr(name) for name in names[:at_most])
    return text if len(names) <= at_most else f"{text} and {len(names) - at_most} more"


def column_index(
    column: Any, names: Names | None, n_features: int, parameter: str, otherwise: str = ""
) -> int:
    """Find the column that a parameter refers to by name or index."""
    name = plain_name(column)
    is_whole = type(name) is int
    if names is not None and _is_hashable(name):
        if name in names and not isinstance(name, bool):
            return names.index(name)
        if not is_whole or any(type(other) in (int, float) for other in names):
            raise _unknown_name(name, names, parameter, otherwise)
    elif isinstance(name, str):
        raise ParameterError(
            f"{parameter}: {name!r} is a column name, but the columns of X have no names. Use "
            "indices, or pass a data frame."
        )
    if not is_whole:
        raise _no_column(column, parameter, otherwise)
    if not 0 <= column < n_features:
        raise ParameterError(
            f"{parameter}: index {name} is out of range; X has columns 0 to {n_features - 1}."
        )
    return int(column)


def column_order(
    learned: Names | None,
    current: Names | None,
    n_features: int,
    n_current: int,
    estimator_name: str,
) -> Sequence[int]:
    """Find each fitted column's position in X: by name if both have names, else by position."""
    if learned == current and n_features == n_current:
        return range(n_current)
    if learned is not None and current is not None:
        if _are_alike_as_text(learned, current):
            return _positions_by_name(tuple(map(str, learned)), tuple(map(str, current)))
        if _is_without_spaces(learned, current):
            return _positions_by_name(learned, tuple(map(without_spaces, current)))
    if learned is not None and current is not None and not _is_nameless(current, learned):
        if not (are_positions(learned) and are_strings(current)):
            return _positions_by_name(learned, current)
    elif learned is None and current is not None and are_permuted_positions(current, n_features):
        return _positions_by_name(_positions(n_features), current)
    if n_current != n_features:
        raise DataError(
            f"X has {n_current} features, but {estimator_name} is expecting {n_features} features "
            "as input. Pass the columns of fit, in the same order."
        )
    _warn_of_names(learned, current, estimator_name)
    return range(n_current)


def are_permuted_positions(names: Names, n_columns: int) -> bool:
    """Return whether names are the positions 0, 1, … in any order."""
    is_one = len(names) == n_columns and type(names[0]) is int
    return is_one and set(names) == set(_positions(n_columns))


def names_to_json(names: Names | None) -> list[Any] | None:
    """Return names as JSON values; a type that JSON lacks becomes a tagged object."""
    return None if names is None else [name_to_json(name) for name in names]


def names_from_json(stored: Any, n_features: int) -> Names | None:
    """Read the output of `names_to_json`, checking everything."""
    if stored is None:
        return None
    if not isinstance(stored, list):
        raise DataError("schema: feature_names is neither null nor a list.")
    names = tuple(name_from_json(name) for name in stored)
    if len(names) != n_features or len(set(names)) != n_features:
        raise DataError("schema: feature_names do not have a distinct name for each column.")
    return names


def name_array(names: Sequence[Any]) -> NDArray[Any]:
    """Create an object array of names, in which a tuple is one name."""
    array = np.empty(len(names), object)
    for j, name in enumerate(names):
        array[j] = name
    return array


@lru_cache(maxsize=64)
def _positions(n_columns: int) -> tuple[int, ...]:
    return tuple(range(n_columns))


def _plain_time(time: Any) -> Name:
    """Return a pandas timestamp as the equal datetime, unless it has nanoseconds."""
    if getattr(time, "nanosecond", 0):
        return OtherName(type(time).__name__, str(time))
    time = time.to_pydatetime() if hasattr(time, "to_pydatetime") else time
    offset = time.utcoffset()  # all that a file stores of a time zone, and all that equality needs
    return time if offset is None else time.replace(tzinfo=dt.timezone(offset))


def _is_missing(name: Name) -> bool:
    if isinstance(name, tuple):
        return any(_is_missing(part) for part in name)
    return name is None or (isinstance(name, float) and math.isnan(name))


def _is_hashable(name: Any) -> bool:
    try:
        hash(name)
    except TypeError:
        return False
    return True


def _some(positions: Sequence[int]) -> str:
    return listed(positions, 5)


def _unknown_name(name: Name, names: Names, parameter: str, otherwise: str) -> ParameterError:
    if type(name) not in {str, int, *map(type, names)}:
        return _no_column(name, parameter, otherwise)
    strings = [other for other in names if isinstance(other, str)]
    suggestion = did_you_mean(name, strings) if isinstance(name, str) else ""
    return ParameterError(
        f"{parameter}: X has no column {name!r}; {suggestion}"
        f"{'Its' if suggestion else 'its'} columns are {listed(names)}."
    )


def _no_column(column: Any, parameter: str, otherwise: str) -> ParameterError:
    kinds = f"column names, column indices, {otherwise}" if otherwise else "column names or indices"
    return ParameterError(f"{parameter} contains {column!r}, but it must contain {kinds}.")


def _is_nameless(current: Names, learned: Names) -> bool:
    """Return whether X is a frame without names and the model was fitted with string names."""
    return are_positions(current) and any(isinstance(name, str) for name in learned)


def _are_alike_as_text(learned: Names, current: Names) -> bool:
    """Return whether the names are equal as strings: JSON and Parquet turn names into strings."""
    if are_strings(learned) == are_strings(current) or len(learned) != len(current):
        return False
    return set(map(str, learned)) == set(map(str, current))


def without_spaces(name: Name) -> str:
    """Return a name as LightGBM stores it, in a format whose fields end with white space."""
    return re.sub(r"\s", "_", str(name))


def _is_without_spaces(learned: Names, current: Names) -> bool:
    """Return whether the model, unlike X, has underscores for spaces, as one of LightGBM has."""
    stored = set(map(without_spaces, current))
    return learned != current and len(stored) == len(current) and stored == set(learned)


def _positions_by_name(learned: Names, current: Names) -> list[int]:
    position = {name: i for i, name in enumerate(current)}
    missing = [name for name in learned if name not in position]
    extra = [name for name in current if name not in set(learned)]
    if missing or extra:
        raise DataError(_other_columns(missing, extra))
    return [position[name] for name in learned]


def _other_columns(missing: Sequence[Name], extra: Sequence[Name]) -> str:
    """Describe the columns that X lacks, and those that the model does not know."""
    lacking = f"X has no {_columns(missing)}, which the model was trained on."
    unknown = f"X has the {_columns(extra)}, which the model was not trained on."
    if not missing:
        return f"{unknown} Drop {'it' if len(extra) == 1 else 'them'}."
    return f"{lacking} {unknown}" if extra else lacking


def _columns(names: Sequence[Name]) -> str:
    return f"column{'' if len(names) == 1 else 's'} {listed(names)}"


def _warn_of_names(learned: Names | None, current: Names | None, estimator_name: str) -> None:
    """Warn, with scikit-learn's messages, if only one of the two tables has names."""
    has_learned = learned is not None and not are_positions(learned)
    has_current = current is not None and not are_positions(current)
    if has_current and not has_learned:
        warn_user(f"X has feature names, but {estimator_name} was fitted without feature names")
    elif has_learned and not has_current:
        warn_user(
            f"X does not have valid feature names, but {estimator_name} was fitted with "
            "feature names"
        )


def name_to_json(name: Name) -> Any:
    """Return a name as a JSON value."""
    if isinstance(name, tuple):
        return {"tuple": [name_to_json(part) for part in name]}
    if isinstance(name, OtherName):
        return {"other": [name.kind, name.text]}
    if isinstance(name, dt.datetime):
        return {"datetime": name.isoformat()}
    if isinstance(name, dt.date):
        return {"date": name.isoformat()}
    if isinstance(name, float) and not math.isfinite(name):
        return {"float": str(name)}
    return name


def name_from_json(stored: Any) -> Name:
    """Read the output of `name_to_json`, checking everything."""
    if type(stored) in (str, int, float, bool):
        return stored
    if isinstance(stored, dict) and len(stored) == 1:
        ((tag, content),) = stored.items()
        try:
            name = _READERS[tag](content)
        except (KeyError, TypeError, ValueError):
            name = None
        if name is not None:
            return name
    raise DataError("schema: feature_names has a name of an unknown kind.")


def _read_tuple(content: Any) -> Name:
    return tuple(name_from_json(part) for part in content) if isinstance(content, list) else None


def _read_other(content: Any) -> Name:
    kind, text = content
    return OtherName(kind, text) if type(kind) is type(text) is str else None


def _read_float(content: Any) -> Name:
    return float(content) if content in ("inf", "-inf") else None


_READERS = {
    "tuple": _read_tuple,
    "other": _read_other,
    "date": dt.date.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
    "float": _read_float,
}


def name_attributes(names: Names | None) -> dict[str, Any]:
    """Return scikit-learn's attribute for names that are strings, or our own for others."""
    if names is None:
        return {}
    return {"feature_names_in_" if are_strings(names) else COLUMN_NAMES: name_array(names)}


def fitted_names(model: Any) -> Names | None:
    """Return the names of the columns that a model, of this library or another, was fitted on."""
    fitted = getattr(model, "feature_names_in_", None)
    if fitted is None:
        fitted = getattr(model, COLUMN_NAMES, None)
    return None if fitted is None else read_names(list(fitted))
