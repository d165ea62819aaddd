"""
Probabilities that keep their word
==================================

Of all days with "70 % rain", it should rain on 70 of 100. A classifier can rank rows well and
still say probabilities that are too bold or too shy. A reliability diagram shows it, and rows
held out mend it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

import hedgerow as hr

X, y = make_classification(
    n_samples=6_000, n_features=20, n_informative=8, flip_y=0.25, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, train_size=2_000)

# %%
# Far too many rounds, on labels of which a part is pure noise: the model becomes sure of what it
# has learned by heart. ``calibration="isotonic"`` holds some rows out and learns from them how
# often a score comes true.
bold = hr.GradientBoostingClassifier(n_estimators=200, learning_rate=0.2).fit(X_train, y_train)
mended = hr.GradientBoostingClassifier(
    n_estimators=200, learning_rate=0.2, calibration="isotonic", random_state=0
).fit(X_train, y_train)

# %%
# A point stands for about a tenth of the rows or more, its bar is a 95 % interval of the true
# frequency. On the left, rows said to be positive with a probability near 1 are so much less often:
# the curve is flatter than the diagonal. On the right it is near the diagonal, and most rows are
# said to be positive with about 0.1 or 0.85: no model could know which labels are noise.
figure, axes = plt.subplots(1, 2, figsize=(10.4, 5.4), layout="constrained")
for ax, model in zip(axes, (bold, mended), strict=True):
    hr.plot.CalibrationDisplay.from_estimator(model, X_test, y_test, ax=ax, strategy="quantile")

# %%
# What changes is how probabilities are written, hardly how rows are ranked: the area under the ROC
# curve stays about the same, while the log loss, which makes the bold pay, is much smaller.
for name, model in (("as it is", bold), ("calibrated", mended)):
    probability = model.predict_proba(X_test)[:, 1]
    auc, loss = roc_auc_score(y_test, probability), log_loss(y_test, probability)
    print(f"{name:<11} AUC {auc:.3f}   log loss {loss:.3f}")
