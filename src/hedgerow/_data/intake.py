"""Any table → `Table`: named columns, categories as codes. Every X is read here.

`learn_schema` is for `fit` and learns the columns and their categories; `read_table` is for
`predict` and matches columns by name and categories by value with what was learned.
Integers beyond 2⁵³ are accepted, but compared as float64, in `fit` and in `predict` alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow._collective import workers
from hedgerow._data.binned_table import BinnedTable
from hedgerow._data.columns import (
    CategoricalColumn,
    LabelColumn,
    NumericColumn,
    labels_of_numbers,
    refuse_infinite,
    refuse_infinite_column,
)
from hedgerow._data.few_rows import read_few_rows
from hedgerow._data.matching import as_learned, not_chosen_error, require_numbers
from hedgerow._data.names import Names, column_label, column_order
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.shared_columns import common_columns, common_dtype, require_same_columns
from hedgerow._data.sources import Source, open_table, refuse_single_row, require_rows
from hedgerow._data.streamed_intake import learn_streamed, read_streamed
from hedgerow._data.suspicious_columns import warn_of_suspicious_column
from hedgerow._data.table import (
    Categories,
    Table,
    TableSchema,
    as_matrix,
    chosen_columns,
    iter_dense_blocks,
)

__all__ = [
    "CategoricalColumn",
    "NumericColumn",
    "Table",
    "TableSchema",
    "as_matrix",
    "is_plain",
    "iter_dense_blocks",
    "learn_schema",
    "read_table",
]

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def learn_schema(
    X: Any,
    categorical_features: Any = "auto",
    *,
    warns: bool = True,
    streams: bool = False,
    verbose: int = 0,
    n_jobs: int | None = 1,
) -> tuple[TableSchema, Table]:
    """Read the table of a `fit` and learn its columns.

    Parameters
    ----------
    X : array, data frame, sparse matrix or list of lists
    categorical_features : "auto", None, or list of names, of indices, or of booleans
        "auto" selects columns of strings and of a categorical dtype (booleans are numbers, 0 and
        1). A list adds the columns in it; each of their distinct numbers is a category. None
        selects no column: a column of strings is an error.
    warns : bool
        Whether to warn about strings that are probably not categories.
    streams : bool
        Whether X may be a `ParquetTable`, whose columns are read when they are needed.
    verbose : int
        Whether to show progress while columns are read from files.
    n_jobs : int or None
        Threads that look for infinities.
    """
    if isinstance(X, BinnedTable):
        return X.schema, X
    if streams and isinstance(X, ParquetTable):
        return learn_streamed(X, categorical_features, warns=warns, verbose=verbose)
    refuse_single_row(X)
    source = open_table(X)
    require_rows(source.n_rows, source.n_features)
    together = workers()
    if together.size > 1:
        require_same_columns(source, together)
    chosen, by_dtype = chosen_columns(categorical_features, source.names, source.n_features)
    if _is_matrix(source) and not chosen.any():
        if together.size > 1 and source.dense is not None:
            source = replace(source, dense=common_dtype(source.dense, together))
        schema = TableSchema(source.n_features, source.names, {})
        return schema, _finite_table(source, source.names, n_jobs=n_jobs)
    categories: dict[int, Categories] = {}
    columns: list[NumericColumn | CategoricalColumn] = []
    for j, column in enumerate(_read_columns(source, chosen)):
        where = column_label(source.names, j)
        if isinstance(column, NumericColumn):
            columns.append(column)
        else:
            categories[j] = Categories(column.kind, tuple(sorted(set(column.labels))))
            if not by_dtype:
                raise not_chosen_error(where)
            if warns and not chosen[j]:
                warn_of_suspicious_column(column, categories[j].values, where)
            columns.append(CategoricalColumn(categories[j].match(column)))
    schema = TableSchema(source.n_features, source.names, categories)
    return schema, _finite_table(source, source.names, columns, n_jobs=n_jobs)


def _read_columns(
    source: Source, chosen: NDArray[np.bool_]
) -> Iterable[NumericColumn | LabelColumn]:
    """Read the columns; chosen ones as labels, of which each worker learns those of all."""

    def read(j: int) -> NumericColumn | LabelColumn:
        column = source.read(j)
        if chosen[j] and isinstance(column, NumericColumn):
            return labels_of_numbers(column, column_label(source.names, j))
        return column

    columns = map(read, range(source.n_features))
    together = workers()
    return columns if together.size == 1 else common_columns(list(columns), source.names, together)


def read_table(
    X: Any,
    schema: TableSchema,
    *,
    unknown_category: Literal["missing", "error"] = "missing",
    estimator_name: str = "the model",
    verbose: int = 0,
    n_jobs: int | None = 1,
) -> Table:
    """Read the table of a `predict`, with the column order and category codes of the schema.

    A category that did not occur in `fit` is missing, or an error if `unknown_category` is "error".
    """
    if isinstance(X, BinnedTable) and X.schema is schema:
        return X
    if isinstance(X, ParquetTable):
        return read_streamed(X, schema, unknown_category, estimator_name, verbose)
    if is_plain(X, schema):
        refuse_infinite(X, lambda j: column_label(None, j), n_jobs)
        return Table(None, dense=X)
    few = read_few_rows(X, schema, unknown_category, estimator_name)
    if few is not None:
        return few
    source = open_table(X)
    order = column_order(
        schema.feature_names, source.names, schema.n_features, source.n_features, estimator_name
    )
    if _is_matrix(source) and not schema.categories:
        return _finite_table(_in_order(source, order), schema.feature_names, n_jobs=n_jobs)
    columns: list[NumericColumn | CategoricalColumn] = []
    for j, position in enumerate(order):
        column = source.read(position)
        where = column_label(source.names, position)
        if j in schema.categories:
            columns.append(as_learned(column, schema.categories[j], unknown_category, where))
        else:
            columns.append(require_numbers(column, where))
    return _finite_table(source, schema.feature_names, columns, n_jobs=n_jobs)


def is_plain(X: Any, schema: TableSchema) -> bool:
    """Return whether X can be passed to the predictor as it is, after a check for infinities."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and (X.dtype == _FLOAT32 or X.dtype == _FLOAT64)
        and X.shape[1] == schema.n_features
        and X.shape[0] > 0
        and X.flags.c_contiguous
        and X.flags.aligned
        and not schema.categories
        and schema.has_no_names
    )


def _is_matrix(source: Source) -> bool:
    return source.dense is not None or source.sparse is not None


def _finite_table(
    source: Source,
    names: Names | None,
    columns: list[NumericColumn | CategoricalColumn] | None = None,
    *,
    n_jobs: int | None,
) -> Table:
    """Create a table from columns, or from a source that is a matrix, and refuse infinities."""
    if columns is None:
        table = Table(names, dense=source.dense, sparse_csc=source.sparse)
    else:
        table = Table(names, dense=_one_matrix(columns), columns=columns)
    if source.dense is not None:
        refuse_infinite(source.dense, lambda j: column_label(source.names, j), n_jobs)
    elif table.dense is not None:
        refuse_infinite(table.dense, lambda j: column_label(names, j), n_jobs)
    elif table.sparse_csc is None or np.isinf(table.sparse_csc.data).any():
        _refuse_infinite_columns(table, n_jobs)
    return table


def _in_order(source: Source, order: Sequence[int]) -> Source:
    """Put the columns of a matrix with names in the order of the schema."""
    if source.dense is None or source.names is None or isinstance(order, range):
        return source
    names = tuple(source.names[position] for position in order)
    return replace(source, dense=source.dense[:, order], names=names)


def _refuse_infinite_columns(table: Table, n_jobs: int | None) -> None:
    for j in range(table.n_features):
        column, where = table.column(j), column_label(table.names, j)
        if isinstance(column, NumericColumn):
            refuse_infinite_column(column, where, n_jobs)


def _one_matrix(columns: Sequence[NumericColumn | CategoricalColumn]) -> NDArray[Any] | None:
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
