"""
Kernels: straight lines in another space
========================================

Two rings inside each other cannot be parted by a line. A kernel measures how alike two rows are
as if columns had been added, x², xy and many more; the machine's line in that space is a curve in
ours.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles, make_moons

import hedgerow as hr

circles = make_circles(n_samples=160, noise=0.1, factor=0.4, random_state=0)
moons = make_moons(n_samples=160, noise=0.2, random_state=0)

# %%
# A line is of no use for the rings. A polynomial of degree 2 is what they are: a circle is a line
# in x² and y². Moons need more bends; the radial kernel takes any shape.
kernels = {
    "linear": {"kernel": "linear"},
    "polynomial of degree 2": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 1.0},
    "radial": {"kernel": "rbf", "gamma": 1.0},
}
figure, axes = plt.subplots(2, 3, figsize=(12.6, 7.6), layout="constrained")
for row, (X, y) in zip(axes, (circles, moons), strict=True):
    for ax, (name, options) in zip(row, kernels.items(), strict=True):
        machine = hr.SVC(C=1.0, **options).fit(X, y)
        hr.plot.DecisionBoundaryDisplay.from_estimator(machine, X, y, ax=ax, legend=False)
        ax.set_title(f"{name}: {machine.score(X, y):.0%} right", fontsize="medium")

# %%
# How far a row is heard
# ----------------------
#
# ``gamma`` of the radial kernel says how fast likeness falls with distance. If it falls slowly, the
# boundary is nearly a line. If it falls fast, the boundary runs close around single rows: most of
# them are support vectors, and what is learned is the rows themselves.
figure, axes = plt.subplots(1, 3, figsize=(12.6, 4.0), layout="constrained")
X, y = moons
for ax, gamma in zip(axes, (0.05, 1.0, 60.0), strict=True):
    machine = hr.SVC(C=1.0, gamma=gamma).fit(X, y)
    hr.plot.DecisionBoundaryDisplay.from_estimator(machine, X, y, ax=ax, legend=False)
    ax.set_title(f"gamma = {gamma:g}: {sum(machine.n_support_)} support vectors", fontsize="medium")
