"""
A random forest: strength, correlation and rows out of the bag
==============================================================

A forest is good if its trees are right (strength) and wrong in different ways (correlation).
Breiman's theorem makes a bound of the two. And since every tree leaves about a third of the rows
out, a forest can tell its error without any rows held out.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import hedgerow as hr

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, test_size=0.5)

# %%
# The out-of-bag error judges every row by the trees that did not draw it. It comes with the fit,
# and is close to the error on rows held out; a little above it while trees are few, for a row is
# judged by a third of them.
sizes = [25, 50, 100, 200]
forests = [
    hr.RandomForestClassifier(n_estimators=n, oob_score=True, random_state=0).fit(X_train, y_train)
    for n in sizes
]
figure, ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
ax.plot(sizes, [1 - forest.oob_score_ for forest in forests], "o-", label="out of the bag")
ax.plot(sizes, [1 - forest.score(X_test, y_test) for forest in forests], "s-", label="held out")
ax.set(xlabel="trees", ylabel="error", xscale="log", xticks=sizes, xticklabels=sizes)
ax.minorticks_off()
ax.legend(frameon=False)

# %%
# Strength is the mean margin: the votes for the right class less those for the strongest other one.
# Rows below zero are mistakes.
hr.plot.StrengthCorrelationDisplay.from_estimator(forests[-1], X_train, y_train)

# %%
# The fewer columns a split may choose from, the less alike trees are, and the weaker each of them.
# The bound, correlation × (1 - strength²) / strength², weighs the two. The error is least where the
# bound is low, although the bound itself is far above.
tried = [1, 2, 4, 8, 16, 32, 64]
bounds = []
for n_columns in tried:
    forest = hr.RandomForestClassifier(n_estimators=60, max_features=n_columns, random_state=0)
    bounds.append(hr.theory.forest_bound(forest.fit(X_train, y_train), X_train, y_train))
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
for name in ("strength", "correlation", "bound"):
    axes[0].plot(tried, [getattr(bound, name) for bound in bounds], "o-", label=name)
axes[0].legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
axes[1].plot(tried, [bound.error for bound in bounds], "o-", color="#b5651d")
axes[1].set_ylabel("out-of-bag error")
for ax in axes:
    ax.set(xlabel="columns tried at a split", xscale="log", xticks=tried, xticklabels=tried)
    ax.minorticks_off()
