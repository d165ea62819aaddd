"""AdaBoost: base models fitted in turn, with more weight on rows that are misclassified.

`algorithms.py` has the rounds of each kind; `learners.py` the trees over bins and the estimators of
any kind that they fit.
"""

from hedgerow._adaboost.estimators import AdaBoostClassifier, AdaBoostRegressor

__all__ = ["AdaBoostClassifier", "AdaBoostRegressor"]
