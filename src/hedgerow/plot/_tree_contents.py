"""The nodes of a tree picture: their text, target counts and positions."""

from __future__ import annotations

from collections.abc import Sequence
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
from hedgerow.plot._tree_description import TreeDescription

# Maximum number of leaves and stubs, unless max_depth is set.
MOST_LEAVES = 16
# Bars of a histogram of targets.
BARS = 12


@dataclass(frozen=True, eq=False)
class PictureNode:
    """A node of the picture.

    Attributes
    ----------
    node : int
        Its index in the tree.
    kind : "split", "leaf" or "stub"
        A stub replaces a subtree that is too deep to be drawn.
    depth : int
        Number of splits above it.
    children : pair of int, or None
        The indices of its children among the nodes of the picture.
    lines : tuple of str
        Its text; the first line is the most important.
    share : float
        Its fraction of the root's cover.
    value : array of shape (n_values,)
        Its value in the tree.
    bars : array, or None
        Rows of a leaf by class, or by bin of their target.
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
    """Target counts of the leaves: by class, or by bin.

    `bars` is (n_nodes, n_bars), filled for leaves; `edges` are those of the bins, None for classes.
    """

    bars: Floats
    edges: Floats | None


def count_targets(model: Any, description: TreeDescription, X: Any, y: Any) -> Targets | None:
    """Count the targets of rows by leaf; without rows, use the class shares of the leaves."""
    if (X is None) != (y is None):
        raise ParameterError("pass both X and y, or neither.")
    if X is None:
        return _shares(description)
    if has_columns(y) or (np.asarray(y).dtype.names is not None):
        raise ParameterError(
            "y has several columns, but leaves can only show one target. Omit X and y."
        )
    leaves = description.leaves(X)
    if is_classifier(model):
        return _class_counts(model, description, y, leaves)
    numbers = read_regression_target(y, len(leaves), estimator_name=type(model).__name__)
    low, high = float(numbers.min()), float(numbers.max())
    edges = np.linspace(low, high if high > low else low + 1.0, BARS + 1)
    place = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, BARS - 1)
    return Targets(_counts(leaves, place, description.tree.n_nodes, BARS), edges)


def _shares(description: TreeDescription) -> Targets | None:
    if description.shares is None:
        return None
    shares = np.array([description.shares(value) for value in description.tree.value])
    return Targets(shares * description.tree.cover[:, np.newaxis], None)


def _class_counts(
    model: Any, description: TreeDescription, y: Any, leaves: NDArray[Any]
) -> Targets:
    if isinstance(model.classes_, list):
        raise ParameterError(
            "model is multilabel, but leaves can only show one label. Omit X and y."
        )
    name = type(model).__name__
    place = read_fitted_classes(y, model.classes_, len(leaves), estimator_name=name)
    return Targets(_counts(leaves, place, description.tree.n_nodes, len(model.classes_)), None)


def _counts(leaves: NDArray[Any], place: NDArray[Any], n_nodes: int, n_bars: int) -> Floats:
    flat = np.bincount(leaves * n_bars + place, minlength=n_nodes * n_bars)
    return flat.reshape(n_nodes, n_bars).astype(np.float64)


def picture_nodes(
    description: TreeDescription, targets: Targets | None, max_depth: int | None
) -> tuple[PictureNode, ...]:
    """Return the nodes of a picture, parents before children."""
    tree = description.tree
    deepest = _readable_depth(tree) if max_depth is None else max_depth
    todo = [(0, 0)]
    visible: list[tuple[int, int]] = []
    children: list[tuple[int, int] | None] = []
    for node, depth in todo:
        visible.append((node, depth))
        if tree.feature[node] >= 0 and depth < deepest:
            children.append((len(todo), len(todo) + 1))
            todo += [(int(tree.left[node]), depth + 1), (int(tree.right[node]), depth + 1)]
        else:
            children.append(None)
    leaves_below = _leaves_below(tree)
    return tuple(
        _picture_node(description, targets, node, depth, below, int(leaves_below[node]))
        for (node, depth), below in zip(visible, children, strict=True)
    )


def _picture_node(
    description: TreeDescription,
    targets: Targets | None,
    node: int,
    depth: int,
    children: tuple[int, int] | None,
    n_leaves: int,
) -> PictureNode:
    tree, root_cover = description.tree, float(description.tree.cover[0])
    share = float(tree.cover[node]) / root_cover if root_cover > 0.0 else 1.0
    rows = counted(int(tree.count[node]), "row")
    if tree.feature[node] < 0:
        lines: tuple[str, ...] = (description.value_text(tree.value[node]), rows)
        bars = None if targets is None else targets.bars[node]
        return PictureNode(node, "leaf", depth, None, lines, share, tree.value[node], bars)
    if children is None:
        lines = (f"… {n_leaves} more leaves", rows)
        return PictureNode(node, "stub", depth, None, lines, share, tree.value[node])
    cover, count = float(tree.cover[node]), float(tree.count[node])
    is_weighted = abs(cover - count) > 1e-6 * count
    gain = f"gain {number(float(tree.gain[node]))}"
    size = f"{rows}, cover {number(cover)}" if is_weighted else rows
    lines = (description.test(node), f"{gain} · {size}")
    return PictureNode(node, "split", depth, children, lines, share, tree.value[node])


def _leaves_below(tree: Tree) -> NDArray[np.int64]:
    """Return the number of leaves at or below each node; children come after their parents."""
    n_leaves = np.ones(tree.n_nodes, np.int64)
    for node in reversed(np.flatnonzero(tree.feature >= 0).tolist()):
        n_leaves[node] = n_leaves[tree.left[node]] + n_leaves[tree.right[node]]
    return n_leaves


def _readable_depth(tree: Tree) -> int:
    """Return the largest depth for which the picture is not too wide; at least 1."""
    ends, level, depth = 0, np.array([0]), 0
    while len(level):
        inner = level[tree.feature[level] >= 0]
        ends += len(level) - len(inner)
        if ends + 2 * len(inner) > MOST_LEAVES:
            return max(depth, 1)
        level = np.concatenate([tree.left[inner], tree.right[inner]])
        depth += 1
    return depth


@dataclass
class _Outline:
    """The left and right edge of a subtree on each level, relative to its root's centre."""

    left: list[float]
    right: list[float]


def tidy_positions(
    children: Sequence[tuple[int, int] | None], widths: Sequence[float], gap: float
) -> Floats:
    """Return the x of each node's centre; the leftmost edge is at 0.

    Reingold and Tilford, "Tidier drawings of trees", 1981: subtrees are laid out separately, then
    moved together until their outlines are `gap` apart on every level; a parent is above the middle
    of its children. Here nodes have different widths.

    Parameters
    ----------
    children : sequence of pairs
        The left and right child of each node, or None. A child comes after its parent; node 0 is
        the root.
    widths : sequence of float
        The width of each node.
    gap : float
        Minimum distance of two nodes of a level.
    """
    outlines: list[_Outline] = [_Outline([], [])] * len(children)
    half_distance = np.zeros(len(children))
    for node in reversed(range(len(children))):
        below = children[node]
        half = widths[node] / 2.0
        outlines[node] = _Outline([-half], [half])
        if below is not None:
            left, right = (outlines[child] for child in below)
            half_distance[node] = _distance(left, right, gap) / 2.0
            _join(outlines[node], left, right, half_distance[node])
    x = np.zeros(len(children))
    for node, below in enumerate(children):
        if below is not None:
            x[below[0]] = x[node] - half_distance[node]
            x[below[1]] = x[node] + half_distance[node]
    return x - min(outlines[0].left)


def _distance(left: _Outline, right: _Outline, gap: float) -> float:
    """Return the minimum distance of the roots, so that no level is closer than the gap."""
    return max(a - b for a, b in zip(left.right, right.left, strict=False)) + gap


def _join(parent: _Outline, left: _Outline, right: _Outline, half: float) -> None:
    """Add the levels of two subtrees to their parent's outline."""
    depth = max(len(left.left), len(right.left))
    for level in range(depth):
        edges = []
        for of, shift in ((left, -half), (right, half)):
            if level < len(of.left):
                edges.append((of.left[level] + shift, of.right[level] + shift))
        parent.left.append(min(edge[0] for edge in edges))
        parent.right.append(max(edge[1] for edge in edges))
