"""The oracle for growing one tree: a naive grower, and a check of a tree that another grower made.

This docstring is the specification that the histogram engine and the exact splitter are held to.

Scores. With G = Σg and H = Σh over a node's rows (weights already multiplied in) and
T(G) = sign(G)·max(|G| − α, 0):
    w(G, H)     = −T(G) / (H + λ), clipped to ±max_delta_step if that is positive; 0 if H + λ ≤ 0
    score(G, H) = −(2·G·w + (H + λ)·w² + 2·α·|w|), where nothing was clipped T(G)² / (H + λ)
    gain        = ½ [score(left) + score(right) − score(node)] − γ
A node's value is learning_rate · w, whether it became a leaf or not.

Candidates. A split is allowed if each child has at least max(1, min_samples_leaf) rows and Σh of at
least (1 − 2⁻⁴⁰) · min_child_weight; it is made if its gain is positive. (A Σh that is the least
weight on paper may miss it by the rounding of its terms.) Equal gains: the lower feature, then the
candidate that is listed first below.
    Numeric: "x ≤ b" for each value (bin) b present in the node, ascending; for each b first with
        the missing rows on the right, then, if the node has missing rows and b is not its largest
        value, on the left. The largest value with the missing rows on the right is the split
        "all values | missing": its bin is n_bins − 1, its threshold the largest float64. If the
        node has no missing row of that feature, missing values go with the larger child (left
        if equal).
    Categorical: missing rows, and categories absent from the node, always go right.
        At most max_cat_to_onehot categories present: {c} goes left, for each c present, ascending.
        More: the categories with H_c of at least min_category_weight are sorted by
        G_c / (H_c + cat_smooth), equal ones by bin; the lighter ones go right, for there is too
        little to sort them by. The first k go left for k = 1 … min(max_cat_threshold, categories
        sorted), then the last k likewise. The two children's scores (in the gain only; not the
        node's own score, and not the values) use λ + cat_l2.

Constraints. The features on a path all belong to one of interaction_groups (if there are any) and
are at most most_features_on_path (if that is not 0) different ones. Where "gain" above and below
orders splits, of one node or of different leaves, it is gain times the feature's weight (1 if there
are no feature_weights); a feature of weight 0 is not used.

Order. leafwise: the leaf with the largest gain is split next (equal: the lowest node index);
levelwise: the leaf with the lowest node index. It ends at max_leaves leaves (0: no limit); a node
at depth max_depth (0: no limit) is not split. Children are appended as a pair (left, right); the
root is node 0.

Sums are taken in the widest float NumPy has, so that the oracle's own rounding stays below that of
a float64 engine.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._tree.growth_params import GrowthParams

MISSING_BIN = 255
MISSING = -1
EVERY_VALUE = float(np.finfo(np.float64).max)
WEIGHT_DOUBT = 2.0**-40


@dataclass(frozen=True)
class Columns:
    """Features as integer codes whose order is the order of values; -1 is missing."""

    codes: NDArray[np.int64]  # (n_features, n_rows)
    is_categorical: NDArray[np.bool_]
    n_bins: NDArray[np.int64] | None = None  # of binned columns
    values: list[NDArray[np.float64]] | None = None  # of raw columns: the value behind each code

    @classmethod
    def from_bins(cls, by_column, n_bins, is_categorical) -> "Columns":
        codes = np.where(by_column == MISSING_BIN, MISSING, by_column.astype(np.int64))
        return cls(codes, np.asarray(is_categorical, bool), n_bins=np.asarray(n_bins, np.int64))

    @classmethod
    def from_values(cls, X, is_categorical=None) -> "Columns":
        """Take raw columns, (n_rows, n_features); a categorical one holds bin numbers or NaN."""
        n_rows, n_features = X.shape
        flags = np.zeros(n_features, bool) if is_categorical is None else np.asarray(is_categorical)
        codes = np.full((n_features, n_rows), MISSING, np.int64)
        values = []
        for f in range(n_features):
            column = np.asarray(X[:, f], np.float64)
            present = ~np.isnan(column)
            distinct = np.arange(256.0) if flags[f] else np.unique(column[present])
            codes[f, present] = np.searchsorted(distinct, column[present])
            values.append(distinct)
        return cls(codes, flags, values=values)

    def threshold(self, f: int, code: int, next_code: int | None) -> float:
        """Return the midpoint to the next value present in the node, within [lower, upper)."""
        if self.values is None or next_code is None:
            return EVERY_VALUE
        lower, upper = self.values[f][code], self.values[f][next_code]
        middle = lower / 2 + upper / 2
        return float(middle if lower <= middle < upper else lower)

    def split_code(self, f: int, code: int, next_code: int | None) -> int:
        """Return the bin of a split; "all values | missing" takes every bin, seen or not."""
        return code if next_code is not None or self.n_bins is None else int(self.n_bins[f]) - 1

    def goes_left(self, f: int, rows, split: "Split") -> NDArray[np.bool_]:
        codes = self.codes[f, rows]
        if split.categories is not None:
            return np.isin(codes, list(split.categories))
        if self.values is None:
            left = codes <= split.code
        else:
            left = np.append(self.values[f], np.nan)[codes] <= split.threshold
        return np.where(codes == MISSING, split.missing_left, left)


@dataclass(frozen=True)
class Split:
    feature: int
    gain: float
    magnitude: (
        float  # size of the numbers whose difference the gain is: the scale of rounding errors
    )
    missing_left: bool
    code: int = 0
    threshold: float = 0.0
    categories: frozenset[int] | None = None
    weight: float = 1.0  # of the feature

    @property
    def weighted_gain(self) -> float:
        """What splits compete by."""
        return self.weight * self.gain


@dataclass(frozen=True)
class Candidates:
    """Splits of one feature in order of preference, and the sums of their left children."""

    G: NDArray[Any]
    H: NDArray[Any]
    n: NDArray[np.int64]
    splits: list[dict[str, Any]]
    extra_lambda: float = 0.0


def soft_threshold(G, alpha):
    return np.sign(G) * np.maximum(np.abs(G) - alpha, 0)


def weight(G, H, params: GrowthParams, extra_lambda: float = 0.0):
    """The leaf weight that minimises the objective, within max_delta_step."""
    denominator = H + params.reg_lambda + extra_lambda
    safe = np.where(denominator > 0, denominator, 1)
    w = np.where(denominator > 0, -soft_threshold(G, params.reg_alpha) / safe, 0)
    cap = params.max_delta_step
    return np.clip(w, -cap, cap) if cap > 0 else w


def score(G, H, params: GrowthParams, extra_lambda: float = 0.0):
    """What the objective falls by, doubled, when these rows become a leaf."""
    w = weight(G, H, params, extra_lambda)
    penalty = (H + params.reg_lambda + extra_lambda) * w * w + 2 * params.reg_alpha * np.abs(w)
    return -(2 * G * w + penalty)


def group_sums(codes, g, h) -> tuple[NDArray[np.int64], Any, Any, NDArray[np.int64]]:
    """Sums of g, h and rows by code, for the codes that occur, ascending."""
    order = np.argsort(codes, kind="stable")
    present, starts, counts = np.unique(codes[order], return_index=True, return_counts=True)
    if len(present) == 0:
        return present, g[:0], h[:0], counts
    return present, np.add.reduceat(g[order], starts), np.add.reduceat(h[order], starts), counts


def numeric_candidates(columns: Columns, f: int, codes, g, h) -> Candidates:
    missing = codes == MISSING
    present, G, H, n = group_sums(codes[~missing], g[~missing], h[~missing])
    G, H, n = np.cumsum(G), np.cumsum(H), np.cumsum(n)
    n_missing = int(missing.sum())
    lefts, splits = [], []
    for i, code in enumerate(present):
        next_code = int(present[i + 1]) if i + 1 < len(present) else None
        if next_code is None and n_missing == 0:
            break
        split = {
            "code": columns.split_code(f, int(code), next_code),
            "threshold": columns.threshold(f, int(code), next_code),
        }
        lefts.append((G[i], H[i], n[i]))
        tie_left = n_missing == 0 and bool(2 * n[i] >= len(codes))
        splits.append(split | {"missing_left": tie_left})
        if n_missing and next_code is not None:
            lefts.append((G[i] + g[missing].sum(), H[i] + h[missing].sum(), n[i] + n_missing))
            splits.append(split | {"missing_left": True})
    return _candidates(lefts, splits)


def categorical_candidates(codes, g, h, params: GrowthParams) -> Candidates:
    observed = codes != MISSING
    present, G, H, n = group_sums(codes[observed], g[observed], h[observed])
    if len(present) <= params.max_cat_to_onehot:
        groups: Iterable[Any] = [[i] for i in range(len(present))]
        extra = 0.0
    else:
        heavy = np.flatnonzero(params.min_category_weight <= H)
        order = heavy[np.lexsort((heavy, G[heavy] / (H[heavy] + params.cat_smooth)))]
        sizes = range(1, min(params.max_cat_threshold, len(order)) + 1)
        groups = [order[:k] for k in sizes] + [order[-k:] for k in sizes]
        extra = params.cat_l2
    lefts = [(G[group].sum(), H[group].sum(), n[group].sum()) for group in groups]
    sets = [frozenset(int(c) for c in present[group]) for group in groups]
    return _candidates(lefts, [{"categories": s, "missing_left": False} for s in sets], extra)


def _candidates(lefts, splits, extra_lambda: float = 0.0) -> Candidates:
    G, H = (np.array([left[i] for left in lefts], np.longdouble) for i in (0, 1))
    return Candidates(G, H, np.array([left[2] for left in lefts], np.int64), splits, extra_lambda)


def best_of_feature(columns: Columns, f: int, rows, g, h, params: GrowthParams) -> Split | None:
    codes = columns.codes[f, rows]
    if columns.is_categorical[f]:
        tried = categorical_candidates(codes, g, h, params)
    else:
        tried = numeric_candidates(columns, f, codes, g, h)
    if not tried.splits:
        return None
    G, H, n = g.sum(), h.sum(), len(rows)
    least = max(1, params.min_samples_leaf)
    allowed = (tried.n >= least) & (n - tried.n >= least)
    allowed &= np.minimum(tried.H, H - tried.H) >= least_weight(params)
    left = score(tried.G, tried.H, params, tried.extra_lambda)
    right = score(G - tried.G, H - tried.H, params, tried.extra_lambda)
    gain = (left + right - score(G, H, params)) / 2 - params.min_split_gain
    gain = np.where(allowed, gain, -np.inf)
    i = int(np.argmax(gain))
    magnitude = abs(left[i]) + abs(right[i]) + abs(score(G, H, params)) + params.min_split_gain
    if not allowed[i]:
        return None
    return Split(
        f, float(gain[i]), float(magnitude), weight=feature_weight(params, f), **tried.splits[i]
    )


def least_weight(params: GrowthParams) -> float:
    """Return the Σh that a child must have."""
    return params.min_child_weight * (1 - WEIGHT_DOUBT)


def feature_weight(params: GrowthParams, f: int) -> float:
    return params.feature_weights[f] if params.feature_weights else 1.0


def may_follow(f: int, path: frozenset[int], params: GrowthParams) -> bool:
    """Whether a feature may be tested below a path on which these have been."""
    together = path | {f}
    if feature_weight(params, f) == 0:
        return False
    if params.most_features_on_path and len(together) > params.most_features_on_path:
        return False
    groups = params.interaction_groups
    return not groups or any(together <= set(group) for group in groups)


def best_split(
    columns: Columns, rows, g, h, params: GrowthParams, features=None, path=frozenset()
) -> Split | None:
    """Return the best split of a node of these rows (g, h of all rows), positive gain or not."""
    g, h = g[rows].astype(np.longdouble), h[rows].astype(np.longdouble)
    best = None
    for f in range(len(columns.codes)) if features is None else features:
        if not may_follow(f, path, params):
            continue
        candidate = best_of_feature(columns, f, rows, g, h, params)
        if candidate is not None and (best is None or candidate.weighted_gain > best.weighted_gain):
            best = candidate
    return best


def grow(columns: Columns, g, h, params: GrowthParams, rows=None, features=None) -> SimpleNamespace:
    """Grow one tree.

    Returns the arrays of a `Tree` (`value` one-dimensional) with `split_bin` as int64 codes,
    `categories`: the set that goes left of each categorical node, else None, and `node_rows`: the
    rows of each node.
    """
    rows = np.arange(columns.codes.shape[1]) if rows is None else np.asarray(rows)
    node_rows, depth, splits = [rows], [0], [best_split(columns, rows, g, h, params, features)]
    paths: list[frozenset[int]] = [frozenset()]
    made: dict[int, tuple[Split, int]] = {}  # node -> its split and its left child
    while params.max_leaves == 0 or len(made) + 1 < params.max_leaves:
        open_nodes = [
            i
            for i in range(len(node_rows))
            if i not in made and can_split(i, depth, splits, params)
        ]
        if not open_nodes:
            break
        if params.grow_policy == "leafwise":
            node = max(open_nodes, key=lambda i: (splits[i].weighted_gain, -i))
        else:
            node = open_nodes[0]
        split = splits[node]
        left = columns.goes_left(split.feature, node_rows[node], split)
        made[node] = (split, len(node_rows))
        for child_rows in (node_rows[node][left], node_rows[node][~left]):
            node_rows.append(child_rows)
            depth.append(depth[node] + 1)
            paths.append(paths[node] | {split.feature})
            splits.append(best_split(columns, child_rows, g, h, params, features, paths[-1]))
    return _as_tree(node_rows, made, g, h, params)


def can_split(i, depth, splits, params: GrowthParams) -> bool:
    within = params.max_depth == 0 or depth[i] < params.max_depth
    return within and splits[i] is not None and splits[i].gain > 0


def _as_tree(node_rows, made, g, h, params) -> SimpleNamespace:
    def split_field(name, otherwise, dtype):
        return np.array(
            [getattr(made[i][0], name) if i in made else otherwise for i in range(len(node_rows))],
            dtype,
        )

    sums = [node_sums(rows, g, h) for rows in node_rows]
    left = np.array([made[i][1] if i in made else -1 for i in range(len(node_rows))], np.int32)
    return SimpleNamespace(
        feature=split_field("feature", -1, np.int32),
        threshold=split_field("threshold", 0.0, np.float64),
        split_bin=split_field("code", 0, np.int64),
        left=left,
        right=np.where(left >= 0, left + 1, -1).astype(np.int32),
        missing_left=split_field("missing_left", False, bool),
        categories=[made[i][0].categories if i in made else None for i in range(len(node_rows))],
        value=np.array([params.learning_rate * float(weight(G, H, params)) for G, H in sums]),
        gain=split_field("gain", 0.0, np.float64),
        cover=np.array([H for _, H in sums]),
        count=np.array([len(rows) for rows in node_rows], np.int64),
        node_rows=node_rows,
    )


def node_sums(rows, g, h) -> tuple[float, float]:
    """Correctly rounded sums of g and h."""
    return math.fsum(g[rows]), math.fsum(h[rows])


# The check of a tree that another grower made.


def assert_same_splits(
    tree: Any, columns: Columns, g, h, params: GrowthParams, rows=None, features=None, rtol=1e-9
) -> None:
    """Walk a grown tree and hold every node to the oracle, ties aside.

    At each internal node the split must be allowed and its gain within `rtol` of the best that the
    oracle finds for exactly the rows that reached it; leaves must have had no split left to make;
    counts must be equal, values, covers and gains within `rtol` of their formulas; and the order of
    splits must be the policy's. `rtol` of a gain is relative to the scores it is a difference of,
    `rtol` of a value to Σ|g| / (H + λ): the scales of rounding errors.
    """
    if isinstance(tree, dict):
        tree = SimpleNamespace(**tree)
    rows = np.arange(columns.codes.shape[1]) if rows is None else np.asarray(rows)
    walk = Walk(tree, columns, g, h, params, features, rtol)
    walk.visit(0, rows, depth=0)
    assert sorted(walk.rows) == list(range(len(tree.feature))), "nodes that no path reaches"
    walk.check_order()


@dataclass
class Walk:
    """The state of one check: for each node its rows, depth and the oracle's best split."""

    tree: Any
    columns: Columns
    g: NDArray[np.float64]
    h: NDArray[np.float64]
    params: GrowthParams
    features: Any
    rtol: float

    def __post_init__(self) -> None:
        self.rows: dict[int, Any] = {}
        self.depth: dict[int, int] = {}
        self.path: dict[int, frozenset[int]] = {}
        self.best: dict[int, Split | None] = {}
        self.split: dict[int, Split] = {}

    def visit(self, node: int, rows, depth: int, path=frozenset()) -> None:
        self.rows[node], self.depth[node], self.path[node] = rows, depth, path
        self.best[node] = best_split(
            self.columns, rows, self.g, self.h, self.params, self.features, path
        )
        self.check_values(node)
        if self.tree.feature[node] >= 0:
            self.split[node] = self.chosen_split(node)
            self.check_split(node)
            left = self.columns.goes_left(self.tree.feature[node], rows, self.split[node])
            path = path | {int(self.tree.feature[node])}
            self.visit(int(self.tree.left[node]), rows[left], depth + 1, path)
            self.visit(int(self.tree.right[node]), rows[~left], depth + 1, path)

    def check_values(self, node: int) -> None:
        rows, params = self.rows[node], self.params
        G, H = node_sums(rows, self.g, self.h)
        size = math.fsum(np.abs(self.g[rows])) / max(H + params.reg_lambda, 1e-300)
        expected = params.learning_rate * float(weight(G, H, params))
        actual = float(np.ravel(self.tree.value)[node])
        assert self.tree.count[node] == len(rows), (
            f"node {node}: count {self.tree.count[node]}, not {len(rows)}"
        )
        assert abs(actual - expected) <= self.rtol * params.learning_rate * size, (
            f"node {node}: value {actual!r}, not {expected!r}"
        )
        assert abs(self.tree.cover[node] - H) <= self.rtol * math.fsum(np.abs(self.h[rows])), (
            f"node {node}: cover {self.tree.cover[node]!r}, not {H!r}"
        )

    def chosen_split(self, node: int) -> Split:
        """Return the tree's split, with its gain computed from the rows on either side."""
        tree, f = self.tree, int(self.tree.feature[node])
        split = Split(
            f, 0.0, 0.0, bool(tree.missing_left[node]), categories=category_set(tree, node),
            code=int(tree.split_bin[node]) if self.columns.values is None else 0,
            threshold=float(tree.threshold[node]),
        )  # fmt: skip
        rows = self.rows[node]
        left = self.columns.goes_left(f, rows, split)
        sums = [node_sums(part, self.g, self.h) for part in (rows[left], rows[~left])]
        extra = self.params.cat_l2 if self.sorts_categories(node, f) else 0.0
        children = [float(score(G, H, self.params, extra)) for G, H in sums]
        whole = float(score(*node_sums(rows, self.g, self.h), self.params))
        gain = (math.fsum([*children, -whole])) / 2 - self.params.min_split_gain
        return replace(
            split,
            gain=gain,
            magnitude=sum(map(abs, children)) + abs(whole) + self.params.min_split_gain,
            weight=feature_weight(self.params, f),
        )

    def sorts_categories(self, node: int, f: int) -> bool:
        if not self.columns.is_categorical[f]:
            return False
        codes = self.columns.codes[f, self.rows[node]]
        return len(np.unique(codes[codes != MISSING])) > self.params.max_cat_to_onehot

    def check_split(self, node: int) -> None:
        split, best, rows, params = self.split[node], self.best[node], self.rows[node], self.params
        codes = self.columns.codes[split.feature, rows]
        left = self.columns.goes_left(split.feature, rows, split)
        assert self.features is None or split.feature in self.features, (
            f"node {node}: feature not allowed"
        )
        assert may_follow(split.feature, self.path[node], params), (
            f"node {node}: feature {split.feature} may not follow {self.path[node]}"
        )
        assert params.max_depth == 0 or self.depth[node] < params.max_depth, (
            f"node {node}: too deep"
        )
        least = max(1, params.min_samples_leaf)
        assert min(left.sum(), (~left).sum()) >= least, (
            f"node {node}: a child of fewer than {least} rows"
        )
        lightest = min(math.fsum(self.h[rows[left]]), math.fsum(self.h[rows[~left]]))
        assert lightest >= params.min_child_weight * (1 - self.rtol), (
            f"node {node}: a child of Σh {lightest}"
        )
        if split.categories is not None:
            listed = len(set(codes[left].tolist()))
            most = params.max_cat_threshold if self.sorts_categories(node, split.feature) else 1
            assert listed <= most, f"node {node}: {listed} categories listed"
            assert not split.missing_left, f"node {node}: missing left of a categorical split"
        elif not (codes == MISSING).any():
            assert split.missing_left == (2 * left.sum() >= len(rows)), (
                f"node {node}: missing to the smaller child"
            )
        slack = self.rtol * split.magnitude
        recorded = float(self.tree.gain[node])
        assert abs(recorded - split.gain) <= slack, (
            f"node {node}: gain {recorded!r}, not {split.gain!r}"
        )
        assert split.gain > -slack, f"node {node}: gain {split.gain!r} is not positive"
        if best is not None:
            least = best.weighted_gain - self.slack(split) - self.slack(best)
            assert split.weighted_gain >= least, f"node {node}: {split}; the oracle has {best}"

    def check_order(self) -> None:
        """Replay the splits in the order made and hold each choice to the policy."""
        tree, params = self.tree, self.params
        order = sorted(self.split, key=lambda node: tree.left[node])
        frontier = {0}
        for step, node in enumerate(order):
            assert (tree.left[node], tree.right[node]) == (2 * step + 1, 2 * step + 2), (
                "children not appended in pairs"
            )
            assert node in frontier, f"node {node} split before it existed"
            for other in frontier - {node}:
                self.check_preferred(node, other)
            frontier = frontier - {node} | {int(tree.left[node]), int(tree.right[node])}
        full = params.max_leaves > 0 and len(frontier) >= params.max_leaves
        assert params.max_leaves == 0 or len(frontier) <= params.max_leaves, "too many leaves"
        for node in frontier if not full else ():
            assert self.certain_gain(node) <= 0, (
                f"leaf {node} could have been split: {self.best[node]}"
            )

    def check_preferred(self, node: int, other: int) -> None:
        if self.params.grow_policy == "leafwise":
            most = self.split[node].weighted_gain + self.slack(self.split[node])
            assert self.certain_gain(other) <= most, f"node {other} should come before {node}"
        elif other < node:
            assert self.certain_gain(other) <= 0, f"node {other} should come before {node}"

    def certain_gain(self, node: int) -> float:
        """Return the weighted gain of a node's best split less its rounding error, or 0."""
        best = self.best[node]
        too_deep = self.params.max_depth > 0 and self.depth[node] >= self.params.max_depth
        return 0.0 if best is None or too_deep else best.weighted_gain - self.slack(best)

    def slack(self, split: Split) -> float:
        """Return a bound on the rounding error of a split's weighted gain."""
        return self.rtol * split.weight * split.magnitude


def category_set(tree: Any, node: int) -> frozenset[int] | None:
    """Return the categories that go left of a node, from a set or from `category_bits`."""
    if hasattr(tree, "categories"):
        return tree.categories[node]
    row = int(tree.category_set[node])
    if row < 0:
        return None
    bits = np.unpackbits(
        np.ascontiguousarray(tree.category_bits[row]).view(np.uint8), bitorder="little"
    )
    return frozenset(np.flatnonzero(bits).tolist())
