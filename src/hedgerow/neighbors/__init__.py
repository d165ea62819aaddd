"""Nearest neighbours, exact: the rows of a float64 brute force, found faster.

`metrics.py` has the distances, `indexes.py` the ways to find what is near, `voting.py` what
neighbours say of a query, `estimators.py` the classes.
"""

from hedgerow.neighbors.estimators import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
)

__all__ = ["KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors"]
