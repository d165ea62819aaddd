"""Target statistics ↔ a model file: the numbers that stand for categories."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._data.schema import TableSchema
from hedgerow._data.target_statistics import BESIDES, EncodedColumn, TargetStatistics, no_statistics
from hedgerow._model_file.container import Arrays
from hedgerow._model_file.stored import Stored, check_array, require, with_prefix
from hedgerow._types import Floats

_PREFIX = "statistics."
_ARRAYS = ("features", "numbers", "priors", "smoothing")


def statistics_arrays(statistics: TargetStatistics) -> Arrays:
    """Return all but the seed: columns side by side, a line for each target."""
    arrays = {
        "features": np.array(statistics.features, np.int64),
        "numbers": np.concatenate([column.numbers for column in statistics.columns], axis=1),
        "priors": statistics.priors,
        "smoothing": np.column_stack([column.smoothing for column in statistics.columns]),
    }
    return with_prefix(_PREFIX, arrays)


def read_statistics(stored: Stored, schema: TableSchema) -> TargetStatistics:
    """Read the statistics of some of the schema's categorical columns; most files have none."""
    if not stored.has("statistics_seed"):
        return no_statistics(schema.n_features)
    seed = stored.field("statistics_seed")
    require(type(seed) is int and 0 <= seed < 2**32, "the seed of the statistics is no seed")
    arrays = stored.arrays(_PREFIX, _ARRAYS)
    features, priors = _read_features(arrays["features"], schema), arrays["priors"]
    check_array(priors, (priors.size,), "priors")
    require(len(priors) > 0 and len(features) > 0, "there are statistics of nothing")
    require(np.isfinite(priors).all(), "a prior is not finite")
    widths = [len(schema.categories[j].values) + BESIDES for j in features]
    numbers, smoothing = arrays["numbers"], arrays["smoothing"]
    check_array(numbers, (len(priors), sum(widths)), "numbers")
    check_array(smoothing, (len(priors), len(features)), "smoothing")
    require((smoothing > 0.0).all(), "smoothing is not above 0")
    parts = np.split(numbers, np.cumsum(widths)[:-1], axis=1)
    columns = tuple(map(EncodedColumn, features, smoothing.T, map(_checked, parts)))
    return TargetStatistics(schema.n_features, seed, priors, columns)


def _read_features(features: NDArray[Any], schema: TableSchema) -> list[int]:
    check_array(features, (features.size,), "features", np.int64)
    listed: list[int] = features.tolist()
    require(sorted(set(listed)) == listed, "the features of statistics are not in order")
    require(schema.categories.keys() >= set(listed), "there are statistics of numeric features")
    return listed


def _checked(numbers: Floats) -> Floats:
    """Check the numbers of a column; only the last, for missing values, may be NaN."""
    require(np.isfinite(numbers[:, :-1]).all(), "a category's number is not finite")
    require(not np.isinf(numbers[:, -1]).any(), "the number of missing values is infinite")
    return numbers
