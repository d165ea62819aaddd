"""
Shapley values of all rows and of one row
=========================================

The Shapley values of a row say how much each feature moves its prediction away from the mean
prediction. They add up to the prediction exactly, for every row.
"""

import numpy as np
from sklearn.datasets import load_diabetes

import hedgerow as hr

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
names = {
    "bp": "blood pressure",
    "s3": "HDL cholesterol",
    "s5": "log triglycerides",
    "s6": "glucose",
}
X = X.rename(columns=names)
model = hr.GradientBoostingRegressor(n_estimators=80, learning_rate=0.05).fit(X, y)
explained = hr.explain.shap_values(model, X)

# %%
# The base value and the Shapley values of a row add up to its prediction.
total = explained.base_values + explained.values.sum(axis=1)
print("largest difference:", np.abs(total - model.predict(X)).max())

# %%
# All rows
# --------
#
# Each dot is a row; its colour is the value of the feature. High triglycerides and a high body
# mass index (bmi) raise the prediction; high HDL cholesterol lowers it.
hr.plot.ShapBeeswarmDisplay.from_values(explained)

# %%
# The mean absolute Shapley value of a feature is its importance.
hr.plot.ShapBarDisplay.from_values(explained)

# %%
# One row
# -------
#
# This is the row with the highest prediction, from the base value at the bottom to the prediction
# at the top.
hr.plot.ShapWaterfallDisplay.from_values(explained, int(model.predict(X).argmax()))

# %%
# One feature
# -----------
#
# The effect of the body mass index is a step rather than a line. If dots with the same index
# differ in height, its effect depends on other features; the colour shows one candidate.
hr.plot.ShapDependenceDisplay.from_values(explained, "bmi", color="blood pressure")
