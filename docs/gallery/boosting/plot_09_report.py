"""
A report on a model
===================

``hr.report`` writes a single HTML file that needs neither a server nor a network: metrics,
importances, SHAP values, partial dependence, the worst mistakes, a data profile, and a what-if
form. For a binary classifier, the reader can also choose the decision threshold and the costs of
errors.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import hedgerow as hr

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = hr.GradientBoostingRegressor(n_estimators=40, learning_rate=0.05).fit(X_train, y_train)

# %%
# Pass a test set: only rows that the model was not fitted to show how good it is.
page = Path(tempfile.mkdtemp()) / "report.html"
hr.report(model, X_test, y_test, page)
print(f"{page.name}: {page.stat().st_size / 1024:.0f} KiB in one file")

# %%
# Two of its figures can also be drawn separately. The median of the residuals stays close to 0
# compared with their spread. Body mass index (bmi) and a blood value (s5) are the most important
# features.
hr.plot.ResidualDisplay.from_estimator(model, X_test, y_test)

# %%
hr.explain.permutation_importance(model, X_test, y_test, scoring="mae").plot()
