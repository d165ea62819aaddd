"""`ParquetTable` → `StreamedTable`: what `intake.py` does for tables in memory, file by file."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from hedgerow._data.columns import (
    CategoricalColumn,
    LabelColumn,
    NumericColumn,
    labels_of_numbers,
)
from hedgerow._data.matching import as_learned, not_chosen_error, require_numbers
from hedgerow._data.names import column_label, column_order
from hedgerow._data.parquet_table import ParquetTable, read_labels
from hedgerow._data.sources import require_rows
from hedgerow._data.streamed_table import Convert, RowsInOrder, StreamedTable
from hedgerow._data.suspicious_columns import Suspicion, suspicion_of, warn_of_suspicious_columns
from hedgerow._data.table import Categories, TableSchema, chosen_columns
from hedgerow._progress import with_progress
from hedgerow.exceptions import DataError


def learn_streamed(
    X: ParquetTable, categorical_features: Any, *, warns: bool, verbose: int
) -> tuple[TableSchema, StreamedTable]:
    """Learn the columns of files; those with categories are read for it."""
    files, positions, rows = X.__hedgerow_files__()
    require_rows(*X.shape)
    names, n_features = X.columns, len(X.columns)
    chosen, by_dtype = chosen_columns(categorical_features, names, n_features)
    kinds = [files.kind(position) for position in positions]
    are_labels = [isinstance(kind, LabelColumn) or chosen[j] for j, kind in enumerate(kinds)]
    if any(are_labels) and not by_dtype:
        raise not_chosen_error(column_label(names, are_labels.index(True)))
    categories: dict[int, Categories] = {}
    found: dict[int, Suspicion | None] = {}
    selection = None if rows is None else RowsInOrder(rows)
    with_labels = np.flatnonzero(are_labels).tolist()
    for j in with_progress(
        with_labels, len(with_labels), verbose, unit="column", title="reading categories"
    ):
        where = column_label(names, j)
        kind = kinds[j]
        is_number = isinstance(kind, NumericColumn)
        as_labels = partial(labels_of_numbers, where=where) if is_number else None
        column = read_labels(files, positions[j], X.n_rows, selection, as_labels)
        is_flag = isinstance(kind, NumericColumn) and kind.values.dtype.kind == "b"
        categories[j] = Categories(
            "boolean" if is_flag else column.kind, tuple(sorted(column.labels))
        )
        if warns and not chosen[j]:
            found[j] = suspicion_of(column, categories[j].values)
    warn_of_suspicious_columns(found, names)
    schema = TableSchema(n_features, names, categories)
    sources = [
        (position, _by_learned(categories[j]) if j in categories else _finite(names, j))
        for j, position in enumerate(positions)
    ]
    return schema, StreamedTable(names, files, sources, rows, verbose)


def read_streamed(
    X: ParquetTable, schema: TableSchema, unknown: str, estimator_name: str, verbose: int
) -> StreamedTable:
    """Read files with the column order and category codes of a schema."""
    files, positions, rows = X.__hedgerow_files__()
    names = X.columns
    order = column_order(schema.feature_names, names, schema.n_features, len(names), estimator_name)
    sources: list[tuple[int, Convert]] = []
    for j, at in enumerate(order):
        where = column_label(names, at)
        learned = schema.categories.get(j)
        if learned is None:
            convert = _finite(names, at)
            if isinstance(kind := files.kind(positions[at]), LabelColumn) and kind.kind == "string":
                raise DataError(f"{where} contained numbers in fit, but now contains strings.")
        else:
            convert = partial(_matched, learned, unknown, where)
        sources.append((positions[at], convert))
    return StreamedTable(schema.feature_names, files, sources, rows, verbose)


def _by_learned(learned: Categories) -> Convert:
    """Return the conversion of labels, or of numbers as labels, all of which were learned."""

    def convert(block: NumericColumn | LabelColumn, _first: int) -> CategoricalColumn:
        labels = block if isinstance(block, LabelColumn) else labels_of_numbers(block, "X")
        return CategoricalColumn(learned.match(labels))

    return convert


def _matched(
    learned: Categories, unknown: str, where: str, block: NumericColumn | LabelColumn, first: int
) -> CategoricalColumn:
    return as_learned(block, learned, unknown, where, first)


def _finite(names: tuple[Any, ...], j: int) -> Convert:
    """Return the conversion of numbers, which refuses infinities."""
    where = column_label(names, j)

    def convert(block: NumericColumn | LabelColumn, first: int) -> NumericColumn:
        numbers = require_numbers(block, where)
        if numbers.values.dtype.kind == "f":
            infinite = np.isinf(numbers.values)
            if infinite.any():
                raise DataError(
                    f"{where} contains infinity (first in row {first + int(infinite.argmax())}). "
                    "Replace infinities with NaN, which means missing, or with a large finite "
                    "number."
                )
        return numbers

    return convert
