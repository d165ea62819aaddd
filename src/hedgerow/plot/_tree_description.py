"""One tree of any tree model: its nodes, the text of its splits and the meaning of its leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow._adaboost.estimators import AdaBoost
from hedgerow._adaboost.model import TreeCommittee
from hedgerow._bagging.estimators import Bagging
from hedgerow._boosting.estimators.base import GradientBoosting
from hedgerow._boosting.model import BoostedModel
from hedgerow._contract import internals
from hedgerow._data.outputs import ClassOutputs
from hedgerow._data.table import TableSchema
from hedgerow._forest.estimator import Forest
from hedgerow._forest.model import ForestModel
from hedgerow._tree.additive import column_names
from hedgerow._tree.decision_tree import DecisionTree
from hedgerow._tree.export import Wording
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError
from hedgerow.plot._display import number, short, signed

# Maximum number of characters of the categories in a split.
LISTED = 22
# What leaves add to, by the link of a boosted model.
_ADDED_TO = {
    "identity": "the prediction",
    "log": "the logarithm of the prediction",
    "sigmoid": "the log-odds",
    "half_sigmoid": "half the log-odds",
    "margin": "the margin",
    "softmax": "the score",
    "sorted": "the prediction",
}


@dataclass(frozen=True, eq=False)
class TreeDescription:
    """A tree, and how to describe it.

    Attributes
    ----------
    tree : Tree
        Its nodes.
    title : str
        Title of the tree.
    meaning : str
        Meaning of the value of a leaf.
    wording : Wording
        Names of columns and categories.
    value_text : function of a node's values
        The text of a leaf.
    shares : function of a node's values
        Class shares; None if the values are not class shares.
    leaves : function of a table
        The leaf of each row.
    adds : bool
        Whether values are added up over trees.
    """

    tree: Tree
    title: str
    meaning: str
    wording: Wording
    value_text: Callable[[Floats], str]
    shares: Callable[[Floats], Floats] | None
    leaves: Callable[[Any], NDArray[Any]]
    adds: bool = False

    def test(self, node: int) -> str:
        """Return the condition that is true for the rows that go left."""
        tree, wording = self.tree, self.wording
        name = short(wording.names[int(tree.feature[node])])
        if tree.category_set[node] >= 0:
            text = f"{name} is {_listed(wording.categories(tree, node)[0])}"
        elif tree.threshold[node] == np.finfo(np.float64).max:
            return f"{name} is not missing"
        else:
            text = f"{name} ≤ {number(float(tree.threshold[node]))}"
        return text + (" or missing" if tree.missing_left[node] else "")


def describe_tree(model: Any, index: int) -> TreeDescription:
    """Return a tree of a fitted model."""
    if isinstance(model, DecisionTree):
        check_is_fitted(model)
        _require_index(index, 1, model)
        return _decision_tree(model, type(model).__name__, model.apply)
    if isinstance(model, GradientBoosting | AdaBoost | Forest | Bagging):
        check_is_fitted(model)
        return _tree_of_ensemble(model, index)
    raise ParameterError(
        f"model: {type(model).__name__} is not allowed; it must be a fitted decision tree, boosted "
        "model, AdaBoost, forest or bagging of Hedgerow's trees."
    )


def _tree_of_ensemble(model: Any, index: int) -> TreeDescription:
    inner = internals(model).model()
    if isinstance(inner, ForestModel):
        return _forest_tree(model, inner, index)
    if isinstance(inner, BoostedModel):
        return _boosted_tree(model, inner, index)
    if isinstance(inner, TreeCommittee):
        return _adaboost_tree(model, inner, index)
    raise ParameterError(
        f"model: the base models of this {type(model).__name__} are separate estimators. Pass "
        "one of its estimators_ that is a tree."
    )


def _require_index(index: Any, n_trees: int, model: Any) -> None:
    is_int = isinstance(index, int | np.integer) and not isinstance(index, bool)
    if not is_int or not -n_trees <= index < n_trees:
        trees = "one tree" if n_trees == 1 else f"trees 0 to {n_trees - 1}"
        raise ParameterError(
            f"tree={index!r} is not allowed; this {type(model).__name__} has {trees}."
        )


def _decision_tree(tree: Any, title: str, leaves: Callable[[Any], NDArray[Any]]) -> TreeDescription:
    inner = internals(tree).model()
    outputs = inner.outputs
    wording = Wording(inner.schema, inner.category_bins, _names(inner.schema), 2, True)
    if not isinstance(outputs, ClassOutputs):
        return TreeDescription(
            inner.tree, title, "predicted value", wording, _numbers, None, leaves
        )

    def shares(values: Floats) -> Floats:
        p: Floats = outputs.probabilities(values[np.newaxis])[0][0]
        return p

    def text(values: Floats) -> str:
        p = shares(values)
        return f"{short(outputs.classes[0][p.argmax()], 16)}: {100.0 * p.max():.0f} %"

    if not outputs.is_single:
        return TreeDescription(
            inner.tree, title, "shares of classes", wording, _numbers, None, leaves
        )
    meaning = "the largest class and its share"
    return TreeDescription(inner.tree, title, meaning, wording, text, shares, leaves)


def _forest_tree(model: Any, inner: ForestModel, index: int) -> TreeDescription:
    n_trees = inner.forest.n_trees
    _require_index(index, n_trees, model)
    if inner.combinations is not None:
        raise ParameterError(
            "model: with feature_combinations, trees test sums of columns, which have no names."
        )
    one = model[index]
    title = f"Tree {index % n_trees} of {n_trees}, {type(model).__name__}"
    return _decision_tree(one, title, one.apply)


def _boosted_tree(model: Any, inner: BoostedModel, index: int) -> TreeDescription:
    ensemble = inner.ensemble
    _require_index(index, ensemble.n_trees, model)
    place = index % ensemble.n_trees
    names = _encoded_names(inner)
    schema = inner.statistics.encoded_schema(inner.schema)
    wording = Wording(schema, inner.category_bins, names, 2, True)
    added_to = _ADDED_TO[inner.link] + _of_output(model, int(ensemble.tree_output[place]))
    if ensemble.n_outputs == ensemble.value.shape[1] > 1:
        added_to = "each output's score"
    title = f"Tree {place} of {ensemble.n_trees}, {type(model).__name__}"
    tree = ensemble.tree(place)
    meaning = f"contribution to {added_to}"
    if tree.slopes is not None:
        meaning += ", before its slopes"

    def leaves(X: Any) -> NDArray[Any]:
        return model.apply(X)[:, place]

    return TreeDescription(tree, title, meaning, wording, _added, None, leaves, adds=True)


def _adaboost_tree(model: Any, inner: TreeCommittee, index: int) -> TreeDescription:
    ensemble = inner.ensemble
    _require_index(index, ensemble.n_trees, model)
    place = index % ensemble.n_trees
    wording = Wording(inner.schema, inner.category_bins, _names(inner.schema), 2, True)
    is_regressor = inner.classes is None
    meaning = "predicted value" if is_regressor else "contribution to the scores of the classes"
    if inner.classes is not None and len(inner.classes) == 2 and ensemble.value.shape[1] == 1:
        meaning = f"contribution to the score of {short(inner.classes[1])}"
    title = f"Tree {place} of {ensemble.n_trees}, {type(model).__name__}"

    def leaves(X: Any) -> NDArray[Any]:
        return ensemble.apply(internals(model).matrix(X))[:, place]

    text = _numbers if is_regressor else _added
    tree = ensemble.tree(place)
    return TreeDescription(tree, title, meaning, wording, text, None, leaves, adds=not is_regressor)


def _of_output(model: Any, output: int) -> str:
    """Return the class or output that a tree contributes to, if there are several."""
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list):
        return f" of label {output}"
    if classes is not None:
        return f" of {short(classes[1 if len(classes) == 2 else output])}"
    return f" of output {output}" if getattr(model, "n_outputs_", 1) > 1 else ""


def _names(schema: TableSchema) -> Sequence[str]:
    return column_names(schema)


def _encoded_names(inner: BoostedModel) -> list[str]:
    """Return the names of features: columns, or target statistics of categorical columns."""
    statistics, schema = inner.statistics, inner.schema
    names = _names(schema)
    encoded = set(statistics.features)
    return [
        f"mean target of {names[source]}" if source in encoded else names[source]
        for source in statistics.sources.tolist()
    ]


def _numbers(values: Floats, text_of: Callable[[float], str] = number) -> str:
    first = ", ".join(text_of(float(value)) for value in values[:3])
    return first + (f", … {len(values) - 3} more" if len(values) > 3 else "")


def _added(values: Floats) -> str:
    return _numbers(values, signed)


def _listed(categories: Sequence[Any]) -> str:
    """List as many categories as there is space for, and count the others."""
    texts = [short(category, LISTED) for category in categories]
    n_listed, length = 0, 0
    for text in texts:
        length += len(text) + 2
        if n_listed and length > LISTED:
            break
        n_listed += 1
    listed, more = texts[:n_listed], len(texts) - n_listed
    if more:
        return ", ".join(listed) + f", … {more} more"
    return " or ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else "".join(listed)
