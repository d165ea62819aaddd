"""Displays of fitted models, drawn with matplotlib in the style of scikit-learn's displays."""

from typing import TYPE_CHECKING, NoReturn

from hedgerow._arguments import unknown_name_error
from hedgerow.plot._calibration import CalibrationDisplay
from hedgerow.plot._decision_boundary import DecisionBoundaryDisplay
from hedgerow.plot._feature_map import FeatureMapDisplay
from hedgerow.plot._importance import ImportanceDisplay
from hedgerow.plot._learning_curve import LearningCurveDisplay
from hedgerow.plot._partial_dependence import PartialDependenceDisplay
from hedgerow.plot._residuals import ResidualDisplay
from hedgerow.plot._roc_curves import RocCurvesDisplay
from hedgerow.plot._shap import (
    ShapBarDisplay,
    ShapBeeswarmDisplay,
    ShapDependenceDisplay,
    ShapWaterfallDisplay,
)
from hedgerow.plot._staged_shap import StagedShapDisplay
from hedgerow.plot._threshold_curves import PrecisionRecallDisplay, RocDisplay
from hedgerow.plot._tree import TreeDisplay
from hedgerow.plot._tree_sum import TreeSumDisplay
from hedgerow.plot._voting import MarginDisplay, StrengthCorrelationDisplay

__all__ = [
    "CalibrationDisplay",
    "DecisionBoundaryDisplay",
    "FeatureMapDisplay",
    "ImportanceDisplay",
    "LearningCurveDisplay",
    "MarginDisplay",
    "PartialDependenceDisplay",
    "PrecisionRecallDisplay",
    "ResidualDisplay",
    "RocCurvesDisplay",
    "RocDisplay",
    "ShapBarDisplay",
    "ShapBeeswarmDisplay",
    "ShapDependenceDisplay",
    "ShapWaterfallDisplay",
    "StagedShapDisplay",
    "StrengthCorrelationDisplay",
    "TreeDisplay",
    "TreeSumDisplay",
]

if not TYPE_CHECKING:  # else any name would seem to be there

    def __getattr__(name: str) -> NoReturn:
        raise unknown_name_error(__name__, name, __all__)
