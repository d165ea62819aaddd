"""Nearest neighbours, exact: the rows of a float64 brute force, found faster.

`metrics.py` has the distances and the spaces they are computed in, `search.py` the ways to search,
`voting.py` what neighbours say of a query, `estimators.py` the classes.
"""

from hedgerow.neighbors.estimators import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
)

__all__ = ["KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors"]
