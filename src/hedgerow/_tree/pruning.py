"""Minimal cost-complexity pruning (Breiman, Friedman, Olshen and Stone, 1984).

A subtree is kept as long as each of its leaves decreases the impurity by more than α. Repeatedly
pruning the weakest subtree gives a nested sequence of trees, which contains the best one for any α.
It is computed from the impurity decreases of the splits.
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
    """A subtree that is pruned to a leaf, the α from which on it is, and the impurity increase."""

    node: int
    alpha: float
    increase: float


def weakest_links(tree: Tree, decreases: Floats) -> Iterator[WeakestLink]:
    """Yield the subtrees in the order in which they are pruned, until the root is a leaf.

    `decreases` are the decreases of the tree's impurity by each split.
    """
    subtrees = _Subtrees(tree, decreases)
    queue = [(subtrees.alpha(node), node) for node in np.flatnonzero(tree.feature >= 0).tolist()]
    heapq.heapify(queue)
    while queue:
        alpha, node = heapq.heappop(queue)
        if subtrees.is_pruned(node) or alpha != subtrees.alpha(node):
            continue  # already pruned, or queued again with another α
        yield WeakestLink(node, alpha, subtrees.decrease[node])
        for changed in subtrees.prune(node):
            heapq.heappush(queue, (subtrees.alpha(changed), changed))


class _Subtrees:
    """For each node, the number of leaves and the impurity decrease of its subtree."""

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
        """Return the cost of a leaf from which on the node is better as a leaf."""
        return float(self.decrease[node] / (self.n_leaves[node] - 1))

    def is_pruned(self, node: int) -> bool:
        """Return whether a node has become a leaf or been removed."""
        return bool(self.n_leaves[node] <= 1)

    def prune(self, node: int) -> Iterator[int]:
        """Make a node a leaf; yield its ancestors, whose sums have changed."""
        n_pruned, decrease = self.n_leaves[node] - 1, self.decrease[node]
        inside = [node]
        while inside:
            inner = inside.pop()
            if self.n_leaves[inner] > 1:
                inside += [self.left[inner], self.right[inner]]
            self.n_leaves[inner] = 0
        self.n_leaves[node], self.decrease[node] = 1, 0.0
        above = self.parent[node]
        while above >= 0:
            self.n_leaves[above] -= n_pruned
            self.decrease[above] -= decrease
            yield above
            above = self.parent[above]


def prune(tree: Tree, decreases: Floats, ccp_alpha: float) -> Tree:
    """Return the smallest tree that minimises impurity plus `ccp_alpha` per leaf."""
    pruned = set()
    for link in weakest_links(tree, decreases):
        if link.alpha > ccp_alpha:
            break
        pruned.add(link.node)
    return _without(tree, pruned) if pruned else tree


def _without(tree: Tree, new_leaves: set[int]) -> Tree:
    """Return the tree with some nodes made leaves, without the nodes below them."""
    nodes: list[int] = []
    queue = [0]
    while queue:
        node = queue.pop()
        nodes.append(node)
        if tree.feature[node] >= 0 and node not in new_leaves:
            queue += [int(tree.right[node]), int(tree.left[node])]
    position = np.full(tree.n_nodes + 1, -1, np.int32)  # the last is for missing children
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
