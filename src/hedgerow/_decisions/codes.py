"""Output codes: classes as rows of −1, 0 and 1, and the problems of two classes as columns.

One against the rest, one against one and error-correcting codes are matrices of this kind
(Dietterich and Bakiri, 1995; Allwein, Schapire and Singer, 2000). Decoding finds the row that
agrees best with what the columns' classifiers say.
"""

from __future__ import annotations

from itertools import combinations
from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._arithmetic import ordered_product
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError

Code = NDArray[np.int8]
MOST_EXHAUSTIVE = 10  # classes: 511 columns
DRAWS = 200  # random codes among which the one with the most different rows is taken


def code_matrix(code: Any, n_classes: int, n_columns: int | None, seed: int) -> Code:
    """Return the code that a parameter selects, (n_classes, n_columns)."""
    if n_columns is not None and not (isinstance(code, str) and code == "random"):
        raise ParameterError(f"n_columns={n_columns!r} is allowed only with code='random'.")
    if not isinstance(code, str):
        return _checked(np.asarray(code), n_classes)
    if n_classes == 2:
        return np.array([[-1], [1]], np.int8)
    if code == "one_vs_rest":
        return (2 * np.eye(n_classes) - 1).astype(np.int8)
    if code == "one_vs_one":
        return _pairs(n_classes)
    return _exhaustive(n_classes) if code == "exhaustive" else _random(n_classes, n_columns, seed)


def decode(code: Code, scores: Floats) -> Floats:
    """Return how well each class agrees with scores of the columns, (n_rows, n_classes).

    It is the mean of code times score over the columns that a class takes part in: 1 if all of them
    are for it with a score of 1.
    """
    sides = code.astype(np.float64)
    return ordered_product(scores, sides.T) / np.abs(sides).sum(axis=1)


def _pairs(n_classes: int) -> Code:
    columns = []
    for first, second in combinations(range(n_classes), 2):
        column = np.zeros(n_classes, np.int8)
        column[first], column[second] = -1, 1
        columns.append(column)
    return np.column_stack(columns)


def _exhaustive(n_classes: int) -> Code:
    """Return all divisions of the classes; the first class is always on the side of 1."""
    if n_classes > MOST_EXHAUSTIVE:
        raise ParameterError(
            f"code='exhaustive' supports at most {MOST_EXHAUSTIVE} classes, but y has {n_classes}. "
            "Use code='random'."
        )
    numbers = np.arange(2 ** (n_classes - 1) - 1)
    bits = (numbers[None, :] >> np.arange(n_classes - 1)[:, None]) & 1
    return np.vstack([np.ones(len(numbers)), 2 * bits - 1]).astype(np.int8)


def _random(n_classes: int, n_columns: int | None, seed: int) -> Code:
    """Return the random code whose two most similar rows differ most, among several draws."""
    random = np.random.RandomState(seed)
    possible = 2 ** min(n_classes - 1, 30) - 1
    n_columns = min(n_columns or ceil(10 * log2(n_classes)), possible)
    best, best_distance = None, -1
    for _ in range(DRAWS):
        code = _draw(random, n_classes, n_columns)
        distance = _least_distance(code)
        if distance > best_distance:
            best, best_distance = code, distance
    assert best is not None
    if best_distance == 0:
        raise ParameterError(
            f"n_columns={n_columns} is too small: none of {DRAWS} random codes has a different "
            f"row for each of {n_classes} classes."
        )
    return best


def _least_distance(code: Code) -> int:
    """Return in how many columns the two most similar rows differ."""
    agreement = code.astype(np.int64) @ code.T.astype(np.int64)
    np.fill_diagonal(agreement, -code.shape[1])
    return int((code.shape[1] - agreement.max()) // 2)


def _draw(random: np.random.RandomState, n_classes: int, n_columns: int) -> Code:
    """Return distinct random divisions; of a division and its opposite only one."""
    columns: dict[bytes, Code] = {}
    while len(columns) < n_columns:
        column = (2 * random.randint(0, 2, n_classes) - 1).astype(np.int8)
        column = column * column[0]
        if (column < 0).any():
            columns[column.tobytes()] = column
    return np.column_stack(list(columns.values()))


def _checked(code: NDArray[Any], n_classes: int) -> Code:
    if code.shape[0] != n_classes:
        raise ParameterError(f"code has {code.shape[0]} rows, but y has {n_classes} classes.")
    if not np.isin(code, (-1, 0, 1)).all():
        raise ParameterError("code has entries other than −1, 0 and 1.")
    lacks_side = ~((code == 1).any(axis=0) & (code == -1).any(axis=0))
    if lacks_side.any():
        raise ParameterError(
            f"code: column {int(lacks_side.argmax())} does not have both −1 and 1, so it tells no "
            "classes apart."
        )
    if len(np.unique(code, axis=0)) < n_classes:
        raise ParameterError("code has equal rows, so some classes cannot be told apart.")
    return code.astype(np.int8)
