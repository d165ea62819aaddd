"""A table as a matrix of numbers, for models that need distances or products of rows.

- A numeric feature is centred at its median and divided by its interquartile range, and large
  values are compressed: z / √(1 + (z/3)²) stays between −3 and 3. A missing value is the median,
  and if there are any, another column marks them.
- A categorical feature has a 0/1 column for each of its most frequent categories. Other
  categories, unknown ones and missing values are 0 in all of them.

Medians and quartiles are values of the table, so nothing depends on the order of sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.columns import CategoricalColumn, NumericColumn
from hedgerow._data.intake import Table, TableSchema
from hedgerow._types import Floats

MOST_CATEGORIES = 50
LARGEST = 3.0  # where compressed values approach their limit, in interquartile ranges / 1.349
_NORMAL_QUARTILES = 1.3489795003921634  # the interquartile range of a standard normal variable


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """What is learned from a table.

    Attributes
    ----------
    centre, scale : float64 arrays of shape (n_features,)
        Of numeric features; 0 for categorical ones. The scale of a constant is 0.
    has_missing : bool array of shape (n_features,)
        The numeric features with a column that marks missing values.
    category_starts, category_codes : int64 arrays
        The codes of the categories that have a column, for each feature, and where they begin.
    """

    centre: Floats
    scale: Floats
    has_missing: NDArray[np.bool_]
    category_starts: NDArray[np.int64]
    category_codes: NDArray[np.int64]

    @classmethod
    def learn(cls, schema: TableSchema, table: Table) -> TableEncoder:
        """Learn from the table of a fit."""
        n_features = table.n_features
        centre, scale = np.zeros(n_features), np.zeros(n_features)
        has_missing = np.zeros(n_features, bool)
        codes: list[NDArray[np.int64]] = []
        for j in range(n_features):
            column = table.column(j)
            if isinstance(column, CategoricalColumn):
                codes.append(_frequent(column, len(schema.categories[j].values)))
                continue
            codes.append(np.zeros(0, np.int64))
            numbers = column.floats()
            is_missing = np.isnan(numbers)
            has_missing[j] = is_missing.any()
            centre[j], scale[j] = _centre_and_scale(numbers[~is_missing])
        starts = np.cumsum([0, *map(len, codes)]).astype(np.int64)
        return cls(centre, scale, has_missing, starts, np.concatenate(codes))

    @property
    def n_features(self) -> int:
        """Number of features of the table."""
        return len(self.centre)

    @property
    def width(self) -> int:
        """Number of columns of the matrix, at least 1."""
        n_categorical = int((np.diff(self.category_starts) > 0).sum())
        n_columns = self.n_features - n_categorical + int(self.has_missing.sum())
        return max(n_columns + len(self.category_codes), 1)

    @staticmethod
    def width_of(schema: TableSchema) -> int:
        """Return the largest number of columns that the matrix of such a table can have."""
        sizes = (min(len(of.values), MOST_CATEGORIES) for of in schema.categories.values())
        return 2 * (schema.n_features - len(schema.categories)) + sum(sizes)

    def encode(self, table: Table) -> Floats:
        """Return the matrix of a table, (n_rows, n_columns)."""
        columns: list[NDArray[Any]] = []
        for j in range(self.n_features):
            column = table.column(j)
            if isinstance(column, NumericColumn):
                columns += self._number_columns(j, column.floats())
            else:
                own = self.category_codes[self.category_starts[j] : self.category_starts[j + 1]]
                columns += [column.codes == code for code in own.tolist()]
        matrix = np.zeros((table.n_rows, max(len(columns), 1)))
        for k, values in enumerate(columns):
            matrix[:, k] = values
        return matrix

    def _number_columns(self, j: int, numbers: Floats) -> list[NDArray[Any]]:
        is_missing = np.isnan(numbers)
        if self.scale[j] > 0.0:
            with np.errstate(over="ignore"):
                z = np.clip((numbers - self.centre[j]) / self.scale[j], -1e6, 1e6)
            z /= np.sqrt(1.0 + (z / LARGEST) ** 2)
        else:
            z = np.zeros(len(numbers))
        z[is_missing] = 0.0
        return [z, is_missing] if self.has_missing[j] else [z]


def _centre_and_scale(numbers: Floats) -> tuple[float, float]:
    """Return the median, and the scale of a normal variable with these quartiles."""
    if len(numbers) == 0:
        return 0.0, 0.0
    numbers = np.sort(numbers)
    n = len(numbers)
    low, middle, high = (float(numbers[(n - 1) * k // 4]) for k in (1, 2, 3))
    spread = high / _NORMAL_QUARTILES - low / _NORMAL_QUARTILES
    if spread <= 0.0:  # at least half of the rows have one value
        spread = float(numbers[-1]) / 2.0 - float(numbers[0]) / 2.0
    return middle, spread


def _frequent(column: CategoricalColumn, n_categories: int) -> NDArray[np.int64]:
    """Return the codes of the most frequent categories; of equally frequent ones, the first."""
    codes = column.codes[(column.codes >= 0) & (column.codes < n_categories)]
    counts = np.bincount(codes, minlength=n_categories)
    order = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    return np.sort(order).astype(np.int64)
