"""Where the nodes of a binary tree go, so that it is as narrow as can be and nothing overlaps.

Reingold and Tilford, "Tidier drawings of trees", 1981: subtrees are laid out by themselves, then
pushed together until, level by level, their outlines are a gap apart; a parent is above the middle
of its children. Here nodes have widths of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedgerow._types import Floats


@dataclass
class _Outline:
    """The left and right edge of a subtree on each of its levels, from its root's centre."""

    left: list[float]
    right: list[float]


def centres(
    children: Sequence[tuple[int, int] | None], widths: Sequence[float], gap: float
) -> Floats:
    """Return the x of each node's centre, the leftmost edge being at 0.

    Parameters
    ----------
    children : sequence of pairs
        The left and right child of each node, or None. A child comes after its parent; node 0 is
        the root.
    widths : sequence of float
        The width of each node.
    gap : float
        Least distance between two nodes of a level.
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
    """Return how far apart the roots must be for no level to be closer than the gap."""
    return max(a - b for a, b in zip(left.right, right.left, strict=False)) + gap


def _join(parent: _Outline, left: _Outline, right: _Outline, half: float) -> None:
    """Add the levels of two subtrees to their parent's outline."""
    deep = max(len(left.left), len(right.left))
    for level in range(deep):
        edges = []
        for of, shift in ((left, -half), (right, half)):
            if level < len(of.left):
                edges.append((of.left[level] + shift, of.right[level] + shift))
        parent.left.append(min(edge[0] for edge in edges))
        parent.right.append(max(edge[1] for edge in edges))
