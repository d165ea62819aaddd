"""
Prediction intervals: quantiles and conformal calibration
=========================================================

A single number does not show how uncertain a prediction is. Quantiles give an interval that is
wide where the noise is large, and conformal calibration on a holdout corrects its coverage.
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
# One model predicts three quantiles, which never cross. ``calibration="conformal"`` sets a
# holdout aside, and ``predict_interval`` moves both ends so that the interval has the chosen
# coverage on it.
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
# The quantiles overfit the training rows and cover too few new rows. The conformal interval
# covers 90 % of them, however good or bad the quantiles are, as long as new rows follow the same
# distribution as the holdout. The coverage is an average: it may be lower for some kinds of rows
# and higher for others.
low, _, high = model.predict(X_new).T
ends = model.predict_interval(X_new, coverage=0.9)
print(f"quantiles cover {np.mean((low <= y_new) & (y_new <= high)):.1%} of new rows")
print(f"conformal covers {np.mean((ends[:, 0] <= y_new) & (y_new <= ends[:, 1])):.1%} of new rows")
