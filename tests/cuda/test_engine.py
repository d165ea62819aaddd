"""The engine of a GPU against the CPU's, byte for byte; kernels run in `tests/cuda_shim.py`."""

import gc
import weakref
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest

from cuda_shim import ON_BOTH, ShimDevice
from hedgerow import _native
from hedgerow._boosting.losses import (
    AbsoluteError,
    BinaryLogLoss,
    CrossEntropy,
    ExpectileLoss,
    ExponentialLoss,
    FocalLoss,
    HingeLoss,
    MultinomialLogLoss,
    MultiOutputLoss,
    QuantileLoss,
    RobustLoss,
    SquaredError,
    TweedieLoss,
)
from hedgerow._cuda import memory
from hedgerow._cuda.engine import CudaEngine
from hedgerow._cuda.memory import Capacity
from hedgerow._tree.engine import HistogramEngine
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.structure import Tree
from hedgerow._tree.trainer import DivergenceError, RowSampler, Trainer
from hedgerow.exceptions import MemoryLimitError
from tree.test_grower import binned_table, in_both_layouts, random_params

PARAMS = GrowthParams(max_leaves=12, min_samples_leaf=5)
LEVELS = GrowthParams(max_leaves=0, max_depth=4, min_samples_leaf=5, grow_policy="levelwise")
SYMMETRIC = replace(LEVELS, grow_policy="symmetric")


def assert_same_trees(trees, expected):
    assert len(trees) == len(expected)
    for tree, other in zip(trees, expected, strict=True):
        for field in fields(Tree):
            own, its = getattr(tree, field.name), getattr(other, field.name)
            if own is None or its is None:
                assert own is its
                continue
            assert (own.dtype, own.shape) == (its.dtype, its.shape), field.name
            assert own.tobytes() == its.tobytes(), field.name


def boost_both(device, binned, params, grow, *, n_outputs=1, **options):
    """Grow on both engines; assert that trees and scores are the same, and return the trees."""
    base_score = np.linspace(-0.2, 0.3, n_outputs)
    device = device()
    results = []
    for engine in (
        HistogramEngine(binned, params, base_score),
        CudaEngine(binned, params, base_score, device),
    ):
        trainer = Trainer(engine, params=params, **options)
        results.append((grow(trainer), trainer.scores))
    (expected, expected_scores), (trees, scores) = results
    assert_same_trees(trees, expected)
    assert scores.tobytes() == expected_scores.tobytes()
    return trees


def rounds(n_rounds):
    return lambda trainer: [tree for index in range(n_rounds) for tree in trainer.boost(index)]


def table_and_target(seed=0, n_rows=400, n_features=5, n_categorical=1, **options):
    rng = np.random.default_rng(seed)
    binned = binned_table(
        rng, n_rows, n_features, n_categorical=n_categorical, most_bins=60, **options
    )
    signal = (binned.by_column[0] > 20) * 1.0 + (binned.by_column[-1] % 3)
    return binned, signal + rng.random(n_rows)


@pytest.mark.parametrize("seed", range(30))
@ON_BOTH
def test_trees_are_the_same_whatever_the_parameters(device, seed):
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.choice([3, 30, 200, 1500])), int(rng.integers(1, 9))
    binned = binned_table(
        rng, n_rows, n_features,
        n_categorical=int(rng.integers(0, min(n_features, 3) + 1)),
        most_bins=int(rng.choice([4, 40, 255])),
    )  # fmt: skip
    g, h = rng.standard_normal(n_rows) + (binned.by_column[0] > 5), rng.uniform(0.01, 0.25, n_rows)
    boost_both(
        device, binned, random_params(rng), lambda trainer: trainer.boost_with(0, g[None], h[None]),
        target=np.zeros(n_rows), weights=None, loss=SquaredError(),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(15))
@ON_BOTH
def test_symmetric_trees_are_the_same_whatever_the_parameters(device, seed):
    rng = np.random.default_rng(100 + seed)
    n_rows, n_features = int(rng.choice([30, 200, 1500])), int(rng.integers(1, 9))
    binned = binned_table(
        rng, n_rows, n_features,
        n_categorical=int(rng.integers(0, min(n_features, 3) + 1)),
        most_bins=int(rng.choice([4, 40, 255])),
    )  # fmt: skip
    g, h = rng.standard_normal(n_rows) + (binned.by_column[0] > 5), rng.uniform(0.01, 0.25, n_rows)
    limits = {"max_leaves": int(rng.choice([8, 40, 64])), "max_depth": int(rng.choice([0, 3]))}
    boost_both(
        device, binned, replace(random_params(rng), grow_policy="symmetric", **limits),
        lambda trainer: trainer.boost_with(0, g[None], h[None]),
        target=np.zeros(n_rows), weights=None, loss=SquaredError(),
    )  # fmt: skip


LOSSES = [
    SquaredError(),
    AbsoluteError(),
    QuantileLoss([0.3]),
    ExpectileLoss(0.7),
    RobustLoss("huber", 0.9),
    RobustLoss("huber", None),
    RobustLoss("pseudo_huber", 0.5),
    RobustLoss("log_cosh", 0.5),
    TweedieLoss(1.0),
    TweedieLoss(2.0),
    TweedieLoss(1.5),
    BinaryLogLoss(),
    ExponentialLoss(),
    HingeLoss(),
    FocalLoss(2.0),
    MultinomialLogLoss(3),
    CrossEntropy(3),
]


def target_for(loss, numbers):
    """Give a target that suits the loss."""
    if loss.name == "multinomial":
        return np.floor(numbers) % 3
    if loss.name == "cross_entropy":
        shares = np.stack([numbers, numbers**2, 1.0 + 0.0 * numbers])
        return shares / shares.sum(axis=0)
    if loss.name in ("log_loss", "exponential", "hinge", "focal"):
        return (numbers > np.median(numbers)) * 1.0
    return numbers + 0.1


def params_for(loss, params):
    decay_rate, growth_rate = loss.leaf_rates
    return replace(params, leaf_decay_rate=decay_rate, leaf_growth_rate=growth_rate)


def test_all_native_losses_are_here():
    assert {loss.name for loss in LOSSES} == set(_native.loss_names())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@ON_BOTH
def test_trees_are_the_same_for_every_native_loss(device, loss, weighted):
    binned, numbers = table_and_target(n_rows=300, n_features=3)
    weights = np.random.default_rng(1).integers(0, 3, 300) * 1.5 if weighted else None
    boost_both(
        device, binned, params_for(loss, GrowthParams(max_leaves=6, min_samples_leaf=5)), rounds(2),
        n_outputs=3 if loss.name in ("multinomial", "cross_entropy") else 1,
        target=target_for(loss, numbers), weights=weights, loss=loss,
    )  # fmt: skip


@pytest.mark.parametrize("params", [PARAMS, LEVELS, SYMMETRIC], ids=lambda p: p.grow_policy)
@pytest.mark.parametrize("loss", [SquaredError(), BinaryLogLoss()], ids=["equal h", "13 bits"])
@ON_BOTH
def test_trees_of_packed_rows_are_the_same(device, loss, params):
    n_rows = _native.packed_from_rows
    binned, numbers = table_and_target(n_rows=n_rows, n_features=2, n_categorical=0)
    trees = boost_both(
        device, binned, params, rounds(2), target=target_for(loss, numbers), weights=None, loss=loss
    )
    assert trees[0].n_leaves > 4


@pytest.mark.parametrize("params", [PARAMS, SYMMETRIC], ids=lambda p: p.grow_policy)
@ON_BOTH
def test_several_targets_are_grown_side_by_side(device, params):
    binned, numbers = table_and_target()
    target = np.stack([numbers, -(numbers**2)])
    loss = MultiOutputLoss(SquaredError(), 2)
    boost_both(
        device, binned, params, rounds(2), n_outputs=2, target=target, weights=None, loss=loss
    )


@pytest.mark.parametrize("sampling", ["uniform", "balanced", "group"])
@ON_BOTH
def test_sampled_rows_give_the_same_trees(device, sampling):
    binned, numbers = table_and_target()
    sampler = RowSampler(
        400, fraction=0.5, seed=3, sampling=sampling,
        row_class=(numbers > 2).astype(np.int32), row_group=(np.arange(400) // 7).astype(np.int32),
    )  # fmt: skip
    boost_both(
        device, binned, PARAMS, rounds(3), target=numbers, weights=None, loss=SquaredError(),
        row_sampler=sampler,
    )  # fmt: skip


@pytest.mark.parametrize("policy", ["leafwise", "levelwise", "symmetric"])
@ON_BOTH
def test_sampled_features_give_the_same_trees(device, policy):
    binned, numbers = table_and_target(n_features=37)
    params = replace(
        PARAMS, grow_policy=policy, colsample_bytree=0.7, colsample_bylevel=0.7,
        colsample_bynode=0.6, seed=5, feature_weights=(0.0, 2.0, *(1.0,) * 35),
    )  # fmt: skip
    boost_both(device, binned, params, rounds(3), target=numbers, weights=None, loss=SquaredError())


@pytest.mark.parametrize("max_leaves", [0, 3, 40, 90])
@ON_BOTH
def test_leafwise_trees_do_not_depend_on_how_many_leaves_are_divided_ahead(
    device, max_leaves, monkeypatch
):
    binned, numbers = table_and_target(n_rows=700, n_categorical=0)
    params = GrowthParams(max_leaves=max_leaves, min_samples_leaf=3)
    for most_ahead, in_vain in ((64, 256), (3, 2), (1, 0)):
        monkeypatch.setattr(memory, "MOST_AHEAD", most_ahead)
        monkeypatch.setattr(memory, "MOST_IN_VAIN", in_vain)
        boost_both(
            device, binned, params, rounds(1), target=numbers, weights=None, loss=SquaredError()
        )


@ON_BOTH
def test_more_leaves_than_threads_of_a_plan(device):
    rng = np.random.default_rng(0)
    binned = binned_table(rng, 3_000, 2, most_bins=255, missing=0.0)
    params = GrowthParams(max_leaves=0, max_depth=12, grow_policy="levelwise", min_samples_leaf=1)
    target = rng.standard_normal(3_000)
    (tree,) = boost_both(
        device, binned, params, rounds(1), target=target, weights=None, loss=SquaredError()
    )
    assert tree.n_leaves > 300


def test_several_blocks_give_the_same_trees():
    binned, numbers = table_and_target(n_rows=5_000, n_features=34)
    boost_both(
        partial(ShimDevice, n_processors=3), binned, PARAMS, rounds(1), target=numbers,
        weights=None, loss=SquaredError(),
    )  # fmt: skip


def test_gradients_that_overflow_are_reported():
    binned, numbers = table_and_target()
    engine = CudaEngine(binned, PARAMS, np.zeros(1), ShimDevice())
    trainer = Trainer(engine, numbers, None, params=PARAMS, loss=SquaredError())
    with pytest.raises(DivergenceError, match="too large"):
        trainer.boost_with(0, np.full((1, 400), 1e308), np.ones((1, 400)))


@ON_BOTH
def test_scores_that_are_written_are_used(device):
    binned, numbers = table_and_target()

    def grow(trainer):
        first = trainer.boost(0)
        trainer.scores[...] = numbers / 2
        return [*first, *trainer.boost(1), *trainer.boost(2)]

    boost_both(device, binned, PARAMS, grow, target=numbers, weights=None, loss=SquaredError())


def test_rounds_run_ahead_until_somebody_looks_at_the_scores():
    binned, numbers = table_and_target()
    engine = CudaEngine(binned, LEVELS, np.zeros(1), ShimDevice())
    trainer = Trainer(engine, numbers, None, params=LEVELS, loss=SquaredError())
    is_ahead = []
    for index in range(4):
        trainer.boost(index)
        is_ahead.append(engine._ahead is not None)
    trainer.scores  # noqa: B018
    trainer.boost(4)
    assert is_ahead == [False, True, True, True]
    assert engine._ahead is None


def test_an_engine_is_gone_as_soon_as_nobody_needs_it():
    binned, numbers = table_and_target()
    engine = CudaEngine(binned, LEVELS, np.zeros(1), ShimDevice())
    trainer = Trainer(engine, numbers, None, params=LEVELS, loss=SquaredError())
    trainer.boost(0)
    alive = weakref.ref(engine)
    gc.disable()
    try:
        del engine, trainer
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("written", [[], [1], [2], [3, 4]])
@ON_BOTH
def test_rounds_that_ran_ahead_in_vain_change_nothing(device, written):
    binned, numbers = table_and_target()

    def grow(trainer):
        trees = []
        for index in range(6):
            trees += trainer.boost(index)
            if index in written:
                trainer.scores[...] *= 0.5
        return trees

    boost_both(device, binned, LEVELS, grow, target=numbers, weights=None, loss=SquaredError())


@ON_BOTH
def test_a_tree_of_constant_columns_is_a_leaf(device):
    binned = in_both_layouts(
        np.zeros((3, 100), np.uint8), np.full(3, 2, np.int32), np.zeros(3, bool)
    )
    (tree,) = boost_both(
        device,
        binned,
        PARAMS,
        rounds(1),
        target=np.arange(100.0),
        weights=None,
        loss=SquaredError(),
    )
    assert tree.n_nodes == 1


def test_a_fit_that_does_not_fit_is_refused_before_anything_is_reserved():
    binned, _ = table_and_target()
    device = ShimDevice()
    device.free_bytes = 1 << 20
    with pytest.raises(MemoryLimitError, match=r"needs .* GB .* device='cpu'.*max_leaves"):
        CudaEngine(binned, PARAMS, np.zeros(1), device)


@pytest.mark.parametrize("policy", ["leafwise", "levelwise", "symmetric"])
@pytest.mark.parametrize("max_leaves", [0, 1, 2, 31])
@pytest.mark.parametrize("max_depth", [0, 1, 5, 40])
def test_there_is_room_for_all_leaves(policy, max_leaves, max_depth):
    params = GrowthParams(max_leaves=max_leaves, max_depth=max_depth, grow_policy=policy)
    capacity = Capacity.of(params, 1_000_000)
    assert capacity.nodes == 2 * capacity.max_leaves - 1
    assert capacity.leaves >= capacity.nodes
    assert max(capacity.at_step(step) for step in range(60)) == capacity.at_once
    assert capacity.slots >= 1
