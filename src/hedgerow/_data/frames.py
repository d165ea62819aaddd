"""Columns of a data frame (pandas, Polars, Arrow and whatever else narwhals reads).

Numbers keep their dtype, with a mask if the library stores missing values separately. Strings are
encoded by the library that holds them, which has its own fast dictionary encoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import (
    CategoricalColumn,
    ColumnTypeError,
    LabelColumn,
    NumericColumn,
    dates_error,
    labelled,
    read_array,
    read_objects,
)

_UNUSUAL = ("string_view", "binary_view", "run_end_encoded")


def read_series(series: nw.Series[Any], where: str) -> NumericColumn | LabelColumn:
    """Read a series of any dtype; `where` names it in errors."""
    native_dtype = getattr(series.to_native(), "dtype", None)
    if isinstance(native_dtype, np.dtype):
        return read_array(series.to_native().to_numpy(), where)
    dtype = series.dtype
    if dtype == nw.Object:
        return read_objects(series.to_list(), where)
    if dtype == nw.Decimal or dtype in (nw.Int128, nw.UInt128):
        series, dtype = series.cast(nw.Float64), nw.Float64()
    if dtype.is_integer() or dtype == nw.Boolean:
        return _whole_numbers(series)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return replace(_labels(series, where), is_declared=dtype != nw.String)
    if dtype.is_temporal():
        raise dates_error(where, str(dtype))
    if dtype.is_nested() or dtype == nw.Binary:
        raise ColumnTypeError(
            f"{where} holds {dtype}, but an argument must be a string or a number. "
            "Expand it into separate columns, or drop it."
        )
    return read_array(series.to_numpy(), where)


def with_usual_columns(X: Any) -> Any:
    """Return an Arrow table without string views and runs, which do not support row selection."""
    if nw.dependencies.is_pandas_dataframe(X):
        return _with_usual_series(X)
    if not nw.dependencies.is_pyarrow_table(X):
        return X
    for j, field in enumerate(X.schema):
        if (new := _usual(X.column(j), str(field.type))) is not None:
            X = X.set_column(j, field.name, new)
    return X


def _with_usual_series(X: Any) -> Any:
    """Do the same for a pandas frame, whose columns may be Arrow's."""
    kinds = [None if isinstance(dtype, np.dtype) else str(dtype) for dtype in X.dtypes]
    unusual = [j for j, kind in enumerate(kinds) if kind and kind.startswith(_UNUSUAL)]
    if not unusual:
        return X
    X = X.copy(deep=False)
    for j in unusual:
        array = X.iloc[:, j].array
        arrow = array.__arrow_array__()
        X.isetitem(j, type(array)(_usual(arrow, str(arrow.type))))
    return X


def _usual(column: Any, kind: str) -> Any:
    """Return an Arrow column of an unusual layout in the usual one; None for any other."""
    if kind.startswith("run_end_encoded"):
        import pyarrow.compute

        column = pyarrow.compute.run_end_decode(column)
        again = _usual(column, str(column.type))
        return column if again is None else again
    if kind in ("string_view", "binary_view"):
        return column.cast("large_" + kind.removesuffix("_view"))
    return None


def one_matrix(columns: Sequence[NumericColumn | CategoricalColumn]) -> NDArray[Any] | None:
    """Return the matrix of these columns if they already form one in memory, else None.

    A pandas frame created from an array is such a matrix, and then nothing needs to be copied.
    """
    arrays = [c.values for c in columns if isinstance(c, NumericColumn) and c.missing is None]
    if len(arrays) < len(columns) or arrays[0].base is None:
        return None
    first, addresses = arrays[0], [values.ctypes.data for values in arrays]
    step = addresses[1] - addresses[0] if len(arrays) > 1 else first.itemsize
    for j, values in enumerate(arrays):
        same_kind = values.dtype == first.dtype and values.strides == first.strides
        in_place = values.base is first.base and addresses[j] == addresses[0] + j * step
        if not (same_kind and in_place):
            return None
    shape, strides = (len(first), len(arrays)), (first.strides[0], step)
    return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False)


def _whole_numbers(series: nw.Series[Any]) -> NumericColumn:
    """Keep the integer or boolean dtype, which has no NaN, and mark missing values in a mask."""
    missing = series.is_null().to_numpy() if series.null_count() else None
    if missing is not None:
        series = series.fill_null(False if series.dtype == nw.Boolean else 0)
    values = series.to_numpy()
    if values.dtype.kind == "O":  # as nullable integers in older versions of pandas
        values = np.array(values.tolist())
    return NumericColumn(values, missing)


def _labels(series: nw.Series[Any], where: str) -> LabelColumn:
    """Encode strings or categories with the library that holds them."""
    native = series.to_native()
    if series.implementation.is_polars():
        return labelled(*_encode_polars(series, native), where)
    if series.implementation.is_pyarrow():
        return labelled(*_encode_arrow(series, native), where)
    codes, distinct = native.factorize()
    return labelled(np.asarray(codes), distinct.tolist(), where)


def _encode_polars(series: nw.Series[Any], native: Any) -> tuple[NDArray[Any], list[str]]:
    """Cast to an Enum of the strings that occur; a Categorical may have many more."""
    polars = series.__native_namespace__()
    distinct = native.drop_nulls().unique().cast(polars.String)
    codes = native.cast(polars.Enum(distinct)).to_physical().cast(polars.Int32).fill_null(-1)
    return codes.to_numpy(), distinct.to_list()


def _encode_arrow(series: nw.Series[Any], native: Any) -> tuple[NDArray[Any], list[Any]]:
    arrow = series.__native_namespace__()
    encoded = native if arrow.types.is_dictionary(native.type) else native.dictionary_encode()
    encoded = encoded.unify_dictionaries().combine_chunks()
    codes = encoded.indices.cast(arrow.int32()).fill_null(-1)
    return codes.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()
