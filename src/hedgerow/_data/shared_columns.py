"""The columns of a table whose rows are divided among workers: one schema for all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._collective import Workers
from hedgerow._data.columns import Label, LabelColumn, LabelKind, NumericColumn
from hedgerow._data.names import Names, column_label, name_from_json, name_to_json
from hedgerow._data.sources import Source
from hedgerow.exceptions import DataError


def require_same_columns(sources: Sequence[Source], together: Workers) -> None:
    """Refuse tables with other columns than the first of worker 0; each worker may have several."""
    of_workers = together.objects(
        [(source.n_features, _to_json(source), source.sparse is not None) for source in sources]
    )
    first_n_features, first_names, _ = of_workers[0][0]
    for rank, tables in enumerate(of_workers):
        for n_features, names, is_sparse in tables:
            if is_sparse:
                raise DataError("X is sparse, but a fit on several workers needs dense columns.")
            if (n_features, names) != (first_n_features, first_names):
                raise DataError(
                    "The workers have different columns: "
                    f"{_columns(first_n_features, first_names)} on worker 0, but "
                    f"{_columns(n_features, names)} on worker {rank}."
                )


def _to_json(source: Source) -> str | None:
    names = source.names
    return None if names is None else json.dumps([name_to_json(name) for name in names])


def _columns(n_features: int, names: str | None) -> str:
    if names is None:
        return f"{n_features} columns"
    return f"the columns {[name_from_json(name) for name in json.loads(names)]}"


def common_dtype(matrices: Sequence[NDArray[Any]], together: Workers) -> list[NDArray[Any]]:
    """Convert matrices to a dtype that holds the numbers of all workers."""
    own = np.result_type(*(matrix.dtype for matrix in matrices))
    dtype = np.result_type(*together.objects(own))
    return [matrix.astype(dtype, copy=False) for matrix in matrices]


def common_columns(
    tables: Sequence[Sequence[NumericColumn | LabelColumn]], names: Names | None, together: Workers
) -> list[list[NumericColumn | LabelColumn]]:
    """Give the columns of each table the dtype, or the labels, that they have in all tables."""
    own = [[_describe(column) for column in columns] for columns in tables]
    every = [table for of_worker in together.objects(own) for table in of_worker]
    by_column = list(zip(*every, strict=True))
    return [
        [_common(column, by_column[j], column_label(names, j)) for j, column in enumerate(columns)]
        for columns in tables
    ]


# The dtype of a numeric column and whether it has any number; or the kind of labels, the labels,
# and whether the dtype is categorical.
_Numbers = tuple[np.dtype[Any], bool]
_Labels = tuple[LabelKind, list[Label], bool]


def _describe(column: NumericColumn | LabelColumn) -> _Numbers | _Labels:
    if isinstance(column, NumericColumn):
        return column.values.dtype, _has_numbers(column)
    return column.kind, column.labels, column.is_declared


def _has_numbers(column: NumericColumn) -> bool:
    """Return whether not all values are missing, which the first few tell most of the time."""
    few = slice(1000)
    return not column.take(few).is_missing().all() or not column.is_missing().all()


def _common(
    column: NumericColumn | LabelColumn, of_tables: Sequence[_Numbers | _Labels], where: str
) -> NumericColumn | LabelColumn:
    labels = [each for each in of_tables if len(each) == 3]
    if not labels:
        assert isinstance(column, NumericColumn)
        dtype = np.result_type(*(each[0] for each in of_tables))
        return replace(column, values=column.values.astype(dtype, copy=False))
    kinds = {kind for kind, some, _ in labels if some}
    has_numbers = any(len(each) == 2 and each[1] for each in of_tables)
    if has_numbers or len(kinds) > 1:
        found = sorted({*kinds, *(["number"] if has_numbers else [])})
        raise DataError(f"{where} contains {' and '.join(found)} values on different workers.")
    if isinstance(column, NumericColumn):  # without a value
        column = LabelColumn(np.full(len(column.values), -1, np.int32), [], labels[0][0])
    known = dict.fromkeys(column.labels)
    known.update(dict.fromkeys(label for _, some, _ in labels for label in some))
    is_declared = all(declared for _, _, declared in labels)
    kind = next(iter(kinds), column.kind)
    return LabelColumn(column.codes, list(known), kind, is_declared)
