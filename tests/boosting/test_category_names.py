"""What names of categories decide: nothing but which of equally good splits is taken."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr

N, N_CATEGORIES = 60, 12
MODELS = {
    "boosting": lambda: hr.GradientBoostingRegressor(n_estimators=5, min_samples_leaf=5),
    "tree": lambda: hr.DecisionTreeRegressor(min_samples_leaf=3),
    "forest": lambda: hr.RandomForestRegressor(n_estimators=3, min_samples_leaf=3),
}
EVERY = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


def table(codes, x, names):
    return pd.DataFrame({"c": np.array(names, object)[codes], "x": x})


@EVERY
@pytest.mark.parametrize("seed", range(3))
def test_other_names_give_the_same_model_where_no_categories_are_equal(make, seed):
    rng = np.random.default_rng(seed)
    codes, x = rng.integers(0, N_CATEGORIES, N), rng.normal(size=N)
    y = rng.normal(size=N_CATEGORIES)[codes] + rng.normal(size=N)
    names = [f"k{k:02d}" for k in range(N_CATEGORIES)]
    X, other = table(codes, x, names), table(codes, x, list(rng.permutation(names)))
    assert np.array_equal(make().fit(X, y).predict(X), make().fit(other, y).predict(other))


@EVERY
@pytest.mark.parametrize("seed", range(3))
def test_names_in_the_same_order_give_the_same_model_whatever_is_equal(make, seed):
    rng = np.random.default_rng(seed)
    codes, x = rng.integers(0, N_CATEGORIES, N), rng.normal(size=N)
    y = rng.integers(0, 2, N)
    X = table(codes, x, [f"k{k:02d}" for k in range(N_CATEGORIES)])
    other = table(codes, x, [f"{chr(97 + k)}, another name" for k in range(N_CATEGORIES)])
    assert np.array_equal(make().fit(X, y).predict(X), make().fit(other, y).predict(other))


def partner(make, order):
    """Return which of seven equal categories shares a leaf with "h", which is too small for one."""
    c = np.repeat(list("abcdefgh"), 10)[order]
    y = (c == "h").astype(float)
    model = make().set_params(min_samples_leaf=20, max_leaves=2).fit(pd.DataFrame({"c": c}), y)
    predictions = model.predict(pd.DataFrame({"c": list("abcdefgh")}))
    return [
        name
        for name, value in zip("abcdefg", predictions[:7], strict=True)
        if value == predictions[7]
    ]


@pytest.mark.parametrize(
    "make", [lambda: hr.GradientBoostingRegressor(n_estimators=1), hr.DecisionTreeRegressor]
)
def test_of_equal_categories_names_choose_and_the_order_of_rows_does_not(make):
    chosen = partner(make, np.arange(80))
    assert len(chosen) == 1
    for seed in range(5):
        assert partner(make, np.random.default_rng(seed).permutation(80)) == chosen
