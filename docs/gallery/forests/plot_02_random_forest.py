"""
Random forests: strength, correlation and out-of-bag error
==========================================================

A forest is accurate if its trees are strong and their errors are weakly correlated; Breiman's
theorem turns the two into a bound. Since every tree leaves out about a third of the rows, a
forest can estimate its error without a validation set.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import hedgerow as hr

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, test_size=0.5)

# %%
# For the out-of-bag error, every row is predicted by the trees that did not draw it. It needs no
# further fit and is close to the test error. With few trees it is slightly higher, because only
# about a third of the trees predict a row.
sizes = [25, 50, 100, 200]
forests = [
    hr.RandomForestClassifier(n_estimators=n, oob_score=True, random_state=0).fit(X_train, y_train)
    for n in sizes
]
figure, ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
ax.plot(sizes, [1 - forest.oob_score_ for forest in forests], "o-", label="out-of-bag")
ax.plot(sizes, [1 - forest.score(X_test, y_test) for forest in forests], "s-", label="test")
ax.set(xlabel="trees", ylabel="error", xscale="log", xticks=sizes, xticklabels=sizes)
ax.minorticks_off()
ax.legend(frameon=False)

# %%
# Strength is the mean margin: the fraction of votes for the correct class minus that for the
# strongest other class. Rows with a negative margin are misclassified.
hr.plot.StrengthCorrelationDisplay.from_estimator(forests[-1], X_train, y_train)

# %%
# The fewer features a split may choose from, the less correlated the trees are, and the weaker.
# The bound, correlation × (1 - strength²) / strength², combines the two. It is far above the
# error, but the error is lowest where the bound is low.
sizes = [1, 2, 4, 8, 16, 32, 64]
bounds = []
for max_features in sizes:
    forest = hr.RandomForestClassifier(n_estimators=60, max_features=max_features, random_state=0)
    bounds.append(hr.theory.forest_bound(forest.fit(X_train, y_train), X_train, y_train))
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
for name in ("strength", "correlation", "bound"):
    axes[0].plot(sizes, [getattr(bound, name) for bound in bounds], "o-", label=name)
axes[0].legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
axes[1].plot(sizes, [bound.error for bound in bounds], "o-", color="#b5651d")
axes[1].set_ylabel("out-of-bag error")
for ax in axes:
    ax.set(xlabel="features tried at a split", xscale="log", xticks=sizes, xticklabels=sizes)
    ax.minorticks_off()
