"""Mixed tables for Gower's distance: every column as float64, a category as its code, a gap as NaN.

A number counts by its difference as a part of the column's range in training; a category, or a
number in a column that was constant in training, by being equal or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow._data.columns import CategoricalColumn
from hedgerow._data.intake import Table, TableSchema
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError


@dataclass(frozen=True)
class GowerColumns:
    """Of each column its weight in the mean, and 1 / range (0: values are equal or not)."""

    weights: Floats
    inverse_ranges: Floats

    @classmethod
    def learn(cls, rows: Floats, schema: TableSchema, params: Mapping[str, Any]) -> GowerColumns:
        """Find the ranges of the training rows."""
        present = ~np.isnan(rows)
        high = np.max(rows, axis=0, initial=-np.inf, where=present)
        low = np.min(rows, axis=0, initial=np.inf, where=present)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            inverse = 1.0 / (high - low)
        inverse[~np.isfinite(inverse) | (high <= low) | schema.is_categorical] = 0.0
        return cls(_weights(params.get("w"), schema.n_features), inverse)


def _weights(given: Any, n_features: int) -> Floats:
    if given is None:
        return np.ones(n_features)
    try:
        weights = np.array(given, np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"metric_params: w={given!r} is not a list of numbers.") from error
    if weights.shape != (n_features,):
        raise ParameterError(
            f"metric_params: w has shape {weights.shape}, but X has {n_features} columns."
        )
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any()):
        raise ParameterError("metric_params: w must be finite, not negative, and not all 0.")
    return weights


def mixed_matrix(table: Table) -> Floats:
    """Return a table as float64, with codes for categories and NaN for gaps."""
    matrix = np.empty((table.n_rows, table.n_features))
    for j in range(table.n_features):
        column = table.column(j)
        if isinstance(column, CategoricalColumn):
            matrix[:, j] = column.codes
            matrix[column.codes < 0, j] = np.nan
        else:
            matrix[:, j] = column.values
            matrix[column.is_missing(), j] = np.nan
    return matrix
