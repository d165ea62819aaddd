"""AdaBoost: members fitted one after another to rows that the ones before got wrong.

`algorithms.py` has the rounds of each kind; `learners.py` the trees over bins and the estimators of
any kind that they fit.
"""

from hedgerow._adaboost.estimators import AdaBoostClassifier, AdaBoostRegressor

__all__ = ["AdaBoostClassifier", "AdaBoostRegressor"]
