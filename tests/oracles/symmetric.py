"""The oracle for symmetric trees: every test of every level, tried in every leaf.

This docstring is the specification; scores, weights and the least child are those of `grow.py`.

Tests. All leaves of a level share one test. Those of a feature follow from the rows of the tree:
    Numeric: "x ≤ b" for each bin b, with missing values on the right, then, if the tree has any and
        b is not the last bin, on the left. "All values | missing" is the last bin with missing
        values on the right; a lower bin with the same rows on the left in every leaf of the level
        is replaced by it. If no leaf of the level has a missing value, they go to the larger side
        of the leaves that are divided, taken together (left if equal).
    Categorical: as in a node of `grow.py` with all rows of the tree.

Gain. A leaf is divided if each side has the rows and Σh of a child; it gains
½ [score(left) + score(right) − score(leaf)], which may be negative. Other leaves gain nothing and
stay as they are. With a monotonic constraint, a leaf whose sides have weights in the wrong order
gains nothing, but is divided; "all values | missing" needs no order. The gain of a test is the sum
over the leaves, less γ.

Growth. The test with the largest gain (times the feature's weight) divides the level, if its gain
is positive: of equals the lower feature, then the first test. The leaves of the next level are the
children and the leaves that were not divided, in the order of the level. There are at most
max_depth levels, and 2^levels is at most max_leaves.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._tree.growth_params import GrowthParams
from oracles.grow import (
    MISSING,
    Columns,
    categorical_candidates,
    category_set,
    feature_weight,
    least_weight,
    may_follow,
    node_sums,
    score,
    weight,
)


@dataclass(frozen=True)
class Test:
    """A test, as the codes that go left (a flag for each, the last one for missing values)."""

    __test__ = False  # not for pytest

    feature: int
    goes_left: NDArray[np.bool_]
    extra_lambda: float = 0.0
    needs_order: bool = True

    def takes(self, columns: Columns, rows) -> NDArray[np.bool_]:
        """Whether each row goes left."""
        return self.goes_left[columns.codes[self.feature, rows]]


def tests_of(columns: Columns, f: int, rows, g, h, params: GrowthParams) -> list[Test]:
    """Return the tests of a feature, given the rows of the tree."""
    n_bins, codes = int(columns.n_bins[f]), columns.codes[f, rows]
    if columns.is_categorical[f]:
        tried = categorical_candidates(codes, g[rows], h[rows], params)
        sets = [sorted(split["categories"]) for split in tried.splits]
        return [Test(f, np.isin(np.arange(n_bins + 1), s), tried.extra_lambda) for s in sets]
    has_missing = bool((codes == MISSING).any())
    tests = []
    for b in range(n_bins if has_missing else n_bins - 1):
        below = np.arange(n_bins + 1) <= b
        tests.append(Test(f, below, needs_order=b < n_bins - 1))
        if has_missing and b < n_bins - 1:
            tests.append(Test(f, below | (np.arange(n_bins + 1) == n_bins)))
    return tests


def is_divided(test: Test, columns: Columns, rows, h, params: GrowthParams) -> bool:
    """Whether both sides of a leaf are large enough."""
    left = test.takes(columns, rows)
    least = max(1, params.min_samples_leaf)
    lightest = min(math.fsum(h[rows[left]]), math.fsum(h[rows[~left]]))
    return min(left.sum(), (~left).sum()) >= least and lightest >= least_weight(params)


def gain_of(test: Test, columns: Columns, leaves, g, h, params: GrowthParams) -> tuple[Any, Any]:
    """Return the gain of a test over the leaves of a level, and the size of what it adds up."""
    gain, size = -params.min_split_gain, params.min_split_gain
    for rows in leaves:
        whole = float(score(*node_sums(rows, g, h), params))
        size += abs(whole)
        if not is_divided(test, columns, rows, h, params):
            continue
        left = test.takes(columns, rows)
        sums = [node_sums(rows[side], g, h) for side in (left, ~left)]
        direction = params.directions[test.feature] if params.directions else 0
        w_left, w_right = (float(weight(G, H, params)) for G, H in sums)
        if test.needs_order and direction * (w_right - w_left) < 0:
            continue
        children = [float(score(G, H, params, test.extra_lambda)) for G, H in sums]
        size += sum(map(abs, children))
        gain += math.fsum([*children, -whole]) / 2
    return gain, size


def most_levels(params: GrowthParams) -> int:
    most = int(math.log2(params.max_leaves or 65_535))
    return min(most, params.max_depth or most)


def assert_symmetric(
    tree: Any, columns: Columns, g, h, params: GrowthParams, *, rows=None, features=None, rtol=1e-9
) -> int:
    """Hold a tree to the specification, ties aside; return the number of its levels.

    `features` are those that each level may use, all by default. The gain of a level's test must be
    within `rtol` of the best, relative to the scores that it is a difference of.
    """
    rows = np.arange(columns.codes.shape[1]) if rows is None else np.asarray(rows)
    tests = {f: tests_of(columns, f, rows, g, h, params) for f in range(len(columns.codes))}
    level, level_rows = [0], {0: rows}
    path: frozenset[int] = frozenset()
    n_nodes = n_levels = 0
    while True:
        n_nodes += 1
        divided = [node for node in level if tree.left[node] >= n_nodes]
        is_over = n_levels == most_levels(params) or not any(tree.left[n] == n_nodes for n in level)
        allowed = range(len(columns.codes)) if features is None else features[n_levels]
        tried = [
            (test, *gain_of(test, columns, [level_rows[n] for n in level], g, h, params))
            for f in allowed if may_follow(f, path, params) for test in tests[f]
        ] if n_levels < most_levels(params) else []  # fmt: skip
        best = max(
            (feature_weight(params, t.feature) * (gain - rtol * size) for t, gain, size in tried),
            default=0.0,
        )
        if is_over:
            assert not divided, "a node is divided after the last level"
            assert best <= 0, f"level {n_levels} could have been divided"
            break
        first = next(n for n in level if tree.left[n] == n_nodes)
        test = chosen_test(tree, first, columns, tests)
        f = test.feature
        assert f in allowed, f"level {n_levels}: feature {f} is not allowed"
        assert may_follow(f, path, params), f"level {n_levels}: {f} may not follow {path}"
        leaves = [level_rows[node] for node in level]
        gain, size = gain_of(test, columns, leaves, g, h, params)
        assert gain > -rtol * size, f"level {n_levels}: gain {gain}"
        assert feature_weight(params, f) * (gain + rtol * size) >= best, (
            f"level {n_levels}: {gain} < {best}"
        )
        check_missing(tree, first, test, columns, leaves, h, params)
        level = next_level(tree, level, first, test, columns, level_rows, h, params, n_nodes)
        n_nodes = max(level)
        path |= {f}
        n_levels += 1
    assert n_nodes == len(tree.feature), "nodes that no level has"
    for node, of_node in level_rows.items():
        check_node(tree, node, of_node, columns, tests, g, h, params, rtol)
    return n_levels


def chosen_test(tree, node: int, columns: Columns, tests) -> Test:
    """Return the test of a node, by the codes that it sends left."""
    f = int(tree.feature[node])
    codes = np.arange(int(columns.n_bins[f]) + 1)
    categories = category_set(tree, node)
    left = codes <= tree.split_bin[node] if categories is None else np.isin(codes, list(categories))
    left[-1] = tree.missing_left[node]
    same = [test for test in tests[f] if (test.goes_left[:-1] == left[:-1]).all()]
    assert same, f"node {node}: no such test of feature {f}"
    exact = [test for test in same if test.goes_left[-1] == left[-1]]
    return exact[0] if exact else same[0]


def check_missing(tree, node: int, test: Test, columns: Columns, leaves, h, params) -> None:
    """Where missing values go that no leaf has, and the threshold above all numbers."""
    f = test.feature
    if columns.is_categorical[f]:
        assert not tree.missing_left[node]
        return
    codes = [columns.codes[f, rows] for rows in leaves]
    if not any((c == MISSING).any() for c in codes):
        divided = [rows for rows in leaves if is_divided(test, columns, rows, h, params)]
        n_left = sum(int(test.takes(columns, rows).sum()) for rows in divided)
        assert tree.missing_left[node] == (2 * n_left >= sum(map(len, divided)))
    elif not tree.missing_left[node]:
        largest = max(int(c.max()) for c in codes)
        assert tree.split_bin[node] < largest or tree.split_bin[node] == columns.n_bins[f] - 1


def next_level(tree, level, first, test, columns, level_rows, h, params, n_nodes) -> list[int]:
    """Divide the leaves of a level by its test, and hold the tree's nodes to it."""
    following = []
    for node in level:
        rows = level_rows[node]
        if not is_divided(test, columns, rows, h, params):
            following.append(node)  # a later level may divide it
            continue
        assert (tree.left[node], tree.right[node]) == (n_nodes, n_nodes + 1), f"node {node}"
        for name in ("feature", "split_bin", "missing_left", "threshold"):
            assert getattr(tree, name)[node] == getattr(tree, name)[first], f"{name} of {node}"
        assert category_set(tree, node) == category_set(tree, first)
        left = test.takes(columns, rows)
        level_rows[n_nodes], level_rows[n_nodes + 1] = rows[left], rows[~left]
        following += [n_nodes, n_nodes + 1]
        n_nodes += 2
    return following


def check_node(tree, node: int, rows, columns, tests, g, h, params: GrowthParams, rtol) -> None:
    """Count, cover, value and gain of a node."""
    G, H = node_sums(rows, g, h)
    assert tree.count[node] == len(rows)
    assert abs(tree.cover[node] - H) <= rtol * H
    if not params.directions:
        expected = params.learning_rate * float(weight(G, H, params))
        size = math.fsum(np.abs(g[rows])) / max(H + params.reg_lambda, 1e-300)
        assert (
            abs(float(np.ravel(tree.value)[node]) - expected) <= rtol * params.learning_rate * size
        )
    if tree.feature[node] < 0:
        assert tree.gain[node] == 0
        return
    test = chosen_test(tree, node, columns, tests)
    left = test.takes(columns, rows)
    sums = [node_sums(rows[side], g, h) for side in (left, ~left)]
    scores = [float(score(*s, params, test.extra_lambda)) for s in sums]
    whole = float(score(G, H, params))
    gain = math.fsum([*scores, -whole]) / 2
    assert abs(tree.gain[node] - gain) <= rtol * (sum(map(abs, scores)) + abs(whole))
