"""Trees: their arrays, how they are grown, and the estimators that are one tree."""

from hedgerow._tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor"]
