"""Hedgerow: learning from tables."""

from hedgerow._native import level as isa_level
from hedgerow.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hedgerow.exceptions import DataError, HedgerowError, ModelFileError, ParameterError
from hedgerow.model_file import load

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HedgerowError",
    "ModelFileError",
    "ParameterError",
    "isa_level",
    "load",
]
