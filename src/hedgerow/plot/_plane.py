"""A table of two columns as points of a plane, and a grid over them in a table of the same kind.

An estimator that was fitted to named columns wants a grid with the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse

from hedgerow._data.intake import as_matrix, learn_schema
from hedgerow._data.names import column_label, labels_of
from hedgerow._types import Floats
from hedgerow.exceptions import DataError

# How far a picture goes beyond the rows: this part of what they span, or 1 if that is nothing.
PART_OF_SPAN = 0.1


@dataclass(frozen=True, eq=False)
class Plane:
    """The rows of a table of two columns; NaN where a value is missing."""

    table: Any  # as it was given
    points: Floats  # (n_rows, 2)
    names: tuple[str, str] | None

    def grid(self, resolution: int, eps: float | None) -> tuple[Floats, Floats]:
        """Return the coordinates of a grid that goes beyond the rows by eps on each side."""
        low, high = np.nanmin(self.points, axis=0), np.nanmax(self.points, axis=0)
        span = high - low
        beyond = np.where(span > 0.0, PART_OF_SPAN * span, 1.0) if eps is None else eps
        xs, ys = np.linspace(low - beyond, high + beyond, resolution).T
        xx0, xx1 = np.meshgrid(xs, ys)
        return xx0, xx1

    @property
    def labels(self) -> tuple[str, str]:
        """What to write at the axes."""
        if self.names is None:
            return "$x_1$", "$x_2$"
        return plain(self.names[0]), plain(self.names[1])

    def like_the_table(self, points: Floats) -> Any:
        """Return points as a table of the kind that was given, with its names."""
        if scipy.sparse.issparse(self.table):
            return scipy.sparse.csr_array(points)
        if nw.dependencies.is_pandas_dataframe(self.table):
            return type(self.table)(points, columns=self.table.columns)
        frame = nw.from_native(self.table, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            columns = dict(zip(frame.columns, points.T, strict=True))
            return nw.from_dict(columns, backend=frame.implementation).to_native()
        return points


def plain(name: str) -> str:
    """Return a name for matplotlib, which would take what is between two $ for a formula."""
    return name.replace("$", r"\$")


def read_plane(X: Any) -> Plane:
    """Read a table of two columns of numbers; missing values are allowed, infinities are not."""
    schema, table = learn_schema(X)
    if schema.n_features != 2:
        raise DataError(
            f"X has {schema.n_features} columns, but a plane has two. Fit the estimator to two "
            "columns, and give those."
        )
    if schema.categories:
        j = next(iter(schema.categories))
        raise DataError(
            f"{column_label(schema.feature_names, j)} holds strings or categories, but "
            "axes need numbers. Give two columns of numbers."
        )
    points = as_matrix(table).astype(np.float64)
    empty = np.isnan(points).all(axis=0)
    if empty.any():
        raise DataError(f"X, column {int(empty.argmax())} has no values at all.")
    first, second = labels_of(schema.feature_names, 2)
    return Plane(X, points, None if schema.has_no_names else (first, second))
