"""Trees, forests and AdaBoost of scikit-learn, from the arrays of fitted objects.

A tree of scikit-learn (``tree_``) has arrays with an entry for each node: ``children_left`` and
``children_right`` (−1 in a leaf), ``feature``, ``threshold``, ``missing_go_to_left``, ``value``
(n_nodes, n_outputs, n_classes), ``impurity``, ``n_node_samples`` and ``weighted_n_node_samples``.
Numbers are rounded to float32 before they are compared with thresholds, which are float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from sklearn import ensemble, tree

from hedgerow._adaboost import AdaBoostClassifier, AdaBoostRegressor
from hedgerow._adaboost.algorithms import R2, Discrete
from hedgerow._adaboost.model import TreeCommittee
from hedgerow._data.outputs import ClassOutputs, NumberOutputs, Outputs
from hedgerow._estimator import adopt, column_attributes
from hedgerow._forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow._forest.model import ForestModel
from hedgerow._import.categories import ForeignColumn
from hedgerow._import.fields import unsupported
from hedgerow._import.model import ReadTrees, read_trees
from hedgerow._import.trees import ForeignTree, float32_reach
from hedgerow._model_file.origin import Origin
from hedgerow._tree import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow._tree.cart import BootstrapSamples
from hedgerow._tree.fitting import TreeModel
from hedgerow._tree.unpacked import UnpackedForest
from hedgerow._types import Floats

TREES = (tree.DecisionTreeClassifier, tree.DecisionTreeRegressor)
FORESTS = (
    (ensemble.RandomForestClassifier, RandomForestClassifier),
    (ensemble.RandomForestRegressor, RandomForestRegressor),
    (ensemble.ExtraTreesClassifier, ExtraTreesClassifier),
    (ensemble.ExtraTreesRegressor, ExtraTreesRegressor),
)


def origin_of(model: Any) -> Origin:
    """Return where a fitted object of scikit-learn comes from."""
    objective = str(getattr(model, "loss", getattr(model, "criterion", "")))
    return Origin("scikit-learn", sklearn.__version__, type(model).__name__, objective)


def columns_of(model: Any) -> list[ForeignColumn]:
    """Return the columns of the table of a fitted object."""
    names = getattr(model, "feature_names_in_", [None] * model.n_features_in_)
    return [ForeignColumn(None if name is None else str(name)) for name in names]


def foreign_tree(fitted: Any, value: Floats) -> ForeignTree:
    """Return a fitted tree with these values of its nodes."""
    nodes = fitted.tree_
    left, right = nodes.children_left.astype(np.int64), nodes.children_right.astype(np.int64)
    cover = nodes.weighted_n_node_samples.astype(np.float64)
    impurity = cover * nodes.impurity
    is_leaf = left < 0
    return ForeignTree(
        where=type(fitted).__name__,
        feature=nodes.feature.astype(np.int64),
        left=left,
        right=right,
        threshold=float32_reach(np.where(is_leaf, 0.0, nodes.threshold)),
        missing_left=nodes.missing_go_to_left.astype(bool),
        value=value,
        gain=np.where(is_leaf, 0.0, impurity - impurity[left] - impurity[right]),
        cover=cover,
        count=nodes.n_node_samples.astype(np.int64),
    )


def _outputs(model: Any) -> Outputs:
    """Return the outputs of a tree or a forest."""
    if not hasattr(model, "classes_"):
        return NumberOutputs(model.n_outputs_, is_single=model.n_outputs_ == 1)
    classes = model.classes_ if model.n_outputs_ > 1 else [model.classes_]
    return ClassOutputs(tuple(map(np.asarray, classes)))


def _leaf_values(fitted: Any, outputs: Outputs) -> Floats:
    value = fitted.tree_.value
    if isinstance(outputs, NumberOutputs):
        return np.ascontiguousarray(value[:, :, 0])
    shares = [value[:, k, : len(of)] for k, of in enumerate(outputs.classes)]
    return outputs.values(shares)


def _read(model: Any, members: Sequence[Any], outputs: Outputs) -> ReadTrees:
    trees = [foreign_tree(member, _leaf_values(member, outputs)) for member in members]
    none = np.zeros(len(trees), np.int64)
    return read_trees(columns_of(model), trees, none, np.zeros(outputs.n_values))


def read_tree(model: Any) -> Any:
    """Return a decision tree."""
    outputs = _outputs(model)
    read = _read(model, [model], outputs)
    is_classifier = isinstance(outputs, ClassOutputs)
    estimator: Any = DecisionTreeClassifier() if is_classifier else DecisionTreeRegressor()
    fitted = TreeModel(read.schema, read.binner, read.ensemble, outputs)
    attributes = column_attributes(read.schema) | outputs.attributes()
    adopt(estimator, attributes | {"_model": fitted, "origin_": origin_of(model)})
    return estimator


def read_forest(model: Any) -> Any:
    """Return a random forest or extra trees."""
    outputs = _outputs(model)
    read = _read(model, model.estimators_, outputs)
    fitted = ForestModel(
        schema=read.schema,
        binner=read.binner,
        forest=UnpackedForest(read.ensemble, read.binner),
        outputs=outputs,
        sampling=BootstrapSamples.all(1),
        n_rows=1,
    )
    kind = next(ours for theirs, ours in FORESTS if isinstance(model, theirs))
    estimator: Any = kind(n_estimators=len(model.estimators_))
    attributes = column_attributes(read.schema) | outputs.attributes()
    adopt(estimator, attributes | {"_model": fitted, "origin_": origin_of(model)})
    return estimator


def read_adaboost(model: Any) -> Any:
    """Return AdaBoost of decision trees."""
    for member in model.estimators_:
        if not isinstance(member, TREES):
            unsupported(
                f"AdaBoost of {type(member).__name__}", "Its base estimators must be trees."
            )
    return _read_regressor(model) if not hasattr(model, "classes_") else _read_classifier(model)


def _rounds(model: Any) -> dict[str, Any]:
    n_rounds = len(model.estimators_)
    return {
        "estimator_weights_": model.estimator_weights_[:n_rounds].astype(np.float64),
        "estimator_errors_": model.estimator_errors_[:n_rounds].astype(np.float64),
        "weight_sums_": np.full(n_rounds, np.nan),
    }


def _read_classifier(model: Any) -> Any:
    algorithm = Discrete(len(model.classes_), float(model.learning_rate))
    rounds, trees = _rounds(model), []
    for member, weight in zip(model.estimators_, rounds["estimator_weights_"], strict=True):
        place = np.searchsorted(model.classes_, member.classes_)
        predicted = place[member.tree_.value[:, 0, :].argmax(axis=1)]
        trees.append(foreign_tree(member, algorithm.votes(predicted, float(weight))))
    none = np.zeros(len(trees), np.int64)
    read = read_trees(columns_of(model), trees, none, np.zeros(algorithm.n_outputs))
    classes = np.asarray(model.classes_)
    committee = TreeCommittee(
        *(read.schema, read.binner, read.ensemble, algorithm),
        *(rounds["estimator_weights_"], classes),
    )
    estimator = AdaBoostClassifier(n_estimators=len(trees), learning_rate=model.learning_rate)
    attributes = {"classes_": classes, "n_classes_": len(classes)}
    attributes |= {"resets_": np.zeros(len(trees), np.int64)}
    return _adopted(estimator, model, read, committee, rounds | attributes)


def _read_regressor(model: Any) -> Any:
    rounds = _rounds(model)
    trees = [foreign_tree(member, member.tree_.value[:, :, 0]) for member in model.estimators_]
    read = read_trees(columns_of(model), trees, np.zeros(len(trees), np.int64), np.zeros(1))
    committee = TreeCommittee(
        *(read.schema, read.binner, read.ensemble, R2(model.loss, float(model.learning_rate))),
        *(rounds["estimator_weights_"], None),
    )
    estimator = AdaBoostRegressor(n_estimators=len(trees), learning_rate=model.learning_rate)
    return _adopted(estimator, model, read, committee, rounds)


def _adopted(
    estimator: Any, model: Any, read: ReadTrees, committee: TreeCommittee, rounds: dict[str, Any]
) -> Any:
    columns = column_attributes(read.schema)
    adopt(estimator, columns | rounds | {"_model": committee, "origin_": origin_of(model)})
    return estimator
