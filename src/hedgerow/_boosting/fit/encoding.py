"""Columns of many categories in boosting: which they are, and what their numbers are means of.

Of the target, and of what a few rounds on the other columns leave of it. A category may have a high
mean only because of what else is true of its rows (the mean price of a cut of diamonds tells
how large they are), and the means of the left-over show what the category itself adds. The rounds
see no column of many categories, or they would leave over what such a column cannot tell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from hedgerow._boosting.fit.training_data import Examples
from hedgerow._boosting.losses import BaseLoss, SquaredError
from hedgerow._boosting.targets.classes import Classes
from hedgerow._data.binning import Binner
from hedgerow._data.table import Table
from hedgerow._data.target_statistics import TargetStatistics, learn_statistics, no_statistics
from hedgerow._tree.engine import HistogramEngine
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.trainer import Trainer
from hedgerow._types import Floats

# Means of the target that a column is told by, at most: each costs two columns, one for what is
# left over.
_MOST_LINES = 32
# As good as thirty rounds with a rate of 0.1, on six columns of real tables and six generated ones.
_ROUNDS, _GROWTH = 5, GrowthParams(learning_rate=0.5, min_samples_leaf=20)


def learn_encoding(
    examples: Examples,
    n_categories: Mapping[int, int],
    loss: BaseLoss,
    classes: Classes | None,
    seed: int,
    n_threads: int,
) -> tuple[TargetStatistics, Table]:
    """Learn the numbers that stand for some columns' categories; return the encoded rows, too."""
    if not n_categories:
        return no_statistics(examples.table.n_features), examples.table
    targets = _targets(examples, n_categories, loss, classes, n_threads)
    table, weights = examples.table, examples.weights
    statistics = learn_statistics(table, n_categories, targets, weights, seed)
    return statistics, statistics.encode_training(table, targets, weights)


def encode_again(
    statistics: TargetStatistics,
    examples: Examples,
    loss: BaseLoss,
    classes: Classes | None,
    n_threads: int,
) -> Table:
    """Encode training rows by what an earlier fit learned; the same rows become the same table."""
    if not statistics.columns:
        return examples.table
    targets = _targets(examples, statistics.features, loss, classes, n_threads)
    return statistics.encode_training(examples.table, targets, examples.weights)


def _targets(
    examples: Examples,
    encoded: Collection[int],
    loss: BaseLoss,
    classes: Classes | None,
    n_threads: int,
) -> list[Floats]:
    """Return what to take means of."""
    targets = _lines(loss.outcome(examples.target), classes)
    others = [j for j in range(examples.table.n_features) if j not in encoded]
    if not others:
        return targets
    columns = Table(None, columns=[examples.table.column(j) for j in others])
    left_over = _left_over(columns, targets, examples.weights, n_threads)
    return [*targets, *left_over]


def _lines(target: Floats, classes: Classes | None) -> list[Floats]:
    """Return the numbers of the target; of classes, how much of each, or of halves, a row is."""
    numbers = np.atleast_2d(np.ascontiguousarray(target.T))
    if classes is None or isinstance(classes, list):
        return list(numbers[:_MOST_LINES])
    if len(classes) == 2:
        return [numbers[-1]]
    of_classes = np.eye(len(classes))
    if len(classes) > _MOST_LINES:
        of_classes = _halves(len(classes))
    if len(numbers) > 1:  # probabilities
        return [(numbers * of_class[:, np.newaxis]).sum(axis=0) for of_class in of_classes]
    index = numbers[0].astype(np.intp)
    return [of_class[index] for of_class in of_classes]


def _halves(n_classes: int) -> Floats:
    """Return halves of the classes, drawn at random: together they tell all classes apart."""
    draws = np.random.RandomState(n_classes)
    halves = np.zeros((_MOST_LINES, n_classes))
    for half in halves:
        half[draws.permutation(n_classes)[: n_classes // 2]] = 1.0
    return halves


def _left_over(
    table: Table, targets: list[Floats], weights: Floats | None, n_threads: int
) -> list[Floats]:
    """Return what is left of each target by a few rounds of boosting on a table."""
    binned = Binner().fit_transform(table, weights, threads=n_threads)
    left_over = []
    for target in targets:
        base_score = np.array([np.average(target, weights=weights)])
        engine = HistogramEngine(binned, _GROWTH, base_score, n_threads=n_threads)
        trainer = Trainer(
            engine, target, weights, loss=SquaredError(), params=_GROWTH, n_threads=n_threads
        )
        for round_index in range(_ROUNDS):
            trainer.boost(round_index)
        left_over.append(target - trainer.scores[0])
    return left_over
