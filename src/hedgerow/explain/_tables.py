"""The user's table with some columns replaced, in the type of the table.

Arrays, sparse matrices and data frames keep their type, so that any model accepts them. Columns
keep their dtype if it can represent the new values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow._data.columns import LabelColumn, NumericColumn
from hedgerow._data.names import Labels
from hedgerow._data.pass_through import take_rows
from hedgerow._data.sources import are_records, as_array, as_data_frame, open_table, require_rows
from hedgerow._data.sparse import sound
from hedgerow._types import Indices


class UserTable:
    """A table that can be read by columns, subset by rows, and copied with columns replaced.

    `X` is the table of the user: an array, a data frame, or a sparse matrix in CSR format.
    """

    def __init__(self, X: Any) -> None:
        if are_records(X):
            X = as_data_frame(X)
        self._source = open_table(X)
        require_rows(self._source.n_rows, self._source.n_features)
        is_table = hasattr(X, "shape") or _frame(X) is not None
        self.X: Any = X if is_table else as_array(X, "X")
        if scipy.sparse.issparse(X):
            self.X = sound(X).tocsr()  # to select rows
        self.n_rows, self.n_columns = self._source.n_rows, self._source.n_features
        self.names = self._source.names

    def column(self, place: int) -> NumericColumn | LabelColumn:
        """Read a column."""
        return self._source.read(place)

    def take(self, rows: Indices) -> UserTable:
        """Return the table of some rows, with repetitions."""
        return UserTable(take_rows(self.X, rows))

    def with_values(self, places: Sequence[int], values: Sequence[NDArray[Any]]) -> Any:
        """Return the table with some columns replaced, each by a value for every row.

        Values are floats, or objects: labels, with None for missing.
        """
        if scipy.sparse.issparse(self.X):
            return _with_sparse_columns(self.X, dict(zip(places, values, strict=True)))
        frame = _frame(self.X)
        if frame is not None:
            names = [frame.columns[place] for place in places]
            columns = [
                _series(frame.get_column(name), new)
                for name, new in zip(names, values, strict=True)
            ]
            return _with_series(frame, names, columns)
        return _with_array_columns(self.X, places, values)

    def with_columns_of(self, other: UserTable, places: Sequence[int]) -> Any:
        """Return the table with some columns of another one of the same type and length."""
        if scipy.sparse.issparse(self.X):
            by_column = other.X.tocsc()
            return _with_sparse_columns(self.X, {place: by_column[:, [place]] for place in places})
        frame = _frame(self.X)
        if frame is not None:
            theirs = nw.from_native(other.X)
            names = [frame.columns[place] for place in places]
            return _with_series(frame, names, [theirs.get_column(name) for name in names])
        changed = self.X.copy()
        changed[:, list(places)] = other.X[:, list(places)]
        return changed


def _frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return a data frame of any library in a common form, None for anything else."""
    if isinstance(X, np.ndarray):  # narwhals would take longer to find out
        return None
    frame = nw.from_native(X, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _with_array_columns(
    X: NDArray[Any], places: Sequence[int], values: Sequence[NDArray[Any]]
) -> NDArray[Any]:
    columns = [new.astype(np.float64) if X.dtype.kind in "biuf" else new for new in values]
    fits = all(holds(X.dtype, new) for new in columns)
    changed = X.copy() if fits else X.astype(np.float64)
    for place, new in zip(places, columns, strict=True):
        changed[:, place] = new
    return changed


def holds(dtype: np.dtype[Any], values: NDArray[Any]) -> bool:
    """Tell whether a dtype represents the values exactly."""
    if dtype.kind not in "biuf" or dtype == values.dtype:
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        return np.array_equal(values.astype(dtype), values, equal_nan=True)


def _with_sparse_columns(X: Any, columns: dict[int, Any]) -> Any:
    """Replace columns of a sparse matrix by arrays or sparse columns."""
    by_column = X.tocsc()
    parts, first = [], 0
    for place, new in sorted(columns.items()):
        parts.append(by_column[:, first:place])
        if not scipy.sparse.issparse(new):
            new = scipy.sparse.csc_array(new.astype(np.float64)[:, np.newaxis])
        parts.append(new)
        first = place + 1
    parts.append(by_column[:, first:])
    return scipy.sparse.hstack(parts, format=X.format)


def _with_series(
    frame: nw.DataFrame[Any], names: Sequence[str], columns: Sequence[nw.Series[Any]]
) -> Any:
    if not frame.implementation.is_pandas_like():
        renamed = [column.alias(name) for name, column in zip(names, columns, strict=True)]
        return frame.with_columns(*renamed).to_native()
    # By hand, because column names of pandas need not be strings, and its rows have an index.
    changed = frame.to_native().copy(deep=False)
    for name, column in zip(names, columns, strict=True):
        changed[name] = column.to_native().set_axis(changed.index)
    return changed


def _series(old: nw.Series[Any], values: NDArray[Any]) -> nw.Series[Any]:
    """Make a series of new values, of the old dtype if it represents them exactly."""
    name, dtype, backend = old.name, old.dtype, old.implementation
    if values.dtype == object and not (dtype.is_numeric() or dtype == nw.Boolean):
        return nw.new_series(name, values.tolist(), dtype=dtype, backend=backend)
    numbers = values.astype(np.float64)  # None becomes NaN
    series = nw.new_series(name, numbers, dtype=nw.Float64(), backend=backend)
    if np.isnan(numbers).any():
        series = series.fill_nan(None)
    elif dtype.is_integer() or dtype == nw.Boolean:
        return series.cast(dtype) if np.array_equal(numbers, np.rint(numbers)) else series
    is_single = dtype == nw.Float32 and holds(np.dtype(np.float32), numbers)
    return series.cast(dtype) if is_single else series


def table_values(X: Any, feature_names: Labels) -> NDArray[Any]:
    """Return the values of a table as an array, in the model's order of columns.

    The array is of floats, with NaN for missing values. If a column has labels, it is of objects,
    with None for missing labels.
    """
    source = open_table(X)
    order = list(range(source.n_features))
    fitted: Sequence[Any] = feature_names.names or order
    if source.names is not None and set(source.names) == set(fitted):
        place = {name: j for j, name in enumerate(source.names)}
        order = [place[name] for name in fitted]
    if source.dense is not None:
        return source.dense[:, order].astype(np.float64, copy=False)  # indexing has copied it
    columns = [_values(source.read(j)) for j in order]
    dtype = object if any(values.dtype == object for values in columns) else np.float64
    table = np.empty((source.n_rows, len(columns)), dtype)
    for j, values in enumerate(columns):
        table[:, j] = values
    return table


def _values(column: NumericColumn | LabelColumn) -> NDArray[Any]:
    if isinstance(column, LabelColumn):
        return np.array([*column.labels, None], dtype=object)[column.codes]
    return column.floats()
