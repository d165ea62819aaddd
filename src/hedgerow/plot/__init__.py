"""Pictures of fitted models, drawn with matplotlib, as scikit-learn's displays are."""

from hedgerow.plot.calibration import CalibrationDisplay
from hedgerow.plot.decision_boundary import DecisionBoundaryDisplay
from hedgerow.plot.importance import ImportanceDisplay
from hedgerow.plot.learning_curve import LearningCurveDisplay
from hedgerow.plot.partial_dependence import PartialDependenceDisplay
from hedgerow.plot.precision_recall import PrecisionRecallDisplay
from hedgerow.plot.residuals import ResidualDisplay
from hedgerow.plot.roc import RocDisplay
from hedgerow.plot.shap import (
    ShapBarDisplay,
    ShapBeeswarmDisplay,
    ShapDependenceDisplay,
    ShapWaterfallDisplay,
)
from hedgerow.plot.staged_shap import StagedShapDisplay
from hedgerow.plot.tree import TreeDisplay
from hedgerow.plot.voting import MarginDisplay, StrengthCorrelationDisplay

__all__ = [
    "CalibrationDisplay",
    "DecisionBoundaryDisplay",
    "ImportanceDisplay",
    "LearningCurveDisplay",
    "MarginDisplay",
    "PartialDependenceDisplay",
    "PrecisionRecallDisplay",
    "ResidualDisplay",
    "RocDisplay",
    "ShapBarDisplay",
    "ShapBeeswarmDisplay",
    "ShapDependenceDisplay",
    "ShapWaterfallDisplay",
    "StagedShapDisplay",
    "StrengthCorrelationDisplay",
    "TreeDisplay",
]
