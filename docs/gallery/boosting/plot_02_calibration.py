"""
Calibrated probabilities
========================

It should rain on 70 of 100 days with a forecast of 70 %. A classifier can rank rows well and
still predict probabilities that are too extreme or too moderate. A reliability diagram shows
this, and calibration on a holdout corrects it.
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
# With far too many rounds and noisy labels, the model overfits and its probabilities become
# overconfident. ``calibration="isotonic"`` sets a holdout aside and learns from it which
# frequency corresponds to a score.
overconfident = hr.GradientBoostingClassifier(n_estimators=200, learning_rate=0.2).fit(
    X_train, y_train
)
calibrated = hr.GradientBoostingClassifier(
    n_estimators=200, learning_rate=0.2, calibration="isotonic", random_state=0
).fit(X_train, y_train)

# %%
# Each point stands for a tenth of the rows or more, with a 95 % interval of the true frequency.
# On the left the curve is flatter than the diagonal: rows with a predicted probability near 1 are
# positive much less often. On the right it is close to the diagonal, and most probabilities are
# about 0.1 or 0.85, because no model can know which labels are noise.
figure, axes = plt.subplots(1, 2, figsize=(10.4, 5.4), layout="constrained")
for ax, model in zip(axes, (overconfident, calibrated), strict=True):
    hr.plot.CalibrationDisplay.from_estimator(model, X_test, y_test, ax=ax, strategy="quantile")

# %%
# Calibration hardly changes how rows are ranked: the ROC AUC stays about the same. The log loss,
# which penalises overconfidence, is much smaller.
for name, model in (("uncalibrated", overconfident), ("calibrated", calibrated)):
    probability = model.predict_proba(X_test)[:, 1]
    auc, loss = roc_auc_score(y_test, probability), log_loss(y_test, probability)
    print(f"{name:<12} AUC {auc:.3f}   log loss {loss:.3f}")
