"""
A first model, and when to stop
===============================

Boosting adds one small tree after another. The training error keeps falling; the error on rows
that the trees have not seen falls, turns, and rises again. Early stopping keeps the rounds before
the turn.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import hedgerow as hr

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["mean texture", "mean smoothness", "mean symmetry", "mean fractal dimension"]]
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# Rows to watch are given as ``eval_set``. The last of them decides when to stop: after sixty rounds
# in a row that were no better than the best one. That is patient, to see what comes after the turn.
model = hr.GradientBoostingClassifier(
    n_estimators=400, learning_rate=0.1, early_stopping=True, n_iter_no_change=60
)
watched = [(X_train, y_train), (X_test, y_test)]
model.fit(X_train, y_train, eval_set=watched, eval_names=["training", "held out"])
print("rounds kept:", model.best_iteration_)
print(f"accuracy on the rows watched: {model.score(X_test, y_test):.3f}")

# %%
# The learning curve
# ------------------
#
# The gap between the two curves is what the trees have learned by heart. The point is the round
# that predictions use.
hr.plot.LearningCurveDisplay.from_estimator(model)

# %%
# The rows that chose the round have been looked at, so their score is a little too good. For a
# figure to report, keep a third part, or cross-validate: there every fold stops by rows of its own.
patient = hr.GradientBoostingClassifier(n_estimators=400, learning_rate=0.1, early_stopping=True)
print(hr.cross_validate(patient, X, y))
