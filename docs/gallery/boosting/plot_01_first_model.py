"""
A first model, and early stopping
=================================

Boosting adds one small tree after another. The training loss keeps falling; the validation loss
falls, reaches a minimum and rises again. Early stopping keeps the rounds up to the minimum.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import hedgerow as hr

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["mean texture", "mean smoothness", "mean symmetry", "mean fractal dimension"]]
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# ``eval_set`` takes the evaluation sets. The last one is the validation set: the fit stops when
# its metric has not improved for sixty rounds. Such a long patience shows what happens after the
# minimum.
model = hr.GradientBoostingClassifier(
    n_estimators=400, learning_rate=0.1, early_stopping=True, n_iter_no_change=60
)
eval_set = [(X_train, y_train), (X_test, y_test)]
model.fit(X_train, y_train, eval_set=eval_set, eval_names=["training", "validation"])
print("rounds kept:", model.best_iteration_)
print(f"accuracy on the validation set: {model.score(X_test, y_test):.3f}")

# %%
# The learning curve
# ------------------
#
# The difference between the two curves shows how much the model overfits. The point marks the
# best round, which is the last one that predictions use.
hr.plot.LearningCurveDisplay.from_estimator(model)

# %%
# The validation set has chosen the number of rounds, so its score is slightly optimistic. For a
# score to report, use a separate test set, or cross-validate: each fold then splits a validation
# set off its training rows.
patient = hr.GradientBoostingClassifier(n_estimators=400, learning_rate=0.1, early_stopping=True)
print(hr.cross_validate(patient, X, y))
