"""
Reading a tree
==============

A small tree is a model that can be read aloud. Every box is a question; rows go left where the
answer is yes. Leaves say the class of most of their rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import hedgerow as hr

X, y = load_iris(return_X_y=True, as_frame=True)
names = load_iris().target_names
y = y.map(dict(enumerate(names)))
tree = hr.DecisionTreeClassifier(max_depth=3).fit(X, y)

# %%
# The width of a line is the share of rows that take it, the bars are the classes of the rows. One
# question about petals finds all *setosa*; the others are told apart by two more.
hr.plot.TreeDisplay.from_estimator(tree)

# %%
# The same as text:
print(tree.export_text())

# %%
# Trees cut parallel to the axes
# ------------------------------
#
# Each question compares one column with one number, so every border is upright or level, whatever
# the classes look like.
petals = X[["petal length (cm)", "petal width (cm)"]]
small = hr.DecisionTreeClassifier(max_depth=3).fit(petals, y)
hr.plot.DecisionBoundaryDisplay.from_estimator(small, petals, y)

# %%
# Pruning
# -------
#
# A tree grown to the end knows the training rows by heart. Cost-complexity pruning takes subtrees
# away that do not pay for their leaves: the higher the price of a leaf, the smaller the tree.
prices = [0.0, 0.005, 0.01, 0.02, 0.05, 0.2]
models = [hr.DecisionTreeClassifier(ccp_alpha=price).fit(X, y) for price in prices]
figure, ax = plt.subplots(figsize=(6.0, 3.4), layout="constrained")
ax.plot(prices, [model.get_n_leaves() for model in models], "o-", color="#0072b2")
ax.set(xlabel="price of a leaf (ccp_alpha)", ylabel="leaves")
