"""Shapley values: equal to their definition, summing to the score, and the same everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import hedgerow as hr
from hedgerow._tree.additive import additive_trees
from hedgerow._tree.structure import Ensemble
from hedgerow.explain._shap import shap_values
from interrupts import interrupted
from levels import printed_with_any_threads
from oracles.shap import expected, interaction_values, mixed, shapley_values
from oracles.trees import random_ensemble, random_rows, random_slopes, random_tree
from oracles.trees_alone import alone

mpl.use("Agg")
import matplotlib.pyplot as plt


def with_outputs(values: np.ndarray, n_outputs: int) -> np.ndarray:
    return values[..., np.newaxis] if n_outputs == 1 else values


def assert_as_defined(model: Any, X: Any, *, background: Any = None, pairs: bool = False) -> None:
    """Compare values, interactions and base values with the exponential-time definition."""
    trees = additive_trees(model)
    ensemble, matrix = trees.ensemble, trees.matrix(X)
    rows = None if background is None else trees.matrix(background)
    result = shap_values(model, X, background=background)
    values = with_outputs(result.values, ensemble.n_outputs)
    if pairs:
        interactions = shap_values(model, X, interactions=True, background=background)
        of_pairs = with_outputs(interactions.values, ensemble.n_outputs)
    for i, row in enumerate(matrix):

        def game(known: frozenset[int], row: np.ndarray = row) -> np.ndarray:
            if rows is None:
                return expected(ensemble, row, trees.sources, known)
            return mixed(ensemble, row, rows, trees.sources, known)

        defined = shapley_values(game, trees.n_columns)
        scale = max(1.0, np.abs(defined).max())
        np.testing.assert_allclose(values[i], defined, rtol=0, atol=1e-12 * scale)
        base = np.atleast_1d(result.base_values[i])
        np.testing.assert_allclose(base, game(frozenset()), rtol=0, atol=1e-12 * scale)
        if pairs:
            defined = interaction_values(game, trees.n_columns)
            np.testing.assert_allclose(of_pairs[i], defined, rtol=0, atol=1e-12 * scale)


def assert_additive(model: Any, X: Any, **options: Any) -> None:
    result = shap_values(model, X, **options)
    axes = (1, 2) if result.is_interactions else (1,)
    total = result.values.sum(axis=axes) + result.base_values
    scores = additive_trees(model).scores(X)
    scale = max(1.0, np.abs(scores).max())
    np.testing.assert_allclose(total.reshape(scores.shape), scores, rtol=0, atol=1e-9 * scale)


# The definition, on trees that no fit would grow.


@pytest.mark.parametrize("seed", range(6))
def test_values_are_as_defined_with_gaps_categories_and_repeated_features(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ensemble = random_ensemble(rng, [1, 2, 9, 24], 5, n_categorical=2)
    X = random_rows(rng, 5, 5, n_categorical=2, missing=0.2)
    assert_as_defined(alone(ensemble), X, pairs=True)
    assert_as_defined(alone(ensemble), X, background=random_rows(rng, 4, 5, n_categorical=2))


@pytest.mark.parametrize("vector", [False, True])
def test_values_of_several_outputs_are_as_defined(vector: bool) -> None:
    rng = np.random.default_rng(7)
    ensemble = random_ensemble(rng, [8, 5, 12, 3, 6, 2], 4, n_outputs=3, vector=vector)
    X = random_rows(rng, 3, 4)
    assert_as_defined(alone(ensemble), X, pairs=True)
    assert_as_defined(alone(ensemble), X, background=random_rows(rng, 3, 4))


def test_features_of_one_column_are_one_player() -> None:
    rng = np.random.default_rng(1)
    ensemble = random_ensemble(rng, [20, 15], 7)
    X = random_rows(rng, 4, 7)
    model = alone(ensemble, np.array([0, 1, 2, 1, 3, 2, 1]))
    assert_as_defined(model, X, pairs=True)
    assert_as_defined(model, X, background=random_rows(rng, 3, 7))


def test_a_long_chain_of_splits_is_as_defined() -> None:
    rng = np.random.default_rng(2)
    ensemble = Ensemble.from_trees([random_tree(rng, 40, 8, chain=True)], [0], [0.5], 8)
    assert_as_defined(alone(ensemble), random_rows(rng, 2, 8), pairs=True)


def test_covers_of_zero_leave_it_to_counts_and_empty_nodes_go_both_ways() -> None:
    rng = np.random.default_rng(3)
    ensemble = random_ensemble(rng, [16, 16], 5)
    empty = rng.random(ensemble.n_nodes) < 0.5
    cover = np.where(empty, 0.0, ensemble.cover)
    count = np.where(rng.random(ensemble.n_nodes) < 0.7, 0, ensemble.count)
    ensemble = replace(ensemble, cover=cover, count=count)
    assert_as_defined(alone(ensemble), random_rows(rng, 5, 5), pairs=True)


def test_linear_leaves_are_as_defined_against_a_background() -> None:
    rng = np.random.default_rng(4)
    for n_values in (1, 2):
        sizes = (7, 4, 1)  # a leaf may have slopes along columns that no node on its way tests
        trees = [random_tree(rng, n, 5, n_categorical=1, n_values=n_values) for n in sizes]
        trees = [replace(tree, slopes=random_slopes(rng, tree, 4)) for tree in trees]
        ensemble = Ensemble.from_trees(trees, [0] * 3, rng.normal(size=n_values), 5)
        X = random_rows(rng, 4, 5, n_categorical=1)
        rows = random_rows(rng, 5, 5, n_categorical=1)
        assert_as_defined(alone(ensemble), X, background=rows, pairs=True)


@pytest.mark.parametrize("n_values", [1, 3])
def test_interactions_against_a_background_are_as_defined(n_values: int) -> None:
    rng = np.random.default_rng(n_values)
    sizes = [2, 9, 15, 31]
    trees = [random_tree(rng, n, 5, n_categorical=2, n_values=n_values) for n in sizes]
    ensemble = Ensemble.from_trees(trees, [0] * 4, rng.normal(size=n_values), 5)
    X = random_rows(rng, 4, 5, n_categorical=2)
    rows = random_rows(rng, 7, 5, n_categorical=2)
    assert_as_defined(alone(ensemble), X, background=rows, pairs=True)


def test_interactions_against_a_background_add_up_to_the_values() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    model = hr.GradientBoostingRegressor(n_estimators=20, linear_leaves=True).fit(X, y)
    values = shap_values(model, X[:20], background=X[100:200]).values
    result = shap_values(model, X[:20], interactions=True, background=X[100:200])
    np.testing.assert_allclose(result.values.sum(axis=2), values, atol=1e-12)
    np.testing.assert_array_equal(result.values, result.values.transpose(0, 2, 1))
    strength = np.abs(result.values).mean(axis=0)
    np.fill_diagonal(strength, 0.0)
    assert strength.argmax() in (1, 6)
    many = model.set_params(n_jobs=3)
    again = shap_values(many, X[:20], interactions=True, background=X[100:200])
    np.testing.assert_array_equal(again.values, result.values)


def test_trees_without_a_split_add_to_the_base_value_alone() -> None:
    ensemble = random_ensemble(np.random.default_rng(0), [1, 1], 3)
    X = np.zeros((4, 3))
    for options in ({}, {"interactions": True}, {"background": X[:2]}):
        result = shap_values(alone(ensemble), X, **options)
        assert not result.values.any()
        assert np.allclose(result.base_values, ensemble.base_score + ensemble.value.sum())


@pytest.mark.parametrize("n", [150, 1000])
def test_more_players_than_a_word_has_bits(n: int) -> None:
    rng = np.random.default_rng(5)
    tree = random_tree(rng, n + 1, n, chain=True)
    feature = np.where(tree.feature >= 0, np.cumsum(tree.feature >= 0) - 1, -1).astype(np.int32)
    ensemble = Ensemble.from_trees([replace(tree, feature=feature)], [0], [0.0], n)
    X = random_rows(rng, 20, n)
    assert_additive(alone(ensemble), X)
    assert_additive(alone(ensemble), X, background=random_rows(rng, 9, n))


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    leaves=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    n_features=st.integers(1, 5),
    n_outputs=st.integers(1, 3),
    vector=st.booleans(),
    chain=st.booleans(),
    missing=st.sampled_from([0.0, 0.5, 1.0]),
    empty=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_values_of_any_trees_are_as_defined(
    seed: int,
    leaves: list[int],
    n_features: int,
    n_outputs: int,
    vector: bool,
    chain: bool,
    missing: float,
    empty: float,
) -> None:
    rng = np.random.default_rng(seed)
    options = {"n_categorical": int(rng.integers(n_features + 1)), "chain": chain}
    ensemble = random_ensemble(
        rng, leaves, n_features, n_outputs=n_outputs, vector=vector, **options
    )
    amounts = {
        name: np.where(rng.random(ensemble.n_nodes) < empty, 0, getattr(ensemble, name))
        for name in ("cover", "count")
    }
    model = alone(replace(ensemble, **amounts), rng.permutation(n_features))
    of_rows = {"n_categorical": options["n_categorical"], "missing": missing}
    X, others = (random_rows(rng, n, n_features, **of_rows) for n in (2, 3))
    assert_as_defined(model, X, pairs=True)
    assert_as_defined(model, X, background=others)


def test_deep_trees_that_test_few_features_often_add_up() -> None:
    rng = np.random.default_rng(9)
    trees = [random_tree(rng, n, 3, chain=chain) for n, chain in ((300, True), (2000, False))]
    ensemble = Ensemble.from_trees(trees, [0, 0], [0.0], 3)
    X = random_rows(rng, 50, 3)
    for options in ({}, {"interactions": True}, {"background": X[:9]}):
        assert_additive(alone(ensemble), X, **options)


def test_values_of_a_thousand_features_add_up() -> None:
    rng = np.random.default_rng(10)
    ensemble = random_ensemble(rng, [60] * 30, 1000)
    X = random_rows(rng, 20, 1000)
    assert_additive(alone(ensemble), X)
    assert_additive(alone(ensemble), X, background=X[:5])
    unused = np.setdiff1d(np.arange(1000), ensemble.feature)
    assert not shap_values(alone(ensemble), X).values[:, unused].any()


# More trees, and larger ones, than are held ready at a time.


def test_trees_that_come_sixty_times_have_sixty_times_the_values() -> None:
    rng = np.random.default_rng(11)
    trees = [random_tree(rng, 400, 40) for _ in range(8)]
    once, often = (
        Ensemble.from_trees(trees * times, [0] * 8 * times, [0.0], 40) for times in (1, 60)
    )
    X = random_rows(rng, 20, 40)
    values = shap_values(alone(once), X).values
    many = shap_values(alone(often), X).values
    np.testing.assert_allclose(many, 60.0 * values, rtol=0, atol=1e-12 * np.abs(many).max())
    assert np.array_equal(many[3:4], shap_values(alone(often), X[3:4]).values)


def test_values_of_a_tree_of_many_leaves_are_as_defined() -> None:
    rng = np.random.default_rng(12)
    ensemble = random_ensemble(rng, [9000], 5)
    X = random_rows(rng, 2, 5)
    assert_as_defined(alone(ensemble), X, background=random_rows(rng, 3, 5))
    often = Ensemble.from_trees([ensemble.tree(0)] * 20, [0] * 20, [0.0], 5)
    pairs = shap_values(alone(ensemble), X, interactions=True).values
    many = shap_values(alone(often), X, interactions=True).values
    np.testing.assert_allclose(many, 20.0 * pairs, rtol=0, atol=1e-12 * np.abs(many).max())


BIG_TREE = """
import numpy as np
import hedgerow as hr
X = np.random.default_rng(0).normal(size=(20_000, 5))
tree = hr.DecisionTreeRegressor().fit(X, X[:, 0] * X[:, 1] + np.sin(9.0 * X[:, 2]))
"""


def test_ctrl_c_ends_a_comparison_with_a_large_background() -> None:
    call = "hr.explain.shap_values(tree, X, background=X)"
    assert interrupted(BIG_TREE, call) == "True"


def test_rows_of_both_precisions_and_any_strides_have_the_same_values() -> None:
    rng = np.random.default_rng(6)
    ensemble = random_ensemble(rng, [20] * 5, 6)
    X = random_rows(rng, 40, 6).astype(np.float32)
    wide = X.astype(np.float64)
    for options in ({}, {"interactions": True}, {"background": X[:7]}):
        narrow = shap_values(alone(ensemble), X, **options).values
        assert np.array_equal(narrow, shap_values(alone(ensemble), wide, **options).values)
        turned = np.asfortranarray(wide)
        assert np.array_equal(narrow, shap_values(alone(ensemble), turned, **options).values)


def test_a_row_has_the_same_values_alone_as_among_others() -> None:
    rng = np.random.default_rng(8)
    ensemble = random_ensemble(rng, [30] * 4, 6)
    X = random_rows(rng, 300, 6)
    for options in ({}, {"interactions": True}, {"background": X[:5]}):
        together = shap_values(alone(ensemble), X, **options).values
        by_itself = shap_values(alone(ensemble), X[270:271], **options).values
        assert np.array_equal(together[270:271], by_itself)


# Models that were fitted.


def table(n_rows: int = 200) -> pd.DataFrame:
    draw = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "a": draw.normal(size=n_rows),
            "b": draw.randint(0, 5, n_rows).astype(float),
            "c": draw.choice(["u", "v", "w", "x"], n_rows),
            "d": [f"k{k}" for k in draw.randint(0, 40, n_rows)],
            "e": draw.normal(size=n_rows),
        }
    )
    frame.loc[frame.index % 6 == 0, "a"] = np.nan
    return frame


X = table()
CODES = X["c"].map({"u": 0.0, "v": 1.0, "w": 3.0, "x": 2.0}).to_numpy()
PLACES = X["d"].str[1:].astype(float).to_numpy() % 7
NUMBER = np.nan_to_num(X["a"].to_numpy()) * CODES + PLACES - X["e"].to_numpy() ** 2
THREE = np.digitize(NUMBER, [0.0, 3.0])
WEIGHTS = np.random.RandomState(1).uniform(0.1, 3.0, len(X))
FEW = X.head(3)

BOOSTED = {"n_estimators": 6, "max_leaves": 8, "max_categories": 10}
MODELS = {
    "numbers": hr.GradientBoostingRegressor(**BOOSTED).fit(X, NUMBER, WEIGHTS),
    "two classes": hr.GradientBoostingClassifier(**BOOSTED).fit(X, NUMBER > 2.0, WEIGHTS),
    "classes": hr.GradientBoostingClassifier(**BOOSTED).fit(X, THREE),
    "vector leaves": hr.GradientBoostingClassifier(multi_strategy="vector", **BOOSTED).fit(
        X, THREE
    ),
    "exact splits": hr.GradientBoostingRegressor(
        n_estimators=3, max_leaves=5, splitter="exact", max_categories=10
    ).fit(X.drop(columns="d"), NUMBER),
    "tree": hr.DecisionTreeClassifier(max_depth=4).fit(X.drop(columns="d"), THREE, WEIGHTS),
    "forest": hr.RandomForestClassifier(n_estimators=3, max_depth=4).fit(X, NUMBER > 2.0),
    "extra trees": hr.ExtraTreesRegressor(n_estimators=3, max_depth=4).fit(X, NUMBER),
    "bagging": hr.BaggingClassifier(
        hr.DecisionTreeClassifier(max_depth=3), 3, max_features=0.6, bootstrap_features=True
    ).fit(X, THREE),
    "survival": hr.GradientBoostingSurvival(**BOOSTED).fit(X, np.exp(NUMBER / 5.0)),
    "DART": hr.GradientBoostingRegressor(
        boosting="dart", drop_rate=0.5, skip_drop=0.0, **BOOSTED
    ).fit(X, NUMBER),
    "several numbers": hr.GradientBoostingRegressor(**BOOSTED).fit(
        X, np.column_stack([NUMBER, CODES])
    ),
    "several labels": hr.GradientBoostingClassifier(**BOOSTED).fit(
        X, np.column_stack([NUMBER > 2.0, CODES > 1.0])
    ),
    "forest of numbers": hr.RandomForestRegressor(n_estimators=3, max_depth=4).fit(
        X, np.column_stack([NUMBER, CODES]), WEIGHTS
    ),
    "extra trees of classes": hr.ExtraTreesClassifier(n_estimators=3, max_depth=4).fit(X, THREE),
    "bagging of numbers": hr.BaggingRegressor(hr.DecisionTreeRegressor(max_depth=3), 3).fit(
        X, NUMBER, WEIGHTS
    ),
}
for algorithm in ("SAMME", "real", "gentle", "logit"):
    for y in (NUMBER > 2.0, THREE):
        model = hr.AdaBoostClassifier(n_estimators=3, max_depth=2, algorithm=algorithm)
        MODELS[f"{algorithm} of {len(np.unique(y))}"] = model.fit(X, y, WEIGHTS)


@pytest.mark.parametrize("name", MODELS)
def test_values_of_a_fitted_model_are_as_defined(name: str) -> None:
    model = MODELS[name]
    rows = FEW[list(model.feature_names_in_)]
    others = X.iloc[10:14][list(model.feature_names_in_)]
    assert_as_defined(model, rows, pairs=True)
    assert_as_defined(model, rows, background=others)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("options", [{}, {"interactions": True}, {"background": 20}], ids=str)
def test_values_and_base_value_add_up_to_the_score(name: str, options: dict[str, Any]) -> None:
    model = MODELS[name]
    assert_additive(model, X[list(model.feature_names_in_)], **options)


def test_the_mean_of_several_models_is_as_defined() -> None:
    numbers = X[["a", "b", "e"]]
    model = hr.GradientBoostingRegressor(n_estimators="auto", budget=0.1)
    model.fit(numbers, NUMBER)
    assert model.auto_.n_members > 1
    assert_as_defined(model, numbers.head(2), pairs=True)
    assert_as_defined(model, numbers.head(2), background=numbers.iloc[5:8])


@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_a_constant_model_has_values_of_nothing() -> None:
    for model in (
        hr.GradientBoostingRegressor(**BOOSTED),
        hr.RandomForestRegressor(n_estimators=3),
    ):
        model.fit(X, np.full(len(X), 3.0))
        for options in ({}, {"interactions": True}, {"background": 5}):
            result = shap_values(model, FEW, **options)
            assert not result.values.any()
            assert np.allclose(result.base_values, 3.0)


def test_a_column_of_many_categories_is_one_column() -> None:
    assert (additive_trees(MODELS["numbers"]).sources == 3).sum() > 1
    result = shap_values(MODELS["numbers"], X)
    assert result.values.shape == (len(X), 5)
    assert np.abs(result.values[:, 3]).max() > 0.5


def test_linear_leaves_are_explained_against_a_background_only() -> None:
    numbers = X[["a", "b", "e"]]
    model = hr.GradientBoostingRegressor(linear_leaves=True, n_estimators=5, max_leaves=6)
    model.fit(numbers, NUMBER)
    with pytest.raises(hr.ParameterError, match="background=100"):
        shap_values(model, numbers)
    assert_as_defined(model, numbers.head(2), background=numbers.iloc[5:9])
    assert_additive(model, numbers, background=30)


def test_deep_forests_add_up() -> None:
    forest = hr.RandomForestRegressor(n_estimators=5).fit(X, NUMBER)
    assert_additive(forest, X)
    assert_additive(forest, X.head(20), background=20)


# What is returned.


def test_values_come_with_what_is_needed_to_show_them() -> None:
    result = shap_values(MODELS["classes"], X)
    assert result.shape == (len(X), 5, 3) == np.asarray(result).shape
    assert result.base_values.shape == (len(X), 3)
    assert result.feature_names == ("a", "b", "c", "d", "e")
    assert result.output_names == ("0", "1", "2")
    assert result.data.shape == (len(X), 5)
    assert result.data[1].tolist() == X.iloc[1].tolist()
    assert np.isnan(result.data[0, 0])
    assert repr(result).startswith("ShapValues(200 rows, 5 features; log of the probability")
    one = shap_values(MODELS["two classes"], X)
    assert one.shape == (len(X), 5)
    assert one.base_values.shape == (len(X),)
    assert "log-odds of True" in repr(one)


def test_columns_of_a_frame_may_come_in_any_order() -> None:
    turned = X[["e", "d", "c", "b", "a"]]
    result, expected_ = shap_values(MODELS["numbers"], turned), shap_values(MODELS["numbers"], X)
    assert np.array_equal(result.values, expected_.values)
    assert pd.DataFrame(result.data).equals(pd.DataFrame(expected_.data))


def test_a_number_as_background_draws_rows_of_the_table() -> None:
    model = MODELS["numbers"]
    all_rows = shap_values(model, X, background=10_000)
    assert np.array_equal(all_rows.values, shap_values(model, X, background=X).values)
    sampled = shap_values(model, X, background=30)
    assert np.array_equal(sampled.values, shap_values(model, X, background=30).values)
    assert not np.array_equal(sampled.values, all_rows.values)


def test_a_ranker_is_explained_without_its_queries() -> None:
    numbers = np.column_stack([np.repeat(np.arange(20), 10), X[["a", "b", "e"]].to_numpy()])
    model = hr.GradientBoostingRanker(qid_column=0, n_estimators=3).fit(numbers, THREE)
    result = shap_values(model, numbers)
    assert result.shape == (200, 3)
    assert np.array_equal(result.data, numbers[:, 1:], equal_nan=True)
    assert_as_defined(model, numbers[:3, 1:], pairs=True)
    assert_as_defined(model, numbers[:3, 1:], background=numbers[7:11, 1:])


def test_gaps_and_categories_that_fit_did_not_see_are_explained() -> None:
    rows = X.head(2).assign(c="never seen", d=[None, "k1"])
    result = shap_values(MODELS["numbers"], rows)
    assert result.data[:, 2:4].tolist() == [["never seen", None], ["never seen", "k1"]]
    assert_as_defined(MODELS["numbers"], rows)


# Bad input.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interactions": 1}, "interactions=1"),
        ({"background": 0}, "background=0"),
        ({"background": True}, "background=True"),
        ({"background": 2.5}, "background=2.5"),
        ({"background": "all"}, "background='all'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(hr.ParameterError, match=message):
        shap_values(MODELS["numbers"], X, **options)


def test_tables_of_other_columns_are_refused() -> None:
    with pytest.raises(hr.DataError, match="X has no column"):
        shap_values(MODELS["numbers"], X.drop(columns="a"))
    with pytest.raises(hr.DataError, match=r"background must be a table like X: .*X has no column"):
        shap_values(MODELS["numbers"], X, background=X.drop(columns="a"))
    with pytest.raises(hr.DataError, match=r"background must be a table like X: .*0 sample"):
        shap_values(MODELS["numbers"], X, background=X.head(0))


def test_the_kernel_refuses_arrays_that_do_not_fit() -> None:
    from hedgerow.explain._shap import _explainer

    model = alone(random_ensemble(np.random.default_rng(0), [4], 3))
    explainer = _explainer(model._additive_trees())
    with pytest.raises(ValueError, match="number of columns"):
        explainer.explain(np.zeros((2, 4)), None, np.zeros((2, 3, 1)), 1)
    with pytest.raises(ValueError, match="rows, players, outputs"):
        explainer.explain(np.zeros((2, 3)), None, np.zeros((3, 3, 1)), 1)
    with pytest.raises(ValueError, match="background"):
        explainer.explain(np.zeros((2, 3)), np.zeros((0, 3)), np.zeros((2, 3, 1)), 1)


# The same bytes everywhere.

EXPLAIN_AND_HASH = """
import hashlib, sys
import numpy as np
import hedgerow as hr
rng = np.random.default_rng(0)
X = rng.standard_normal((1500, 8))
X[rng.random(X.shape) < 0.05] = np.nan
X[:, 3] = rng.integers(0, 30, len(X))
y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + np.sin(X[:, 3])
shared = {"n_estimators": 8, "max_leaves": 20, "categorical_features": [3]}
shared["n_jobs"] = int(sys.argv[1])
numbers = hr.GradientBoostingRegressor(**shared).fit(X, y)
classes = hr.GradientBoostingClassifier(multi_strategy="vector", **shared)
classes.fit(X, np.digitize(y, [-0.5, 0.5]))
for model in (numbers, classes):
    for options in ({}, {"interactions": True}, {"background": 20}):
        found = hr.explain.shap_values(model, X[:700], **options)
        print(hashlib.sha256(found.values.tobytes() + found.base_values.tobytes()).hexdigest())
    for response in ("score", "prediction"):
        for method in ("rows", "cover")[: 2 if response == "score" else 1]:
            found = hr.explain.partial_dependence(
                model, X, [0, 3, (0, 1)], grid_resolution=9, response=response, method=method
            )
            print(hashlib.sha256(b"".join(r.average.tobytes() for r in found)).hexdigest())
        found = hr.explain.accumulated_effects(model, X, 0, response=response)
        print(hashlib.sha256(found.average.tobytes()).hexdigest())
    found = hr.explain.interaction_strength(model, X, [0, 1, 3], n_rows=100)
    print(hashlib.sha256(found.h2.tobytes() + found.overall.tobytes()).hexdigest())
"""


def test_explanations_are_the_same_bytes_for_any_threads_and_instruction_set() -> None:
    printed = printed_with_any_threads(EXPLAIN_AND_HASH)
    # Scores of numbers are their predictions: of nine lines for each model, two come twice.
    assert len(set(printed[0].split())) == 16
    assert len(set(printed)) == 1


def test_values_become_a_frame_and_a_picture():
    X, y = load_iris(return_X_y=True, as_frame=True)
    for target, n_outputs in ((y, 3), (y == 1, 1)):
        model = hr.GradientBoostingClassifier(n_estimators=3).fit(X, target)
        result = hr.explain.shap_values(model, X)
        frame = result.to_frame()
        assert frame.shape == (150, 4 * n_outputs)
        column = X.columns[2] if n_outputs == 1 else (X.columns[2], "1")
        assert np.array_equal(
            frame[column], result.values.reshape(150, 4, -1)[:, 2, n_outputs // 2]
        )
        assert result.plot(output=None if n_outputs == 1 else "1").get_xlabel()
        pairs = hr.explain.shap_values(model, X[:5], interactions=True).to_frame()
        assert pairs.shape == (5, 16 * n_outputs)
    plt.close("all")
