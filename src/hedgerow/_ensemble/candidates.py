"""The models that an ensemble chooses from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow._boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow._ensemble.encoding import TableEncoder
from hedgerow._ensemble.training_set import EnsembleTrainingSet
from hedgerow._forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hedgerow._neighbors import KNeighborsClassifier, KNeighborsRegressor
from hedgerow._svm import SVC, SVR, LinearSVC, LinearSVR
from hedgerow._types import SklearnEstimator

# Beyond these, a kind of model takes much longer than boosted trees, or too much memory.
MOST_ROWS_OF_KERNELS = 10_000
MOST_ROWS_OF_NEIGHBORS = 100_000
MOST_CLASSES_OF_KERNELS = 20
MOST_COLUMNS_OF_MATRIX = 2_000
MOST_NUMBERS_OF_MATRIX = 50_000_000
# The mean of all members must be better than this one, in which trials choose the kind of trees.
BASELINE = "boosting"
# The SVM with the largest penalty takes longest.
STEPS = {"svm_rbf_c100": ("svm_rbf", "svm_rbf_c10")}


@dataclass(frozen=True)
class Candidate:
    """A model to try; `is_encoded` if it gets the matrix of `TableEncoder` instead of the table.

    If `goes_on_from` names two others, it is tried only if the second of them was better than the
    first: it is the next step in the same direction.
    """

    name: str
    estimator: SklearnEstimator
    is_encoded: bool = False
    goes_on_from: tuple[str, str] | None = None


def candidates_for(
    estimators: Sequence[tuple[str, SklearnEstimator]] | None, data: EnsembleTrainingSet
) -> list[Candidate]:
    """Return the user's candidates, or those that suit the size of the training set."""
    if estimators is not None:
        return [Candidate(name, estimator) for name, estimator in estimators]
    is_classification = data.n_classes > 0
    trees = _tree_classifiers() if is_classification else _tree_regressors()
    found = [Candidate(name, estimator) for name, estimator in trees]
    if not _can_be_encoded(data):
        return found
    others = _other_classifiers(data) if is_classification else _other_regressors(data)
    return found + [
        Candidate(name, estimator, is_encoded=True, goes_on_from=STEPS.get(name))
        for name, estimator in others
    ]


def _can_be_encoded(data: EnsembleTrainingSet) -> bool:
    if data.table is None:
        return False
    width = TableEncoder.width_of(data.table.schema)
    fits = width <= MOST_COLUMNS_OF_MATRIX and width * data.n_rows <= MOST_NUMBERS_OF_MATRIX
    return fits and data.table.columns.sparse is None


def _tree_classifiers() -> Iterator[tuple[str, Any]]:
    yield BASELINE, GradientBoostingClassifier(budget="thorough")
    yield "extra_trees", ExtraTreesClassifier(n_estimators=300)
    yield "random_forest", RandomForestClassifier(n_estimators=300)


def _tree_regressors() -> Iterator[tuple[str, Any]]:
    yield BASELINE, GradientBoostingRegressor(budget="thorough")
    yield "extra_trees", ExtraTreesRegressor(n_estimators=300)
    yield "random_forest", RandomForestRegressor(n_estimators=300)


def _other_classifiers(data: EnsembleTrainingSet) -> Iterator[tuple[str, Any]]:
    n_classes = data.n_classes
    if data.n_rows <= MOST_ROWS_OF_KERNELS and n_classes <= MOST_CLASSES_OF_KERNELS:
        yield "svm_rbf", SVC(C=1.0)
        yield "svm_rbf_c10", SVC(C=10.0)
        yield "svm_rbf_c100", SVC(C=100.0)
    yield "svm_linear", LinearSVC(C=0.1)
    for k in _numbers_of_neighbors(data):
        yield f"neighbors_{k}", KNeighborsClassifier(n_neighbors=k, weights="distance")


def _other_regressors(data: EnsembleTrainingSet) -> Iterator[tuple[str, Any]]:
    if data.n_rows <= MOST_ROWS_OF_KERNELS:  # larger penalties take long and gained nothing
        yield "svm_rbf", SVR(C=1.0)
        yield "svm_rbf_c10", SVR(C=10.0)
    # Without a tube this is ridge regression.
    yield "ridge", LinearSVR(C=0.1, epsilon=0.0, loss="squared_epsilon_insensitive")
    for k in _numbers_of_neighbors(data):
        yield f"neighbors_{k}", KNeighborsRegressor(n_neighbors=k, weights="distance")


def _numbers_of_neighbors(data: EnsembleTrainingSet) -> list[int]:
    """Return how many neighbours to average; each fold must have as many rows."""
    if data.n_rows > MOST_ROWS_OF_NEIGHBORS or data.is_weighted:
        return []
    return [k for k in (5, 25) if data.n_rows >= 4 * k]
