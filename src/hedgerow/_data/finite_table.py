"""Columns, or a matrix as it was passed → `Table`, after a check for infinities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import (
    CategoricalColumn,
    NumericColumn,
    refuse_infinite,
    refuse_infinite_column,
)
from hedgerow._data.names import Names, column_label
from hedgerow._data.sources import Source
from hedgerow._data.table import Table


def finite_table(
    source: Source,
    names: Names | None,
    columns: list[NumericColumn | CategoricalColumn] | None = None,
) -> Table:
    """Create a table from columns, or from a source that is a matrix, and refuse infinities."""
    if columns is None:
        table = Table(names, dense=source.dense, sparse_csc=source.sparse)
    else:
        table = Table(names, dense=_one_matrix(columns), columns=columns)
    if source.dense is not None:
        refuse_infinite(source.dense, lambda j: column_label(source.names, j))
    elif table.dense is not None:
        refuse_infinite(table.dense, lambda j: column_label(names, j))
    elif table.sparse_csc is None or np.isinf(table.sparse_csc.data).any():
        _refuse_infinite_columns(table)
    return table


def _refuse_infinite_columns(table: Table) -> None:
    for j in range(table.n_features):
        column, where = table.column(j), column_label(table.names, j)
        if isinstance(column, NumericColumn):
            refuse_infinite_column(column, where)


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
