"""The parameters of nearest neighbours, declared once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from numbers import Real

import numpy as np

from hedgerow._neighbors.metrics import METRICS
from hedgerow._params import (
    CLASS_WEIGHT,
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
    "a list with one for each output",
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
    "Number of neighbours of a query. Ties are broken by the order of the training rows.",
    _same("n_neighbors"),
)
WEIGHTS = Parameter(
    "weights",
    "uniform",
    any_of(Options(("uniform", "distance")), WEIGHT_FUNCTION, NOTHING),
    "Weights of the neighbours: equal ('uniform' or None), inversely proportional to the distance "
    "('distance'; if there are neighbours at distance 0, only they count), or a function from "
    "distances to weights, called with all distances, (n_queries, n_neighbors), or for a radius "
    "with those of one query at a time.",
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
        "Search algorithm; the result is the same. 'brute' scans all rows, 'kd_tree' uses a k-d "
        "tree, which is faster for few columns; 'auto' chooses by the number of rows and columns.",
        _same("algorithm"),
    ),
    Parameter(
        "metric",
        "minkowski",
        any_of(Options(METRICS), METRIC_FUNCTION),
        "The distance. 'minkowski' is ``(Σ|x − q|^p)^(1/p)``; 'cosine' is 1 minus the cosine of "
        "the angle. 'gower' is for tables with categorical features and missing values: the mean "
        "of ``|x − q| / range`` for numbers (with the range in training) and of 0 or 1 for equal "
        "or different categories, over the columns in which neither row has a missing value; 1 if "
        "there is no such column. With 'precomputed', X contains distances: between all training "
        "rows in fit, and from the queries to the training rows in predict; in a sparse graph of "
        "distances, rows without an entry are too far. A function of a query "
        "and a training row is called for each pair, which is slow.",
        _same("metric"),
    ),
    Parameter(
        "p",
        2,
        any_of(Number(0, open_low=True), INFINITY),
        "The power of 'minkowski': 1 is 'manhattan', 2 is 'euclidean', inf is 'chebyshev'.",
        _same("p"),
    ),
    Parameter(
        "metric_params",
        None,
        any_of(METRIC_PARAMS, NOTHING),
        "Parameters of the metric: 'p' of 'minkowski'; for 'gower', the weights 'w' of the "
        "columns and 'categorical_features', numeric columns to treat as categorical, in addition "
        "to columns of strings or of a categorical type; for a function, keyword arguments.",
        _same("metric_params"),
    ),
    N_JOBS,
)

OUTLIER_LABEL = Parameter(
    "outlier_label",
    None,
    any_of(LABEL, LABELS, NOTHING),
    "The class predicted for queries without neighbours; 'most_frequent' is the most frequent "
    "class of the training set. If it is not a class of the training set, all probabilities of "
    "such queries are 0, with a warning. None raises an error for such queries.",
    _same("outlier_label"),
)

NEIGHBOR_CLASS_WEIGHT = replace(
    CLASS_WEIGHT,
    description="Weights of the classes, which multiply the votes of their neighbours; classes not "
    "in a dict have weight 1. 'balanced' weights them inversely to their frequency in training.",
    peers=Peers(),
)

PREDICTION: tuple[Parameter, ...] = (replace(N_NEIGHBORS, positional=True), WEIGHTS, *SEARCH)
CLASSIFICATION: tuple[Parameter, ...] = (*PREDICTION, NEIGHBOR_CLASS_WEIGHT)
SEARCH_ONLY: tuple[Parameter, ...] = (N_NEIGHBORS, RADIUS, *SEARCH)
RADIUS_REGRESSION: tuple[Parameter, ...] = (replace(RADIUS, positional=True), WEIGHTS, *SEARCH)
RADIUS_CLASSIFICATION: tuple[Parameter, ...] = (
    replace(RADIUS, positional=True),
    WEIGHTS,
    OUTLIER_LABEL,
    *SEARCH,
    NEIGHBOR_CLASS_WEIGHT,
)
