"""Random trees and ensembles that keep every rule of the structure."""

from dataclasses import replace

import numpy as np

from hedgerow._tree.linear_leaves import LinearLeaves
from hedgerow._tree.structure import Ensemble, Tree


def random_tree(
    rng, n_leaves, n_features, *, n_categorical=0, thresholds=None, chain=False, n_values=1
):
    """A tree of ``n_leaves`` leaves; the last ``n_categorical`` features are categorical.

    ``thresholds`` are the numbers to split at, of which a node takes one (and its rank as its bin).
    """
    thresholds = np.linspace(-2, 2, 50) if thresholds is None else thresholds
    children = {}
    leaves, n_nodes = [0], 1
    while len(leaves) < n_leaves:
        parent = leaves.pop() if chain else leaves.pop(rng.integers(len(leaves)))
        children[parent] = (n_nodes, n_nodes + 1)
        leaves += [n_nodes, n_nodes + 1]
        n_nodes += 2
    inner = np.array(sorted(children), dtype=np.int64)
    feature = np.full(n_nodes, -1, dtype=np.int32)
    feature[inner] = rng.integers(n_features, size=len(inner))
    categorical = np.flatnonzero(feature >= n_features - n_categorical)
    category_set = np.full(n_nodes, -1, dtype=np.int32)
    category_set[categorical] = rng.permutation(len(categorical))
    split_bin = np.zeros(n_nodes, dtype=np.uint8)
    threshold = np.zeros(n_nodes)
    numeric = np.setdiff1d(inner, categorical)
    place = rng.integers(len(thresholds), size=len(numeric))
    split_bin[numeric] = np.minimum(place, 254)
    threshold[numeric] = np.asarray(thresholds, dtype=np.float64)[place]
    links = np.full((2, n_nodes), -1, dtype=np.int32)
    for parent, (left, right) in children.items():
        links[:, parent] = (left, right) if rng.random() < 0.5 else (right, left)
    is_inner = feature >= 0
    return Tree(
        feature=feature,
        threshold=threshold,
        left=links[0],
        right=links[1],
        missing_left=is_inner & (rng.random(n_nodes) < 0.5),
        category_set=category_set,
        value=rng.normal(size=(n_nodes, n_values)),
        gain=np.where(is_inner, rng.random(n_nodes), 0.0),
        cover=rng.random(n_nodes),
        count=rng.integers(1, 100, size=n_nodes),
        category_bits=rng.integers(2**32, size=(len(categorical), 8), dtype=np.uint32),
        split_bin=split_bin,
    )


def with_shared_tests(rng, tree, n_tests):
    """Give the tree with at most so many different tests, each of an inner node of it."""
    inner = np.flatnonzero(tree.feature >= 0)
    if len(inner) == 0:
        return tree
    source = np.arange(tree.n_nodes)
    source[inner] = rng.choice(rng.permutation(inner)[:n_tests], size=len(inner))
    return _with_tests_of(tree, source)


def _with_tests_of(tree, source):
    """Give the tree in which each node has the test of another, or of itself."""
    sets = tree.category_set[source]
    return replace(
        tree,
        feature=tree.feature[source],
        threshold=tree.threshold[source],
        missing_left=tree.missing_left[source],
        split_bin=tree.split_bin[source],
        category_set=np.where(sets >= 0, np.cumsum(sets >= 0) - 1, -1).astype(np.int32),
        category_bits=tree.category_bits[sets[sets >= 0]],
    )


def symmetric_tree(rng, depth, n_features, **options):
    """A full tree of this depth, in which all nodes of a level share a test."""
    tree = random_tree(rng, 2**depth, n_features, **options)
    nodes = np.arange(tree.n_nodes)
    inner = np.flatnonzero(tree.feature >= 0)
    leaf = np.flatnonzero(tree.feature < 0)[0]
    level = np.frexp(nodes + 1)[1] - 1  # children of node i are 2 i + 1 and 2 i + 2
    source = np.where(level < depth, np.append(inner, leaf)[np.minimum(level, len(inner))], leaf)
    left = np.where(level < depth, 2 * nodes + 1, -1).astype(np.int32)
    right = np.where(level < depth, 2 * nodes + 2, -1).astype(np.int32)
    gain = np.where(level < depth, 1.0, 0.0)
    return replace(_with_tests_of(tree, source), left=left, right=right, gain=gain)


def random_slopes(rng, tree, n_numeric):
    """Up to three slopes for every leaf, some for none."""
    size = np.where(tree.feature < 0, rng.integers(0, 4, tree.n_nodes), 0)
    n_terms = int(size.sum())
    ends = np.sort(rng.normal(size=(2, n_terms)), axis=0)
    shape = (n_terms, tree.value.shape[1])
    return LinearLeaves(
        start=np.concatenate([[0], np.cumsum(size)]).astype(np.int64),
        feature=rng.integers(n_numeric, size=n_terms).astype(np.int32),
        coefficient=rng.normal(size=shape),
        centre=rng.normal(size=shape),
        low=ends[0],
        high=ends[1],
    )


def random_ensemble(rng, leaves, n_features, *, n_outputs=1, vector=False, n_tests=None, **options):
    """One tree for each number in ``leaves``: the outputs in turn, or each adding to all.

    ``n_tests`` is the number of different tests of each tree, if nodes share them.
    """
    n_values = n_outputs if vector else 1
    trees = [random_tree(rng, n, n_features, n_values=n_values, **options) for n in leaves]
    if n_tests is not None:
        trees = [with_shared_tests(rng, tree, n_tests) for tree in trees]
    outputs = np.arange(len(trees)) % (1 if vector else n_outputs)
    return Ensemble.from_trees(trees, outputs, rng.normal(size=n_outputs), n_features)


def random_rows(rng, n_rows, n_features, *, n_categorical=0, missing=0.1, thresholds=None):
    """Rows with values at and between the thresholds, bins, numbers that are no bins, and NaN."""
    thresholds = np.linspace(-2, 2, 50) if thresholds is None else thresholds
    X = rng.normal(size=(n_rows, n_features))
    exact = rng.random(X.shape) < 0.3
    X[exact] = rng.choice(thresholds, size=exact.sum())
    if n_categorical:
        bins = rng.integers(-2, 258, size=(n_rows, n_categorical)).astype(np.float64)
        bins[rng.random(bins.shape) < 0.1] += 0.5
        X[:, n_features - n_categorical :] = bins
    X[rng.random(X.shape) < missing] = np.nan
    return X
