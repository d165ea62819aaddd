"""
The widest street: hard and soft margins
========================================

A support vector machine looks for the widest street between two classes. ``C`` is the price of a
row that is on the street or on the wrong side of it: a high price makes the street narrow, a low
one accepts some rows on it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import hedgerow as hr

X, y = make_blobs(
    n_samples=[40, 40], centers=[(-1.4, -1.0), (1.4, 1.0)], cluster_std=0.9, random_state=5
)

# %%
# The line is where f is 0, dashed lines are where it is ±1, and circles are the support vectors:
# the rows that the street depends on. All others could be taken away without moving it. The width
# of the street is 2 / ‖w‖.
figure, axes = plt.subplots(1, 3, figsize=(12.6, 4.2), layout="constrained", sharey=True)
for ax, C in zip(axes, (100.0, 1.0, 0.02), strict=True):
    machine = hr.SVC(kernel="linear", C=C).fit(X, y)
    hr.plot.DecisionBoundaryDisplay.from_estimator(
        machine, X, y, ax=ax, legend="lower right" if C < 1.0 else False
    )
    width = 2.0 / (machine.coef_ @ machine.coef_.T).item() ** 0.5
    ax.set_title(f"C = {C:g}: {sum(machine.n_support_)} support vectors, width {width:.2f}")

# %%
# How close to the optimum is it? The duality gap is proof: no machine has an objective that is
# better by more than this part.
print(f"duality gap: {machine.duality_gap_.max():.1e}")
