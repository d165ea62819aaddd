"""Forward stagewise additive modelling with any base learner and any loss, as in the lectures.

`rounds.py` has the algorithm; `losses.py`, `learners.py` and `steps.py` its components.
"""

from hedgerow._stagewise.estimators import StagewiseClassifier, StagewiseRegressor

__all__ = ["StagewiseClassifier", "StagewiseRegressor"]
