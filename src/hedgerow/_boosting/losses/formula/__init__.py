"""`Loss`, a loss that a user writes as a NumPy formula, and the numerical methods that it needs."""

from hedgerow._boosting.losses.formula.leaf_search import LeafSearch
from hedgerow._boosting.losses.formula.loss import Loss

__all__ = ["LeafSearch", "Loss"]
