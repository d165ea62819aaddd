"""Exact nearest neighbours: the result of a float64 brute-force search, computed faster.

`metrics.py` declares the distances; `fitting.py` reads tables and fits, `indexes.py` and
`search.py` find neighbours, and `aggregation.py` turns them into predictions. `base.py` is shared
by all estimators.
"""

from hedgerow._neighbors.estimators import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)

__all__ = [
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
]
