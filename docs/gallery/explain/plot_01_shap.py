"""
Shapley values: from many rows to one
=====================================

The Shapley values of a row say how much each column moves its prediction away from the mean
prediction. They add up to the prediction exactly, so they can be read row by row, or all at once.
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
# They add up: the base value and a row's Shapley values make its prediction.
total = explained.base_values + explained.values.sum(axis=1)
print("largest difference:", np.abs(total - model.predict(X)).max())

# %%
# All rows
# --------
#
# A dot is a row, its colour the value of the column. High triglycerides and a high body mass index
# (bmi) raise the prediction; a high HDL cholesterol, the good one, lowers it.
hr.plot.ShapBeeswarmDisplay.from_values(explained)

# %%
# The mean size of a column's dots is its importance.
hr.plot.ShapBarDisplay.from_values(explained)

# %%
# One row
# -------
#
# The row with the highest prediction, from the base value at the bottom to the prediction at the
# top.
hr.plot.ShapWaterfallDisplay.from_values(explained, int(model.predict(X).argmax()))

# %%
# One column
# ----------
#
# Along the body mass index the effect is a step rather than a line. Where dots of one place differ
# in height, other columns have a say in what the index does. The colour is one that might.
hr.plot.ShapDependenceDisplay.from_values(explained, "bmi", color="blood pressure")
