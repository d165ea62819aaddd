"""Boosting: rounds of learners, each fitted to what those before it left over."""

from hedgerow.boosting.adaboost import AdaBoostClassifier, AdaBoostRegressor
from hedgerow.boosting.callbacks import RoundInfo
from hedgerow.boosting.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from hedgerow.boosting.ranking import GradientBoostingRanker
from hedgerow.boosting.stagewise import StagewiseClassifier, StagewiseRegressor
from hedgerow.boosting.survival import GradientBoostingSurvival
from hedgerow.boosting.written_loss import Loss

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "GradientBoostingSurvival",
    "Loss",
    "RoundInfo",
    "StagewiseClassifier",
    "StagewiseRegressor",
]
