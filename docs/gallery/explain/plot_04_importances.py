"""
Four kinds of feature importance
================================

Gain, permutation importance and Shapley values answer different questions. Features that contain
the same information share their importance, so each of them may seem unimportant.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import hedgerow as hr

random = np.random.default_rng(0)
n_rows = 2_000
heat = random.normal(size=n_rows)
X = pd.DataFrame(
    {
        "sensor A": heat + random.normal(0.0, 0.05, n_rows),
        "sensor B": heat + random.normal(0.0, 0.05, n_rows),
        "sensor C": heat + random.normal(0.0, 0.05, n_rows),
        "pressure": random.normal(size=n_rows),
        "serial number": random.permutation(n_rows).astype(float),
    }
)
# %%
# Three sensors measure the same heat, which has a stronger effect than the pressure. The serial
# number is noise, but it has many values to split at.
y = 1.2 * heat + X["pressure"] + random.normal(0.0, 0.8, n_rows)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = hr.GradientBoostingRegressor(n_estimators=150, learning_rate=0.1).fit(X_train, y_train)

# %%
# * *Gain* is computed from the training set. Because of overfitting, the noise has some.
# * *Permutation* shuffles one column of the test set. The noise has no importance. Each sensor
#   seems less important than the pressure, because the other two sensors replace it.
# * *Shapley values* divide the effect of the heat among the sensors.
# * *Permutation of groups* shuffles the three sensors together, which makes the heat the most
#   important.
groups = {"all sensors": ["sensor A", "sensor B", "sensor C"]}
score = {"scoring": "rmse", "n_repeats": 10}
results = {
    "gain": hr.explain.importance(model, "gain"),
    "Shapley values": hr.explain.importance(model, "shap", X=X_test),
    "permutation": hr.explain.permutation_importance(model, X_test, y_test, **score),
    "permutation of groups": hr.explain.permutation_importance(
        model, X_test, y_test, groups=groups, **score
    ),
}
figure, axes = plt.subplots(2, 2, figsize=(11.0, 5.6), layout="constrained")
for ax, (title, result) in zip(axes.flat, results.items(), strict=True):
    result.plot(ax)
    ax.set_title(title, fontsize="medium")
