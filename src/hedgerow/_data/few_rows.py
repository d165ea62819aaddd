"""A few rows of a mixed table, read value by value: for one row much faster than by columns.

Reading a column has a fixed cost, which dominates the prediction of one row or a few. So the values
are read as Python objects and looked up one by one. Anything unusual (not a number where `fit` had
numbers, not a category where it had categories) is left to the reader of columns, which handles
every kind of column and every error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isinf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import CategoricalColumn, NumericColumn
from hedgerow._data.names import column_order, read_names
from hedgerow._data.sources import are_records, read_records
from hedgerow._data.table import Categories, CategoryBins, Table, TableSchema

# Largest table, in values, to be read one by one; above, reading by columns is about as fast.
_MOST_VALUES = 1024
# Names, the values of each column, and whether their matrix is float64.
Values = tuple[Sequence[Any], Sequence[Sequence[Any]], bool]
_TABLES = ("DataFrame", "Table")
_NUMBERS = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.bool_})


class FewRows(Table):
    """A table of floats in which categories are codes; −1 is missing, n an unknown category."""

    __slots__ = ("_is_categorical", "numbers")

    def __init__(self, numbers: NDArray[np.float64], schema: TableSchema) -> None:
        self.numbers, self._is_categorical = numbers, schema.categories
        self.names, self.dense, self.sparse = schema.feature_names, None, None
        self.n_rows, self.n_features = numbers.shape

    def column(self, j: int) -> NumericColumn | CategoricalColumn:
        """Return column j."""
        if j in self._is_categorical:
            return CategoricalColumn(self.numbers[:, j].astype(np.int32))
        return NumericColumn(self.numbers[:, j])

    def take(self, rows: Any) -> Table:
        """Return the table of some rows."""
        columns = [self.column(j).take(rows) for j in range(self.n_features)]
        return Table(self.names, columns=columns)

    def own_matrix(self, category_bins: CategoryBins) -> NDArray[Any]:
        """Return the matrix of `as_matrix`, with bins for categories."""
        matrix = self.numbers.copy()
        for j in self._is_categorical:
            bins = category_bins[j]
            assert bins is not None
            n_bins = len(bins)
            for i, code in enumerate(matrix[:, j].tolist()):
                matrix[i, j] = bins[int(code)] if 0 <= code < n_bins else nan
        return matrix


def read_few_rows(
    X: Any, schema: TableSchema, unknown_category: str, estimator_name: str
) -> Table | None:
    """Read a small table of mixed columns; None if X is something else or has unusual values."""
    values = _values_of(X)
    if values is None:
        return None
    names, columns, is_double = values
    if not (schema.categories or is_double):
        return None
    order = column_order(
        schema.feature_names, read_names(names), schema.n_features, len(names), estimator_name
    )
    may_be_unknown = unknown_category != "error"
    numbers = []
    for j, position in enumerate(order):
        learned = schema.categories.get(j)
        if learned is None:
            column = _numbers(columns[position])
        else:
            column = _codes(columns[position], learned, may_be_unknown)
        if column is None:
            return None
        numbers.append(column)
    return FewRows(np.array(numbers, np.float64).T, schema)


def _values_of(X: Any) -> Values | None:
    """Return names and values of a small data frame; None for a large one or anything else."""
    if are_records(X):
        return _values_of_records(X)
    library = type(X).__module__.partition(".")[0]
    reader = _READERS.get(library) if type(X).__name__ in _TABLES else None
    if reader is None or not 0 < X.shape[0] * X.shape[1] <= _MOST_VALUES:
        return None
    return reader(X)


def _values_of_records(X: Any) -> Values | None:
    n_rows = 1 if type(X) is dict else len(X)
    names, columns = read_records(X)
    return (names, columns, True) if n_rows * len(names) <= _MOST_VALUES else None


def _values_of_pandas(X: Any) -> Values | None:
    column = getattr(X, "_get_column_array", None)  # creating a series takes ten times as long
    if column is None:
        return None
    arrays = [column(j) for j in range(X.shape[1])]
    values = [a.tolist() if type(a) is np.ndarray else _extended(a) for a in arrays]
    is_double = any(array.dtype == np.float64 or array.dtype == np.int64 for array in arrays)
    return X.columns.tolist(), values, is_double


def _extended(array: Any) -> list[Any]:
    """Return the values of one of pandas' own arrays."""
    if type(array).__name__ != "Categorical":
        return list(array)
    categories = array.dtype.categories  # list(Categorical) takes ten times as long
    return [categories[code] if code >= 0 else None for code in array.codes.tolist()]


def _values_of_arrow(X: Any) -> Values:
    is_double = any(str(field.type) in ("double", "int64") for field in X.schema)
    return X.column_names, [column.to_pylist() for column in X.columns], is_double


def _values_of_polars(X: Any) -> Values:
    is_double = any(str(dtype) in ("Float64", "Int64") for dtype in X.dtypes)
    return X.columns, list(zip(*X.rows(), strict=True)), is_double


_READERS: Mapping[str, Callable[[Any], Values | None]] = {
    "pandas": _values_of_pandas,
    "polars": _values_of_polars,
    "pyarrow": _values_of_arrow,
}


def _numbers(values: Sequence[Any]) -> list[float] | None:
    """Return values as floats; None if one is neither a number nor missing."""
    numbers = []
    for value in values:
        if type(value) in _NUMBERS:
            try:
                number = float(value)
            except OverflowError:
                return None
            if isinf(number):
                return None
            numbers.append(number)
        elif _is_missing(value):
            numbers.append(nan)
        else:
            return None
    return numbers


def _codes(values: Sequence[Any], learned: Categories, may_be_unknown: bool) -> list[float] | None:
    """Return the codes of values; None if one has another type, or is unknown and must not be."""
    are_strings, code = learned.kind == "string", learned.code
    codes: list[float] = []
    for value in values:
        if type(value) is str if are_strings else _is_finite(value):
            value_code = code.get(value, len(code))
            if value_code == len(code) and not may_be_unknown:
                return None
            codes.append(value_code)
        elif _is_missing(value):
            codes.append(-1.0)
        else:
            return None
    return codes


def _is_finite(value: Any) -> bool:
    return type(value) in _NUMBERS and value == value and not isinf(value)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True
    return type(value) is float and value != value
