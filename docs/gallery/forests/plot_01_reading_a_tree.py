"""
Reading a decision tree
=======================

A small tree can be read directly. Each inner node is a condition; rows that meet it go left. Each
leaf predicts the majority class of its training rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import hedgerow as hr

X, y = load_iris(return_X_y=True, as_frame=True)
names = load_iris().target_names
y = y.map(dict(enumerate(names)))
tree = hr.DecisionTreeClassifier(max_depth=3).fit(X, y)

# %%
# The width of a line is the fraction of rows that follow it, and the bars show the classes of the
# rows. One split on the petals separates all *setosa*; two more separate the other species.
hr.plot.TreeDisplay.from_estimator(tree)

# %%
# The same tree as text:
print(tree.export_text())

# %%
# Axis-parallel splits
# --------------------
#
# Each split compares one feature with a threshold, so all boundaries are parallel to the axes,
# whatever the shape of the classes.
petals = X[["petal length (cm)", "petal width (cm)"]]
small = hr.DecisionTreeClassifier(max_depth=3).fit(petals, y)
hr.plot.DecisionBoundaryDisplay.from_estimator(small, petals, y)

# %%
# Pruning
# -------
#
# A fully grown tree overfits. Cost-complexity pruning removes subtrees whose improvement is
# smaller than the penalty on their leaves: the larger the penalty, the smaller the tree.
alphas = [0.0, 0.005, 0.01, 0.02, 0.05, 0.2]
models = [hr.DecisionTreeClassifier(ccp_alpha=alpha).fit(X, y) for alpha in alphas]
figure, ax = plt.subplots(figsize=(6.0, 3.4), layout="constrained")
ax.plot(alphas, [model.get_n_leaves() for model in models], "o-", color="#0072b2")
ax.set(xlabel="penalty per leaf (ccp_alpha)", ylabel="leaves")
