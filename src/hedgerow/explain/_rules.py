"""A tree of any model as if-then rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from hedgerow._adaboost.model import TreeCommittee
from hedgerow._boosting.model import BoostedModel
from hedgerow._contract import internals
from hedgerow._forest.model import ForestModel
from hedgerow._tree.additive import column_names
from hedgerow._tree.export import Wording, value_text
from hedgerow._tree.fitting import TreeModel
from hedgerow._tree.rules import rules_of
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError


def export_rules(
    model: Any,
    tree: int = 0,
    *,
    feature_names: Sequence[str] | None = None,
    decimals: int = 2,
    show_missing: bool = False,
) -> str:
    """Return a tree as if-then rules, one for each leaf, with its training rows and its value.

    The tests on a path are merged: a feature has one condition, an interval or a set of categories.

    Parameters
    ----------
    model : fitted estimator
        A decision tree, a forest, gradient boosting, or AdaBoost with its default trees.
    tree : int
        The index of the tree, if there are several.
    feature_names : list of str, optional
        Names of the features that trees split on; by default those of `fit`, or ``feature_0`` and
        so on.
    decimals : int
        Digits after the decimal point.
    show_missing : bool
        Whether to show where missing values are included.

    Returns
    -------
    str
        A line for each leaf: the conditions, what the leaf predicts (of boosted trees, what it adds
        to the score), and the number and percentage of the training rows in it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import hedgerow as hr
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> print(hr.explain.export_rules(hr.DecisionTreeClassifier(max_leaves=3).fit(X, y)), end="")
    if petal length (cm) <= 2.45 then class: 0  [1.00, 0.00, 0.00] (50 rows, 33.3 %)
    if petal length (cm) > 2.45 and petal width (cm) <= 1.75 then class: 1  [0.00, 0.91, 0.09] (54 rows, 36.0 %)
    if petal length (cm) > 2.45 and petal width (cm) > 1.75 then class: 2  [0.00, 0.02, 0.98] (46 rows, 30.7 %)
    """  # noqa: E501
    if decimals < 0:
        raise ParameterError(f"decimals={decimals!r} is not allowed; it must be an int >= 0.")
    chosen, schema, names, say = _contents(model, tree)
    if feature_names is not None and len(feature_names) != len(names):
        raise ParameterError(
            f"feature_names has {len(feature_names)} names; the tree has {len(names)} features."
        )
    bins = internals(model).model().category_bins
    wording = Wording(schema, bins, feature_names or names, decimals, show_missing)

    def leaf_text(node: int) -> str:
        return say(chosen.value[node : node + 1], decimals)

    rules = rules_of(chosen, wording, leaf_text, show_missing)
    return "\n".join(rules) + "\n"


Say = Callable[[Floats, int], str]


def _contents(model: Any, index: int) -> tuple[Tree, Any, Sequence[str], Say]:
    """Return a tree, the schema and names of its features, and how to say what a leaf predicts."""
    inner = internals(model).model()
    if isinstance(inner, TreeModel):
        _require_index(model, index, 1)
        return inner.tree, inner.schema, _names(inner.schema), partial(value_text, inner.outputs)
    if isinstance(inner, ForestModel):
        _require_index(model, index, inner.forest.n_trees)
        if inner.combinations is not None:
            raise ParameterError(
                "model: with feature_combinations, trees test sums of columns, which have no names."
            )
        chosen = inner.forest.tree(index % inner.forest.n_trees)
        return chosen, inner.schema, _names(inner.schema), partial(value_text, inner.outputs)
    if isinstance(inner, BoostedModel):
        _require_index(model, index, inner.ensemble.n_trees)
        schema, names = inner.statistics.encoded_schema(inner.schema), _names(inner.schema)
        encoded = set(inner.statistics.features)
        of_features = [
            f"mean target of {names[source]}" if source in encoded else names[source]
            for source in inner.statistics.sources.tolist()
        ]
        return inner.ensemble.tree(index % inner.ensemble.n_trees), schema, of_features, _added
    if isinstance(inner, TreeCommittee):
        _require_index(model, index, inner.ensemble.n_trees)
        chosen = inner.ensemble.tree(index % inner.ensemble.n_trees)
        say = _added if inner.classes is not None else _predicted
        return chosen, inner.schema, _names(inner.schema), say
    raise ParameterError(f"model: a {type(model).__name__} has no trees of Hedgerow.")


def _names(schema: Any) -> Sequence[str]:
    if schema.has_no_names:
        return [f"feature_{j}" for j in range(schema.n_features)]
    return column_names(schema)


def _require_index(model: Any, index: Any, n_trees: int) -> None:
    is_int = isinstance(index, int | np.integer) and not isinstance(index, bool)
    if not is_int or not -n_trees <= index < n_trees:
        trees = "one tree" if n_trees == 1 else f"trees 0 to {n_trees - 1}"
        raise ParameterError(
            f"tree={index!r} is not allowed; this {type(model).__name__} has {trees}."
        )


def _added(value: Floats, decimals: int) -> str:
    return "add " + ", ".join(f"{number:+.{decimals}f}" for number in value[0])


def _predicted(value: Floats, decimals: int) -> str:
    return f"value: {value[0, 0]:.{decimals}f}"
