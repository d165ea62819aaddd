"""Queries and relevances → arrays: what a ranker needs besides the features.

Queries are specified by an id for each row (`qid`), by the sizes of groups of adjacent rows
(`group`), or by a column of the table. They are returned as integers from 0.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hedgerow._collective import workers
from hedgerow._data.columns import LabelColumn
from hedgerow._data.names import column_index, read_names
from hedgerow._data.sources import as_array
from hedgerow._data.sparse import sound
from hedgerow._data.target import read_column, read_regression_target
from hedgerow.exceptions import DataError, ParameterError

QueryNumbers = NDArray[np.int64]

MAX_ROWS = 2**31


def read_query_ids(qid: Any, name: str = "qid") -> QueryNumbers:
    """Read the query id of each row, a number or a string, as an integer."""
    column = read_column(qid, name)
    values = column.codes if isinstance(column, LabelColumn) else column.values
    together = workers()
    if together.size == 1:
        return np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)
    if isinstance(column, LabelColumn):
        values = np.array(column.labels)[column.codes]
    every = together.distinct(values)
    if together.count(len(np.unique(values))) > len(every):
        raise DataError(f"{name}: rows of a query are on several workers. Keep them together.")
    return np.searchsorted(every, values).astype(np.int64, copy=False)


def read_group_sizes(group: Any) -> QueryNumbers:
    """Read group sizes: the number of rows of each query, for rows sorted by query."""
    column = read_column(group, "group")
    sizes = np.zeros(1) if isinstance(column, LabelColumn) else column.values
    if sizes.min() < 1 or (sizes != np.floor(sizes)).any():
        raise DataError("group must contain the number of rows of each query, as ints >= 1.")
    if sizes.sum(dtype=np.float64) > MAX_ROWS:
        raise DataError(f"group adds up to more than {MAX_ROWS} rows.")
    first = workers().first_row(len(sizes))  # queries of the workers before this one
    return np.repeat(first + np.arange(len(sizes)), sizes.astype(np.int64))


def read_relevance(y: Any, n_rows: int) -> NDArray[np.float64]:
    """Read relevances: numbers, 0 or more."""
    relevance = read_regression_target(y, n_rows, estimator_name="this ranker")
    if relevance.min() < 0.0:
        row = int(relevance.argmin())
        raise DataError(f"y is {relevance[row]:g} in row {row}, but relevance must be 0 or more.")
    return relevance


def split_column(X: Any, column: str | int) -> tuple[Any, Any]:
    """Split a table into one column, by name or index, and the other columns."""
    if nw.dependencies.is_pandas_dataframe(X):
        j = _position_of(X.columns.tolist(), column)
        return X.iloc[:, j], X.iloc[:, [k for k in range(X.shape[1]) if k != j]]
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        name = frame.columns[_position_of(frame.columns, column)]
        return frame.get_column(name).to_native(), frame.drop(name).to_native()
    matrix: Any = sound(X).tocsc() if scipy.sparse.issparse(X) else as_array(X, "X")
    index = _index_of(matrix.shape, column)
    others = [j for j in range(matrix.shape[1]) if j != index]
    values = matrix[:, [index]]
    values = values.toarray() if scipy.sparse.issparse(values) else values
    return values.ravel(), matrix[:, others]


def _position_of(columns: list[Any], column: str | int) -> int:
    try:
        return column_index(column, read_names(columns), len(columns), "qid_column")
    except ParameterError as error:
        raise DataError(str(error)) from error


def _index_of(shape: tuple[int, ...], column: str | int) -> int:
    if isinstance(column, str):
        raise DataError(
            f"qid_column={column!r} is a name, but the columns of X have no names. Use its index."
        )
    if len(shape) != 2 or not column < shape[1]:
        raise DataError(f"qid_column={column} is not a column of X, whose shape is {shape}.")
    return int(column)
