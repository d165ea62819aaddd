"""The trees of a model as a data frame: a row for each node."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow._contract import internals
from hedgerow._result import imported
from hedgerow._tree.additive import additive_trees
from hedgerow._tree.export import Wording
from hedgerow._tree.structure import Tree
from hedgerow.exceptions import ParameterError


def frame_of_trees(model: Any) -> Any:
    """Return the table that `trees_to_dataframe` documents."""
    pandas = imported("pandas", "trees_to_dataframe()")
    trees = additive_trees(model)
    ensemble = trees.ensemble
    names = [trees.feature_names[source] for source in trees.sources]
    parts = []
    for index, tree in enumerate(ensemble.trees()):
        inner = tree.feature >= 0
        by_category = tree.category_set >= 0
        values = tree.value.T
        labels = ["value"] if len(values) == 1 else [f"value_{of}" for of in trees.output_names]
        of_output = trees.output_names[ensemble.tree_output[index]] if len(values) == 1 else None
        parts.append(
            pandas.DataFrame(
                {
                    "tree_index": index,
                    "output": of_output,
                    "node_index": np.arange(tree.n_nodes),
                    "node_depth": _depths(tree),
                    "parent_index": _parents(tree),
                    "left_child": tree.left,
                    "right_child": tree.right,
                    "split_feature": _texts(inner, lambda node, of=tree: names[of.feature[node]]),
                    "split_gain": np.where(inner, tree.gain, np.nan),
                    "threshold": np.where(inner & ~by_category, tree.threshold, np.nan),
                    "categories": _categories(model, tree, names),
                    "missing_direction": _texts(inner, lambda node, of=tree: _side(of, node)),
                    **dict(zip(labels, values, strict=True)),
                    "weight": tree.cover,
                    "count": tree.count,
                }
            )
        )
    return pandas.concat(parts, ignore_index=True)


def _side(tree: Tree, node: int) -> str:
    return "left" if tree.missing_left[node] else "right"


def _texts(where: Any, text: Any) -> Any:
    """Return a text for each of some nodes, and None for the others."""
    texts = np.full(len(where), None, object)
    for node in np.flatnonzero(where):
        texts[node] = text(node)
    return texts


def _categories(model: Any, tree: Tree, names: list[str]) -> Any:
    """Return, for each node that tests categories, the list of those that go left."""
    tests = tree.category_set >= 0
    if not tests.any():
        return _texts(tests, None)
    fitted = internals(model).model()
    if not hasattr(fitted, "category_bins") and not hasattr(fitted, "binner"):
        raise ParameterError(
            f"trees_to_dataframe: the trees of this {type(model).__name__} are separate models, "
            "whose categories differ. Use model.estimators_[i].trees_to_dataframe()."
        )
    bins = fitted.category_bins if hasattr(fitted, "category_bins") else fitted.binner.category_bins
    wording = Wording(fitted.schema, bins, names, 2, False)
    return _texts(tests, lambda node: wording.categories(tree, node)[0])


def _parents(tree: Tree) -> Any:
    parents = np.full(tree.n_nodes, -1)
    inner = np.flatnonzero(tree.feature >= 0)
    parents[tree.left[inner]] = parents[tree.right[inner]] = inner
    return parents


def _depths(tree: Tree) -> Any:
    depths = np.zeros(tree.n_nodes, int)
    for node in np.flatnonzero(tree.feature >= 0):  # children come after their parent
        depths[tree.left[node]] = depths[tree.right[node]] = depths[node] + 1
    return depths
