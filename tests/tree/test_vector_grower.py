"""Trees for all outputs against their oracle, and the promises of a `Trainer` that grows them."""

import numpy as np
import pytest

from hedgerow import _native
from hedgerow._boosting.losses import MultinomialLogLoss
from hedgerow._data.binning import own_columns
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.structure import Ensemble
from hedgerow._tree.trainer import RowSampler
from oracles.grow import category_set
from oracles.vector_grow import assert_same_splits
from tests.data.test_bundle import binned as binned_by_library
from tests.data.test_bundle import mixed_table
from tests.data.test_joint_columns import few_values, shared_and_alone

from .test_grower import (
    PARAMS,
    binned_table,
    columns_of,
    grow,
    in_both_layouts,
    make_trainer,
    random_params,
)


def grow_vector(binned, g, h, params=PARAMS, **options):
    """Grow one tree on gradients of shape (n_rows, n_outputs)."""
    n_outputs = g.shape[1]
    trainer = make_trainer(binned, params, base_score=np.zeros(n_outputs), vector=True, **options)
    (tree,) = trainer.boost_with(0, np.ascontiguousarray(g.T), np.ascontiguousarray(h.T))
    return tree


def some_gradients(rng, binned, n_outputs):
    """Gradients of which each output depends on one feature and on noise."""
    n_rows = binned.n_rows
    signal = [binned.by_column[k % len(binned.by_column)] > 5 * k for k in range(n_outputs)]
    g = rng.standard_normal((n_rows, n_outputs)) + np.stack(signal, axis=1)
    return g * rng.uniform(0.1, 10, n_outputs), rng.uniform(0.01, 0.25, (n_rows, n_outputs))


@pytest.mark.parametrize("seed", range(40))
def test_trees_have_the_oracles_splits_whatever_the_parameters(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.choice([3, 30, 200, 1200])), int(rng.integers(1, 7))
    binned = binned_table(
        rng, n_rows, n_features,
        n_categorical=int(rng.integers(0, min(n_features, 3) + 1)),
        most_bins=int(rng.choice([4, 40, 255])),
    )  # fmt: skip
    n_outputs = int(rng.choice([1, 2, 3, 4, 7, 8, 11, 20]))
    g, h = some_gradients(rng, binned, n_outputs)
    params = random_params(rng)
    tree = grow_vector(binned, g, h, params)
    assert tree.value.shape == (tree.n_nodes, n_outputs)
    assert_same_splits(tree, columns_of(binned), g, h, params)


@pytest.mark.parametrize("n_outputs", [3, 30])
def test_rows_in_one_word_agree_with_the_oracle_up_to_their_rounding(n_outputs):
    """From 4,096 rows on, half a word holds Σ|g|: a sum is right to n / 2^32 of its share."""
    rng = np.random.default_rng(1)
    binned = binned_table(rng, 5_000, 3, n_categorical=1, most_bins=60)
    g, h = some_gradients(rng, binned, n_outputs)
    params = GrowthParams(max_leaves=8, min_samples_leaf=5)
    tree = grow_vector(binned, g, h, params)
    assert_same_splits(tree, columns_of(binned), g, h, params, rtol=4e-6)


def test_a_row_that_towers_over_the_rest_does_not_blur_them():
    rng = np.random.default_rng(2)
    binned = binned_table(rng, 5_000, 3, most_bins=60)
    g, h = some_gradients(rng, binned, 2)
    g[0, 1] = 1e6
    params = GrowthParams(max_leaves=8, min_samples_leaf=5)
    assert_same_splits(
        grow_vector(binned, g, h, params), columns_of(binned), g, h, params, rtol=1e-9
    )


@pytest.mark.parametrize("seed", range(10))
def test_a_tree_for_one_output_is_the_scalar_growers(seed):
    rng = np.random.default_rng(seed)
    binned = binned_table(rng, 3_000, 5, n_categorical=2)
    g, h = some_gradients(rng, binned, 1)
    params = random_params(rng)
    vector, scalar = grow_vector(binned, g, h, params), grow(binned, g[:, 0], h[:, 0], params)
    for name in ("feature", "split_bin", "left", "missing_left", "category_bits", "count"):
        np.testing.assert_array_equal(getattr(vector, name), getattr(scalar, name))
    for name in ("value", "gain", "cover"):
        expected = getattr(scalar, name)
        size = np.abs(expected).max()
        np.testing.assert_allclose(getattr(vector, name), expected, rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("n_outputs", [3, 9])
@pytest.mark.parametrize("n_rows", [1_000, 50_000])
def test_a_tree_is_the_same_on_any_number_of_threads(n_rows, n_outputs):
    rng = np.random.default_rng(7)
    binned = binned_table(rng, n_rows, 40, n_categorical=2)
    g, h = some_gradients(rng, binned, n_outputs)
    sampled = {"row_sampler": RowSampler(binned.n_rows, 0.7), "colsample_bytree": 0.8}
    first = grow_vector(binned, g, h, **sampled)
    assert first.n_leaves > 15
    for n_threads in (2, 3, 8, 90):
        assert grow_vector(binned, g, h, n_threads=n_threads, **sampled) == first


@pytest.mark.parametrize("n_threads", [1, 40])
def test_a_small_budget_for_histograms_changes_no_tree(n_threads):
    rng = np.random.default_rng(8)
    n_rows, n_outputs = 50_000, 5
    binned = binned_table(rng, n_rows, 10)
    g, h = some_gradients(rng, binned, n_outputs)
    store = _native.GradientStore(n_rows, n_outputs, 1, vector=True)
    store.take(np.ascontiguousarray(g.T), np.ascontiguousarray(h.T))

    def grow_within(histogram_bytes):
        params = GrowthParams(max_leaves=40)
        grower = _native.VectorGrower(
            binned.by_column, binned.by_row, binned.n_bins, binned.is_categorical,
            binned.places,
            binned.width, binned.threshold_values, binned.threshold_starts,
            _native.GrowthParams(params), _native.Constraints(params), n_threads, histogram_bytes,
        )  # fmt: skip
        leaf_of_row, leaf_value = np.zeros((1, n_rows), np.uint16), np.zeros((n_outputs, 40))
        return *grower.grow(store, 0, None, 0, leaf_of_row, leaf_value), leaf_of_row, leaf_value

    roomy = grow_within(1 << 30)
    assert (roomy[0] < 0).sum() == 40
    for tight in (grow_within(1), grow_within(3 * 10 * 256 * 8 * 8)):
        assert all(np.array_equal(a, b) for a, b in zip(roomy, tight, strict=True))


@pytest.mark.parametrize("n_outputs", [2, 60, 2_000])
def test_outputs_that_are_copies_give_the_tree_of_one(n_outputs):
    """With 2,000 outputs and 70 columns a histogram has 574 MB, so that none is kept."""
    rng = np.random.default_rng(9)
    binned = binned_table(rng, 1_300, 70, n_categorical=1)
    g, h = some_gradients(rng, binned, 1)
    params = GrowthParams(max_leaves=3, min_samples_leaf=5)
    one = grow_vector(binned, g, h, params)
    many = grow_vector(binned, np.tile(g, n_outputs), np.tile(h, n_outputs), params)
    for name in ("feature", "split_bin", "missing_left", "category_bits", "count"):
        np.testing.assert_array_equal(getattr(many, name), getattr(one, name))
    np.testing.assert_array_equal(many.value, np.tile(one.value, n_outputs))
    np.testing.assert_allclose(many.gain, n_outputs * one.gain, rtol=1e-9)
    np.testing.assert_allclose(many.cover, one.cover, rtol=1e-12)


@pytest.mark.parametrize("n_rows", [300, 6_000, 60_000])
@pytest.mark.parametrize(("fraction", "options"), [(1.0, {}), (0.6, {"colsample_bytree": 0.5})])
def test_trees_are_the_same_with_and_without_shared_columns(n_rows, fraction, options):
    rng = np.random.default_rng(n_rows)
    X = mixed_table(rng, n_rows)
    shared = binned_by_library(X)
    alone = shared.with_places(own_columns(X.shape[1]))
    assert len(set(shared.places[:, 0])) < X.shape[1]
    g = rng.standard_normal((n_rows, 4)) + np.nan_to_num(X[:, [0, 5, 12, 39]])
    h = rng.uniform(0.1, 1, (n_rows, 4))
    params = GrowthParams(max_leaves=24, min_samples_leaf=3, colsample_bynode=0.7, seed=5)
    first = grow_vector(
        shared, g, h, params, n_threads=2, row_sampler=RowSampler(n_rows, fraction), **options
    )
    assert (
        grow_vector(alone, g, h, params, row_sampler=RowSampler(n_rows, fraction), **options)
        == first
    )


@pytest.mark.parametrize("n_rows", [100, 2_000, 40_000])
@pytest.mark.parametrize("n_outputs", [3, 9])
@pytest.mark.parametrize("directions", [(), (1, -1, *[0] * 8, 1, *[0] * 13)])
def test_trees_are_the_same_with_and_without_joint_columns(n_rows, n_outputs, directions):
    rng = np.random.default_rng(n_rows)
    X, y = few_values(rng, n_rows)
    shared, alone = shared_and_alone(X)
    g = rng.standard_normal((n_rows, n_outputs)) * y[:, None] + X[["x"]].to_numpy()
    h = rng.uniform(0.1, 1, (n_rows, n_outputs))
    params = GrowthParams(max_leaves=24, min_samples_leaf=3, directions=directions)
    tree = grow_vector(alone, g, h, params)
    assert tree.n_leaves > 5
    assert grow_vector(shared, g, h, params, n_threads=2) == tree


@pytest.mark.parametrize("n_rows", [1_000, 40_000])
@pytest.mark.parametrize("subsample", [1.0, 0.5, 1e-9])
def test_scores_are_the_sum_of_the_trees_in_and_out_of_the_bag(n_rows, subsample):
    rng = np.random.default_rng(9)
    binned = binned_table(rng, n_rows, 5, n_categorical=1)
    X = np.where(binned.by_column == 255, np.nan, binned.by_column).T
    y = (binned.by_column[1] // 40).astype(float)
    base = np.array([0.0, 1.0, -1.0, 0.5, 0.0, 0.0, 3.0])
    trainer = make_trainer(
        binned, target=y, loss=MultinomialLogLoss(7), base_score=base, vector=True,
        row_sampler=RowSampler(n_rows, subsample),
    )  # fmt: skip
    trees = [tree for round_ in range(5) for tree in trainer.boost(round_)]
    assert len(trees) == 5
    model = Ensemble.from_trees(trees, [0] * 5, base, 5)
    assert model.trees_per_round == 1
    np.testing.assert_array_equal(trainer.scores.T, model.predict_raw(X))


def test_one_tree_a_round_learns_all_classes():
    rng = np.random.default_rng(10)
    binned = binned_table(rng, 3_000, 4)
    y = (binned.by_column[0] > 80).astype(float) + (binned.by_column[1] > 80)
    trainer = make_trainer(
        binned,
        target=y,
        loss=MultinomialLogLoss(3),
        base_score=np.zeros(3),
        vector=True,
    )
    for round_ in range(30):
        assert len(trainer.boost(round_)) == 1
    assert (trainer.scores.argmax(axis=0) == y).mean() > 0.95


@pytest.mark.parametrize(
    ("n_rows", "tail", "in_one_word"), [(1_000, 0, False), (40_000, 0, True), (40_000, 3e3, False)]
)
def test_quantised_gradients_are_as_precise_as_their_form_promises(n_rows, tail, in_one_word):
    """The tail is an eighth of the sum: two roundings of that number itself are below a step."""
    rng = np.random.default_rng(12)
    g, h = rng.uniform(-1, 1, (9, n_rows)), rng.uniform(0.1, 1, (9, n_rows))
    g[8, 0] += tail
    store = _native.GradientStore(n_rows, 9, 2, vector=True)
    store.take(g, h)
    for k in range(9):
        errors = np.abs(store.to_float(k) - np.stack([g[k], h[k]], axis=1)).max(axis=0)
        steps = errors / [np.abs(g[k]).sum(), h[k].sum()]
        if in_one_word:
            assert (steps > 2.0**-34).all()
            assert (steps <= 2.0**-31).all()
        else:
            assert (steps <= 2.0**-53).all()


def test_categories_are_parted_along_their_main_direction():
    """Ten categories of three kinds in three dimensions: the first cut takes one kind alone."""
    kind = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
    bins = np.repeat(np.arange(10), 40)
    binned = in_both_layouts(
        bins[None].astype(np.uint8), np.array([10], np.int32), np.array([True])
    )
    g = np.array([[3.0, -1.0, -1.0], [0.0, 1.0, 0.5], [0.0, 0.8, 0.9]])[kind[bins]]
    tree = grow_vector(binned, g, np.ones_like(g), GrowthParams(max_leaves=2, cat_smooth=1.0))
    of_one_kind = frozenset(np.flatnonzero(kind == 0).tolist())
    assert category_set(tree, 0) in (of_one_kind, frozenset(range(10)) - of_one_kind)
