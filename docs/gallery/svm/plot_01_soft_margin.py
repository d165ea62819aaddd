"""
Hard and soft margins
=====================

A support vector machine finds the widest margin between two classes. ``C`` is the cost of rows
inside the margin or on the wrong side: a large ``C`` makes the margin narrow, a small one
tolerates rows inside it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import hedgerow as hr

X, y = make_blobs(
    n_samples=[40, 40], centers=[(-1.4, -1.0), (1.4, 1.0)], cluster_std=0.9, random_state=5
)

# %%
# The solid line is where f is 0, the dashed lines are where it is ±1, and circles mark the
# support vectors, the rows that determine the boundary. Removing any other row would not change
# it. The width of the margin is 2 / ‖w‖.
figure, axes = plt.subplots(1, 3, figsize=(12.6, 4.2), layout="constrained", sharey=True)
for ax, C in zip(axes, (100.0, 1.0, 0.02), strict=True):
    svm = hr.SVC(kernel="linear", C=C).fit(X, y)
    hr.plot.DecisionBoundaryDisplay.from_estimator(
        svm, X, y, ax=ax, legend="lower right" if C < 1.0 else False
    )
    width = 2.0 / (svm.coef_ @ svm.coef_.T).item() ** 0.5
    ax.set_title(f"C = {C:g}: {sum(svm.n_support_)} support vectors, width {width:.2f}")

# %%
# The relative duality gap bounds the distance from the optimum: no solution has an objective that
# is better by more than this fraction.
print(f"duality gap: {svm.duality_gap_.max():.1e}")
