"""Why a model predicts what it does: a prediction as a sum of what each column adds."""

from hedgerow.explain.additive import AdditiveTrees, additive_trees
from hedgerow.explain.shap import ShapValues, shap_values
from hedgerow.explain.to_shap import to_shap

__all__ = ["AdditiveTrees", "ShapValues", "additive_trees", "shap_values", "to_shap"]
