"""Minimal cost-complexity pruning (Breiman, Friedman, Olshen and Stone, 1984).

A subtree is worth its leaves as long as they lower the impurity by more than α each. Pruning away
the weakest subtree, again and again, gives a nested sequence of trees, one of which is best for any
α: all that is needed are the falls of impurity that the splits brought.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from hedgerow._tree.structure import Tree
from hedgerow._types import Floats


@dataclass(frozen=True)
class WeakestLink:
    """A subtree that is pruned to a leaf: from α on, and by how much the impurity rises."""

    node: int
    alpha: float
    increase: float


def weakest_links(tree: Tree, decreases: Floats) -> Iterator[WeakestLink]:
    """Yield the subtrees in the order in which they are pruned, until the root is a leaf.

    `falls` are the falls of impurity of the splits, as parts of the whole tree's.
    """
    below = _Below(tree, decreases)
    waiting = [(below.alpha(node), node) for node in np.flatnonzero(tree.feature >= 0).tolist()]
    heapq.heapify(waiting)
    while waiting:
        alpha, node = heapq.heappop(waiting)
        if below.is_gone(node) or alpha != below.alpha(node):
            continue  # part of what was pruned, or listed again with another α
        yield WeakestLink(node, alpha, below.decrease[node])
        for changed in below.prune(node):
            heapq.heappush(waiting, (below.alpha(changed), changed))


class _Below:
    """Of each node: how many leaves it has, and how much impurity the splits from it on remove."""

    def __init__(self, tree: Tree, decreases: Floats) -> None:
        self.left, self.right = tree.left.tolist(), tree.right.tolist()
        self.parent = [-1] * tree.n_nodes
        self.decrease = decreases.tolist()
        self.n_leaves = [1] * tree.n_nodes
        for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parents
            if self.left[node] < 0:
                continue
            for child in (self.left[node], self.right[node]):
                self.parent[child] = node
                self.decrease[node] += self.decrease[child]
            self.n_leaves[node] = self.n_leaves[self.left[node]] + self.n_leaves[self.right[node]]

    def alpha(self, node: int) -> float:
        """Return what a leaf must cost for the node to be better as one."""
        return float(self.decrease[node] / (self.n_leaves[node] - 1))

    def is_gone(self, node: int) -> bool:
        """Return whether a node is a leaf by now, or no longer there."""
        return bool(self.n_leaves[node] <= 1)

    def prune(self, node: int) -> Iterator[int]:
        """Make a leaf of a node; yield the nodes above it, whose sums have changed."""
        n_pruned, decrease = self.n_leaves[node] - 1, self.decrease[node]
        inside = [node]
        while inside:
            gone = inside.pop()
            if self.n_leaves[gone] > 1:
                inside += [self.left[gone], self.right[gone]]
            self.n_leaves[gone] = 0
        self.n_leaves[node], self.decrease[node] = 1, 0.0
        above = self.parent[node]
        while above >= 0:
            self.n_leaves[above] -= n_pruned
            self.decrease[above] -= decrease
            yield above
            above = self.parent[above]


def prune(tree: Tree, decreases: Floats, ccp_alpha: float) -> Tree:
    """Return the smallest tree that is best if a leaf costs `ccp_alpha`."""
    pruned = set()
    for link in weakest_links(tree, decreases):
        if link.alpha > ccp_alpha:
            break
        pruned.add(link.node)
    return _without(tree, pruned) if pruned else tree


def _without(tree: Tree, made_leaves: set[int]) -> Tree:
    """Return the tree with some nodes made leaves, and what was below them left out."""
    nodes: list[int] = []
    waiting = [0]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if tree.feature[node] >= 0 and node not in made_leaves:
            waiting += [int(tree.right[node]), int(tree.left[node])]
    position = np.full(tree.n_nodes + 1, -1, np.int32)  # the last for children that are not there
    position[nodes] = np.arange(len(nodes))
    arrays = {
        f.name: getattr(tree, f.name)[nodes]
        for f in fields(Tree)
        if f.name != "category_bits" and getattr(tree, f.name) is not None
    }
    is_leaf = position[arrays["left"]] < 0
    arrays["left"], arrays["right"] = position[arrays["left"]], position[arrays["right"]]
    nothing = {"feature": -1, "threshold": 0.0, "missing_left": False, "category_set": -1}
    for name, value in (nothing | {"gain": 0.0}).items():
        arrays[name][is_leaf] = value
    used, arrays["category_set"] = np.unique(arrays["category_set"], return_inverse=True)
    first = int(len(used) > 0 and used[0] < 0)
    arrays["category_set"] = (arrays["category_set"] - first).astype(np.int32)
    return replace(tree, **arrays, category_bits=tree.category_bits[used[first:]])
