"""
Partial dependence and accumulated effects, if columns go together
==================================================================

Partial dependence sets a column to a value in *all* rows, even where that value cannot be: summer
heat in January. Accumulated local effects (ALE) move each row only to the ends of its own
neighbourhood. If columns go together, the two can tell different stories.
"""

import matplotlib.pyplot as plt
import numpy as np

import hedgerow as hr

random = np.random.default_rng(0)
x0 = random.uniform(0.0, 1.0, 1_000)
x1 = np.clip(x0 + random.normal(0.0, 0.05, 1_000), 0.0, 1.0)
X = np.column_stack([x0, x1])

# %%
# The target is x0 + x1², and the model has seen rows near the diagonal only. What it says elsewhere
# is made up: trees go on with the value of the nearest leaf.
y = x0 + x1**2 + random.normal(0.0, 0.02, 1_000)
model = hr.GradientBoostingRegressor(n_estimators=120, learning_rate=0.1).fit(X, y)

figure, ax = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
hr.explain.partial_dependence(model, X, (0, 1)).plot(ax)
ax.plot(*X[::2].T, ".", color="white", markersize=2.0, alpha=0.7)
ax.set_title("what the model says, and where rows are", fontsize="medium")

# %%
# Partial dependence averages over the whole square, also where no row is. ALE stays on the
# diagonal. The dashed lines are what is true of each column: x0 is straight, x1 is a parabola.
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
# How far each is from the truth, after both are centred: ALE is nearer for both columns.
for column, truth in enumerate(truths):
    for results, name in ((dependence, "partial dependence"), (effects, "ALE")):
        found, grid = results[column].average[:, 0], results[column].grid[0]
        error = (found - found.mean()) - (truth(grid) - truth(grid).mean())
        print(f"x{column}, {name:<18} off by {np.sqrt(np.mean(error**2)):.3f}")

# %%
# Curves of single rows (ICE) show the same from within: each row is moved along the whole axis,
# although it has been near its own place only.
hr.plot.PartialDependenceDisplay.from_estimator(model, X, [0, 1], kind="both")
