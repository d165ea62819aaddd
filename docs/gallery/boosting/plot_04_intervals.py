"""
Intervals: quantiles, and conformal ones
========================================

A single number hides how sure a model is. Quantiles give a range that is wide where the target
scatters; rows held out then make sure that the range covers what it promises.
"""

import matplotlib.pyplot as plt
import numpy as np

import hedgerow as hr

random = np.random.default_rng(0)


def draw_rows(n_rows):
    """A wave whose noise grows from left to right."""
    x = random.uniform(0.0, 10.0, n_rows)
    return x[:, np.newaxis], np.sin(x) + (0.1 + 0.12 * x) * random.normal(size=n_rows)


X, y = draw_rows(1_500)
X_new, y_new = draw_rows(4_000)

# %%
# Three quantiles are learned by one model. They never cross. ``calibration="conformal"`` holds rows
# out, and ``predict_interval`` moves both ends by as much as those rows ask for.
model = hr.GradientBoostingRegressor(
    loss="quantile",
    quantile=[0.05, 0.5, 0.95],
    n_estimators=150,
    learning_rate=0.1,
    calibration="conformal",
    calibration_fraction=0.3,
    random_state=0,
).fit(X, y)
grid = np.linspace(0.0, 10.0, 500)[:, np.newaxis]
low, middle, high = model.predict(grid).T
conformal = model.predict_interval(grid, coverage=0.9)

# %%
figure, ax = plt.subplots(figsize=(8.0, 4.4), layout="constrained")
ax.plot(X, y, ".", color="#b8b8b8", markersize=3, label="rows")
ax.fill_between(grid[:, 0], low, high, color="#56b4e9", alpha=0.5, label="5 % to 95 % quantile")
ax.plot(grid, middle, color="#0072b2", label="median")
ax.plot(grid, conformal, color="#d55e00", linewidth=1.0, label=["conformal, 90 %", None])
ax.set(xlabel="x", ylabel="y")
ax.legend(frameon=False, loc="upper left")

# %%
# The quantiles fit the rows they were learned from, and cover fewer new ones than they should. The
# conformal interval covers its nine of ten, whatever the quantiles are worth, for rows like those
# held out. The promise is of all rows together: a part of them may be covered less, another more.
low, _, high = model.predict(X_new).T
ends = model.predict_interval(X_new, coverage=0.9)
print(f"quantiles cover {np.mean((low <= y_new) & (y_new <= high)):.1%} of new rows")
print(f"conformal covers {np.mean((ends[:, 0] <= y_new) & (y_new <= ends[:, 1])):.1%} of new rows")
