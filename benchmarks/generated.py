"""Generated tables that behave like real ones, and are the same every time for a seed.

Columns are correlated, skewed and rounded; the signal is made of steps, products and a long tail of
weak effects; labels are drawn from it at random, so that no model is perfect. `frames` has tables
of strings, `texts` sparse ones.

Values are float32, and every step works in place or column by column, because the largest table
should cost little more than itself.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Labels = NDArray[np.int32]
# From rows, columns and a seed to a table and its target.
MakeTable = Callable[[int, int, int], tuple[Any, Labels | Floats]]

SIGNAL_COLUMNS = 10  # that the labels of two classes depend on, at least
FOREST_NUMERIC = 10
FOREST_SMALL_GROUP = 4  # width of the first of two one-hot groups, as in the covertype data
MISSING_SHARE = 0.3
DIGITS = 10


class Split(NamedTuple):
    """A training table and a held-out table from the same source."""

    X: Any
    y: Labels | Floats
    X_test: Any
    y_test: Labels | Floats


def save(split: Split, folder: Path) -> int:
    """Write the tables for workers to load, as that leaves no generator's garbage; return bytes."""
    joblib.dump(split, folder / "split")
    return (folder / "split").stat().st_size


def load(folder: Path) -> Split:
    """Read what ``save`` wrote, into memory."""
    split: Split = joblib.load(folder / "split")
    return split


def binary_table(rows: int, columns: int, seed: int) -> tuple[Floats, Labels]:
    """Two classes, best possible AUC near 0.88; of fewer than 10 columns, the signal has more."""
    rng = np.random.default_rng(seed)
    X = correlated_columns(rng, rows, max(columns, SIGNAL_COLUMNS))
    score = binary_signal(rng, X)
    reshape_columns(X)
    return np.ascontiguousarray(X[:, :columns]), two_classes(rng, score)


def missing_table(rows: int, columns: int, seed: int) -> tuple[Floats, Labels]:
    """Two classes; three cells in ten are missing, whatever they held."""
    X, y = binary_table(rows, columns, seed)
    rng = np.random.default_rng([seed, 1])
    for j in range(columns):
        X[rng.random(rows, dtype=np.float32) < MISSING_SHARE, j] = np.nan
    return X, y


def flag_table(rows: int, columns: int, seed: int) -> tuple[Floats, Labels]:
    """Two classes and columns of 0 and 1, none of which depends on another."""
    rng = np.random.default_rng(seed)
    X = flags(rng, rows, columns)
    return X, two_classes(rng, neighbour_signal(rng, X))


def digit_table(rows: int, columns: int, seed: int) -> tuple[Floats, Labels]:
    """Two classes and columns of the integers 0 to 9, some more frequent than others."""
    rng = np.random.default_rng(seed)
    X = np.empty((rows, columns), dtype=np.float32)
    for j in range(columns):
        X[:, j] = rng.choice(DIGITS, rows, p=rng.dirichlet(np.full(DIGITS, 3.0)))
    return X, two_classes(rng, neighbour_signal(rng, X))


def count_table(rows: int, columns: int, seed: int) -> tuple[Floats, Floats]:
    """Counts of a rate that varies."""
    rng, X, score = number_signal(rows, columns, seed)
    # of rates that no library's steps overshoot
    return X, rng.poisson(np.exp(score / 2)).astype(np.float32)


def skewed_number_table(rows: int, columns: int, seed: int) -> tuple[Floats, Floats]:
    """Numbers whose noise is skewed and varies with them."""
    rng, X, score = number_signal(rows, columns, seed)
    noise = rng.standard_exponential(rows, dtype=np.float32)
    return X, score + np.exp(score / 2) * noise


def noisy_number_table(rows: int, columns: int, seed: int) -> tuple[Floats, Floats]:
    """Numbers with as much normal noise as signal."""
    rng, X, score = number_signal(rows, columns, seed)
    return X, score + rng.standard_normal(rows, dtype=np.float32)


def number_signal(rows: int, columns: int, seed: int) -> tuple[np.random.Generator, Floats, Floats]:
    """A generator to draw numbers with, the table, and a score with standard deviation 1."""
    rng = np.random.default_rng(seed)
    X = correlated_columns(rng, rows, columns)
    score = binary_signal(rng, X) / 2
    reshape_columns(X)
    return rng, X, score


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
    return as_logit(score)


def neighbour_signal(rng: np.random.Generator, X: Floats) -> Floats:
    """A logit with standard deviation 2: every column by itself, and times the one before it."""
    score = np.zeros(len(X), dtype=np.float32)
    before = np.zeros(len(X), dtype=np.float32)
    for column in X.T:
        scaled = (column - column.mean()) / max(column.std(), np.float32(1e-6))
        alone, together = rng.normal(size=2).astype(np.float32)
        score += (alone + together * before) * scaled
        before = scaled
    return as_logit(score)


def as_logit(score: Floats) -> Floats:
    """The score with mean 0 and standard deviation 2, in place."""
    score -= score.mean()
    score *= np.float32(2) / score.std()
    return score


def two_classes(rng: np.random.Generator, score: Floats) -> Labels:
    """Labels 0 and 1, drawn with the probabilities whose logit is the score."""
    probability = 1 / (1 + np.exp(-score))
    return (rng.random(len(score), dtype=np.float32) < probability).astype(np.int32)


def most_likely(rng: np.random.Generator, scores: Floats) -> Labels:
    """For each row the class with the greatest score, once noise is added: a draw by softmax."""
    scores += rng.gumbel(size=scores.shape)
    return scores.argmax(axis=1).astype(np.int32)


def flags(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """Independent columns of 0 and 1, from rare to frequent ones."""
    X = np.empty((rows, columns), dtype=np.float32)
    for j, share in enumerate(rng.uniform(0.1, 0.9, columns)):
        X[:, j] = rng.random(rows, dtype=np.float32) < share
    return X


def reshape_columns(X: Floats) -> None:
    """Give every third column a long right tail and every fourth few distinct values, in place.

    Both are increasing maps, so a tree can still find what the signal holds.
    """
    for j in range(0, X.shape[1], 3):
        np.exp(X[:, j], out=X[:, j])
    for j in range(0, X.shape[1], 4):
        X[:, j] = np.round(X[:, j], 1)


def forest_table(
    rows: int, columns: int, seed: int, *, n_classes: int = 7
) -> tuple[Floats, Labels]:
    """A table shaped like covertype: numeric columns, two one-hot groups that depend on them."""
    rng = np.random.default_rng(seed)
    X = np.zeros((rows, columns), dtype=np.float32)
    numeric = X[:, :FOREST_NUMERIC]
    numeric[:] = correlated_columns(rng, rows, FOREST_NUMERIC)
    scores = numeric_class_scores(rng, numeric, n_classes)
    first = FOREST_NUMERIC
    for width in (FOREST_SMALL_GROUP, columns - FOREST_NUMERIC - FOREST_SMALL_GROUP):
        group = noisy_group(rng, numeric, width)
        X[np.arange(rows), first + group] = 1
        scores += rng.normal(0, 1, (width, n_classes)).astype(np.float32)[group]
        first += width
    numeric[:] = np.round(numeric * 250 + 1000)
    return X, most_likely(rng, scores)


def flag_forest_table(
    rows: int, columns: int, seed: int, *, n_classes: int = 7
) -> tuple[Floats, Labels]:
    """The same with independent flags in the place of the one-hot groups."""
    rng = np.random.default_rng(seed)
    numeric = correlated_columns(rng, rows, FOREST_NUMERIC)
    scores = numeric_class_scores(rng, numeric, n_classes)
    independent = flags(rng, rows, columns - FOREST_NUMERIC)
    scores += independent @ rng.normal(0, 0.5, (independent.shape[1], n_classes)).astype(np.float32)
    X = np.hstack([np.round(numeric * 250 + 1000), independent])
    return X, most_likely(rng, scores)


def many_class_table(
    rows: int, columns: int, seed: int, *, n_classes: int = 50
) -> tuple[Floats, Labels]:
    """Classes that are about equally frequent; each leans on every column and its distance to 0."""
    rng = np.random.default_rng(seed)
    X = correlated_columns(rng, rows, columns)
    lean, distance = rng.normal(0, 2 / np.sqrt(columns), (2, columns, n_classes)).astype(np.float32)
    scores = X @ lean + (np.abs(X) - np.float32(np.sqrt(2 / np.pi))) @ distance
    return X, most_likely(rng, scores)


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
