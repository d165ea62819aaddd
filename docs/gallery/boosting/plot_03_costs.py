"""
Decision thresholds and costs
=============================

``predict`` returns the positive class if its probability is at least one half. That minimises the
cost only if both kinds of errors cost the same. Missing a tumour is worse than a false alarm.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict

import hedgerow as hr

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["mean texture", "mean smoothness", "mean symmetry", "mean fractal dimension"]]
y = y.map({0: "malignant", 1: "benign"})

# %%
# The four features are weak, so that the errors differ between thresholds. The probabilities come
# from five-fold cross-validation. The classes are in alphabetical order, so the second column is
# the probability of "malignant".
model = hr.GradientBoostingClassifier(n_estimators=60, learning_rate=0.05)
probability = cross_val_predict(model, X, y, cv=5, method="predict_proba")[:, 1]

# %%
# A false negative costs ten times as much as a false positive. The square marks the threshold of
# ``predict``, the circle the threshold with the lowest cost on these rows. It accepts more false
# alarms to find more tumours, and reduces the cost by half or more.
costs = {"cost_false_positive": 1.0, "cost_false_negative": 10.0, "pos_label": "malignant"}
figure, axes = plt.subplots(1, 2, figsize=(11.4, 5.0), layout="constrained")
hr.plot.RocDisplay.from_predictions(y, probability, ax=axes[0], **costs)
hr.plot.PrecisionRecallDisplay.from_predictions(y, probability, ax=axes[1], **costs)

# %%
# If the probabilities are calibrated, the optimal threshold follows from the costs alone: predict
# the positive class if p times the cost of a false negative exceeds (1 - p) times that of a false
# positive.
print(f"theoretical threshold: {1 / (1 + 10):.3f}")
best = hr.plot.RocDisplay.from_predictions(y, probability, **costs).operation.chosen
plt.close()
print(f"best threshold on these rows: {best.threshold:.3f}, cost per row {best.cost:.3f}")
