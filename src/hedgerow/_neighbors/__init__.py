"""Nearest neighbours, exact: the rows of a float64 brute force, found faster.

`metrics.py` has the distances, `indexes.py` the ways to find what is near, `given.py` those for
distances of the user's own, `voting.py` what neighbours say of a query, `queries.py` what all
estimators share, `estimators.py` and `radius.py` the classes.
"""

from hedgerow._neighbors.estimators import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
)
from hedgerow._neighbors.radius import RadiusNeighborsClassifier, RadiusNeighborsRegressor

__all__ = [
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
]
