"""Names of columns: strings, integers, tuples of a MultiIndex, dates, or anything else with a text.

A name is matched with names alone. Only where no column is named by a number does a number mean a
place, counted from 0. A data frame that nobody gave names to has the places themselves as names.
"""

from __future__ import annotations

import datetime as dt
import math
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
    """A name of a type that model files do not know, such as a period or an interval."""

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{self.kind}({self.text!r})"


class Labels(tuple[str, ...]):
    """What columns are called in results and plots; `names` are those they have in a table."""

    names: Names | None

    def __new__(cls, labels: Sequence[str], names: Names | None = None) -> Self:
        """Make labels, each of which belongs to the name at the same place."""
        made = super().__new__(cls, labels)
        made.names = names
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self), self.names

    def find(self, wanted: Any, parameter: str) -> int:
        """Find a column by its name, its label, or its place."""
        if isinstance(wanted, str) and wanted in self:
            return self.index(wanted)
        names = tuple(self) if self.names is None else self.names
        return column_index(wanted, names, len(self), parameter)


def labels_of(names: Names | None, n_columns: int) -> Labels:
    """Return what to call columns: their names as text, "x0" and so on where they have none."""
    if names is None or sorted_places(names, n_columns):
        return Labels([f"x{place}" for place in names or _places(n_columns)], names)
    labels = [str(name) for name in names]
    if len(set(labels)) < len(labels):  # 1 beside "1"
        labels = [repr(name) for name in names]
    return Labels(labels, names)


def read_names(columns: Sequence[Any]) -> Names:
    """Check the names of a data frame's columns, and give them as plain values."""
    names = tuple(columns)
    if set(map(type, names)) != {str}:
        names = tuple(plain_name(name) for name in names)
        nameless = [j for j, name in enumerate(names) if _is_nothing(name)]
        if nameless:
            raise DataError(
                f"X has columns without a name ({columns[nameless[0]]!r} for the column at place "
                f"{_some(nameless)}, counted from 0). Name each column; {_HOW_TO_NAME}."
            )
    if len(set(names)) < len(names):
        twice = [name for name, times in Counter(names).items() if times > 1]
        raise DataError(
            f"X has several columns of the same name: {listed(twice)}. Give each a name of its "
            f"own, or drop those that are there twice; {_HOW_TO_NAME}."
        )
    return names


def plain_name(name: Any) -> Name:
    """Give a name as a plain value that equals it, or as its type and text."""
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


def are_places(names: Names) -> bool:
    """Tell whether columns are named 0, 1, … in this order, as where nobody named them."""
    return type(names[0]) is int and names == _places(len(names))


def are_strings(names: Names | None) -> bool:
    """Tell whether there are names and all are strings, as scikit-learn has it."""
    return names is not None and all(isinstance(name, str) for name in names)


def column_label(names: Names | None, j: int) -> str:
    """Name a column in an error."""
    return f"X, column {j}" if names is None else f"X, column {names[j]!r}"


def listed(names: Sequence[Any], at_most: int = 10) -> str:
    """Write names in a sentence, a long list cut short."""
    shown = ", ".join(repr(name) for name in names[:at_most])
    return shown if len(names) <= at_most else f"{shown} and {len(names) - at_most} more"


def column_index(
    wanted: Any, names: Names | None, n_features: int, parameter: str, otherwise: str = ""
) -> int:
    """Find the column that a parameter names, or gives the index of."""
    name = plain_name(wanted)
    is_whole = type(name) is int
    if names is not None and _is_hashable(name):
        if name in names and not isinstance(name, bool):
            return names.index(name)
        if not is_whole or any(type(known) in (int, float) for known in names):
            raise _unknown_name(name, names, parameter, otherwise)
    elif isinstance(name, str):
        raise ParameterError(
            f"{parameter} names the column {name!r}, but the columns of X have no names: give "
            "indices, or a data frame."
        )
    if not is_whole:
        raise _no_column(wanted, parameter, otherwise)
    if not 0 <= wanted < n_features:
        raise ParameterError(
            f"{parameter} has the index {name}, but the columns of X are 0 to {n_features - 1}."
        )
    return int(wanted)


def column_order(
    learned: Names | None, given: Names | None, n_features: int, n_given: int, estimator_name: str
) -> Sequence[int]:
    """Find each learned column's place in X: by name if both have names, else by place."""
    if learned == given and n_features == n_given:
        return range(n_given)
    if learned is not None and given is not None and _are_alike_as_text(learned, given):
        return _places_by_name(tuple(map(str, learned)), tuple(map(str, given)))
    if learned is not None and given is not None and not _is_nameless(given, learned):
        if not (are_places(learned) and are_strings(given)):
            return _places_by_name(learned, given)
    elif learned is None and given is not None and sorted_places(given, n_features):
        return _places_by_name(_places(n_features), given)
    if n_given != n_features:
        raise DataError(
            f"X has {n_given} features, but {estimator_name} is expecting {n_features} features "
            "as input. Pass the columns of fit, in the same order."
        )
    _warn_of_names(learned, given, estimator_name)
    return range(n_given)


def sorted_places(names: Names, n_columns: int) -> bool:
    """Tell whether names are the places 0, 1, … in any order."""
    is_one = len(names) == n_columns and type(names[0]) is int
    return is_one and set(names) == set(_places(n_columns))


def names_to_json(names: Names | None) -> list[Any] | None:
    """Give names as JSON types; what JSON has no type for is an object that tells its kind."""
    return None if names is None else [name_to_json(name) for name in names]


def names_from_json(stored: Any, n_features: int) -> Names | None:
    """Read what `names_to_json` gave, trusting nothing."""
    if stored is None:
        return None
    if not isinstance(stored, list):
        raise DataError("schema: feature_names is neither null nor a list.")
    names = tuple(name_from_json(name) for name in stored)
    if len(names) != n_features or len(set(names)) != n_features:
        raise DataError("schema: feature_names are not one distinct name for each column.")
    return names


def name_array(names: Sequence[Any]) -> NDArray[Any]:
    """Make an array of names, of which tuples are one name each."""
    array = np.empty(len(names), object)
    for j, name in enumerate(names):
        array[j] = name
    return array


@lru_cache(maxsize=64)
def _places(n_columns: int) -> tuple[int, ...]:
    return tuple(range(n_columns))


def _plain_time(time: Any) -> Name:
    """Give pandas' timestamps as the datetime they equal, unless there are nanoseconds."""
    if getattr(time, "nanosecond", 0):
        return OtherName(type(time).__name__, str(time))
    time = time.to_pydatetime() if hasattr(time, "to_pydatetime") else time
    offset = time.utcoffset()  # all that a file keeps of a time zone, and all that equality needs
    return time if offset is None else time.replace(tzinfo=dt.timezone(offset))


def _is_nothing(name: Name) -> bool:
    if isinstance(name, tuple):
        return any(_is_nothing(part) for part in name)
    return name is None or (isinstance(name, float) and math.isnan(name))


def _is_hashable(name: Any) -> bool:
    try:
        hash(name)
    except TypeError:
        return False
    return True


def _some(places: Sequence[int]) -> str:
    return listed(places, 5)


def _unknown_name(name: Name, names: Names, parameter: str, otherwise: str) -> ParameterError:
    if type(name) not in {str, int, *map(type, names)}:
        return _no_column(name, parameter, otherwise)
    strings = [known for known in names if isinstance(known, str)]
    meant = did_you_mean(name, strings) if isinstance(name, str) else ""
    return ParameterError(
        f"{parameter} names the column {name!r}, which X does not have; {meant}"
        f"{'Its' if meant else 'its'} columns are {listed(names)}."
    )


def _no_column(wanted: Any, parameter: str, otherwise: str) -> ParameterError:
    kinds = f"column names, column indices, {otherwise}" if otherwise else "column names or indices"
    return ParameterError(f"{parameter} holds {wanted!r}: it takes {kinds}.")


def _is_nameless(given: Names, learned: Names) -> bool:
    """Tell whether a frame that nobody named meets a model of columns named by strings."""
    return are_places(given) and any(isinstance(name, str) for name in learned)


def _are_alike_as_text(learned: Names, given: Names) -> bool:
    """Tell whether one table has strings for the other's names, as JSON and Parquet make them."""
    if are_strings(learned) == are_strings(given) or len(learned) != len(given):
        return False
    return set(map(str, learned)) == set(map(str, given))


def _places_by_name(learned: Names, given: Names) -> list[int]:
    place = {name: i for i, name in enumerate(given)}
    missing = [name for name in learned if name not in place]
    known = set(learned)
    extra = [name for name in given if name not in known]
    if missing or extra:
        raise DataError(
            "The feature names should match those of fit, in any order."
            + (f" Missing from X: {listed(missing)}." if missing else "")
            + (f" In X but not seen in fit: {listed(extra)}." if extra else "")
        )
    return [place[name] for name in learned]


def _warn_of_names(learned: Names | None, given: Names | None, estimator_name: str) -> None:
    """Warn, in scikit-learn's words, where one of two tables has names and the other has none."""
    has_learned = learned is not None and not are_places(learned)
    has_given = given is not None and not are_places(given)
    if has_given and not has_learned:
        warn_user(f"X has feature names, but {estimator_name} was fitted without feature names")
    elif has_learned and not has_given:
        warn_user(
            f"X does not have valid feature names, but {estimator_name} was fitted with "
            "feature names"
        )


def name_to_json(name: Name) -> Any:
    """Give a name as JSON types."""
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
    """Read what `name_to_json` gave, trusting nothing."""
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
    raise DataError("schema: feature_names has a name of no known kind.")


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
