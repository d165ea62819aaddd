"""Boosting: rounds of trees, each grown on what those before it left over."""

from hedgerow.boosting.callbacks import RoundInfo
from hedgerow.boosting.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor", "RoundInfo"]
