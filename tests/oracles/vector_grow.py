"""The oracle for growing one tree for all outputs: as `oracles.grow`, but for what follows.

Gradients and hessians are (n_rows, K). A node has a value for each output. A split gains
    ½ Σ_k [score_k(left) + score_k(right) − score_k(node)] − γ.
A row's weight is its mean hessian over the outputs: what min_child_weight and min_category_weight
ask for, and what a node's cover is the sum of.

Categories that are sorted lie in K dimensions, at √(H_k / ΣH) · G_ck / (H_ck + cat_smooth), where
H_k is the node's. Their order is that of their places along the line on which they, weighted, are
most spread out: what twelve steps of power iteration make of the one that lies farthest out.

Directions. An output gains nothing by a cut between numbers that would put its two weights in the
wrong order. The leaves' weights of an output are those nearest to w(G, H) that are monotone
together, by Σ (H + λ)(v − w)², where H is the mean over the outputs.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._tree.growth_params import GrowthParams
from oracles.grow import (
    MISSING,
    Columns,
    Split,
    Walk,
    category_set,
    feature_weight,
    least_weight,
    may_follow,
    score,
    weight,
)
from oracles.monotone import best_values, comparable, leaf_boxes

STEPS = 12


@dataclass(frozen=True)
class Candidate:
    """A split, and the codes that it sends left."""

    left: list[int]
    fields: dict[str, Any]
    extra_lambda: float = 0.0


def sums_by_code(codes, values) -> dict[int, NDArray[np.longdouble]]:
    return {int(c): values[codes == c].sum(axis=0) for c in np.unique(codes)}


def candidates(columns: Columns, f: int, codes, g, h, params: GrowthParams) -> list[Candidate]:
    """Return a feature's splits in order of preference."""
    present = [int(c) for c in np.unique(codes) if c != MISSING]
    if columns.is_categorical[f]:
        return categorical_candidates(present, codes, g, h, params)
    has_missing = bool((codes == MISSING).any())
    splits = []
    for i, code in enumerate(present):
        last = i + 1 == len(present)
        if last and not has_missing:
            break
        fields = {"code": columns.split_code(f, code, None if last else present[i + 1])}
        rows_left = int(np.isin(codes, present[: i + 1]).sum())
        follows_left = not has_missing and 2 * rows_left >= len(codes)
        splits.append(Candidate(present[: i + 1], fields | {"missing_left": follows_left}))
        if has_missing and not last:
            left = [*present[: i + 1], MISSING]
            splits.append(Candidate(left, fields | {"missing_left": True}))
    return splits


def categorical_candidates(present, codes, g, h, params: GrowthParams) -> list[Candidate]:
    fields = {"missing_left": False}
    if len(present) <= params.max_cat_to_onehot:
        return [Candidate([c], fields | {"categories": frozenset([c])}) for c in present]
    order = category_order(present, codes, g, h, params)
    most = min(params.max_cat_threshold, len(order))
    runs = [order[:k] for k in range(1, most + 1)] + [order[-k:] for k in range(1, most + 1)]
    return [Candidate(r, fields | {"categories": frozenset(r)}, params.cat_l2) for r in runs]


def category_order(present, codes, g, h, params: GrowthParams) -> list[int]:
    G, H = sums_by_code(codes, g), sums_by_code(codes, h)
    heavy = [c for c in present if H[c].mean() >= params.min_category_weight]
    if not heavy:
        return []
    scale = np.sqrt(h.sum(axis=0) / h.sum())
    points = np.array([scale * G[c] / (H[c] + params.cat_smooth) for c in heavy], np.float64)
    weights = np.array([H[c].mean() for c in heavy], np.float64)
    along = spread_out(weights, points)
    return [heavy[i] for i in np.argsort(along, kind="stable")]


def spread_out(weights, points) -> NDArray[np.float64]:
    if points.shape[1] == 1:
        return points[:, 0]
    points = points - (weights @ points) / weights.sum()
    direction = points[np.argmax(weights * (points**2).sum(axis=1))]
    for _ in range(STEPS):
        direction = direction / direction[np.argmax(np.abs(direction))]
        direction = (weights * (points @ direction)) @ points
    return points @ (direction / direction[np.argmax(np.abs(direction))])


def best_split(
    columns: Columns, rows, g, h, params: GrowthParams, features=None, path=frozenset()
) -> Split | None:
    """Return the best split of a node of these rows (g, h of all rows), positive gain or not."""
    g, h = g[rows].astype(np.longdouble), h[rows].astype(np.longdouble)
    best = None
    for f in range(len(columns.codes)) if features is None else features:
        if not may_follow(f, path, params):
            continue
        codes = columns.codes[f, rows]
        G, H, n = sums_by_code(codes, g), sums_by_code(codes, h), {}
        for code in G:
            n[code] = int((codes == code).sum())
        for tried in candidates(columns, f, codes, g, h, params):
            left = tuple(sum(by_code[c] for c in tried.left) for by_code in (G, H, n))
            direction = direction_of(columns, f, tried.fields, params)
            node = (g.sum(axis=0), h.sum(axis=0), len(rows))
            split = judged(tried, f, left, node, params, direction)
            if split is not None and (best is None or split.weighted_gain > best.weighted_gain):
                best = split
    return best


def direction_of(columns: Columns, f: int, fields: dict[str, Any], params: GrowthParams) -> int:
    """Return how a split orders its children's weights: not at all if one side has no numbers."""
    takes_all = not columns.is_categorical[f] and fields["code"] == columns.n_bins[f] - 1
    return 0 if takes_all or not params.directions else params.directions[f]


def judged(
    tried: Candidate, f: int, left, node, params: GrowthParams, direction: int
) -> Split | None:
    """Return a candidate with its gain, or None if it is not allowed."""
    right = tuple(whole - part for whole, part in zip(node, left, strict=True))
    if min(left[2], right[2]) < max(1, params.min_samples_leaf):
        return None
    if min(left[1].mean(), right[1].mean()) < least_weight(params):
        return None
    options = {"extra_lambda": tried.extra_lambda, "direction": direction}
    gain, magnitude = gain_of(left[:2], right[:2], node[:2], params, **options)
    return Split(f, gain, magnitude, weight=feature_weight(params, f), **tried.fields)


def gain_of(
    left, right, node, params: GrowthParams, *, extra_lambda: float, direction: int
) -> tuple[float, float]:
    """Return the gain, and the size of the numbers whose difference it is."""
    wrong = direction * (weight(*left, params) - weight(*right, params)) > 0
    pooled = score(*node, params) / 2
    children = [
        float(np.where(wrong, pooled, score(G, H, params, extra_lambda)).sum())
        for G, H in (left, right)
    ]
    whole = float(score(*node, params).sum())
    gain = math.fsum([*children, -whole]) / 2 - params.min_split_gain
    return gain, sum(map(abs, children)) + abs(whole) + params.min_split_gain


def assert_same_splits(
    tree: Any, columns: Columns, g, h, params: GrowthParams, rows=None, features=None, rtol=1e-9
) -> None:
    """Walk a grown tree and hold every node to the oracle, as `oracles.grow` does."""
    rows = np.arange(columns.codes.shape[1]) if rows is None else np.asarray(rows)
    walk = VectorWalk(tree, columns, g, h.mean(axis=1), params, features, rtol)
    walk.hessians = h
    walk.visit(0, rows, depth=0)
    assert sorted(walk.rows) == list(range(len(tree.feature))), "nodes that no path reaches"
    walk.check_order()
    if params.directions:
        walk.check_ordered_values()


class VectorWalk(Walk):
    """A check in which `h` is the rows' weight, and `hessians` has a column for each output."""

    hessians: NDArray[np.float64]

    def visit(self, node: int, rows, depth: int, path=frozenset()) -> None:
        self.rows[node], self.depth[node], self.path[node] = rows, depth, path
        self.best[node] = best_split(
            self.columns, rows, self.g, self.hessians, self.params, self.features, path
        )
        self.check_values(node)
        if self.tree.feature[node] >= 0:
            self.split[node] = self.chosen_split(node)
            self.check_split(node)
            left = self.columns.goes_left(self.tree.feature[node], rows, self.split[node])
            path = path | {int(self.tree.feature[node])}
            self.visit(int(self.tree.left[node]), rows[left], depth + 1, path)
            self.visit(int(self.tree.right[node]), rows[~left], depth + 1, path)

    def sums(self, rows) -> tuple[NDArray[np.longdouble], NDArray[np.longdouble]]:
        g, h = self.g[rows].astype(np.longdouble), self.hessians[rows].astype(np.longdouble)
        return g.sum(axis=0), h.sum(axis=0)

    def check_values(self, node: int) -> None:
        rows, params = self.rows[node], self.params
        G, H = self.sums(rows)
        size = np.abs(self.g[rows]).sum(axis=0) / np.maximum(H + params.reg_lambda, 1e-300)
        error = np.abs(self.tree.value[node] - params.learning_rate * weight(G, H, params))
        right = (error <= self.rtol * params.learning_rate * size).all()
        assert self.tree.count[node] == len(rows), f"node {node}: count {self.tree.count[node]}"
        assert right or params.directions, f"node {node}: values"
        assert abs(self.tree.cover[node] - H.mean()) <= self.rtol * H.mean(), f"node {node}: cover"

    def chosen_split(self, node: int) -> Split:
        tree, f, rows = self.tree, int(self.tree.feature[node]), self.rows[node]
        split = Split(
            f, 0.0, 0.0, bool(tree.missing_left[node]), categories=category_set(tree, node),
            code=int(tree.split_bin[node]),
        )  # fmt: skip
        left = self.columns.goes_left(f, rows, split)
        extra = self.params.cat_l2 if self.sorts_categories(node, f) else 0.0
        sums = [self.sums(part) for part in (rows[left], rows[~left], rows)]
        direction = direction_of(self.columns, f, {"code": split.code}, self.params)
        gain, magnitude = gain_of(*sums, self.params, extra_lambda=extra, direction=direction)
        return replace(split, gain=gain, magnitude=magnitude, weight=feature_weight(self.params, f))

    def check_ordered_values(self) -> None:
        leaves, params = np.flatnonzero(self.tree.feature < 0), self.params
        pairs = comparable(leaf_boxes(self.tree), params.directions, self.columns.is_categorical)
        places = np.searchsorted(leaves, np.array(pairs, int).reshape(-1, 2)).tolist()
        sums = [self.sums(self.rows[leaf]) for leaf in leaves]
        heft = np.array([float(H.mean()) for _, H in sums]) + params.reg_lambda
        free = np.array([weight(G, H, params) for G, H in sums], np.float64)
        for output, target in enumerate(free.T):
            best = params.learning_rate * best_values(target, heft, places)
            scale = params.learning_rate * max(1e-300, np.abs(target).max())
            value = self.tree.value[leaves, output]
            np.testing.assert_allclose(value, best, rtol=0, atol=1e-6 * scale)
