"""The fitted model: a committee of trees, or of any fitted estimators.

Both read a table and sum the votes of their base models, all at once or stage by stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from hedgerow._adaboost.algorithms import R2, AdaBoostRounds, Algorithm
from hedgerow._adaboost.learners import numbers
from hedgerow._data.binning import Binner
from hedgerow._data.intake import TableSchema, as_matrix, read_table
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._types import Floats, Snapshot


@dataclass(frozen=True, eq=False)
class TreeCommittee(Snapshot):
    """Trees whose leaf values are votes (for R2: predictions), with the schema and bins of tables.

    `weights` has a number for each round; `classes` is None in regression.
    """

    schema: TableSchema
    binner: Binner
    ensemble: Ensemble
    algorithm: Algorithm | R2
    weights: Floats
    classes: NDArray[Any] | None

    @cached_property
    def category_bins(self) -> list[Any]:
        """The bin of each category code, for each categorical feature."""
        return self.binner.category_bins

    @property
    def estimators(self) -> list[Any]:
        """The trees of each round, as views."""
        views = [TreeView(self, t) for t in range(self.ensemble.n_trees)]
        per_round = len(views) // len(self.weights)
        if per_round == 1:
            return views
        return [views[first : first + per_round] for first in range(0, len(views), per_round)]

    def scores(self, rows: NDArray[Any], n_threads: int) -> Floats:
        """Return the sum of the votes, (n_rows, n_outputs)."""
        return self.ensemble.predict_raw(rows, n_threads=n_threads)

    def staged_scores(self, rows: NDArray[Any], n_threads: int) -> Iterator[Floats]:
        """Yield the sum of the votes after each round."""
        return self.ensemble.staged_raw(rows, n_threads=n_threads)

    def predictions(self, rows: NDArray[Any], n_threads: int) -> Floats:
        """Return the predictions of each tree, (n_rows, n_trees)."""
        predictions = np.empty((len(rows), self.ensemble.n_trees))
        leaf = self.ensemble.apply(rows, n_threads=n_threads)
        for t, first in enumerate(self.ensemble.tree_offset[:-1]):
            predictions[:, t] = self.ensemble.value[first:, 0][leaf[:, t]]
        return predictions

    def decision_trees(self) -> Ensemble:
        """Return trees that add up to what a classifier's `decision_function` returns."""
        algorithm: Any = self.algorithm
        total = np.cumsum(self.weights)[-1]
        # A decision is linear in the scores: this is the decision for a score of 1 in each output.
        image = algorithm.decision(np.eye(self.ensemble.n_outputs), total).reshape(
            -1, self.ensemble.n_outputs
        )
        if np.array_equal(image, image[0, 0] * np.eye(len(image))):
            return self.ensemble.scaled(image[0, 0])
        outputs = self.ensemble.tree_output
        trees = [
            replace(tree, value=tree.value * image[output])
            for tree, output in zip(self.ensemble.trees(), outputs, strict=True)
        ]
        nothing = np.zeros(len(trees), np.int32)
        return Ensemble.from_trees(trees, nothing, self.ensemble.base_score, self.schema.n_features)

    def feature_importances(self) -> Floats:
        """Return the mean normalized gain of the trees, weighted by round."""
        ensemble = self.ensemble
        gains = np.zeros((ensemble.n_trees, ensemble.n_features))
        inner = np.flatnonzero(ensemble.feature >= 0)
        tree = np.searchsorted(ensemble.tree_offset, inner, side="right") - 1
        np.add.at(gains, (tree, ensemble.feature[inner]), ensemble.gain[inner])
        weights = np.repeat(self.weights, ensemble.n_trees // len(self.weights))
        return _weighted_mean(_parts(gains), weights)


def tree_committee(
    schema: TableSchema,
    binner: Binner,
    algorithm: Algorithm | R2,
    rounds: AdaBoostRounds,
    classes: NDArray[Any] | None,
) -> TreeCommittee:
    """Write the votes of the trees into their leaves."""
    trees: list[Tree] = []
    outputs: list[int] = []
    for estimators, weight in zip(rounds.estimators, rounds.weights, strict=True):
        for output, round_tree in enumerate(estimators):
            value = (
                round_tree.output[:, None]
                if isinstance(algorithm, R2)
                else algorithm.votes(round_tree.output, weight)
            )
            trees.append(replace(round_tree.tree, value=np.ascontiguousarray(value)))
            outputs.append(output)
    base = np.zeros(1 if isinstance(algorithm, R2) else algorithm.n_outputs)
    ensemble = Ensemble.from_trees(trees, outputs, base, schema.n_features)
    return TreeCommittee(schema, binner, ensemble, algorithm, np.array(rounds.weights), classes)


@dataclass(frozen=True, eq=False)
class TreeView:
    """A single tree of a committee."""

    committee: TreeCommittee
    index: int

    @property
    def tree(self) -> Tree:
        """Its nodes; a value is what the tree adds to the scores."""
        return self.committee.ensemble.tree(self.index)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the tree's classes, or numbers if the committee is a sum or median of numbers."""
        model = self.committee
        matrix = as_matrix(read_table(X, model.schema), model.category_bins)
        n_values = model.ensemble.value.shape[1]
        alone = Ensemble.from_trees([self.tree], [0], np.zeros(n_values), model.ensemble.n_features)
        votes = alone.predict_raw(matrix)
        if model.classes is None or not model.algorithm.has_classifiers:
            return votes[:, 0]
        return model.classes[votes.argmax(axis=1) if n_values > 1 else (votes[:, 0] > 0) * 1]


@dataclass(frozen=True, eq=False)
class EstimatorCommittee:
    """Fitted estimators, those of a round in a list."""

    fitted: list[list[Any]]
    algorithm: Algorithm | R2
    weights: Floats
    classes: NDArray[Any] | None

    @property
    def estimators(self) -> list[Any]:
        """The estimators of each round."""
        return per_round(self.fitted)

    def scores(self, rows: Any, n_threads: int) -> Floats:
        """Return the sum of the votes, (n_rows, n_outputs)."""
        *_, scores = self.staged_scores(rows, n_threads)
        return scores

    def staged_scores(self, rows: Any, n_threads: int) -> Iterator[Floats]:  # noqa: ARG002
        """Yield the sum of the votes after each round."""
        algorithm: Any = self.algorithm
        scores = np.zeros((_num_samples(rows), algorithm.n_outputs))
        for estimators, weight in zip(self.fitted, self.weights, strict=True):
            for first, base_model in enumerate(estimators if len(scores) else ()):
                votes = algorithm.votes(algorithm.output(base_model, rows, self.classes), weight)
                scores[:, first : first + votes.shape[1]] += votes
            yield scores.copy()

    def predictions(self, rows: Any, n_threads: int) -> Floats:  # noqa: ARG002
        """Return the predictions of each estimator, (n_rows, n_estimators)."""
        if _num_samples(rows) == 0:  # not every estimator accepts an empty table
            return np.empty((0, len(self.fitted)))
        return np.stack([numbers(base_model, rows) for (base_model,) in self.fitted], axis=1)

    def feature_importances(self) -> Floats:
        """Return the mean importances of the base models, weighted by round."""
        estimators = [base_model for estimators in self.fitted for base_model in estimators]
        by_model = [getattr(base_model, "feature_importances_", None) for base_model in estimators]
        available = [importances for importances in by_model if importances is not None]
        if not available:
            raise AttributeError(f"{type(estimators[0]).__name__} has no feature_importances_.")
        nothing = np.zeros_like(available[0])
        weights = np.repeat(self.weights, len(self.fitted[0]))
        return _weighted_mean([nothing if one is None else one for one in by_model], weights)


def per_round(parts: list[list[Any]]) -> list[Any]:
    """Return what belongs to the base models of each round, without a list if there is one."""
    return [of_round[0] if len(of_round) == 1 else of_round for of_round in parts]


Committee = TreeCommittee | EstimatorCommittee


def _parts(gains: Floats) -> Floats:
    totals = gains.sum(axis=1, keepdims=True)
    return gains / np.where(totals > 0.0, totals, 1.0)


def _weighted_mean(importances: Sequence[Floats] | Floats, weights: Floats) -> Floats:
    total = weights.sum()
    summed = (np.asarray(importances) * weights[:, None]).sum(axis=0)
    return summed / total if total > 0.0 else summed
