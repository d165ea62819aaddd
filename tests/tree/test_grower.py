"""The histogram engine against the float64 oracle, and the promises of `Trainer`."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hedgerow import _native
from hedgerow._boosting.losses import MultinomialLogLoss, SquaredError
from hedgerow._data.binning import BinnedMatrix, block_shape, own_columns
from hedgerow._tree.engine import ExactEngine, HistogramEngine
from hedgerow._tree.exact import ExactGrower
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.structure import Ensemble
from hedgerow._tree.trainer import RowSampler, Trainer
from oracles.grow import Columns, assert_same_splits, category_set
from oracles.random_numbers import features_of_nodes

PARAMS = GrowthParams(max_leaves=31, min_samples_leaf=5)


def binned_table(rng, n_rows, n_features, *, n_categorical=0, most_bins=255, missing=0.1):
    """Give random bins in both layouts; thresholds are the bin numbers, so x = bin."""
    by_column = np.empty((n_features, n_rows), np.uint8)
    n_bins = rng.integers(2, most_bins + 1, n_features).astype(np.int32)
    for f in range(n_features):
        by_column[f] = rng.integers(0, n_bins[f], n_rows)
        if rng.random() < 0.6:
            by_column[f, rng.random(n_rows) < missing] = 255
    return in_both_layouts(by_column, n_bins, np.arange(n_features) < n_categorical)


def in_both_layouts(by_column, n_bins, is_categorical):
    n_features, n_rows = by_column.shape
    width, stride = block_shape(n_features)
    n_blocks = -(-n_features // width)
    memory = np.zeros(n_blocks * n_rows * stride + 64, np.uint8)
    by_row = memory[:-64].reshape(n_blocks, n_rows, stride)
    for f in range(n_features):
        by_row[f // width, :, f % width] = by_column[f]
    sizes = np.where(is_categorical, 0, n_bins - 1)
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    values = np.concatenate([np.arange(size, dtype=np.float64) for size in sizes])
    features = (n_bins, is_categorical, values, starts, own_columns(n_features))
    return BinnedMatrix(by_column, by_row, width, *features)


def make_trainer(
    binned, params=PARAMS, target=None, weights=None, colsample_bytree=1.0, vector=False, **options
):
    params = replace(params, colsample_bytree=colsample_bytree)
    target = np.zeros(binned.n_rows) if target is None else target
    base_score, n_threads = options.pop("base_score", np.zeros(1)), options.get("n_threads", 1)
    engine = HistogramEngine(binned, params, base_score, vector=vector, n_threads=n_threads)
    return Trainer(engine, target, weights, params=params, **({"loss": SquaredError()} | options))


def grow(binned, g, h, params=PARAMS, **options):
    trainer = make_trainer(binned, params, **options)
    (tree,) = trainer.boost_with(0, g[None], h[None])
    return tree


def columns_of(binned):
    return Columns.from_bins(binned.by_column, binned.n_bins, binned.is_categorical)


def random_params(rng):
    return GrowthParams(
        max_leaves=int(rng.choice([0, 2, 8, 31])),
        max_depth=int(rng.choice([0, 1, 3, 6])),
        min_samples_leaf=int(rng.choice([1, 5, 20])),
        min_child_weight=float(rng.choice([0, 1e-3, 1])),
        reg_lambda=float(rng.choice([0, 1, 10])),
        reg_alpha=float(rng.choice([0, 0, 0.5])),
        min_split_gain=float(rng.choice([0, 0, 0.3])),
        max_delta_step=float(rng.choice([0, 0, 0.7])),
        min_category_weight=float(rng.choice([0, 0.7, 2.5])),
        grow_policy=str(rng.choice(["leafwise", "levelwise"])),
    )


@pytest.mark.parametrize("seed", range(60))
def test_trees_have_the_oracles_splits_whatever_the_parameters(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.choice([3, 30, 200, 1500])), int(rng.integers(1, 9))
    binned = binned_table(
        rng, n_rows, n_features,
        n_categorical=int(rng.integers(0, min(n_features, 3) + 1)),
        most_bins=int(rng.choice([4, 40, 255])),
    )  # fmt: skip
    g, h = rng.standard_normal(n_rows) + (binned.by_column[0] > 5), rng.uniform(0.01, 0.25, n_rows)
    params = random_params(rng)
    assert_same_splits(grow(binned, g, h, params), columns_of(binned), g, h, params)


@pytest.mark.parametrize("n_bins", [249, 250, 255])
@pytest.mark.parametrize("seed", range(4))
def test_missing_values_are_counted_once_in_columns_of_all_bins(seed, n_bins):
    # A scan reads past the last bin, where the missing values are.
    rng = np.random.default_rng(seed)
    column = rng.integers(0, n_bins, 1000).astype(np.uint8)
    column[rng.random(1000) < rng.uniform(0.05, 0.6)] = 255
    binned = in_both_layouts(column[None], np.array([n_bins], np.int32), np.zeros(1, bool))
    g = rng.standard_normal(1000) + rng.random() * ((column < 100) | (column == 255))
    params = GrowthParams(max_leaves=2)
    tree = grow(binned, g, np.ones(1000), params)
    assert_same_splits(tree, columns_of(binned), g, np.ones(1000), params)


def nearly_constant(binned, rng, features, n_others):
    """Give the table with all but so many rows of some features in one bin."""
    by_column = binned.by_column.copy()
    for f in features:
        bin_of_most = int(rng.choice([0, binned.n_bins[f] - 1, 255]))
        others = rng.permutation(binned.n_rows)[:n_others]
        kept = by_column[f, others]
        by_column[f] = bin_of_most
        by_column[f, others] = np.where(kept == bin_of_most, (bin_of_most + 1) % 2, kept)
    return in_both_layouts(by_column, binned.n_bins, binned.is_categorical)


@pytest.mark.parametrize("n_rows", [300, 3_000])
@pytest.mark.parametrize("n_others", [0, 19, 20, 21])
def test_nearly_constant_columns_have_the_oracles_splits(n_rows, n_others):
    # They are left out of histograms if the rows outside one bin are too few for a leaf.
    rng = np.random.default_rng(n_others)
    table = binned_table(rng, n_rows, 8, n_categorical=2, most_bins=40, missing=0.0)
    binned = nearly_constant(table, rng, [0, 2, 3, 6], n_others)
    apart = [
        (binned.by_column[f] != np.bincount(binned.by_column[f]).argmax()) for f in (0, 2, 3, 6)
    ]
    g = rng.standard_normal(n_rows) - 5.0 * np.any(apart, axis=0)
    h = np.ones(n_rows)
    params = GrowthParams(max_leaves=8, min_samples_leaf=20, min_category_weight=0.0)
    tree = grow(binned, g, h, params)
    assert_same_splits(tree, columns_of(binned), g, h, params)
    assert bool({0, 2, 3, 6} & set(tree.feature.tolist())) == (n_others >= 20)


@pytest.mark.parametrize("colsample", [0.3, 1.0])
def test_a_tree_of_constant_columns_is_a_leaf_of_all_rows(colsample):
    by_column = np.full((5, 100), 255, np.uint8)
    by_column[:3] = 0
    binned = in_both_layouts(by_column, np.full(5, 3, np.int32), np.zeros(5, bool))
    g, h = np.arange(100.0), np.ones(100)
    tree = grow(binned, g, h, GrowthParams(reg_lambda=1.0), colsample_bytree=colsample)
    assert tree.feature.tolist() == [-1]
    assert tree.count.tolist() == [100]
    assert tree.value[0] == pytest.approx(-0.1 * g.sum() / 101.0, rel=1e-12)


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(lambda rng, n: rng.lognormal(0, 3, n), id="lognormal, sigma 3"),
        pytest.param(lambda rng, n: rng.standard_cauchy(n), id="Cauchy"),
        pytest.param(lambda rng, n: np.where(rng.random(n) < 1e-3, 1e6, 1.0) * rng.normal(size=n),
                     id="a few a million times the rest"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("n_rows", [3_000, 40_000])
def test_heavy_tailed_targets_do_not_change_the_splits(target, n_rows):
    rng = np.random.default_rng(4)
    binned = binned_table(rng, n_rows, 4)
    g, h = -target(rng, n_rows), np.ones(n_rows)
    for params in (PARAMS, GrowthParams(max_leaves=0, max_depth=5, grow_policy="levelwise")):
        assert_same_splits(grow(binned, g, h, params), columns_of(binned), g, h, params)


@pytest.mark.parametrize("reg_lambda", [0.0, 1.0])
@pytest.mark.parametrize("n_rows", [3_000, 40_000])
def test_weights_over_ten_decades_do_not_change_the_splits(n_rows, reg_lambda):
    rng = np.random.default_rng(5)
    binned = binned_table(rng, n_rows, 6)
    weights = 10.0 ** rng.uniform(-10, 0, n_rows)
    g, h = weights * (rng.standard_normal(n_rows) + (binned.by_column[1] > 60)), weights
    params = GrowthParams(max_leaves=31, min_samples_leaf=5, reg_lambda=reg_lambda)
    assert_same_splits(grow(binned, g, h, params), columns_of(binned), g, h, params, rtol=1e-7)


def test_packed_gradients_agree_with_the_oracle_up_to_their_rounding():
    """Many well-behaved rows are packed in 14 bits a gradient: gains are right to 1e-4."""
    rng = np.random.default_rng(6)
    n_rows = 40_000
    binned = binned_table(rng, n_rows, 4, n_categorical=1)
    p = 1 / (
        1 + np.exp(-0.02 * (binned.by_column[2].astype(float) - 100) - rng.normal(size=n_rows))
    )
    g, h = p - (rng.random(n_rows) < p), p * (1 - p)
    assert_same_splits(grow(binned, g, h), columns_of(binned), g, h, PARAMS, rtol=1e-4)


@pytest.mark.parametrize("n_rows", [1_000, 50_000])
def test_a_tree_is_the_same_on_any_number_of_threads(n_rows):
    rng = np.random.default_rng(7)
    binned = binned_table(rng, n_rows, 40, n_categorical=2)
    g, h = rng.standard_normal(n_rows), rng.uniform(0.1, 1, n_rows)
    sampled = {"row_sampler": RowSampler(binned.n_rows, 0.7), "colsample_bytree": 0.8}
    first = grow(binned, g, h, **sampled)
    for n_threads in (2, 3, 8, 90):
        assert grow(binned, g, h, n_threads=n_threads, **sampled) == first


def test_a_small_budget_for_histograms_changes_no_tree():
    rng = np.random.default_rng(8)
    n_rows = 20_000
    binned = binned_table(rng, n_rows, 20)
    store = _native.GradientStore(n_rows, 1, 1)
    store.take(rng.standard_normal((1, n_rows)), np.ones((1, n_rows)))

    def grow_within(histogram_bytes):
        params = GrowthParams(max_leaves=60)
        grower = _native.ScalarGrower(
            binned.by_column, binned.by_row, binned.n_bins, binned.is_categorical,
            binned.places,
            binned.width, binned.threshold_values, binned.threshold_starts,
            _native.GrowthParams(params), _native.Constraints(params), 2, histogram_bytes,
        )  # fmt: skip
        leaf_of_row, leaf_value = np.zeros((1, n_rows), np.uint16), np.zeros((1, 60))
        return grower.grow(store, 0, None, 0, leaf_of_row, leaf_value), leaf_of_row

    (roomy, roomy_leaves), (tight, tight_leaves) = grow_within(1 << 30), grow_within(1)
    assert all(np.array_equal(a, b) for a, b in zip(roomy, tight, strict=True))
    assert np.array_equal(roomy_leaves, tight_leaves)
    assert (roomy[0] < 0).sum() == 60


def native_tree(
    binned, params, store, *, leaves_ahead, n_threads=2, n_outputs=1, vector=False, **limits
):
    """Grow a tree on the gradients of a store; return its arrays and each row's leaf."""
    grower = (_native.VectorGrower if vector else _native.ScalarGrower)(
        binned.by_column, binned.by_row, binned.n_bins, binned.is_categorical, binned.places,
        binned.width, binned.threshold_values, binned.threshold_starts,
        _native.GrowthParams(params), _native.Constraints(params), n_threads,
        leaves_ahead=leaves_ahead, **limits,
    )  # fmt: skip
    leaf_of_row = np.zeros((1, binned.n_rows), np.uint16)
    leaf_value = np.zeros((n_outputs, params.max_leaves or _native.most_leaves))
    bag = np.flatnonzero(np.arange(binned.n_rows) % 5).astype(np.uint32)
    return [*grower.grow(store, 0, bag, 3, leaf_of_row, leaf_value), leaf_of_row, leaf_value]


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("seed", range(16))
def test_a_tree_is_the_same_however_many_leaves_are_evaluated_ahead(seed, n_outputs):
    """With few rows and many, so that threads divide leaves, columns and rows."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice([40, 700, 20_000])) if seed < 12 else 120_000
    binned = binned_table(rng, n_rows, 6, n_categorical=1, most_bins=60)
    params = replace(
        random_params(rng), max_leaves=int(rng.choice([2, 3, 9, 40])), max_depth=0,
        colsample_bylevel=float(rng.choice([1.0, 0.6])),
        colsample_bynode=float(rng.choice([1.0, 0.6, 0.3])),
        interaction_groups=((0, 1, 2), (2, 3, 4, 5)) if seed % 3 == 0 else (),
        directions=(1, 0, -1, 0, 0, 0) if seed % 4 == 1 else (),
    )  # fmt: skip
    vector = n_outputs > 1
    store = _native.GradientStore(n_rows, n_outputs, 1, vector)
    g = rng.standard_normal((n_outputs, n_rows)) + (binned.by_column[0] > 5)
    store.take(g, rng.uniform(0.1, 1.0, g.shape))
    options = {"n_outputs": n_outputs, "vector": vector}
    expected = native_tree(binned, params, store, leaves_ahead=1, n_threads=1, **options)
    for leaves_ahead, n_threads in ((1, 16), (2, 2), (3, 5), (8, 2), (8, 16), (1000, 3), (None, 7)):
        for limits in ({}, {"histogram_bytes": 1}):
            tree = native_tree(
                binned, params, store, leaves_ahead=leaves_ahead, n_threads=n_threads,
                **limits, **options,
            )  # fmt: skip
            for one, other in zip(tree, expected, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_rows", [1_000, 40_000])
@pytest.mark.parametrize("subsample", [1.0, 0.5, 1e-9])
def test_scores_are_the_sum_of_the_trees_in_and_out_of_the_bag(n_rows, subsample):
    rng = np.random.default_rng(9)
    binned = binned_table(rng, n_rows, 5, n_categorical=1)
    X = np.where(binned.by_column == 255, np.nan, binned.by_column).T
    y = rng.standard_normal(n_rows) + binned.by_column[1]
    draws = RowSampler(n_rows, subsample)
    trainer = make_trainer(binned, target=y, base_score=np.array([3.0]), row_sampler=draws)
    trees = [tree for round_ in range(5) for tree in trainer.boost(round_)]
    model = Ensemble.from_trees(trees, [0] * 5, np.array([3.0]), 5)
    np.testing.assert_array_equal(trainer.scores[0], model.predict_raw(X)[:, 0])


def test_multinomial_rounds_grow_a_tree_for_each_class():
    rng = np.random.default_rng(10)
    binned = binned_table(rng, 3_000, 4)
    y = (binned.by_column[0] > 80).astype(float) + (binned.by_column[1] > 80)
    trainer = make_trainer(binned, target=y, loss=MultinomialLogLoss(3), base_score=np.zeros(3))
    for round_ in range(30):
        assert len(trainer.boost(round_)) == 3
    assert (trainer.scores.argmax(axis=0) == y).mean() > 0.95


@pytest.mark.parametrize(
    ("n_rows", "tail", "is_packed"),
    [(1_000, False, False), (40_000, False, True), (40_000, True, False)],
    ids=["few rows", "many rows", "many rows, heavy tail"],
)
def test_quantised_gradients_are_as_precise_as_their_form_promises(n_rows, tail, is_packed):
    rng = np.random.default_rng(12)
    g, h = rng.uniform(-1, 1, (1, n_rows)), rng.uniform(0.1, 1, (1, n_rows))
    if tail:
        g[0, 0] = 1e6
    store = _native.GradientStore(n_rows, 1, 2)
    store.take(g, h)
    g_error, h_error = np.abs(store.to_float(0) - np.stack([g[0], h[0]], axis=1)).max(axis=0)
    if is_packed:
        assert 2.0**-16 < g_error <= 2.0**-14
        assert 2.0**-15 < h_error <= 2.0**-13
    else:
        assert g_error <= np.abs(g).sum() * 2.0**-62 + np.spacing(np.abs(g).max())
        assert h_error <= h.sum() * 2.0**-44


@pytest.mark.parametrize("n_rows", [1_000, 40_000])
@pytest.mark.parametrize("exponent", [-1040, -1000, -130, 130, 1000])
def test_gradients_are_kept_whatever_their_size(n_rows, exponent):
    rng = np.random.default_rng(12)
    size = 2.0**exponent  # beyond a float32, or with units or sums beyond a float64
    expected = np.stack([rng.uniform(-1, 1, n_rows), rng.uniform(0.1, 1, n_rows)], axis=1) * size
    store = _native.GradientStore(n_rows, 1, 2)
    store.take(*np.ascontiguousarray(expected.T)[:, None])
    error = np.abs(store.to_float(0) - expected).max() / size
    assert error <= n_rows * 2.0**-43 + np.finfo(float).tiny / size


def test_rows_without_weight_count_in_nothing_but_rows():
    rng = np.random.default_rng(13)
    binned = binned_table(rng, 2_000, 3, missing=0.0)
    y, weights = rng.standard_normal(2_000), (rng.random(2_000) < 0.5).astype(float)
    (tree,) = make_trainer(binned, target=y, weights=weights).boost(0)
    assert tree.count[0] == 2_000
    assert tree.cover[0] == pytest.approx(weights.sum(), rel=1e-12)


def sample_rows(seed, round_, fraction):
    return _native.sample_rows(seed, round_, 20_000, np.array([fraction]))


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.99])
def test_row_samples_have_their_size_and_differ_by_round_and_seed(fraction):
    draws = [sample_rows(*key, fraction) for key in ((1, 0), (1, 1), (2, 0))]
    for rows in draws:
        assert len(rows) == pytest.approx(fraction * 20_000, abs=5 * 71)
        assert (np.diff(rows.astype(int)) > 0).all()
    assert len({tuple(rows) for rows in draws}) == 3
    assert np.array_equal(draws[0], sample_rows(1, 0, fraction))


def test_column_samples_bound_what_a_tree_a_level_and_a_node_may_use():
    rng = np.random.default_rng(14)
    binned = binned_table(rng, 5_000, 20, missing=0.0)
    g, h = rng.standard_normal(5_000), np.ones(5_000)
    by_tree = grow(binned, g, h, colsample_bytree=0.2)
    allowed = _native.sample_tree_features(list(range(20)), 0.2, 0, 0)
    assert len(allowed) == 4
    assert set(by_tree.feature[by_tree.feature >= 0]) <= set(allowed)
    levels = GrowthParams(
        max_leaves=0, max_depth=4, grow_policy="levelwise", colsample_bylevel=0.05
    )
    by_level = grow(binned, g, h, levels)
    depth = np.zeros(by_level.n_nodes, int)
    for node in np.flatnonzero(by_level.feature >= 0):
        depth[[by_level.left[node], by_level.right[node]]] = depth[node] + 1
    for level in range(4):
        used = by_level.feature[(depth == level) & (by_level.feature >= 0)]
        assert len(set(used)) == 1
    by_node = grow(binned, g, h, GrowthParams(max_leaves=31, colsample_bynode=0.05))
    assert len(set(by_node.feature[by_node.feature >= 0])) > 4


@pytest.mark.parametrize("policy", ["leafwise", "levelwise"])
@pytest.mark.parametrize("engine", ["hist", "exact"])
def test_a_node_s_features_depend_on_its_path_and_on_nothing_else(engine, policy):
    rng = np.random.default_rng(16)
    binned = binned_table(rng, 5_000, 20, missing=0.0)
    g, h = rng.standard_normal(5_000), np.ones(5_000)
    params = GrowthParams(
        max_leaves=31, grow_policy=policy, colsample_bylevel=0.5, colsample_bynode=0.1, seed=7
    )
    if engine == "hist":
        tree = grow(binned, g, h, params)
    else:
        tree = SimpleNamespace(**ExactGrower(binned.by_column.T.astype(float)).grow(g, h, params))
    allowed = features_of_nodes(tree, 20, params)
    split_nodes = np.flatnonzero(tree.feature >= 0)
    assert len(split_nodes) == 30
    for node in split_nodes:
        assert [tree.feature[node]] == allowed[node]


def first_categories(bins, g, engine, **params):
    """Grow a stump on one categorical column (255 is missing, h is 1) and give its left set."""
    grow_params = GrowthParams(max_leaves=2, **params)
    if engine == "exact":
        X = np.where(bins == 255, np.nan, bins)[:, None]
        arrays = ExactGrower(X, np.array([True])).grow(g, np.ones(len(g)), grow_params)
        return category_set(SimpleNamespace(**arrays), 0)
    table = in_both_layouts(bins[None].astype(np.uint8), np.array([6], np.int32), np.array([True]))
    return category_set(grow(table, g, np.ones(len(g)), grow_params), 0)


@pytest.mark.parametrize("engine", ["hist", "exact"])
def test_a_category_of_too_little_weight_goes_right(engine):
    bins = np.repeat([0, 1, 2, 3, 4, 5], [20, 20, 20, 20, 2, 2])
    g = np.array([-1.0, -1.0, 1.0, 1.0, -9.0, 9.0])[bins]
    assert first_categories(bins, g, engine) == {0, 1}
    assert first_categories(bins, g, engine, min_category_weight=1.5) == {0, 1, 4}


@pytest.mark.parametrize("engine", ["hist", "exact"])
def test_all_categories_may_part_from_the_missing_rows(engine):
    bins = np.repeat([0, 1, 2, 3, 4, 255], 20)
    g = np.where(bins == 255, -1.0, 1.0)
    assert first_categories(bins, g, engine) == {0, 1, 2, 3, 4}


def test_exact_and_histogram_trees_agree_where_every_value_has_its_own_bin():
    rng = np.random.default_rng(15)
    binned = binned_table(rng, 2_000, 4, n_categorical=1, most_bins=30)
    X = np.where(binned.by_column == 255, np.nan, binned.by_column).T
    y = rng.standard_normal(2_000) + binned.by_column[2]
    hist = make_trainer(binned, target=y)
    engine = ExactEngine(X, binned.is_categorical, PARAMS, np.zeros(1))
    exact = Trainer(engine, y, None, loss=SquaredError(), params=PARAMS)
    for round_ in range(5):
        (a,), (b,) = hist.boost(round_), exact.boost(round_)
        np.testing.assert_array_equal(a.feature, b.feature)
        np.testing.assert_array_equal(a.count, b.count)
    np.testing.assert_allclose(hist.scores, exact.scores, rtol=1e-12, atol=1e-12)
