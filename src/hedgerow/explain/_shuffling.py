"""The score of a fitted model on rows some of whose columns are shuffled."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from hedgerow._tree.additive import AdditiveTrees
from hedgerow._types import Floats, Indices
from hedgerow._validation.fold_data import take_rows
from hedgerow._validation.predictions import predict
from hedgerow._validation.scoring import FoldHoldout, MetricScore, Score
from hedgerow.explain._tables import UserTable
from hedgerow.explain._what_if import features_of, known_trees

# What the copies of a matrix may take, one for each column that is shuffled at the same time.
_COPIED_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class Judge:
    """A metric and what it needs to know of the rows."""

    score: Score
    y: Any
    target: Any
    classes: Any
    weights: Floats | None

    def of_rows(self, rows: Indices) -> Judge:
        """Return the judge of some rows."""
        return replace(
            self,
            y=take_rows(self.y, rows),
            target=None if self.target is None else self.target[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    @property
    def higher_is_better(self) -> bool:
        """Whether more is better, as it is of scikit-learn's scores."""
        return not isinstance(self.score, MetricScore) or self.score.metric.higher_is_better

    def measure(self, model: Any, X: Any) -> float:
        """Return how well a model does on a table, which has the rows' columns as it wants."""
        options = {} if self.weights is None else {"sample_weight": self.weights}
        return self.score.of(
            FoldHoldout(
                model=model,
                X=lambda: X,
                table=X,
                y=self.y,
                weights=self.weights,
                options=options,
                target=self.target,
                classes=self.classes,
                predicted=cache(lambda method: predict(model, X, method, self.classes)),
            )
        )


class Shuffling:
    """A model and a table whose columns are shuffled, in the table's own kind."""

    default_jobs: int | None = 1

    def __init__(self, model: Any, table: UserTable) -> None:
        self.model, self.table = model, table

    def n_workers(self, n_threads: int) -> int:
        """Return how many columns to shuffle at the same time with this number of threads."""
        return n_threads

    def matters(self, places: Sequence[int]) -> bool:  # noqa: ARG002
        """Tell whether the model looks at any of some columns."""
        return True

    def prepare(self, n_threads: int) -> None:
        """Prepare for calls from several threads, each with this number of threads."""

    def measure(self, judge: Judge, places: Sequence[int], order: Indices | None) -> float:
        """Return how well the model does with some columns of other rows."""
        X = self.table.X
        if order is not None:
            X = self.table.with_columns_of(self.table.take(order), places)
        return judge.measure(self.model, X)


class TreeShuffling(Shuffling):
    """Trees and the matrix that they read of a table: columns are shuffled there, in place."""

    default_jobs = None

    def __init__(self, model: Any, table: UserTable, trees: AdditiveTrees) -> None:
        super().__init__(model, table)
        self._trees = trees
        self._matrix = trees.matrix(table.X)
        self._own = threading.local()  # each thread's copy of the matrix
        ensemble = trees.ensemble
        tested = ensemble.feature[ensemble.feature >= 0]
        sloped = ensemble.slopes.feature if ensemble.slopes is not None else tested[:0]
        self._used = np.union1d(tested, sloped)

    def n_workers(self, n_threads: int) -> int:
        """Return as many as have room for their copies; further threads help them predict."""
        room = _COPIED_BYTES // max(self._matrix.nbytes, 1)
        return max(1, min(n_threads, room))

    def matters(self, places: Sequence[int]) -> bool:
        """Tell whether a tree tests a feature of these columns."""
        return bool(np.isin(features_of(self._trees, self.table, places), self._used).any())

    def prepare(self, n_threads: int) -> None:
        """Make a model that takes the matrix for a table."""
        reader = copy.copy(self.model)
        vars(reader)["_matrix"] = _as_it_is
        vars(reader)["n_jobs"] = n_threads
        self.model = reader

    def measure(self, judge: Judge, places: Sequence[int], order: Indices | None) -> float:
        """Overwrite columns, measure, and restore them."""
        if order is None:
            return judge.measure(self.model, self._matrix)
        if not hasattr(self._own, "matrix"):
            self._own.matrix = self._matrix.copy()
        matrix, features = self._own.matrix, features_of(self._trees, self.table, places)
        matrix[:, features] = self._matrix[np.ix_(order, features)]
        try:
            return judge.measure(self.model, matrix)
        finally:
            matrix[:, features] = self._matrix[:, features]


def _as_it_is(matrix: Any) -> Any:
    return matrix


def shuffling_of(model: Any, table: UserTable) -> Shuffling:
    """Choose the fast way for models whose predictions all come from one matrix."""
    trees = known_trees(model)
    is_one_matrix = trees is not None and trees.matrix == getattr(model, "_matrix", None)
    if trees is None or not is_one_matrix or trees.features(table.X) is not table.X:
        return Shuffling(model, table)
    return TreeShuffling(model, table, trees)
