"""
Categories and gaps, as they are
================================

Words need no numbers in their place, and gaps no guesses: a split may send any set of categories
one way, and learns for missing values which way is better. That a value is missing often says
something.
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
# Those who do not tell their income spend less. With a mean in the place of the gap they would look
# like people with a middle income.
silent = random.random(n_rows) < 0.25
spend = spend - 20.0 * silent + random.normal(0.0, 6.0, n_rows)
X = pd.DataFrame({"town": town, "income": np.where(silent, np.nan, income)})
X_train, X_test, y_train, y_test = train_test_split(X, spend, random_state=0)

model = hr.GradientBoostingRegressor(n_estimators=100, learning_rate=0.1).fit(X_train, y_train)
print(f"R² on rows held out: {model.score(X_test, y_test):.3f}")

# %%
# Each town has its point, and the gap one of its own, to the right of all numbers.
hr.plot.PartialDependenceDisplay.from_estimator(model, X_test, ["town", "income"])

# %%
# A tree shows how it is done: one test parts the towns into two sets, and tests of income say where
# missing values go.
tree = hr.DecisionTreeRegressor(max_depth=2).fit(X_train, y_train)
hr.plot.TreeDisplay.from_estimator(tree)
