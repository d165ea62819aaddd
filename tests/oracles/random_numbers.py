"""Random numbers as native/shared/random.hpp defines them, in Python's integers.

A number is a hash of (seed, purpose, a, b), so a test can say which rows and features a fit must
have drawn.
"""

from math import floor

GOLDEN = 0x9E3779B97F4A7C15
PURPOSES = {
    "row_sample": 2,
    "tree_features": 3,
    "level_features": 4,
    "node_features": 5,
    "cart_features": 6,
    "bootstrap": 9,
    "holdout": 12,
    "fold": 13,
    "statistics_order": 14,
    "member_seed": 15,
}


def _wrapped(x):
    return x % 2**64


def mix(x):
    x = _wrapped((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9)
    x = _wrapped((x ^ (x >> 27)) * 0x94D049BB133111EB)
    return x ^ (x >> 31)


def hash_of(seed, purpose, a, b):
    key = mix(_wrapped(seed + GOLDEN))
    key = mix(_wrapped(key + GOLDEN * PURPOSES[purpose]))
    key = mix(_wrapped(key + GOLDEN * a))
    return mix(_wrapped(key + GOLDEN * b))


def unit_interval(bits):
    return (bits >> 11) / 2**53


def root_key(tree_id):
    return mix(_wrapped(tree_id + GOLDEN))


def child_key(parent, *, is_right):
    return mix(_wrapped(parent + GOLDEN * (2 if is_right else 1)))


def sampled_features(features, fraction, seed, purpose, a):
    """Return the fraction of the features, at least one, that has the smallest hashes."""
    size = max(1, floor(fraction * len(features) + 0.5))
    ranked = sorted(features, key=lambda feature: hash_of(seed, purpose, a, feature))
    return sorted(ranked[:size])


def features_of_nodes(tree, n_features, params, tree_id=0):
    """Return the features that each node of a tree may use, without interaction constraints."""
    allowed = {}

    def visit(node, key, depth):
        level = root_key(tree_id) + depth
        of_level = sampled_features(
            range(n_features), params.colsample_bylevel, params.seed, "level_features", level
        )
        allowed[node] = sampled_features(
            of_level, params.colsample_bynode, params.seed, "node_features", key
        )
        if tree.left[node] >= 0:
            visit(tree.left[node], child_key(key, is_right=False), depth + 1)
            visit(tree.right[node], child_key(key, is_right=True), depth + 1)

    visit(0, root_key(tree_id), 0)
    return allowed
