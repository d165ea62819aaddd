"""Forests and bagging: trees, or any estimators, on samples of their own that vote together."""

from hedgerow.forest.bagging import BaggingClassifier, BaggingRegressor
from hedgerow.forest.random_forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

__all__ = [
    "BaggingClassifier",
    "BaggingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
