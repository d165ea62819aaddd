"""The columns of a table whose rows are divided among workers: one schema for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._collective import Workers
from hedgerow._data.columns import Label, LabelColumn, LabelKind, NumericColumn
from hedgerow._data.names import Names, column_label
from hedgerow._data.sources import Source
from hedgerow.exceptions import DataError


def require_same_columns(source: Source, together: Workers) -> None:
    """Refuse tables with other columns than those of worker 0."""
    tables = together.objects((source.n_features, source.names, source.sparse is not None))
    for rank, (n_features, names, is_sparse) in enumerate(tables):
        if is_sparse:
            raise DataError("X is sparse, but a fit on several workers needs dense columns.")
        if (n_features, names) != tables[0][:2]:
            raise DataError(
                f"The workers have different columns: {_columns(*tables[0][:2])} on worker 0, but "
                f"{_columns(n_features, names)} on worker {rank}."
            )


def _columns(n_features: int, names: Names | None) -> str:
    return f"{n_features} columns" if names is None else f"the columns {list(names)}"


def common_dtype(matrix: NDArray[Any], together: Workers) -> NDArray[Any]:
    """Convert a matrix to a dtype that holds the numbers of all workers."""
    return matrix.astype(np.result_type(*together.objects(matrix.dtype)), copy=False)


def common_columns(
    columns: Sequence[NumericColumn | LabelColumn], names: Names | None, together: Workers
) -> list[NumericColumn | LabelColumn]:
    """Give each column the dtype, or the labels, that it has in the whole table."""
    own = [_describe(column) for column in columns]
    of_workers = together.objects(own)
    return [
        _common(column, [descriptions[j] for descriptions in of_workers], column_label(names, j))
        for j, column in enumerate(columns)
    ]


# The dtype of a numeric column and whether it has any number; or the kind of labels, the labels,
# and whether the dtype is categorical.
_Numbers = tuple[np.dtype[Any], bool]
_Labels = tuple[LabelKind, list[Label], bool]


def _describe(column: NumericColumn | LabelColumn) -> _Numbers | _Labels:
    if isinstance(column, NumericColumn):
        return column.values.dtype, not column.is_missing().all()
    return column.kind, column.labels, column.is_declared


def _common(
    column: NumericColumn | LabelColumn, of_workers: Sequence[_Numbers | _Labels], where: str
) -> NumericColumn | LabelColumn:
    labels = [each for each in of_workers if len(each) == 3]
    if not labels:
        assert isinstance(column, NumericColumn)
        dtype = np.result_type(*(each[0] for each in of_workers))
        return replace(column, values=column.values.astype(dtype, copy=False))
    kinds = {kind for kind, some, _ in labels if some}
    has_numbers = any(len(each) == 2 and each[1] for each in of_workers)
    if has_numbers or len(kinds) > 1:
        found = sorted({*kinds, *(["number"] if has_numbers else [])})
        raise DataError(f"{where} holds {' and '.join(found)} values, each on some of the workers.")
    if isinstance(column, NumericColumn):  # without a value
        column = LabelColumn(np.full(len(column.values), -1, np.int32), [], labels[0][0])
    known = dict.fromkeys(column.labels)
    known.update(dict.fromkeys(label for _, some, _ in labels for label in some))
    is_declared = all(declared for _, _, declared in labels)
    kind = next(iter(kinds), column.kind)
    return LabelColumn(column.codes, list(known), kind, is_declared)
