"""Prediction the slow and obvious way: one row, one tree, one node at a time."""

import math

import numpy as np

from oracles.linear_leaves import added


def is_left(ensemble, node, x):
    """Whether value ``x`` goes left at a node (counted over all trees)."""
    x = float(x)
    if ensemble.category_set[node] >= 0:
        if not (0 <= x <= 254 and x == math.floor(x)):
            return bool(ensemble.missing_left[node])
        word = int(ensemble.category_bits[ensemble.category_set[node], int(x) // 32])
        return bool(word >> (int(x) % 32) & 1)
    if math.isnan(x):
        return bool(ensemble.missing_left[node])
    return x <= float(ensemble.threshold[node])


def leaf(ensemble, tree, row):
    """The node, counted from the tree's first, in which a row ends."""
    first = int(ensemble.tree_offset[tree])
    node = 0
    while ensemble.feature[first + node] >= 0:
        x = row[ensemble.feature[first + node]]
        left = is_left(ensemble, first + node, x)
        node = int(ensemble.left[first + node] if left else ensemble.right[first + node])
    return node


def apply(ensemble, X):
    """Leaves, of shape (n_rows, n_trees)."""
    return np.array(
        [[leaf(ensemble, tree, row) for tree in range(ensemble.n_trees)] for row in X],
        dtype=np.int32,
    ).reshape(len(X), ensemble.n_trees)


def predict_raw(ensemble, X):
    """Scores, of shape (n_rows, n_outputs)."""
    scores = np.tile(ensemble.base_score, (len(X), 1))
    n_values = ensemble.value.shape[1]
    for i, leaves in enumerate(apply(ensemble, X)):
        for tree, leaf_ in enumerate(leaves):
            node = ensemble.tree_offset[tree] + leaf_
            for k in range(n_values):
                output = k if n_values > 1 else ensemble.tree_output[tree]
                scores[i, output] += added(ensemble, node, X[i], k)
    return scores


def binned_leaf(tree, bins):
    """The node in which a training row, given by its bins, ends."""
    node = 0
    while tree.feature[node] >= 0:
        b = int(bins[tree.feature[node]])
        if b == 255:
            left = tree.missing_left[node]
        elif tree.category_set[node] >= 0:
            left = int(tree.category_bits[tree.category_set[node], b // 32]) >> (b % 32) & 1
        else:
            left = b <= tree.split_bin[node]
        node = int(tree.left[node] if left else tree.right[node])
    return node
