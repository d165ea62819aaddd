"""Associations of columns with each other and with the target.

Two numeric columns are compared by Spearman's rank correlation, a numeric and a categorical one by
the correlation ratio of the ranks, two categorical ones by Cramér's V. The last two are corrected
for the number of categories, without which many categories would look like an association.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from hedgerow._curves import some_rows
from hedgerow._reporting.columns import Column
from hedgerow._reporting.outcomes import ClassOutcome, NumberOutcome, Outcome, QuantileOutcome
from hedgerow._types import Floats, Indices

MOST_ROWS = 5000  # sampled to compare columns
MOST_COLUMNS = 60  # whose pairs are compared
MOST_PAIRS = 10  # that are listed
MOST_LABELS = 100  # of a column that is compared with others
FEWEST_ROWS = 20
WEAK = 0.3  # pairs below are not listed
CELLS = 50  # of a numeric column, to see whether it alone predicts the target
LEAK = 0.97  # of the predictable part

RANK, RATIO, CRAMER = "Spearman's ρ", "correlation ratio η", "Cramér's V"


@dataclass(frozen=True, eq=False)
class _Series:
    """A column prepared for comparison: ranks with NaN if missing, or codes of labels with −1."""

    name: str
    values: NDArray[Any]
    n_labels: int = 0  # of codes


def associations(
    columns: Sequence[Column], outcome: Outcome, order: Sequence[int]
) -> dict[str, Any]:
    """Return the strongest pairs of columns, and the association of each column with the target.

    `order` are the columns, the most important first; only pairs of the first ones are compared.
    """
    if outcome.n_rows < FEWEST_ROWS:
        return {"absent": f"at least {FEWEST_ROWS} rows are needed."}
    rows = some_rows(outcome.n_rows, MOST_ROWS)
    series_of = {j: _series(columns[j], rows) for j in order[:MOST_COLUMNS]}
    usable = [series for series in series_of.values() if series is not None]
    pairs = [_pair(a, b) for i, a in enumerate(usable) for b in usable[i + 1 :]]
    strong = sorted(
        (pair for pair in pairs if abs(pair["value"]) >= WEAK), key=lambda p: -abs(p["value"])
    )
    return {
        "n_rows": len(rows),
        "n_columns": len(series_of),
        "pairs": strong[:MOST_PAIRS],
        "n_strong": len(strong),
        "weak": WEAK,
        "target": _with_target(columns, series_of, outcome, rows),
    }


def _series(column: Column, rows: Indices) -> _Series | None:
    """Return a column to compare; None if it is constant or has too many categories."""
    values = column.values[rows]
    if column.is_category:
        return _labels(column.name, values)
    return _numbers(column.name, values)


def _numbers(name: str, values: Floats) -> _Series | None:
    present = ~np.isnan(values)
    if len(np.unique(values[present])) < 2:
        return None
    ranks = np.full(len(values), np.nan)
    ranks[present] = rankdata(values[present]) / present.sum()
    return _Series(name, ranks)


def _labels(name: str, values: NDArray[Any]) -> _Series | None:
    present = np.array([value is not None for value in values], bool)
    labels, places = np.unique(values[present].astype(str), return_inverse=True)
    if not 2 <= len(labels) <= MOST_LABELS:
        return None
    codes = np.full(len(values), -1, np.intp)
    codes[present] = places
    return _Series(name, codes, len(labels))


def _pair(a: _Series, b: _Series) -> dict[str, Any]:
    measure, value = _compared(a, b)
    return {"first": a.name, "second": b.name, "measure": measure, "value": value}


def _compared(a: _Series, b: _Series) -> tuple[str, float]:
    if not a.n_labels and not b.n_labels:
        return RANK, _correlation(a.values, b.values)
    if a.n_labels and b.n_labels:
        return CRAMER, _cramer(a, b)
    labelled, ranked = (a, b) if a.n_labels else (b, a)
    return RATIO, _ratio(labelled.values, labelled.n_labels, ranked.values)


def _correlation(a: Floats, b: Floats) -> float:
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = a[both], b[both]
    if len(a) < FEWEST_ROWS:
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float((a @ b) / size) if size > 0.0 else 0.0


def _ratio(codes: Indices, n_labels: int, ranks: Floats) -> float:
    """Return η: the root of the share of the ranks' variance that lies between categories."""
    both = (codes >= 0) & ~np.isnan(ranks)
    codes, ranks = codes[both], ranks[both]
    counts = np.bincount(codes, minlength=n_labels)
    n, k = len(ranks), int((counts > 0).sum())
    total = float(((ranks - ranks.mean()) ** 2).sum()) if n else 0.0
    if n < FEWEST_ROWS or n <= k or total <= 0.0:
        return 0.0
    cell_means = np.bincount(codes, ranks, minlength=n_labels) / np.maximum(counts, 1)
    within = float(((ranks - cell_means[codes]) ** 2).sum())
    return float(np.sqrt(max(0.0, 1.0 - within / total * (n - 1) / (n - k))))


def _cramer(a: _Series, b: _Series) -> float:
    """Return Cramér's V, corrected for its bias (Bergsma, 2013)."""
    both = (a.values >= 0) & (b.values >= 0)
    n = int(both.sum())
    if n < FEWEST_ROWS:
        return 0.0
    cells = np.bincount(
        a.values[both] * b.n_labels + b.values[both], minlength=a.n_labels * b.n_labels
    )
    table = cells.reshape(a.n_labels, b.n_labels).astype(np.float64)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    r, k = table.shape
    phi = float(((table - expected) ** 2 / expected).sum()) / n
    phi = max(0.0, phi - (r - 1) * (k - 1) / (n - 1))
    least = min(size - (size - 1) ** 2 / (n - 1) for size in (r, k)) - 1.0
    return float(np.sqrt(min(1.0, phi / least))) if least > 0.0 else 0.0


def _with_target(
    columns: Sequence[Column],
    series_of: dict[int, _Series | None],
    outcome: Outcome,
    rows: Indices,
) -> list[dict[str, Any]]:
    """Return the association of each column with the target, the strongest first."""
    target = _target(outcome, rows)
    if target is None:
        return []
    with_target = []
    for j, series in series_of.items():
        if series is None:
            continue
        measure, value = _compared(series, target)
        alone = _alone(columns[j].values[rows], series, outcome, rows)
        is_leak = alone >= LEAK or (measure == RANK and abs(value) >= 0.99)
        one = {"name": series.name, "measure": measure, "value": value}
        with_target.append(one | {"alone": alone, "is_leak": bool(is_leak)})
    return sorted(with_target, key=lambda one: (-one["is_leak"], -abs(one["value"])))


def _target(outcome: Outcome, rows: Indices) -> _Series | None:
    if isinstance(outcome, ClassOutcome):
        if not 2 <= len(outcome.classes) <= MOST_LABELS:
            return None
        return _Series("", outcome.index[rows], len(outcome.classes))
    if isinstance(outcome, NumberOutcome | QuantileOutcome):
        return _numbers("", outcome.y[rows])
    return None


def _alone(values: NDArray[Any], series: _Series, outcome: Outcome, rows: Indices) -> float:
    """Return how well a column alone predicts the target: from 0 to 1.

    The column is divided into cells. The most frequent class, or the mean, of a cell in one half of
    the rows is the prediction for the other half, so that many categories are no advantage.
    """
    cells = series.values + 1 if series.n_labels else _cells(values)
    halves = np.arange(len(cells)) % 2 == 0
    if isinstance(outcome, ClassOutcome):
        return _errors_saved(cells, outcome.index[rows], len(outcome.classes), halves)
    assert isinstance(outcome, NumberOutcome | QuantileOutcome)
    return _variance_explained(cells, outcome.y[rows], halves)


def _cells(values: Floats) -> Indices:
    """Return the cell of each number, with about equally many rows; missing values are cell 0."""
    present = ~np.isnan(values)
    edges = np.unique(np.quantile(values[present], np.arange(1, CELLS) / CELLS, method="lower"))
    cells = np.searchsorted(edges, values, side="left") + 1
    return np.where(present, cells, 0).astype(np.intp)


def _errors_saved(cells: Indices, index: Indices, n_classes: int, half: NDArray[np.bool_]) -> float:
    """Return the share of the errors of the majority class that the cells avoid."""
    always = len(index) - int(np.bincount(index).max())
    if always == 0:
        return 0.0
    wrong = 0
    for learn in (half, ~half):
        joint = cells[learn] * n_classes + index[learn]
        table = np.bincount(joint, minlength=(cells.max() + 1) * n_classes).reshape(-1, n_classes)
        table = np.where(
            table.any(axis=1, keepdims=True), table, np.bincount(index[learn], minlength=n_classes)
        )
        wrong += int((table.argmax(axis=1)[cells[~learn]] != index[~learn]).sum())
    return 1.0 - wrong / always


def _variance_explained(cells: Indices, y: Floats, half: NDArray[np.bool_]) -> float:
    """Return R² of predicting the mean of each cell."""
    total = float(((y - y.mean()) ** 2).sum())
    unexplained = 0.0
    for learn in (half, ~half):
        counts = np.bincount(cells[learn], minlength=cells.max() + 1)
        sums = np.bincount(cells[learn], y[learn], minlength=cells.max() + 1)
        cell_means = np.where(counts > 0, sums / np.maximum(counts, 1), y[learn].mean())
        unexplained += float(((y[~learn] - cell_means[cells[~learn]]) ** 2).sum())
    return 1.0 - unexplained / total if total > 0.0 and np.isfinite(unexplained) else 0.0
