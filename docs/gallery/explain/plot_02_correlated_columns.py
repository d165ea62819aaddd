"""
Partial dependence and accumulated effects with correlated features
===================================================================

Partial dependence sets a feature to a value in *all* rows, even where that value is impossible,
such as summer heat in January. Accumulated local effects (ALE) move each row only to the ends of
its own interval. If features are correlated, the two can differ.
"""

import matplotlib.pyplot as plt
import numpy as np

import hedgerow as hr

random = np.random.default_rng(0)
x0 = random.uniform(0.0, 1.0, 1_000)
x1 = np.clip(x0 + random.normal(0.0, 0.05, 1_000), 0.0, 1.0)
X = np.column_stack([x0, x1])

# %%
# The target is x0 + x1², and the training rows are close to the diagonal. Elsewhere the model
# extrapolates: trees continue with the value of the nearest leaf.
y = x0 + x1**2 + random.normal(0.0, 0.02, 1_000)
model = hr.GradientBoostingRegressor(n_estimators=120, learning_rate=0.1).fit(X, y)

figure, ax = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
hr.explain.partial_dependence(model, X, (0, 1)).plot(ax)
ax.plot(*X[::2].T, ".", color="white", markersize=2.0, alpha=0.7)
ax.set_title("predictions, and the training rows", fontsize="medium")

# %%
# Partial dependence averages over the whole square, including regions without rows. ALE stays
# close to the diagonal. The dashed lines are the true effects: a line for x0, a parabola for x1.
dependence = hr.explain.partial_dependence(model, X, [0, 1])
effects = hr.explain.accumulated_effects(model, X, [0, 1], grid_resolution=20)
figure, axes = plt.subplots(2, 2, figsize=(8.4, 6.0), layout="constrained")
truths = (lambda x: x - x0.mean(), lambda x: x**2 - (x1**2).mean())
for column, truth in enumerate(truths):
    for row, (results, name) in enumerate(((dependence, "partial dependence"), (effects, "ALE"))):
        ax = axes[row, column]
        result = results[column]
        result.plot(ax)
        level = result.average.mean() if row == 0 else 0.0
        grid = result.grid[0]
        ax.plot(grid, truth(grid) + level, "--", color="#5a5a5a", linewidth=1.0)
        ax.set_title(name, fontsize="medium")

# %%
# The error of each, after centring: ALE is closer to the true effect for both features.
for column, truth in enumerate(truths):
    for results, name in ((dependence, "partial dependence"), (effects, "ALE")):
        found, grid = results[column].average[:, 0], results[column].grid[0]
        error = (found - found.mean()) - (truth(grid) - truth(grid).mean())
        print(f"x{column}, {name:<18} error {np.sqrt(np.mean(error**2)):.3f}")

# %%
# Individual conditional expectation (ICE) curves show the cause: each row is moved along the
# whole axis, although rows like it exist only close to its own value.
hr.plot.PartialDependenceDisplay.from_estimator(model, X, [0, 1], kind="both")
