"""
AdaBoost: the bound on its training error, and its margins
==========================================================

If the classifier of every round is slightly better than chance, the training error decreases
exponentially. Once it is 0, further rounds continue to widen the margins.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import hedgerow as hr

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = hr.AdaBoostClassifier(n_estimators=150).fit(X_train, y_train)

# %%
# On the left are the margins of the training rows: the weight of the votes for the correct class
# minus that of the others, from -1 to 1. If the curve is 0 to the left of 0, there are no
# training errors. More rounds then still move its left end to the right, and so increase the
# smallest margins. On the right are the error and its bound, a product with one factor per round,
# which is below 1 as long as a stump is better than chance.
hr.plot.MarginDisplay.from_estimator(model, X_train, y_train)

# %%
bound = hr.theory.adaboost_bound(model, X_train, y_train)
print(bound)

# %%
# The test error does not increase in the rounds after the training error has reached 0. The
# growing margins explain why more rounds do no harm here.
rounds = range(1, 151)
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(rounds, [1 - s for s in model.staged_score(X_train, y_train)], label="training")
ax.plot(rounds, [1 - s for s in model.staged_score(X_test, y_test)], label="test")
ax.set(xlabel="round", ylabel="error")
ax.legend(frameon=False)
