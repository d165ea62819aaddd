"""The oracle for CART: every cut of every node is tried, and a grown tree is held to the best.

Columns are floats, NaN is missing, a categorical one holds bin numbers. Targets are numbers, one
column each; classes are one-hot columns, so that Gini is their variance.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

EVERY_VALUE = np.finfo(np.float64).max


@dataclass
class Task:
    """What a tree has learned from."""

    X: np.ndarray
    is_categorical: np.ndarray
    values: np.ndarray  # (n_rows, n_values)
    weight: np.ndarray
    params: object
    n_outputs: int = 1
    exact: bool = True  # thresholds are midpoints


def median(y, weight):
    """The weighted median: halfway between two numbers where the weights below and above tie."""
    order = np.argsort(y, kind="stable")
    y, cumulated = y[order], np.cumsum(weight[order])
    total = cumulated[-1]
    first = np.searchsorted(2 * cumulated, total * (1 - 1e-12))  # tenths do not add up exactly
    ties = abs(2 * cumulated[first] - total) <= 1e-12 * total
    return (y[first] + y[first + 1]) / 2 if ties else y[first]


def impurity(values, weight, criterion, n_outputs):
    """Weight times impurity."""
    total = weight.sum()
    if criterion == "absolute_error":
        distances = [(weight * abs(y - median(y, weight))).sum() for y in values.T]
        return sum(distances) / n_outputs
    if criterion == "error":
        return total - (weight @ values).max()
    if criterion in ("entropy", "gain_ratio"):
        shares = weight @ values / total
        return -total * (shares[shares > 0] * np.log(shares[shares > 0])).sum() / n_outputs
    spread = values - weight @ values / total
    return (weight @ spread**2).sum() / n_outputs


def fall(task, rows, left):
    """How much the weighted impurity of a node falls when rows are parted."""

    def of(part):
        return impurity(task.values[part], task.weight[part], task.params.criterion, task.n_outputs)

    return of(rows) - of(rows[left]) - of(rows[~left])


def cuts(column, is_categorical):
    """Every way to part a column in two, as masks of what goes left."""
    missing = np.isnan(column)
    present = np.unique(column[~missing])
    if is_categorical:
        sides = (
            np.isin(column, subset)
            for size in range(1, len(present) + 1)
            for subset in itertools.combinations(present, size)
        )
    else:
        sides = (column <= value for value in present)
    for side in sides:
        for left in (side, side | missing) if missing.any() else (side,):
            if 0 < left.sum() < len(left):
                yield left


def allowed(task, rows, left):
    params = task.params
    fewest = min(left.sum(), (~left).sum())
    lightest = min(task.weight[rows[left]].sum(), task.weight[rows[~left]].sum())
    return fewest >= params.min_samples_leaf and lightest >= params.min_weight_leaf


def best_fall(task, rows):
    """The best of all cuts of a node; None if it has none."""
    falls = [
        fall(task, rows, left)
        for column, categorical in zip(task.X[rows].T, task.is_categorical, strict=True)
        for left in cuts(column, categorical)
        if allowed(task, rows, left)
    ]
    return max(falls, default=None)


def split_information(task, rows, left):
    """The entropy of the sides' weights."""
    shares = np.array([task.weight[rows[left]].sum(), task.weight[rows[~left]].sum()])
    shares /= shares.sum()
    return -(shares * np.log(shares)).sum()


def fall_of_best_ratio(task, rows):
    """C4.5: of each feature the cut with the most gain, of those with at least the mean gain the
    one with the best ratio; None if there is no cut."""
    best = []
    for column, categorical in zip(task.X[rows].T, task.is_categorical, strict=True):
        tried = [left for left in cuts(column, categorical) if allowed(task, rows, left)]
        if tried:
            best.append(max(tried, key=lambda left: fall(task, rows, left)))
    falls = [fall(task, rows, left) for left in best]
    ratios = [
        gain / split_information(task, rows, left) if gain >= np.mean(falls) - 1e-9 else -1.0
        for gain, left in zip(falls, best, strict=True)
    ]
    return falls[int(np.argmax(ratios))] if falls else None


def goes_left(tree, node, column):
    missing = np.isnan(column)
    if tree.category_set[node] >= 0:
        bits = tree.category_bits[tree.category_set[node]]
        codes = np.where(missing, 0, column).astype(int)
        side = (bits[codes >> 5] >> (codes & 31)) & 1 == 1
    else:
        side = column <= tree.threshold[node]
    return np.where(missing, tree.missing_left[node], side).astype(bool)


def node_rows(tree, task):
    """The rows of each node, found from the root down."""
    rows = {0: np.flatnonzero(task.weight > 0)}
    for node in range(tree.n_nodes):
        if tree.feature[node] >= 0:
            left = goes_left(tree, node, task.X[rows[node], tree.feature[node]])
            rows[tree.left[node]], rows[tree.right[node]] = rows[node][left], rows[node][~left]
    return rows


def check_tree(tree, task):
    """Every node has the rows, values and best cut that NumPy finds; every leaf is one rightly."""
    depth = {0: 0}
    for node, rows in node_rows(tree, task).items():
        weight = task.weight[rows]
        assert tree.count[node] == len(rows)
        np.testing.assert_allclose(tree.cover[node], weight.sum(), rtol=1e-8)
        expected = [
            median(y, weight)
            if task.params.criterion == "absolute_error"
            else weight @ y / weight.sum()
            for y in task.values[rows].T
        ]
        np.testing.assert_allclose(tree.value[node], expected, rtol=1e-9, atol=1e-9)
        if tree.feature[node] < 0:
            check_leaf(task, rows, depth[node])
        else:
            check_cut(tree, node, task, rows)
            depth[tree.left[node]] = depth[tree.right[node]] = depth[node] + 1


def check_leaf(task, rows, depth):
    params = task.params
    is_pure = (task.values[rows] == task.values[rows[0]]).all()
    small = len(rows) < max(params.min_samples_split, 2 * params.min_samples_leaf)
    if is_pure or small or (params.max_depth and depth == params.max_depth):
        return
    best = best_fall(task, rows)
    least = params.min_impurity_decrease * task.weight.sum()
    assert best is None or best < least + 1e-9


def check_cut(tree, node, task, rows):
    column = task.X[rows, tree.feature[node]]
    left = goes_left(tree, node, column)
    by_ratio = task.params.criterion == "gain_ratio"
    best = fall_of_best_ratio(task, rows) if by_ratio else best_fall(task, rows)
    made = fall(task, rows, left)
    scale = max(1.0, impurity(
        task.values[rows], task.weight[rows], task.params.criterion, task.n_outputs
    ))  # fmt: skip
    assert allowed(task, rows, left)
    assert made == pytest.approx(best, rel=1e-7, abs=1e-9 * scale)
    assert tree.gain[node] == pytest.approx(made, rel=1e-7, abs=1e-9 * scale)
    if not np.isnan(column).any():
        categorical = tree.category_set[node] >= 0
        assert tree.missing_left[node] == (not categorical and 2 * left.sum() >= len(left))
    if task.exact and tree.category_set[node] < 0:
        check_threshold(tree.threshold[node], column[left], column[~left])


def check_threshold(threshold, left, right):
    left, right = left[~np.isnan(left)], right[~np.isnan(right)]
    if len(right) == 0:
        assert threshold == EVERY_VALUE
    else:
        assert threshold == left.max() / 2 + right.min() / 2
