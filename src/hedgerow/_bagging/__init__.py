"""Bagging: the mean or vote of estimators of any kind, each fitted to its own sample.

`sampling.py` has the rows and columns of each sample; `base_models.py` fits the base models and
averages their predictions. Trees on bins are grown as a forest instead; `fitting.py` decides which.
"""

from hedgerow._bagging.estimators import BaggingClassifier, BaggingRegressor

__all__ = ["BaggingClassifier", "BaggingRegressor"]
