"""Survival: `GradientBoostingSurvival`, by Cox's hazards or by accelerated failure times.

`task` says what a target is, `metrics` how good a prediction is; the losses are
`hedgerow.boosting.losses.survival`, the curves `hedgerow.boosting.survival_curves`.
"""

from hedgerow.boosting.survival.estimator import GradientBoostingSurvival

__all__ = ["GradientBoostingSurvival"]
