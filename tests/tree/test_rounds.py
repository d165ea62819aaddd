"""Rounds that are grown in one call of a kernel are those that are grown one by one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hedgerow._boosting.losses import BinaryLogLoss, MultinomialLogLoss, SquaredError
from hedgerow._data.binning import Binner
from hedgerow._data.intake import learn_schema
from hedgerow._tree.engine import HistogramEngine
from hedgerow._tree.growth_params import GrowthParams
from hedgerow._tree.structure import Ensemble, TreeList
from hedgerow._tree.trainer import RowSampler, Trainer

N_ROWS = 400
LOSSES = {1: SquaredError(), 2: BinaryLogLoss(), 3: MultinomialLogLoss(3)}


def trainer_on(table, target, loss, fraction, n_threads=1, **growth):
    params = GrowthParams(max_leaves=8, min_samples_leaf=2, **growth)
    binned = Binner().fit_transform(table, threads=1)
    base_score = loss.base_score(target, None)
    engine = HistogramEngine(binned, params, base_score, n_threads=n_threads)
    sampler = RowSampler(len(target), fraction=fraction, seed=5)
    return Trainer(engine, target, None, loss=loss, params=params, row_sampler=sampler)


@pytest.mark.parametrize("n_classes", LOSSES)
@pytest.mark.parametrize("fraction", [1.0, 0.6, 1e-6])
@pytest.mark.parametrize("grow_policy", ["leafwise", "symmetric"])
def test_rounds_in_one_call_are_those_one_by_one(n_classes, fraction, grow_policy):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 4))
    X[::7, 1] = np.nan
    y = X[:, 0] * X[:, 2] + 0.1 * rng.standard_normal(N_ROWS)
    target = y if n_classes == 1 else (y.argsort().argsort() * n_classes // N_ROWS).astype(float)
    _, table = learn_schema(X)
    loss = LOSSES[n_classes]
    together = trainer_on(table, target, loss, fraction, grow_policy=grow_policy)
    one_by_one = trainer_on(table, target, loss, fraction, grow_policy=grow_policy)
    # More rounds than one call of the kernel has, after rounds of a call before.
    grown = [*together.boost_rounds(range(3)), *together.boost_rounds(range(3, 23))]
    assert grown == [tree for index in range(23) for tree in one_by_one.boost(index)]
    assert np.array_equal(together.scores, one_by_one.scores)


def test_trees_of_one_call_are_those_of_any_number_of_threads():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N_ROWS, 3))
    target = rng.integers(0, 3, N_ROWS).astype(float)
    _, table = learn_schema(X)
    one, three = (trainer_on(table, target, LOSSES[3], 0.7, n_threads) for n_threads in (1, 3))
    assert one.boost_rounds(range(5)) == three.boost_rounds(range(5))


def test_an_ensemble_of_joined_trees_is_that_of_the_trees():
    """Read one by one, or joined as kernels return them, with sets of categories and without."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.standard_normal(N_ROWS), "b": rng.choice(list("abcdefgh"), N_ROWS)})
    target = X["a"].to_numpy() + 3.0 * X["b"].isin(list("bdg")) + rng.standard_normal(N_ROWS)
    _, table = learn_schema(X)
    trainer = trainer_on(table, target, LOSSES[1], 1.0)
    trees = TreeList()
    for rounds in (range(20), range(20, 22)):
        trees += trainer.boost_rounds(rounds)
    assert trees.are_joined
    assert len(trees) == 22
    joined = Ensemble.from_trees(trees, [0] * 22, [0.0], 2)
    assert joined.category_bits.size > 0
    assert replace(trees[21], split_bin=None) == joined.tree(21)  # divides them
    assert not trees.are_joined
    assert len(trees) == 22
    assert Ensemble.from_trees(list(trees), [0] * 22, [0.0], 2) == joined
    trees += trainer.boost_rounds(range(22, 24))
    trees += [trees[0]]
    assert len(trees) == 25
    assert trees[-1] == trees[0]
    assert [tree.n_nodes for tree in trees[:22]] == np.diff(joined.tree_offset).tolist()
