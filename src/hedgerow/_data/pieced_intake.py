"""`RowPieces` → `PiecedTable`: what `intake.py` does for tables in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow._collective import workers
from hedgerow._data.columns import CategoricalColumn, LabelColumn, NumericColumn, labels_of_numbers
from hedgerow._data.matching import not_chosen_error
from hedgerow._data.names import column_label
from hedgerow._data.pieced_table import PiecedTable, RowPieces
from hedgerow._data.shared_columns import common_columns, common_dtype, require_same_columns
from hedgerow._data.sources import Source, open_table, require_rows
from hedgerow._data.suspicious_columns import Suspicion, suspicion_of, warn_of_suspicious_columns
from hedgerow._data.table import Categories, TableSchema, chosen_columns, finite_table

T = TypeVar("T")


def learn_pieces(
    X: RowPieces, categorical_features: Any, *, warns: bool, n_jobs: int | None
) -> tuple[TableSchema, PiecedTable]:
    """Learn the columns of pieces; all of them get the same dtypes and categories."""
    require_rows(*X.shape)
    sources = [open_table(piece) for piece in X.take_out()]
    require_same_columns(sources, workers())
    names, n_features = sources[0].names, sources[0].n_features
    chosen, by_dtype = chosen_columns(categorical_features, names, n_features)
    matrices = [source.dense for source in sources if source.dense is not None]
    if not chosen.any() and not workers().any(len(matrices) < len(sources)):
        dense = common_dtype(matrices, workers())
        tables = [
            _released(X, finite_table(replace(source, dense=matrix), names, n_jobs=n_jobs))
            for source, matrix in zip(sources, dense, strict=True)
        ]
        return TableSchema(n_features, names, {}), PiecedTable(tables, X.release)
    own_columns = [_released(X, _read(source, chosen)) for source in sources]
    columns = common_columns(own_columns, names, workers())
    categories = {
        j: Categories(column.kind, tuple(sorted(set(column.labels))))
        for j, column in enumerate(columns[0])
        if isinstance(column, LabelColumn)
    }
    if categories and not by_dtype:
        raise not_chosen_error(column_label(names, min(categories)))
    if warns:
        undeclared = (j for j in categories if not chosen[j])
        found = {j: _suspicion(columns, j, categories[j]) for j in undeclared}
        warn_of_suspicious_columns(found, names)
    tables = [
        _released(X, finite_table(source, names, _as_learned(of_piece, categories), n_jobs=n_jobs))
        for source, of_piece in zip(sources, columns, strict=True)
    ]
    return TableSchema(n_features, names, categories), PiecedTable(tables, X.release)


def _released(X: RowPieces, result: T) -> T:
    """Return what was made from a piece; its memory is given back, if it can be read again."""
    X.release()
    return result


def _read(source: Source, chosen: NDArray[np.bool_]) -> list[NumericColumn | LabelColumn]:
    """Read the columns of a piece; chosen ones as labels."""
    columns = []
    for j in range(source.n_features):
        column = source.read(j)
        if chosen[j] and isinstance(column, NumericColumn):
            column = labels_of_numbers(column, column_label(source.names, j))
        columns.append(column)
    return columns


def _as_learned(
    columns: Sequence[NumericColumn | LabelColumn], categories: dict[int, Categories]
) -> list[NumericColumn | CategoricalColumn]:
    return [
        CategoricalColumn(categories[j].match(column))
        if isinstance(column, LabelColumn)
        else column
        for j, column in enumerate(columns)
    ]


def _suspicion(
    pieces: Sequence[Sequence[NumericColumn | LabelColumn]], j: int, learned: Categories
) -> Suspicion | None:
    """Return what the strings of a column probably are, if not categories."""
    of_pieces = [column for piece in pieces if isinstance(column := piece[j], LabelColumn)]
    codes = np.concatenate([learned.match(column) for column in of_pieces])
    is_declared = all(column.is_declared for column in of_pieces)
    whole = LabelColumn(codes, list(learned.values), learned.kind, is_declared)
    return suspicion_of(whole, learned.values)
