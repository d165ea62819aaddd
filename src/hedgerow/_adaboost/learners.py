"""The weak learners of AdaBoost: trees on bins, or clones of any estimator.

A learner fits all rows with their weights or, when resampling, a weighted sample. It returns the
fitted base model and its predictions for all training rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing

from hedgerow._data.binning import BinnedMatrix
from hedgerow._data.outputs import TreeTarget
from hedgerow._estimator import seed_nested
from hedgerow._tree.cart import BootstrapSamples, CartParams, grow_trees
from hedgerow._tree.structure import Tree
from hedgerow._types import Floats, SklearnEstimator
from hedgerow.exceptions import DataError

Labels = NDArray[np.intp]
RowIndices = NDArray[np.intp]
MAX_SEED = np.iinfo(np.int32).max


class Draw:
    """Samples rows in proportion to their weights, and keeps the last samples."""

    def __init__(self, sample: Callable[[Floats], RowIndices], n_kept: int) -> None:
        self._sample = sample
        self._last: deque[RowIndices] = deque(maxlen=n_kept)

    def __call__(self, weights: Floats) -> RowIndices:
        """Return the rows of a base model."""
        rows = self._sample(weights)
        self._last.append(rows)
        return rows

    def last(self, n: int) -> list[RowIndices]:
        """Return the samples of the last base models."""
        return list(self._last)[-n:]


@dataclass(frozen=True, eq=False)
class AdaBoostTree:
    """A tree with an output for each node: class, probabilities or number."""

    tree: Tree
    output: NDArray[Any]


class TreeLearner:
    """Grows trees on a table that was binned once.

    The kernel uses fixed-point weights, which are accurate enough to choose splits. Leaf outputs
    are computed from the exact weights, which may span more decades than fixed point does.
    """

    def __init__(
        self,
        binned: BinnedMatrix,
        limits: CartParams,
        *,
        labels: Labels | None = None,
        n_classes: int = 0,
        draw: Draw | None = None,
        n_threads: int = 1,
    ) -> None:
        self._binned, self._limits, self._n_threads = binned, limits, n_threads
        self._labels = np.zeros(0, np.intp) if labels is None else labels
        self._short_labels = self._labels.astype(np.uint16)
        self._n_classes = n_classes
        self.draw = draw
        self._all_rows = BootstrapSamples(binned.n_rows, bootstrap=False)

    def classify(self, weights: Floats) -> tuple[AdaBoostTree, Labels]:
        """Return a tree and the class that it predicts for each row: the heaviest of the leaf."""
        tree, leaf, sums = self._grow_classifier(weights)
        heaviest = sums.argmax(axis=1)
        return AdaBoostTree(tree, heaviest), heaviest[leaf]

    def estimate(self, weights: Floats) -> tuple[AdaBoostTree, Floats]:
        """Return a tree and the shares of the classes in each row's leaf."""
        tree, leaf, sums = self._grow_classifier(weights)
        shares = sums / sums.sum(axis=1, keepdims=True)
        return AdaBoostTree(tree, shares), shares[leaf]

    def regress(self, target: Floats, weights: Floats) -> tuple[AdaBoostTree, Floats]:
        """Return a tree and the mean of the target in each row's leaf."""
        weights = self._counts(weights)
        limits = replace(self._limits, criterion="squared_error")
        numbers = target.reshape(-1, 1)
        (tree,) = grow_trees(
            self._binned,
            TreeTarget.of_numbers(numbers),
            limits,
            self._all_rows,
            weights=weights,
            n_threads=self._n_threads,
        )
        leaf = self._leaf_of_rows(tree)
        sums = [_sum_by(leaf, by, tree.n_nodes) for by in (weights * target, weights)]
        products, totals = _node_sums(tree, np.stack(sums, axis=1)).T
        means = products / totals
        return AdaBoostTree(tree, means), means[leaf]

    def _grow_classifier(self, weights: Floats) -> tuple[Tree, RowIndices, Floats]:
        """Return a tree, the leaf of each row, and the weight of each class in each node."""
        weights = self._counts(weights)
        (tree,) = grow_trees(
            self._binned,
            TreeTarget.of_classes(self._short_labels, self._n_classes),
            self._limits,
            self._all_rows,
            weights=weights,
            n_threads=self._n_threads,
        )
        leaf = self._leaf_of_rows(tree)
        cells = leaf * self._n_classes + self._labels
        sums = _sum_by(cells, weights, tree.n_nodes * self._n_classes)
        return tree, leaf, _node_sums(tree, sums.reshape(tree.n_nodes, self._n_classes))

    def _counts(self, weights: Floats) -> Floats:
        """Return how often each row was sampled, or the weights without resampling."""
        if self.draw is None:
            return weights
        return np.bincount(self.draw(weights), minlength=len(weights)).astype(np.float64)

    def _leaf_of_rows(self, tree: Tree) -> RowIndices:
        numbered = replace(tree, value=np.arange(tree.n_nodes, dtype=np.float64)[:, None])
        leaf = np.zeros(self._binned.n_rows)
        numbered.add_binned(self._binned.by_column, leaf, n_threads=self._n_threads)
        return leaf.astype(np.intp)


def _sum_by(cell: RowIndices, weights: Floats, n_cells: int) -> Floats:
    """Add up the weights in each cell."""
    return np.asarray(np.bincount(cell, weights, n_cells), np.float64)


def _node_sums(tree: Tree, sums: Floats) -> Floats:
    """Fill the sums of inner nodes from those of the leaves; children come after their parent."""
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:
        sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
    return sums


class EstimatorLearner:
    """Fits clones of an estimator to the original table."""

    def __init__(
        self,
        estimator: SklearnEstimator,
        X: Any,
        *,
        labels: Labels | None = None,
        classes: NDArray[Any] | None = None,
        draw: Draw | None = None,
        random: np.random.RandomState,
    ) -> None:
        self._estimator, self._X, self._random = estimator, X, random
        self.draw = draw
        self._classes = np.zeros(0) if classes is None else classes
        self._y = self._classes if labels is None else self._classes[labels]

    def classify(self, weights: Floats) -> tuple[Any, Labels]:
        """Return a classifier and the index of the class that it predicts for each row."""
        base_model = self._fit(self._y, weights)
        return base_model, class_numbers(base_model, self._X, self._classes)

    def estimate(self, weights: Floats) -> tuple[Any, Floats]:
        """Return a classifier and the probabilities that it predicts for each row."""
        base_model = self._fit(self._y, weights)
        return base_model, probabilities(base_model, self._X, self._classes)

    def regress(self, target: Floats, weights: Floats) -> tuple[Any, Floats]:
        """Return a regressor and its predictions."""
        base_model = self._fit(target, weights)
        return base_model, numbers(base_model, self._X)

    def _fit(self, y: NDArray[Any], weights: Floats) -> Any:
        base_model = seed_nested(clone(self._estimator), self._random, MAX_SEED)
        if self.draw is None:
            return base_model.fit(self._X, y, sample_weight=weights)
        rows = self.draw(weights)
        sampled_y = y[rows]
        if (
            y is self._y and (sampled_y == sampled_y[0]).all()
        ):  # few classifiers support a single class
            base_model = DummyClassifier(strategy="most_frequent")
        return base_model.fit(_safe_indexing(self._X, rows), sampled_y)


Learner = TreeLearner | EstimatorLearner


def class_numbers(base_model: Any, X: Any, classes: NDArray[Any]) -> Labels:
    """Return a classifier's predictions as class indices."""
    return np.searchsorted(classes, base_model.predict(X))


def probabilities(base_model: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Return a column for each class, 0 for a class that is unknown to the base model."""
    p_own = base_model.predict_proba(X)
    p = np.zeros((len(p_own), len(classes)))
    p[:, np.searchsorted(classes, base_model.classes_)] = p_own
    return p


def numbers(base_model: Any, X: Any) -> Floats:
    """Return a regressor's predictions."""
    predicted = np.asarray(base_model.predict(X), np.float64).reshape(-1)
    if not np.isfinite(predicted).all():
        raise DataError(f"{type(base_model).__name__} predicts numbers that are not finite.")
    return predicted
