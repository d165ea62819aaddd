"""Models for the package `shap`: trees as its `TreeExplainer` takes those of a user's own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._tree.additive import AdditiveTrees, additive_trees
from hedgerow._tree.structure import Ensemble
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.explain._shap import node_shares


def to_shap(model: Any) -> dict[str, Any]:
    """Return a fitted model as `shap.TreeExplainer` takes it.

    `shap_values` returns the same values in less time; this is for what else that package does with
    trees.

    Parameters
    ----------
    model : fitted estimator
        A model of trees whose columns are numbers: that package knows no tests of categories.

    Returns
    -------
    dict
        Trees and base score, as in ``shap.TreeExplainer(to_shap(model))``. Rows to explain are
        arrays of floats, with NaN for missing values.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import hedgerow as hr
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = hr.GradientBoostingRegressor(n_estimators=20).fit(X, y)
    >>> len(hr.explain.to_shap(model)["trees"])
    20
    """
    trees = additive_trees(model)
    _require_plain(trees)
    ensemble = trees.ensemble
    shares = node_shares(ensemble)
    return {
        "trees": [_tree(ensemble, shares, index) for index in range(ensemble.n_trees)],
        "base_offset": ensemble.base_score.copy(),
        "internal_dtype": np.float64,
        "input_dtype": np.float64,
        "tree_output": {"log-odds": "log_odds", "probability": "probability"}.get(
            trees.unit, "raw_value"
        ),
    }


def _require_plain(trees: AdditiveTrees) -> None:
    ensemble = trees.ensemble
    if (ensemble.category_set >= 0).any() or len(trees.sources) != trees.n_columns:
        raise ParameterError(
            "model: shap.TreeExplainer knows no columns of categories. "
            "hedgerow.explain.shap_values does, and to_explanation() hands its values to that "
            "package's plots."
        )
    if ensemble.slopes is not None:
        raise ParameterError(
            "model: shap.TreeExplainer knows no linear leaves. hedgerow.explain.shap_values with a "
            "background does, and to_explanation() hands its values to that package's plots."
        )


def _tree(ensemble: Ensemble, shares: Floats, index: int) -> dict[str, NDArray[Any]]:
    tree = ensemble.tree(index)
    own = shares[ensemble.tree_offset[index] : ensemble.tree_offset[index + 1]]
    values = tree.value
    if values.shape[1] < ensemble.n_outputs:
        values = np.zeros((tree.n_nodes, ensemble.n_outputs))
        values[:, ensemble.tree_output[index]] = tree.value[:, 0]
    return {
        "children_left": tree.left,
        "children_right": tree.right,
        "children_default": np.where(tree.missing_left, tree.left, tree.right),
        "features": tree.feature,
        "thresholds": tree.threshold,
        "values": values,
        "node_sample_weight": _parts_of_rows(tree.feature, tree.left, tree.right, own),
    }


def _parts_of_rows(
    feature: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    shares: Floats,
) -> Floats:
    """Return the part of all rows that comes to each node of a tree."""
    parts = np.ones(len(shares))
    level = np.zeros(1, np.int32)
    while len(level):
        inner = level[feature[level] >= 0]
        level = np.concatenate([left[inner], right[inner]])
        parts[level] = np.tile(parts[inner], 2) * shares[level]
    return parts
