"""Learning to rank: `GradientBoostingRanker`.

`task` says what a target is, `metrics` how good a ranking is; the losses are
`hedgerow.boosting.losses.ranking`.
"""

from hedgerow.boosting.ranking.estimator import GradientBoostingRanker

__all__ = ["GradientBoostingRanker"]
