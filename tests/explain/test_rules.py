"""Trees as if-then rules: every row satisfies the rule of its leaf, and no other."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow._contract import internals
from hedgerow._tree.export import Wording
from hedgerow._tree.rules import leaves_of
from hedgerow.explain import export_rules

RNG = np.random.default_rng(2)
N = 300
TABLE = pd.DataFrame(
    {
        "width": RNG.normal(size=N).round(1),
        "length": RNG.normal(size=N),
        "town": RNG.choice(["Basel", "Bern", "Chur", "Davos", "Thun"], N),
    }
)
TABLE.loc[::7, "length"] = np.nan
TABLE.loc[::11, "town"] = None
TOWN = {"Basel": 1.0, "Bern": 0.2, "Chur": -0.5, "Davos": 2.0, "Thun": -2.0}
Y = TABLE["town"].map(TOWN).fillna(0) + TABLE["width"] + TABLE["length"].isna() + RNG.normal(size=N)
CLASSES = np.digitize(Y, [-1.0, 1.0])
MODELS = {
    "tree": hr.DecisionTreeClassifier(max_depth=6).fit(TABLE, CLASSES),
    "numbers": hr.DecisionTreeRegressor(max_leaves=25, splitter="hist").fit(TABLE, Y),
    "forest": hr.ExtraTreesClassifier(n_estimators=2, max_depth=7).fit(TABLE, CLASSES),
    "boosting": hr.GradientBoostingRegressor(n_estimators=3, min_samples_leaf=3).fit(TABLE, Y),
    "adaboost": hr.AdaBoostClassifier(n_estimators=2, max_depth=3).fit(TABLE, CLASSES),
}


def holds(condition, column):
    """Whether each value of a column satisfies a condition, read naively."""
    missing = column.isna().to_numpy()
    if condition.categories is not None:
        here = column.isin(condition.categories).to_numpy()
    else:
        numbers = column.to_numpy(float)
        low = -np.inf if condition.low is None else condition.low
        high = np.inf if condition.high is None else condition.high
        here = (numbers > low) & (numbers <= high)
    return np.where(missing, condition.is_missing, here & condition.is_present)


@pytest.mark.parametrize("name", ["tree", "numbers", "forest", "boosting"])
def test_a_row_satisfies_the_rule_of_its_leaf_alone(name):
    model = MODELS[name]
    inner = internals(model).model()
    tree = inner.tree if name in ("tree", "numbers") else getattr(
        inner, "forest", getattr(inner, "ensemble", None)
    ).tree(0)  # fmt: skip
    wording = Wording(inner.schema, inner.category_bins, list(TABLE), 2, True)
    leaves = np.asarray(model.apply(TABLE)).reshape(N, -1)[:, 0]
    n_rules = 0
    for node, conditions in leaves_of(tree, wording):
        satisfied = np.ones(N, bool)
        for feature, condition in conditions.items():
            satisfied &= holds(condition, TABLE.iloc[:, feature])
        np.testing.assert_array_equal(satisfied, leaves == node)
        n_rules += 1
    assert n_rules == tree.n_leaves > 4
    assert len(export_rules(model).splitlines()) == n_rules


def test_conditions_of_a_feature_are_merged():
    x = np.arange(8.0)[:, None]
    tree = hr.DecisionTreeRegressor().fit(x, [0, 0, 5, 5, 5, 1, 1, 1])
    assert export_rules(tree, decimals=1) == (
        "if feature_0 <= 1.5 then value: [0.0] (2 rows, 25.0 %)\n"
        "if 1.5 < feature_0 <= 4.5 then value: [5.0] (3 rows, 37.5 %)\n"
        "if feature_0 > 4.5 then value: [1.0] (3 rows, 37.5 %)\n"
    )
    assert "1.50 < size <= 4.50" in export_rules(tree, feature_names=["size"])


def test_missing_values_are_mentioned_where_they_go():
    x = np.array([[1.0], [2.0], [3.0], [np.nan]])
    tree = hr.DecisionTreeRegressor(max_depth=1).fit(x, [0, 0, 0, 1])
    assert export_rules(tree).splitlines() == [
        "if feature_0 is not missing then value: [0.00] (3 rows, 75.0 %)",
        "if feature_0 is missing then value: [1.00] (1 row, 25.0 %)",
    ]
    tree = hr.DecisionTreeRegressor(max_depth=1).fit(x, [0, 0, 1, 1])
    assert export_rules(tree, show_missing=True).splitlines()[1] == (
        "if (feature_0 > 2.50 or feature_0 is missing) then value: [1.00] (2 rows, 50.0 %)"
    )


def test_a_leaf_alone_is_a_rule_without_conditions():
    leaf = hr.DecisionTreeRegressor().fit([[1.0], [1.0]], [3.0, 5.0])
    assert export_rules(leaf) == "always value: [4.00] (2 rows, 100.0 %)\n"


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_tree_has_rules(name):
    model = MODELS[name]
    rules = export_rules(model, 0 if name in ("tree", "numbers") else 1)
    said = "add " if name in ("boosting", "adaboost") else "value" if name == "numbers" else "class"
    assert all(f"then {said}" in rule for rule in rules.splitlines())
    with pytest.raises(hr.ParameterError, match=r"tree=9 is not allowed; this .* has "):
        export_rules(model, 9)


def test_what_has_no_rules_is_refused():
    with pytest.raises(hr.ParameterError, match="KNeighborsRegressor has no trees"):
        export_rules(hr.KNeighborsRegressor().fit(np.eye(9), np.arange(9)))
    with pytest.raises(hr.ParameterError, match="2 names; the tree has 3 features"):
        export_rules(MODELS["tree"], feature_names=["a", "b"])
    combined = hr.RandomForestClassifier(n_estimators=1, feature_combinations=2)
    with pytest.raises(hr.ParameterError, match="sums of columns"):
        export_rules(combined.fit(TABLE, CLASSES))
