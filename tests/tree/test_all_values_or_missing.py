"""The split "all values | missing": values of any size go together, those of other nodes too.

In the rows where `a` is 0, x is missing or below 5, and only whether it is missing matters; larger
values are found where `a` is 1. A row of `a` = 0 with a larger x is one that no tree has seen.
"""

import numpy as np
import pytest

import hedgerow as hr

EVERY_VALUE = np.finfo(np.float64).max
BOOSTED = {"n_estimators": 3, "learning_rate": 0.5, "max_leaves": 8, "min_samples_leaf": 1}
BOOSTED |= {"subsample": 1.0, "colsample_bytree": 1.0, "reg_lambda": 1e-3}


def table(n=400):
    rng = np.random.default_rng(0)
    a = np.arange(n) % 2
    x = np.where(a == 0, rng.integers(0, 5, n), rng.integers(5, 10, n)).astype(float)
    x[(a == 0) & (rng.random(n) < 0.4)] = np.nan
    return np.stack([a.astype(float), x], axis=1), 10.0 * a + 3.0 * np.isnan(x)


MODELS = {
    "hist": hr.GradientBoostingRegressor(**BOOSTED),
    "many rows": hr.GradientBoostingRegressor(**BOOSTED),
    "vector": hr.GradientBoostingRegressor(multi_strategy="vector", **BOOSTED),
    # Both, so that equal splits on the two columns have equal gains, and the first column wins.
    "monotone": hr.GradientBoostingRegressor(monotonic_constraints=[1, 1], **BOOSTED),
    "exact": hr.GradientBoostingRegressor(splitter="exact", **BOOSTED),
    "cart": hr.DecisionTreeRegressor(max_depth=2),
    "cart over bins": hr.DecisionTreeRegressor(max_depth=2, splitter="hist"),
    "cart at random": hr.DecisionTreeRegressor(splitter="random", random_state=1),
    "forest": hr.RandomForestRegressor(n_estimators=5, max_features=None),
    "extra trees": hr.ExtraTreesRegressor(n_estimators=5, max_features=None),
}


@pytest.mark.parametrize("name", MODELS)
def test_unseen_larger_values_go_with_the_values(name):
    X, y = table(40_000 if name == "many rows" else 400)
    target = np.stack([y, -y], axis=1) if name == "vector" else y
    model = MODELS[name].fit(X, target)
    small, large, missing = model.predict([[0.0, 2.0], [0.0, 7.0], [0.0, np.nan]])
    np.testing.assert_array_equal(large, small)
    assert np.abs(missing - small).max() > 1
