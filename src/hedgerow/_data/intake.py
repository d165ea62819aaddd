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
    read_objects,
    refuse_infinite,
)
from hedgerow._data.few_rows import read_few_rows
from hedgerow._data.matching import as_learned, not_chosen_error, require_numbers
from hedgerow._data.names import column_label, column_order
from hedgerow._data.parquet_table import ParquetTable
from hedgerow._data.pieced_intake import learn_pieces
from hedgerow._data.pieced_table import PiecedTable, RowPieces
from hedgerow._data.shared_columns import common_columns, common_dtype, require_same_columns
from hedgerow._data.sources import (
    Source,
    is_empty_list,
    open_table,
    refuse_single_row,
    require_rows,
)
from hedgerow._data.streamed_intake import learn_streamed, read_streamed
from hedgerow._data.suspicious_columns import Suspicion, suspicion_of, warn_of_suspicious_columns
from hedgerow._data.table import (
    Categories,
    Table,
    TableSchema,
    as_matrix,
    chosen_columns,
    finite_table,
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
        Whether X may be a `ParquetTable`, whose columns are read when they are needed, or
        `RowPieces`, which are dropped when they are in bins.
    verbose : int
        Whether to show progress while columns are read from files.
    n_jobs : int or None
        Threads that encode strings and look for infinities.
    """
    if isinstance(X, BinnedTable):
        return X.schema, X
    if streams and isinstance(X, ParquetTable | RowPieces):
        return _learn_in_parts(X, categorical_features, warns, verbose, n_jobs)
    refuse_single_row(X)
    source = open_table(X, n_jobs)
    require_rows(source.n_rows, source.n_features)
    together = workers()
    if together.size > 1:
        require_same_columns([source], together)
    chosen, by_dtype = chosen_columns(categorical_features, source.names, source.n_features)
    if not chosen.any() and not together.any(not _is_matrix(source)):
        if together.size > 1 and source.dense is not None:
            source = replace(source, dense=common_dtype([source.dense], together)[0])
        schema = TableSchema(source.n_features, source.names, {})
        return schema, finite_table(source, source.names, n_jobs=n_jobs)
    categories: dict[int, Categories] = {}
    columns: list[NumericColumn | CategoricalColumn] = []
    found: dict[int, Suspicion | None] = {}
    for j, column in enumerate(_read_columns(source, chosen, n_jobs)):
        where = column_label(source.names, j)
        if isinstance(column, NumericColumn):
            columns.append(column)
        else:
            categories[j] = Categories(column.kind, tuple(sorted(set(column.labels))))
            if not by_dtype:
                raise not_chosen_error(where)
            if warns and not chosen[j]:
                found[j] = suspicion_of(column, categories[j].values)
            columns.append(CategoricalColumn(categories[j].match(column)))
    warn_of_suspicious_columns(found, source.names)
    schema = TableSchema(source.n_features, source.names, categories)
    return schema, finite_table(source, source.names, columns, n_jobs=n_jobs)


def _learn_in_parts(
    X: ParquetTable | RowPieces,
    categorical_features: Any,
    warns: bool,
    verbose: int,
    n_jobs: int | None,
) -> tuple[TableSchema, Table]:
    if isinstance(X, RowPieces):
        return learn_pieces(X, categorical_features, warns=warns, n_jobs=n_jobs)
    return learn_streamed(X, categorical_features, warns=warns, verbose=verbose)


def _read_columns(
    source: Source, chosen: NDArray[np.bool_], n_jobs: int | None
) -> Iterable[NumericColumn | LabelColumn]:
    """Read the columns; chosen ones as labels, of which each worker learns those of all."""

    def labelled(j: int, column: NumericColumn | LabelColumn) -> NumericColumn | LabelColumn:
        if chosen[j] and isinstance(column, NumericColumn):
            return labels_of_numbers(column, column_label(source.names, j))
        return column

    positions = range(source.n_features)
    columns = map(labelled, positions, source.columns(positions, n_jobs))
    together = workers()
    if together.size == 1:
        return columns
    return common_columns([list(columns)], source.names, together)[0]


def _no_rows(schema: TableSchema) -> Source:
    """Return an empty list of records, which names no columns, as a table of those of `fit`."""
    return Source(
        0,
        schema.n_features,
        schema.feature_names,
        lambda j: read_objects([], column_label(None, j)),
    )


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
    if isinstance(X, RowPieces):
        pieces = (
            read_table(
                piece,
                schema,
                unknown_category=unknown_category,
                estimator_name=estimator_name,
                n_jobs=n_jobs,
            )
            for piece in X.take_out()
        )
        return PiecedTable(pieces, X.release)
    if is_plain(X, schema):
        refuse_infinite(X, lambda j: column_label(None, j), n_jobs)
        return Table(None, dense=X)
    few = read_few_rows(X, schema, unknown_category, estimator_name)
    if few is not None:
        return few
    source = _no_rows(schema) if is_empty_list(X) else open_table(X, n_jobs)
    order = column_order(
        schema.feature_names, source.names, schema.n_features, source.n_features, estimator_name
    )
    if _is_matrix(source) and not schema.categories:
        return finite_table(_in_order(source, order), schema.feature_names, n_jobs=n_jobs)
    columns: list[NumericColumn | CategoricalColumn] = []
    columns_read = source.columns(order, n_jobs)
    for j, (position, column) in enumerate(zip(order, columns_read, strict=True)):
        where = column_label(source.names, position)
        if j in schema.categories:
            columns.append(as_learned(column, schema.categories[j], unknown_category, where))
        else:
            columns.append(require_numbers(column, where))
    return finite_table(source, schema.feature_names, columns, n_jobs=n_jobs)


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


def _in_order(source: Source, order: Sequence[int]) -> Source:
    """Put the columns of a matrix with names in the order of the schema."""
    if source.dense is None or source.names is None or isinstance(order, range):
        return source
    names = tuple(source.names[position] for position in order)
    return replace(source, dense=source.dense[:, order], names=names)
