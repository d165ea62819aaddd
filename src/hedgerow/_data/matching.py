"""Columns as read → columns as learned: codes of the fitted categories, or numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import (
    CategoricalColumn,
    LabelColumn,
    NumericColumn,
    labels_of_numbers,
)
from hedgerow._data.suspicious_columns import non_numeric_values
from hedgerow._data.table import Categories
from hedgerow.exceptions import DataError


def not_chosen_error(where: str) -> DataError:
    """Return the error for strings where no categorical column is allowed."""
    return DataError(
        f"{where} contains strings or categories, but categorical_features=None allows none. Use "
        "categorical_features='auto', or encode the column as numbers."
    )


def as_learned(
    column: NumericColumn | LabelColumn,
    learned: Categories,
    unknown: str,
    where: str,
    first_row: int = 0,
) -> CategoricalColumn:
    """Return a column of labels as codes of the fitted categories."""
    labels = column if isinstance(column, LabelColumn) else labels_of_numbers(column, where)
    are_strings = learned.kind == "string"
    if labels.labels and learned.values and are_strings != (labels.kind == "string"):
        then, now = ("strings", "numbers") if are_strings else ("numbers", "strings")
        raise DataError(f"{where} had {then} as its categories in fit, but has {now} now.")
    codes = learned.match(labels)
    if unknown == "error":
        _refuse_unknown(labels, codes == len(learned.values), where, first_row)
    return CategoricalColumn(codes)


def _refuse_unknown(
    column: LabelColumn, unknown: NDArray[np.bool_], where: str, first_row: int
) -> None:
    rows = np.flatnonzero(unknown)
    if rows.size:
        raise DataError(
            f"{where} contains the category {column.labels[column.codes[rows[0]]]!r} (first in row "
            f"{first_row + rows[0]}), which did not occur in fit. Set unknown_category='missing' "
            "to accept it."
        )


def require_numbers(column: NumericColumn | LabelColumn, where: str) -> NumericColumn:
    """Return a column as numbers; refuse strings."""
    if isinstance(column, NumericColumn):
        return column
    if not column.labels:
        return NumericColumn(np.full(len(column.codes), np.nan, np.float32))
    if column.kind != "string":
        return NumericColumn(np.array([*column.labels, np.nan], np.float64)[column.codes])
    raise DataError(
        f"{where} contained numbers in fit, but now contains strings: "
        f"{non_numeric_values(column)}. Convert it to numbers, with None or NaN for missing "
        "values; in pandas with pd.to_numeric(X[...], errors='coerce')."
    )
