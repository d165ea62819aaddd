"""What boosting minimises: where scores start, what a score means, what a leaf is worth.

`base` says what a loss is, `regression` and `classification` hold the built-in ones, whose
gradients are native, `several` is one of them for each column of y, and `custom` is the door for a
user's own function.
"""

from hedgerow.boosting.losses.base import Floats, Link, Loss, NativeLoss
from hedgerow.boosting.losses.classification import (
    BinaryLogLoss,
    CrossEntropy,
    ExponentialLoss,
    FocalLoss,
    HingeLoss,
    MultinomialLogLoss,
    SoftBinaryLogLoss,
)
from hedgerow.boosting.losses.custom import CustomLoss, read_only, with_weights
from hedgerow.boosting.losses.regression import (
    AbsoluteError,
    AbsolutePercentageError,
    BernoulliLogLoss,
    ExpectileLoss,
    QuantileLoss,
    RobustLoss,
    SquaredError,
    TweedieLoss,
)
from hedgerow.boosting.losses.several import SeveralTargets

__all__ = [
    "AbsoluteError",
    "AbsolutePercentageError",
    "BernoulliLogLoss",
    "BinaryLogLoss",
    "CrossEntropy",
    "CustomLoss",
    "ExpectileLoss",
    "ExponentialLoss",
    "Floats",
    "FocalLoss",
    "HingeLoss",
    "Link",
    "Loss",
    "MultinomialLogLoss",
    "NativeLoss",
    "QuantileLoss",
    "RobustLoss",
    "SeveralTargets",
    "SoftBinaryLogLoss",
    "SquaredError",
    "TweedieLoss",
    "read_only",
    "with_weights",
]
