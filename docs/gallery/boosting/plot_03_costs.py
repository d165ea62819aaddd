"""
Where to draw the line: costs and thresholds
============================================

``predict`` calls a row positive from a probability of one half on. That is the cheapest rule only
if both kinds of mistakes cost the same. A tumour that is missed is worse than an alarm for
nothing.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict

import hedgerow as hr

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["mean texture", "mean smoothness", "mean symmetry", "mean fractal dimension"]]
y = y.map({0: "malignant", 1: "benign"})

# %%
# Four weak columns, so that there is something to weigh up, and probabilities from five folds, each
# by a model that has not seen the row. The classes are in alphabetical order, so the second column
# is the probability of "malignant".
model = hr.GradientBoostingClassifier(n_estimators=60, learning_rate=0.05)
probability = cross_val_predict(model, X, y, cv=5, method="predict_proba")[:, 1]

# %%
# A miss is priced ten times an alarm. The square is what ``predict`` does, the circle is the
# cheapest threshold on these rows: it accepts more alarms to find more tumours, and halves the cost
# or better.
costs = {"cost_false_positive": 1.0, "cost_false_negative": 10.0, "pos_label": "malignant"}
figure, axes = plt.subplots(1, 2, figsize=(11.4, 5.0), layout="constrained")
hr.plot.RocDisplay.from_predictions(y, probability, ax=axes[0], **costs)
hr.plot.PrecisionRecallDisplay.from_predictions(y, probability, ax=axes[1], **costs)

# %%
# For probabilities that are true, theory knows the threshold without any curve: call a row positive
# if p times the cost of a miss is more than (1 - p) times that of an alarm.
print(f"threshold in theory: {1 / (1 + 10):.3f}")
found = hr.plot.RocDisplay.from_predictions(y, probability, **costs).operation.chosen
plt.close()
print(f"cheapest threshold found: {found.threshold:.3f}, cost per row {found.cost:.3f}")
