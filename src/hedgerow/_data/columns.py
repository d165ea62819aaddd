"""One column of a table: numbers in their own dtype, or labels as codes.

An array or a list of Python objects becomes a column, or an error that reports the column, the
problem and the remedy. `frames.py` does the same for the series of a data frame.
"""

from __future__ import annotations

import datetime as dt
import math
import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from hedgerow import _native
from hedgerow._threads import effective_n_jobs
from hedgerow.exceptions import DataError

Label = str | int | float | bool
LabelKind = Literal["string", "number", "boolean"]
RowSelection = slice | NDArray[Any]

# Above this a float64 no longer represents every integer, so a whole float stays a float.
_EXACT_INTEGERS = 2.0**53
# Elements checked for infinities by NumPy: the flags (64 KiB) stay in the second-level cache.
_BLOCK = 1 << 16
_DATES = (dt.date, dt.time, dt.timedelta, np.datetime64, np.timedelta64)
INSTEAD_OF_DATES = (
    "Convert them to meaningful numbers (year, month, weekday, days since a reference date), or "
    "drop the column."
)


class ColumnTypeError(DataError, TypeError):
    """A column that holds something other than numbers or strings."""


@dataclass(frozen=True, slots=True, eq=False)
class NumericColumn:
    """Numbers of any float, integer or boolean dtype; NaN and the mask `missing` mark missing."""

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None

    def take(self, rows: RowSelection) -> NumericColumn:
        """Return the column restricted to some rows."""
        return NumericColumn(
            self.values[rows], None if self.missing is None else self.missing[rows]
        )

    def floats(self) -> NDArray[np.float64]:
        """Return a copy of the numbers as float64, with NaN for missing values."""
        numbers = self.values.astype(np.float64)
        if self.missing is not None:
            numbers[self.missing] = np.nan
        return numbers

    def is_missing(self) -> NDArray[np.bool_]:
        """Mark the rows without a value."""
        if self.values.dtype.kind != "f":
            return np.zeros(self.values.shape, bool) if self.missing is None else self.missing
        nan: NDArray[np.bool_] = np.isnan(self.values)
        return nan if self.missing is None else nan | self.missing


@dataclass(frozen=True, slots=True, eq=False)
class CategoricalColumn:
    """Codes (int32) into the n categories learned in `fit`; −1 is missing, n is unknown."""

    codes: NDArray[np.int32]

    def take(self, rows: RowSelection) -> CategoricalColumn:
        """Return the column restricted to some rows."""
        return CategoricalColumn(self.codes[rows])


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """A categorical column as read: codes into labels in any order; −1 is missing.

    `is_declared` if its dtype is categorical, so that no warning is needed.
    """

    codes: NDArray[Any]
    labels: list[Label]
    kind: LabelKind
    is_declared: bool = False


def read_array(values: NDArray[Any], where: str) -> NumericColumn | LabelColumn:
    """Read a 1-d array of any dtype; `where` names it in errors."""
    kind = values.dtype.kind
    if kind in "biuf":
        return NumericColumn(native_numbers(values))
    if kind in "OUT":
        return read_objects(values.tolist(), where)
    raise array_kind_error(values.dtype, where)


def read_objects(values: list[Any], where: str) -> NumericColumn | LabelColumn:
    """Read Python objects: all numbers or all strings, with None, NaN, NA and NaT as missing."""
    types = set(map(type, values))
    kinds = {_kind_of_type(t) for t in types} - {"missing"}
    if not kinds:
        return NumericColumn(np.full(len(values), np.nan, np.float32))
    if kinds == {"number"}:
        return NumericColumn(_numbers(values, types, where))
    if kinds == {"string"} or (kinds == {"string", "number"} and _only_nan_besides_strings(values)):
        return _encode_strings(values)
    raise _objects_error(values, kinds, where)


def labels_of_numbers(column: NumericColumn, where: str) -> LabelColumn:
    """Turn each distinct number into a label."""
    refuse_infinite_column(column, where)
    missing = column.is_missing()
    distinct, codes_of_present = np.unique(column.values[~missing], return_inverse=True)
    codes = np.full(len(missing), -1, np.int32)
    codes[~missing] = codes_of_present
    kind: LabelKind = "boolean" if distinct.dtype.kind == "b" else "number"
    return LabelColumn(codes, [plain_label(v) for v in distinct.tolist()], kind)


def labelled(codes: NDArray[Any], values: Iterable[Any], where: str) -> LabelColumn:
    """Create a column from codes into `values`, which another library encoded."""
    values = list(values)
    if set(map(type, values)) == {str}:  # the common case, and there may be very many
        return LabelColumn(codes, values, "string")
    types = {type(v) for v in values if not is_missing(v)}
    kinds = {_kind_of_type(t) for t in types}
    if len(kinds) > 1 or not kinds <= {"string", "number"}:
        raise _objects_error(values, kinds, f"{where} (categories)")
    if any(is_missing(v) for v in values):
        present = np.array([not is_missing(v) for v in values])
        new_code = np.append(np.where(present, np.cumsum(present) - 1, -1), -1)
        codes, values = new_code[codes], [v for v in values if not is_missing(v)]
    kind = _label_kind(types)
    labels = [plain_label(v) for v in values]
    if kind == "number":  # True among numbers is 1
        labels = [int(v) if isinstance(v, bool) else v for v in labels]
    if math.inf in labels or -math.inf in labels:
        raise DataError(
            f"{where} contains infinity as a category. Replace it with a finite number."
        )
    return LabelColumn(codes, labels, kind)


def plain_label(value: Any) -> Label:
    """Return a label as a plain str, bool, int or float; a whole float becomes an int."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < _EXACT_INTEGERS else number


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or pandas' NA or NaT."""
    return _kind_of_type(type(value)) == "missing" or (
        # Not math.isnan, which takes no integer beyond the largest float.
        isinstance(value, numbers.Real | Decimal) and bool(value != value)
    )


def native_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as kernels read them: native byte order, aligned, at most 8 bytes wide."""
    if is_native(values):
        return values
    wide = values.dtype.itemsize > 8
    return values.astype(np.float64 if wide else values.dtype.newbyteorder("="))


def is_native(values: NDArray[Any]) -> bool:
    """Return whether kernels can read an array of numbers without a copy."""
    dtype = values.dtype
    return dtype.itemsize <= 8 and dtype.isnative and values.flags.aligned


def dense_column(csc: Any, j: int) -> NDArray[Any]:
    """Return column j of a CSC matrix with its zeros."""
    values = np.zeros(csc.shape[0], csc.dtype)
    stored = slice(csc.indptr[j], csc.indptr[j + 1])
    values[csc.indices[stored]] = csc.data[stored]
    return values


def array_kind_error(dtype: np.dtype[Any], where: str) -> DataError:
    """Return the error for an array of an unsupported dtype."""
    if dtype.kind == "c":
        return DataError(f"Complex data not supported: {where} has the dtype {dtype}.")
    if dtype.kind in "mM":
        return dates_error(where, str(dtype))
    return ColumnTypeError(
        f"{where} has the dtype {dtype}, which is neither numbers nor strings. Decode bytes to "
        "strings, and split records into one column per field."
    )


def dates_error(where: str, dtype: str) -> ColumnTypeError:
    """Return the error for dates and durations."""
    return ColumnTypeError(
        f"{where} contains dates, times or durations ({dtype}). {INSTEAD_OF_DATES}"
    )


def refuse_infinite(
    values: NDArray[Any], where: Callable[[int], str], n_jobs: int | None = 1
) -> None:
    """Raise if a float array (1-d or 2-d) holds an infinity; `where` names its column j."""
    if has_infinity(values, n_jobs):
        _report_infinite(values, where)


def has_infinity(values: NDArray[Any], n_jobs: int | None) -> bool:
    """Return whether an array (1-d or 2-d) holds an infinity."""
    if values.dtype.kind != "f":
        return False
    if values.size <= _BLOCK:
        return bool(np.isinf(values).any())
    matrix = values.reshape(len(values), -1) if values.ndim == 1 else values
    is_plain = matrix.dtype.isnative and matrix.flags.aligned and has_whole_strides(matrix)
    if is_plain and matrix.dtype in (np.float32, np.float64):
        return _native.has_infinity(matrix, effective_n_jobs(n_jobs))
    by_row = abs(matrix.strides[0]) >= abs(matrix.strides[1])
    # In memory order, in blocks, to avoid a large temporary.
    blocks = np.array_split(matrix if by_row else matrix.T, matrix.size // _BLOCK)
    return any(np.isinf(block).any() for block in blocks)


def has_whole_strides(array: NDArray[Any]) -> bool:
    """Return whether numbers are whole elements apart, as kernels expect."""
    return all(stride % array.itemsize == 0 for stride in array.strides)


def refuse_infinite_column(column: NumericColumn, where: str, n_jobs: int | None = 1) -> None:
    """Raise if a column holds an infinity."""
    refuse_infinite(column.values, lambda _: where, n_jobs)


def _report_infinite(values: NDArray[Any], where: Callable[[int], str]) -> NoReturn:
    """Raise for the first column that holds an infinity, and its first such row."""
    infinite = np.isinf(values).reshape(len(values), -1)
    column = int(infinite.any(axis=0).argmax())
    raise DataError(
        f"{where(column)} contains infinity (first in row {infinite[:, column].argmax()}). Replace "
        "infinities with NaN, which means missing, or with a large finite number."
    )


def _kind_of_type(kind: type) -> str:
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "missing"
    if issubclass(kind, str):
        return "string"
    if issubclass(kind, _DATES) or _is_period(kind):
        return "date"
    if issubclass(kind, numbers.Real | np.bool_ | Decimal):
        return "number"
    return "complex" if issubclass(kind, numbers.Complex) else "other"


def _is_period(kind: type) -> bool:
    """Recognise pandas' periods, without importing pandas."""
    return kind.__name__ == "Period" and kind.__module__.startswith("pandas")


def _label_kind(types: set[type]) -> LabelKind:
    if any(issubclass(t, str) for t in types) or not types:
        return "string"
    return "boolean" if all(issubclass(t, bool | np.bool_) for t in types) else "number"


def _numbers(values: list[Any], types: set[type], where: str) -> NDArray[Any]:
    """Return an array of the narrowest of bool, int64 and float64 that fits a list of numbers."""
    if all(issubclass(t, bool | np.bool_) for t in types):
        return np.array(values, dtype=bool)
    try:
        if all(issubclass(t, numbers.Integral | np.bool_) for t in types):
            return np.array(values, dtype=np.int64)
    except OverflowError:
        pass
    try:
        return np.array([math.nan if is_missing(v) else float(v) for v in values], np.float64)
    except OverflowError as error:
        raise DataError(f"{where} contains a number too large for float64.") from error


def _only_nan_besides_strings(values: list[Any]) -> bool:
    return all(isinstance(v, str) or is_missing(v) for v in values)


def _encode_strings(values: list[Any]) -> LabelColumn:
    """Encode strings with a dictionary, which is faster than sorting them."""
    distinct = set(values)
    labels = [v for v in distinct if isinstance(v, str)]
    code: dict[Any, int] = dict.fromkeys(distinct, -1)
    code.update((label, i) for i, label in enumerate(labels))
    codes = np.fromiter(map(code.__getitem__, values), np.int32, len(values))
    return LabelColumn(codes, [plain_label(v) for v in labels], "string")


def _objects_error(values: list[Any], kinds: set[str], where: str) -> DataError:
    """Return the error for objects that form no column, with the first offending row."""
    if "complex" in kinds:
        return DataError(f"Complex data not supported: {where} contains complex numbers.")
    if "other" in kinds:
        row, value = _first_of_kind(values, "other")
        return ColumnTypeError(
            f"{where}: row {row} contains a {type(value).__name__}, but the argument must be a "
            "string or a number. Extract its numbers or strings into separate columns."
        )
    if "date" in kinds:
        return dates_error(where, type(_first_of_kind(values, "date")[1]).__name__)
    string_row, string = _first_of_kind(values, "string")
    number_row, number = _first_of_kind(values, "number")
    return DataError(
        f"{where} mixes strings and numbers ({string!r} in row {string_row}, {number!r} in row "
        f"{number_row}). Make it one or the other: strings for a category, numbers for a quantity."
    )


def _first_of_kind(values: list[Any], kind: str) -> tuple[int, Any]:
    return next(
        (i, v) for i, v in enumerate(values) if _kind_of_type(type(v)) == kind and not is_missing(v)
    )
