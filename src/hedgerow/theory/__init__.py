"""The theory of ensembles, computed for fitted models: bounds, margins, bias and variance.

Each function returns a result with named fields, which is printed as a table, drawn with
``.plot()`` and converted to a data frame with ``.to_frame()``.
"""

from hedgerow.theory._bias_and_variance import bias_variance
from hedgerow.theory._bounds import AdaBoostBound, ForestBound, adaboost_bound, forest_bound
from hedgerow.theory._decomposition import SquaredErrorDecomposition, ZeroOneDecomposition
from hedgerow.theory._diversity import EnsembleDiversity, diversity
from hedgerow.theory._function_space import FunctionDescent, function_descent
from hedgerow.theory._margin import Margins, margins
from hedgerow.theory._objective import Objective, objective
from hedgerow.theory._structure import NodeSums, StructureScore, structure_score
from hedgerow.theory._voting import (
    MajorityVote,
    MajorityVoteCurve,
    bootstrap_coverage,
    majority_vote,
    majority_vote_curve,
    majority_vote_error,
)

__all__ = [
    "AdaBoostBound",
    "EnsembleDiversity",
    "ForestBound",
    "FunctionDescent",
    "MajorityVote",
    "MajorityVoteCurve",
    "Margins",
    "NodeSums",
    "Objective",
    "SquaredErrorDecomposition",
    "StructureScore",
    "ZeroOneDecomposition",
    "adaboost_bound",
    "bias_variance",
    "bootstrap_coverage",
    "diversity",
    "forest_bound",
    "function_descent",
    "majority_vote",
    "majority_vote_curve",
    "majority_vote_error",
    "margins",
    "objective",
    "structure_score",
]
