"""Why a model predicts what it does: a prediction as a sum of what each column adds."""

from hedgerow.explain.additive import AdditiveTrees, additive_trees
from hedgerow.explain.partial import PartialDependence, partial_dependence
from hedgerow.explain.shap import ShapValues, shap_values

__all__ = [
    "AdditiveTrees",
    "PartialDependence",
    "ShapValues",
    "additive_trees",
    "partial_dependence",
    "shap_values",
]
