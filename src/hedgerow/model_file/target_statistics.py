"""Target statistics ↔ a model file: the numbers that stand for categories."""

from __future__ import annotations

import numpy as np

from hedgerow.data.schema import TableSchema
from hedgerow.data.target_statistics import BESIDES, EncodedColumn, TargetStatistics
from hedgerow.model_file.container import Arrays
from hedgerow.model_file.stored import Stored, check_array, require, with_prefix

_PREFIX = "statistics."
_ARRAYS = ("features", "numbers", "priors", "smoothing")


def statistics_arrays(statistics: TargetStatistics) -> Arrays:
    """Give all but the seed: columns side by side, a line for each target."""
    none = np.empty((len(statistics.priors), 0))
    columns = statistics.columns
    arrays = {
        "features": np.array([column.feature for column in columns], np.int64),
        "numbers": np.concatenate([none, *(column.numbers for column in columns)], axis=1),
        "priors": statistics.priors,
        "smoothing": np.concatenate([none, *(c.smoothing[:, None] for c in columns)], axis=1),
    }
    return with_prefix(_PREFIX, arrays)


def read_statistics(stored: Stored, schema: TableSchema) -> TargetStatistics:
    """Read the statistics of some of the schema's categorical columns."""
    seed = stored.field("statistics_seed")
    require(type(seed) is int and 0 <= seed < 2**32, "the seed of the statistics is no seed")
    arrays = stored.arrays(_PREFIX, _ARRAYS)
    features, priors = arrays["features"], arrays["priors"]
    check_array(features, (len(features),) if features.ndim else (0,), "features", np.int64)
    check_array(priors, (len(priors),) if priors.ndim else (1,), "priors")
    listed: list[int] = features.tolist()
    require(sorted(set(listed)) == listed, "the features of statistics are not in order")
    require(schema.categories.keys() >= set(listed), "there are statistics of numeric features")
    require(len(priors) > 0 or not listed, "there are statistics of no target")
    widths = [len(schema.categories[j].values) + BESIDES for j in listed]
    check_array(arrays["numbers"], (len(priors), sum(widths)), "numbers")
    check_array(arrays["smoothing"], (len(priors), len(listed)), "smoothing")
    require(np.isfinite(priors).all(), "a prior is not finite")
    require((arrays["smoothing"] > 0.0).all(), "smoothing is not above 0")
    numbers = np.split(arrays["numbers"], np.cumsum(widths)[:-1], axis=1) if listed else []
    columns = tuple(map(EncodedColumn, listed, arrays["smoothing"].T, numbers))
    for column in columns:
        require(np.isfinite(column.numbers[:, :-1]).all(), "a category's number is not finite")
        require(not np.isinf(column.numbers[:, -1]).any(), "the number of gaps is infinite")
    return TargetStatistics(schema.n_features, seed, priors, columns)
