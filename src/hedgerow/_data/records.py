"""Records: rows given as dicts from column name to value, as in JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from hedgerow._data.columns import ColumnTypeError
from hedgerow._data.names import listed
from hedgerow.exceptions import DataError


def are_records(X: Any) -> bool:
    """Return whether X is a dict, which is one row, or a list of dicts."""
    return type(X) is dict or (type(X) is list and bool(X) and isinstance(X[0], Mapping))


def read_records(X: Any) -> tuple[list[Any], Sequence[Sequence[Any]]]:
    """Return the column names and the values of each column."""
    if not (X if type(X) is dict else X[0]):
        raise DataError("X is an empty dict: a row needs a value for each column of fit.")
    if type(X) is dict:
        _refuse_columns(X)
        return list(X), [(value,) for value in X.values()]
    names = list(X[0])
    for i, row in enumerate(X):
        if not isinstance(row, Mapping):
            raise DataError(f"X is a list of dicts, but row {i} is a {type(row).__name__}.")
        if row.keys() != X[0].keys():
            raise _other_names_error(i, row, names)
    return names, [[row[name] for row in X] for name in names]


def refuse_single_row(X: Any) -> None:
    """Refuse a dict as the table of a `fit`."""
    if type(X) is dict:
        raise ColumnTypeError(
            "X is a dict, which is one row. Pass a list of dicts to fit; convert a dict of columns "
            "to a data frame: pd.DataFrame(X)."
        )


def as_data_frame(X: Any) -> Any:
    """Convert records to a data frame, for estimators that do not accept dicts."""
    names, columns = read_records(X)
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise ColumnTypeError(
            "X holds dicts, which are converted to a pandas data frame here, but pandas is not "
            "installed. Pass a data frame of another library, or an array."
        ) from None
    frame = pandas.DataFrame(dict(enumerate(columns)))
    return frame.set_axis(pandas.Index(names, tupleize_cols=False), axis=1)


def _other_names_error(i: int, row: Mapping[Any, Any], names: list[Any]) -> DataError:
    missing = [name for name in names if name not in row]
    extra = [name for name in row if name not in names]
    return DataError(
        f"X: row {i} has different names than row 0."
        + (f" It has no {listed(missing)}: use None for a missing value." if missing else "")
        + (f" Row 0 has no {listed(extra)}." if extra else "")
    )


def _refuse_columns(X: Mapping[Any, Any]) -> None:
    """Refuse a dict of columns."""
    for name, value in X.items():
        if isinstance(value, list | tuple | np.ndarray) or hasattr(value, "to_list"):
            raise ColumnTypeError(
                f"X is a dict, which is read as one row, but {name!r} is a "
                f"{type(value).__name__}. Convert columns to a data frame: pd.DataFrame(X)."
            )
