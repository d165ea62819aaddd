"""
AdaBoost: its bound, and margins that go on growing
===================================================

If every round is right a little more often than not, the training error falls exponentially: that
is a theorem, and it can be watched. After the error is 0, rounds go on to make the votes clearer.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import hedgerow as hr

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = hr.AdaBoostClassifier(n_estimators=150).fit(X_train, y_train)

# %%
# Left, the margins of the training rows: how much of the vote is for the right class, from -1 to 1.
# A curve that is 0 left of 0 has no mistakes. From there on its left end still moves to the right:
# more rounds make the least sure rows surer. Right, the error and the bound, a product of one
# factor for each round, which is below 1 as long as a stump is better than chance.
hr.plot.MarginDisplay.from_estimator(model, X_train, y_train)

# %%
bound = hr.theory.adaboost_bound(model, X_train, y_train)
print(bound)

# %%
# Rows held out do not suffer from the rounds after the training error is 0: the margin explains why
# the larger committee is not the worse one here.
rounds = range(1, 151)
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(rounds, [1 - s for s in model.staged_score(X_train, y_train)], label="training")
ax.plot(rounds, [1 - s for s in model.staged_score(X_test, y_test)], label="held out")
ax.set(xlabel="round", ylabel="error")
ax.legend(frameon=False)
