"""Training rows as trees see them: categories encoded, values binned, and where scores start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._boosting.fit.encoding import encode_again, learn_encoding
from hedgerow._boosting.fit.loop import EvalSet
from hedgerow._boosting.fit.problem import Problem
from hedgerow._boosting.fit.settings import Settings
from hedgerow._boosting.fit.training_data import Examples
from hedgerow._data.binning import BinnedMatrix, Binner
from hedgerow._data.intake import TableSchema, as_matrix
from hedgerow._data.target_statistics import TargetStatistics
from hedgerow._estimator import Estimator
from hedgerow._tree.structure import Ensemble, Tree
from hedgerow._types import Floats


@dataclass(frozen=True)
class Prepared:
    """Rows to train on, and what was learned from them that other rows are encoded and binned by.

    Attributes
    ----------
    train : Examples
        The rows, with numbers in place of columns of many categories.
    statistics : TargetStatistics
        Where these numbers come from.
    binner : Binner
        Where bins end.
    binned : BinnedMatrix, optional
        The bins of the rows, unless splits are exact.
    base_score : array of shape (n_outputs,)
        The constant that scores start from.
    """

    problem: Problem
    train: Examples
    statistics: TargetStatistics
    binner: Binner
    binned: BinnedMatrix | None
    base_score: Floats

    def encode(self, examples: Examples) -> Examples:
        """Encode other rows as those to train on are."""
        return replace(examples, table=self.statistics.encode(examples.table))

    def matrix(self, encoded: Examples) -> NDArray[Any]:
        """Return rows as the predictor sees them."""
        return as_matrix(encoded.table, self.binner.category_bins)

    def ensemble(self, trees: Sequence[Tree]) -> Ensemble:
        """Return trees, round after round, as a model."""
        outputs = np.arange(len(trees), dtype=np.int32) % self.problem.trees_per_round
        return Ensemble.from_trees(trees, outputs, self.base_score, self.statistics.n_columns)

    def eval_set(self, name: str, encoded: Examples, n_threads: int) -> EvalSet:
        """Return rows to measure on, with the scores that the first round to run finds."""
        matrix, start = self.matrix(encoded), self.problem.start
        if start is None:
            scores = np.tile(self.base_score, (len(matrix), 1))
        else:
            scores = start.ensemble.predict_raw(matrix, n_threads=n_threads)
        return EvalSet(
            *(name, matrix, encoded.target, encoded.weights, scores),
            *(self.problem.trees_per_round, n_threads),
        )


def prepare(problem: Problem, settings: Settings, train: Examples) -> Prepared:
    """Encode and bin rows; as in the model to go on from, if there is one."""
    n_threads, start, loss = settings.n_threads, problem.start, problem.loss
    if start is None:
        many = _many_categories(problem.schema, settings.estimator)
        of_target = loss, problem.classes
        statistics, table = learn_encoding(train, many, *of_target, settings.seed, n_threads)
        train = replace(train, table=table)
        binner = _fit_binner(statistics.encoded_schema(problem.schema), settings, train)
        drawn = train.in_the_balance_of(train) if settings.draws_balanced else train
        base_score = loss.base_score(drawn.target_by_output, drawn.weights)
    else:
        statistics, binner = start.statistics, start.binner
        train = encoded_again(problem, train, n_threads)
        base_score = start.ensemble.base_score
    is_binned = settings.estimator.splitter == "hist"
    binned = binner.transform(train.table, threads=n_threads) if is_binned else None
    return Prepared(problem, train, statistics, binner, binned, base_score)


def encoded_again(problem: Problem, train: Examples, n_threads: int) -> Examples:
    """Encode training rows as the model to go on from has learned to."""
    assert problem.start is not None
    of_target = problem.loss, problem.classes
    table = encode_again(problem.start.statistics, train, *of_target, n_threads)
    return replace(train, table=table)


def _many_categories(schema: TableSchema, estimator: Estimator) -> dict[int, int]:
    """Return the columns of too many categories for sets of them, and how many these are."""
    most = min(estimator.max_categories, estimator.max_bins)
    counts = {j: len(learned.values) for j, learned in schema.categories.items()}
    return {j: count for j, count in counts.items() if count > most}


def _fit_binner(columns: TableSchema, settings: Settings, train: Examples) -> Binner:
    max_bins, subsample = settings.estimator.max_bins, settings.estimator.subsample_for_bin
    binner = Binner(max_bins=max_bins, subsample_for_bin=subsample, seed=settings.seed)
    counts = {j: len(learned.values) for j, learned in columns.categories.items()}
    return binner.fit(train.table, train.weights, n_categories=counts, threads=settings.n_threads)
