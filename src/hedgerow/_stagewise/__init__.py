"""Forward stagewise additive modelling with any base learner and any loss, as the lectures have it.

`rounds.py` is the algorithm; `losses.py`, `learners.py` and `steps.py` are what it is made of.
"""

from hedgerow._stagewise.estimators import StagewiseClassifier, StagewiseRegressor

__all__ = ["StagewiseClassifier", "StagewiseRegressor"]
