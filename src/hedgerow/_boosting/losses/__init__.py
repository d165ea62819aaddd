"""Loss functions: base score, gradients, link, and how leaves are fitted.

`base` defines the interface; `regression` and `classification` have the losses with native
gradients; `ranking` and `survival` have those that compare rows or take censored times; `custom`
and `formula` are for user-defined losses.
"""

from hedgerow._boosting.losses.base import (
    CONSTANT_SPREAD,
    BaseLoss,
    Differentiate,
    MultiOutputLoss,
    NativeLoss,
    Spread,
    read_only,
    weighted_mean,
)
from hedgerow._boosting.losses.classification import (
    BinaryLogLoss,
    CrossEntropy,
    ExponentialLoss,
    FocalLoss,
    HingeLoss,
    MultinomialLogLoss,
    SoftBinaryLogLoss,
)
from hedgerow._boosting.losses.custom import CustomLoss, FormulaLoss, with_weights
from hedgerow._boosting.losses.ranking import Queries, RankingLoss
from hedgerow._boosting.losses.regression import (
    AbsoluteError,
    AbsolutePercentageError,
    BernoulliLogLoss,
    ExpectileLoss,
    QuantileLoss,
    RobustLoss,
    SquaredError,
    TweedieLoss,
)
from hedgerow._boosting.losses.survival import CoxLoss, FailureTimeLoss, SurvivalLoss
from hedgerow._links import Link

__all__ = [
    "CONSTANT_SPREAD",
    "AbsoluteError",
    "AbsolutePercentageError",
    "BaseLoss",
    "BernoulliLogLoss",
    "BinaryLogLoss",
    "CoxLoss",
    "CrossEntropy",
    "CustomLoss",
    "Differentiate",
    "ExpectileLoss",
    "ExponentialLoss",
    "FailureTimeLoss",
    "FocalLoss",
    "FormulaLoss",
    "HingeLoss",
    "Link",
    "MultiOutputLoss",
    "MultinomialLogLoss",
    "NativeLoss",
    "QuantileLoss",
    "Queries",
    "RankingLoss",
    "RobustLoss",
    "SoftBinaryLogLoss",
    "Spread",
    "SquaredError",
    "SurvivalLoss",
    "TweedieLoss",
    "read_only",
    "weighted_mean",
    "with_weights",
]
