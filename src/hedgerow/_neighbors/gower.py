"""Mixed tables for Gower's distance: float64 columns, categories as codes, missing values as NaN.

A numeric column contributes |difference| / range, with the range of the training set; a categorical
column, or one that was constant in training, contributes 0 if the values are equal, else 1.
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
    """The weight of each column, and 1 / range (0 if values are only compared for equality)."""

    weights: Floats
    inverse_ranges: Floats

    @classmethod
    def learn(cls, rows: Floats, schema: TableSchema, params: Mapping[str, Any]) -> GowerColumns:
        """Compute the ranges of the training set."""
        present = ~np.isnan(rows)
        high = np.max(rows, axis=0, initial=-np.inf, where=present)
        low = np.min(rows, axis=0, initial=np.inf, where=present)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            inverse = 1.0 / (high - low)
        inverse[~np.isfinite(inverse) | (high <= low) | schema.is_categorical] = 0.0
        return cls(_weights(params.get("w"), schema.n_features), inverse)


def _weights(weights_param: Any, n_features: int) -> Floats:
    if weights_param is None:
        return np.ones(n_features)
    try:
        weights = np.array(weights_param, np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"metric_params: w={weights_param!r} is not a list of numbers."
        ) from error
    if weights.shape != (n_features,):
        raise ParameterError(
            f"metric_params: w has shape {weights.shape}, but X has {n_features} columns."
        )
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any()):
        raise ParameterError("metric_params: w must be finite, not negative, and not all 0.")
    return weights


def mixed_matrix(table: Table) -> Floats:
    """Return a table as float64, with codes for categories and NaN for missing values."""
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
