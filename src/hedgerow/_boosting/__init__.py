"""Gradient boosting: rounds of trees, each fitted to the gradient of the loss.

`estimators` are the public classes, `targets` what y can be, `losses` what is minimised, and `fit`
the steps of a fit, which produces a `model`.
"""

from hedgerow._boosting.estimators.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from hedgerow._boosting.estimators.ranker import GradientBoostingRanker
from hedgerow._boosting.estimators.survival import GradientBoostingSurvival
from hedgerow._boosting.fit.loop import RoundInfo
from hedgerow._boosting.losses.formula import Loss

__all__ = [
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "GradientBoostingSurvival",
    "Loss",
    "RoundInfo",
]
