"""Any tree model → `AdditiveTrees`: the door through which models enter explanations."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from hedgerow._contract import internals
from hedgerow._estimator import Estimator
from hedgerow._params import shown
from hedgerow._tree.additive import AdditiveTrees
from hedgerow.exceptions import ParameterError

__all__ = ["AdditiveTrees", "additive_trees"]

_ACCEPTED = "a fitted tree model of Hedgerow's"


def additive_trees(model: Any) -> AdditiveTrees:
    """Return a fitted model as a sum of trees.

    Parameters
    ----------
    model : fitted estimator
        Gradient boosting of any kind, a decision tree, a random forest, extra trees, bagging of
        Hedgerow's trees, an AdaBoost classifier of trees, or stagewise boosting of Hedgerow's
        trees.

    Raises
    ------
    ParameterError
        If the model is no sum of trees.
    """
    if isinstance(model, Pipeline):
        raise ParameterError(
            "model is a Pipeline: give its last step, pipeline[-1], and as X the table that this "
            "step sees, pipeline[:-1].transform(X)."
        )
    if not isinstance(model, Estimator) and hasattr(model, "best_estimator_"):
        raise ParameterError(f"model is a {type(model).__name__}: give its best_estimator_.")
    if not isinstance(model, Estimator):
        raise ParameterError(f"model={shown(model)} is not allowed; it must be {_ACCEPTED}.")
    return internals(model).additive_trees()
