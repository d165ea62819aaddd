"""Forward stagewise additive modelling with any base learner and any loss, as in the lectures.

`rounds.py` has the algorithm; `losses.py` and `learners.py` its components.
"""

from hedgerow._stagewise.estimators import StagewiseClassifier, StagewiseRegressor

__all__ = ["StagewiseClassifier", "StagewiseRegressor"]
