"""Oracles for monotone constraints, from the definition: f(x) ≤ f(x') for all x and x' that differ
in the constrained feature alone, both known there, x_f < x'_f.

Two leaves are comparable if such x and x' reach them; leaves far from each other may be.
`assert_monotone` holds all of them to their order, `best_values` finds the best values within it,
and `assert_best_growth` holds every step of a tree's growth to this rule:

    Each leaf has a weight. A new leaf's is its best one, w(G, H) of oracles/grow.py, within the
    limits that the weights of comparable leaves set; of two new ones that are comparable the lower
    is limited by what limits the upper, too, and the upper by the lower. A split gains what its
    children's weights do within the limits that they would have, against the leaf's within its own;
    one whose children would be in the wrong order is not allowed. All else is as in
    oracles/grow.py, but that a numeric cut of binned columns may be at any bin between two that
    have rows, for the limits of its children depend on it. Once the tree is grown, the leaves'
    weights are those nearest to w(G, H), by Σ (H + λ)(v − w)², that are monotone together.
"""

from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

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
    weight,
)

EVERY_CATEGORY = frozenset(range(256))
EVERY_NUMBER = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Cut:
    """Numbers up to `end`, or these categories, go left."""

    feature: int
    end: float
    missing_left: bool
    categories: frozenset[int] | None = None


def cut_of(tree: Any, node: int, by_bin: tuple | None = None) -> Cut:
    """Return a node's split by threshold or, of binned columns, by bin (`by_bin` is n_bins)."""
    f, categories = int(tree.feature[node]), category_set(tree, node)
    if by_bin is None:
        end = float(tree.threshold[node])
        end = np.inf if end == EVERY_NUMBER else end
    else:
        end = float(tree.split_bin[node])
        end = np.inf if end == by_bin[f] - 1 else end
    return Cut(f, end, bool(tree.missing_left[node]), categories)


@dataclass(frozen=True)
class Values:
    """Values of one feature: numbers in (low, high], categories, and perhaps the missing one."""

    low: float = -np.inf
    high: float = np.inf
    missing: bool = True
    categories: frozenset[int] = EVERY_CATEGORY

    def part(self, cut: Cut, left: bool) -> "Values":
        missing = self.missing and cut.missing_left == left
        if cut.categories is not None:
            kept = self.categories & cut.categories if left else self.categories - cut.categories
            return replace(self, missing=missing, categories=kept)
        if left:
            return replace(self, missing=missing, high=min(self.high, cut.end))
        return replace(self, missing=missing, low=max(self.low, cut.end))

    def meets(self, other: "Values", categorical: bool) -> bool:
        if self.missing and other.missing:
            return True
        if categorical:
            return bool(self.categories & other.categories)
        return max(self.low, other.low) < min(self.high, other.high)


Box = dict[int, Values]  # of the features that were tested on the way


def part(box: Box, cut: Cut, left: bool) -> Box:
    return box | {cut.feature: box.get(cut.feature, Values()).part(cut, left)}


def leaf_boxes(tree: Any) -> dict[int, Box]:
    boxes: dict[int, Box] = {0: {}}
    for node in np.flatnonzero(tree.feature >= 0):
        box, cut = boxes.pop(int(node)), cut_of(tree, node)
        boxes[int(tree.left[node])] = part(box, cut, left=True)
        boxes[int(tree.right[node])] = part(box, cut, left=False)
    return boxes


def order(a: Box, b: Box, directions, is_categorical) -> int:
    """Return 1 if a's weight may not exceed b's, -1 if b's not a's, 0 if neither."""
    apart = [f for f in a.keys() & b.keys() if not a[f].meets(b[f], is_categorical[f])]
    if len(apart) != 1 or directions[apart[0]] == 0:
        return 0
    one, other = a[apart[0]], b[apart[0]]
    if not (one.low < one.high and other.low < other.high):
        return 0
    assert one.high <= other.low or other.high <= one.low
    return directions[apart[0]] if one.high <= other.low else -directions[apart[0]]


def comparable(boxes: dict[int, Box], directions, is_categorical) -> list[tuple[int, int]]:
    """Return all (lower, upper) of leaves."""
    pairs = []
    for a, b in combinations(boxes, 2):
        direction = order(boxes[a], boxes[b], directions, is_categorical)
        if direction:
            pairs.append((a, b) if direction > 0 else (b, a))
    return pairs


def assert_monotone(tree: Any, directions, is_categorical) -> int:
    """Hold all comparable leaves to their order; return how many pairs there are."""
    value = np.ravel(tree.value)
    pairs = comparable(leaf_boxes(tree), directions, is_categorical)
    for lower, upper in pairs:
        assert value[lower] <= value[upper], f"leaf {lower}: {value[lower]} > {value[upper]}"
    return len(pairs)


def best_values(target, weights, pairs) -> np.ndarray:
    """Minimise Σ weight (v − target)² with v[lower] <= v[upper] for pairs of indices, up to 16.

    By minimum lower sets (Brunk 1955): of all sets that hold with an index all that is below it,
    the largest of least mean has this mean as value; then the same without it.
    """
    n = len(target)
    subsets = np.arange(1 << n)[:, None] >> np.arange(n) & 1 == 1
    for lower, upper in pairs:
        subsets = subsets[subsets[:, lower] | ~subsets[:, upper]]
    value, done = np.empty(n), np.zeros(n, bool)
    while not done.all():
        subsets = subsets[(subsets >= done).all(axis=1) & (subsets != done).any(axis=1)]
        new = (subsets & ~done).astype(float)
        mean = (new @ (weights * target)) / (new @ weights)
        least = np.flatnonzero(mean <= mean.min() + 1e-12 * np.abs(target).max())
        chosen = least[new[least].sum(axis=1).argmax()]
        value[subsets[chosen] & ~done] = mean[chosen]
        done = subsets[chosen]
    return value


@dataclass
class Leaf:
    rows: Any
    box: Box
    depth: int
    path: frozenset[int]
    weight: float


@dataclass(frozen=True)
class Tried:
    """A candidate: its gain, the feature's weight, and the size of the numbers behind the gain."""

    cut: Cut
    gain: float
    importance: float
    magnitude: float

    @property
    def weighted_gain(self) -> float:
        return self.importance * self.gain


class Growth:
    """A tree's growth, replayed split by split."""

    def __init__(self, columns: Columns, g, h, params: GrowthParams, rtol: float) -> None:
        self.columns, self.g, self.h, self.params, self.rtol = columns, g, h, params, rtol
        rows = np.arange(columns.codes.shape[1])
        self.leaves = {0: Leaf(rows, {}, 0, frozenset(), 0.0)}
        self.leaves[0].weight = self.free_weight(rows)

    def free_weight(self, rows) -> float:
        return float(weight(*node_sums(rows, self.g, self.h), self.params))

    def limits(self, box: Box, but: int) -> tuple[float, float]:
        """Return what the weight of such a leaf must lie within, given all leaves but one."""
        low, high = -np.inf, np.inf
        for node, leaf in self.leaves.items():
            sign = 0 if node == but else self.order(box, leaf.box)
            low = max(low, leaf.weight) if sign < 0 else low
            high = min(high, leaf.weight) if sign > 0 else high
        return low, high

    def order(self, a: Box, b: Box) -> int:
        return order(a, b, self.params.directions, self.columns.is_categorical)

    def score(self, rows, limits, extra_lambda=0.0) -> tuple[float, float, float]:
        """Return the weight within limits, −2 × the objective there, and the size of its terms."""
        G, H = node_sums(rows, self.g, self.h)
        w = float(np.clip(weight(G, H, self.params, extra_lambda), *limits))
        terms = (
            2 * G * w,
            (H + self.params.reg_lambda + extra_lambda) * w * w,
            2 * self.params.reg_alpha * abs(w),
        )
        return w, -sum(terms), sum(map(abs, terms))

    def judge(self, node: int, cut: Cut, extra_lambda: float) -> Tried | None:
        """Return a split with its gain, or None if it is not allowed."""
        leaf, params = self.leaves[node], self.params
        left = self.goes_left(leaf.rows, cut)
        sides = leaf.rows[left], leaf.rows[~left]
        least = least_weight(params)
        if min(map(len, sides)) < max(1, params.min_samples_leaf) or any(
            node_sums(rows, self.g, self.h)[1] < least for rows in sides
        ):
            return None
        boxes = part(leaf.box, cut, left=True), part(leaf.box, cut, left=False)
        scored = [
            self.score(rows, self.limits(box, node), extra_lambda)
            for rows, box in zip(sides, boxes, strict=True)
        ]
        if self.order(*boxes) * (scored[1][0] - scored[0][0]) < 0:
            return None
        own = self.score(leaf.rows, self.limits(leaf.box, node))
        gain = (scored[0][1] + scored[1][1] - own[1]) / 2 - params.min_split_gain
        size = scored[0][2] + scored[1][2] + own[2] + params.min_split_gain
        return Tried(cut, gain, feature_weight(params, cut.feature), size)

    def goes_left(self, rows, cut: Cut):
        codes = self.columns.codes[cut.feature, rows]
        if cut.categories is not None:
            return np.isin(codes, list(cut.categories))
        if self.columns.values is None:
            left = codes <= cut.end
        else:
            left = np.append(self.columns.values[cut.feature], np.nan)[codes] <= cut.end
        return np.where(codes == MISSING, cut.missing_left, left)

    def candidates(self, node: int, f: int) -> list[tuple[Cut, float]]:
        """Return all cuts of a leaf on a feature, each with the λ that it adds."""
        rows = self.leaves[node].rows
        codes = self.columns.codes[f, rows]
        if self.columns.is_categorical[f]:
            tried = categorical_candidates(codes, self.g[rows], self.h[rows], self.params)
            return [(Cut(f, 0.0, False, s["categories"]), tried.extra_lambda) for s in tried.splits]
        present = np.unique(codes[codes != MISSING])
        has_missing = len(present) > 0 and bool((codes == MISSING).any())
        cuts = [Cut(f, np.inf, missing_left=False)] if has_missing else []
        for end, n_left in self.ends(f, codes, present):
            sides = [False, True] if has_missing else [2 * n_left >= len(rows)]
            cuts += [Cut(f, end, missing_left) for missing_left in sides]
        return [(cut, 0.0) for cut in cuts]

    def ends(self, f: int, codes, present) -> list[tuple[float, int]]:
        """Return where a cut may end between two values, and the known rows up to there."""
        if len(present) < 2:
            return []
        if self.columns.values is None:
            ends = range(present[0], present[-1])
            return [(float(b), int(((codes != MISSING) & (codes <= b)).sum())) for b in ends]
        return [
            (self.columns.threshold(f, a, b), int(((codes != MISSING) & (codes <= a)).sum()))
            for a, b in pairwise(present)
        ]

    def best(self, node: int) -> Tried | None:
        leaf, params = self.leaves[node], self.params
        if params.max_depth and leaf.depth >= params.max_depth:
            return None
        tried = [
            self.judge(node, *candidate)
            for f in range(len(self.columns.codes))
            if may_follow(f, leaf.path, params)
            for candidate in self.candidates(node, f)
        ]
        return max((t for t in tried if t is not None), key=lambda t: t.weighted_gain, default=None)

    def certain_gain(self, node: int) -> float:
        """Return what a leaf can surely gain."""
        best = self.best(node)
        return 0.0 if best is None else best.weighted_gain - self.slack(best)

    def slack(self, tried: Tried) -> float:
        return self.rtol * tried.importance * tried.magnitude

    def extra_lambda(self, node: int, cut: Cut) -> float:
        if cut.categories is None:
            return 0.0
        codes = self.columns.codes[cut.feature, self.leaves[node].rows]
        n_present = len(np.unique(codes[codes != MISSING]))
        return self.params.cat_l2 if n_present > self.params.max_cat_to_onehot else 0.0

    def split(self, node: int, cut: Cut, left: int, right: int) -> None:
        parent = self.leaves.pop(node)
        goes_left = self.goes_left(parent.rows, cut)
        boxes = part(parent.box, cut, left=True), part(parent.box, cut, left=False)
        children = {
            child: Leaf(
                rows, box, parent.depth + 1, parent.path | {cut.feature}, self.free_weight(rows)
            )
            for child, rows, box in zip(
                (left, right), (parent.rows[goes_left], parent.rows[~goes_left]), boxes, strict=True
            )
        }
        limits = {child: self.limits(leaf.box, -1) for child, leaf in children.items()}
        sign = self.order(*boxes)
        lower, upper = (right, left) if sign < 0 else (left, right)
        if sign:
            limits[lower] = limits[lower][0], min(limits[lower][1], limits[upper][1])
        children[lower].weight = float(np.clip(children[lower].weight, *limits[lower]))
        if sign:
            limits[upper] = max(limits[upper][0], children[lower].weight), limits[upper][1]
        children[upper].weight = float(np.clip(children[upper].weight, *limits[upper]))
        self.leaves |= children


def assert_best_growth(
    tree: Any, columns: Columns, g, h, params: GrowthParams, rtol: float = 1e-9
) -> None:
    """Hold every split, the order of splits and all values of a tree to the rule."""
    growth, by_bin = Growth(columns, g, h, params, rtol), None
    if columns.values is None:
        by_bin = tuple(columns.n_bins)
    value, rate = np.ravel(tree.value), params.learning_rate
    inner = np.flatnonzero(tree.feature >= 0)
    for node in inner[np.argsort(tree.left[inner])].tolist():
        size = np.abs(g).sum() / (h[growth.leaves[node].rows].sum() + params.reg_lambda)
        assert abs(value[node] - rate * growth.leaves[node].weight) <= rtol * rate * size
        cut = cut_of(tree, node, by_bin)
        chosen = growth.judge(node, cut, growth.extra_lambda(node, cut))
        assert chosen is not None, f"node {node}: {cut} is not allowed"
        assert abs(tree.gain[node] - chosen.gain) <= rtol * chosen.magnitude, f"node {node}: gain"
        assert chosen.gain > -rtol * chosen.magnitude
        assert_next(growth, node, chosen)
        growth.split(node, cut, int(tree.left[node]), int(tree.right[node]))
    if params.max_leaves == 0 or len(growth.leaves) < params.max_leaves:
        assert all(growth.certain_gain(node) <= 0 for node in growth.leaves), "could grow on"
    assert_best_values(tree, growth)


def assert_next(growth: Growth, node: int, chosen: Tried) -> None:
    """Check that the leaf follows the policy, and that its split has the largest weighted gain."""
    for other, leaf in growth.leaves.items():
        before = (leaf.depth, other) < (growth.leaves[node].depth, node)
        if other == node or growth.params.grow_policy == "leafwise":
            most = chosen.weighted_gain + growth.slack(chosen)
            assert growth.certain_gain(other) <= most, (
                f"leaf {other} has {growth.best(other)}, but {node} was split by {chosen}"
            )
        elif before:
            assert growth.certain_gain(other) <= 0, f"leaf {other} should come before {node}"


def assert_best_values(tree: Any, growth: Growth) -> None:
    params, nodes = growth.params, list(growth.leaves)
    boxes = {node: leaf.box for node, leaf in growth.leaves.items()}
    pairs = [
        (nodes.index(a), nodes.index(b))
        for a, b in comparable(boxes, params.directions, growth.columns.is_categorical)
    ]
    rows = [growth.leaves[node].rows for node in nodes]
    target = np.array([growth.free_weight(each) for each in rows])
    heft = np.array([growth.h[each].sum() for each in rows]) + params.reg_lambda
    best = params.learning_rate * best_values(target, heft, pairs)
    scale = params.learning_rate * max(1e-300, np.abs(target).max())
    np.testing.assert_allclose(np.ravel(tree.value)[nodes], best, rtol=0, atol=1e-7 * scale)
