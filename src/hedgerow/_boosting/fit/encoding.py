"""Target statistics of categorical features with many categories.

The statistics are means of the target, and means of the residuals that a few rounds of boosting on
the other features leave. A category may have a high mean only because of other features (the mean
price of a cut of diamonds depends on their size); the means of residuals show what the category
itself adds. The rounds do not use features with many categories, which would explain away the
effects of one another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from hedgerow._boosting.fit.dataset import Dataset
from hedgerow._boosting.losses import BaseLoss, SquaredError, weighted_mean
from hedgerow._data.binning import Binner
from hedgerow._data.table import Table
from hedgerow._data.target import Classes
from hedgerow._data.target_statistics import TargetStatistics, learn_statistics
from hedgerow._tree.engine import HistogramEngine
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.trainer import Trainer
from hedgerow._types import Floats

# Maximum number of statistics per feature; each adds two columns (mean and residual mean).
_MAX_STATISTICS = 32
# As good as thirty rounds with a rate of 0.1, on six features of real tables and six simulated.
_ROUNDS, _GROWTH = 5, GrowthParams(learning_rate=0.5, min_samples_leaf=20)


def learn_encoding(
    dataset: Dataset,
    n_categories: Mapping[int, int],
    loss: BaseLoss,
    classes: Classes | None,
    seed: int,
    n_threads: int,
) -> tuple[TargetStatistics, Table]:
    """Learn the statistics of some features; return them and the encoded training set."""
    targets = _encoded_targets(dataset, n_categories, loss, classes, n_threads)
    table, weights = dataset.table, dataset.weights
    statistics = learn_statistics(table, n_categories, targets, weights, seed)
    return statistics, statistics.encode_training(table, targets, weights, n_threads=n_threads)


def encode_again(
    statistics: TargetStatistics,
    dataset: Dataset,
    loss: BaseLoss,
    classes: Classes | None,
    n_threads: int,
) -> Table:
    """Encode a training set with the statistics of an earlier fit; equal rows give equal tables."""
    if not statistics.columns:
        return dataset.table
    targets = _encoded_targets(dataset, statistics.features, loss, classes, n_threads)
    return statistics.encode_training(dataset.table, targets, dataset.weights, n_threads=n_threads)


def _encoded_targets(
    dataset: Dataset,
    encoded: Collection[int],
    loss: BaseLoss,
    classes: Classes | None,
    n_threads: int,
) -> list[Floats]:
    """Return the numbers whose means are the statistics: targets, then residuals."""
    targets = _numeric_targets(loss.outcome(dataset.target), classes)
    others = [j for j in range(dataset.table.n_features) if j not in encoded]
    if not others:
        return targets
    columns = dataset.table.select(others)
    return [*targets, *_residuals(columns, targets, dataset.weights, n_threads)]


def _numeric_targets(target: Floats, classes: Classes | None) -> list[Floats]:
    """Return the target as numbers: for classes, indicators of each class or of random halves."""
    numbers = np.atleast_2d(np.ascontiguousarray(target.T))
    if classes is None or isinstance(classes, list):
        return list(numbers[:_MAX_STATISTICS])
    if len(classes) == 2:
        return [numbers[-1]]
    indicators = np.eye(len(classes))
    if len(classes) > _MAX_STATISTICS:
        indicators = _random_halves(len(classes))
    if len(numbers) > 1:  # probabilities
        return [(numbers * of_class[:, np.newaxis]).sum(axis=0) for of_class in indicators]
    index = numbers[0].astype(np.intp)
    return [of_class[index] for of_class in indicators]


def _random_halves(n_classes: int) -> Floats:
    """Return indicators of random halves of the classes, which together identify every class."""
    random = np.random.RandomState(n_classes)
    halves = np.zeros((_MAX_STATISTICS, n_classes))
    for half in halves:
        half[random.permutation(n_classes)[: n_classes // 2]] = 1.0
    return halves


def _residuals(
    table: Table, targets: list[Floats], weights: Floats | None, n_threads: int
) -> list[Floats]:
    """Return the residuals of each target after a few rounds of boosting on a table."""
    binned = Binner().fit_transform(table, weights, threads=n_threads)
    residuals = []
    for target in targets:
        base_score = np.array([weighted_mean(target, weights)])
        engine = HistogramEngine(binned, _GROWTH, base_score, n_threads=n_threads)
        trainer = Trainer(
            engine, target, weights, loss=SquaredError(), params=_GROWTH, n_threads=n_threads
        )
        for round_index in range(_ROUNDS):
            trainer.boost(round_index)
        residuals.append(target - trainer.scores[0])
    return residuals
