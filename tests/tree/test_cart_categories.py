"""The order of categories, along which the best of all subsets is found certainly or mostly."""

import itertools

import numpy as np
import pandas as pd
import pytest

from hedgerow._data import intake
from hedgerow._data.binning import Binner
from hedgerow._tree.cart import (
    BootstrapSamples,
    CartParams,
    SortedMatrix,
    grow_trees,
)
from hedgerow._tree.outputs import TreeTarget
from oracles.cart import Task, best_fall

CATEGORICAL = np.ones(1, bool)


def tables(codes):
    """The same categories for both engines."""
    _, table = intake.learn_schema(pd.DataFrame({"c": pd.Categorical(codes)}))
    yield Binner().fit_transform(table)
    yield SortedMatrix.from_matrix(codes[:, None].astype(np.float32), CATEGORICAL)


def root_gains(codes, values, params, labels=None):
    draws = BootstrapSamples.all(len(codes))
    for matrix in tables(codes):
        if labels is None:
            (tree,) = grow_trees(matrix, TreeTarget.of_numbers(values), params, draws)
        else:
            (tree,) = grow_trees(
                matrix, TreeTarget.of_classes(labels, values.shape[1]), params, draws
            )
        yield tree.gain[0]


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [3, 5])
def test_many_classes_mostly_get_the_best_of_all_subsets(criterion, n_classes):
    rng = np.random.default_rng(n_classes)
    params = CartParams(criterion, max_depth=1)
    shares = []
    for _ in range(40):
        codes = np.concatenate([np.arange(7), rng.integers(0, 7, 200)])
        chances = rng.dirichlet(np.ones(n_classes), 7)
        labels = np.array([rng.choice(n_classes, p=chances[c]) for c in codes], np.uint16)
        values = np.eye(n_classes)[labels]
        task = Task(codes[:, None] * 1.0, CATEGORICAL, values, np.ones(len(codes)), params)
        best = best_fall(task, np.arange(len(codes)))
        binned, exact = root_gains(codes, values, params, labels)
        assert exact == pytest.approx(binned, rel=1e-12)
        assert exact <= best * (1 + 1e-12)
        shares.append(exact / best)
    # Categories ordered by the mean number of their class: a third to two thirds, and 0.85 to 0.95.
    assert np.mean(np.array(shares) > 1 - 1e-9) >= 0.8
    assert np.mean(shares) > 0.98


def test_classes_that_no_order_of_their_numbers_shows_are_parted():
    # Categories 0 and 3 hold class 1, the others as many of class 0 as of class 2: all means are 1.
    codes = np.repeat(np.arange(6), 60)
    labels = np.where(np.isin(codes, [0, 3]), 1, np.tile([0, 2], 180)).astype(np.uint16)
    params = CartParams(max_depth=1)
    for matrix in tables(codes):
        (tree,) = grow_trees(
            matrix, TreeTarget.of_classes(labels, 3), params, BootstrapSamples.all(360)
        )
        assert sorted(tree.count[1:]) == [120, 240]


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_several_numbers_mostly_get_the_best_of_all_subsets(criterion):
    rng = np.random.default_rng(8)
    params = CartParams(criterion, max_depth=1)
    shares = []
    for _ in range(25):
        codes = np.concatenate([np.arange(6), rng.integers(0, 6, 80)])
        values = rng.standard_normal((6, 3))[codes] + 0.3 * rng.standard_normal((86, 3))
        task = Task(codes[:, None] * 1.0, CATEGORICAL, values, np.ones(86), params, n_outputs=3)
        best = best_fall(task, np.arange(86))
        binned, exact = root_gains(codes, values, params)
        assert exact == pytest.approx(binned, rel=1e-9)
        shares.append(exact / best)
    assert np.mean(np.array(shares) > 1 - 1e-9) >= 0.8
    assert np.mean(shares) > 0.98


def test_medians_order_categories_of_one_number_well():
    rng = np.random.default_rng(9)
    params = CartParams("absolute_error", max_depth=1)
    for _ in range(20):
        codes = np.concatenate([np.arange(6), rng.integers(0, 6, 100)])
        values = 5.0 * rng.permutation(6)[codes][:, None] + rng.standard_cauchy((106, 1))
        task = Task(codes[:, None] * 1.0, CATEGORICAL, values, np.ones(106), params)
        best = best_fall(task, np.arange(106))
        for gain in root_gains(codes, values, params):
            assert gain == pytest.approx(best, rel=1e-9)


def test_a_subset_is_the_same_for_classes_in_any_order():
    rng = np.random.default_rng(10)
    codes = rng.integers(0, 8, 300)
    labels = (rng.integers(0, 4, 300) + codes) % 4
    gains = set()
    for order in itertools.permutations(range(4)):
        renamed = np.array(order)[labels].astype(np.uint16)
        binned, exact = root_gains(codes, np.eye(4)[renamed], CartParams(max_depth=1), renamed)
        assert exact == pytest.approx(binned, rel=1e-12)
        gains.add(round(exact, 6))
    assert len(gains) == 1
