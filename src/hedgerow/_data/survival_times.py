"""Survival times → bounds: the interval in which each row's time is known to lie.

An exact time has equal bounds; if the event was still to come at the last observation (right
censored), there is no upper bound; if it had already happened at the first one (left censored), the
lower bound is 0. An interval excludes its lower bound: a row last observed at t has its event after
t.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from hedgerow._data.sources import as_array
from hedgerow._data.target import read_numbers_with_missing
from hedgerow._types import Floats
from hedgerow.exceptions import DataError

FORMS = (
    "y must be a structured array or data frame with a bool (event observed) and a time; two "
    "columns, lower and upper bound; or one number per row, negative for a censored time"
)


def read_survival_times(y: Any, n_rows: int) -> Floats:
    """Read times in any of the forms and return lower and upper bounds, (n_rows, 2)."""
    if y is None:
        raise DataError("This estimator requires y to be passed, but the target y is None.")
    columns = _columns_of(y)
    flags = [column for column in columns if _is_bool(column)]
    if len(columns) == 2 and len(flags) == 1:
        (event,) = flags
        (time,) = [column for column in columns if column is not event]
        bounds = _bounds_of_events(_read_flags(event), read_numbers_with_missing(time, "y"))
    elif len(columns) == 2 and not flags:
        lower, upper = (read_numbers_with_missing(column, "y") for column in columns)
        _refuse_flags(y, (lower, upper))
        bounds = _checked_bounds(lower, upper)
    elif len(columns) == 1 and not flags:
        signed = read_numbers_with_missing(columns[0], "y")
        bounds = _bounds_of_events(~(signed < 0.0), np.abs(signed))
    else:
        raise DataError(f"{FORMS}.")
    if len(bounds) != n_rows:
        raise DataError(f"y has {len(bounds)} values, but X has {n_rows} rows.")
    return bounds


def _columns_of(y: Any) -> list[Any]:
    """Return the columns of y: one if it is one-dimensional."""
    frame = nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(frame, nw.DataFrame):
        return [column.to_native() for column in frame.iter_columns()]
    if isinstance(frame, nw.Series):
        return [y]
    array = as_array(y, "y")
    if array.dtype.names is not None:
        return [np.ascontiguousarray(array[name]) for name in array.dtype.names]
    if array.ndim == 2:
        return list(array.T)
    if array.ndim != 1:
        raise DataError(f"{FORMS}; its shape is {array.shape}.")
    return [array]


def _refuse_flags(y: Any, numbers: tuple[Floats, ...]) -> None:
    """Refuse a column of 0 and 1 next to times: probably an event indicator that is not a bool."""
    if _names_of(y) == ["lower", "upper"] or any(np.isinf(values).any() for values in numbers):
        return  # no event is at an infinite time
    for values in numbers:
        if set(np.unique(values)) in ({0.0, 1.0}, {1.0}):
            raise DataError(
                "One of the two columns of y contains only 0 and 1. If it is the event indicator, "
                "pass a data frame or structured array in which it is a bool; if it is a bound of "
                "the time, name the columns lower and upper."
            )


def _names_of(y: Any) -> list[str]:
    frame = nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(frame, nw.DataFrame):
        return list(frame.columns)
    return list(getattr(getattr(y, "dtype", None), "names", None) or [])


def _is_bool(column: Any) -> bool:
    series = nw.from_native(column, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series) and series.dtype == nw.Boolean:
        return True
    array = np.asarray(column)
    if array.dtype == object:
        return all(isinstance(value, bool | np.bool_) for value in array)
    return bool(array.dtype == np.bool_)


def _read_flags(event: Any) -> NDArray[np.bool_]:
    numbers = read_numbers_with_missing(event, "y")
    _refuse(np.isnan(numbers), "a missing event indicator")
    return numbers != 0.0


def _bounds_of_events(event: NDArray[np.bool_], time: Floats) -> Floats:
    _refuse(~np.isfinite(time), "a time that is missing or infinite")
    _refuse(time < 0.0, "a negative time")
    return np.column_stack([time, np.where(event, time, np.inf)])


def _checked_bounds(lower: Floats, upper: Floats) -> Floats:
    lower = np.where(np.isnan(lower) | (lower == -np.inf), 0.0, lower)
    upper = np.where(np.isnan(upper), np.inf, upper)
    _refuse((lower < 0.0) | (upper < 0.0), "a negative bound")
    _refuse(lower == np.inf, "a lower bound that is infinite")
    _refuse(lower > upper, "a lower bound above the upper one")
    return np.column_stack([lower, upper])


def _refuse(bad: NDArray[np.bool_], what: str) -> None:
    if bad.any():
        raise DataError(f"y has {what} in row {int(bad.argmax())}.")
