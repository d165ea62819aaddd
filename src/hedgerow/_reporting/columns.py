"""The table of a report, column by column: values, missing values, kinds; and its row ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting import GradientBoostingRanker
from hedgerow._data.columns import LabelColumn, NumericColumn, is_missing
from hedgerow._data.names import fitted_names, labels_of
from hedgerow._data.sources import Source, as_frame, open_table
from hedgerow._estimator import Estimator
from hedgerow.exceptions import DataError

OTHER = "other"  # the kind of columns that only models of other libraries take


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the table: floats with NaN for missing, or labels as text with None."""

    name: str
    values: NDArray[Any]
    kind: str  # "numeric", "integer", "boolean", "categorical" or OTHER
    is_category: bool
    is_float32: bool = False  # whether numbers are rounded before the model sees them
    place: int = 0  # in the table, whose columns may have another order than the model's

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Mark the missing values."""
        if self.is_category:
            return np.array([value is None for value in self.values], bool)
        return np.isnan(self.values)


def read_columns(model: Any, X: Any) -> list[Column]:
    """Read a table in the model's order of columns."""
    if isinstance(model, GradientBoostingRanker):
        X = model._features(X)  # noqa: SLF001  without the column of queries
    source = open_table(X)
    learned = fitted_names(model)
    order = list(range(source.n_features))
    names = labels_of(source.names, source.n_features)
    if learned is not None and len(learned) == source.n_features:
        if source.names is not None and set(source.names) == set(learned):
            order = [source.names.index(name) for name in learned]
        names = labels_of(learned, source.n_features)
    return [
        _column(name, source.read(j), j)
        if isinstance(model, Estimator)
        else _any_column(name, source, X, j)
        for name, j in zip(names, order, strict=True)
    ]


def _any_column(name: str, source: Source, X: Any, place: int) -> Column:
    """Read a column, or only show it if it has other values than numbers or strings.

    A pipeline may drop such columns or make numbers of them, such as those of dates.
    """
    try:
        return _column(name, source.read(place), place)
    except DataError:
        frame = as_frame(X)
        values = np.asarray(X)[:, place].tolist() if frame is None else frame[:, place].to_list()
        texts = [None if is_missing(value) else str(value) for value in values]
        return Column(name, np.array(texts, object), OTHER, True, place=place)


def _column(name: str, column: NumericColumn | LabelColumn, place: int) -> Column:
    if isinstance(column, LabelColumn):
        labels = np.array([*map(str, column.labels), None], dtype=object)
        return Column(name, labels[column.codes], "categorical", True, place=place)
    dtype = column.values.dtype
    kind = {"b": "boolean", "f": "numeric"}.get(dtype.kind, "integer")
    return Column(name, column.floats(), kind, False, dtype == np.float32, place)


@dataclass(frozen=True, eq=False)
class RowIds:
    """The names of the rows of a table: the index of a data frame and the name of that index.

    Labels are None if the index only numbers the rows.
    """

    labels: list[str] | None = None
    name: str = "row"

    def of(self, row: int) -> str:
        """Return the label of a row, counted from 0."""
        return str(row) if self.labels is None else self.labels[row]


def read_row_ids(X: Any) -> RowIds:
    """Return the index of a pandas data frame, unless it only numbers the rows."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or not hasattr(X, "iloc"):
        return RowIds()
    labels = [str(label) for label in index]
    if labels == [str(row) for row in range(len(labels))]:
        return RowIds()
    names = [str(name) for name in index.names if name is not None]
    return RowIds(labels, ", ".join(names) or "row")
