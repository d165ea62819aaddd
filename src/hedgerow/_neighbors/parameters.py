"""The parameters of nearest neighbours, declared once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from numbers import Real

import numpy as np

from hedgerow._neighbors.metrics import METRICS
from hedgerow._params import (
    COUNT,
    N_JOBS,
    NOT_NEGATIVE,
    NOTHING,
    Number,
    Options,
    Parameter,
    ParameterKind,
    Peers,
    any_of,
)

WEIGHT_FUNCTION = ParameterKind(
    "a function from distances to weights", callable, "Callable[..., Any]"
)
METRIC_FUNCTION = ParameterKind("a function of two rows", callable, "Callable[..., Any]")
LABEL = ParameterKind(
    "a class", lambda value: isinstance(value, str | Real | np.generic), "str | float"
)
LABELS = ParameterKind(
    "a list of one for each output",
    lambda value: (
        isinstance(value, list | tuple | np.ndarray) and all(one in LABEL for one in value)
    ),
    "Sequence[str | float] | NDArray[Any]",
)
METRIC_PARAMS = ParameterKind(
    "a dict", lambda value: isinstance(value, Mapping), "Mapping[str, Any]"
)
INFINITY = ParameterKind("inf", lambda value: isinstance(value, float) and value == inf, "float")


def _same(name: str) -> Peers:
    return Peers(sklearn=name)


N_NEIGHBORS = Parameter(
    "n_neighbors",
    5,
    COUNT,
    "How many neighbours a query has. Of rows at the same distance those that come first in the "
    "table are taken.",
    _same("n_neighbors"),
)
WEIGHTS = Parameter(
    "weights",
    "uniform",
    any_of(Options(("uniform", "distance")), WEIGHT_FUNCTION, NOTHING),
    "How much a neighbour counts: all the same ('uniform' or None), in inverse proportion to its "
    "distance (those at distance 0 then count alone), or as a function has it, of all distances "
    "(n_queries, n_neighbors), or of each query's within a radius.",
    _same("weights"),
)
RADIUS = Parameter(
    "radius",
    1.0,
    NOT_NEGATIVE,
    "The distance within which rows are neighbours.",
    _same("radius"),
)
SEARCH = (
    Parameter(
        "algorithm",
        "auto",
        Options(("auto", "brute", "kd_tree")),
        "How neighbours are searched for, with the same result: 'brute' looks at all rows, "
        "'kd_tree' only where some may be near, which pays for few columns; 'auto' chooses by the "
        "table.",
        _same("algorithm"),
    ),
    Parameter(
        "metric",
        "minkowski",
        any_of(Options(METRICS), METRIC_FUNCTION),
        "The distance. 'minkowski' is ``(Σ|x − q|^p)^(1/p)``; 'cosine' is 1 less the cosine of the "
        "angle; 'gower' is for mixed tables: the mean over the columns in which neither row has a "
        "gap of ``|x − q| / range`` in training, for categories of 0 if equal and 1 if not (a "
        "category that fit did not see is unequal to all); 1 if there is no such column. With "
        "'precomputed' X holds distances: those of all rows in fit, of queries to them afterwards. "
        "A function of a query and a training row is called for each pair, which is slow.",
        _same("metric"),
    ),
    Parameter(
        "p",
        2,
        any_of(Number(0, open_low=True), INFINITY),
        "The power of 'minkowski': 1 is 'manhattan', 2 'euclidean', inf 'chebyshev'.",
        _same("p"),
    ),
    Parameter(
        "metric_params",
        None,
        any_of(METRIC_PARAMS, NOTHING),
        "More about the metric: 'p' of 'minkowski'; for 'gower' the weights 'w' of the columns and "
        "'categorical_features', columns of numbers that are categories beside those of strings or "
        "of a categorical type; for a function what else it is called with, by name.",
        _same("metric_params"),
    ),
    N_JOBS,
)

OUTLIER_LABEL = Parameter(
    "outlier_label",
    None,
    any_of(LABEL, LABELS, NOTHING),
    "The class of queries without neighbours; 'most_frequent' is that of most training rows. If it "
    "is no class of training, their probabilities are all 0, with a warning. With None there is an "
    "error for such queries.",
    _same("outlier_label"),
)

PREDICTION: tuple[Parameter, ...] = (replace(N_NEIGHBORS, positional=True), WEIGHTS, *SEARCH)
SEARCH_ONLY: tuple[Parameter, ...] = (N_NEIGHBORS, RADIUS, *SEARCH)
RADIUS_REGRESSION: tuple[Parameter, ...] = (replace(RADIUS, positional=True), WEIGHTS, *SEARCH)
RADIUS_CLASSIFICATION: tuple[Parameter, ...] = (
    replace(RADIUS, positional=True),
    WEIGHTS,
    OUTLIER_LABEL,
    *SEARCH,
)
