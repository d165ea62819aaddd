"""CatBoost's JSON format.

    model_info                  params.loss_function.type, class_params.class_names
    features_info
      float_features            flat_feature_index (the column), feature_index, nan_value_treatment
      categorical_features      flat_feature_index, feature_index
      cat_features_hash         the hash of each category, if the file was saved with a pool
    oblivious_trees             splits, leaf_values, leaf_weights: leaf i is the one where split d
                                is true if bit d of i is set
    trees                       instead, if trees are not symmetric: left, right and split, or value
    scale_and_bias              the score is scale · Σ leaf values + bias

A split of a column of numbers is true if float32(x) > border; missing values count as infinite. A
split of a categorical column is true if the category has the hash ``value``. Scores are sums of
float64 numbers in the order of the trees; the bias comes last, so it is a tree here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
)
from hedgerow._data.columns import Label
from hedgerow._import.categories import ForeignColumn
from hedgerow._import.fields import (
    MOST_DEPTH,
    MOST_FEATURES,
    MOST_OUTPUTS,
    Fields,
    choice_of,
    numbers_of,
    refuse,
    require_finite,
    unsupported,
)
from hedgerow._import.model import ForeignModel, ScoreMeaning
from hedgerow._import.trees import ForeignTree, Indices, constant_tree, float32_reach
from hedgerow._model_file.origin import Origin
from hedgerow._types import Floats
from hedgerow.exceptions import ModelFileError

_MOST_SYMMETRIC_DEPTH = 20
_REGRESSION = ScoreMeaning(GradientBoostingRegressor)
_LOG = ScoreMeaning(GradientBoostingRegressor, "log", {"loss": "poisson"})
_RANKING = ScoreMeaning(GradientBoostingRanker)
_LABELS = ScoreMeaning(GradientBoostingClassifier, "sigmoid", is_multilabel=True)
_LOSSES: Mapping[str, ScoreMeaning] = {
    **dict.fromkeys(("RMSE", "MAE", "MAPE", "Quantile", "Huber", "Expectile"), _REGRESSION),
    **dict.fromkeys(("LogLinQuantile", "Lq", "LogCosh", "MultiRMSE"), _REGRESSION),
    **dict.fromkeys(("Poisson", "Tweedie"), _LOG),
    **dict.fromkeys(
        ("Logloss", "CrossEntropy", "Focal"), ScoreMeaning(GradientBoostingClassifier, "sigmoid")
    ),
    "MultiClass": ScoreMeaning(GradientBoostingClassifier, "softmax"),
    "MultiClassOneVsAll": ScoreMeaning(GradientBoostingClassifier, "softmax", is_ova=True),
    **dict.fromkeys(("MultiLogloss", "MultiCrossEntropy"), _LABELS),
    **dict.fromkeys(("YetiRank", "YetiRankPairwise", "PairLogit", "PairLogitPairwise"), _RANKING),
    **dict.fromkeys(("QueryRMSE", "QuerySoftMax", "QueryCrossEntropy"), _RANKING),
}


def read_catboost(document: Any) -> ForeignModel:
    """Read a model."""
    fields = Fields(document)
    info = fields.object("model_info")
    loss, version = _loss(info), _version(info)
    meaning: ScoreMeaning = choice_of("the loss function", loss, _LOSSES)
    scale, bias = _scale_and_bias(fields)
    columns = _Columns(fields.object("features_info"))
    trees = _trees(fields, columns, scale, len(bias))
    if bias.any():
        trees.append(constant_tree("the bias", bias))
    notes = [] if scale == 1.0 else [f"leaf values are multiplied by the scale, {scale!r}"]
    if meaning.is_ova:
        notes.append("probabilities of independent classes are divided by their sum")
    return ForeignModel(
        origin=Origin("CatBoost", version, "JSON", loss, tuple(notes)),
        meaning=meaning,
        columns=columns.columns(),
        trees=trees,
        tree_output=np.zeros(len(trees), np.int64),
        base_score=np.zeros(len(bias)),
        classes=_classes(info) if meaning.kind is GradientBoostingClassifier else None,
    )


def _has(fields: Fields, name: str) -> bool:
    """Return whether a list has elements: CatBoost writes an empty one as null, or not at all."""
    return fields.has(name) and fields[name] is not None


def _objects(fields: Fields, name: str) -> list[Fields]:
    return fields.objects(name) if _has(fields, name) else []


def _loss(info: Fields) -> str:
    return info.object("params").object("loss_function").text("type")


def _version(info: Fields) -> str:
    text = info.text("catboost_version_info") if info.has("catboost_version_info") else ""
    found = re.search(r"tags/v(\d[\w.]*)", text[:10_000])
    return found.group(1) if found else ""


def _classes(info: Fields) -> NDArray[Any] | None:
    if not info.has("class_params"):
        return None
    names = list(info.object("class_params").list("class_names"))
    allowed = "all strings, all integers or all numbers"
    kinds = set(map(type, names))
    if len(kinds) != 1 or not kinds <= {str, int, float, bool}:
        refuse("class_names", names, allowed)
    if sorted(set(names)) != names:
        refuse("class_names", names, "different and in ascending order")
    classes = np.array(names)
    if classes.dtype.kind not in "Uifb":
        refuse("class_names", names, allowed)
    return classes


def _scale_and_bias(fields: Fields) -> tuple[float, Floats]:
    listed = fields.list("scale_and_bias")
    if len(listed) != 2:
        refuse("scale_and_bias", listed, "a scale and a list of biases")
    scale = Fields({"scale": listed[0]}).number("scale")
    of_outputs = listed[1] if isinstance(listed[1], list) else [listed[1]]
    bias = require_finite(numbers_of(of_outputs, "bias", None, np.float64), "bias")
    if not 1 <= len(bias) <= MOST_OUTPUTS:
        refuse("bias", f"{len(bias)} numbers", f"1 to {MOST_OUTPUTS}")
    return scale, bias


# ---- columns -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Split:
    """A split in our terms; `members` are the category that is tested, by its code."""

    feature: int
    threshold: float
    missing_left: bool
    members: Indices | None


class _Columns:
    """The columns of a model, with the categories that its splits test, as codes."""

    def __init__(self, info: Fields) -> None:
        floats, sets = _objects(info, "float_features"), _objects(info, "categorical_features")
        for kind in ("text_features", "embedding_features"):
            if _objects(info, kind):
                unsupported(f"a model with {kind}")
        self._place = {"float": _places(floats), "categorical": _places(sets)}
        self._missing_left = [
            not each.has("nan_value_treatment") or each.text("nan_value_treatment") != "AsTrue"
            for each in floats
        ]
        self._names = {
            each.integer("flat_feature_index", 0, MOST_FEATURES): _name(each)
            for each in [*floats, *sets]
        }
        n = len(self._names)
        if n == 0 or set(self._names) != set(range(n)) or n != len(floats) + len(sets):
            refuse("flat_feature_index", sorted(self._names), f"each of 0 to {max(n - 1, 0)} once")
        self._text = _hashed(info)
        self._codes: dict[int, dict[Label, int]] = {j: {} for j in self._place["categorical"]}

    def split(self, fields: Fields) -> _Split:
        """Read a split."""
        kind = fields.text("split_type")
        if kind == "FloatFeature":
            number = fields.integer("float_feature_index", 0, len(self._missing_left) - 1)
            border = np.array([fields.number("border")])
            threshold = float(float32_reach(border)[0])
            return _Split(self._place["float"][number], threshold, self._missing_left[number], None)
        if kind == "OneHotFeature":
            places = self._place["categorical"]
            feature = places[fields.integer("cat_feature_index", 0, len(places) - 1)]
            value = fields.integer("value", -(1 << 31), (1 << 32) - 1)
            return _Split(feature, 0.0, False, np.array([self._code(feature, value)]))
        if kind == "OnlineCtr":
            unsupported(
                "a model with splits on target statistics (CTR)",
                "Fit it with a larger one_hot_max_size, so that categories are tested one by one.",
            )
        return refuse(fields.path("split_type"), kind, "'FloatFeature' or 'OneHotFeature'")

    def _code(self, feature: int, value: int) -> int:
        text = self._text.get(value & 0xFFFF_FFFF)
        if text is None:
            raise ModelFileError(
                "the model has hashes of categories, but not the categories. Pass its training "
                "data as well, from_catboost(model, pool), or save the model with it: "
                "save_model(path, format='json', pool=pool)."
            )
        codes = self._codes[feature]
        return codes.setdefault(text, len(codes))

    def columns(self) -> list[ForeignColumn]:
        """Return the columns, once all splits are read."""
        names = [self._names[j] for j in range(len(self._names))]
        is_positional = names == [str(j) for j in range(len(names))]
        return [
            ForeignColumn(
                None if is_positional else name,
                j in self._codes,
                _labels(list(self._codes[j])) if j in self._codes else None,
            )
            for j, name in enumerate(names)
        ]


def _places(features: Sequence[Fields]) -> list[int]:
    """Return the column of each feature of a kind, which are numbered."""
    places = [each.integer("flat_feature_index", 0, MOST_FEATURES) for each in features]
    for number, each in enumerate(features):
        if each.integer("feature_index", 0, MOST_FEATURES) != number:
            refuse(each.path("feature_index"), each["feature_index"], str(number))
    return places


def _name(feature: Fields) -> str:
    for field in ("feature_name", "feature_id"):
        if feature.has(field) and feature.text(field):
            return feature.text(field)
    return str(feature["flat_feature_index"])


def _hashed(info: Fields) -> dict[int, str]:
    return {
        each.integer("hash", 0, (1 << 32) - 1): each.text("value")
        for each in _objects(info, "cat_features_hash")
    }


def _labels(texts: Sequence[Label]) -> tuple[Label, ...]:
    """Return categories; those that are integers all, which CatBoost hashes as texts, as such."""
    if texts and all(re.fullmatch(r"-?[1-9]\d{0,15}|0", str(text)) for text in texts):
        return tuple(int(text) for text in texts)
    return tuple(texts)


# ---- trees ---------------------------------------------------------------------------------------


def _trees(fields: Fields, columns: _Columns, scale: float, width: int) -> list[ForeignTree]:
    if fields.has("oblivious_trees"):
        listed = fields.objects("oblivious_trees")
        return [_symmetric(tree, columns, scale, width) for tree in listed]
    return [_nested(tree, columns, scale, width) for tree in fields.objects("trees")]


def _symmetric(tree: Fields, columns: _Columns, scale: float, width: int) -> ForeignTree:
    """Return a symmetric tree: all nodes of a level test the same, the root the last split."""
    splits = _objects(tree, "splits")
    depth = len(splits)
    if depth > _MOST_SYMMETRIC_DEPTH:
        refuse(tree.path("splits"), f"{depth} splits", f"at most {_MOST_SYMMETRIC_DEPTH}")
    n_leaves = 1 << depth
    value = require_finite(
        tree.floats("leaf_values", n_leaves * width), tree.path("leaf_values")
    ).reshape(n_leaves, width)
    weight = np.zeros(n_leaves)
    if _has(tree, "leaf_weights"):
        weight = require_finite(tree.floats("leaf_weights", n_leaves), tree.path("leaf_weights"))
    # Level l has the nodes 2^l − 1 … 2^(l + 1) − 2; the leaves follow.
    read = [columns.split(split) for split in reversed(splits)]
    of_level = np.repeat(np.arange(depth), 1 << np.arange(depth))
    builder = _InnerNodes([read[level] for level in of_level.tolist()], scale)
    children = 2 * np.arange(n_leaves - 1) + 1
    cover = _sums_by_level(weight, depth)
    return builder.tree(tree.where, children, children + 1, value, cover)


def _sums_by_level(weight: Floats, depth: int) -> Floats:
    levels = [weight]
    for _ in range(depth):
        levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
    return np.concatenate(levels[::-1])


@dataclass(frozen=True)
class _InnerNodes:
    """The splits of a tree's inner nodes, which come before its leaves."""

    splits: Sequence[_Split]
    scale: float

    def tree(
        self, where: str, false: Indices, true: Indices, value: Floats, cover: Floats
    ) -> ForeignTree:
        """Return the tree; `false` and `true` are the children of inner nodes."""
        n_leaves, width = value.shape
        leaves, unknown = np.full(n_leaves, -1), np.full((len(self.splits), width), np.nan)
        is_set = np.array([split.members is not None for split in self.splits], bool)

        def joined(name: str) -> NDArray[Any]:
            return np.array([getattr(split, name) for split in self.splits] + [0] * n_leaves)

        # The category of a split is true, right, there and a member, left, here.
        return ForeignTree(
            where=where,
            feature=joined("feature").astype(np.int64),
            left=np.concatenate([np.where(is_set, true, false), leaves]).astype(np.int64),
            right=np.concatenate([np.where(is_set, false, true), leaves]).astype(np.int64),
            threshold=joined("threshold").astype(np.float64),
            missing_left=joined("missing_left").astype(bool),
            value=np.concatenate([unknown, self.scale * value]),
            gain=np.zeros(len(cover)),
            cover=cover,
            count=np.zeros(len(cover), np.int64),
            sets={
                node: split.members
                for node, split in enumerate(self.splits)
                if split.members is not None
            },
        )


def _nested(tree: Fields, columns: _Columns, scale: float, width: int) -> ForeignTree:
    """Return a tree that is written as nested objects."""
    inner: list[tuple[Fields, list[int]]] = []
    leaves: list[Fields] = []
    stack: list[tuple[Fields, int, int, int]] = [(tree, -1, 0, 0)]
    while stack:
        node, parent, side, depth = stack.pop()
        if depth > MOST_DEPTH:
            raise ModelFileError(f"a tree is more than {MOST_DEPTH} levels deep.")
        is_leaf = node.has("value")
        number = ~len(leaves) if is_leaf else len(inner)
        if parent >= 0:
            inner[parent][1][side] = number
        if is_leaf:
            leaves.append(node)
            continue
        inner.append((node, [0, 0]))
        for which, name in enumerate(("left", "right")):
            stack.append((node.object(name), number, which, depth + 1))
    children = np.array([pair for _, pair in inner], np.int64).reshape(-1, 2)
    children = np.where(children < 0, len(inner) + ~children, children)
    read = [columns.split(node.object("split")) for node, _ in inner]
    values = [_leaf_value(leaf, width) for leaf in leaves]
    weights = [leaf.number("weight") if leaf.has("weight") else 0.0 for leaf in leaves]
    cover = np.array([np.nan] * len(inner) + weights)
    for i in range(len(inner) - 1, -1, -1):  # children come after their parent
        cover[i] = cover[children[i]].sum()
    nodes = _InnerNodes(read, scale)
    return nodes.tree(tree.where, children[:, 0], children[:, 1], np.stack(values), cover)


def _leaf_value(leaf: Fields, width: int) -> Floats:
    value = leaf["value"]
    listed = value if isinstance(value, list) else [value]
    numbers = numbers_of(listed, leaf.path("value"), width, np.float64)
    return require_finite(numbers, leaf.path("value"))
