"""A model as XGBoost's JSON, for servers and languages that read it (version 3.1 or later).

XGBoost computes in float32. Decisions are those of the model for numbers that float32 holds
exactly, and leaf values are rounded. What differs:

- There, a number goes left if it is below the threshold, here also if it is equal: the threshold is
  the next float32 above the largest that goes left.
- There, the sets of splits list the categories that go right.
- There, the right child of a node is the one after its left child: nodes are renumbered.
- Base scores are added to the leaves of the first trees.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._export.portable import PortableColumn, PortableModel
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats

_VERSION = [3, 1, 0]
_NO_PARENT = 2147483647
_LARGEST = np.finfo(np.float32).max
_INT64 = 15  # the type of integer categories
# The objective of a link, the parameters that it needs, and the base score whose margin is 0.
_OBJECTIVES: dict[str, tuple[str, dict[str, Any], str]] = {
    "identity": ("reg:squarederror", {"reg_loss_param": {"scale_pos_weight": "1"}}, "0E0"),
    "log": ("count:poisson", {"poisson_regression_param": {"max_delta_step": "0.7"}}, "1E0"),
    "sigmoid": ("binary:logistic", {"reg_loss_param": {"scale_pos_weight": "1"}}, "5E-1"),
    "softmax": ("multi:softprob", {"softmax_multiclass_param": {}}, "0E0"),
}
_LINKS = {"half_sigmoid": "sigmoid", "margin": "identity"}
# What XGBoost refuses in names, and letters that JSON can only escape, which XGBoost cannot read.
_REFUSED = re.compile(r"[\[\]<\x00-\x07\x0b\x0e-\x1f]")


def xgboost_json(model: PortableModel) -> str:
    """Return the text of a model file of XGBoost."""
    link = _LINKS.get(model.link, model.link)
    name, parameters, base_score = _OBJECTIVES[link]
    n_outputs = model.ensemble.n_outputs
    is_softmax = link == "softmax"
    if is_softmax:
        parameters = {"softmax_multiclass_param": {"num_class": str(n_outputs)}}
    trees = list(_trees(model))
    document = {
        "learner": {
            "attributes": {"written_by": model.origin},
            "feature_names": [column.name for column in model.columns] if model.has_names else [],
            "feature_types": ["c" if column.is_set else "float" for column in model.columns],
            "gradient_booster": {
                "model": {
                    "cats": _categories(model.columns),
                    "gbtree_model_param": {
                        "num_parallel_tree": "1",
                        "num_trees": str(len(trees)),
                    },
                    "iteration_indptr": list(range(0, len(trees) + 1, n_outputs)),
                    "tree_info": [t % n_outputs for t in range(len(trees))],
                    "trees": [{"id": t} | tree for t, tree in enumerate(trees)],
                },
                "name": "gbtree",
            },
            "learner_model_param": {
                "base_score": base_score,
                "boost_from_average": "1",
                "num_class": str(n_outputs if is_softmax else 0),
                "num_feature": str(len(model.columns)),
                "num_target": str(1 if is_softmax else n_outputs),
            },
            "objective": {"name": name} | parameters,
        },
        "version": _VERSION,
    }
    # XGBoost reads no escapes of letters.
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


# The properties of nodes that change places with them, beside children and missing_left.
_OF_NODES = ("feature", "threshold", "category_set", "value", "gain", "cover")


def xgboost_refusal(model: PortableModel) -> str | None:
    """Return why XGBoost cannot hold a model."""
    link = _LINKS.get(model.link, model.link)
    if link not in _OBJECTIVES:
        return f"XGBoost has no objective whose predictions are computed from scores by {link!r}"
    if model.ensemble.slopes is not None:
        return "XGBoost does not support linear_leaves"
    if model.calibration is not None:
        return "XGBoost does not support calibration"
    names = model.columns if model.has_names else ()
    refused = [column.name for column in names if _REFUSED.search(column.name)]
    if refused:
        return (
            f"XGBoost does not allow the column name {refused[0]!r}, because names must not "
            "contain any of [ ] < and control characters"
        )
    return next(filter(None, map(_refusal_of_categories, model.columns)), None)


def _refusal_of_categories(column: PortableColumn) -> str | None:
    if column.categories is None:
        return None
    if not column.is_set:
        return f"the categories of column {column.name!r} are encoded by target statistics"
    if not all(type(label) in (str, int) for label in column.labels):
        return f"the categories of column {column.name!r} are not strings or integers"
    foreign = [label for label in column.labels if isinstance(label, str) and not label.isascii()]
    if foreign:
        return (
            f"column {column.name!r} has the category {foreign[0]!r}, and XGBoost itself confuses "
            "categories with letters outside ASCII: it takes the number of letters for that of "
            "bytes. Rename these categories before the fit"
        )
    return None


def _categories(columns: tuple[PortableColumn, ...]) -> dict[str, Any]:
    """Return the categories of each column, and the order in which they are sorted."""
    if not any(column.is_set for column in columns):
        return {"enc": [], "feature_segments": [], "sorted_idx": []}
    counts = [len(column.labels) for column in columns]
    return {
        "enc": [_encoded(column) for column in columns],
        "feature_segments": np.cumsum([0, *counts]).tolist(),
        "sorted_idx": [code for count in counts for code in range(count)],
    }


def _encoded(column: PortableColumn) -> dict[str, Any]:
    if column.categories is not None and column.categories.kind != "string":
        return {"type": _INT64, "values": list(column.labels)}
    texts = [str(label).encode() for label in column.labels]
    offsets = np.cumsum([0, *map(len, texts)]).tolist() if texts else []
    return {"offsets": offsets, "values": np.frombuffer(b"".join(texts), np.int8).tolist()}


def _trees(model: PortableModel) -> Iterator[dict[str, Any]]:
    """Yield the trees of each round, one for each output."""
    ensemble, scale = model.ensemble, 2.0 if model.link == "half_sigmoid" else 1.0
    base = ensemble.base_score
    if ensemble.n_trees == 0:
        yield from (_constant(scale * value) for value in base)
        return
    for t in range(ensemble.n_trees):
        tree, is_first = ensemble.tree(t), t < ensemble.trees_per_round
        outputs = range(model.width) if model.width > 1 else [int(ensemble.tree_output[t])]
        for column, output in enumerate(outputs):
            value = tree.value[:, column] + (base[output] if is_first else 0.0)
            yield _tree(model, tree, scale * value / model.n_averaged)


def _constant(value: float) -> dict[str, Any]:
    none, zero = np.array([-1], np.int32), np.zeros(1)
    leaf = Tree(
        feature=none,
        left=none,
        right=none,
        category_set=none,
        threshold=zero,
        gain=zero,
        cover=zero,
        missing_left=np.zeros(1, np.bool_),
        value=np.zeros((1, 1)),
        count=np.zeros(1, np.int64),
        category_bits=np.empty((0, 8), np.uint32),
    )
    return _tree_fields(leaf, np.array([value]), [])


def _tree(model: PortableModel, tree: Tree, value: Floats) -> dict[str, Any]:
    nodes = np.flatnonzero(tree.category_set >= 0)
    is_left = [_is_left(model, tree, node) for node in nodes.tolist()]
    # XGBoost allows no empty set. Where only missing values go right, all categories do instead.
    exchanged = np.zeros(tree.n_nodes, np.bool_)
    exchanged[nodes] = [each.all() for each in is_left]
    order, number = _with_adjacent_siblings(tree, exchanged)
    sets = {
        int(number[node]): np.flatnonzero(each if each.all() else ~each).tolist()
        for node, each in zip(nodes.tolist(), is_left, strict=True)
    }
    arrays: dict[str, Any] = {name: getattr(tree, name)[order] for name in _OF_NODES}
    left, right = number[tree.left], number[tree.right]
    children: dict[str, Any] = {
        "left": np.where(exchanged, right, left)[order],
        "right": np.where(exchanged, left, right)[order],
        "missing_left": (tree.missing_left ^ exchanged)[order],
    }
    return _tree_fields(replace(tree, **arrays, **children), value[order], sorted(sets.items()))


def _is_left(model: PortableModel, tree: Tree, node: int) -> NDArray[np.bool_]:
    """Return whether each category goes left."""
    bits = tree.category_bits[tree.category_set[node]]
    return model.columns[tree.feature[node]].members(bits)


def _with_adjacent_siblings(
    tree: Tree, exchanged: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the nodes in the order of XGBoost, and the new number of each; that of -1 is -1.

    Pairs of siblings are in the order of the first of them, so parents come before children, and
    most trees of gradient boosting keep their numbers. Some nodes exchange their children.
    """
    inner = np.flatnonzero(tree.feature >= 0)
    pairs = np.column_stack([tree.left[inner], tree.right[inner]]).astype(np.intp)
    by_number = np.argsort(pairs.min(axis=1))
    pairs = np.where(exchanged[inner][:, np.newaxis], pairs[:, ::-1], pairs)[by_number]
    order = np.append(0, pairs)
    number = np.full(tree.n_nodes + 1, -1)
    number[order] = np.arange(tree.n_nodes)
    return order, number


def _tree_fields(tree: Tree, value: Floats, sets: list[tuple[int, list[int]]]) -> dict[str, Any]:
    is_leaf = tree.feature < 0
    parents = np.full(tree.n_nodes, _NO_PARENT)
    for child in (tree.left, tree.right):
        parents[child[~is_leaf]] = np.flatnonzero(~is_leaf)
    sizes = [len(codes) for _, codes in sets]
    return {
        "base_weights": _floats(value),
        "categories": [code for _, codes in sets for code in codes],
        "categories_nodes": [node for node, _ in sets],
        "categories_segments": (np.cumsum([0, *sizes])[:-1]).tolist(),
        "categories_sizes": sizes,
        "default_left": tree.missing_left.astype(int).tolist(),
        "left_children": tree.left.tolist(),
        "loss_changes": _floats(tree.gain),
        "parents": parents.tolist(),
        "right_children": tree.right.tolist(),
        "split_conditions": _floats(np.where(is_leaf, value, _above(tree.threshold))),
        "split_indices": np.where(is_leaf, 0, tree.feature).tolist(),
        "split_type": (tree.category_set >= 0).astype(int).tolist(),
        "sum_hessian": _floats(tree.cover),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": "0",
            "num_nodes": str(tree.n_nodes),
            "size_leaf_vector": "1",
        },
    }


def _above(thresholds: Floats) -> NDArray[np.float32]:
    """Return the smallest float32 that is larger than each threshold, and finite."""
    nearest = np.clip(thresholds, -_LARGEST, _LARGEST).astype(np.float32)
    return np.where(nearest > thresholds, nearest, np.nextafter(nearest, _LARGEST))


def _floats(values: NDArray[Any]) -> list[float]:
    """Return numbers with the digits that identify a float32."""
    return [float(str(value)) for value in np.asarray(values).astype(np.float32)]
