"""
What is known beforehand: monotone constraints
==============================================

A larger flat does not cost less than the same flat with fewer rooms. Where such an order is
known, a model can be held to it: the noise that would break it is left out, and what it says can
be defended.
"""

import matplotlib.pyplot as plt
import numpy as np

import hedgerow as hr

random = np.random.default_rng(3)
size = random.uniform(20.0, 140.0, 250)
distance = random.uniform(0.0, 20.0, 250)
X = np.column_stack([size, distance])
truth = 200.0 + 6.0 * size - 15.0 * distance
y = truth + random.normal(0.0, 120.0, 250)

# %%
# 1 says that the prediction may only rise with a column, -1 that it may only fall, 0 nothing.
free = hr.GradientBoostingRegressor(n_estimators=150, learning_rate=0.1).fit(X, y)
held = hr.GradientBoostingRegressor(
    n_estimators=150, learning_rate=0.1, monotonic_constraints=[1, -1]
).fit(X, y)

# %%
# The curves are single rows, each with its distance and another size. Without constraints they go
# up and down with the noise. With them, every single curve rises, not only their mean.
figure, axes = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained", sharey=True)
for ax, model, title in zip(axes, (free, held), ("free", "monotone"), strict=True):
    rows = hr.explain.partial_dependence(model, X, 0, kind="both")
    hr.plot.PartialDependenceDisplay.from_values(rows, ax=ax)
    steps = np.diff(rows.individual[..., 0], axis=1)
    ax.set(title=f"{title}: {np.mean(steps < -1e-9):.0%} of the steps go down", xlabel="size in m²")

# %%
# An order that is true also makes predictions better: there is less to learn wrongly.
grid = np.column_stack([random.uniform(20.0, 140.0, 5_000), random.uniform(0.0, 20.0, 5_000)])
right = 200.0 + 6.0 * grid[:, 0] - 15.0 * grid[:, 1]
for name, model in (("free", free), ("monotone", held)):
    print(f"{name:<9} distance from the truth {np.abs(model.predict(grid) - right).mean():6.1f}")
