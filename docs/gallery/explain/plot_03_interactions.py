"""
What two columns do together
============================

Friedman's H² is the part of the effect of two columns that is not the sum of their own effects.
It finds the pairs that are worth a map.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1

import hedgerow as hr

# %%
# The target is 10 sin(π x0 x1) + 20 (x2 - ½)² + 10 x3 + 5 x4, and a little noise: one pair works
# together, three columns work alone, and the others do nothing.
X, y = make_friedman1(n_samples=1_000, n_features=8, noise=0.5, random_state=0)
model = hr.GradientBoostingRegressor(n_estimators=120, learning_rate=0.1).fit(X, y)
found = hr.explain.interaction_strength(model, X, n_rows=80)
print(found)

# %%
# The pair stands out. What is left for others is noise that the model has learned.
found.plot()

# %%
# Two maps
# --------
#
# Left, a pair that works together: the lines of equal prediction are bent like those of the product
# of the two, and along the left edge x1 does hardly anything. Right, two columns that add up: the
# lines are about parallel, for a step in one is worth the same wherever the other is.
figure, axes = plt.subplots(1, 2, figsize=(10.4, 4.2), layout="constrained")
hr.plot.PartialDependenceDisplay.from_estimator(model, X, (0, 1), ax=axes[0])
hr.plot.PartialDependenceDisplay.from_estimator(model, X, (3, 4), ax=axes[1])

# %%
# Curves of single rows tell it too: where a column works alone they are parallel, as those of x3;
# those of x0 have another slope for every x1.
hr.plot.PartialDependenceDisplay.from_estimator(model, X, [0, 3], kind="both")
