"""Trees: data structures, growing, and the decision tree estimators."""

from hedgerow._tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor"]
