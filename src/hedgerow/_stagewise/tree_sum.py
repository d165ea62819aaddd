"""Stagewise boosting of Hedgerow's trees as one sum of trees, for explanations.

Every learner reads the table in its own way, since the rows that it was fitted to may not have had
all categories. So the trees' features are the columns of the first learner, then those of the
second, and so on; unless there are no categories, when all of them see the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow._boosting.estimators.base import UNITS
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
    """Return a model's start and learners as a sum of trees.

    Parameters
    ----------
    model : AdditiveModel
        What was fitted.
    output_names : tuple of str
        A name for each score.
    meaning : Meaning, or None
        What is predicted of scores.
    checked : function of a table
        Returns the table after seeing that it has the columns of `fit`.
    """
    _require_trees(model)
    learners = [stage.learner for stage in model.stages]
    schema = learners[0]._model.schema  # noqa: SLF001  of a tree of our own
    n_columns = schema.n_features
    is_shared = not any(learner._model.schema.categories for learner in learners)  # noqa: SLF001
    readers = learners[:1] if is_shared else learners
    trees = []
    for index, stage in enumerate(model.stages):
        moved = stage.learner.tree_.with_features_moved(0 if is_shared else index * n_columns)
        trees.append(replace(moved, value=_terms(stage)[:, None]))

    def matrix(X: Any) -> Rows:
        X = checked(X)
        return np.concatenate([reader._matrix(X) for reader in readers], axis=1)  # noqa: SLF001

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
            f"model: the learners of this model are {type(others[0]).__name__}s, not Hedgerow's "
            "decision trees, and their sum is no sum of trees."
        )
    if not isinstance(model.start, np.ndarray):
        raise ParameterError(
            f"model: it starts at what a {type(model.start).__name__} predicts (init), which is no "
            "sum of trees."
        )
    if not model.stages:
        raise ParameterError("model: it has no trees, for no row had a gradient to follow.")


def _terms(stage: Stage) -> Floats:
    """Return what each node of the learner's tree would add as a leaf."""
    learner: Any = stage.learner
    n_nodes = len(learner.tree_.feature)
    if not isinstance(stage.step, float):
        return _with_means(learner.tree_, stage.term(np.arange(n_nodes)))
    if isinstance(learner, DecisionTreeRegressor):
        return stage.term(learner.tree_.value[:, 0])
    outputs = learner._model.outputs  # noqa: SLF001
    labels = outputs.labels(outputs.votes(learner.tree_.value))
    return stage.term(labels.astype(np.float64))


def _with_means(tree: Tree, terms: Floats) -> Floats:
    """Return inner nodes the mean of their leaves, by the rows in them."""
    terms = terms.copy()
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:  # children come after their parent
        children = [tree.left[node], tree.right[node]]
        terms[node] = np.average(terms[children], weights=np.maximum(tree.count[children], 1))
    return terms
