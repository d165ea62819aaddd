"""What a picture of a tree says at each node, before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from hedgerow._data.target import has_columns, read_fitted_classes, read_regression_target
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.plot._display import counted, number
from hedgerow.plot._tree_reading import ReadTree

# Leaves and stubs that a picture has at most, unless its depth is given.
MOST_LEAVES = 16
# Bars of a histogram of numbers.
BARS = 12


@dataclass(frozen=True, eq=False)
class DrawnNode:
    """A node of the picture.

    Attributes
    ----------
    node : int
        Its number in the tree.
    kind : "split", "leaf" or "stub"
        A stub stands for a subtree that is too deep to be drawn.
    depth : int
        Splits above it.
    children : pair of int, or None
        The places of its children among the nodes of the picture.
    lines : tuple of str
        What is written: the first line is the most important.
    share : float
        Its part of the root's cover.
    value : array of shape (n_values,)
        Its value in the tree.
    bars : array, or None
        Rows in the leaf by class, or by bin of their target.
    """

    node: int
    kind: Literal["split", "leaf", "stub"]
    depth: int
    children: tuple[int, int] | None
    lines: tuple[str, ...]
    share: float
    value: Floats
    bars: Floats | None = None


@dataclass(frozen=True, eq=False)
class Targets:
    """What rows in leaves had: classes by number, or numbers in bins.

    `bars` is (n_nodes, n_bars), of leaves only; `edges` are those of the bins, None for classes.
    """

    bars: Floats
    edges: Floats | None


def read_targets(model: Any, read: ReadTree, X: Any, y: Any) -> Targets | None:
    """Count the targets of rows leaf by leaf; without rows, take the shares that leaves hold."""
    if (X is None) != (y is None):
        raise ParameterError("a tree is drawn with both X and y, or with neither.")
    if X is None:
        return _shares(read)
    if has_columns(y) or (np.asarray(y).dtype.names is not None):
        raise ParameterError(
            "y has several columns, and a leaf shows one target. Leave X and y out."
        )
    leaves = read.leaves(X)
    if is_classifier(model):
        return _class_counts(model, read, y, leaves)
    numbers = read_regression_target(y, len(leaves), estimator_name=type(model).__name__)
    low, high = float(numbers.min()), float(numbers.max())
    edges = np.linspace(low, high if high > low else low + 1.0, BARS + 1)
    place = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, BARS - 1)
    return Targets(_counts(leaves, place, read.tree.n_nodes, BARS), edges)


def _shares(read: ReadTree) -> Targets | None:
    if read.shares is None:
        return None
    shares = np.array([read.shares(value) for value in read.tree.value])
    return Targets(shares * read.tree.cover[:, np.newaxis], None)


def _class_counts(model: Any, read: ReadTree, y: Any, leaves: NDArray[Any]) -> Targets:
    if isinstance(model.classes_, list):
        raise ParameterError("model has several labels, and a leaf shows one. Leave X and y out.")
    name = type(model).__name__
    place = read_fitted_classes(y, model.classes_, len(leaves), estimator_name=name)
    return Targets(_counts(leaves, place, read.tree.n_nodes, len(model.classes_)), None)


def _counts(leaves: NDArray[Any], place: NDArray[Any], n_nodes: int, n_bars: int) -> Floats:
    flat = np.bincount(leaves * n_bars + place, minlength=n_nodes * n_bars)
    return flat.reshape(n_nodes, n_bars).astype(np.float64)


def drawn_nodes(
    read: ReadTree, targets: Targets | None, max_depth: int | None
) -> tuple[DrawnNode, ...]:
    """Return the nodes of a picture, parents before children."""
    tree = read.tree
    deepest = _readable_depth(tree) if max_depth is None else max_depth
    todo = [(0, 0)]
    shown: list[tuple[int, int]] = []
    children: list[tuple[int, int] | None] = []
    for node, depth in todo:
        shown.append((node, depth))
        if tree.feature[node] >= 0 and depth < deepest:
            children.append((len(todo), len(todo) + 1))
            todo += [(int(tree.left[node]), depth + 1), (int(tree.right[node]), depth + 1)]
        else:
            children.append(None)
    leaves_below = _leaves_below(tree)
    return tuple(
        _drawn(read, targets, node, depth, below, int(leaves_below[node]))
        for (node, depth), below in zip(shown, children, strict=True)
    )


def _drawn(
    read: ReadTree,
    targets: Targets | None,
    node: int,
    depth: int,
    children: tuple[int, int] | None,
    n_leaves: int,
) -> DrawnNode:
    tree, root_cover = read.tree, float(read.tree.cover[0])
    share = float(tree.cover[node]) / root_cover if root_cover > 0.0 else 1.0
    rows = counted(int(tree.count[node]), "row")
    if tree.feature[node] < 0:
        lines: tuple[str, ...] = (read.value_text(tree.value[node]), rows)
        bars = None if targets is None else targets.bars[node]
        return DrawnNode(node, "leaf", depth, None, lines, share, tree.value[node], bars)
    if children is None:
        lines = (f"… {n_leaves} more leaves", rows)
        return DrawnNode(node, "stub", depth, None, lines, share, tree.value[node])
    cover, count = float(tree.cover[node]), float(tree.count[node])
    is_weighted = abs(cover - count) > 1e-6 * count
    gain = f"gain {number(float(tree.gain[node]))}"
    size = f"{rows}, cover {number(cover)}" if is_weighted else rows
    lines = (read.test(node), f"{gain} · {size}")
    return DrawnNode(node, "split", depth, children, lines, share, tree.value[node])


def _leaves_below(tree: Tree) -> NDArray[np.int64]:
    """Return the number of leaves at or below each node; children come after their parents."""
    n_leaves = np.ones(tree.n_nodes, np.int64)
    for node in reversed(np.flatnonzero(tree.feature >= 0).tolist()):
        n_leaves[node] = n_leaves[tree.left[node]] + n_leaves[tree.right[node]]
    return n_leaves


def _readable_depth(tree: Tree) -> int:
    """Return the largest depth of which the picture is not too wide; 1 at least."""
    ends, level, depth = 0, np.array([0]), 0
    while len(level):
        inner = level[tree.feature[level] >= 0]
        ends += len(level) - len(inner)
        if ends + 2 * len(inner) > MOST_LEAVES:
            return max(depth, 1)
        level = np.concatenate([tree.left[inner], tree.right[inner]])
        depth += 1
    return depth
