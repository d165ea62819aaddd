"""Shapley values of trees with few tests, which come from tables if there are many rows.

The twin of a table is the walk, which is used for a few rows: a table gives the same bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow._tree.additive import additive_trees
from hedgerow._tree.structure import Ensemble
from hedgerow.explain._shap import shap_values
from levels import printed_with_any_threads
from oracles.shap import expected, shapley_values
from oracles.trees import random_ensemble, random_rows, symmetric_tree
from oracles.trees_alone import alone

FEW = 3  # rows: too few for a table, even of one test


def symmetric_ensemble(
    rng: np.random.Generator,
    depths: list[int],
    n_features: int,
    *,
    n_outputs: int = 1,
    vector: bool = False,
    **options: Any,
) -> Ensemble:
    n_values = n_outputs if vector else 1
    trees = [symmetric_tree(rng, d, n_features, n_values=n_values, **options) for d in depths]
    outputs = np.arange(len(trees)) % (1 if vector else n_outputs)
    return Ensemble.from_trees(trees, outputs, rng.normal(size=n_outputs), n_features)


def walked(model: Any, X: np.ndarray) -> np.ndarray:
    """Values of a few rows at a time."""
    blocks = [X[first : first + FEW] for first in range(0, len(X), FEW)]
    return np.concatenate([shap_values(model, block).values for block in blocks])


def assert_as_defined(model: Any, X: np.ndarray, n_rows: int) -> None:
    """Compare with the definition if each row comes so often that there are n_rows rows."""
    trees = additive_trees(model)
    often = np.tile(X, (-(-n_rows // len(X)), 1))
    values = shap_values(model, often).values.reshape(len(often), trees.n_columns, -1)
    for i, row in enumerate(X):

        def game(known: frozenset[int], row: np.ndarray = row) -> np.ndarray:
            return expected(trees.ensemble, row, trees.sources, known)

        defined = shapley_values(game, trees.n_columns)
        scale = max(1.0, np.abs(defined).max())
        np.testing.assert_allclose(values[i], defined, rtol=0, atol=1e-12 * scale)
        assert np.array_equal(
            values[i :: len(X)], np.broadcast_to(values[i], values[i :: len(X)].shape)
        )


@pytest.mark.parametrize("seed", range(4))
def test_values_of_symmetric_trees_are_as_defined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ensemble = symmetric_ensemble(rng, [0, 1, 3, 5, 6], 5, n_categorical=2)
    X = random_rows(rng, 5, 5, n_categorical=2, missing=0.2)
    assert_as_defined(alone(ensemble), X, 200)


@pytest.mark.parametrize("vector", [False, True])
def test_values_of_several_outputs_are_as_defined(vector: bool) -> None:
    rng = np.random.default_rng(7)
    ensemble = symmetric_ensemble(rng, [3, 5, 4, 2, 6], 4, n_outputs=3, vector=vector)
    assert_as_defined(alone(ensemble), random_rows(rng, 4, 4), 200)


def test_features_of_one_column_are_one_player() -> None:
    rng = np.random.default_rng(1)
    model = alone(symmetric_ensemble(rng, [6, 6], 7), np.array([0, 1, 2, 1, 3, 2, 1]))
    assert_as_defined(model, random_rows(rng, 4, 7), 200)


def test_values_of_small_trees_that_are_not_symmetric_are_as_defined() -> None:
    rng = np.random.default_rng(2)
    ensemble = random_ensemble(rng, [2, 5, 8, 7], 5, n_categorical=1)
    assert_as_defined(alone(ensemble), random_rows(rng, 5, 5, n_categorical=1), 300)
    ensemble = random_ensemble(rng, [40, 60], 5, n_categorical=1, n_tests=7)
    assert_as_defined(alone(ensemble), random_rows(rng, 5, 5, n_categorical=1), 300)


def test_values_of_a_table_add_up_to_the_score() -> None:
    rng = np.random.default_rng(3)
    model = alone(symmetric_ensemble(rng, [8] * 30, 20, n_categorical=3))
    X = random_rows(rng, 1000, 20, n_categorical=3)
    result = shap_values(model, X)
    scores = additive_trees(model).scores(X)[:, 0]
    np.testing.assert_allclose(result.values.sum(axis=1) + result.base_values, scores, atol=1e-10)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    depths=st.lists(st.integers(0, 7), min_size=1, max_size=5),
    small=st.lists(st.integers(1, 10), max_size=3),
    n_features=st.integers(1, 9),
    n_outputs=st.integers(1, 3),
    vector=st.booleans(),
    n_rows=st.integers(1, 400),
)
def test_tables_give_the_bytes_of_the_walk(
    seed: int,
    depths: list[int],
    small: list[int],
    n_features: int,
    n_outputs: int,
    vector: bool,
    n_rows: int,
) -> None:
    rng = np.random.default_rng(seed)
    n_categorical = int(rng.integers(n_features + 1))
    options = {"n_values": n_outputs if vector else 1, "n_categorical": n_categorical}
    trees = [symmetric_tree(rng, depth, n_features, **options) for depth in depths]
    if small:
        other = random_ensemble(
            rng, small, n_features, n_outputs=n_outputs, vector=vector, n_categorical=n_categorical
        )
        trees += [other.tree(t) for t in range(other.n_trees)]
    outputs = rng.integers(1 if vector else n_outputs, size=len(trees))
    ensemble = Ensemble.from_trees(trees, outputs, rng.normal(size=n_outputs), n_features)
    model = alone(ensemble, rng.permutation(n_features))
    X = random_rows(rng, n_rows, n_features, n_categorical=n_categorical, missing=0.2)
    assert np.array_equal(shap_values(model, X).values, walked(model, X))


@pytest.mark.parametrize("depth", [4, 8, 9, 12, 13])
def test_numbers_of_rows_about_the_least_for_a_table_and_trees_of_too_many_tests(
    depth: int,
) -> None:
    rng = np.random.default_rng(depth)
    tree = symmetric_tree(rng, depth, 20)
    model = alone(Ensemble.from_trees([tree], [0], [0.0], 20))
    X = random_rows(rng, min(2 * 2**depth, 8192), 20)
    values = shap_values(model, X).values
    assert np.array_equal(values[:-1], shap_values(model, X[:-1]).values)
    assert np.array_equal(values[-9:], walked(model, X[-9:]))


def test_more_tables_than_are_stored_at_a_time() -> None:
    rng = np.random.default_rng(5)
    model = alone(symmetric_ensemble(rng, [6] * 60, 8, n_outputs=400, vector=True))
    X = random_rows(rng, 130, 8)
    assert np.array_equal(shap_values(model, X).values[-FEW:], walked(model, X[-FEW:]))


def test_rows_of_both_precisions_and_any_strides_have_the_same_values() -> None:
    rng = np.random.default_rng(6)
    model = alone(symmetric_ensemble(rng, [5] * 4, 6))
    X = random_rows(rng, 300, 6).astype(np.float32)
    values = shap_values(model, X).values
    for other in (X.astype(np.float64), np.asfortranarray(X)):
        assert np.array_equal(values, shap_values(model, other).values)


def test_the_mean_of_several_symmetric_models_has_the_bytes_of_the_walk() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 5))
    y = X[:, 0] * X[:, 1] + rng.normal(size=400)
    model = hr.GradientBoostingRegressor(n_estimators="auto", grow_policy="symmetric", budget=0.1)
    model.fit(X, y, rng.uniform(0.1, 3.0, 400))
    assert np.array_equal(shap_values(model, X).values, walked(model, X))


EXPLAIN_AND_HASH = """
import hashlib, sys
import numpy as np
import hedgerow as hr
rng = np.random.default_rng(0)
X = rng.standard_normal((1500, 8))
X[rng.random(X.shape) < 0.05] = np.nan
X[:, 3] = rng.integers(0, 30, len(X))
y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + np.sin(X[:, 3])
shared = {"n_estimators": 8, "grow_policy": "symmetric", "categorical_features": [3]}
shared["n_jobs"] = int(sys.argv[1])
numbers = hr.GradientBoostingRegressor(**shared, max_depth=5).fit(X, y)
classes = hr.GradientBoostingClassifier(**shared, max_depth=4).fit(X, np.digitize(y, [-0.5, 0.5]))
for model in (numbers, classes):
    found = hr.explain.shap_values(model, X)
    print(hashlib.sha256(found.values.tobytes() + found.base_values.tobytes()).hexdigest())
"""


def test_values_are_the_same_bytes_for_any_threads_and_instruction_set() -> None:
    printed = printed_with_any_threads(EXPLAIN_AND_HASH)
    assert len(set(printed[0].split())) == 2
    assert len(set(printed)) == 1


def test_threads_divide_the_rows_and_not_the_sums() -> None:
    rng = np.random.default_rng(9)
    ensemble = symmetric_ensemble(rng, [6] * 20, 9, n_categorical=2)
    X = random_rows(rng, 1000, 9, n_categorical=2)
    one, *others = (shap_values(alone(ensemble, n_threads=n), X).values for n in (1, 2, 3))
    assert all(np.array_equal(one, other) for other in others)
