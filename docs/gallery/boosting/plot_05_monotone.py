"""
Monotonic constraints
=====================

All else being equal, a larger flat does not cost less. If such a relation is known, the model can
be constrained to it: it then ignores noise that contradicts the relation, and its predictions are
easier to justify.
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
# 1 means that the prediction never decreases with the feature, -1 that it never increases, and 0
# that there is no constraint.
free = hr.GradientBoostingRegressor(n_estimators=150, learning_rate=0.1).fit(X, y)
monotonic = hr.GradientBoostingRegressor(
    n_estimators=150, learning_rate=0.1, monotonic_constraints=[1, -1]
).fit(X, y)

# %%
# Each curve is the prediction for one row as its size varies. Without constraints the curves
# follow the noise. With constraints every curve is increasing, not only their mean.
figure, axes = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained", sharey=True)
for ax, model, title in zip(axes, (free, monotonic), ("unconstrained", "monotonic"), strict=True):
    rows = hr.explain.partial_dependence(model, X, 0, kind="both")
    hr.plot.PartialDependenceDisplay.from_values(rows, ax=ax)
    steps = np.diff(rows.individual[..., 0], axis=1)
    ax.set(
        title=f"{title}: {np.mean(steps < -1e-9):.0%} of the steps decrease", xlabel="size in m²"
    )

# %%
# A correct constraint also makes the predictions more accurate, because it prevents some
# overfitting.
grid = np.column_stack([random.uniform(20.0, 140.0, 5_000), random.uniform(0.0, 20.0, 5_000)])
expected = 200.0 + 6.0 * grid[:, 0] - 15.0 * grid[:, 1]
for name, model in (("unconstrained", free), ("monotonic", monotonic)):
    print(f"{name:<13} mean absolute error {np.abs(model.predict(grid) - expected).mean():6.1f}")
