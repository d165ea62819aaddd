"""
Categorical features and missing values
=======================================

Categorical features need no encoding and missing values no imputation: a split divides the
categories into two sets, and learns a direction for missing values. That a value is missing is
often informative.
"""

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import hedgerow as hr

random = np.random.default_rng(0)
n_rows = 3_000
town = random.choice(["Bath", "Ely", "Hull", "Leeds", "Truro", "Wells", "York"], n_rows)
income = random.lognormal(10.0, 0.5, n_rows)
spend = 40.0 + 25.0 * np.isin(town, ["Bath", "Wells", "Truro"]) + 12.0 * np.log(income / 2e4)

# %%
# Customers who do not state their income spend less. Imputing the mean would make them look like
# customers with an average income.
unstated = random.random(n_rows) < 0.25
spend = spend - 20.0 * unstated + random.normal(0.0, 6.0, n_rows)
X = pd.DataFrame({"town": town, "income": np.where(unstated, np.nan, income)})
X_train, X_test, y_train, y_test = train_test_split(X, spend, random_state=0)

model = hr.GradientBoostingRegressor(n_estimators=100, learning_rate=0.1).fit(X_train, y_train)
print(f"R² on the test set: {model.score(X_test, y_test):.3f}")

# %%
# Each town has its own point. The point to the right of all numbers stands for missing values.
hr.plot.PartialDependenceDisplay.from_estimator(model, X_test, ["town", "income"])

# %%
# A small tree shows the splits: one divides the towns into two sets, and the splits on income say
# which way missing values go.
tree = hr.DecisionTreeRegressor(max_depth=2).fit(X_train, y_train)
hr.plot.TreeDisplay.from_estimator(tree)
