"""Packed forests, held to the trees they were made of and to a walk of one node at a time."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow._data import intake
from hedgerow._data.binning import Binner
from hedgerow._data.outputs import TreeTarget
from hedgerow._tree.cart import BootstrapSamples, CartParams, grow_trees
from hedgerow._tree.packed import ForestPacker, PackedForest
from hedgerow._tree.structure import Ensemble
from oracles import predict as naive


def table_of(rng, n_rows, *, categories=True, missing=0.1):
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)).round(1), columns=list("abc"))
    frame[rng.random(frame.shape) < missing] = np.nan
    if categories:
        frame["d"] = pd.Categorical(rng.choice(list("uvwxyz"), n_rows))
    return frame


def grown(seed, n_rows=300, n_trees=5, n_classes=3, **options):
    """Trees over a table with gaps and categories, their packed form, and the table's matrix."""
    rng = np.random.default_rng(seed)
    _, table = intake.learn_schema(table_of(rng, n_rows))
    binner = Binner().fit(table, n_categories={3: 6})
    binned = binner.transform(table, columns_only=True)
    labels = rng.integers(n_classes, size=n_rows).astype(np.uint16)
    params = CartParams(max_features=2, seed=seed, **options)
    draws = BootstrapSamples(n_rows, seed=seed)
    trees = grow_trees(
        binned, TreeTarget.of_classes(labels, n_classes), params, draws, n_trees=n_trees
    )
    packer = ForestPacker(binner)
    packer.add(trees)
    return trees, packer.forest(), intake.as_matrix(table, binner.category_bins)


def ensemble_of(trees, n_features=4):
    n_values = trees[0].value.shape[1]
    return Ensemble.from_trees(trees, [0] * len(trees), np.zeros(n_values), n_features)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(1, 4))
def test_leaves_and_sums_are_those_of_the_trees(seed, n_classes):
    trees, forest, X = grown(seed, 80, 3, n_classes)
    forest.validate()
    rows = X[:30].astype(np.float32)
    ensemble = ensemble_of(trees)
    np.testing.assert_array_equal(forest.apply(rows), naive.apply(ensemble, rows))
    np.testing.assert_array_equal(forest.sum_values(rows), naive.predict_raw(ensemble, rows))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 8, 9, 16, 17, 300])
def test_a_row_has_its_sum_in_any_batch_and_form(dtype, n_rows):
    trees, forest, X = grown(1)
    X = X.astype(dtype)
    expected = ensemble_of(trees).predict_raw(X)
    for begin in range(0, len(X), n_rows):
        rows = X[begin : begin + n_rows]
        np.testing.assert_array_equal(forest.sum_values(rows), expected[begin : begin + n_rows])
    np.testing.assert_array_equal(forest.sum_values(np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(forest.sum_values(X[::-2]), expected[::-2])


def test_sums_are_the_same_on_any_number_of_threads():
    _, forest, X = grown(2, 5000)
    expected = forest.sum_values(X)
    for n_threads in (2, 3, 8):
        np.testing.assert_array_equal(forest.sum_values(X, n_threads=n_threads), expected)


def test_a_part_of_the_trees_gives_a_part_of_the_sum():
    trees, forest, X = grown(3)
    np.testing.assert_array_equal(
        forest.sum_values(X, first=1, last=3), ensemble_of(trees[1:3]).predict_raw(X)
    )
    first = forest.first_trees(2)
    first.validate()
    np.testing.assert_array_equal(first.sum_values(X), ensemble_of(trees[:2]).predict_raw(X))


def test_values_that_no_training_row_had_go_the_way_of_the_threshold():
    trees, forest, X = grown(4)
    rng = np.random.default_rng(4)
    other = X + rng.normal(scale=0.05, size=X.shape)
    other[:, 3] = rng.integers(-1, 9, len(X))  # categories that are no bins are missing
    ensemble = ensemble_of(trees)
    np.testing.assert_array_equal(forest.sum_values(other), naive.predict_raw(ensemble, other))


@pytest.mark.parametrize("options", [{}, {"max_leaves": 9}], ids=["to the end", "best first"])
def test_a_tree_comes_back_as_it_was(options):
    trees, forest, X = grown(5, **options)
    for index, tree in enumerate(trees):
        unpacked = forest.tree(index)
        if not options:
            for f in fields(tree):
                if f.name != "value":
                    mine, was = getattr(unpacked, f.name), getattr(tree, f.name)
                    np.testing.assert_array_equal(mine, was, err_msg=f.name)
            np.testing.assert_allclose(unpacked.value, tree.value, rtol=1e-12, atol=1e-15)
        one = ensemble_of([unpacked])
        one.validate()
        np.testing.assert_array_equal(one.predict_raw(X), ensemble_of([tree]).predict_raw(X))


def test_out_of_bag_sums_are_over_the_trees_whose_bit_is_set():
    trees, forest, X = grown(6, 203)
    rng = np.random.default_rng(6)
    out = rng.random((len(trees), len(X))) < 0.4
    bits = np.packbits(out, axis=1, bitorder="little")
    for n_threads in (1, 3):
        sums, counts = forest.sum_out_of_bag(X, bits, n_threads=n_threads)
        np.testing.assert_array_equal(counts, out.sum(axis=0))
        expected = np.zeros_like(sums)
        for tree, rows in zip(trees, out, strict=True):
            expected[rows] += ensemble_of([tree]).predict_raw(X)[rows]
        np.testing.assert_array_equal(sums, expected)


def test_it_takes_a_quarter_of_the_memory_of_a_record_a_node():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    _, table = intake.learn_schema(X)
    binner = Binner().fit(table)
    y = rng.normal(size=(20_000, 1))
    draws = BootstrapSamples(20_000)
    trees = grow_trees(
        binner.transform(table, columns_only=True),
        TreeTarget.of_numbers(y),
        CartParams("squared_error"),
        draws,
    )
    packer = ForestPacker(binner)
    packer.add(trees)
    forest = packer.forest()
    record = 64 + 8  # scikit-learn's: a record of 64 bytes, and a value
    assert sum(a.nbytes for a in forest.arrays().values()) < 0.25 * record * forest.n_nodes


BROKEN = {
    "a tree that ends too early": ("feature", lambda a: np.concatenate([[-1], a[1:]])),
    "a tree that never ends": (
        "feature",
        lambda a: np.where(np.arange(len(a)) == len(a) - 1, 0, a),
    ),
    "a feature too many": ("feature", lambda a: np.where(a == 2, 9, a)),
    "a split bin beyond all": ("split_bin", lambda a: np.full_like(a, 255)),
    "a leaf without a value": ("value", lambda a: a[:-1]),
    "an inner node without a gain": ("gain", lambda a: a[:-1]),
    "a test without a set": ("category_bits", lambda a: a[:-1]),
    "sets of seven words": ("category_bits", lambda a: a[:, :7].copy()),
    "a value that is NaN": ("value", lambda a: np.full_like(a, np.nan)),
    "an empty leaf": ("count", np.zeros_like),
    "a leaf of no weight": ("cover", np.zeros_like),
    "offsets that fall": ("tree_offset", lambda a: a[::-1].copy()),
    "offsets that stop short": ("tree_offset", lambda a: a[:-1]),
    "no trees": ("tree_offset", lambda a: a[:1]),
    "wide bins": ("split_bin", lambda a: a.astype(np.int64)),
}


@pytest.mark.parametrize("what", BROKEN)
def test_arrays_that_are_no_forest_are_refused(what):
    _, forest, _ = grown(7)
    name, damage = BROKEN[what]
    dtype = getattr(forest, name).dtype
    array = damage(getattr(forest, name))
    if what != "wide bins":
        array = np.ascontiguousarray(array, dtype)
    with pytest.raises(ValueError, match="not a forest"):
        PackedForest(**forest.arrays() | {name: array}, binner=forest.binner).validate()


def test_equal_forests_are_equal():
    assert grown(8)[1] == grown(8)[1]
    assert grown(8)[1] != grown(9)[1]
    forest = grown(8)[1]
    assert forest != replace(forest, gain=forest.gain + 1)
