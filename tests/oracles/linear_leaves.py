"""Linear leaves the slow and obvious way: a leaf at a time, its value and slopes in one system."""

import numpy as np

BEYOND = 0.1
ROWS_PER_TERM = 5
MOST_TERMS = 24


def path_features(tree, leaf):
    """The numeric features on the way to a leaf, as many of the last ones as its rows allow."""
    parent = {int(child): node for node in range(tree.n_nodes) for child in children(tree, node)}
    most, features = min(MOST_TERMS, tree.count[leaf] // ROWS_PER_TERM), []
    node = parent.get(leaf)
    while node is not None and len(features) < most:
        feature = int(tree.feature[node])
        if tree.category_set[node] < 0 and feature not in features:
            features.append(feature)
        node = parent.get(node)
    return sorted(features)


def varying(X, features):
    """Those of the features that have two numbers or more in these rows."""
    return [f for f in features if len(np.unique(X[np.isfinite(X[:, f]), f])) > 1]


def children(tree, node):
    return (tree.left[node], tree.right[node]) if tree.feature[node] >= 0 else ()


def fit_leaf(X, g, h, *, reg_lambda, linear_lambda):
    """The value, the slopes and the centres that minimise Σ (g f + ½ h f²) and the penalties.

    The value is not centred by hand: that it comes out as −G / (H + λ) is what centres are for.
    """
    there = np.isfinite(X)
    weight = there * h[:, None]
    total = weight.sum(axis=0)
    centre = np.where(there, X, 0.0).T @ h / total
    Z = np.where(there, X - centre, 0.0)
    variance = (weight * Z**2).sum(axis=0) / total
    A = np.column_stack([np.ones(len(X)), Z])
    normal = A.T @ (h[:, None] * A) + np.diag([reg_lambda, *(linear_lambda * variance)])
    solution = np.linalg.solve(normal, -A.T @ g)
    return solution[0], solution[1:], centre


def limits(X):
    """Within which numbers a leaf goes on."""
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    beyond = BEYOND * (high - low)
    return low - beyond, high + beyond


def added(ensemble, node, row, k):
    """What a leaf, counted over all trees, adds to output k of a row."""
    total = ensemble.value[node, k]
    slopes = ensemble.slopes
    if slopes is None:
        return total
    for t in range(slopes.start[node], slopes.start[node + 1]):
        x = float(row[slopes.feature[t]])
        if np.isfinite(x):
            clipped = min(max(x, slopes.low[t]), slopes.high[t])
            total += slopes.coefficient[t, k] * (clipped - slopes.centre[t, k])
    return total
