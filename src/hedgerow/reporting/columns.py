"""The table of a report, column by column, as a person reads it: values, gaps, kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.columns import LabelColumn, NumericColumn
from hedgerow.data.names import labels_of
from hedgerow.data.sources import open_table
from hedgerow.estimator import fitted_names

MOST_LABELS = 4  # of a column, that its summary lists


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the table.

    Attributes
    ----------
    name : str
    values : array (n_rows,)
        Floats, with NaN for gaps; or labels as text, with None for gaps.
    kind : str
        What it holds, in a word.
    is_category : bool
    is_float32 : bool
        Whether numbers are rounded to float32 before the model sees them.
    """

    name: str
    values: NDArray[Any]
    kind: str
    is_category: bool
    is_float32: bool = False

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Mark the gaps."""
        if self.is_category:
            return np.array([value is None for value in self.values], bool)
        return np.isnan(self.values)


def read_columns(model: Any, X: Any) -> list[Column]:
    """Read a table in the model's order of columns; the model has predicted it before."""
    features = getattr(model, "_features", None)  # a ranker's table may have a column of queries
    source = open_table(X if features is None else features(X))
    learned = fitted_names(model)
    order = list(range(source.n_features))
    names = labels_of(source.names, source.n_features)
    if learned is not None and len(learned) == source.n_features:
        if source.names is not None and set(source.names) == set(learned):
            order = [source.names.index(name) for name in learned]
        names = labels_of(learned, source.n_features)
    return [_column(name, source.read(j)) for name, j in zip(names, order, strict=True)]


def _column(name: str, found: NumericColumn | LabelColumn) -> Column:
    if isinstance(found, LabelColumn):
        labels = np.array([*map(str, found.labels), None], dtype=object)
        return Column(name, labels[found.codes], "categories", True)
    dtype, values = found.values.dtype, found.values.astype(np.float64)
    if found.missing is not None:
        values[found.missing] = np.nan
    kind = {"b": "true or false", "f": "numbers"}.get(dtype.kind, "whole numbers")
    return Column(name, values, kind, False, is_float32=dtype == np.float32)


def data_summary(columns: list[Column], n_rows: int) -> dict[str, Any]:
    """Return what a table holds."""
    kinds = [column.kind for column in columns]
    return {
        "n_rows": n_rows,
        "n_columns": len(columns),
        "kinds": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "columns": [_summary(column) for column in columns],
    }


def _summary(column: Column) -> dict[str, Any]:
    missing = column.missing
    summary = {"name": column.name, "kind": column.kind, "missing": float(missing.mean())}
    known = column.values[~missing]
    if column.is_category:
        labels, counts = np.unique(known.astype(str), return_counts=True)
        order = np.argsort(-counts, kind="stable")[:MOST_LABELS]
        return summary | {
            "n_labels": len(labels),
            "labels": [
                {"label": str(labels[i]), "share": float(counts[i] / len(column.values))}
                for i in order
            ],
        }
    if len(known) == 0:
        return summary
    low, middle, high = np.quantile(known, [0.0, 0.5, 1.0]).tolist()
    return summary | {"min": low, "median": middle, "max": high}
