"""LightGBM's text format, versions v3 and v4.

A file is a header of ``name=value`` lines, a block of such lines for each tree, importances,
parameters, and the categories of pandas columns as JSON in the last line:

    tree                            the header
    version=v4
    num_tree_per_iteration=1        outputs; tree i adds to output i modulo this number
    max_feature_idx=2
    objective=binary sigmoid:1      none if the objective is a function
    average_output                  if predictions are means over rounds
    feature_names=a b c
    feature_infos=[0:1] none 0:2:1  the range of numbers, or the categories that occur

    Tree=0
    num_leaves=3                    inner nodes are 0 …, the leaf k is written as the child −1 − k
    split_feature=0 2
    threshold=0.5 0                 of a categorical split: the number of its set
    decision_type=10 1              bit 0: categorical, 1: missing left, 2 and 3: what is missing
    left_child=1 -1
    right_child=-2 -3
    leaf_value=…                    with leaf_count, internal_value, internal_count, split_gain
    cat_boundaries=0 1              set i consists of the words i … i + 1 of cat_threshold
    cat_threshold=6                 bits: the members, which go left
    is_linear=0                     if 1: leaf_const, num_features, leaf_features, leaf_coeff
    end of trees

    pandas_categorical:[["x", "y"]]

Scores are sums of float64 numbers in the order of the trees, from 0. What LightGBM's prediction
does beyond x ≤ threshold:

- Numbers up to 1e-35 in size are 0.
- What is missing differs by column: nothing (NaN is 0), 0 and NaN, or NaN.
- A category that is not a member of the set goes right, unknown and missing ones too.
- A linear leaf is its constant plus products, in order; if one of its features is NaN, it is its
  `leaf_value`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
)
from hedgerow._boosting.model import NEXT_TO_ZERO
from hedgerow._data.columns import plain_label
from hedgerow._import.categories import ForeignColumn
from hedgerow._import.fields import (
    MOST_FEATURES,
    MOST_OUTPUTS,
    Fields,
    choice_of,
    parse_json,
    refuse,
    require_all,
    require_finite,
    unsupported,
)
from hedgerow._import.model import ForeignModel, ScoreMeaning
from hedgerow._import.trees import (
    LARGEST,
    Flags,
    ForeignTree,
    Indices,
    LeafTerms,
    constant_tree,
)
from hedgerow._model_file.container import without_duplicates
from hedgerow._model_file.origin import Origin
from hedgerow._tree.structure import Arithmetic
from hedgerow._types import Floats
from hedgerow.exceptions import ModelFileError

_IS_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_NO_MISSING, _ZERO_IS_MISSING, _NAN_IS_MISSING = 0, 1, 2
_VERSIONS = ("v3", "v4")

_REGRESSION = ScoreMeaning(GradientBoostingRegressor)
_LOG = ScoreMeaning(GradientBoostingRegressor, "log", {"loss": "poisson"})
_RANKING = ScoreMeaning(GradientBoostingRanker)
_OBJECTIVES = {
    **dict.fromkeys(("regression", "regression_l2", "huber", "fair", "mape"), _REGRESSION),
    **dict.fromkeys(("regression_l1", "quantile", "custom", "none"), _REGRESSION),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), _LOG),
    "binary": ScoreMeaning(GradientBoostingClassifier, "sigmoid"),
    "cross_entropy": ScoreMeaning(GradientBoostingRegressor, "sigmoid"),
    "multiclass": ScoreMeaning(GradientBoostingClassifier, "softmax"),
    "multiclassova": ScoreMeaning(GradientBoostingClassifier, "softmax"),
    **dict.fromkeys(("lambdarank", "rank_xendcg"), _RANKING),
}


def read_lightgbm(
    text: str, version: str = "", classes: NDArray[Any] | None = None
) -> ForeignModel:
    """Read the text of a model file; the library's version and the classes are not in it."""
    head, blocks, tail = _sections(text)
    header = Fields(head)
    if header["version"] not in _VERSIONS:
        refuse("version", header["version"], " or ".join(_VERSIONS))
    n_outputs = header.integer("num_tree_per_iteration", 1, MOST_OUTPUTS)
    n_features = header.integer("max_feature_idx", 0, MOST_FEATURES - 1) + 1
    names, infos = (_listed(header, f"feature_{what}", n_features) for what in ("names", "infos"))
    trees = [_tree(Fields(block, f"Tree={i}"), n_features) for i, block in enumerate(blocks)]
    meaning, objective = _meaning(head.get("objective", ""), n_outputs)
    columns = _columns(names, infos, trees, tail)
    zero_is_missing = _zero_columns(trees, n_features)
    notes: tuple[str, ...] = ()
    if objective.startswith("multiclassova"):
        notes = ("probabilities of independent classes are divided by their sum",)
    return ForeignModel(
        origin=Origin("LightGBM", version, f"text {header['version']}", objective, notes),
        meaning=meaning,
        columns=[
            _with_zero(column) if zero else column
            for column, zero in zip(columns, zero_is_missing.tolist(), strict=True)
        ],
        trees=[tree for tree, _ in trees],
        tree_output=np.arange(len(trees)) % n_outputs,
        base_score=np.zeros(n_outputs),
        arithmetic=Arithmetic(is_mean="average_output" in head),
        classes=classes if meaning.kind is GradientBoostingClassifier else None,
    )


def _sections(text: str) -> tuple[dict[str, str], list[dict[str, str]], str]:
    """Return the fields of the header and of each tree, and what follows the trees."""
    body, end, tail = text.partition("\nend of trees")
    if not end:
        raise ModelFileError("the line 'end of trees' is missing: the file is incomplete.")
    if "\nparameters:" in tail and "\nend of parameters" not in tail:
        raise ModelFileError("the line 'end of parameters' is missing: the file is incomplete.")
    head, *blocks = body.split("\nTree=")
    return _fields(head), [_fields(f"Tree={block}") for block in blocks], tail


def _fields(block: str) -> dict[str, str]:
    parts = (line.partition("=") for line in block.split("\n"))
    return without_duplicates(
        [(name.strip(), value.rstrip("\r")) for name, _, value in parts if name.strip()]
    )


def _meaning(text: str, n_outputs: int) -> tuple[ScoreMeaning, str]:
    """Return what scores mean, from the name of an objective and its options."""
    name, *options = text.split() or ["none"]
    meaning: ScoreMeaning = choice_of("objective", name, _OBJECTIVES)
    if name == "regression" and "sqrt" in options:
        unsupported("the objective 'regression sqrt', whose predictions are squares of scores,")
    if n_outputs > 1 and meaning.kind is GradientBoostingRanker:
        refuse("num_tree_per_iteration", n_outputs, "1 for a ranking objective")
    is_softmax = meaning.link == "softmax"
    if meaning.kind is GradientBoostingClassifier and (n_outputs > 1) != is_softmax:
        refuse("num_tree_per_iteration", n_outputs, f"the number of classes of {name!r}")
    slope = 1.0
    for option in options:
        key, _, value = option.partition(":")
        if key == "sigmoid":
            slope = Fields({key: value}, "objective").number(key)
    if slope == 2.0 and name == "binary":
        meaning = ScoreMeaning(GradientBoostingClassifier, "half_sigmoid", {"loss": "exponential"})
    elif name == "multiclassova" or (slope != 1.0 and name == "binary"):
        meaning = ScoreMeaning(meaning.kind, meaning.link, slope=slope, is_ova=is_softmax)
    return meaning, text


def _with_zero(column: ForeignColumn) -> ForeignColumn:
    return ForeignColumn(column.name, zero_is_missing=True)


def _listed(header: Fields, field: str, n_features: int) -> list[str]:
    entries = header.text(field).split(" ")
    if len(entries) != n_features:
        refuse(f"the number of {field}", len(entries), f"{n_features}, as max_feature_idx says")
    return entries


def _columns(
    names: Sequence[str],
    infos: Sequence[str],
    trees: Sequence[tuple[ForeignTree, Kinds]],
    tail: str,
) -> list[ForeignColumn]:
    n_features = len(names)
    is_listed = [info[:1] not in ("[", "") and info != "none" for info in infos]
    splits_sets = np.zeros(n_features, bool)
    for tree, _ in trees:
        splits_sets[[int(tree.feature[node]) for node in tree.sets]] = True
    categorical = [j for j in range(n_features) if is_listed[j] or splits_sets[j]]
    by_column = _pandas_categories(tail, len(categorical))
    labels = dict(zip(categorical, by_column, strict=True)) if by_column else {}
    is_positional = names == [f"Column_{j}" for j in range(n_features)]
    return [
        ForeignColumn(
            None if is_positional else name,
            j in categorical,
            labels.get(j),
            _codes(infos[j]) if is_listed[j] and j not in labels else (),
        )
        for j, name in enumerate(names)
    ]


def _pandas_categories(tail: str, n_categorical: int) -> list[tuple[Any, ...]] | None:
    """Return the categories of each categorical column, if the table was a pandas frame.

    Ordered categories are listed, too, but are numbers for LightGBM. Which columns these are is not
    in the file; tables must then hold codes.
    """
    _, mark, text = tail.rpartition("\npandas_categorical:")
    listed = parse_json(text) if mark else None
    if listed is None:
        return None
    if not (isinstance(listed, list) and all(isinstance(of, list) for of in listed)):
        refuse("pandas_categorical", listed, "a list of the categories of each column")
    if len(listed) != n_categorical:
        return None
    for of_column in listed:
        if not all(isinstance(label, str | int | float) for label in of_column):
            refuse("pandas_categorical", of_column, "strings, numbers or flags")
    return [tuple(map(plain_label, of_column)) for of_column in listed]


def _codes(info: str) -> tuple[int, ...]:
    """Return the categories that occur, from the text of feature_infos."""
    codes = Fields({"categories": info.replace(":", " ")}, "feature_infos").integers("categories")
    return tuple(code for code in codes.tolist() if code >= 0)


# ---- trees ---------------------------------------------------------------------------------------

Kinds = NDArray[np.int64]  # what is missing in each node, −1 where it does not matter


def _tree(block: Fields, n_features: int) -> tuple[ForeignTree, Kinds]:
    """Return a tree, with the inner nodes first and the leaves after them."""
    n_leaves = block.integer("num_leaves", 1, 1 << 30)
    if n_leaves == 1:
        value = require_finite(block.floats("leaf_value", 1), block.path("leaf_value"))
        return constant_tree(block.where, value), np.full(1, -1)
    n_inner = n_leaves - 1
    value = require_finite(block.floats("leaf_value", n_leaves), block.path("leaf_value"))
    feature = _features(block, "split_feature", n_inner, n_features)
    threshold = block.floats("threshold", n_inner)
    decision = block.integers("decision_type", n_inner)
    kind = decision >> 2
    allowed = "a sum of 1, 2, 4 and 8 below 12"
    require_all((decision >= 0) & (kind <= 2), block.path("decision_type"), decision, allowed)
    left, right = (_children(block, name, n_inner) for name in ("left_child", "right_child"))
    is_set = (decision & _IS_CATEGORICAL) != 0
    sets = _sets(block, threshold, is_set) if is_set.any() else {}
    threshold = _across_zero(np.where(is_set, 0.0, threshold))
    missing_left = np.where(kind == _NO_MISSING, threshold >= 0.0, (decision & _DEFAULT_LEFT) != 0)
    leaves = np.full(n_leaves, -1)
    count = np.concatenate(
        [_counts(block, "internal_count", n_inner), _counts(block, "leaf_count", n_leaves)]
    )
    tree = ForeignTree(
        where=block.where,
        feature=np.concatenate([feature, leaves]),
        left=np.concatenate([left, leaves]),
        right=np.concatenate([right, leaves]),
        threshold=np.concatenate([threshold, np.zeros(n_leaves)]),
        missing_left=np.concatenate([missing_left & ~is_set, np.zeros(n_leaves, bool)]),
        value=np.concatenate([_inner_values(block, n_inner), value]).reshape(-1, 1),
        gain=np.concatenate([_optional(block, "split_gain", n_inner), np.zeros(n_leaves)]),
        cover=count.astype(np.float64),  # LightGBM's own Shapley values weight by counts
        count=count,
        sets=sets,
    )
    kinds = np.concatenate([np.where(is_set, -1, kind), leaves])
    if block.has("is_linear") and block.integer("is_linear", 0, 1):
        tree = _with_linear_leaves(tree, block, n_inner, n_leaves, n_features)
        kinds = np.append(kinds, np.full(tree.n_nodes - len(kinds), -1))
    return tree, kinds


def _features(block: Fields, name: str, n: int, n_features: int) -> Indices:
    feature = block.integers(name, n)
    fits = (feature >= 0) & (feature < n_features)
    require_all(fits, block.path(name), feature, f"from 0 to {n_features - 1}")
    return feature


def _children(block: Fields, name: str, n_inner: int) -> Indices:
    child = block.integers(name, n_inner)
    fits = (child >= -n_inner - 1) & (child < n_inner) & (child != 0)
    require_all(fits, block.path(name), child, f"a node up to {n_inner - 1} or a leaf, −1 − leaf")
    return np.where(child >= 0, child, n_inner - 1 - child)


def _counts(block: Fields, name: str, n: int) -> Indices:
    return np.maximum(block.integers(name, n), 0) if block.has(name) else np.zeros(n, np.int64)


def _optional(block: Fields, name: str, n: int) -> Floats:
    return block.floats(name, n) if block.has(name) else np.zeros(n)


def _inner_values(block: Fields, n_inner: int) -> Floats:
    values = _optional(block, "internal_value", n_inner)
    return require_finite(values, block.path("internal_value"))


def _across_zero(threshold: Floats) -> Floats:
    """Return thresholds for numbers of any size: those next to 0 are on the side of 0."""
    next_to_zero = np.abs(threshold) <= NEXT_TO_ZERO
    beyond = np.where(threshold >= 0.0, NEXT_TO_ZERO, np.nextafter(-NEXT_TO_ZERO, -np.inf))
    return np.where(next_to_zero, beyond, threshold)


def _sets(block: Fields, number: Floats, is_set: Flags) -> dict[int, Indices]:
    """Return the members of the set of each categorical node."""
    bounds, words = block.integers("cat_boundaries"), block.integers("cat_threshold")
    n_sets = len(bounds) - 1
    ascending = len(bounds) > 0 and bounds[0] >= 0 and bounds[-1] <= len(words)
    if not (ascending and (np.diff(bounds) >= 0).all()):
        refuse(block.path("cat_boundaries"), bounds.tolist(), "increasing places in cat_threshold")
    require_all(
        (words >= 0) & (words < 1 << 32), block.path("cat_threshold"), words, "a word of 32 bits"
    )
    fits = ~is_set | ((number >= 0) & (number < n_sets) & (number == np.floor(number)))
    require_all(fits, block.path("threshold"), number, f"a set below {n_sets}")
    members = {}
    for node in np.flatnonzero(is_set).tolist():
        of = int(number[node])
        own = words[bounds[of] : bounds[of + 1]].astype("<u4").view(np.uint8)
        members[node] = np.flatnonzero(np.unpackbits(own, bitorder="little"))
    return members


def _zero_columns(trees: Sequence[tuple[ForeignTree, Kinds]], n_features: int) -> Flags:
    """Mark the columns in which 0 is missing: in all of their splits, or in none."""
    has = np.zeros((2, n_features), bool)
    for tree, kind in trees:
        has[0, tree.feature[kind == _ZERO_IS_MISSING]] = True
        has[1, tree.feature[(kind >= 0) & (kind != _ZERO_IS_MISSING)]] = True
    if (has[0] & has[1]).any():
        j = int(np.flatnonzero(has[0] & has[1])[0])
        unsupported(f"a model in which 0 is missing in some splits of column {j} and not in others")
    return has[0]


# ---- linear leaves -------------------------------------------------------------------------------


def _with_linear_leaves(
    tree: ForeignTree, block: Fields, n_inner: int, n_leaves: int, n_features: int
) -> ForeignTree:
    """Return the tree with slopes in its leaves.

    A leaf with terms becomes a chain of nodes that test whether each feature of its terms is
    missing: if one is, the row ends in a leaf with the value without slopes.
    """
    constant = require_finite(block.floats("leaf_const", n_leaves), block.path("leaf_const"))
    size = block.integers("num_features", n_leaves)
    require_all(size >= 0, block.path("num_features"), size, "at least 0")
    n_terms = int(size.sum())
    features = _features(block, "leaf_features", n_terms, n_features)
    slopes = require_finite(block.floats("leaf_coeff", n_terms), block.path("leaf_coeff"))
    parts = _Chains(tree)
    start = np.concatenate([[0], np.cumsum(size)])
    ends = np.arange(n_inner, n_inner + n_leaves)
    for leaf in np.flatnonzero(size).tolist():
        own = features[start[leaf] : start[leaf + 1]]
        ends[leaf] = parts.chain(n_inner + leaf, np.unique(own))
    for end, value in zip(ends.tolist(), constant.tolist(), strict=True):
        parts.value[end] = value
    terms = LeafTerms(node=np.repeat(ends, size), feature=features, coefficient=slopes)
    return parts.tree(terms)


class _Chains:
    """A tree whose leaves are replaced by chains of tests for missing values."""

    def __init__(self, tree: ForeignTree) -> None:
        self._tree = tree
        self.feature, self.left, self.right = (
            getattr(tree, name).tolist() for name in ("feature", "left", "right")
        )
        self.threshold, self.value = tree.threshold.tolist(), tree.value[:, 0].tolist()
        self.count = tree.count.tolist()

    def chain(self, leaf: int, features: Indices) -> int:
        """Replace a leaf; return the leaf in which rows without missing values end."""
        node = leaf
        for feature in features.tolist():
            present, absent = len(self.left), len(self.left) + 1
            for child, count in ((present, self.count[leaf]), (absent, 0)):
                assert child == len(self.left)
                for name, value in (("feature", -1), ("left", -1), ("right", -1)):
                    getattr(self, name).append(value)
                self.threshold.append(0.0)
                self.value.append(self.value[leaf])
                self.count.append(count)
            self.feature[node], self.threshold[node] = feature, LARGEST
            self.left[node], self.right[node] = present, absent
            node = present
        return node

    def tree(self, terms: LeafTerms) -> ForeignTree:
        """Return the tree."""
        n_more = len(self.left) - self._tree.n_nodes
        count = np.array(self.count)
        return ForeignTree(
            where=self._tree.where,
            feature=np.array(self.feature),
            left=np.array(self.left),
            right=np.array(self.right),
            threshold=np.array(self.threshold),
            missing_left=np.append(self._tree.missing_left, np.zeros(n_more, bool)),
            value=np.array(self.value).reshape(-1, 1),
            gain=np.append(self._tree.gain, np.zeros(n_more)),
            cover=count.astype(np.float64),
            count=count,
            sets=self._tree.sets,
            terms=terms,
        )
