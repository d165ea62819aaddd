"""Bagged trees, each with its own columns, as one sum of trees.

Every base model has its own categories and bins, so the trees'
features are the columns of the first base model, then those of the second, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow._bagging.base_models import BaggedModel, columns_for, spread
from hedgerow._data.names import Labels
from hedgerow._tree.additive import AdditiveTrees, leaf_names, leaf_unit
from hedgerow._tree.outputs import ClassOutputs, Outputs
from hedgerow._tree.structure import Ensemble, Rows, Tree
from hedgerow._types import Floats


def joined_trees(
    model: BaggedModel,
    labels: Labels,
    checked: Callable[[Any], Any],
    n_threads: int,
    *,
    hard: bool,
) -> AdditiveTrees:
    """Return the mean of a bag's trees as a sum.

    Parameters
    ----------
    model : MemberModel
        Fitted decision trees.
    labels : Labels
        Names of the columns.
    checked : function of a table
        Returns the table as input of `columns_for`.
    n_threads : int
        Threads to use.
    hard : bool
        Whether base models vote by class.
    """
    columns = [model.sampling.features(index) for index in range(len(model.estimators))]
    starts = np.concatenate([[0], np.cumsum([len(own) for own in columns])])
    trees = [
        _scaled_tree(base_model, int(first), model, hard=hard)
        for base_model, first in zip(model.estimators, starts, strict=False)
    ]

    def matrix(X: Any) -> Rows:
        X = checked(X)
        parts = [
            base_model._matrix(columns_for(model.sampling, index, X))  # noqa: SLF001  as its predict does
            for index, base_model in enumerate(model.estimators)
        ]
        return np.concatenate(parts, axis=1)

    base = np.zeros(model.outputs.n_values)
    return AdditiveTrees(
        ensemble=Ensemble.from_trees(trees, np.zeros(len(trees), np.int32), base, int(starts[-1])),
        matrix=matrix,
        sources=np.concatenate(columns),
        feature_names=labels,
        output_names=leaf_names(model.outputs),
        unit=leaf_unit(model.outputs),
        n_threads=n_threads,
    )


def _scaled_tree(base_model: Any, first_feature: int, model: BaggedModel, *, hard: bool) -> Tree:
    """Return a base model's tree with shifted features, and its share of the mean as values."""
    tree: Tree = base_model.tree_
    own: Outputs = base_model._model.outputs  # noqa: SLF001
    values = _values(tree.value, own, model.outputs, hard=hard) / len(model.estimators)
    return replace(tree.with_features_moved(first_feature), value=values)


def _values(values: Floats, own: Outputs, outputs: Outputs, *, hard: bool) -> Floats:
    """Return a base model's values for the classes of the ensemble, which may be more."""
    if not isinstance(outputs, ClassOutputs):
        return values
    assert isinstance(own, ClassOutputs)
    shares = list(map(spread, own.probabilities(values), own.classes, outputs.classes))
    if hard:  # ties go to the first class, as in the base model
        return outputs.certain(outputs.votes(outputs.values(shares)))
    return outputs.values(shares)
