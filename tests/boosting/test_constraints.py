"""Constraints as parameters: how columns are named, what is refused, what holds of the model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

import hedgerow as hr
from hedgerow import GradientBoostingClassifier, GradientBoostingRegressor, ParameterError

SPLITTERS = pytest.mark.parametrize("splitter", ["hist", "exact"])


def table(n_rows=800, seed=0):
    """Five columns, the last one of strings; y has products of features in it."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    X["kind"] = rng.choice(["red", "green", "blue", "grey", "black", "white"], n_rows)
    X = X.mask(rng.random(X.shape) < 0.05)
    a, b, c = (X[name].fillna(0) for name in "abc")
    y = a * b + np.sin(2 * c) + (X["kind"] == "red") * b + 0.3 * rng.normal(size=n_rows)
    return X, y.to_numpy()


def paths(model):
    """Give the set of features on the way to every leaf of every tree."""
    ensemble, leaf_paths = model._model.ensemble, set()
    for tree in map(ensemble.tree, range(ensemble.n_trees)):
        above = {0: frozenset()}
        for node in np.flatnonzero(tree.feature >= 0):
            for child in (tree.left[node], tree.right[node]):
                above[child] = above[node] | {int(tree.feature[node])}
        leaf_paths |= {path for node, path in above.items() if tree.feature[node] < 0}
    return leaf_paths


@SPLITTERS
@pytest.mark.parametrize(
    ("constraints", "allowed"),
    [
        ([["a", "b"]], [{0, 1}, {2, 3, 4}]),
        ([{"a", "kind"}, ("b", 2)], [{0, 4}, {1, 2}, {3}]),
        ([[0, 1, 2], np.array([2, 3, 4])], [{0, 1, 2}, {2, 3, 4}]),
        ([["a"], ["b"], ["c"], ["d"], ["kind"]], [{0}, {1}, {2}, {3}, {4}]),
        ("no_interactions", [{0}, {1}, {2}, {3}, {4}]),
        ("pairwise", [{i, j} for i in range(5) for j in range(5)]),
    ],
)
def test_the_features_of_a_path_belong_to_one_group(constraints, allowed, splitter):
    X, y = table()
    model = GradientBoostingRegressor(
        interaction_constraints=constraints, n_estimators=15, splitter=splitter
    ).fit(X, y)
    leaf_paths = paths(model)
    assert all(any(path <= group for group in allowed) for path in leaf_paths)
    assert {max(map(len, allowed))} >= {max(map(len, leaf_paths))}


@SPLITTERS
def test_groups_that_forbid_nothing_change_nothing(splitter):
    X, y = table()
    free = GradientBoostingRegressor(n_estimators=5, splitter=splitter)
    for constraints in ([], [list(X.columns)], [["a"], range(5)]):
        bound = clone(free).set_params(interaction_constraints=constraints)
        assert bound.fit(X, y)._model.ensemble == free.fit(X, y)._model.ensemble


def test_strings_say_the_same_as_the_groups_they_stand_for():
    X, y = table()
    pairs = [(i, j) for i in range(5) for j in range(i)]
    for name, groups in (("pairwise", pairs), ("no_interactions", [[i] for i in range(5)])):
        by_name, by_groups = (
            GradientBoostingRegressor(n_estimators=10, interaction_constraints=constraints).fit(
                X, y
            )
            for constraints in (name, groups)
        )
        assert by_name._model.ensemble == by_groups._model.ensemble


def test_without_interactions_a_model_is_a_sum_of_functions_of_one_feature():
    X, y = table()
    model = GradientBoostingRegressor(
        n_estimators=50, interaction_constraints="no_interactions"
    ).fit(X, y)
    both = X[["a", "b"]].to_numpy()
    corners = []
    for of_a, of_b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        corner = X.iloc[:100].copy()
        corner["a"], corner["b"] = (
            both[100:200, 0] if of_a else both[:100, 0],
            both[100:200, 1] if of_b else both[:100, 1],
        )
        corners.append(model.predict(corner))
    mixed = corners[0] - corners[1] - corners[2] + corners[3]
    np.testing.assert_allclose(mixed, 0, atol=1e-12)


def test_constrained_models_predict_as_well_as_scikit_learn_s():
    (X, y), (X_test, y_test) = table(4_000), table(4_000, seed=1)
    X, X_test = (each.drop(columns="kind") for each in (X, X_test))
    for constraints in ([[0, 1], [2, 3]], "pairwise", "no_interactions"):
        ours = GradientBoostingRegressor(n_estimators=100, interaction_constraints=constraints).fit(
            X, y
        )
        theirs = HistGradientBoostingRegressor(interaction_cst=constraints, early_stopping=False)
        with threadpool_limits(1):  # its threads spin, and wait for each other on a busy machine
            score = theirs.fit(X, y).score(X_test, y_test)
        assert ours.score(X_test, y_test) == pytest.approx(score, abs=0.02)


@SPLITTERS
def test_all_numbers_that_stand_for_a_column_are_bound_as_it_is(splitter):
    X, y = table()
    y = y + 3 * (X["kind"] == "red") + X["b"].fillna(0)
    options = {"max_categories": 2, "n_estimators": 10, "splitter": splitter}
    model = GradientBoostingRegressor(interaction_constraints=[["b", "kind"]], **options).fit(X, y)
    sources = model._model.statistics.sources
    assert sources.tolist() == [0, 1, 2, 3, 4, 4]
    leaf_paths = {frozenset(sources[list(path)].tolist()) for path in paths(model)}
    assert all(path <= {1, 4} or path <= {0, 2, 3} for path in leaf_paths)
    assert {1, 4} in leaf_paths
    without = GradientBoostingRegressor(feature_weights={"kind": 0}, **options).fit(X, y)
    assert (without.importances("split") > 0).tolist() == [True, True, True, True, False]


@SPLITTERS
def test_a_feature_of_weight_0_is_not_used(splitter):
    X, y = table()
    for feature_weights in (
        {"a": 0, "kind": 0.0},
        {0: 0, 4: 0},
        [0, 1, 1, 1, 0],
        np.array([0, 2, 2, 2, 0]),
    ):
        model = GradientBoostingRegressor(
            feature_weights=feature_weights, n_estimators=10, splitter=splitter
        ).fit(X, y)
        assert (model.importances("split") > 0).tolist() == [False, True, True, True, False]


def test_a_feature_is_used_less_the_less_it_weighs():
    X, y = table()
    used = [
        GradientBoostingRegressor(n_estimators=50, feature_weights={"a": weight})
        .fit(X, y)
        .importances("split")[0]
        for weight in (5, 1, 0.2, 0.01)
    ]
    assert used == sorted(used, reverse=True)
    assert used[0] > 1.5 * used[1] > 3 * used[3]


@SPLITTERS
def test_the_size_of_all_weights_does_not_matter(splitter):
    X, y = table()
    weights = [1, 2, 1, 0.5, 1]
    options = {"n_estimators": 10, "splitter": splitter}
    first, second, third, plain = (
        GradientBoostingRegressor(feature_weights=feature_weights, **options)
        .fit(X, y)
        ._model.ensemble
        for feature_weights in (weights, [4 * w for w in weights], [8.0] * 5, None)
    )
    assert first == second
    assert third == plain
    assert first != plain


def test_gains_in_a_model_are_unweighted():
    X, y = table()
    heavy = {"n_estimators": 1, "max_leaves": 2, "feature_weights": {"c": 1e6}}
    model = GradientBoostingRegressor(**heavy).fit(X, y)
    alone = GradientBoostingRegressor(n_estimators=1, max_leaves=2).fit(X[["c"]], y)
    assert model._model.ensemble.feature[0] == 2
    assert model._model.ensemble.gain[0] == alone._model.ensemble.gain[0]


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_min_split_gain_is_held_against_the_unweighted_gain():
    X, y = table()
    gain = GradientBoostingRegressor(n_estimators=1).fit(X, y)._model.ensemble.gain[0]
    for weight in (1e-3, 1e3):
        weights = [weight, 1, 1, 1, 1]
        for gamma, n_leaves in ((gain * 1.001, 1), (gain * 0.999, 2)):
            model = GradientBoostingRegressor(
                n_estimators=1, max_leaves=2, min_split_gain=gamma, feature_weights=weights
            )
            assert model.fit(X, y)._model.ensemble.tree(0).n_leaves == n_leaves


REFUSED = [
    ("monotonic_constraints", [1, 0], "is a list of 2 values, but X has 5 columns"),
    ("monotonic_constraints", {"z": 1}, "X has no column 'z'"),
    (
        "monotonic_constraints",
        {"a": 2},
        "gives column 'a' the value 2; it must be one of -1, 0, 1, 'inc",
    ),
    ("monotonic_constraints", {"a": "up"}, "gives column 'a' the value 'up'"),
    ("monotonic_constraints", {"a": True}, "gives column 'a' the value True"),
    ("monotonic_constraints", {"a": None}, "gives column 'a' the value None"),
    ("monotonic_constraints", {"a": [1]}, "gives column 'a' the value"),
    ("monotonic_constraints", {"a": np.nan}, "gives column 'a' the value nan"),
    ("monotonic_constraints", {"kind": 1}, "column 'kind' is categorical"),
    ("monotonic_constraints", {"a": 1, 0: 1}, "names column 'a' twice"),
    ("interaction_constraints", [["a", "z"]], "X has no column 'z'"),
    ("interaction_constraints", [[0, 5]], "index 5 is out of range; X has columns 0 to 4"),
    ("interaction_constraints", [["a"], "b"], "each group must be a list"),
    ("interaction_constraints", [3], "contains 3: each group must be a list"),
    ("interaction_constraints", [["a"], []], "has a group without columns"),
    ("interaction_constraints", [[True]], "it must contain column names or indices"),
    ("interaction_constraints", [[1.5]], "it must contain column names or indices"),
    ("feature_weights", [1, 1], "is a list of 2 values, but X has 5 columns"),
    ("feature_weights", {"z": 1}, "X has no column 'z'"),
    ("feature_weights", {"a": -1}, "gives column 'a' the weight -1; it must be a number >= 0"),
    ("feature_weights", {"a": np.nan}, "gives column 'a' the weight nan"),
    ("feature_weights", {"a": "2"}, "gives column 'a' the weight '2'"),
    ("feature_weights", {"a": 1, 0: 2}, "names column 'a' twice"),
    ("feature_weights", [0] * 5, "all 0: no feature is left"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED)
def test_what_does_not_suit_the_table_is_refused_and_nothing_is_changed(name, value, message):
    X, y = table(100)
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    before = model._model
    with pytest.raises(ParameterError, match=f"^{name}.*{message}"):
        model.set_params(**{name: value}).fit(X, y)
    assert model._model is before


def test_names_need_columns_that_have_names():
    X, y = table(100)
    model = GradientBoostingRegressor(feature_weights={"a": 2})
    with pytest.raises(ParameterError, match="columns of X have no names"):
        model.fit(X[["a", "b"]].to_numpy(), y)


def test_constraints_survive_clone_and_the_model_file(tmp_path):
    X, y = table(200)
    model = GradientBoostingClassifier(
        n_estimators=3,
        monotonic_constraints={"a": 1, 1: "decreasing"},
        interaction_constraints=[("a", "b")],
        feature_weights={"c": 0.5, 0: 2},
    )
    fitted = clone(model).fit(X, y > 0)
    fitted.save(tmp_path / "model")
    loaded = hr.load(tmp_path / "model")
    assert loaded.get_params() == fitted.get_params()
    assert loaded.fit(X, y > 0)._model.ensemble == fitted._model.ensemble


@pytest.mark.parametrize("names", [["a", "b", "c"], [1, 2, 3]])
@pytest.mark.parametrize("parameter", ["monotonic_constraints", "feature_weights"])
def test_a_series_is_matched_by_its_index(names, parameter):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 3)), columns=names)
    y = X[names[0]] - X[names[2]] + 0.1 * rng.normal(size=100)
    by_name = dict(zip(names, (1, 0, 0), strict=True))
    models = [
        hr.GradientBoostingRegressor(n_estimators=5, n_jobs=1, **{parameter: value}).fit(X, y)
        for value in (by_name, pd.Series(by_name)[::-1], pd.Series([1, 0, 0]))
    ]
    expected = models[0].predict(X)
    assert expected.std() > 0
    for model in models[1:]:
        assert np.array_equal(model.predict(X), expected)
