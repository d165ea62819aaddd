"""``n_estimators="auto"``: a search for the number of rounds, learning rate and size of trees.

A few candidates are evaluated on a holdout. The best one is then fitted to all rows with a smaller
learning rate, or several times with different seeds.
"""

from hedgerow._boosting.fit.auto.choice import Choice, TrialResult
from hedgerow._boosting.fit.auto.search import MAX_MODELS, choose_parameters

__all__ = ["MAX_MODELS", "Choice", "TrialResult", "choose_parameters"]
