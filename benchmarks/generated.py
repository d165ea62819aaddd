"""Generated tables that behave like real ones, and are the same every time for a seed.

Columns are correlated, skewed and rounded; the signal is made of steps, products and a long tail of
weak effects; labels are drawn from it at random, so that no model is perfect.

Values are float32, and every step works in place or column by column, because the largest table
should cost little more than itself.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import Case

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]

SIGNAL_COLUMNS = 10  # that the labels of two classes depend on, at least
FOREST_NUMERIC = 10
FOREST_GROUPS = (4, 40)  # widths of the two one-hot groups, as in the covertype data


class Split(NamedTuple):
    """A training table and a held-out table from the same source."""

    X: Floats
    y: Labels | Floats
    X_test: Floats
    y_test: Labels | Floats


def make(case: Case, seed: int = 0) -> Split:
    """The tables of a case."""
    rows = case.rows + case.test_rows
    if case.settings.number_loss is not None:
        X, y = number_table(rows, case.columns, case.settings.number_loss, seed)
    elif case.settings.n_classes == 2:
        X, y = binary_table(rows, max(case.columns, SIGNAL_COLUMNS), seed)
        X = np.ascontiguousarray(X[:, : case.columns])
    else:
        X, y = forest_table(rows, case.settings.n_classes, seed)
    return Split(X[: case.rows], y[: case.rows], X[case.rows :], y[case.rows :])


def save(split: Split, folder: Path) -> None:
    """Write the four arrays, for workers to load: a loaded array leaves no generator's garbage."""
    for name, array in split._asdict().items():
        np.save(folder / f"{name}.npy", array)


def load(folder: Path) -> Split:
    """Read what ``save`` wrote, into memory."""
    return Split(*(np.load(folder / f"{name}.npy") for name in Split._fields))


def binary_table(rows: int, columns: int, seed: int) -> tuple[Floats, Labels]:
    """Two classes, best possible AUC near 0.88; needs at least 10 columns."""
    rng = np.random.default_rng(seed)
    X = correlated_columns(rng, rows, columns)
    score = binary_signal(rng, X)
    reshape_columns(X)
    probability = 1 / (1 + np.exp(-score))
    return X, (rng.random(rows, dtype=np.float32) < probability).astype(np.int32)


def number_table(rows: int, columns: int, loss: str, seed: int) -> tuple[Floats, Floats]:
    """Counts of a rate that varies, or numbers whose noise is skewed and varies with them."""
    rng = np.random.default_rng(seed)
    X = correlated_columns(rng, rows, columns)
    score = binary_signal(rng, X) / 2
    reshape_columns(X)
    if loss == "poisson":  # of rates that no library's steps overshoot
        return X, rng.poisson(np.exp(score / 2)).astype(np.float32)
    noise = rng.standard_exponential(rows, dtype=np.float32)
    return X, score + np.exp(score / 2) * noise


def correlated_columns(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """Standard normal columns, each leaning on an earlier one by a correlation of 0 to 0.9."""
    X = np.empty((rows, columns), dtype=np.float32)
    for j in range(columns):
        noise = rng.standard_normal(rows, dtype=np.float32)
        rho = np.float32(rng.uniform(0, 0.9)) if j else np.float32(0)
        parent = X[:, rng.integers(0, j)] if j else noise
        X[:, j] = rho * parent + np.sqrt(1 - rho * rho) * noise
    return X


def binary_signal(rng: np.random.Generator, X: Floats) -> Floats:
    """A logit with standard deviation 2, from columns that ``reshape_columns`` has not touched."""
    score: Floats = 1.2 * X[:, 0] * X[:, 1] + np.abs(X[:, 2]) * (X[:, 3] > 0.3)
    score += np.sin(2 * X[:, 4]) + 0.8 * (X[:, 5] > X[:, 6]) - 0.5 * np.square(X[:, 7])
    score += 0.9 * X[:, 8] * (X[:, 9] < -0.2) + 0.7 * X[:, 0]
    weak = 0.6 / np.sqrt(X.shape[1] - 9)  # together they weigh the same however many there are
    for j in range(10, X.shape[1]):
        score += np.float32(rng.normal(0, weak)) * X[:, j]
    score -= score.mean()
    score *= np.float32(2) / score.std()
    return score


def reshape_columns(X: Floats) -> None:
    """Give every third column a long right tail and every fourth few distinct values, in place.

    Both are increasing maps, so a tree can still find what the signal holds.
    """
    for j in range(0, X.shape[1], 3):
        np.exp(X[:, j], out=X[:, j])
    for j in range(0, X.shape[1], 4):
        X[:, j] = np.round(X[:, j], 1)


def forest_table(rows: int, n_classes: int, seed: int) -> tuple[Floats, Labels]:
    """A table shaped like covertype: numeric columns, two one-hot groups that depend on them."""
    rng = np.random.default_rng(seed)
    X = np.zeros((rows, FOREST_NUMERIC + sum(FOREST_GROUPS)), dtype=np.float32)
    numeric = X[:, :FOREST_NUMERIC]
    numeric[:] = correlated_columns(rng, rows, FOREST_NUMERIC)
    scores = numeric_class_scores(rng, numeric, n_classes)
    first = FOREST_NUMERIC
    for width in FOREST_GROUPS:
        group = noisy_group(rng, numeric, width)
        X[np.arange(rows), first + group] = 1
        scores += rng.normal(0, 1, (width, n_classes)).astype(np.float32)[group]
        first += width
    numeric[:] = np.round(numeric * 250 + 1000)
    scores += rng.gumbel(size=scores.shape)
    return X, scores.argmax(axis=1).astype(np.int32)


def numeric_class_scores(rng: np.random.Generator, numeric: Floats, n_classes: int) -> Floats:
    """What bumps, products and steps of numeric columns give each class; later ones are rarer."""
    scores = np.empty((len(numeric), n_classes), dtype=np.float32)
    for k in range(n_classes):
        a, b, c, d = rng.choice(FOREST_NUMERIC, size=4, replace=False)
        centre = np.float32(rng.normal())
        scores[:, k] = 3 * np.exp(-np.square(numeric[:, 0] - centre)) - 0.4 * k
        scores[:, k] += numeric[:, a] * numeric[:, b] + (numeric[:, c] > numeric[:, d])
    return scores


def noisy_group(rng: np.random.Generator, numeric: Floats, width: int) -> NDArray[np.intp]:
    """A category for each row that follows the first numeric columns, with noise."""
    position = numeric[:, 0] + 0.5 * numeric[:, 1] + 0.5 * rng.standard_normal(len(numeric))
    edges = np.quantile(position, np.sort(rng.random(width - 1)))
    return np.searchsorted(edges, position)
