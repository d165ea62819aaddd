"""Data frames with columns of strings: generated ones, and the form in which a library takes them.

Hedgerow and CatBoost read strings. LightGBM and XGBoost take pandas categories, so that their
adapters convert first; where that is part of the intake, it is part of their time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.generated import (
    SIGNAL_COLUMNS,
    Labels,
    as_logit,
    binary_signal,
    correlated_columns,
    two_classes,
)
from benchmarks.results import HEDGEROW

CATEGORIES = 50
FEWEST_STRINGS, MOST_STRINGS = 2, 500


def category_table(rows: int, columns: int, seed: int) -> tuple[Any, Labels]:
    """Two classes; columns of pandas categories, some more frequent than others."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    names = category_names(CATEGORIES)
    frame, score = {}, np.zeros(rows, dtype=np.float32)
    before = np.zeros(rows, dtype=np.float32)
    for j in range(columns):
        codes = draw_codes(rng, rows, CATEGORIES)
        effect = rng.normal(size=CATEGORIES).astype(np.float32)[codes]
        score += effect + effect * before
        before = effect
        frame[f"word {j}"] = pd.Categorical.from_codes(codes, names)
    return pd.DataFrame(frame), two_classes(rng, as_logit(score))


def mixed_table(rows: int, columns: int, seed: int) -> tuple[Any, Labels]:
    """Two classes; ten columns of numbers, and columns of two strings up to 500."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    numbers = correlated_columns(rng, rows, SIGNAL_COLUMNS)
    score = binary_signal(rng, numbers)
    frame: dict[str, NDArray[Any]] = {
        f"number {j}": column.astype(np.float64) for j, column in enumerate(numbers.T)
    }
    widths = np.geomspace(FEWEST_STRINGS, MOST_STRINGS, columns - SIGNAL_COLUMNS)
    for j, width in enumerate(widths.round().astype(int)):
        codes = draw_codes(rng, rows, width)
        score += rng.normal(size=width).astype(np.float32)[codes]
        frame[f"string {j}"] = category_names(width)[codes]
    return pd.DataFrame(frame), two_classes(rng, as_logit(score))


def draw_codes(rng: np.random.Generator, rows: int, n_categories: int) -> NDArray[np.intp]:
    """A category for each row; a few are frequent and many are rare."""
    frequency = rng.lognormal(size=n_categories)
    return rng.choice(n_categories, rows, p=frequency / frequency.sum())


def category_names(n_categories: int) -> NDArray[Any]:
    """Strings that stand for categories."""
    return np.array([f"category {k}" for k in range(n_categories)], dtype=object)


def is_frame(table: Any) -> bool:
    return hasattr(table, "columns")


def text_columns(table: Any) -> list[str]:
    """Names of the columns that hold no numbers; an array has none."""
    if not is_frame(table):
        return []
    return list(table.columns.difference(table.select_dtypes("number").columns, sort=False))


class CategoryEncoder:
    """Strings as pandas categories, those of the training rows; all else passes as it is."""

    def __init__(self) -> None:
        self._dtypes: dict[str, Any] = {}

    def fit_transform(self, table: Any) -> Any:
        text = text_columns(table)
        strings = [name for name in text if table[name].dtype != "category"]
        if not strings:
            return table
        encoded = table.astype(dict.fromkeys(strings, "category"))
        self._dtypes = {name: encoded[name].dtype for name in strings}
        return encoded

    def transform(self, table: Any) -> Any:
        return table.astype(self._dtypes) if self._dtypes else table


def prepared(library: str, table: Any) -> Any:
    """The table in the form in which a library's estimator accepts categories."""
    text = text_columns(table)
    if library == HEDGEROW or not text:
        return table
    if library == "catboost":  # takes strings, but no missing ones
        return table.assign(**{name: table[name].fillna("missing").astype(object) for name in text})
    return table.astype(dict.fromkeys(text, "category"))
