"""A table's values as they are shown beside explanations: one array, numbers or labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import LabelColumn, NumericColumn
from hedgerow._data.names import Labels
from hedgerow._data.sources import open_table


def table_values(X: Any, feature_names: Labels) -> NDArray[Any]:
    """Return a table that a model has read before, (n_rows, n_columns), in its order of columns.

    The array is of floats, with NaN for missing values. If a column has labels it is of objects,
    and a missing label is None.
    """
    source = open_table(X)
    order = list(range(source.n_features))
    known: Sequence[Any] = feature_names.names or order
    if source.names is not None and set(source.names) == set(known):
        place = {name: j for j, name in enumerate(source.names)}
        order = [place[name] for name in known]
    if source.dense is not None:
        return source.dense[:, order].astype(np.float64, copy=False)  # which is a copy by now
    columns = [_values(source.read(j)) for j in order]
    dtype = object if any(values.dtype == object for values in columns) else np.float64
    table = np.empty((source.n_rows, len(columns)), dtype)
    for j, values in enumerate(columns):
        table[:, j] = values
    return table


def _values(column: NumericColumn | LabelColumn) -> NDArray[Any]:
    if isinstance(column, LabelColumn):
        return np.array([*column.labels, None], dtype=object)[column.codes]
    values = column.values.astype(np.float64)
    if column.missing is not None:
        values[column.missing] = np.nan
    return values
