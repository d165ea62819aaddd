"""
Interactions of two features
============================

Friedman's H² is the fraction of the joint effect of two features that is not the sum of their
individual effects. It finds the pairs for which a two-dimensional plot is worthwhile.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1

import hedgerow as hr

# %%
# The target is 10 sin(π x0 x1) + 20 (x2 - ½)² + 10 x3 + 5 x4, plus a little noise: one pair
# interacts, three features have additive effects, and the others have none.
X, y = make_friedman1(n_samples=1_000, n_features=8, noise=0.5, random_state=0)
model = hr.GradientBoostingRegressor(n_estimators=120, learning_rate=0.1).fit(X, y)
strengths = hr.explain.interaction_strength(model, X, n_rows=80)
print(strengths)

# %%
# The pair stands out. The small values of the other pairs come from noise that the model has
# fitted.
strengths.plot()

# %%
# Two-dimensional partial dependence
# ----------------------------------
#
# On the left, the features interact: the contour lines are bent like those of a product, and
# along the left edge x1 has hardly any effect. On the right, the effects are additive: the
# contour lines are roughly parallel, because a step in one feature has the same effect whatever
# the value of the other.
figure, axes = plt.subplots(1, 2, figsize=(10.4, 4.2), layout="constrained")
hr.plot.PartialDependenceDisplay.from_estimator(model, X, (0, 1), ax=axes[0])
hr.plot.PartialDependenceDisplay.from_estimator(model, X, (3, 4), ax=axes[1])

# %%
# ICE curves show it as well: those of x3, which has an additive effect, are parallel; the slope
# of those of x0 depends on x1.
hr.plot.PartialDependenceDisplay.from_estimator(model, X, [0, 3], kind="both")
