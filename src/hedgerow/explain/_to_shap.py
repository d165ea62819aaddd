"""Models for the package `shap`: trees in the custom format of its `TreeExplainer`."""

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
    """Return a fitted model in the format of `shap.TreeExplainer`.

    `shap_values` returns the same values in less time; use this for other functions of that
    package.

    Parameters
    ----------
    model : fitted estimator
        A tree ensemble with numeric features: that package does not support categorical splits.

    Returns
    -------
    dict
        Trees and base score, for ``shap.TreeExplainer(to_shap(model))``. Rows to explain are
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
            "model: shap.TreeExplainer does not support categorical features. "
            "hedgerow.explain.shap_values does, and to_explanation() converts its values for the "
            "plots of that package."
        )
    if ensemble.slopes is not None:
        raise ParameterError(
            "model: shap.TreeExplainer does not support linear leaves. "
            "hedgerow.explain.shap_values with a background does, and to_explanation() converts "
            "its values for the plots of that package."
        )


def _tree(ensemble: Ensemble, shares: Floats, index: int) -> dict[str, NDArray[Any]]:
    tree = ensemble.tree(index)
    tree_shares = shares[ensemble.tree_offset[index] : ensemble.tree_offset[index + 1]]
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
        "node_sample_weight": _row_fractions(tree.feature, tree.left, tree.right, tree_shares),
    }


def _row_fractions(
    feature: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    shares: Floats,
) -> Floats:
    """Return the fraction of all rows that reaches each node of a tree."""
    fractions = np.ones(len(shares))
    level = np.zeros(1, np.int32)
    while len(level):
        inner = level[feature[level] >= 0]
        level = np.concatenate([left[inner], right[inner]])
        fractions[level] = np.tile(fractions[inner], 2) * shares[level]
    return fractions
