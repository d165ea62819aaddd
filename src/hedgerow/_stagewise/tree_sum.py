"""Stagewise boosting of Hedgerow's trees as a sum of trees, for explanations.

Every learner has its own schema, because its sample may lack some categories. So the features of
the sum are the columns of the first learner, then those of the second, and so on; without
categorical features, all learners share the same columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow._boosting.estimators.base import UNITS
from hedgerow._contract import internals
from hedgerow._stagewise.model import AdditiveModel, Stage
from hedgerow._tree import DecisionTreeClassifier, DecisionTreeRegressor
from hedgerow._tree.additive import AdditiveTrees, Meaning, column_names
from hedgerow._tree.structure import Ensemble, Rows, Tree
from hedgerow._types import Floats
from hedgerow.exceptions import ParameterError


def sum_of_trees(
    model: AdditiveModel,
    output_names: tuple[str, ...],
    meaning: Meaning | None,
    checked: Callable[[Any], Any],
) -> AdditiveTrees:
    """Return the initial scores and the learners of a model as a sum of trees.

    Parameters
    ----------
    model : AdditiveModel
        The fitted model.
    output_names : tuple of str
        A name for each score.
    meaning : Meaning, or None
        The function from scores to predictions.
    checked : function of a table
        Checks that a table has the columns of `fit`, and returns it.
    """
    _require_trees(model)
    learners = [stage.learner for stage in model.stages]
    schema = internals(learners[0]).model().schema
    n_columns = schema.n_features
    is_shared = not any(internals(learner).model().schema.categories for learner in learners)
    readers = learners[:1] if is_shared else learners
    trees = []
    for index, stage in enumerate(model.stages):
        moved = (
            internals(stage.learner)
            .model()
            .tree.with_features_moved(0 if is_shared else index * n_columns)
        )
        trees.append(replace(moved, value=_terms(stage)[:, None]))

    def matrix(X: Any) -> Rows:
        X = checked(X)
        return np.concatenate([internals(reader).matrix(X) for reader in readers], axis=1)

    outputs = np.arange(len(trees), dtype=np.int32) % model.n_outputs
    return AdditiveTrees(
        ensemble=Ensemble.from_trees(trees, outputs, model.start, len(readers) * n_columns),
        matrix=matrix,
        sources=np.tile(np.arange(n_columns), len(readers)),
        feature_names=column_names(schema),
        output_names=output_names,
        unit=UNITS[model.link],
        prediction=meaning,
    )


def _require_trees(model: AdditiveModel) -> None:
    ours = (DecisionTreeClassifier, DecisionTreeRegressor)
    others = [stage.learner for stage in model.stages if not isinstance(stage.learner, ours)]
    if others:
        raise ParameterError(
            f"model: the base learners of this model are {type(others[0]).__name__}s, not "
            "Hedgerow's decision trees, so the model is not a sum of trees."
        )
    if not isinstance(model.start, np.ndarray):
        raise ParameterError(
            f"model: its initial scores are predictions of init={type(model.start).__name__}, so "
            "the model is not a sum of trees."
        )
    if not model.stages:
        raise ParameterError("model: it has no trees, because all gradients were 0.")


def _terms(stage: Stage) -> Floats:
    """Return the term of each node of the learner's tree."""
    learner: Any = stage.learner
    tree = internals(learner).model().tree
    n_nodes = len(tree.feature)
    if not isinstance(stage.step, float):
        return _with_means(tree, stage.term(np.arange(n_nodes)))
    if isinstance(learner, DecisionTreeRegressor):
        return stage.term(tree.value[:, 0])
    outputs = internals(learner).model().outputs
    labels = outputs.labels(outputs.votes(tree.value))
    return stage.term(labels.astype(np.float64))


def _with_means(tree: Tree, terms: Floats) -> Floats:
    """Return the terms with inner nodes set to the mean over their rows."""
    terms = terms.copy()
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:  # children come after their parent
        children = [tree.left[node], tree.right[node]]
        terms[node] = np.average(terms[children], weights=np.maximum(tree.count[children], 1))
    return terms
