"""A child of exactly the minimum weight is heavy enough, in every engine.

`min_child_weight=k` asks for Σh ≥ k, and a sum that is k on paper must not be refused because its
terms were rounded (native/shared/min_child_weight.hpp). The best split is found by brute force in
float64 that shares nothing with the library.
"""

import itertools
import math

import numpy as np
import pytest

import hedgerow as hr
from hedgerow._tree.exact import ExactGrower
from hedgerow._tree.growth_params import GrowthParams

from .test_grower import grow, in_both_layouts
from .test_vector_grower import grow_vector

DOUBT = 2.0**-40
ENGINES = ["hist", "vector", "exact"]


def one_column(n_rows):
    """Give a table of one column whose value is the number of its row, over 200 bins at most."""
    bins = np.arange(n_rows) * min(n_rows, 200) // n_rows
    n_bins = np.array([bins[-1] + 1], np.int32)
    return in_both_layouts(bins[None].astype(np.uint8), n_bins, np.zeros(1, bool))


def rows_left(engine, g, h, least, **options):
    """Return how many rows a stump sends left; 0 if there is no split."""
    params = GrowthParams(
        max_leaves=2, min_samples_leaf=1, min_child_weight=least, reg_lambda=1e-6,
        learning_rate=1.0, **options,
    )  # fmt: skip
    table = one_column(len(g))
    if engine == "exact":
        values = table.by_column[0].astype(np.float64)
        count = ExactGrower(values[:, None]).grow(g, h, params)["count"]
    elif engine == "vector":
        count = grow_vector(table, np.stack([g, -g], 1), np.stack([h, h], 1), params).count
    else:
        count = grow(table, g, h, params).count
    return int(count[1]) if len(count) > 1 else 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("from_left", [True, False])
def test_as_many_rows_as_the_least_weight_are_enough(engine, from_left):
    for least, n_rows in itertools.combinations(range(1, 41), 2):
        side = np.arange(n_rows) < least if from_left else np.arange(n_rows) >= n_rows - least
        if 2 * least > n_rows:
            continue
        left = rows_left(engine, np.where(side, -1.0, 1.0), np.ones(n_rows), float(least))
        assert left == (least if from_left else n_rows - least), (n_rows, least)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_less_than_the_least_weight_is_not_enough(engine):
    for n_rows, k in itertools.product(range(4, 40), [1, 2, 3, 5]):
        if 2 * k + 2 > n_rows:
            continue
        g = np.where(np.arange(n_rows) < k, -1.0, 1.0)
        assert rows_left(engine, g, np.ones(n_rows), k + 1.0) == k + 1
        assert rows_left(engine, g, np.ones(n_rows), k * (1 + 1e-9)) == k + 1


def best_cut(g, h, least, reg_lambda=1e-6):
    """Return the rows left of the best cut, by trying all; and how far the second best is off."""
    gains = {}
    for n in range(1, len(g)):
        left, right = (g[:n], h[:n]), (g[n:], h[n:])
        H = [math.fsum(side[1]) for side in (left, right)]
        if min(H) < least * (1 - DOUBT):
            continue
        gains[n] = sum(
            math.fsum(side[0]) ** 2 / (weight + reg_lambda)
            for side, weight in zip((left, right), H, strict=True)
        )
    whole = math.fsum(g) ** 2 / (math.fsum(h) + reg_lambda)
    order = sorted(gains, key=lambda n: -gains[n])
    if not order or gains[order[0]] <= whole * (1 + 1e-9):
        return 0, 0.0
    second = max(gains[order[1]] if len(order) > 1 else 0.0, whole)
    return order[0], gains[order[0]] / second - 1


def hessians(rng, kind, n):
    """Give weighted hessians of a loss, of which many sums are the same number on paper."""
    w = rng.choice([[1.0] * 4, [0.1, 0.2, 0.3, 0.7], [1.0, 2.0, 3.0, 0.5]][rng.integers(3)], n)
    if kind == "squared_error":
        return w
    p = 1 / (1 + np.exp(-rng.choice([0.0, math.log(2), -math.log(3), math.log(9)], n)))
    return w * p * (1 - p)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["squared_error", "log_loss"])
def test_stumps_are_those_of_a_brute_force_whose_sums_reach_the_least_weight(engine, kind):
    rng = np.random.default_rng(7)
    n_compared = 0
    for _ in range(250):
        n = int(rng.integers(4, 40))
        h, g = hessians(rng, kind, n), rng.standard_normal(n)
        # On paper, the least weight is what a child has; the sum in another order may miss it.
        child = int(rng.integers(1, n))
        least = float(np.sum(h[:child][::-1]))
        expected, margin = best_cut(g, h, least)
        if expected and margin < 1e-9:
            continue
        n_compared += 1
        assert rows_left(engine, g, h, least) == expected, (n, child)
    assert n_compared > 200


@pytest.mark.parametrize("weights", [[1.0, 3.0], [1.0], [0.1], [1.0, 1.5, 7.0]])
@pytest.mark.parametrize("engine", ["hist", "vector"])
def test_coarse_steps_of_many_rows_refuse_no_child_of_the_least_weight(engine, weights):
    # From 32,768 rows on a hessian has 13 bits or fewer, and a child of a bin is 200 rows.
    n = 40_000
    h = np.random.default_rng(0).choice(weights, n)
    for n_bins in [1, 3, 60]:
        child = n_bins * n // 200
        g = np.where(np.arange(n) < child, -1.0, 1.0) * h
        least = math.fsum(h[:child])
        assert rows_left(engine, g, h, least) == child
        assert rows_left(engine, g, h, least * 1.01) > child


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_without_weight_are_never_enough(engine):
    n = 40_000 if engine == "hist" else 400
    h = np.where(np.arange(n) < n // 2, 0.0, 1.0)
    g = np.where(np.arange(n) < n // 2, -1.0, 0.1)
    assert rows_left(engine, g, h, 1e-12) > n // 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("splitter", ["hist", "exact"])
@pytest.mark.filterwarnings("ignore::hedgerow.NoSplitWarning")
def test_boosted_log_loss_has_the_trees_of_a_brute_force(seed, splitter):
    rng = np.random.default_rng(seed)
    for _ in range(25):
        n = int(rng.integers(10, 60))
        x, y = rng.permutation(n).astype(float), rng.integers(0, 2, n)
        y[:2] = 0, 1
        options = {"n_estimators": 3, "learning_rate": 0.5, "max_leaves": 2, "reg_lambda": 1e-6}
        model = hr.GradientBoostingClassifier(
            min_samples_leaf=1, min_child_weight=2.0, splitter=splitter, subsample=1.0,
            colsample_bytree=1.0, n_jobs=1, **options,
        ).fit(x[:, None], y)  # fmt: skip
        expected, is_clear = boosted_stumps(x, y, 2.0, 3, 0.5)
        if is_clear:
            np.testing.assert_allclose(model.decision_function(x[:, None]), expected, rtol=1e-9)


def boosted_stumps(x, y, least, n_rounds, learning_rate):
    """Boost log loss by brute force; return scores, and whether no cut was chosen by rounding."""
    order = np.argsort(x)
    y = y[order]
    score, is_clear = np.full(len(y), math.log(y.mean() / (1 - y.mean()))), True
    for _ in range(n_rounds):
        p = 1 / (1 + np.exp(-score))
        g, h = p - y, p * (1 - p)
        n, margin = best_cut(g, h, least)
        is_clear &= n == 0 or margin > 1e-6
        for side in (slice(n), slice(n, None)):
            if g[side].size:
                score[side] -= learning_rate * g[side].sum() / (h[side].sum() + 1e-6)
    restored = np.empty_like(score)
    restored[order] = score
    return restored, is_clear
