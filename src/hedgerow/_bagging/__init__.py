"""Bagging: estimators of any make, each fitted on a sample of its own, that vote together.

`draws.py` has the rows and columns of each sample; `members.py` what is fitted on them and how it
is asked. Trees over bins are grown as a forest is instead; `fitting.py` tells which.
"""

from hedgerow._bagging.estimators import BaggingClassifier, BaggingRegressor

__all__ = ["BaggingClassifier", "BaggingRegressor"]
