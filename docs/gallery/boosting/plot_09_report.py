"""
One page about a model
======================

``hr.report`` writes what one wants to know of a model into one HTML file that needs no server and
no network: metrics, importances, SHAP values, partial dependence, the worst mistakes, a profile of
the data, and a what-if form. Of a classifier with two classes, its reader also chooses the decision
threshold and the costs of errors.
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
# Give it rows that the model was not fitted to: only those tell how good it is.
page = Path(tempfile.mkdtemp()) / "report.html"
hr.report(model, X_test, y_test, page)
print(f"{page.name}: {page.stat().st_size / 1024:.0f} KiB in one file")

# %%
# Two of its pictures, drawn by hand. The median of the residuals wanders around 0, by less than
# their own scatter. Body mass index (bmi) and a blood value (s5) matter most.
hr.plot.ResidualDisplay.from_estimator(model, X_test, y_test)

# %%
hr.explain.permutation_importance(model, X_test, y_test, scoring="mae").plot()
