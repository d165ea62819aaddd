"""
Measuring bias and variance
===========================

Draw many training sets and fit a model to each. The distance of the mean prediction from the true
value is the bias, and the spread of the predictions is the variance. Bagging and boosting start
from opposite ends.
"""

import matplotlib.pyplot as plt
import numpy as np

import hedgerow as hr


def wave(random, n_rows):
    """Return inputs, noisy targets and true values of a sine wave."""
    x = random.uniform(0.0, 6.0, n_rows)
    return x[:, np.newaxis], np.sin(x) + random.normal(0.0, 0.5, n_rows), np.sin(x)


stump = hr.DecisionTreeRegressor(max_depth=1)
models = {
    "stump": stump,
    "full tree": hr.DecisionTreeRegressor(),
    "bagged full trees": hr.BaggingRegressor(n_estimators=20, random_state=0),
    "boosted stumps": hr.StagewiseRegressor(stump, n_estimators=50),
}

# %%
# Twelve training sets
# --------------------
#
# Each thin line is the fit to one training set; the thick line is their mean. The stumps are
# similar to one another and similarly wrong: high bias, low variance. The full trees are correct
# on average, but each of them is far off: low bias, high variance.
grid = np.linspace(0.0, 6.0, 200)[:, np.newaxis]
figure, axes = plt.subplots(
    2, 2, figsize=(9.0, 6.0), layout="constrained", sharex=True, sharey=True
)
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    sets = [wave(np.random.default_rng(seed), 60) for seed in range(12)]
    fits = np.array([model.fit(X, y).predict(grid) for X, y, _ in sets])
    ax.plot(grid, fits.T, color="#56b4e9", linewidth=0.6)
    ax.plot(grid, fits.mean(axis=0), color="#0072b2", linewidth=2.0, label="mean of the fits")
    ax.plot(grid, np.sin(grid), "--", color="#1a1a1a", linewidth=1.0, label="true value")
    ax.set_title(name, fontsize="medium")
axes[0, 0].legend(frameon=False)
figure.supxlabel("x")
figure.supylabel("prediction")

# %%
# Noise + bias² + variance = error
# --------------------------------
#
# Bagging reduces the variance of trees that have almost no bias. Boosting removes most of the
# bias of stumps. The noise is the same for all of them and cannot be reduced.
terms = {
    name: hr.theory.bias_variance(model, draw=wave, n_train=60, n_repeats=15, random_state=0)
    for name, model in models.items()
}
figure, ax = plt.subplots(figsize=(7.4, 3.2), layout="constrained")
start = np.zeros(len(terms))
for part, color in (("noise", "#b8b8b8"), ("bias_squared", "#d55e00"), ("variance", "#0072b2")):
    sizes = np.array([max(getattr(term, part), 0.0) for term in terms.values()])
    ax.barh(list(terms), sizes, left=start, color=color, label=part.replace("_squared", "²"))
    start += sizes
ax.invert_yaxis()
ax.set_xlabel("expected squared error")
ax.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
print(terms["boosted stumps"])
