"""
Kernels
=======

A line cannot separate two concentric rings. A kernel measures the similarity of two rows as if
features such as x², xy and many more had been added; a linear boundary in that space is a curve
in the original one.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles, make_moons

import hedgerow as hr

circles = make_circles(n_samples=160, noise=0.1, factor=0.4, random_state=0)
moons = make_moons(n_samples=160, noise=0.2, random_state=0)

# %%
# A linear kernel cannot separate the rings. A polynomial of degree 2 can, because a circle is
# linear in x² and y². The moons need a more flexible boundary, such as that of the RBF kernel.
kernels = {
    "linear": {"kernel": "linear"},
    "polynomial of degree 2": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 1.0},
    "RBF": {"kernel": "rbf", "gamma": 1.0},
}
figure, axes = plt.subplots(2, 3, figsize=(12.6, 7.6), layout="constrained")
for row, (X, y) in zip(axes, (circles, moons), strict=True):
    for ax, (name, options) in zip(row, kernels.items(), strict=True):
        svm = hr.SVC(C=1.0, **options).fit(X, y)
        hr.plot.DecisionBoundaryDisplay.from_estimator(svm, X, y, ax=ax, legend=False)
        ax.set_title(f"{name}: {svm.score(X, y):.0%} correct", fontsize="medium")

# %%
# The range of the RBF kernel
# ---------------------------
#
# ``gamma`` determines how fast the similarity decreases with distance. If it decreases slowly,
# the boundary is nearly a line. If it decreases fast, the boundary encloses individual rows: most
# of them are support vectors, and the model overfits.
figure, axes = plt.subplots(1, 3, figsize=(12.6, 4.0), layout="constrained")
X, y = moons
for ax, gamma in zip(axes, (0.05, 1.0, 60.0), strict=True):
    svm = hr.SVC(C=1.0, gamma=gamma).fit(X, y)
    hr.plot.DecisionBoundaryDisplay.from_estimator(svm, X, y, ax=ax, legend=False)
    ax.set_title(f"gamma = {gamma:g}: {sum(svm.n_support_)} support vectors", fontsize="medium")
