"""What boosting minimises: where scores start, what a score means, what a leaf is worth.

`base` says what a loss is; `regression` and `classification` hold the built-in ones, whose
gradients are native; `multi_output` is one of them for each column of y; `ranking` and `survival`
hold those that compare rows or take censored times; `callable` is for a user's own function.
"""

from hedgerow._boosting.losses.base import EVEN, Differentiate, Loss, NativeLoss, Spread
from hedgerow._boosting.losses.callable import CustomLoss, read_only, with_weights
from hedgerow._boosting.losses.classification import (
    BinaryLogLoss,
    CrossEntropy,
    ExponentialLoss,
    FocalLoss,
    HingeLoss,
    MultinomialLogLoss,
    SoftBinaryLogLoss,
)
from hedgerow._boosting.losses.multi_output import SeveralTargets
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
    "EVEN",
    "AbsoluteError",
    "AbsolutePercentageError",
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
    "HingeLoss",
    "Link",
    "Loss",
    "MultinomialLogLoss",
    "NativeLoss",
    "QuantileLoss",
    "Queries",
    "RankingLoss",
    "RobustLoss",
    "SeveralTargets",
    "SoftBinaryLogLoss",
    "Spread",
    "SquaredError",
    "SurvivalLoss",
    "TweedieLoss",
    "read_only",
    "with_weights",
]
