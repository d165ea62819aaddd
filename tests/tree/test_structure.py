"""Trees as arrays: joining, cutting, comparing, and refusing what is not a tree."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from hedgerow._tree.structure import Ensemble
from oracles.trees import random_ensemble, random_rows, random_tree


@pytest.fixture
def ensemble():
    return random_ensemble(
        np.random.default_rng(0), [5, 1, 20, 63], 4, n_categorical=1, n_outputs=2
    )


def test_joined_trees_come_back_one_by_one(ensemble):
    rng = np.random.default_rng(1)
    trees = [random_tree(rng, n, 4, n_categorical=2) for n in (7, 1, 30)]
    joined = Ensemble.from_trees(trees, [0, 1, 0], [0.5, 0.25], 4)
    joined.validate()
    assert joined.n_leaves == 38
    for i, tree in enumerate(trees):
        back = joined.tree(i)
        for name in ("feature", "threshold", "left", "right", "value", "count"):
            np.testing.assert_array_equal(getattr(back, name), getattr(tree, name))
        inner = tree.category_set >= 0
        np.testing.assert_array_equal(
            back.category_bits[back.category_set[inner]],
            tree.category_bits[tree.category_set[inner]],
        )


def test_an_ensemble_may_have_no_trees():
    empty = Ensemble.from_trees([], [], [1.5], 3)
    empty.validate()
    np.testing.assert_array_equal(empty.predict_raw(np.zeros((4, 3))), np.full((4, 1), 1.5))
    assert empty.apply(np.zeros((4, 3))).shape == (4, 0)
    assert list(empty.staged_raw(np.zeros((4, 3)))) == []


def test_the_first_rounds_are_an_ensemble_of_their_own(ensemble):
    first = ensemble.first_rounds(1)
    first.validate()
    assert (first.n_trees, first.n_rounds) == (2, 1)
    assert ensemble.first_rounds(2) == ensemble
    assert ensemble.first_rounds(0).n_nodes == 0


def test_equality_is_by_content(ensemble):
    value = ensemble.value.copy()
    same = replace(ensemble, value=value)
    assert same == ensemble
    value[3] += 1e-9
    assert replace(ensemble, value=value) != ensemble
    assert replace(ensemble, n_features=5) != ensemble
    assert ensemble != ensemble.tree(0)


def test_a_model_that_has_predicted_pickles_and_still_predicts(ensemble):
    X = random_rows(np.random.default_rng(3), 50, 4, n_categorical=1)
    scores = ensemble.predict_raw(X)
    back = pickle.loads(pickle.dumps(ensemble))
    assert back == ensemble
    np.testing.assert_array_equal(back.predict_raw(X), scores)


def test_the_repr_says_how_large_it_is(ensemble):
    assert repr(ensemble) == "Ensemble(4 trees, 89 leaves, 4 features, 2 outputs)"
    assert repr(ensemble.tree(0)) == "Tree(5 leaves, 9 nodes)"


def test_a_tree_from_a_model_has_no_bins_to_be_added_by(ensemble):
    with pytest.raises(ValueError, match="have no bins"):
        ensemble.tree(0).add_binned(np.zeros((4, 3), dtype=np.uint8), np.zeros(3))


def changed(ensemble, name, index, number):
    array = getattr(ensemble, name).copy()
    array[index] = number
    return replace(ensemble, **{name: array})


LEAF, INNER = 8, 0  # of the first tree, of nine nodes


@pytest.mark.parametrize(
    ("name", "index", "number", "reason"),
    [
        ("feature", INNER, 4, "feature is out of range"),
        ("feature", INNER, -2, "feature is out of range"),
        ("feature", LEAF, 0, "a child does not come after its parent"),
        ("feature", INNER, -1, "is set in a leaf"),
        ("left", INNER, 0, "a child does not come after its parent"),
        ("left", INNER, -5, "a child does not come after its parent"),
        ("right", INNER, 9, "a child is outside its tree"),
        ("right", INNER, 2**31 - 1, "a child is outside its tree"),
        ("left", INNER, 8, "exactly one parent"),
        ("left", LEAF, 3, "left is set in a leaf"),
        ("threshold", LEAF, 1.0, "threshold is set"),
        ("threshold", INNER, np.inf, "threshold has a number that is not finite"),
        ("value", LEAF, np.nan, "value has a number that is not finite"),
        ("base_score", 0, -np.inf, "base_score has a number that is not finite"),
        ("gain", LEAF, 1.0, "gain is set in a leaf"),
        ("count", LEAF, -1, "count is negative"),
        ("category_set", INNER, 10**6, "category_set is out of range"),
        ("category_set", LEAF, 0, "category_set is set in a leaf"),
        ("tree_output", 1, 2, "tree_output is out of range"),
        ("tree_output", 1, -1, "tree_output is out of range"),
        ("tree_offset", 0, 1, "tree_offset does not begin"),
        ("tree_offset", -1, 5, "tree_offset does not end"),
        ("tree_offset", 1, 10, "a tree has no node"),
        ("tree_offset", 1, 2**63 - 1, "tree_offset is out of range"),
        ("tree_offset", 1, -(2**63), "tree_offset is out of range"),
        ("tree_offset", 1, 4, ""),
    ],
)
def test_validate_gives_the_reason(ensemble, name, index, number, reason):
    ensemble.validate()
    with pytest.raises(ValueError, match=f"not an ensemble of trees: .*{reason}"):
        changed(ensemble, name, index, number).validate()


@pytest.mark.parametrize(
    "change",
    [
        {"feature": np.zeros(3, dtype=np.int32)},
        {"feature": [0, 1, 2]},
        {"threshold": np.zeros(178, dtype=np.float32)},
        {"value": np.zeros((174, 2))},
        {"value": np.zeros(174)},
        {"category_bits": np.zeros((100, 4), dtype=np.uint32)},
        {"tree_offset": np.zeros(0, dtype=np.int64)},
        {"tree_output": np.zeros(3, dtype=np.int32)},
        {"base_score": np.zeros(0)},
        {"base_score": np.zeros(4)[::2]},
        {"n_features": 0},
    ],
)
def test_validate_refuses_arrays_of_another_type_or_shape(ensemble, change):
    with pytest.raises(ValueError, match="not an ensemble of trees"):
        replace(ensemble, **change).validate()


def test_validate_refuses_every_swap_of_children_between_trees():
    rng = np.random.default_rng(4)
    ensemble = random_ensemble(rng, [8, 8], 3)
    inner = np.flatnonzero(ensemble.feature >= 0)
    for node in inner:
        for child in range(-1, 16):
            if child not in (ensemble.left[node], ensemble.right[node]):
                with pytest.raises(ValueError, match="not an ensemble"):
                    changed(ensemble, "left", node, child).validate()
