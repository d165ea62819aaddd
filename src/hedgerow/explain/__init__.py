"""Explanations of a model: Shapley values, importances, dependence plots and interactions."""

from typing import TYPE_CHECKING, NoReturn

from hedgerow._arguments import unknown_name_error
from hedgerow._result import PermutationImportance
from hedgerow._tree.additive import AdditiveTrees, additive_trees
from hedgerow.explain._accumulated import AccumulatedEffects, accumulated_effects
from hedgerow.explain._importance import Importance, importance
from hedgerow.explain._interaction import InteractionStrength, interaction_strength
from hedgerow.explain._partial import PartialDependence, partial_dependence
from hedgerow.explain._permutation import permutation_importance
from hedgerow.explain._rules import export_rules
from hedgerow.explain._shap import ShapValues, shap_values, to_shap

__all__ = [
    "AccumulatedEffects",
    "AdditiveTrees",
    "Importance",
    "InteractionStrength",
    "PartialDependence",
    "PermutationImportance",
    "ShapValues",
    "accumulated_effects",
    "additive_trees",
    "export_rules",
    "importance",
    "interaction_strength",
    "partial_dependence",
    "permutation_importance",
    "shap_values",
    "to_shap",
]

if not TYPE_CHECKING:  # else any name would seem to be there

    def __getattr__(name: str) -> NoReturn:
        raise unknown_name_error(__name__, name, __all__)
