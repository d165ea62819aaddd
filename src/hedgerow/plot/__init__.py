"""Pictures of fitted models, drawn with matplotlib, as scikit-learn's displays are."""

from hedgerow.plot.decision_boundary import DecisionBoundaryDisplay
from hedgerow.plot.tree import TreeDisplay

__all__ = ["DecisionBoundaryDisplay", "TreeDisplay"]
