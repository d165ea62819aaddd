"""XGBoost's JSON format, and the same as Universal Binary JSON, from version 1.7 on.

    version                     [3, 2, 0]
    learner
      feature_names, feature_types      empty if the table had none; the type "c" is categorical
      learner_model_param               num_feature, num_class, num_target, base_score
      objective                         name
      gradient_booster                  name: gbtree or dart
        model                           of dart: in gbtree, beside weight_drop, factors of trees
          tree_info                     the output that each tree adds to
          cats                          since 3.1: the categories of each column, by code
          trees                         arrays with an entry for each node:
            left_children, right_children      −1 in a leaf
            split_indices, split_conditions    the feature and the threshold; the value of a leaf
            default_left, split_type           where missing values go; 1 for a set of categories
            categories…                        the members of sets, which go right
            base_weights, loss_changes, sum_hessian
            leaf_weights                       vectors of leaves, numbered by right_children (3.2)

Everything is float32: numbers are rounded on entry, x < threshold goes left, and scores are float32
sums in the order of the trees, from the base score on. The base score is a prediction, so the link
comes first. A category that no set lists goes left, an unknown one too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting import (
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
)
from hedgerow._data.columns import Label, plain_label
from hedgerow._import.categories import ForeignColumn
from hedgerow._import.fields import (
    MOST_FEATURES,
    MOST_OUTPUTS,
    Fields,
    choice_of,
    numbers_of,
    refuse,
    require_all,
    require_finite,
)
from hedgerow._import.model import ForeignModel, ScoreMeaning
from hedgerow._import.trees import ForeignTree, Indices, below_float32
from hedgerow._links import Link
from hedgerow._model_file.origin import Origin
from hedgerow._tree.structure import Arithmetic
from hedgerow._types import Floats

_OLDEST = (1, 7)
_RAW_SCORES = "binary:logitraw"  # its base score is a score, not a probability
_MOST_TREES = 1 << 24
_WITHOUT_COVER = "Shapley values weight both branches of a split equally: the file has no hessians"
_REGRESSION = ScoreMeaning(GradientBoostingRegressor)
_LOG = ScoreMeaning(GradientBoostingRegressor, "log", {"loss": "poisson"})
_TWO_CLASSES = ScoreMeaning(GradientBoostingClassifier, "sigmoid")
_CLASSES = ScoreMeaning(GradientBoostingClassifier, "softmax")
_RANKING = ScoreMeaning(GradientBoostingRanker)
_OBJECTIVES: Mapping[str, ScoreMeaning] = {
    **dict.fromkeys(("reg:squarederror", "reg:linear", "reg:squaredlogerror"), _REGRESSION),
    **dict.fromkeys(("reg:pseudohubererror", "reg:absoluteerror"), _REGRESSION),
    **dict.fromkeys(("reg:quantileerror", "reg:expectileerror"), _REGRESSION),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), _LOG),
    **dict.fromkeys(("survival:cox", "survival:aft"), _LOG),
    "reg:logistic": ScoreMeaning(GradientBoostingRegressor, "sigmoid"),
    **dict.fromkeys(("binary:logistic", _RAW_SCORES), _TWO_CLASSES),
    "binary:hinge": ScoreMeaning(GradientBoostingClassifier, "margin", {"loss": "hinge"}),
    **dict.fromkeys(("multi:softmax", "multi:softprob"), _CLASSES),
    **dict.fromkeys(("rank:pairwise", "rank:ndcg", "rank:map"), _RANKING),
}


def read_xgboost(document: Any, encoding: str, classes: NDArray[Any] | None = None) -> ForeignModel:
    """Read a model; the classes are not in it."""
    fields = Fields(document)
    version = _version(fields)
    learner = fields.object("learner")
    parameters = learner.object("learner_model_param")
    n_features = parameters.integer("num_feature", 1, MOST_FEATURES)
    objective = learner.object("objective").text("name")
    meaning: ScoreMeaning = choice_of("learner.objective.name", objective, _OBJECTIVES)
    n_outputs = _n_outputs(parameters)
    booster, weights = _booster(learner.object("gradient_booster"))
    trees, width = _trees(booster, weights, n_outputs)
    has_cover = all(tree.n_nodes == 1 or tree.cover.any() for tree in trees)
    return ForeignModel(
        origin=Origin(
            "XGBoost", version, encoding, objective, () if has_cover else (_WITHOUT_COVER,)
        ),
        meaning=_of_outputs(meaning, n_outputs),
        columns=_columns(learner, booster, n_features),
        trees=trees,
        tree_output=_tree_output(booster, len(trees), n_outputs, width),
        base_score=_base_score(
            parameters, "identity" if objective == _RAW_SCORES else meaning.link, n_outputs
        ),
        arithmetic=Arithmetic(float32_sums=True),
        classes=classes if meaning.kind is GradientBoostingClassifier else None,
    )


def _version(fields: Fields) -> str:
    version = fields.integers("version", 3)
    if tuple(version[:2].tolist()) < _OLDEST:
        refuse("version", version.tolist(), f"at least {'.'.join(map(str, _OLDEST))}")
    return ".".join(map(str, version.tolist()))


def _n_outputs(parameters: Fields) -> int:
    n_classes = parameters.integer("num_class", 0, MOST_OUTPUTS)
    n_targets = 1
    if parameters.has("num_target"):
        n_targets = parameters.integer("num_target", 0, MOST_OUTPUTS)
    return max(n_classes, n_targets, 1)


def _of_outputs(meaning: ScoreMeaning, n_outputs: int) -> ScoreMeaning:
    """Return what scores mean; several targets with two classes are labels."""
    if meaning.kind is GradientBoostingRanker and n_outputs > 1:
        refuse("num_target", n_outputs, "1 for a ranking objective")
    if meaning is _CLASSES and n_outputs == 1:
        refuse("num_class", n_outputs, "the number of classes")
    if n_outputs > 1 and meaning.kind is GradientBoostingClassifier and meaning is not _CLASSES:
        return ScoreMeaning(meaning.kind, meaning.link, meaning.parameters, is_multilabel=True)
    return meaning


def _booster(booster: Fields) -> tuple[Fields, NDArray[np.float32] | None]:
    """Return the model of a booster, and the factor of each tree if it is DART's."""
    name = booster.text("name")
    if name == "gbtree":
        return booster.object("model"), None
    if name == "dart":
        model = booster.object("gbtree").object("model")
        weights = require_finite(booster.floats("weight_drop"), booster.path("weight_drop"))
        return model, weights.astype(np.float32)
    return refuse(booster.path("name"), name, "'gbtree' or 'dart'")


def _base_score(parameters: Fields, link: Link, n_outputs: int) -> Floats:
    """Return the base score of each output: the link of what the file has, in float32."""
    text = parameters["base_score"]
    where = parameters.path("base_score")
    if isinstance(text, str):
        text = text.strip("[]").replace(",", " ")
    numbers = numbers_of(text, where, None, np.float64)
    if len(numbers) not in (1, n_outputs):
        refuse(where, numbers.tolist(), f"one number, or {n_outputs}")
    predictions = require_finite(numbers, where).astype(np.float32)
    if link == "sigmoid":
        require_all((predictions > 0) & (predictions < 1), where, predictions, "between 0 and 1")
        one = np.float32(1.0)
        odds = one / predictions - one
        predictions = -_float32_log(odds)
    elif link == "log":
        require_all(predictions > 0, where, predictions, "positive")
        predictions = _float32_log(predictions)
    return np.broadcast_to(predictions.astype(np.float64), n_outputs).copy()


def _float32_log(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.array([math.log(x) if x > 0 else -math.inf for x in numbers.tolist()], np.float32)


# ---- columns -------------------------------------------------------------------------------------


def _columns(learner: Fields, booster: Fields, n_features: int) -> list[ForeignColumn]:
    names, types = (
        _texts(learner, name, n_features) for name in ("feature_names", "feature_types")
    )
    labels = _category_labels(booster, n_features)
    return [
        ForeignColumn(
            name=None if names is None else names[j],
            is_categorical=types is not None and types[j] == "c",
            labels=labels.get(j),
        )
        for j in range(n_features)
    ]


def _texts(learner: Fields, name: str, n_features: int) -> list[str] | None:
    """Return a string for each column; None if there are none."""
    listed = list(learner.list(name)) if learner.has(name) else []
    if not listed:
        return None
    if len(listed) != n_features or not all(isinstance(text, str) for text in listed):
        refuse(learner.path(name), listed, f"a list of {n_features} strings")
    return listed


def _category_labels(booster: Fields, n_features: int) -> dict[int, tuple[Label, ...]]:
    """Return the categories of columns by code, which are in files since 3.1."""
    if not booster.has("cats"):
        return {}
    cats = booster.object("cats")
    encodings = cats.objects("enc")
    if encodings and len(encodings) != n_features:
        refuse(cats.path("enc"), f"{len(encodings)} columns", f"{n_features} columns")
    labels = {j: _labels(encoding) for j, encoding in enumerate(encodings)}
    return {j: of_column for j, of_column in labels.items() if of_column}


def _labels(encoding: Fields) -> tuple[Label, ...]:
    if not encoding.has("offsets"):
        return tuple(
            map(
                plain_label,
                require_finite(encoding.floats("values"), encoding.path("values")).tolist(),
            )
        )
    offsets, letters = encoding.integers("offsets"), encoding.integers("values")
    if not len(offsets):
        return ()
    ascending = offsets[0] >= 0 and offsets[-1] <= len(letters) and (np.diff(offsets) >= 0).all()
    if not ascending:
        refuse(encoding.path("offsets"), offsets.tolist(), "increasing places in values")
    data = (letters & 255).astype(np.uint8).tobytes()
    bounds = offsets.tolist()
    try:
        return tuple(data[a:b].decode() for a, b in pairwise(bounds))
    except UnicodeDecodeError:
        return refuse(
            encoding.path("values"),
            data,
            "UTF-8. XGBoost itself cuts categories with letters outside ASCII when it writes them, "
            "so train with categories in ASCII",
        )


# ---- trees ---------------------------------------------------------------------------------------


def _trees(
    booster: Fields, weights: NDArray[np.float32] | None, n_outputs: int
) -> tuple[list[ForeignTree], int]:
    listed = booster.objects("trees")
    if len(listed) > _MOST_TREES:
        refuse(booster.path("trees"), f"{len(listed)} trees", f"at most {_MOST_TREES}")
    if weights is not None and len(weights) != len(listed):
        refuse("weight_drop", f"{len(weights)} numbers", f"{len(listed)}, one for each tree")
    factors: list[Any] = [None] * len(listed) if weights is None else list(weights)
    trees = [_tree(fields, w, n_outputs) for fields, w in zip(listed, factors, strict=True)]
    widths = {tree.value.shape[1] for tree in trees}
    if len(widths) > 1:
        refuse("size_leaf_vector", sorted(widths), "the same for all trees")
    return trees, widths.pop() if widths else 1


def _tree_output(booster: Fields, n_trees: int, n_outputs: int, width: int) -> Indices:
    output = booster.integers("tree_info", n_trees)
    if width > 1:
        return np.zeros(n_trees, np.int64)
    fits = (output >= 0) & (output < n_outputs)
    require_all(fits, booster.path("tree_info"), output, f"from 0 to {n_outputs - 1}")
    return output


def _tree(fields: Fields, factor: np.float32 | None, n_outputs: int) -> ForeignTree:
    left = fields.integers("left_children")
    n = len(left)
    if n == 0:
        refuse(fields.path("left_children"), [], "a list with a node at least")
    right = fields.integers("right_children", n)
    is_leaf = left == -1
    condition = fields.floats("split_conditions", n)
    sets = _sets(fields, n, is_leaf)
    is_set = np.zeros(n, bool)
    is_set[list(sets)] = True
    default_left = fields.integers("default_left", n) != 0
    value = _values(fields, condition, is_leaf, right, factor, n_outputs)
    # Version 2 stores neither hessians nor gains of trees with vector leaves.
    is_bare = value.shape[1] > 1 and not fields.has("sum_hessian")
    hessian = np.zeros(n) if is_bare else fields.floats("sum_hessian", n)
    require_finite(hessian, fields.path("sum_hessian"))
    require_all(
        ~is_leaf | np.isfinite(value).all(axis=1),
        fields.path("split_conditions"),
        value[:, 0],
        "finite",
    )
    numeric = ~is_leaf & ~is_set
    threshold = np.zeros(n)
    threshold[numeric] = below_float32(condition[numeric])
    # Members of sets go right there and left here, so their children are exchanged.
    return ForeignTree(
        where=fields.where,
        feature=fields.integers("split_indices", n) & 0x7FFF_FFFF,
        left=np.where(is_leaf, -1, np.where(is_set, right, left)),
        right=np.where(is_leaf, -1, np.where(is_set, left, right)),
        threshold=threshold,
        missing_left=default_left ^ is_set,
        value=value,
        gain=np.zeros(n) if is_bare else fields.floats("loss_changes", n),
        cover=hessian,
        count=np.zeros(n, np.int64),
        sets=sets,
    )


def _values(
    fields: Fields,
    condition: Floats,
    is_leaf: NDArray[np.bool_],
    right: Indices,
    factor: np.float32 | None,
    n_outputs: int,
) -> Floats:
    """Return the values of leaves, a number or a vector; NaN in inner nodes."""
    n, parameters = len(is_leaf), fields.object("tree_param")
    width = parameters.integer("size_leaf_vector", 0, MOST_OUTPUTS)
    if width > 1 and width != n_outputs:
        refuse(parameters.path("size_leaf_vector"), width, f"1 or {n_outputs}")
    if width <= 1:
        leaf_values = condition[is_leaf].reshape(-1, 1)
    elif fields.has("leaf_weights"):
        vectors = fields.floats("leaf_weights").reshape(-1)
        number = right[is_leaf]
        fits = (number >= 0) & ((number + 1) * width <= len(vectors))
        require_all(fits, "right_children of leaves", number, "a vector of leaf_weights")
        leaf_values = vectors[number[:, np.newaxis] * width + np.arange(width)]
    else:
        leaf_values = fields.floats("base_weights", n * width).reshape(n, width)[is_leaf]
    with np.errstate(over="ignore"):
        rounded = leaf_values.astype(np.float32)
        if factor is not None:
            rounded = rounded * factor
    value = np.full((n, max(width, 1)), np.nan)
    value[is_leaf] = rounded
    return value


def _sets(fields: Fields, n: int, is_leaf: NDArray[np.bool_]) -> dict[int, Indices]:
    """Return the members of the sets of categorical nodes."""
    if not fields.has("categories_nodes"):
        return {}
    nodes = fields.integers("categories_nodes")
    if not len(nodes):
        return {}
    fits = (nodes >= 0) & (nodes < n) & ~is_leaf[nodes.clip(0, n - 1)]
    require_all(fits, fields.path("categories_nodes"), nodes, "an inner node")
    members = fields.integers("categories")
    begin, size = (fields.integers(f"categories_{of}", len(nodes)) for of in ("segments", "sizes"))
    fits = (begin >= 0) & (size >= 0) & (begin + size <= len(members))
    require_all(fits, fields.path("categories_segments"), begin, "a place in categories")
    require_all(members >= 0, fields.path("categories"), members, "at least 0")
    return {
        node: np.unique(members[b : b + s])
        for node, b, s in zip(nodes.tolist(), begin.tolist(), size.tolist(), strict=True)
    }
